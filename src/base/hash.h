// Stable hashes: the same bytes give the same hash in every version and on every host, since they are stored
// in caches.
//
// Hasher / hash128 is MurmurHash3_x64_128 (Austin Appleby, public domain, SMHasher) with seed 0, fed in
// pieces. crc32 is the zlib polynomial. Neither resists a forger: what comes from strangers is checked by
// signature instead.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace frit::base {

struct Hash128 {
  uint64_t hi = 0;
  uint64_t lo = 0;

  // 32 lower-case digits, hi first.
  std::string hex() const;
  // Reads what hex() wrote; nothing for any other text.
  static std::optional<Hash128> from_hex(std::string_view text);

  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

// The hash depends on the bytes only, not on how they were cut into update() calls.
class Hasher {
 public:
  explicit Hasher(uint32_t seed = 0) : h1_(seed), h2_(seed) {}

  Hasher& update(const void* data, size_t size_bytes);
  Hasher& update(std::string_view text) { return update(text.data(), text.size()); }

  // A number by its bytes, a float by its bit pattern. Texts of variable length that follow one another
  // should each be preceded by their length: ("ab","c") and ("a","bc") hash alike otherwise.
  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) Hasher& add(T value) {
    return update(&value, sizeof value);
  }
  Hasher& add(std::string_view text) {
    add(static_cast<uint64_t>(text.size()));
    return update(text);
  }

  // May be called several times, and update() may follow.
  Hash128 finish() const;

 private:
  void block(const unsigned char* bytes);

  uint64_t h1_, h2_;
  uint64_t total_bytes_ = 0;
  unsigned char tail_[16] = {};
};

inline Hash128 hash128(const void* data, size_t size_bytes) {
  return Hasher().update(data, size_bytes).finish();
}
inline Hash128 hash128(std::string_view text) { return hash128(text.data(), text.size()); }

// As zlib's crc32: crc32("123456789") is 0xcbf43926. previous continues an earlier piece.
uint32_t crc32(std::string_view bytes, uint32_t previous = 0);

}  // namespace frit::base

template <>
struct std::hash<frit::base::Hash128> {
  size_t operator()(const frit::base::Hash128& h) const noexcept { return static_cast<size_t>(h.hi ^ h.lo); }
};
