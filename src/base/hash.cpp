#include "base/hash.h"

#include <algorithm>
#include <array>
#include <bit>

namespace frit::base {
namespace {

static_assert(std::endian::native == std::endian::little, "stored hashes are of little-endian bytes");

constexpr uint64_t kC1 = 0x87c37b91114253d5u;
constexpr uint64_t kC2 = 0x4cf5ad432745937fu;

uint64_t load64(const unsigned char* bytes) {
  uint64_t value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

uint64_t mix_final(uint64_t k) {
  k = (k ^ (k >> 33)) * 0xff51afd7ed558ccdu;
  k = (k ^ (k >> 33)) * 0xc4ceb9fe1a85ec53u;
  return k ^ (k >> 33);
}

uint64_t mix_first(uint64_t k) { return std::rotl(k * kC1, 31) * kC2; }
uint64_t mix_second(uint64_t k) { return std::rotl(k * kC2, 33) * kC1; }

constexpr std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c & 1) ? 0xedb88320u ^ (c >> 1) : c >> 1;
    table[i] = c;
  }
  return table;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string Hash128::hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out(32, '0');
  for (int i = 0; i < 16; ++i) {
    out[i] = kDigits[(hi >> (60 - 4 * i)) & 15];
    out[16 + i] = kDigits[(lo >> (60 - 4 * i)) & 15];
  }
  return out;
}

std::optional<Hash128> Hash128::from_hex(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  Hash128 out;
  for (size_t i = 0; i < 32; ++i) {
    const int digit = hex_digit(text[i]);
    if (digit < 0) return std::nullopt;
    uint64_t& half = i < 16 ? out.hi : out.lo;
    half = half << 4 | static_cast<uint64_t>(digit);
  }
  return out;
}

void Hasher::block(const unsigned char* bytes) {
  h1_ ^= mix_first(load64(bytes));
  h1_ = (std::rotl(h1_, 27) + h2_) * 5 + 0x52dce729;
  h2_ ^= mix_second(load64(bytes + 8));
  h2_ = (std::rotl(h2_, 31) + h1_) * 5 + 0x38495ab5;
}

Hasher& Hasher::update(const void* data, size_t size_bytes) {
  if (size_bytes == 0) return *this;  // data may be null then
  auto bytes = static_cast<const unsigned char*>(data);
  const size_t held = total_bytes_ % 16;
  total_bytes_ += size_bytes;
  if (held != 0) {
    const size_t take = std::min(size_bytes, 16 - held);
    std::memcpy(tail_ + held, bytes, take);
    if (held + take < 16) return *this;
    block(tail_);
    bytes += take;
    size_bytes -= take;
  }
  for (; size_bytes >= 16; size_bytes -= 16, bytes += 16) block(bytes);
  if (size_bytes != 0) std::memcpy(tail_, bytes, size_bytes);
  return *this;
}

Hash128 Hasher::finish() const {
  uint64_t h1 = h1_, h2 = h2_;
  if (const size_t held = total_bytes_ % 16; held != 0) {
    unsigned char last[16] = {};
    std::memcpy(last, tail_, held);
    if (held > 8) h2 ^= mix_second(load64(last + 8));
    h1 ^= mix_first(load64(last));
  }
  h1 ^= total_bytes_;
  h2 ^= total_bytes_;
  h1 += h2;
  h2 += h1;
  h1 = mix_final(h1);
  h2 = mix_final(h2);
  h1 += h2;
  h2 += h1;
  return {h1, h2};
}

uint32_t crc32(std::string_view bytes, uint32_t previous) {
  static constexpr std::array<uint32_t, 256> kTable = make_crc_table();
  uint32_t c = ~previous;
  for (const char byte : bytes) c = kTable[(c ^ static_cast<unsigned char>(byte)) & 255] ^ (c >> 8);
  return ~c;
}

}  // namespace frit::base
