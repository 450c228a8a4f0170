// Every kernel family against the evaluator: random, ragged and hostile problems with params from the whole space, by
// the interpreter and by machine code, for each vector width that this machine has.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "graph/eval.h"
#include "graph/text.h"
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

// One problem: the same answer from the evaluator, the interpreter and the kernel.
void check(const graph::Graph& g, uint64_t seed, bool special, const std::string& family) {
  std::mt19937_64 random(seed);
  const auto inputs = testing::random_inputs(g, seed, special);
  auto want = graph::evaluate(g, inputs);
  ASSERT_TRUE(want.ok()) << want.error().text();
  CompiledOptions options;
  std::string params_text;
  bool family_seen = family.empty();
  options.see_plan = [&](const fusion::Plan& plan) {
    for (const auto& group : plan.groups) family_seen = family_seen || group.family == family;
  };
  options.choose = [&](const fusion::PlanGroup& group, const codegen::BuildContext& context) {
    const codegen::Family* f = codegen::family_named(group.family);
    const codegen::Space space = f->space(group.group, context);
    EXPECT_TRUE(space.legal(f->heuristic(group.group, context))) << family << ": the heuristic " << f->heuristic(group.group, context).text() << " is not in the space";
    auto points = space.enumerate(1 << 16);
    const auto params = random() % 4 == 0 || points.empty() ? f->heuristic(group.group, context) : points[random() % points.size()];
    params_text += group.family + ": " + params.text() + "\n";
    return params;
  };
  const char* names[] = {"cpu", "cpu:x86-64-v3"};
  const auto target = device::parse_target(names[random() % 2]);
  ASSERT_TRUE(target.ok());
  options.target = *target;
  options.numerics = random() % 3 == 0 ? Numerics::kStrict : Numerics::kDefault;
  options.threads = random() % 3 == 0 ? 2 : 1;
  for (bool interpret : {true, false}) {
    options.interpret = interpret;
    params_text.clear();
    std::mt19937_64 again(seed);
    random = again;
    random.discard(8);
    auto got = testing::run_compiled(g, inputs, options);
    ASSERT_TRUE(got.ok()) << got.error().text() << "\nseed " << seed << "\n" << params_text << graph::print(g);
    EXPECT_TRUE(family_seen) << "no group of family " << family << "\n" << graph::print(g);
    for (size_t k = 0; k < want->size(); ++k) {
      std::string where;
      const double d = testing::largest_difference((*got)[k], (*want)[k], &where);
      // Sums in another order, then amplified by an activation: well inside of the bound of `default`.
      ASSERT_LE(d, 5e-5) << (interpret ? "interpreter, " : "kernel, ") << where << "\nseed " << seed << " target " << options.target.text()
                         << " numerics " << numerics_name(options.numerics) << " threads " << options.threads << "\n"
                         << params_text << graph::print(g);
    }
  }
}

class Kernels : public ::testing::TestWithParam<testing::ProblemKind> {};

TEST_P(Kernels, AgreeWithTheEvaluator) {
  const char* only = std::getenv("FRIT_TEST_SEED");
  for (int i = 0; i < problem_count(); ++i) {
    const uint64_t seed = only ? std::strtoull(only, nullptr, 10) : 1000 * static_cast<uint64_t>(GetParam().number) + static_cast<uint64_t>(i);
    const graph::Graph g = GetParam().make(seed);
    check(g, seed, testing::is_special(seed) && GetParam().special, GetParam().family);
    if (HasFatalFailure() || only) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Kernels, ::testing::ValuesIn(testing::problem_kinds()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace frit
