// Every GPU schedule against the evaluator: random, ragged and hostile problems with params from the whole
// space, run by the interpreter with blocks, threads and barriers, in both orders of threads; and what a lost
// barrier does.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "codegen/families/phase.h"
#include "graph/eval.h"
#include "graph/text.h"
#include "loop/build.h"
#include "loop/gpu.h"
#include "loop/interp.h"
#include "support/compiled.h"
#include "support/problems.h"
#include "support/random_graph.h"

namespace frit {
namespace {

using graph::HostTensor;
using testing::CompiledOptions;

int problem_count() {
  const char* text = std::getenv("FRIT_TEST_PROBLEMS");
  return text ? std::atoi(text) : 200;
}

struct Kind {
  const char* problem;  // of testing::problem_kinds()
  const char* family;   // that some group must have; "": any
};
std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.problem; }

const testing::ProblemKind& problem(const Kind& kind) {
  for (const auto& k : testing::problem_kinds())
    if (std::string(k.name) == kind.problem) return k;
  ADD_FAILURE() << "no problems " << kind.problem;
  return testing::problem_kinds()[0];
}

void check(const graph::Graph& g, uint64_t seed, bool special, const std::string& family) {
  std::mt19937_64 random(seed);
  const auto inputs = testing::random_inputs(g, seed, special);
  auto want = graph::evaluate(g, inputs);
  ASSERT_TRUE(want.ok()) << want.error().text();
  const auto archs = device::known_gpu_names();
  CompiledOptions options;
  options.target = device::parse_target("cuda:" + archs[random() % archs.size()]).value_or_throw();
  options.numerics = random() % 4 == 0 ? Numerics::kStrict : Numerics::kDefault;
  options.interpret = true;
  std::string chosen;
  bool family_seen = family.empty();
  options.see_plan = [&](const fusion::Plan& plan) {
    for (const auto& group : plan.groups) family_seen = family_seen || group.family == family;
  };
  options.choose = [&](const fusion::PlanGroup& group, const codegen::BuildContext& context) {
    const codegen::Family* f = codegen::family_named(group.family);
    const codegen::Space space = f->space(group.group, context);
    const codegen::Params usual = f->heuristic(group.group, context);
    EXPECT_TRUE(space.legal(usual)) << group.family << ": the heuristic " << usual.text()
                                    << " is not in the space";
    const auto points = space.enumerate(1 << 16);
    EXPECT_FALSE(points.empty()) << group.family << " has an empty space";
    const codegen::Params params =
        random() % 4 == 0 || points.empty() ? usual : points[random() % points.size()];
    EXPECT_GT(f->cost(group.group, params, context).seconds, 0) << params.text();
    const auto program = f->build(group.group, params, context);
    EXPECT_TRUE(program.ok()) << program.error().text();
    if (program.ok())
      for (const auto* phases : {&program->prepare, &program->phases})
        for (const auto& phase : *phases) {
          const auto launch = loop::gpu_launch(phase.fn);
          EXPECT_TRUE(launch.ok()) << launch.error().text();
          if (!launch.ok()) continue;
          const device::GpuUse use{launch->threads(), 32, launch->shared_bytes};
          EXPECT_TRUE(device::check_launch(options.target.gpu(), use).ok())
              << params.text() << ": " << device::check_launch(options.target.gpu(), use).error().text();
        }
    chosen += group.family + ": " + params.text() + "\n";
    return params;
  };
  auto got = testing::run_compiled(g, inputs, options);
  ASSERT_TRUE(got.ok()) << got.error().text() << "\nseed " << seed << "\n" << chosen << graph::print(g);
  EXPECT_TRUE(family_seen) << "no group of family " << family << "\n" << graph::print(g);
  for (size_t k = 0; k < want->size(); ++k) {
    std::string where;
    const double d = testing::largest_difference((*got)[k], (*want)[k], &where);
    ASSERT_LE(d, 5e-5) << where << "\nseed " << seed << " target " << options.target.text() << " numerics "
                       << numerics_name(options.numerics) << "\n"
                       << chosen << graph::print(g);
  }
}

// ---- lost barriers

// The statement without its n-th barrier; n counts down.
loop::Stmt without_barrier(const loop::Stmt& s, int& n) {
  if (s->kind == loop::StmtKind::kBarrier && n-- == 0) return loop::block({});
  auto copy = std::make_shared<loop::StmtNode>(*s);
  for (loop::Stmt& child : copy->body) child = without_barrier(child, n);
  return copy;
}
int count_barriers(const loop::StmtNode& s) {
  int n = s.kind == loop::StmtKind::kBarrier;
  for (const auto& child : s.body) n += count_barriers(*child);
  return n;
}

Result<loop::InterpFailure> run_on_random(const loop::Program& program, const codegen::Group& group,
                                          bool reverse) {
  std::vector<std::vector<float>> memory;
  std::vector<loop::InterpBuffer> inputs, outputs;
  auto add = [&](const std::vector<graph::ValueId>& values, std::vector<loop::InterpBuffer>& list) {
    for (graph::ValueId v : values)
      memory.emplace_back(static_cast<size_t>(codegen::value_elements(group.graph, v)), 0.5f);
    for (size_t k = memory.size() - values.size(); k < memory.size(); ++k)
      list.push_back({memory[k].data(), static_cast<int64_t>(memory[k].size() * sizeof(float))});
  };
  memory.reserve(group.graph.inputs.size() + group.graph.outputs.size());
  add(group.graph.inputs, inputs);
  add(group.graph.outputs, outputs);
  loop::ProgramRun run;
  run.inputs = inputs;
  run.outputs = outputs;
  run.options.reverse = reverse;
  run.options.allow_uninitialised =
      true;  // so that a lost barrier shows as a race, not as an element read too early
  return loop::run_program(program, run);
}

TEST(GpuBarriers, EachOneIsNeeded) {
  const char* graphs[] = {
      R"(graph(%0: f32[7,50]) {
  %1 = reduce.sum(%0) {axes=[1] keepdims=true} : f32[7,1]
  return %1
}
)",
      R"(graph(%0: f32[33,9]) {
  %1 = reduce.max(%0) {axes=[0] keepdims=true} : f32[1,9]
  %2 = binary.sub(%0, %1) : f32[33,9]
  %3 = unary.exp(%2) : f32[33,9]
  %4 = reduce.sum(%3) {axes=[0] keepdims=true} : f32[1,9]
  %5 = binary.div(%3, %4) : f32[33,9]
  return %5
}
)",
      R"(graph(%0: f32[20,70], %1: f32[70,33]) {
  %2 = matmul(%0, %1) : f32[20,33]
  return %2
}
)"};
  const auto target = device::parse_target("cuda:sm_90").value_or_throw();
  for (const char* text : graphs) {
    fusion::FusionOptions options;
    options.build.target = &target;
    const auto plan = fusion::make_plan(graph::parse(text).value_or_throw(), options);
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    ASSERT_EQ(plan->groups.size(), 1u);
    const auto& group = plan->groups[0];
    const codegen::Family* family = codegen::family_named(group.family);
    ASSERT_NE(family, nullptr) << text;
    const loop::Program program =
        family->build(group.group, family->heuristic(group.group, options.build), options.build)
            .value_or_throw();
    ASSERT_EQ(program.phases.size(), 1u);
    const int barriers = count_barriers(*program.phases[0].fn.body);
    EXPECT_GE(barriers, 2);
    for (const bool reverse : {false, true}) {
      EXPECT_TRUE(run_on_random(program, group.group, reverse).ok());
      for (int lost = 0; lost < barriers; ++lost) {
        loop::Program broken = program;
        int n = lost;
        broken.phases[0].fn.body = without_barrier(program.phases[0].fn.body, n);
        const auto failure = run_on_random(broken, group.group, reverse);
        ASSERT_FALSE(failure.ok()) << "barrier " << lost << " of " << barriers << " is not needed in\n"
                                   << text;
        EXPECT_NE(failure.error().text().find("without a barrier between"), std::string::npos)
            << failure.error().text();
      }
    }
  }
}

class GpuFamilies : public ::testing::TestWithParam<Kind> {};

TEST_P(GpuFamilies, AgreeWithTheEvaluator) {
  const testing::ProblemKind& kind = problem(GetParam());
  const char* only = std::getenv("FRIT_TEST_SEED");
  for (int i = 0; i < problem_count(); ++i) {
    const uint64_t seed = only ? std::strtoull(only, nullptr, 10)
                               : 70000 + 1000 * static_cast<uint64_t>(kind.number) + static_cast<uint64_t>(i);
    check(kind.make(seed), seed, testing::is_special(seed) && kind.special, GetParam().family);
    if (HasFatalFailure() || only) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GpuFamilies,
                         ::testing::Values(Kind{"Pointwise", ""}, Kind{"Movement", ""}, Kind{"Reduce", ""},
                                           Kind{"Normalize", "normalize"}, Kind{"Matmul", "matmul"}),
                         [](const auto& info) { return std::string(info.param.problem); });

}  // namespace
}  // namespace frit
