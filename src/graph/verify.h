// The verifier of Graph: is it well formed, and are its types what the ops say?
//
// Total (any graph, however broken, gives an answer) and cheap (one inference per node), so that it runs
// after every pass that changed something. It trusts nothing but the vectors themselves.
#pragma once

#include "graph/ir.h"

namespace frit::graph {

// Checks: ids in range; each value defined once and before its uses; producers and output indices agree;
// inputs and constants have no producer; constants have the bytes their type says; layouts are permutations;
// arity, attributes and types as the shape rules demand (a declared dimension may differ from the inferred
// one as long as one of them is not constant). Errors have the code internal, and quote the printed node.
Status verify(const Graph& graph);

}  // namespace frit::graph
