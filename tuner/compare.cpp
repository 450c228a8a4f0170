#include "tuner/compare.h"

#include <memory>

#include "base/random.h"
#include "base/try.h"
#include "exec/build.h"
#include "exec/context.h"
#include "exec/executor.h"
#include "graph/tensor.h"
#include "tuner/random_data.h"
#include "tuner/statistics.h"

namespace frit::tuner {

namespace {

struct Side {
  std::unique_ptr<exec::ExecContext> context;
  std::vector<double> total_ns;
  std::vector<std::vector<double>> group_ns;
  std::vector<int64_t> kernel_ns;
};

}  // namespace

Result<CompareOutcome> compare_choices(const CompareRequest& r, const std::vector<codegen::Params>& before,
                                       const std::vector<codegen::Params>& after, exec::ConstantStore& constants) {
  // The plan outlives the call; the shared pointer does not own it.
  const std::shared_ptr<const fusion::Plan> plan(std::shared_ptr<const void>(), r.plan);
  exec::BuildOptions build;
  build.context = r.build;
  build.family = [](std::string_view name) { return codegen::family_named(name); };
  build.stop = r.stop;
  Side sides[2];
  for (int k = 0; k < 2; ++k) {
    FRIT_ASSIGN(exec::CompiledPlan compiled, exec::build_plan(plan, k == 0 ? before : after, r.provider, build));
    exec::ExecOptions options;
    options.threads = r.build.threads;
    options.numerics = r.build.numerics;
    options.workers = r.workers;
    options.stop = r.stop;
    FRIT_ASSIGN(auto exec_plan, exec::ExecPlan::make(compiled, constants, options));
    FRIT_ASSIGN(sides[k].context, exec::ExecContext::make(exec_plan));
    sides[k].group_ns.resize(plan->groups.size());
    sides[k].kernel_ns.resize(exec_plan->dispatches().size());
  }
  std::vector<graph::HostTensor> inputs;
  std::vector<const void*> in;
  for (size_t k = 0; k < plan->graph.inputs.size(); ++k) {
    FRIT_ASSIGN(graph::HostTensor t, random_input(plan->graph, plan->graph.inputs[k], 1 + k));
    inputs.push_back(std::move(t));
  }
  for (const auto& t : inputs) in.push_back(t.bytes());
  const std::vector<void*> out(plan->graph.outputs.size(), nullptr);

  const int64_t begin = r.clock->now_ns();
  for (int round = 0; round < 200; ++round) {
    if (r.stop.stop_requested()) break;
    if (round >= 5 && static_cast<double>(r.clock->now_ns() - begin) * 1e-9 > r.seconds) break;
    for (int k = 0; k < 2; ++k) {
      Side& side = sides[(round + k) % 2];  // neither side always goes first
      std::fill(side.kernel_ns.begin(), side.kernel_ns.end(), 0);
      exec::RunOptions run;
      run.workers = r.workers;
      run.stop = r.stop;
      run.kernel_ns = side.kernel_ns;
      run.clock = r.kernel_clock;
      const int64_t start = r.kernel_clock->now_ns();
      FRIT_TRY(exec::Executor::run(*side.context, in, out, run));
      if (round == 0) continue;  // warm-up
      side.total_ns.push_back(static_cast<double>(r.kernel_clock->now_ns() - start));
      std::vector<double> sums(plan->groups.size(), 0);
      const auto dispatches = side.context->plan().dispatches();
      for (size_t d = 0; d < dispatches.size(); ++d) sums[static_cast<size_t>(dispatches[d].group)] += static_cast<double>(side.kernel_ns[d]);
      for (size_t g = 0; g < sums.size(); ++g) side.group_ns[g].push_back(sums[g]);
    }
  }
  CompareOutcome result;
  result.before_ms = median(sides[0].total_ns) * 1e-6;
  result.after_ms = median(sides[1].total_ns) * 1e-6;
  result.spread_ms = std::max(median_deviation(sides[0].total_ns), median_deviation(sides[1].total_ns)) * 1e-6;
  for (size_t g = 0; g < plan->groups.size(); ++g) {
    result.group_before_ns.push_back(median(sides[0].group_ns[g]));
    result.group_after_ns.push_back(median(sides[1].group_ns[g]));
  }
  return result;
}

}  // namespace frit::tuner
