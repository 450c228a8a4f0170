// Every kernel family against the evaluator: random, ragged and hostile problems with params from the whole
// space, by the interpreter and by machine code, for each vector width that this machine has. Machine code
// runs with every buffer against a page without access, in front of it or behind it by turns, and must give
// the interpreter's bits.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>

#include "exec/interpret.h"
#include "graph/eval.h"
#include "graph/text.h"
#include "support/compiled.h"
#include "support/guarded.h"
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

// What the run of a family covered.
struct Coverage {
  testing::GuardedCounts counts;
  int front = 0, end = 0;
};

class Problem {
 public:
  Problem(const testing::ProblemKind& kind, uint64_t seed)
      : kind_(kind), seed_(seed), random_(seed), graph_(kind.make(seed)) {
    // Independent of what make() drew from the same seed.
    random_.discard(1000);
    static const char* const kTargets[] = {"cpu", "cpu:x86-64-v3"};
    options_.target = *device::parse_target(kTargets[random_() % 2]);
    options_.numerics = random_() % 3 == 0 ? Numerics::kStrict : Numerics::kDefault;
    options_.threads = random_() % 3 == 0 ? 2 : 1;
    side_ = random_() % 2 == 0 ? base::GuardSide::kFront : base::GuardSide::kEnd;
    options_.see_plan = [this](const fusion::Plan& plan) {
      family_seen_ = kind_.family[0] == '\0';
      for (const auto& group : plan.groups) family_seen_ = family_seen_ || group.family == kind_.family;
    };
    options_.choose = [this](const fusion::PlanGroup& group, const codegen::BuildContext& context) {
      return choose(group, context);
    };
  }

  void check(Coverage& coverage) {
    const auto inputs = testing::problem_inputs(graph_, seed_, kind_);
    want_ = graph::evaluate(graph_, inputs);
    ASSERT_TRUE(want_->ok()) << want_->error().text();
    auto compiled = testing::compile_graph(graph_, options_);
    ASSERT_TRUE(compiled.ok()) << compiled.error().text() << "\n" << text();
    ASSERT_TRUE(family_seen_) << "no group of family " << kind_.family << "\n" << text();

    auto interpreted = exec::interpret_plan(compiled->plan, inputs,
                                            {.pieces = static_cast<int>(1 + seed_ % 3), .seed = seed_});
    ASSERT_NO_FATAL_FAILURE(compare("interpreter", interpreted));

    const std::string what = "fault in: " + text() + "\n";
    testing::describe_faults(&what);
    testing::GuardedOptions guarded;
    guarded.side = side_;
    guarded.seed = seed_;
    guarded.launch = [&](const loop::LoopFn& fn, const device::KernelArgs& args,
                         std::span<const size_t>) -> Result<int32_t> {
      auto kernel = compiled->provider->kernel(fn);
      if (!kernel.ok()) return std::move(kernel).error();
      return static_cast<int32_t>((*kernel)->launch(args));
    };
    auto ran = testing::run_guarded(compiled->plan, inputs, guarded, &coverage.counts);
    testing::describe_faults(nullptr);
    ++(side_ == base::GuardSide::kFront ? coverage.front : coverage.end);
    ASSERT_NO_FATAL_FAILURE(compare("kernels", ran));
    for (size_t k = 0; k < ran->size(); ++k) {
      const auto difference = testing::different_bits((*ran)[k], (*interpreted)[k]);
      ASSERT_FALSE(difference) << "output " << k << " " << *difference << "\n" << text();
    }
    if (options_.numerics == Numerics::kStrict) ASSERT_NO_FATAL_FAILURE(check_strict(inputs, *interpreted));
    // The product's own way, with its arena and its threads. It flushes denormals where the policy allows it,
    // which shows where infinities meet them.
    const bool denormals = testing::is_special(seed_) && kind_.special;
    if (seed_ % 4 == 0 && (!denormals || options_.numerics == Numerics::kStrict))
      ASSERT_NO_FATAL_FAILURE(compare("executor", testing::run_graph(*compiled, inputs, options_)));
  }

 private:
  codegen::Params choose(const fusion::PlanGroup& group, const codegen::BuildContext& context) {
    const codegen::Params params = testing::any_choice(group, context, random_);
    params_text_ += group.family + ": " + params.text() + "\n";
    return params;
  }

  // strict: the same bits with other params, other vectors and other threads.
  void check_strict(const std::vector<HostTensor>& inputs, const std::vector<HostTensor>& want) {
    const std::string before = text();
    CompiledOptions other = options_;
    other.target = *device::parse_target(other.target.has_avx512() ? "cpu:x86-64-v3" : "cpu:x86-64-v4");
    other.threads = 3 - other.threads;
    other.interpret = true;
    const auto compiled = testing::compile_graph(graph_, other);
    ASSERT_TRUE(compiled.ok()) << compiled.error().text() << "\n" << text();
    const auto got = exec::interpret_plan(compiled->plan, inputs, {});
    ASSERT_TRUE(got.ok()) << got.error().text() << "\n" << text();
    for (size_t k = 0; k < got->size(); ++k) {
      const auto difference = testing::different_bits((*got)[k], want[k]);
      ASSERT_FALSE(difference) << "strict: output " << k << " " << *difference << "\n"
                               << before << "\nand with " << other.target.text() << "\n"
                               << params_text_;
    }
  }

  void compare(const char* by, const Result<std::vector<HostTensor>>& got) {
    ASSERT_TRUE(got.ok()) << by << ": " << got.error().text() << "\n" << text();
    for (size_t k = 0; k < (*want_)->size(); ++k) {
      std::string where;
      const double d = testing::largest_difference((*got)[k], (**want_)[k], &where);
      ASSERT_LE(d, testing::usual_bound((*got)[k].dtype())) << by << ", output " << k << " " << where << "\n"
                                                            << text();
    }
  }

  std::string text() const {
    return std::string(kind_.name) + " seed " + std::to_string(seed_) + " target " + options_.target.text() +
           " numerics " + std::string(numerics_name(options_.numerics)) + " threads " +
           std::to_string(options_.threads) + " guard " +
           (side_ == base::GuardSide::kFront ? "front" : "end") + "\n" + params_text_ + graph::print(graph_);
  }

  const testing::ProblemKind& kind_;
  const uint64_t seed_;
  std::mt19937_64 random_;
  const graph::Graph graph_;
  CompiledOptions options_;
  base::GuardSide side_ = base::GuardSide::kEnd;
  bool family_seen_ = false;
  std::string params_text_;
  std::optional<Result<std::vector<HostTensor>>> want_;
};

class Kernels : public ::testing::TestWithParam<testing::ProblemKind> {};

TEST_P(Kernels, AgreeWithTheEvaluator) {
  const char* only = std::getenv("FRIT_TEST_SEED");
  Coverage coverage;
  const int count = problem_count();
  for (int i = 0; i < count; ++i) {
    const uint64_t seed = only ? std::strtoull(only, nullptr, 10)
                               : 1000 * static_cast<uint64_t>(GetParam().number) + static_cast<uint64_t>(i);
    Problem(GetParam(), seed).check(coverage);
    if (HasFatalFailure() || only) return;
  }
  EXPECT_GE(coverage.counts.kernels, count / 2);
  if (count < 100) return;
  EXPECT_GE(coverage.front, count / 4);
  EXPECT_GE(coverage.end, count / 4);
  if (GetParam().in_place) {
    EXPECT_GT(coverage.counts.in_place, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Kernels, ::testing::ValuesIn(testing::problem_kinds()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace frit
