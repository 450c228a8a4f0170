// What the CPU's and the GPU's schedule of reduce and normalize share: the frame around the passes over a
// row. It holds the program under construction, tells the reductions of each pass, keeps dear values in a
// buffer between passes, and stores the results; how a row is walked and its parts are combined is the
// schedule's.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "codegen/families/iteration.h"
#include "codegen/families/phase.h"
#include "codegen/families/rows.h"

namespace frit::codegen {

// src/README.md section 9: under `strict`, index i of a row goes to virtual lane i mod 16.
inline constexpr int32_t kStrictLanes = 16;

// Full-shaped values that are dear to compute and needed in more than one pass: worth a row buffer.
std::vector<graph::ValueId> values_to_keep(const Group& group, const RowAnalysis& r);

class RowFrame {
 protected:
  RowFrame(const Group& group, const RowAnalysis& r, bool keep, const BuildContext& context,
           ProgramBuilder::Device device, int32_t lanes, const char* family);

  std::vector<int64_t> extents_of(const std::vector<size_t>& axes) const;
  // Whether the innermost axis in memory is part of a row.
  bool row_is_inner() const { return kept_.empty() || (!reduced_.empty() && reduced_.back() > kept_.back()); }
  void fresh(loop::Expr tail);  // another place in the row

  // ---- reductions, by their number in the analysis
  const graph::Node& reduction(size_t k) const { return g_.node(r_.reductions[k]); }
  graph::ReduceOp op_of(size_t k) const { return std::get<graph::Reduce>(reduction(k).op).op; }
  DType dtype_of(size_t k) const { return g_.value(reduction(k).inputs[0]).type.dtype; }
  loop::Expr identity(size_t k, int32_t lanes);
  std::vector<size_t> of_pass(int32_t pass) const;
  int32_t reduce_passes() const;
  loop::Expr combine(size_t k, loop::Expr a, loop::Expr b) const;
  loop::Expr fold_lanes(size_t k, loop::Expr v) const;
  // The result of a reduction from its sum, and from then on its value.
  loop::Expr mean_of(size_t k, loop::Expr sum);
  void bind_result(size_t k, loop::Expr result);

  // ---- kept values: computed in the first pass that can, read in later ones
  void make_kept_buffers(loop::Space space, int64_t elements);
  void bind_kept_loads(int32_t pass, const std::function<loop::Expr()>& position);
  void fill_kept(int32_t pass, const Index& index, const std::function<loop::Expr()>& position);

  // The logical index of a row's element, numbered in logical order; kept_point: one expression per kept
  // axis.
  Index row_index(const std::vector<loop::Expr>& kept_point, loop::Expr flat);

  // ---- results
  bool has_full_output() const;
  void store_full(const Index& index);
  void store_row_values(const std::vector<loop::Expr>& kept_point);

  const Group& group_;
  const graph::Graph& g_;
  const RowAnalysis& r_;
  const bool strict_;
  const int32_t lanes_;
  ProgramBuilder program_;
  PhaseBuilder phase_;
  loop::Builder& b_;
  Dag& dag_;
  Iteration it_;
  std::vector<size_t> kept_, reduced_;  // axes of the iteration
  std::vector<graph::ValueId> keep_;

 private:
  std::map<graph::ValueId, int32_t> first_use_;
  std::vector<loop::Buffer> kept_buffers_;
};

}  // namespace frit::codegen
