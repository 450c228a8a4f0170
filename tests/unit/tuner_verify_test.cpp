// Nothing that is wrong in a single element, or that writes outside of its outputs, is ever stored by the
// tuner.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/random.h"
#include "graph/eval.h"
#include "graph/infer.h"
#include "loop/text.h"
#include "support/interpreted_provider.h"
#include "support/random_graph.h"
#include "support/sim_lab.h"
#include "support/store_testing.h"
#include "tuner/reference.h"
#include "tuner/tune.h"
#include "tuner/workbench.h"

namespace frit::tuner {
namespace {

using codegen::Params;
using graph::HostTensor;
using testing::InterpretedProvider;
using testing::SimClock;

// ---- the reference
// ------------------------------------------------------------------------------------------------

graph::Graph product_graph(int64_t m, int64_t n, int64_t k, graph::Layout layout = {}) {
  graph::Graph g;
  const auto a = g.add_input({DType::kF32, {m, k}, {}}), b = g.add_input({DType::kF32, {k, n}, {}});
  const auto product = g.add_node(graph::MatMul{}, {a, b}, {{DType::kF32, {m, n}, {}}});
  const auto relu = g.add_node(graph::Unary{graph::UnaryOp::kTanh}, {g.node(product).outputs[0]},
                               {{DType::kF32, {m, n}, layout}});
  g.outputs = g.node(relu).outputs;
  g.output_names.resize(1);
  return g;
}

HostTensor copy_of(const HostTensor& t) {
  HostTensor out = *HostTensor::allocate(t.dtype(), t.shape());
  std::memcpy(out.mutable_bytes(), t.bytes(), t.size_bytes());
  return out;
}

class ReferenceTest : public ::testing::TestWithParam<bool> {};

// Whole and at chosen elements, in row-major and in another layout.
TEST_P(ReferenceTest, FindsASingleWrongElementOfTheLastTileAndOfTileEdges) {
  const bool whole = GetParam();
  for (const bool plain : {true, false}) {
    const graph::Graph g = product_graph(203, 311, 40, plain ? graph::Layout{} : graph::Layout{{1, 0}});
    const auto inputs = testing::random_inputs(g, 11);
    auto reference = Reference::make(g, inputs, 3, whole ? Reference::kMaxWork : 400000);
    ASSERT_TRUE(reference.ok()) << reference.error().text();
    EXPECT_EQ(reference->is_whole(), whole);
    EXPECT_LE(reference->work(), whole ? Reference::kMaxWork : 400000);
    const HostTensor right = (*graph::evaluate(g, inputs))[0];
    HostTensor stored = copy_of(right);  // as it lies in memory
    const graph::Layout& layout = g.value(g.outputs[0]).type.layout;
    const auto at = [&](int64_t element) { return stored_offset(right.shape(), layout, element); };
    const auto put = [&](int64_t element, float value) {
      std::memcpy(stored.mutable_bytes() + 4 * at(element), &value, 4);
    };
    for (int64_t i = 0; i < right.elements(); ++i) put(i, right.at<float>(i));
    const Params params{{"mr", 6}, {"nv", 4}, {"kc", 16}};
    const void* outputs[] = {stored.bytes()};
    EXPECT_TRUE(reference->check(params, outputs, 1e-5).ok())
        << reference->check(params, outputs, 1e-5).error().text();

    const auto expect_found = [&](int64_t row, int64_t column, float by) {
      const int64_t element = row * 311 + column;
      const float was = right.at<float>(element);
      put(element, was + by);
      const Status found = reference->check(params, outputs, 1e-5);
      EXPECT_FALSE(found.ok()) << "row " << row << ", column " << column << " is wrong by " << by;
      if (!found.ok()) {
        EXPECT_NE(found.error().text().find(base::text_of("element ", element, " ")), std::string::npos)
            << found.error().text();
      }
      put(element, was);
    };
    // Every element of the last tile, 6 x 64 or 14 x 32; corners; what was not written.
    for (int64_t row = 198; row < 203; ++row)
      for (int64_t column = 256; column < 311; column += whole ? 7 : 1) expect_found(row, column, 0.01f);
    for (int64_t row = 189; row < 203; ++row)
      for (int64_t column = 288; column < 311; column += whole ? 7 : 1) expect_found(row, column, -0.01f);
    expect_found(0, 0, 0.01f);
    expect_found(0, 310, 0.01f);
    expect_found(202, 0, std::numeric_limits<float>::quiet_NaN());
    // A whole edge of tiles that is wrong: a row before the last border, a column after the first.
    std::vector<int64_t> band;
    for (int64_t column = 0; column < 311; ++column) band.push_back(197 * 311 + column);
    for (const int64_t element : band) put(element, right.at<float>(element) + 0.01f);
    EXPECT_FALSE(reference->check(params, outputs, 1e-5).ok());
    for (const int64_t element : band) put(element, right.at<float>(element));
    // Within the bound of the policy, which is relative to the largest.
    put(0, right.at<float>(0) + 5e-6f);
    EXPECT_TRUE(reference->check(params, outputs, 1e-5).ok());
    EXPECT_FALSE(reference->check(params, outputs, 1e-6).ok());
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReferenceTest, ::testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "Whole" : "Chosen"); });

TEST(ReferenceIntegers, MustBeEqual) {
  graph::Graph g;
  const auto x = g.add_input({DType::kI64, {1000}, {}});
  const auto n = g.add_node(graph::Binary{graph::BinaryOp::kAdd}, {x, x}, {{DType::kI64, {1000}, {}}});
  g.outputs = g.node(n).outputs;
  std::vector<int64_t> values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i) * 1000;
  const std::vector<HostTensor> inputs{*HostTensor::of(DType::kI64, {1000}, values)};
  auto reference = Reference::make(g, inputs, 3);
  ASSERT_TRUE(reference.ok());
  for (int64_t& v : values) v *= 2;
  const void* outputs[] = {values.data()};
  EXPECT_TRUE(reference->check({}, outputs, 1e-4).ok());
  ++values[17];  // a millionth of the largest
  EXPECT_FALSE(reference->check({}, outputs, 1e-4).ok());
}

// A row of a softmax costs a row; a thousand random elements of a huge one must not cost a thousand rows.
TEST(ReferenceWork, StaysWithinItsLimitWhereElementsNeedMuch) {
  graph::Graph g;
  const int64_t rows = 400, width = 20000;
  const auto x = g.add_input({DType::kF32, {rows, width}, {}});
  const auto sum =
      g.add_node(graph::Reduce{graph::ReduceOp::kSum, {1}, true}, {x}, {{DType::kF32, {rows, 1}, {}}});
  const auto y = g.add_node(graph::Binary{graph::BinaryOp::kDiv}, {x, g.node(sum).outputs[0]},
                            {{DType::kF32, {rows, width}, {}}});
  g.outputs = g.node(y).outputs;
  g.output_names.resize(1);
  const auto inputs = testing::random_inputs(g, 1);
  auto reference = Reference::make(g, inputs, 3);
  ASSERT_TRUE(reference.ok()) << reference.error().text();
  EXPECT_FALSE(reference->is_whole());
  EXPECT_LE(reference->work(), Reference::kMaxWork);
  const HostTensor right = copy_of((*graph::evaluate(g, inputs))[0]);
  const void* outputs[] = {right.bytes()};
  EXPECT_TRUE(reference->check({{"unroll", 4}, {"chunk", 16}}, outputs, 1e-5).ok());
  float wrong = 1e9f;
  std::memcpy(const_cast<std::byte*>(right.bytes()) + right.size_bytes() - 4, &wrong, 4);
  EXPECT_FALSE(reference->check({{"unroll", 4}, {"chunk", 16}}, outputs, 1e-5).ok());
}

// ---- kernels that misbehave
// ---------------------------------------------------------------------------------------

fusion::PlanGroup pointwise_group(int64_t rows, int64_t columns) {
  graph::Graph g;
  const auto x = g.add_input(testing::f32({rows, columns}));
  const auto n = g.add_node(graph::Unary{graph::UnaryOp::kNeg}, {x}, {testing::f32({rows, columns})});
  g.outputs = g.node(n).outputs;
  return testing::single_group(g, n, "pointwise");
}
fusion::PlanGroup product_group(int64_t m, int64_t n, int64_t k) {
  fusion::PlanGroup group;
  group.group.graph = product_graph(m, n, k);
  group.group.anchor = 0;
  group.group.inputs = {{false, false}, {false, false}};
  group.family = "matmul";
  for (size_t id = 0; id < group.group.graph.nodes.size(); ++id)
    group.nodes.push_back(static_cast<graph::NodeId>(id));
  group.inputs = group.group.graph.inputs;
  group.outputs = group.group.graph.outputs;
  return group;
}

float* output_of(const loop::LoopFn& fn, const device::KernelArgs& args, int64_t* elements) {
  *elements = testing::elements_of(fn.buffers[static_cast<size_t>(fn.arg_count - 1)]);
  return static_cast<float*>(args.buffers[fn.arg_count - 1]);
}

struct Misdeed {
  const char* name;
  Outcome outcome;
  std::function<void(const loop::LoopFn&, const device::KernelArgs&)> act;
};

class Misdeeds : public ::testing::TestWithParam<bool> {};

TEST_P(Misdeeds, AreSeenAndNamed) {
  const bool whole = GetParam();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Misdeed misdeeds[] = {
      {"none", Outcome::kMeasured, [](const auto&, const auto&) {}},
      {"last element", Outcome::kWrongAnswer,
       [](const auto& fn, const auto& args) {
         int64_t n = 0;
         float* out = output_of(fn, args, &n);
         out[n - 1] += 0.01f;
       }},
      {"one element of the last tile", Outcome::kWrongAnswer,
       [](const auto& fn, const auto& args) {
         int64_t n = 0;
         float* out = output_of(fn, args, &n);
         out[n - 37] *= 1.001f;
       }},
      {"an element is not written", Outcome::kWrongAnswer,
       [nan](const auto& fn, const auto& args) {
         int64_t n = 0;
         output_of(fn, args, &n)[n - 1] = nan;  // what it was poisoned with
       }},
      {"one element past the end", Outcome::kOutOfBounds,
       [](const auto& fn, const auto& args) {
         int64_t n = 0;
         float* out = output_of(fn, args, &n);
         out[n] = 0;
       }},
      {"one element before the front", Outcome::kOutOfBounds,
       [](const auto& fn, const auto& args) {
         int64_t n = 0;
         output_of(fn, args, &n)[-1] = 0;
       }},
      {"a store into its input", Outcome::kOutOfBounds,
       [](const auto&, const auto& args) { static_cast<float*>(args.buffers[0])[3] += 1; }},
      {"uses what is past its input", Outcome::kWrongAnswer,
       [](const auto& fn, const auto& args) {
         int64_t n = 0;
         float* out = output_of(fn, args, &n);
         out[n - 1] = -static_cast<const float*>(args.buffers[0])[n];
       }},
  };
  for (const Misdeed& misdeed : misdeeds) {
    SimClock clock;
    InterpretedProvider provider;
    provider.after = [&](const loop::LoopFn& fn, const device::KernelArgs& args) {
      clock.pass(1e5);
      misdeed.act(fn, args);
    };
    const device::Target target = *device::parse_target("cpu:x86-64-v3");
    Workbench::Options options;
    options.build.target = &target;
    options.provider = &provider;
    options.clock = &clock;
    if (!whole) options.check_work = 20000;
    auto bench = Workbench::make(pointwise_group(37, 101), options);
    ASSERT_TRUE(bench.ok()) << bench.error().text();
    std::unique_ptr<Variant> variant;
    Verdict v = (*bench)->prepare((*bench)->family().heuristic((*bench)->group(), options.build), &variant);
    ASSERT_TRUE(v.ok()) << v.reason;
    v = (*bench)->sample(*variant);
    if (v.ok()) v = (*bench)->verify(*variant);
    EXPECT_EQ(v.outcome, misdeed.outcome) << misdeed.name << ": " << v.reason;
    EXPECT_EQ(v.reason.empty(), v.ok()) << misdeed.name;
    if (v.ok()) {
      EXPECT_NEAR(variant->median_ns(), 1e5, 100);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Misdeeds, ::testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "Whole" : "Chosen"); });

// ---- a whole search
// -----------------------------------------------------------------------------------------------

class BenchLab final : public Lab {
 public:
  explicit BenchLab(const Workbench::Options& options) : options_(options) {}
  Result<std::unique_ptr<Bench>> bench(const fusion::PlanGroup& group) override {
    FRIT_ASSIGN(auto made, Workbench::make(group, options_));
    return std::unique_ptr<Bench>(std::move(made));
  }
  Result<CompareOutcome> compare(const std::vector<Params>& before, const std::vector<Params>&,
                                 double) override {
    CompareOutcome out;
    out.group_before_ns.assign(before.size(), 2);
    out.group_after_ns.assign(before.size(), 1);
    return out;
  }

 private:
  Workbench::Options options_;
};

// Half of the kernels of a product are wrong, each in its own way, and the faster for it.
TEST(TunerVerify, AFastWrongVariantIsRecordedAndNeverStored) {
  World world;
  auto store = world.open("");
  SimClock clock;
  InterpretedProvider provider;
  std::map<std::string, int> kinds;  // by the function's text
  const auto kind_of = [&](const loop::LoopFn& fn) {
    const auto [it, fresh] = kinds.emplace(loop::print(fn), 0);
    if (fresh) it->second = static_cast<int>(base::hash128(it->first).lo % 6);
    return it->second;
  };
  provider.after = [&](const loop::LoopFn& fn, const device::KernelArgs& args) {
    const int kind = kind_of(fn);
    clock.pass(kind < 3 ? 1e6
                        : 1e5 * (1 + static_cast<double>(base::hash128(loop::print(fn)).hi % 100) / 100));
    int64_t n = 0;
    float* out = output_of(fn, args, &n);
    if (kind == 3) out[n - 1] += 0.01f;
    if (kind == 4) out[n - 5] = std::numeric_limits<float>::quiet_NaN();
    if (kind == 5) out[n] = 0;
  };
  const device::Target target = *device::parse_target("cpu:x86-64-v3");
  Workbench::Options options;
  options.build.target = &target;
  options.provider = &provider;
  options.clock = &clock;
  BenchLab lab(options);

  fusion::Plan plan;
  plan.groups.push_back(product_group(7, 40, 9));
  plan.graph = plan.groups[0].group.graph;
  TuneRequest request;
  request.plan = &plan;
  request.start.resize(1);
  request.build = options.build;
  request.clock = &clock;
  request.store = store.get();
  request.strategy = Strategy::kExhaustive;
  const auto key = decision_key(plan.groups[0].group.text(), SessionParts(), {}).value_or_throw();
  request.key = [&](const codegen::Group&) -> Result<Key> { return key; };
  request.budget_s = 1000;
  const auto out = tune(request, lab);
  ASSERT_TRUE(out.ok()) << out.error().text();

  std::map<Outcome, int> outcomes;
  std::map<std::string, Outcome> by_params;
  for (const Trial& trial : store->trials_of(key)) {
    ++outcomes[trial.outcome];
    by_params[trial.params] = trial.outcome;
    EXPECT_EQ(trial.reason.empty(), trial.outcome == Outcome::kMeasured);
  }
  EXPECT_GT(outcomes[Outcome::kMeasured], 3);
  EXPECT_GT(outcomes[Outcome::kWrongAnswer], 3);
  EXPECT_GT(outcomes[Outcome::kOutOfBounds], 1);
  const DecisionHit hit = store->get_decision(key);
  ASSERT_EQ(hit.match, Match::kExact);
  EXPECT_EQ(by_params.at(hit.decision.params), Outcome::kMeasured);
  EXPECT_EQ(out->groups[0].params.text(), hit.decision.params);
  EXPECT_EQ(hit.decision.evidence.failures, out->failures);
}

}  // namespace
}  // namespace frit::tuner
