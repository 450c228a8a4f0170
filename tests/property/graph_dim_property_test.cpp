// Random dimension expressions against direct evaluation, and through their text.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>

#include "graph/dim.h"

namespace frit::graph {
namespace {

// An expression beside its value for one choice of sizes, computed without Dim.
struct Pair {
  Dim dim;
  int64_t value;
};

int64_t floor_div_of(int64_t a, int64_t b) {
  int64_t q = a / b;
  while (b > 0 ? q * b > a : q * b < a) --q;
  return q;
}

class Generator {
 public:
  Generator(uint64_t seed, const std::map<std::string, int64_t>& sizes) : rng_(seed), sizes_(sizes) {}

  Pair expression(int depth) {
    if (depth == 0 || pick(5) == 0) {
      if (pick(2) == 0) {
        const int64_t k = static_cast<int64_t>(pick(13)) - 4;
        return {Dim(k), k};
      }
      auto it = sizes_.begin();
      std::advance(it, static_cast<long>(pick(sizes_.size())));
      return {Dim::symbol(it->first), it->second};
    }
    const Pair a = expression(depth - 1), b = expression(depth - 1);
    if (std::abs(a.value) > 1000000 || std::abs(b.value) > 1000000) return a;
    switch (pick(8)) {
      case 0:
        return {a.dim + b.dim, a.value + b.value};
      case 1:
        return {a.dim - b.dim, a.value - b.value};
      case 2:
        return {a.dim * b.dim, a.value * b.value};
      case 3:
        return {min(a.dim, b.dim), std::min(a.value, b.value)};
      case 4:
        return {max(a.dim, b.dim), std::max(a.value, b.value)};
      case 5: {
        const int64_t c = 1 + static_cast<int64_t>(pick(6));
        return {ceil_div(a.dim, c), -floor_div_of(-a.value, c)};
      }
      case 6: {
        const int64_t c = 1 + static_cast<int64_t>(pick(6));
        return {mod(a.dim, c), a.value - c * floor_div_of(a.value, c)};
      }
      default:
        if (b.value == 0) return a;
        return {floor_div(a.dim, b.dim), floor_div_of(a.value, b.value)};
    }
  }

 private:
  size_t pick(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(rng_); }
  std::mt19937_64 rng_;
  const std::map<std::string, int64_t>& sizes_;
};

TEST(DimProperty, AgreesWithDirectEvaluationAndRoundTrips) {
  const uint64_t base = 20240501;
  std::cout << "seed " << base << "\n";
  std::mt19937_64 rng(base);
  for (int round = 0; round < 4000; ++round) {
    const uint64_t seed = rng();
    std::map<std::string, int64_t> sizes;
    for (const char* name : {"a", "b", "n"}) sizes[name] = 1 + static_cast<int64_t>(rng() % 9);
    const Pair p = Generator(seed, sizes).expression(5);
    // Too large to keep: stands for a symbol that no binding knows.
    if (p.dim.text().find("?x") != std::string::npos) continue;
    const Dim bound = p.dim.bind(sizes);
    ASSERT_TRUE(bound.is_constant()) << "seed " << seed << ": " << p.dim.text() << " -> " << bound.text();
    ASSERT_EQ(bound.value(), p.value) << "seed " << seed << ": " << p.dim.text();

    const auto parsed = Dim::parse(p.dim.text());
    ASSERT_TRUE(parsed.ok()) << "seed " << seed << ": " << parsed.error().message;
    ASSERT_EQ(*parsed, p.dim) << "seed " << seed << ": " << p.dim.text() << " became " << parsed->text();
    ASSERT_EQ(parsed->text(), p.dim.text()) << "seed " << seed;
    if (is_non_negative(p.dim)) {
      ASSERT_GE(p.value, 0) << "seed " << seed << ": " << p.dim.text();
    }

    // Binding in two steps is the same as binding at once.
    const Dim half = p.dim.bind({{"a", sizes["a"]}});
    if (half.text().find("?x") != std::string::npos) continue;
    ASSERT_EQ(half.bind(sizes), bound) << "seed " << seed << ": " << p.dim.text();
  }
}

TEST(DimProperty, OrderIsTotalAndAgreesWithEquality) {
  const uint64_t base = 7;
  std::cout << "seed " << base << "\n";
  std::mt19937_64 rng(base);
  const std::map<std::string, int64_t> sizes = {{"a", 2}, {"b", 3}};
  for (int round = 0; round < 1000; ++round) {
    const uint64_t seed = rng();
    Generator g(seed, sizes);
    const Dim x = g.expression(3).dim, y = g.expression(3).dim, z = g.expression(3).dim;
    EXPECT_EQ((x < y) + (y < x) + (x == y), 1) << "seed " << seed;
    if (x < y && y < z) {
      EXPECT_TRUE(x < z) << "seed " << seed;
    }
    EXPECT_EQ(x + y - y, x) << "seed " << seed;
    EXPECT_EQ((x + y) * z, x * z + y * z) << "seed " << seed;
  }
}

}  // namespace
}  // namespace frit::graph
