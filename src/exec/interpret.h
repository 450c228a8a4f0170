// interpret_plan: runs a plan's programs by the LoopFn interpreter. Slow; the reference between evaluator and
// kernels.
//
// For tests and for `explain --check`: needs no compiler, checks every index, shares no memory between
// values. If it disagrees with the evaluator, a family or fusion is wrong; if kernels disagree with it, the
// emitter is. It must not know the executor.
#pragma once

#include <span>
#include <vector>

#include "exec/build.h"
#include "graph/tensor.h"

namespace frit::exec {

struct InterpretOptions {
  int pieces = 1;  // each phase is cut into as many tile ranges, run in an order drawn from seed
  uint64_t seed = 1;
};

// Inputs and results in the order of the graph's inputs and outputs. The plan may be built without kernels.
// Errors: bad data as the executor reports it, kInternal with the node's text where a program breaks a rule.
Result<std::vector<graph::HostTensor>> interpret_plan(const CompiledPlan& compiled,
                                                      std::span<const graph::HostTensor> inputs,
                                                      const InterpretOptions& options = {});

}  // namespace frit::exec
