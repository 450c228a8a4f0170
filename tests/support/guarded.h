// Runs a plan's programs kernel by kernel, every buffer of every kernel against a page without access.
//
// For tests: sanitizers do not see generated code. Inputs, outputs, packed weights and scratch stand as near
// to such a page as their alignment class allows, outputs are poisoned, canaries fill the gap, tile ranges
// are cut and shuffled as workers would, and outputs take the memory of inputs where the program says that
// they may. It must not know how a kernel is called: in this process, or by an emulator.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/memory.h"
#include "device/kernel_abi.h"
#include "exec/build.h"
#include "graph/tensor.h"
#include "loop/ir.h"

namespace frit::testing {

struct GuardedOptions {
  base::GuardSide side = base::GuardSide::kEnd;
  uint64_t seed = 1;   // of the pieces, their order, and of what is computed in place
  int max_pieces = 4;  // a phase's tile range is cut into up to as many
  bool in_place = true;
  // Calls one kernel over args' tile range. buffer_bytes: parallel to args.buffers.
  std::function<Result<int32_t>(const loop::LoopFn& fn, const device::KernelArgs& args,
                                std::span<const size_t> buffer_bytes)>
      launch;
};

struct GuardedCounts {
  int kernels = 0, in_place = 0;
};

// Inputs and results in the order of the graph's inputs and outputs. Errors: `internal` where a canary or an
// input was overwritten or a kernel failed, with the group's label.
Result<std::vector<graph::HostTensor>> run_guarded(const exec::CompiledPlan& compiled,
                                                   std::span<const graph::HostTensor> inputs,
                                                   const GuardedOptions& options,
                                                   GuardedCounts* counts = nullptr);

// From now on a fault of this process prints `what` before it ends as it would have ended. `what` outlives
// the process's kernels; empty text: nothing is printed.
void describe_faults(const std::string* what);

}  // namespace frit::testing
