// The iteration space of kernels that write whole tensors elementwise: the output's axes in physical order, with
// neighbouring axes merged where every operand treats them alike, so that vectors run along the longest possible axis.
#pragma once

#include <string>
#include <vector>

#include "codegen/families/dag.h"
#include "codegen/families/group.h"

namespace frit::codegen {

struct Iteration {
  // Merged axes, outermost first; each is a run of logical axes that are neighbours in memory.
  std::vector<std::vector<int64_t>> axes;
  std::vector<int64_t> extents;

  int64_t elements() const;
  // The logical index of a point given by one expression per merged axis.
  Index logical(Dag& dag, const std::vector<loop::Expr>& point, const std::vector<int64_t>& shape) const;
};

// For the value `out` of the group; axes in `apart` are never merged with a neighbour that is not in it (reduced axes).
Iteration make_iteration(const Group& group, graph::ValueId out, const std::vector<bool>& apart = {});

}  // namespace frit::codegen
