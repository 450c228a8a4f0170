// The reference evaluator: runs a Graph op by op on host tensors. It is the oracle that every kernel is
// compared with.
//
// Obvious before fast. Sums, products, matmuls and convolutions of floats accumulate in double and round once
// to the element type; integers wrap as two's complement; NaN, infinities and -0 follow IEEE 754 and op.h.
// Shapes come from the tensors themselves, so shape inference is neither needed nor trusted. It must not know
// fusion, kernels or threads: parallelism, where wanted, is the caller's function, and never changes a
// result's bits.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "frit/result.h"
#include "frit/stop.h"
#include "graph/ir.h"
#include "graph/tensor.h"

namespace frit::graph {

// Calls task(0) ... task(count - 1), each once, in any order, on any threads, and returns when all are done.
using ParallelFor = std::function<void(int64_t count, const std::function<void(int64_t)>& task)>;

struct EvalOptions {
  // Called with every value when it becomes known (inputs and constants first, then in node order), before it
  // is freed.
  std::function<void(ValueId, const HostTensor&)> observe;
  // Empty: everything on the calling thread.
  ParallelFor parallel_for;
  // Compare each result with its value's type (element type, rank, extents where known); a difference is an
  // error. Off, the evaluator runs graphs whose types are not inferred yet.
  bool check_types = true;
  // Polled between nodes.
  StopToken stop;
  // A single value larger than this is an error, not an attempt.
  int64_t max_value_bytes = int64_t{1} << 36;
};

// Runs the graph. `inputs` are in the order of graph.inputs, results in the order of graph.outputs. Sizes
// named in the inputs' types are bound to what the tensors have; an input that disagrees with its type is
// kInvalidArgument.
Result<std::vector<HostTensor>> evaluate(const Graph& graph, std::span<const HostTensor> inputs,
                                         const EvalOptions& options = {});

// Runs one node. nullptr stands for an absent optional input. `output_types` gives the number of outputs, and
// the shape of ops that take it from their type (Slice, Iota, Reshape without a shape input ...).
Result<std::vector<HostTensor>> evaluate_node(const Op& op, std::span<const HostTensor* const> inputs,
                                              std::span<const TensorType> output_types,
                                              const EvalOptions& options = {});

}  // namespace frit::graph
