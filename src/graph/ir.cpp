#include "graph/ir.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace frit::graph {

std::string type_text(const TensorType& type) {
  std::string out = dtype_name(type.dtype) + shape_text(type.shape);
  if (type.layout.is_plain()) return out;
  out += '@';
  // One digit per axis reads best; from rank 11 on the axes need separators.
  const bool wide = type.layout.order.size() > 10;
  for (size_t i = 0; i < type.layout.order.size(); ++i) {
    if (wide && i) out += '.';
    out += std::to_string(type.layout.order[i]);
  }
  return out;
}

ValueId Graph::add_value(TensorType type, std::string value_name) {
  Value v;
  v.type = std::move(type);
  v.name = std::move(value_name);
  values.push_back(std::move(v));
  return static_cast<ValueId>(values.size() - 1);
}

ValueId Graph::add_input(TensorType type, std::string value_name) {
  const ValueId id = add_value(std::move(type), std::move(value_name));
  inputs.push_back(id);
  return id;
}

ValueId Graph::add_constant(TensorType type, std::shared_ptr<const ConstantData> data,
                            std::string value_name) {
  const ValueId id = add_value(std::move(type), std::move(value_name));
  value(id).constant = std::move(data);
  return id;
}

NodeId Graph::add_node(Op op, std::vector<ValueId> node_inputs, std::vector<TensorType> output_types,
                       std::string node_name) {
  const auto id = static_cast<NodeId>(nodes.size());
  Node n;
  n.op = std::move(op);
  n.inputs = std::move(node_inputs);
  n.name = std::move(node_name);
  for (TensorType& type : output_types) {
    const ValueId out = add_value(std::move(type));
    value(out).producer = id;
    value(out).output_index = static_cast<int32_t>(n.outputs.size());
    n.outputs.push_back(out);
  }
  nodes.push_back(std::move(n));
  return id;
}

ValueId Graph::add(Op op, std::vector<ValueId> node_inputs, TensorType type, std::string node_name) {
  const NodeId id = add_node(std::move(op), std::move(node_inputs), {std::move(type)}, std::move(node_name));
  return node(id).outputs[0];
}

std::shared_ptr<const ConstantData> make_constant(std::vector<std::byte> bytes, std::string name) {
  auto data = std::make_shared<ConstantData>();
  auto owned = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  data->bytes = owned->data();
  data->size_bytes = owned->size();
  data->owner = std::move(owned);
  data->name = std::move(name);
  return data;
}

std::vector<std::vector<Use>> collect_uses(const Graph& graph) {
  std::vector<std::vector<Use>> uses(graph.values.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.dead) continue;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoValue) continue;
      uses[static_cast<size_t>(node.inputs[i])].push_back({static_cast<NodeId>(n), static_cast<int32_t>(i)});
    }
  }
  return uses;
}

void replace_uses(Graph& graph, ValueId from, ValueId to) {
  for (Node& node : graph.nodes) std::replace(node.inputs.begin(), node.inputs.end(), from, to);
  std::replace(graph.outputs.begin(), graph.outputs.end(), from, to);
}

namespace {

// Indices of the live nodes, producers first; among ready nodes the one that stood first comes first. Nodes
// on a cycle (a broken graph) are appended in place, so that nothing is lost and the verifier can name them.
std::vector<size_t> topological_order(const Graph& graph) {
  const size_t count = graph.nodes.size();
  std::vector<int> missing(count, 0);
  std::vector<std::vector<size_t>> consumers(count);
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t n = 0; n < count; ++n) {
    if (graph.nodes[n].dead) continue;
    for (ValueId v : graph.nodes[n].inputs) {
      if (v == kNoValue) continue;
      const NodeId producer = graph.value(v).producer;
      if (producer == kNoNode || graph.node(producer).dead) continue;
      ++missing[n];
      consumers[static_cast<size_t>(producer)].push_back(n);
    }
    if (missing[n] == 0) ready.push(n);
  }
  std::vector<size_t> order;
  std::vector<bool> placed(count, false);
  while (!ready.empty()) {
    const size_t n = ready.top();
    ready.pop();
    placed[n] = true;
    order.push_back(n);
    for (size_t c : consumers[n]) {
      if (--missing[c] == 0) ready.push(c);
    }
  }
  for (size_t n = 0; n < count; ++n) {
    if (!placed[n] && !graph.nodes[n].dead) order.push_back(n);
  }
  return order;
}

}  // namespace

void compact(Graph& graph) {
  // Values are numbered as the canonical text numbers them: inputs, then in node order constants at their
  // first use and outputs.
  std::vector<ValueId> renumbered(graph.values.size(), kNoValue);
  std::vector<Value> values;
  std::vector<Node> nodes;
  auto keep = [&](ValueId& id) {
    if (id == kNoValue) return;
    ValueId& target = renumbered[static_cast<size_t>(id)];
    if (target == kNoValue) {
      target = static_cast<ValueId>(values.size());
      values.push_back(std::move(graph.value(id)));
      values.back().producer = kNoNode;
    }
    id = target;
  };
  const std::vector<size_t> order = topological_order(graph);
  for (ValueId& id : graph.inputs) keep(id);
  for (size_t n : order) {
    Node& node = graph.nodes[n];
    for (ValueId& id : node.inputs) keep(id);
    for (ValueId& id : node.outputs) keep(id);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      Value& v = values[static_cast<size_t>(node.outputs[i])];
      v.producer = static_cast<NodeId>(nodes.size());
      v.output_index = static_cast<int32_t>(i);
    }
    nodes.push_back(std::move(node));
  }
  for (ValueId& id : graph.outputs) keep(id);
  graph.values = std::move(values);
  graph.nodes = std::move(nodes);
}

}  // namespace frit::graph
