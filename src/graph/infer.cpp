#include "graph/infer.h"

#include "graph/infer_context.h"
#include "graph/op_arity.h"

namespace frit::graph {
namespace {

// No tensor that fits a machine has more elements; beyond it index arithmetic could overflow.
constexpr int64_t kMaxElements = int64_t{1} << 47;
constexpr size_t kMaxRank = 64;

Status check_counts(const InferContext& c) {
  const Node& node = c.node();
  const Arity arity = op_arity(node.op);
  auto check = [&](std::string_view what, size_t n, int least, int most) -> Status {
    if (n >= static_cast<size_t>(least) && (most < 0 || n <= static_cast<size_t>(most))) return {};
    if (most < 0) return c.fail("has ", n, " ", what, ", expected at least ", least);
    if (least == most) return c.fail("has ", n, " ", what, ", expected ", least);
    return c.fail("has ", n, " ", what, ", expected ", least, " to ", most);
  };
  FRIT_TRY(check("inputs", node.inputs.size(), arity.min_inputs, arity.max_inputs));
  FRIT_TRY(check("outputs", node.outputs.size(), arity.min_outputs, arity.max_outputs));
  const auto values = static_cast<int64_t>(c.graph().values.size());
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    const bool required = arity.max_inputs < 0 || i < static_cast<size_t>(arity.min_inputs);
    if (id == kNoValue && required) return c.fail("input ", i, " is missing");
    if (id != kNoValue && (id < 0 || id >= values))
      return c.fail("input ", i, " is value ", id, ", which does not exist");
  }
  for (size_t j = 0; j < node.outputs.size(); ++j) {
    const ValueId id = node.outputs[j];
    if (id != kNoValue && (id < 0 || id >= values))
      return c.fail("output ", j, " is value ", id, ", which does not exist");
  }
  return {};
}

Status check_size(const InferContext& c, const Shape& shape, size_t output) {
  if (shape.size() > kMaxRank)
    return c.fail("output ", output, " has rank ", shape.size(), ", expected at most ", kMaxRank);
  int64_t count = 1;
  bool empty = false, overflow = false;
  for (size_t k = 0; k < shape.size(); ++k) {
    const int64_t d = shape[k].constant().value_or(1);
    if (d < 0)
      return c.fail("output ", output, " would have shape ", shape_text(shape), ": axis ", k, " is negative");
    empty = empty || d == 0;
    if (!overflow) overflow = __builtin_mul_overflow(count, d == 0 ? 1 : d, &count) || count > kMaxElements;
  }
  if (overflow && !empty)
    return c.fail("output ", output, " would have shape ", shape_text(shape), ", which is too large");
  return {};
}

Result<std::vector<InferredValue>> infer_with(const Graph& graph, const Node& node, FreshNames& fresh) {
  InferContext c(graph, node, fresh);
  FRIT_TRY(check_counts(c));
  FRIT_ASSIGN(Types types, std::visit([&c](const auto& op) { return infer_op(op, c); }, node.op));
  for (size_t j = 0; j < types.size(); ++j) {
    FRIT_TRY(check_size(c, types[j].shape, j));
    // The layout is a choice of later stages, not of the rules; it stays while it fits.
    const TensorType* declared = c.declared(j);
    if (declared && declared->layout.order.size() == types[j].shape.size())
      types[j].layout = declared->layout;
  }
  auto known = infer_known(c, types);
  std::vector<InferredValue> out;
  for (size_t j = 0; j < types.size(); ++j) out.push_back({std::move(types[j]), std::move(known[j])});
  return out;
}

void bind_dims(std::vector<Dim>& dims, const std::map<std::string, int64_t>& sizes) {
  for (Dim& d : dims) d = d.bind(sizes);
}

}  // namespace

Result<std::vector<InferredValue>> infer_node(const Graph& graph, const Node& node) {
  FreshNames fresh;
  return infer_with(graph, node, fresh);
}

Result<std::vector<TensorType>> infer_types(const Graph& graph, const Node& node) {
  FRIT_ASSIGN(std::vector<InferredValue> values, infer_node(graph, node));
  std::vector<TensorType> types;
  for (InferredValue& v : values) types.push_back(std::move(v.type));
  return types;
}

Status infer_all(Graph& graph) {
  FreshNames fresh;
  for (size_t id = 0; id < graph.values.size(); ++id) {
    Value& v = graph.values[id];
    if (v.is_constant()) v.known = known_contents(graph, static_cast<ValueId>(id));
  }
  for (const Node& node : graph.nodes) {
    if (node.dead) continue;
    auto inferred = infer_with(graph, node, fresh);
    if (!inferred.ok()) return std::move(inferred).error().with(node_label(node));
    for (size_t j = 0; j < node.outputs.size() && j < inferred->size(); ++j) {
      if (node.outputs[j] == kNoValue) continue;
      Value& v = graph.value(node.outputs[j]);
      v.type = std::move((*inferred)[j].type);
      v.known = std::move((*inferred)[j].known);
    }
  }
  return {};
}

Status bind_sizes(Graph& graph, const std::map<std::string, int64_t>& sizes) {
  for (const auto& [name, size] : sizes) {
    if (size < 0)
      return make_error(Code::kInvalidArgument,
                        base::text_of("dimension ", name, " is ", size, ", expected 0 or more"));
  }
  for (Value& v : graph.values) {
    bind_dims(v.type.shape, sizes);
    if (v.known) bind_dims(*v.known, sizes);
  }
  for (Node& node : graph.nodes) {
    if (Slice* slice = std::get_if<Slice>(&node.op)) bind_dims(slice->starts, sizes);
  }
  return infer_all(graph);
}

Result<NodeId> add_inferred(Graph& graph, Op op, std::vector<ValueId> inputs,
                            std::vector<TensorType> declared, std::string name, std::string source_op) {
  const size_t values_before = graph.values.size();
  const NodeId id = graph.add_node(std::move(op), std::move(inputs), std::move(declared), std::move(name));
  graph.node(id).source_op = std::move(source_op);
  auto inferred = infer_node(graph, graph.node(id));
  if (!inferred.ok()) {
    graph.nodes.pop_back();
    graph.values.resize(values_before);
    return std::move(inferred).error();
  }
  for (size_t j = 0; j < inferred->size(); ++j) {
    Value& v = graph.value(graph.node(id).outputs[j]);
    v.type = std::move((*inferred)[j].type);
    v.known = std::move((*inferred)[j].known);
  }
  return id;
}

std::string node_label(const Node& node) {
  return base::text_of("node ", base::quoted(node.name), " (",
                       node.source_op.empty() ? op_name(node.op) : node.source_op, ")");
}

}  // namespace frit::graph
