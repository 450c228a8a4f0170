#include "exec/steps.h"

#include <algorithm>

namespace frit::exec {

int64_t phase_units(const loop::Phase& phase, int64_t tiles) {
  return (tiles + phase.grain - 1) / phase.grain;
}

int phase_workers(const loop::Phase& phase, int64_t tiles, int threads) {
  const int most = phase.threads > 0 ? std::min(phase.threads, threads) : threads;
  return static_cast<int>(std::clamp<int64_t>(phase_units(phase, tiles), 1, std::max(most, 1)));
}

std::vector<int32_t> assign_steps(const CompiledPlan& compiled, int threads) {
  const fusion::Plan& plan = *compiled.plan;
  std::vector<int32_t> steps(plan.groups.size(), -1);
  std::vector<int32_t> made_in(plan.graph.values.size(), -1);  // per value: the step that makes it
  int32_t step = -1;
  int in_step = 0;
  bool open = false;  // whether the current step takes another kernel
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    const fusion::PlanGroup& group = plan.groups[g];
    if (group.load_time) continue;
    const BuiltGroup* built = compiled.groups[g].get();
    const bool serial = built && built->program.phases.size() == 1 &&
                        phase_workers(built->program.phases[0],
                                      kernel_shape(built->program.phases[0].fn).tiles, threads) == 1;
    const bool depends = std::any_of(group.inputs.begin(), group.inputs.end(), [&](graph::ValueId v) {
      return v != graph::kNoValue && made_in[static_cast<size_t>(v)] == step;
    });
    if (!(open && serial && !depends && in_step < threads)) {
      ++step;
      in_step = 0;
    }
    open = serial;
    ++in_step;
    steps[g] = step;
    for (const graph::ValueId v : group.outputs) made_in[static_cast<size_t>(v)] = step;
  }
  return steps;
}

}  // namespace frit::exec
