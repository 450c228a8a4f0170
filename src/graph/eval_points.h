// PointEvaluator: chosen elements of a graph's outputs by the reference evaluator, without computing the
// rest.
//
// For checking a kernel on a problem that is too large to evaluate whole (tuner): from the wanted elements it
// walks back to the elements that they are made of, and computes exactly those with the evaluator's own
// arithmetic. A normalised row is computed once however many of its elements are wanted. It must not know
// kernels, layouts or why an element is wanted.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "frit/result.h"
#include "graph/ir.h"
#include "graph/tensor.h"

namespace frit::graph {

// One entry per output of the graph: row-major indices of its elements, in any order, repeated or not.
using Points = std::vector<std::vector<int64_t>>;

class PointEvaluator {
 public:
  // The shapes of all values must be constant; the graph must outlive the evaluator. `inputs` as in
  // evaluate().
  static Result<PointEvaluator> make(const Graph& graph, std::span<const HostTensor> inputs);
  PointEvaluator(PointEvaluator&&) noexcept;
  PointEvaluator& operator=(PointEvaluator&&) noexcept;
  ~PointEvaluator();

  // About how many scalar operations values() would take: finding that out takes a small part of them.
  Result<int64_t> work(const Points& points);
  // One tensor of rank 1 per output: its elements at the points, in their order.
  Result<std::vector<HostTensor>> values(const Points& points);

 private:
  class Impl;
  explicit PointEvaluator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace frit::graph
