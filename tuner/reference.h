// Reference: what a group's outputs must be, by the evaluator: all of them where that is quick, else chosen
// ones, so that checking a variant costs no more than measuring it.
//
// Chosen are the corners, the last tile, a thousand at random, and for each variant the edges of its tiles.
// It must not know how the outputs were made.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/families/params.h"
#include "frit/result.h"
#include "graph/eval_points.h"
#include "graph/ir.h"
#include "graph/tensor.h"

namespace frit::tuner {

// The offset, in elements, of the row-major element `index` in a tensor that lies in `layout`.
int64_t stored_offset(const graph::Extents& shape, const graph::Layout& layout, int64_t index);
// The elements of a tensor that is stored in a layout, row-major.
Result<graph::HostTensor> to_row_major(const graph::HostTensor& stored, const graph::Layout& layout);

class Reference {
 public:
  // inputs: as they lie in memory. The graph must outlive the reference, its shapes be constant. max_work:
  // scalar operations that the evaluator may spend on the choice-independent part.
  static Result<Reference> make(const graph::Graph& graph, const std::vector<graph::HostTensor>& inputs,
                                uint64_t seed, int64_t max_work = kMaxWork);

  // outputs[k]: output k as it lies in memory. bound: the largest difference of floats that is right,
  // relative to the output's largest magnitude; integers must be equal. Error kInternal says where they
  // differ.
  Status check(const codegen::Params& params, std::span<const void* const> outputs, double bound);

  bool is_whole() const { return whole_; }
  int64_t work() const { return work_; }  // of the choice-independent part

  // About 20 ms of the evaluator.
  static constexpr int64_t kMaxWork = 8 << 20;

 private:
  struct Wanted {
    std::vector<int64_t> points;  // row-major; empty where all elements are wanted
    graph::HostTensor values;
    double scale = 1e-30;
  };

  explicit Reference(const graph::Graph& graph) : graph_(&graph) {}
  Status choose_points(uint64_t seed, int64_t max_work);
  graph::Points edges(const codegen::Params& params) const;
  Status compare(size_t output, const std::vector<int64_t>& points, const graph::HostTensor& values,
                 const void* got, double bound, double scale) const;

  const graph::Graph* graph_;
  std::vector<graph::Extents> shapes_;  // of the outputs
  std::optional<graph::PointEvaluator> evaluator_;
  std::vector<Wanted> wanted_;
  bool whole_ = false;
  bool rounds_to_integers_ = false;
  int64_t work_ = 0;
  uint64_t seed_ = 0;
};

}  // namespace frit::tuner
