// Dag: evaluates the values of a group at an index, by pulling the index back through views (reshape, transpose, slice,
// expand, pad, concat, gather, resize) and applying pointwise ops, down to loads from bound buffers or values that the
// family computed itself (accumulators). Prologues, pointwise groups and epilogues of every family go through it.
//
// Vectorisation: an Index holds one scalar i64 expression per logical axis. They may depend on `lane()`, a variable in
// [0, lanes) (the constant 0 where there is one lane). at() returns a value of `lanes` lanes, or of one lane where it does not depend on the lane. A load whose
// address moves by 1 per lane is a vector load, by 0 a scalar load, anything else a gather.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "codegen/families/group.h"
#include "loop/build.h"
#include "loop/simplify.h"

namespace frit::codegen {

using Index = std::vector<loop::Expr>;

class Dag {
 public:
  // The builder and the group must outlive the Dag. Ranges of loop variables are told by note_range (tiles and loops).
  Dag(const Group& group, loop::Builder& builder, int32_t lanes);

  loop::Expr lane() const { return lane_; }
  int32_t lanes() const { return lanes_; }
  void note_range(loop::Expr var, int64_t low, int64_t high_inclusive);

  // The value lives in memory, in its type's layout.
  void bind_buffer(graph::ValueId value, const loop::Buffer& buffer);
  // The value at an index is whatever the function says (an accumulator, a row statistic).
  void bind(graph::ValueId value, std::function<loop::Expr(const Index&)> at);

  void unbind(graph::ValueId value) { functions_.erase(value); }

  // Lanes that are past the end in the current tail (a mask of `lanes` lanes with at least one on), or nothing.
  void set_tail(loop::Expr mask) { tail_ = mask; memo_.clear(); }

  // The value's element at `index`. Where `guard` (a scalar or lane mask of bool) is off nothing is loaded.
  // Emits lets for loads, and fail checks for gathers, at the builder's current place.
  loop::Expr at(graph::ValueId value, const Index& index, loop::Expr guard = {});

  // Stores to the bound buffer of `value` at `index`, contiguous, strided or scattered as the address demands, in the
  // lanes that the tail leaves on.
  void store(graph::ValueId value, const Index& index, loop::Expr element);
  // The same into a buffer that at() does not read from: an output that is computed, not loaded, when asked for.
  void store_to(const loop::Buffer& buffer, graph::ValueId value, const Index& index, loop::Expr element);

  // The same at an element offset that the caller computed.
  void store_at(const loop::Buffer& buffer, loop::Expr address, loop::Expr element);
  const loop::Buffer& buffer(graph::ValueId value) const { return buffers_.at(value); }
  // A scalar condition over index variables as a mask: scalar when it does not depend on the lane.
  loop::Expr condition(loop::Expr scalar_condition);

  // Element offset of `index` in the value's buffer, through its layout, simplified under the known ranges.
  loop::Expr address(graph::ValueId value, const Index& index);

  // Splits a row-major linear index into one expression per axis of `shape`.
  Index delinearize(loop::Expr linear, const std::vector<int64_t>& shape);
  loop::Expr linearize(const Index& index, const std::vector<int64_t>& shape);
  // The index of the same element after a reshape of `from` to `to`.
  Index reshape_index(const Index& index, const std::vector<int64_t>& from, const std::vector<int64_t>& to);
  loop::Expr simplify(loop::Expr e) { return loop::simplify(e, ranges_); }
  // `e` with the lane variable replaced by its lanes: a vector.
  loop::Expr vectorize(loop::Expr e);
  // Forgets memoised values: call after the iteration point changes (a new loop body).
  void forget() { memo_.clear(); }

  const std::vector<int64_t>& shape(graph::ValueId value) const { return shapes_[static_cast<size_t>(value)]; }

 private:
  struct Key {
    graph::ValueId value;
    const loop::ExprNode* guard;
    std::vector<const loop::ExprNode*> index;
    bool operator<(const Key& o) const;
  };
  loop::Expr compute(const graph::Node& node, int32_t output, const Index& index, loop::Expr guard);
  loop::Expr load(const loop::Buffer& buffer, DType dtype, loop::Expr address, loop::Expr guard);
  loop::Expr constant(const graph::Value& value, const Index& index);
  loop::Expr at_broadcast(graph::ValueId operand, graph::ValueId result, const Index& index, loop::Expr guard);

  loop::Expr gathered_axis(graph::ValueId indices, const Index& at, int64_t extent, loop::Expr guard);
  loop::Expr checked_divisor(loop::Expr b, loop::Expr guard);
  loop::Expr concat(const graph::Node& node, const Index& index, loop::Expr guard);
  loop::Expr pad(const graph::Node& node, const Index& index, loop::Expr guard);
  loop::Expr resize(const graph::Node& node, const Index& index, loop::Expr guard);
  loop::Expr all_of(loop::Expr a, loop::Expr b);
  bool varies(loop::Expr e);                          // depends on the lane or on a proxy
  loop::Expr proxy(loop::Expr per_lane, int64_t low, int64_t high);  // a scalar name for a value that differs per lane

  const Group& group_;
  loop::Builder& builder_;
  int32_t lanes_;
  loop::Expr lane_;
  loop::Expr tail_;
  loop::Ranges ranges_;
  std::vector<std::vector<int64_t>> shapes_;
  std::map<graph::ValueId, loop::Buffer> buffers_;
  std::map<graph::ValueId, std::function<loop::Expr(const Index&)>> functions_;
  std::map<const loop::ExprNode*, loop::Expr> proxies_;
  std::map<const loop::ExprNode*, bool> varies_;
  std::map<Key, loop::Expr> memo_;
};

// Nodes that Dag can evaluate (pointwise and index maps), with the reason when not. Fusion asks it.
bool dag_can_evaluate(const graph::Graph& graph, const graph::Node& node, std::string* why_not);

}  // namespace frit::codegen
