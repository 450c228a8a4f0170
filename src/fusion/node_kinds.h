// How fusion sees a node: an anchor, something that fuses, an index map that costs nothing to repeat, or a host op.
#pragma once

#include "graph/ir.h"

namespace frit::fusion {

// No family has a kernel for it: exec runs it by the evaluator.
bool is_host_op(const graph::Graph& graph, const graph::Node& node);
// MatMul, Conv, Pool: at most one per group.
bool is_heavy_anchor(const graph::Node& node);
// Reshape, Transpose, Expand, Slice, Iota, Fill: evaluated by whoever reads it, as often as it is read.
bool is_free(const graph::Node& node);

}  // namespace frit::fusion
