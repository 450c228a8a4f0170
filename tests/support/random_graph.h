// Random graphs for property tests: every op, small shapes with sizes 0 and 1, broadcasts, shared and unused
// values.
//
// The same seed gives the same graph on every host. Each graph is compacted, verified by the shape rules as
// it grows, and can be evaluated with random_inputs() without run-time errors (indices are in range, integer
// divisors not 0).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "frit/dtype.h"
#include "graph/ir.h"
#include "graph/tensor.h"

namespace frit::testing {

struct RandomGraphOptions {
  int nodes = 10;
  std::vector<DType> floats = {DType::kF32};  // element types of float values
  int64_t max_dim = 7;
  bool composites = true;  // LayerNorm, Softmax, Gemm ...
  bool integers = true;    // integer and boolean values, gathers, scatters, arg_reduce, casts
  bool dynamic = true;     // shapes computed by nodes: ShapeOf -> ... -> Reshape, DynamicSlice, Expand, Range
  bool contractions = true;  // MatMul, Conv, Pool, Lstm ...
  bool symbols = false;      // some input dimensions are symbols: bind them by random_sizes()
  bool tame = true;          // only ops that keep moderate inputs moderate: no exp, pow, log, tan of anything
  bool empty = true;         // dimensions of size 0
};

graph::Graph random_graph(uint64_t seed, const RandomGraphOptions& options = {});

// A size from 1 to 7 for each symbol of the inputs' types.
std::map<std::string, int64_t> random_sizes(const graph::Graph& graph, uint64_t seed);

// Floats in [-2, 2), integers in [-3, 3] (unsigned [0, 3]), booleans; with `special` one float in eight is
// NaN, an infinity, -0, the smallest denormal or a large number. The shape must be constant.
graph::HostTensor random_tensor(const graph::TensorType& type, uint64_t seed, bool special = false);
// One per input; the inputs' shapes must be constant.
std::vector<graph::HostTensor> random_inputs(const graph::Graph& graph, uint64_t seed, bool special = false);

}  // namespace frit::testing
