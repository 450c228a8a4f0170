#include "codegen/families/gpu.h"

#include <algorithm>

#include "codegen/families/machine.h"

namespace frit::codegen {

using loop::Expr;
using loop::LoopKind;

std::vector<int64_t> block_sizes(const device::GpuArch& arch, int64_t least, int64_t most) {
  std::vector<int64_t> out;
  for (int64_t n = least; n <= std::min<int64_t>(most, arch.threads_per_block); n *= 2) out.push_back(n);
  return out;
}

void for_blocks(PhaseBuilder& phase, int64_t extent, const std::function<void(Expr)>& body) {
  loop::Builder& b = phase.builder();
  b.loop(b.integer(0), b.integer(extent), 1, LoopKind::kGpuBlock, [&](Expr block) {
    phase.dag().note_range(block, 0, std::max<int64_t>(extent - 1, 0));
    body(block);
  });
}

void for_threads(PhaseBuilder& phase, int64_t extent, int32_t axis, const std::function<void(Expr)>& body) {
  loop::Builder& b = phase.builder();
  b.loop(
      b.integer(0), b.integer(extent), 1, LoopKind::kGpuThread,
      [&](Expr thread) {
        phase.dag().note_range(thread, 0, extent - 1);
        body(thread);
      },
      axis);
}

double wave_efficiency(const device::GpuArch& arch, int64_t blocks, int64_t per_sm) {
  if (blocks <= 0 || per_sm <= 0) return 1;
  const int64_t at_once = arch.sm_count * per_sm;
  // Fewer blocks than multiprocessors leave some idle; beyond, the last wave does.
  if (blocks <= at_once) return std::min(1.0, static_cast<double>(blocks) / arch.sm_count);
  return static_cast<double>(blocks) / static_cast<double>(ceil_div(blocks, at_once) * at_once);
}

Cost gpu_group_cost(const Group& group, const BuildContext& context, double efficiency) {
  Cost c = group_cost(group, context, 4);
  const double launch = machine_of(*context.target, 1).dispatch_seconds;
  c.seconds = (c.seconds - launch) / std::max(efficiency, 1e-3) + launch;
  return c;
}

}  // namespace frit::codegen
