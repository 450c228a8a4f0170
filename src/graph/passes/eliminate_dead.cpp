#include "graph/passes/pass_functions.h"

namespace frit::graph {

// A sweep drops nodes none of whose outputs is read; there is nothing else to do.
Result<bool> eliminate_dead(Graph& graph, const PassContext&) {
  return Rewriter(graph).sweep([](Rewriter&, NodeId) -> Result<bool> { return false; });
}

}  // namespace frit::graph
