// Hashes and the counter-based generator: published check values, since what they make is stored.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/random.h"

namespace frit::base {
namespace {

TEST(Hash128, PublishedValues) {
  EXPECT_EQ(hash128("").hex(), std::string(32, '0'));
  EXPECT_EQ(hash128("hello").hex(), "cbd8a7b341bd9b025b1e906a48ae1d19");
  EXPECT_EQ(hash128("The quick brown fox jumps over the lazy dog").hex(), "e34bbc7bbc071b6c7a433ca9c49a9347");
}

// SMHasher's verification: keys {}, {0}, {0,1} ... with seed 256 - length, then the hash of all results.
TEST(Hash128, SmhasherVerification) {
  std::array<unsigned char, 256> key{};
  std::vector<uint64_t> results;
  for (int length = 0; length < 256; ++length) {
    const Hash128 h = Hasher(static_cast<uint32_t>(256 - length)).update(key.data(), length).finish();
    results.push_back(h.hi);
    results.push_back(h.lo);
    key[length] = static_cast<unsigned char>(length);
  }
  const Hash128 all = hash128(results.data(), results.size() * sizeof(uint64_t));
  EXPECT_EQ(static_cast<uint32_t>(all.hi), 0x6384ba69u);
}

TEST(Hash128, PiecesDoNotMatter) {
  std::string text(100, '\0');
  std::iota(text.begin(), text.end(), 1);
  const Hash128 whole = hash128(text);
  for (size_t a = 0; a <= text.size(); ++a) {
    for (size_t b = a; b <= text.size(); ++b) {
      Hasher h;
      h.update(text.data(), a).update(text.data() + a, b - a).update(text.data() + b, text.size() - b);
      ASSERT_EQ(h.finish(), whole) << a << " " << b;
    }
  }
  Hasher h;
  h.update("ab");
  EXPECT_EQ(h.finish(), hash128("ab"));
  EXPECT_EQ(h.update("cd").finish(), hash128("abcd"));
}

TEST(Hash128, EachBitMatters) {
  std::string text(33, 'x');
  const Hash128 before = hash128(text);
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string other = text;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(hash128(other), before) << bit;
  }
  EXPECT_NE(Hasher().add("ab").add("c").finish(), Hasher().add("a").add("bc").finish());
  EXPECT_NE(Hasher().add(0.0f).finish(), Hasher().add(-0.0f).finish());
}

TEST(Hash128, HexReadsBack) {
  const Hash128 h{0x0123456789abcdefu, 0xfedcba9876543210u};
  EXPECT_EQ(h.hex(), "0123456789abcdeffedcba9876543210");
  EXPECT_EQ(Hash128::from_hex(h.hex()), h);
  EXPECT_FALSE(Hash128::from_hex(""));
  EXPECT_FALSE(Hash128::from_hex(h.hex().substr(1)));
  EXPECT_FALSE(Hash128::from_hex(h.hex() + "0"));
  EXPECT_FALSE(Hash128::from_hex("0123456789ABCDEFfedcba9876543210"));
  EXPECT_FALSE(Hash128::from_hex("0123456789abcdeffedcba987654321g"));
}

TEST(Crc32, CheckValues) {
  EXPECT_EQ(crc32(""), 0u);
  EXPECT_EQ(crc32("123456789"), 0xcbf43926u);
  EXPECT_EQ(crc32("56789", crc32("1234")), 0xcbf43926u);
}

// Expected values made by tests/models/fill.py.
TEST(Random, SameAsFillPy) {
  const uint64_t seed = seed_of("encoder.layer.0.weight");
  EXPECT_EQ(seed, 378749911u);
  const std::vector<int> expected = {755912, 7103615, 667355, 8839769, 6884294, 12727488, 9674708};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(uniform(seed, i) * (1 << 24), expected[i]) << i;

  std::vector<int64_t> ids(7);
  fill_ids(ids, seed);
  EXPECT_EQ(ids, (std::vector<int64_t>{226, 2117, 199, 2634, 2052, 3793, 2883}));

  std::array<float, 7> unit{};
  fill_unit(unit, seed);
  const std::array<uint32_t, 7> unit_bits = {0xbfc9b979, 0xbe87d825, 0xbfcc10a2, 0x3dbec79c,
                                             0xbe9f07b1, 0x3f655831, 0x3e87f61a};
  EXPECT_EQ(std::memcmp(unit.data(), unit_bits.data(), sizeof unit_bits), 0);
}

TEST(Random, WeightsByKindAndInPieces) {
  constexpr size_t kCount = 100003;
  const uint64_t seed = seed_of("encoder.layer.0.weight");
  const std::vector<std::pair<WeightKind, uint32_t>> expected = {
      {WeightKind::kAny, 0x5d6b9f77}, {WeightKind::kPositive, 0x20d34240}, {WeightKind::kPaired, 0x2c425169}};
  for (const auto& [kind, crc] : expected) {
    std::vector<float> values(kCount);
    fill_weights(values, seed, 0.01, 0.02, kind);
    if (kind == WeightKind::kPaired) {
      for (size_t i = 0; i + 1 < kCount; i += 2) ASSERT_EQ(values[i + 1], -values[i]) << i;
    }
    const auto* bytes = reinterpret_cast<const char*>(values.data());
    EXPECT_EQ(crc32({bytes, kCount * sizeof(float)}), crc) << static_cast<int>(kind);

    std::vector<float> pieces(kCount);
    fill_weights(std::span(pieces).first(1000), seed, 0.01, 0.02, kind);
    fill_weights(std::span(pieces).subspan(1000), seed, 0.01, 0.02, kind, 1000);
    EXPECT_EQ(pieces, values);
  }
}

}  // namespace
}  // namespace frit::base
