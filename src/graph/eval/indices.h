// Index tensors of gathers and scatters, checked against the extents that they index.
#pragma once

#include <vector>

#include "graph/eval/call.h"

namespace frit::graph::eval {

// All values in [-extent, extent), the negative ones counted from the end; an error names the first that is
// not.
Result<std::vector<int64_t>> read_indices(const HostTensor& indices, int64_t extent, int64_t axis);

// The last axis of `indices` holds tuples that index axes first_axis ... of `shape`: the offset of each
// tuple.
Result<std::vector<int64_t>> read_index_tuples(const HostTensor& indices, const Extents& shape,
                                               int64_t first_axis);

// Input i indexes input 0 along `axis` element by element: equal ranks, no larger extents elsewhere.
Status expect_index_shape(const Call& call, size_t i, int64_t axis);

}  // namespace frit::graph::eval
