// Runs a graph the way the product does: plan, programs, kernels, executor; for comparing with the evaluator.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "device/target.h"
#include "frit/numerics.h"
#include "fusion/plan.h"
#include "graph/tensor.h"

namespace frit::testing {

struct CompiledOptions {
  device::Target target = device::host_target();
  Numerics numerics = Numerics::kDefault;
  int threads = 1;
  bool fuse = true;
  bool interpret = false;  // by the LoopFn interpreter instead of machine code
  std::function<codegen::Params(const fusion::PlanGroup&, const codegen::BuildContext&)> choose;  // empty: the heuristic
  std::function<void(const fusion::Plan&)> see_plan;
};

// Results in the order of graph.outputs. The graph has constant shapes and no composites.
Result<std::vector<graph::HostTensor>> run_compiled(graph::Graph graph, std::span<const graph::HostTensor> inputs,
                                                    const CompiledOptions& options = {});

// The largest difference relative to the largest finite magnitude of `want` (at least 1e-30); infinity where one is NaN
// or infinite and the other is not the same. Empty text, or where the first bad element is.
double largest_difference(const graph::HostTensor& got, const graph::HostTensor& want, std::string* where = nullptr);

}  // namespace frit::testing
