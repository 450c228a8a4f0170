// What a GraphBuilder holds, and the few steps that all of its operators are made of.
//
// Internal to the public graph builder, and to tools that write the graph elsewhere.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frit/graph_builder.h"
#include "graph/infer.h"
#include "graph/ir.h"

namespace frit {
inline namespace FRIT_ABI {

struct GraphBuilder::Impl {
  graph::Graph graph;
  std::vector<std::string> output_names;
  std::optional<Error> error;  // the first one

  bool ok() const { return !error; }
  void fail(Error e) {
    if (!error) error = std::move(e);
  }
  // As messages name a node.
  static std::string label(std::string_view op, std::string_view name);

  const graph::TensorType& type(graph::ValueId id) const { return graph.value(id).type; }
  int64_t rank(graph::ValueId id) const { return static_cast<int64_t>(type(id).shape.size()); }
  int64_t rank(Value value) const { return rank(value.id_); }

  Value wrap(graph::ValueId id) const { return id == graph::kNoValue ? Value() : Value(this, id); }
  // kNoValue for an absent value; a foreign one is an error. `what` asks for it.
  graph::ValueId unwrap(Value value, std::string_view what);

  // A node with these operands; the first `required` of them must be there, absent ones at the end are left
  // out. Its first output, or an invalid Value after an error.
  Value node(std::string_view op_name, graph::Op op, std::initializer_list<Value> operands, size_t required,
             std::string_view name, std::vector<graph::TensorType> declared = {graph::TensorType{}});
  // The same over ids that are known to be good.
  graph::ValueId add(std::string_view op_name, graph::Op op, std::vector<graph::ValueId> inputs,
                     std::string_view name, std::vector<graph::TensorType> declared = {graph::TensorType{}});
  Value reduce(std::string_view op_name, graph::ReduceOp op, Value x, const std::vector<int64_t>& axes,
               bool keep, std::string_view name);
  Value pool(std::string_view op_name, graph::PoolOp op, Value x, const PoolOptions& options,
             std::string_view name);
  graph::ValueId constant_i64(const std::vector<int64_t>& values);

  // Whether an operator can look at its operand, which must be there.
  bool has(Value value, std::string_view op_name, std::string_view name);
  // Axis counted from the front; an error when it is out of range.
  int64_t axis(std::string_view op_name, std::string_view name, int64_t axis, int64_t rank);
  // Sorted, unique, counted from the front.
  std::vector<int64_t> axes(std::string_view op_name, std::string_view name, const std::vector<int64_t>& axes,
                            int64_t rank);
};

graph::Dim to_dim(const Dimension& dimension);
Dimension to_dimension(const graph::Dim& dim);
std::vector<Dimension> to_dimensions(const graph::Shape& shape);

}  // namespace FRIT_ABI
}  // namespace frit
