// A search whose variants crash, hang, stop, eat memory, lie and write where they must not: each is caught,
// recorded with its reason, never stored, never tried again, and the search goes on.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/text.h"
#include "support/fake_seams.h"
#include "support/random_graph.h"
#include "support/store_testing.h"
#include "tuner/tune.h"
#include "tuner/worker/isolated_lab.h"

namespace frit::tuner::worker {
namespace {

using codegen::Params;

fusion::Plan product_plan(int64_t m, int64_t n, int64_t k) {
  fusion::Plan plan;
  fusion::PlanGroup group;
  graph::Graph& g = group.group.graph;
  const auto a = g.add_input({DType::kF32, {m, k}, {}}), b = g.add_input({DType::kF32, {k, n}, {}});
  group.group.anchor = g.add_node(graph::MatMul{}, {a, b}, {{DType::kF32, {m, n}, {}}});
  g.outputs = g.node(group.group.anchor).outputs;
  g.output_names.resize(1);
  group.group.inputs = {{false, false}, {false, false}};
  group.family = "matmul";
  group.nodes = {0};
  group.inputs = g.inputs;
  group.outputs = g.outputs;
  plan.graph = g;
  plan.groups.push_back(std::move(group));
  return plan;
}

class NoModel final : public Lab {
 public:
  Result<std::unique_ptr<Bench>> bench(const fusion::PlanGroup&) override {
    return make_error(Code::kInternal, "not here");
  }
  Result<CompareOutcome> compare(const std::vector<Params>& before, const std::vector<Params>&,
                                 double) override {
    CompareOutcome out;
    out.group_before_ns.assign(before.size(), 2);
    out.group_after_ns.assign(before.size(), 1);
    return out;
  }
};

IsolatedLab::Options lab_options(base::Clock& clock, const std::string& program) {
  IsolatedLab::Options out;
  out.program = program;
  out.limits.memory_bytes = 128 << 20;
  out.run_ns = 1'000'000'000;
  out.clock = &clock;
  out.bench.target = device::parse_target("cpu:x86-64-v3")->text();
  return out;
}

TEST(Isolation, WhateverVariantsDoTheSearchGoesOn) {
  World world;
  auto store = world.open("");
  base::SystemClock clock;
  NoModel model;
  const fusion::Plan plan = product_plan(7, 40, 9);
  const device::Target target = *device::parse_target("cpu:x86-64-v3");
  const Key key = decision_key(plan.groups[0].group.text(), SessionParts(), {}).value_or_throw();
  std::map<std::string, Outcome> first;
  for (int round = 0; round < 2; ++round) {
    IsolatedLab lab(lab_options(clock, FRIT_TEST_WORKER), model);
    TuneRequest request;
    request.plan = &plan;
    request.start.resize(1);
    request.build.target = &target;
    request.clock = &clock;
    request.store = store.get();
    request.strategy = Strategy::kRandom;
    request.key = [&](const codegen::Group&) -> Result<Key> { return key; };
    request.budget_s = 500;
    StopSource stop;
    request.stop = stop.token();
    const int64_t most = round == 0 ? 40 : 50;
    request.progress = [&](const TuneProgress& p) {
      if (p.trial >= most) stop.request_stop();
    };
    ::testing::internal::CaptureStderr();
    const auto out = tune(request, lab);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
    ASSERT_TRUE(out.ok()) << out.error().text();

    std::map<Outcome, int> outcomes;
    std::map<std::string, Outcome> by_params;
    for (const Trial& trial : store->trials_of(key)) {
      ++outcomes[trial.outcome];
      EXPECT_EQ(trial.reason.empty(), trial.outcome == Outcome::kMeasured) << trial.params;
      EXPECT_TRUE(by_params.emplace(trial.params, trial.outcome).second) << trial.params << " came twice";
      // A sanitizer without memory for its own report ends the process with a code.
      if (trial.outcome == Outcome::kCrash && trial.reason.find("Sanitizer") == std::string::npos) {
        EXPECT_NE(trial.reason.find("killed by signal"), std::string::npos) << trial.reason;
      }
    }
    for (const Outcome outcome : {
           Outcome::kMeasured, Outcome::kCrash, Outcome::kTimeout, Outcome::kWrongAnswer,
               Outcome::kOutOfBounds,
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
               Outcome::kMemory
#endif
         })
      EXPECT_GT(outcomes[outcome], 0) << outcome_name(outcome);
    const DecisionHit hit = store->get_decision(key);
    ASSERT_EQ(hit.match, Match::kExact);
    EXPECT_EQ(by_params.at(hit.decision.params), Outcome::kMeasured) << hit.decision.params;
    if (round == 1) {
      for (const auto& [params, outcome] : first) EXPECT_EQ(by_params.at(params), outcome);
    }
    first = by_params;
  }
}

TEST(Isolation, AWorkerThatCannotStartIsAWarningNotAVerdict) {
  World world;
  auto store = world.open("");
  base::SystemClock clock;
  NoModel model;
  const fusion::Plan plan = product_plan(7, 40, 9);
  const device::Target target = *device::parse_target("cpu:x86-64-v3");
  for (const char* program : {"/no/such/worker", "/bin/true"}) {
    IsolatedLab lab(lab_options(clock, program), model);
    const auto bench = lab.bench(plan.groups[0]);
    ASSERT_FALSE(bench.ok());
    EXPECT_NE(bench.error().text().find(program), std::string::npos) << bench.error().text();
  }
}

TEST(Isolation, DescriptionsReadBack) {
  for (uint64_t seed = 1; seed < 100; ++seed) {
    BenchSpec spec;
    spec.target = "cpu:x86-64-v3";
    spec.numerics = Numerics::kStrict;
    spec.threads = 2;
    spec.cold_weights = seed % 2 == 0;
    spec.seed = seed;
    spec.group.family = "pointwise";
    spec.group.group.graph = testing::random_graph(seed, {.dynamic = false});
    for (size_t k = 0; k < spec.group.group.graph.inputs.size(); ++k)
      spec.group.group.inputs.push_back({k % 2 == 0, k % 3 == 0});
    const auto back = BenchSpec::from_json(spec.to_json());
    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_EQ(back->to_json(), spec.to_json());
    EXPECT_EQ(back->group.group.text(), spec.group.group.text());
  }
  for (const char* text : {"", "{}", "[1]", "{\"op\":\"open\",\"target\":3}", "nonsense"})
    EXPECT_FALSE(BenchSpec::from_json(text).ok()) << text;
}

TEST(Isolation, TheWorkerIsFoundInOrderAndItsAbsenceNamesThePaths) {
  fakes::MemoryFiles files;
  fakes::FakeEnvironment environment;
  fakes::FakeProcess process;
  process.path = "/opt/frit/bin/frit";
  auto none = find_worker("", environment, files, process);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, Code::kNotFound);
  EXPECT_NE(none.error().text().find("/opt/frit/bin/frit-worker, /opt/frit/libexec/frit/frit-worker"),
            std::string::npos)
      << none.error().text();
  files.put("/opt/frit/libexec/frit/frit-worker", "x");
  EXPECT_EQ(*find_worker("", environment, files, process), "/opt/frit/libexec/frit/frit-worker");
  files.put("/opt/frit/bin/frit-worker", "x");
  EXPECT_EQ(*find_worker("", environment, files, process), "/opt/frit/bin/frit-worker");
  environment.values["FRIT_WORKER"] = "/elsewhere/worker";
  EXPECT_FALSE(find_worker("", environment, files, process).ok());
  files.put("/elsewhere/worker", "x");
  EXPECT_EQ(*find_worker("", environment, files, process), "/elsewhere/worker");
  EXPECT_FALSE(find_worker("/named/worker", environment, files, process).ok());
}

}  // namespace
}  // namespace frit::tuner::worker
