#include "exec/host_ops.h"

#include <gtest/gtest.h>

#include "exec/interpret.h"
#include "exec/run_error.h"
#include "support/exec_run.h"

namespace frit::exec {
namespace {

using graph::Graph;
using graph::ValueId;
using testing::add;
using testing::constant;
using testing::f32;
using testing::ramp;
using testing::Ready;
using testing::relu;
using Floats = std::vector<std::vector<float>>;

TEST(HostOps, RunBetweenKernelsOnTheSameBuffers) {
  Graph g;
  const ValueId x = g.add_input(f32({6}));
  const ValueId a = relu(g, x);
  const ValueId t = g.add(graph::CumSum{0, false, false}, {a}, f32({6}));
  g.outputs = {add(g, t, a), t};
  auto plan = testing::plan_of(g);
  plan->groups[1].family.clear();
  Ready ready;
  const Status made = ready.make(plan);
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_EQ(ready.plan->host_kernels(), 1);
  EXPECT_EQ(ready.plan->kernels(), 2);
  const Floats in = {{1, -2, 3, 4, -5, 6}};
  Floats out(2, std::vector<float>(6));
  ASSERT_TRUE(testing::run(*ready.context, in, out).ok());
  EXPECT_EQ(out, (Floats{{2, 1, 7, 12, 8, 20}, {1, 1, 4, 8, 8, 14}}));
  EXPECT_EQ(out, testing::expected(g, in));

  auto pool = base::ThreadPool::open();
  ASSERT_TRUE(pool->reserve(2).ok());
  auto lease = pool->acquire(2);
  RunOptions options;
  options.workers = &*lease;
  out = Floats(2, std::vector<float>(6));
  ASSERT_TRUE(testing::run(*ready.context, in, out, options).ok());
  EXPECT_EQ(out, testing::expected(g, in));
}

TEST(HostOps, ValuesInAnotherOrderAreRefused) {
  Graph g;
  graph::TensorType type = f32({2, 3});
  const ValueId x = g.add_input(type);
  type.layout.order = {1, 0};
  const ValueId y = g.add(graph::Unary{graph::UnaryOp::kRelu}, {x}, type);
  g.outputs = {y};
  auto op = HostOp::make(testing::single_group(g, 0, ""));
  ASSERT_FALSE(op.ok());
  EXPECT_EQ(op.error().code, Code::kInternal);
}

TEST(HostOps, TheEvaluatorsErrorsNameTheNode) {
  Graph g;
  const ValueId data = g.add_input(f32({4, 1}));
  const ValueId indices = g.add_input({DType::kI64, {graph::Dim(2)}, {}});
  g.outputs = {g.add(graph::Gather{0}, {data, indices}, f32({2, 1}))};
  g.nodes[0].name = "emb";
  auto plan = testing::plan_of(g);
  plan->groups[0].family.clear();
  Ready ready;
  ASSERT_TRUE(ready.make(plan).ok());
  const std::vector<float> table = ramp(4);
  const int64_t index[] = {1, 9};
  std::vector<float> out(2);
  const void* inputs[] = {table.data(), index};
  void* outputs[] = {out.data()};
  const Status s = Executor::run(*ready.context, inputs, outputs);
  ASSERT_FALSE(s.ok());
  EXPECT_NE(s.error().text().find("\"emb\""), std::string::npos) << s.error().text();
}

TEST(RunError, TheBoundTellsGathersApart) {
  Graph g;
  const ValueId index = g.add_input({DType::kI64, {graph::Dim(2)}, {}});
  const ValueId a = g.add_input(f32({30, 5})), b = g.add_input(f32({5, 40}));
  g.add(graph::Gather{0}, {a, index}, f32({2, 5}));
  g.add(graph::Gather{1}, {b, index}, f32({5, 2}));
  g.add(graph::Binary{graph::BinaryOp::kDiv}, {index, index}, {DType::kI64, {graph::Dim(2)}, {}});
  for (size_t n = 0; n < 3; ++n) g.nodes[n].name = std::vector<std::string>{"words", "places", "ratio"}[n];
  fusion::Plan plan;
  plan.graph = g;
  plan.groups.emplace_back();
  plan.groups[0].nodes = {0, 1, 2};
  const auto sites = error_sites(plan, 0);
  ASSERT_EQ(sites.size(), 3u);
  const auto text = [&](int64_t code, int64_t value, int64_t bound) {
    const int64_t words[] = {code, value, bound};
    return kernel_error(sites, "group", words).text();
  };
  EXPECT_EQ(text(1, 30, 30), "gather \"words\": index 30 is out of range [-30, 30)");
  EXPECT_EQ(text(1, -41, 40), "gather \"places\": index -41 is out of range [-40, 40)");
  EXPECT_EQ(text(1, 7, 6), "gather \"words\" or gather \"places\": index 7 is out of range [-6, 6)");
  EXPECT_EQ(text(2, 0, 0), "binary.div \"ratio\": integer division by zero");
  EXPECT_EQ(text(3, 8, 0), "group: value 8 is outside of the operator's domain");
  const int64_t unknown[] = {9, 0, 0};
  EXPECT_EQ(kernel_error(sites, "group", unknown).code, Code::kInternal);
}

TEST(Interpret, AgreesWithKernelsAndEvaluator) {
  Graph g;
  const ValueId x = g.add_input(f32({37}));
  const ValueId a = relu(g, add(g, x, constant(g, ramp(37, -18))));
  const ValueId t = g.add(graph::CumSum{0, false, true}, {a}, f32({37}));
  g.outputs = {add(g, t, a), a};
  auto plan = testing::plan_of(g);
  plan->groups[2].family.clear();
  auto compiled = build_plan(plan, {}, nullptr, testing::fake_build_options());
  ASSERT_TRUE(compiled.ok());
  const std::vector<float> in = ramp(37, -10, 0.5f);
  const auto input = graph::HostTensor::of(DType::kF32, {37}, in);
  for (const int pieces : {1, 4}) {
    InterpretOptions options;
    options.pieces = pieces;
    auto out = interpret_plan(*compiled, {&*input, 1}, options);
    ASSERT_TRUE(out.ok()) << out.error().text();
    const auto want = testing::expected(g, {in});
    EXPECT_EQ((*out)[0].values<float>(), want[0]);
    EXPECT_EQ((*out)[1].values<float>(), want[1]);
  }
  const auto wrong = graph::HostTensor::of(DType::kF32, {36}, ramp(36));
  auto refused = interpret_plan(*compiled, {&*wrong, 1});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().text(), "input 0 is f32[36], expected f32[37]");
}

}  // namespace
}  // namespace frit::exec
