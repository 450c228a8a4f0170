// What every shape rule reads: the inputs of one node, and the helpers rules share. Private to
// src/graph/infer_*.cpp.
//
// A rule is one overload infer_op(const Op&, InferContext&) that returns the output types; infer.cpp
// dispatches.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/try.h"
#include "graph/infer.h"

namespace frit::graph {

// Numbers for "?N", shared by the nodes of one infer_all.
struct FreshNames {
  int64_t next = -1;  // not yet looked for
};

class InferContext {
 public:
  InferContext(const Graph& graph, const Node& node, FreshNames& fresh)
      : graph_(graph), node_(node), fresh_(fresh) {}

  const Graph& graph() const { return graph_; }
  const Node& node() const { return node_; }
  size_t output_count() const { return node_.outputs.size(); }
  bool has(size_t i) const { return i < node_.inputs.size() && node_.inputs[i] != kNoValue; }
  const TensorType& type(size_t i) const { return graph_.value(node_.inputs[i]).type; }
  const Shape& shape(size_t i) const { return type(i).shape; }
  DType dtype(size_t i) const { return type(i).dtype; }
  size_t rank(size_t i) const { return type(i).shape.size(); }
  std::optional<std::vector<Dim>> known(size_t i) const;

  // What the graph says about output j; none when the node is not in the graph yet.
  const TensorType* declared(size_t j) const;
  // A dimension that depends on data: what output j says, if it has this rank, else a new symbol.
  Dim data_dependent(size_t j, size_t rank, size_t axis);
  // The declared shape of output 0 for ops that have no other source for it.
  Result<Shape> declared_shape(size_t rank) const;

  template <class... Ts>
  Error fail(const Ts&... parts) const {
    return make_error(Code::kBadModel, base::text_of(parts...));
  }

  // ---- checks ----
  Status same_dtype(size_t i, size_t j) const;
  Status require_dtype(size_t i, bool ok, std::string_view expected) const;
  Status require_rank(size_t i, size_t rank) const;
  Status require_axis(int64_t axis, size_t rank) const;
  // attribute `name` has `count` values, expected `expected` for rank-`rank` input
  Status require_count(std::string_view name, size_t count, size_t expected, size_t rank) const;
  Status require_at_least(std::string_view name, const std::vector<int64_t>& values, int64_t least) const;
  Status require_index_type(size_t i) const;  // i32 or i64
  // An i64 (or i32) vector; its length when that is constant.
  Result<std::optional<int64_t>> shape_vector(size_t i) const;

  // ---- dimensions ----
  Result<Dim> equal_dims(const Dim& a, const Dim& b, std::string_view what) const;
  Result<Shape> broadcast(const Shape& a, const Shape& b) const;

 private:
  const Graph& graph_;
  const Node& node_;
  FreshNames& fresh_;
};

using Types = std::vector<TensorType>;
inline TensorType make_type(DType dtype, Shape shape) { return {dtype, std::move(shape), {}}; }
inline bool is_numeric(DType t) { return t != DType::kBool; }

#define FRIT_GRAPH_RULE(Op) Result<Types> infer_op(const Op& op, InferContext& c)
FRIT_GRAPH_RULE(Unary);
FRIT_GRAPH_RULE(Binary);
FRIT_GRAPH_RULE(Select);
FRIT_GRAPH_RULE(Cast);
FRIT_GRAPH_RULE(Reduce);
FRIT_GRAPH_RULE(ArgReduce);
FRIT_GRAPH_RULE(CumSum);
FRIT_GRAPH_RULE(TopK);
FRIT_GRAPH_RULE(MatMul);
FRIT_GRAPH_RULE(Conv);
FRIT_GRAPH_RULE(ConvTranspose);
FRIT_GRAPH_RULE(Pool);
FRIT_GRAPH_RULE(Reshape);
FRIT_GRAPH_RULE(Transpose);
FRIT_GRAPH_RULE(Expand);
FRIT_GRAPH_RULE(Slice);
FRIT_GRAPH_RULE(DynamicSlice);
FRIT_GRAPH_RULE(Concat);
FRIT_GRAPH_RULE(Pad);
FRIT_GRAPH_RULE(DynamicPad);
FRIT_GRAPH_RULE(Tile);
FRIT_GRAPH_RULE(Gather);
FRIT_GRAPH_RULE(GatherElements);
FRIT_GRAPH_RULE(GatherND);
FRIT_GRAPH_RULE(ScatterElements);
FRIT_GRAPH_RULE(ScatterND);
FRIT_GRAPH_RULE(Resize);
FRIT_GRAPH_RULE(Range);
FRIT_GRAPH_RULE(Iota);
FRIT_GRAPH_RULE(ShapeOf);
FRIT_GRAPH_RULE(Fill);
FRIT_GRAPH_RULE(NonZero);
FRIT_GRAPH_RULE(BatchNorm);
FRIT_GRAPH_RULE(LayerNorm);
FRIT_GRAPH_RULE(Softmax);
FRIT_GRAPH_RULE(Gelu);
FRIT_GRAPH_RULE(Gemm);
FRIT_GRAPH_RULE(HardSigmoid);
FRIT_GRAPH_RULE(HardSwish);
FRIT_GRAPH_RULE(LeakyRelu);
FRIT_GRAPH_RULE(Clip);
FRIT_GRAPH_RULE(Split);
FRIT_GRAPH_RULE(Lstm);
#undef FRIT_GRAPH_RULE

// Known contents of the outputs, given their types; empty optionals where nothing is known (known.cpp).
std::vector<std::optional<std::vector<Dim>>> infer_known(const InferContext& c, const Types& types);

}  // namespace frit::graph
