#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "exec/memory_plan.h"

namespace frit::exec {
namespace {

bool meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

// The most bytes alive in one step: no placement can be smaller.
int64_t peak(const std::vector<Lifetime>& pieces) {
  int64_t most = 0;
  for (const Lifetime& p : pieces) {
    int64_t alive = 0;
    for (const Lifetime& q : pieces) {
      if (q.first <= p.first && p.first <= q.last) alive += (q.size_bytes + 63) / 64 * 64;
    }
    most = std::max(most, alive);
  }
  return most;
}

TEST(Place, NothingNeedsNothing) {
  const Placement out = place({});
  EXPECT_TRUE(out.offsets.empty());
  EXPECT_EQ(out.size_bytes, 0);
}

TEST(Place, AChainNeedsTwoBuffers) {
  std::vector<Lifetime> chain;
  for (int32_t k = 0; k < 10; ++k) chain.push_back({1000, k, k + 1});
  EXPECT_EQ(place(chain).size_bytes, 2 * 1024);
}

TEST(Place, DisjointLifetimesShareTheirPlace) {
  const std::vector<Lifetime> pieces = {{64, 0, 0}, {640, 1, 1}, {100, 2, 5}};
  const Placement out = place(pieces);
  EXPECT_EQ(out.size_bytes, 640);
  EXPECT_EQ(out.offsets, (std::vector<int64_t>{0, 0, 0}));
}

TEST(Place, TheTightestGapIsTaken) {
  // After step 0 there are gaps of 512 and 192 bytes between pieces that live on; the last piece takes the
  // smaller one.
  const std::vector<Lifetime> pieces = {{1024, 0, 9}, {512, 0, 0}, {256, 0, 9},
                                        {192, 0, 0},  {128, 0, 9}, {64, 1, 1}};
  const Placement out = place(pieces);
  EXPECT_EQ(out.size_bytes, 1024 + 512 + 256 + 192 + 128);
  EXPECT_EQ(out.offsets[5], out.offsets[3]);
}

TEST(Place, RandomPiecesNeverOverlap) {
  const char* given = std::getenv("FRIT_TEST_SEED");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device()();
  SCOPED_TRACE("FRIT_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  double used = 0, needed = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> pieces(random() % 60);
    for (Lifetime& p : pieces) {
      p.size_bytes = static_cast<int64_t>(random() % 8 == 0 ? random() % 4 : random() % 100'000);
      p.first = static_cast<int32_t>(random() % 40);
      p.last = p.first + static_cast<int32_t>(random() % (random() % 4 == 0 ? 40 : 4));
    }
    const Placement out = place(pieces);
    ASSERT_EQ(out.offsets.size(), pieces.size());
    for (size_t a = 0; a < pieces.size(); ++a) {
      ASSERT_GE(out.offsets[a], 0);
      ASSERT_EQ(out.offsets[a] % kBufferAlignment, 0);
      ASSERT_LE(out.offsets[a] + pieces[a].size_bytes, out.size_bytes);
      for (size_t b = 0; b < a; ++b) {
        if (!meet(pieces[a], pieces[b])) continue;
        const bool apart = out.offsets[a] + pieces[a].size_bytes <= out.offsets[b] ||
                           out.offsets[b] + pieces[b].size_bytes <= out.offsets[a];
        ASSERT_TRUE(apart) << "pieces " << b << " and " << a << " of round " << round;
      }
    }
    ASSERT_EQ(place(pieces).offsets, out.offsets);
    used += static_cast<double>(out.size_bytes);
    needed += static_cast<double>(peak(pieces));
  }
  EXPECT_LT(used, 1.15 * needed);
}

}  // namespace
}  // namespace frit::exec
