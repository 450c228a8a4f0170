// Data to measure with: random, never zeros (some machines multiply those faster), no denormals, indices in range.
#pragma once

#include <cstdint>

#include "frit/result.h"
#include "graph/ir.h"
#include "graph/tensor.h"

namespace frit::tuner {

// Floats in [-1, 1), booleans, integers in [0, limit): below every axis that the graph's gathers index, where it has any.
Result<graph::HostTensor> random_input(const graph::Graph& graph, graph::ValueId value, uint64_t seed);

}  // namespace frit::tuner
