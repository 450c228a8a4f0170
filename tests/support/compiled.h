// Runs a graph the way the product does: plan, programs, kernels, executor; for comparing with the evaluator.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "device/target.h"
#include "exec/build.h"
#include "exec/compile.h"
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
  std::function<codegen::Params(const fusion::PlanGroup&, const codegen::BuildContext&)>
      choose;  // empty: the heuristic
  std::function<void(const fusion::Plan&)> see_plan;
};

// A graph's plan with its programs and, but for the interpreter, kernels.
struct CompiledGraph {
  exec::CompiledPlan plan;
  std::unique_ptr<exec::CodegenProvider> provider;  // null with options.interpret
};
// The graph has constant shapes and no composites.
Result<CompiledGraph> compile_graph(graph::Graph graph, const CompiledOptions& options = {});
// Results in the order of graph.outputs. With the options that it was compiled with.
Result<std::vector<graph::HostTensor>> run_graph(const CompiledGraph& compiled,
                                                 std::span<const graph::HostTensor> inputs,
                                                 const CompiledOptions& options);
// libfrit-codegen of this build.
Result<std::shared_ptr<const device::CodegenLibrary>> open_codegen();

// Any legal point of the group's space, each as likely as any other; now and then the heuristic, which must
// be one.
codegen::Params any_choice(const fusion::PlanGroup& group, const codegen::BuildContext& context,
                           std::mt19937_64& random);

// Both in one.
Result<std::vector<graph::HostTensor>> run_compiled(graph::Graph graph,
                                                    std::span<const graph::HostTensor> inputs,
                                                    const CompiledOptions& options = {});

// The largest difference relative to the largest finite magnitude of `want` (at least 1e-30); infinity where
// one is NaN or infinite and the other is not the same. Empty text, or where the first bad element is.
double largest_difference(const graph::HostTensor& got, const graph::HostTensor& want,
                          std::string* where = nullptr);
// What that may be for two correct ways of computing a few layers: well inside of the bound of `default`.
double usual_bound(DType dtype);
// Where two tensors of one type differ in bits, NaN payloads aside; nothing where they do not.
std::optional<std::string> different_bits(const graph::HostTensor& got, const graph::HostTensor& want);

}  // namespace frit::testing
