// What the GPU schedules share: how a program of gpu LoopFns is made, and how a family gets a second
// schedule.
//
// A GPU schedule is a Family of its own, in gpu_<name>.cpp beside the CPU's; family_table.cpp pairs the two,
// and the target of the BuildContext decides at each question which of them answers. Both share the group's
// Dag, its index arithmetic and its epilogue.
#pragma once

#include <string>
#include <vector>

#include "codegen/families/family.h"
#include "codegen/families/phase.h"

namespace frit::codegen {

Family gpu_pointwise_family();
Family gpu_reduce_family();
Family gpu_normalize_family();
Family gpu_matmul_family();

// The family `cpu` with the schedule `gpu` for GPU targets.
template <Family (*cpu)(), Family (*gpu)()>
Family with_gpu() {
  Family f = cpu();
  f.accepts = [](const Group& g, const BuildContext& c, std::string* why) {
    return (c.target->is_gpu() ? gpu : cpu)().accepts(g, c, why);
  };
  f.space = [](const Group& g, const BuildContext& c) {
    return (c.target->is_gpu() ? gpu : cpu)().space(g, c);
  };
  f.heuristic = [](const Group& g, const BuildContext& c) {
    return (c.target->is_gpu() ? gpu : cpu)().heuristic(g, c);
  };
  f.cost = [](const Group& g, const Params& p, const BuildContext& c) {
    return (c.target->is_gpu() ? gpu : cpu)().cost(g, p, c);
  };
  f.build = [](const Group& g, const Params& p, const BuildContext& c) {
    return (c.target->is_gpu() ? gpu : cpu)().build(g, p, c);
  };
  return f;
}
// A family that has none yet.
template <Family (*cpu)()>
Family cpu_only() {
  Family f = cpu();
  f.accepts = [](const Group& g, const BuildContext& c, std::string* why) {
    if (!c.target->is_gpu()) return cpu().accepts(g, c, why);
    if (why) *why = "has no GPU schedule";
    return false;
  };
  return f;
}

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Every schedule's block sizes, within the architecture's limit.
std::vector<int64_t> block_sizes(const device::GpuArch& arch, int64_t least, int64_t most);

// Opens a block loop over `extent` blocks along x, and says its range.
void for_blocks(PhaseBuilder& phase, int64_t extent, const std::function<void(loop::Expr block)>& body);
// A thread loop along an axis (0: neighbours in a warp).
void for_threads(PhaseBuilder& phase, int64_t extent, int32_t axis,
                 const std::function<void(loop::Expr thread)>& body);

// How fully the chip is used by `blocks` blocks of which each multiprocessor holds `per_sm`: 1 for whole
// waves.
double wave_efficiency(const device::GpuArch& arch, int64_t blocks, int64_t per_sm);
// Roofline of a group whose values move once, at the given share of the chip's bandwidth.
Cost gpu_group_cost(const Group& group, const BuildContext& context, double efficiency);

}  // namespace frit::codegen
