// Chosen elements of random graphs are, bit for bit, what the whole evaluation gives, in whatever order they
// are asked for.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <random>

#include "graph/eval.h"
#include "graph/eval_points.h"
#include "graph/infer.h"
#include "graph/text.h"
#include "support/problems.h"
#include "support/random_graph.h"

namespace frit::graph {
namespace {

bool has_constant_shapes(const Graph& g) {
  for (const Value& v : g.values)
    if (!constant_shape(v.type.shape)) return false;
  return true;
}

bool same_element(const HostTensor& a, int64_t i, const HostTensor& b, int64_t j) {
  const size_t bytes = dtype_bytes(a.dtype());
  if (is_float(a.dtype()) && std::isnan(a.as_double(i))) return std::isnan(b.as_double(j));
  return std::memcmp(a.bytes() + static_cast<size_t>(i) * bytes, b.bytes() + static_cast<size_t>(j) * bytes,
                     bytes) == 0;
}

// Some elements of each output, the last one always, some twice.
Points some_points(const std::vector<HostTensor>& outputs, std::mt19937_64& random) {
  Points points;
  for (const HostTensor& t : outputs) {
    auto& own = points.emplace_back();
    const int64_t n = t.elements();
    for (int k = 0; n > 0 && k < 12; ++k)
      own.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(n)));
    if (n > 0) own.push_back(n - 1);
    if (own.size() > 2) own.push_back(own[1]);
  }
  return points;
}

void check(const Graph& g, const std::vector<HostTensor>& inputs, uint64_t seed) {
  const auto whole = evaluate(g, inputs);
  ASSERT_TRUE(whole.ok()) << whole.error().text() << "\nseed " << seed << "\n" << print(g);
  auto evaluator = PointEvaluator::make(g, inputs);
  ASSERT_TRUE(evaluator.ok()) << evaluator.error().text() << "\nseed " << seed << "\n" << print(g);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 2; ++round) {
    const Points points = some_points(*whole, random);
    const auto got = evaluator->values(points);
    ASSERT_TRUE(got.ok()) << got.error().text() << "\nseed " << seed << "\n" << print(g);
    ASSERT_EQ(got->size(), points.size());
    for (size_t k = 0; k < points.size(); ++k) {
      ASSERT_EQ((*got)[k].elements(), static_cast<int64_t>(points[k].size()));
      for (size_t p = 0; p < points[k].size(); ++p) {
        ASSERT_TRUE(same_element((*got)[k], static_cast<int64_t>(p), (*whole)[k], points[k][p]))
            << "output " << k << " element " << points[k][p] << ": "
            << (*got)[k].as_double(static_cast<int64_t>(p)) << ", expected "
            << (*whole)[k].as_double(points[k][p]) << "\nseed " << seed << "\n"
            << print(g);
      }
    }
  }
}

TEST(EvalPoints, AreThoseOfTheWholeOnTheFamiliesProblems) {
  for (const auto& kind : testing::problem_kinds()) {
    for (uint64_t i = 0; i < 60; ++i) {
      const uint64_t seed = 1000 * static_cast<uint64_t>(kind.number) + i;
      const Graph g = kind.make(seed);
      check(g, testing::random_inputs(g, seed, testing::is_special(seed) && kind.special), seed);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(EvalPoints, AreThoseOfTheWholeOnRandomGraphs) {
  constexpr uint64_t kFirstSeed = 1;
  std::cout << "seeds from " << kFirstSeed << "\n";
  int checked = 0;
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 600; ++seed) {
    testing::RandomGraphOptions options;
    options.nodes = 4 + static_cast<int>(seed % 9);
    options.dynamic = false;
    if (seed % 5 == 0) options.floats = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16};
    const Graph g = testing::random_graph(seed, options);
    if (!has_constant_shapes(g)) continue;
    ++checked;
    check(g, testing::random_inputs(g, seed), seed);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(checked, 300);
}

// A large product: the work grows with what is asked for, not with the problem.
TEST(EvalPoints, CostWhatTheyNeed) {
  Graph g;
  const auto a = g.add_input({DType::kF32, {2000, 512}, {}}), b = g.add_input({DType::kF32, {512, 3000}, {}});
  const NodeId product = g.add_node(MatMul{}, {a, b}, {{DType::kF32, {2000, 3000}, {}}});
  const NodeId relu =
      g.add_node(Unary{UnaryOp::kRelu}, {g.node(product).outputs[0]}, {{DType::kF32, {2000, 3000}, {}}});
  const auto y = g.node(relu).outputs[0];
  // Means of rows: one point needs a whole row of the product.
  const NodeId mean = g.add_node(Reduce{ReduceOp::kMean, {1}, false}, {y}, {{DType::kF32, {2000}, {}}});
  g.outputs = {y, g.node(mean).outputs[0]};
  g.output_names.resize(2);
  const auto inputs = testing::random_inputs(g, 5);
  auto evaluator = PointEvaluator::make(g, inputs);
  ASSERT_TRUE(evaluator.ok()) << evaluator.error().text();
  EXPECT_EQ(*evaluator->work({{}, {}}), 0);
  EXPECT_EQ(*evaluator->work({{0, 2999, 5999999, 0}, {}}), 3 * 512 + 3);
  EXPECT_EQ(*evaluator->work({{}, {7}}), 3000 * (512 + 1 + 1));
  const auto values = evaluator->values({{5999999}, {}});
  ASSERT_TRUE(values.ok());
  double sum = 0;
  for (int64_t k = 0; k < 512; ++k)
    sum += inputs[0].as_double(1999 * 512 + k) * inputs[1].as_double(k * 3000 + 2999);
  EXPECT_FLOAT_EQ(static_cast<float>((*values)[0].as_double(0)), static_cast<float>(std::max(sum, 0.0)));
}

TEST(EvalPoints, MistakesAreErrors) {
  Graph g;
  const auto a = g.add_input({DType::kF32, {2, 3}, {}});
  const NodeId n = g.add_node(Unary{UnaryOp::kRelu}, {a}, {{DType::kF32, {2, 3}, {}}});
  g.outputs = g.node(n).outputs;
  const auto inputs = testing::random_inputs(g, 5);
  auto evaluator = PointEvaluator::make(g, inputs);
  ASSERT_TRUE(evaluator.ok());
  EXPECT_EQ(evaluator->values({{6}}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(evaluator->values({{-1}}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(evaluator->values({}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(PointEvaluator::make(g, {}).error().code, Code::kInvalidArgument);
  const HostTensor other = *HostTensor::allocate(DType::kF32, {3, 2});
  EXPECT_EQ(PointEvaluator::make(g, {&other, 1}).error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace frit::graph
