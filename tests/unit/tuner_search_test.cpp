// The tuner's order of trials: every point once, none twice, and estimators that one interruption does not move.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "graph/infer.h"
#include "tuner/search.h"
#include "tuner/statistics.h"

namespace frit::tuner {
namespace {

codegen::Group matmul_group(int64_t m, int64_t n, int64_t k) {
  codegen::Group group;
  graph::Graph& g = group.graph;
  const auto a = g.add_input({DType::kF32, {m, k}, {}}), b = g.add_input({DType::kF32, {k, n}, {}});
  group.anchor = g.add_node(graph::MatMul{}, {a, b}, {{DType::kF32, {m, n}, {}}});
  g.outputs = g.node(group.anchor).outputs;
  group.inputs = {{false, false}, {true, false}};
  return group;
}

class SearchTest : public ::testing::TestWithParam<Strategy> {};

TEST_P(SearchTest, TriesEveryPointOnceAndSkipsWhatItIsTold) {
  const device::Target target = *device::parse_target("cpu:x86-64-v3");
  const codegen::BuildContext build{&target, Numerics::kDefault, 1};
  const codegen::Family* family = codegen::family_named("matmul");
  const codegen::Group group = matmul_group(5, 24, 7);
  const auto start = family->heuristic(group, build);
  Search search(*family, group, build, GetParam(), 3);
  ASSERT_GT(search.points(), 10);
  search.skip(start);
  std::set<std::string> seen{start.text()};
  codegen::Params p;
  const codegen::Space space = family->space(group, build);
  while (search.next(start, &p)) {
    EXPECT_TRUE(space.legal(p)) << p.text();
    EXPECT_TRUE(seen.insert(p.text()).second) << p.text() << " came twice";
  }
  // The starting point may have been pruned, so that it is one more than the search's own.
  EXPECT_GE(static_cast<int64_t>(seen.size()), search.points());
  EXPECT_LE(static_cast<int64_t>(seen.size()), search.points() + 1);
}

INSTANTIATE_TEST_SUITE_P(Strategies, SearchTest, ::testing::Values(Strategy::kExhaustive, Strategy::kRandom));

TEST(Search, SameSeedSameOrder) {
  const device::Target target = *device::parse_target("cpu:x86-64-v3");
  const codegen::BuildContext build{&target, Numerics::kDefault, 1};
  const codegen::Family* family = codegen::family_named("matmul");
  const codegen::Group group = matmul_group(64, 64, 64);
  const auto start = family->heuristic(group, build);
  Search a(*family, group, build, Strategy::kRandom, 9), b(*family, group, build, Strategy::kRandom, 9);
  for (int i = 0; i < 50; ++i) {
    codegen::Params p, q;
    ASSERT_EQ(a.next(start, &p), b.next(start, &q));
    EXPECT_EQ(p, q);
  }
}

TEST(Statistics, MedianIgnoresAnInterruption) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({4, 1}), 2.5);
  EXPECT_EQ(median({10, 11, 1e9, 9, 12}), 11);
  EXPECT_EQ(median_deviation({10, 11, 1e9, 9, 12}), 1);
}

}  // namespace
}  // namespace frit::tuner
