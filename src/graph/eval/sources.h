// Which elements of its inputs an element of a node's output is made of: the index maps behind
// PointEvaluator.
//
// An op either has a map (pointwise, views, data movement with known indices, reductions, contractions,
// pools) or must be evaluated whole. It must not compute values.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "frit/result.h"
#include "graph/ir.h"
#include "graph/tensor.h"

namespace frit::graph::eval {

// In place of an index.
inline constexpr int64_t kAbsent = -1;  // this tap has no source: padding, or another input has the element
inline constexpr int64_t kOne = -2;     // the number 1

// For `points` of the output: element t of point p comes from input i at index[i][p * taps + t].
struct SourceIndices {
  int64_t taps = 1;
  std::vector<std::vector<int64_t>> index;  // per input of the node; empty for one that is not read
};

class SourceMap {
 public:
  virtual ~SourceMap() = default;
  virtual int64_t taps() const = 0;
  virtual void find(std::span<const int64_t> points, SourceIndices& out) const = 0;
};

// known[i]: the contents of input i where they are known before anything is computed, else null. Null: the
// node must be evaluated whole.
Result<std::unique_ptr<SourceMap>> source_map(const Graph& graph, const Node& node,
                                              std::span<const HostTensor* const> known);

}  // namespace frit::graph::eval
