#include <algorithm>
#include <map>

#include "codegen/families/phase.h"
#include "fusion/node_kinds.h"
#include "fusion/plan.h"
#include "graph/text.h"

namespace frit::fusion {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

Extractor::Extractor(const Graph& graph, std::vector<bool> materialized)
    : graph_(graph), materialized_(std::move(materialized)), is_output_(graph.values.size(), false), uses_(graph::collect_uses(graph)) {
  materialized_.resize(graph.nodes.size(), false);
  for (const Node& node : graph.nodes) free_.push_back(is_free(node) && !materialized_[free_.size()]);
  for (ValueId v : graph.outputs) is_output_[static_cast<size_t>(v)] = true;
}

bool Extractor::escapes(ValueId value, const std::vector<bool>& inside) const {
  if (is_output_[static_cast<size_t>(value)]) return true;
  for (const graph::Use& use : uses_[static_cast<size_t>(value)]) {
    const auto id = static_cast<size_t>(use.node);
    if (free_[id]) {
      // A view outside of the group, or also outside: its readers read `value`.
      for (ValueId v : graph_.nodes[id].outputs)
        if (escapes(v, inside)) return true;
    } else if (!inside[id]) {
      return true;
    }
  }
  return false;
}

PlanGroup Extractor::extract(const std::vector<NodeId>& nodes) const {
  const Graph& g = graph_;
  std::vector<bool> inside(g.nodes.size(), false);
  std::vector<NodeId> open = nodes;
  for (NodeId id : nodes) inside[static_cast<size_t>(id)] = true;
  PlanGroup out;
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    out.nodes.push_back(id);
    for (ValueId v : g.node(id).inputs) {
      if (v == graph::kNoValue) continue;
      const NodeId producer = g.value(v).producer;
      if (producer == graph::kNoNode || inside[static_cast<size_t>(producer)] || !free_[static_cast<size_t>(producer)]) continue;
      inside[static_cast<size_t>(producer)] = true;
      open.push_back(producer);
    }
  }
  std::sort(out.nodes.begin(), out.nodes.end());

  Graph& h = out.group.graph;
  std::map<ValueId, ValueId> to;
  auto operand = [&](ValueId v) {
    if (v == graph::kNoValue) return v;
    if (auto it = to.find(v); it != to.end()) return it->second;
    const auto& value = g.value(v);
    ValueId own;
    if (value.is_constant() && codegen::value_elements(g, v) <= graph::kMaxInlineElements) {
      own = h.add_constant(value.type, value.constant, value.name);
    } else {
      own = h.add_input(value.type, value.name);
      codegen::GroupInput info;
      info.constant = value.is_constant();
      info.caller = std::find(g.inputs.begin(), g.inputs.end(), v) != g.inputs.end();
      out.group.inputs.push_back(info);
      out.inputs.push_back(v);
    }
    to[v] = own;
    return own;
  };
  for (NodeId id : out.nodes) {
    const Node& node = g.node(id);
    std::vector<ValueId> inputs;
    for (ValueId v : node.inputs) inputs.push_back(operand(v));
    std::vector<graph::TensorType> types;
    for (ValueId v : node.outputs) types.push_back(g.value(v).type);
    const NodeId own = h.add_node(node.op, inputs, types, node.name);
    h.node(own).source_op = node.source_op;
    for (size_t k = 0; k < node.outputs.size(); ++k) to[node.outputs[k]] = h.node(own).outputs[k];
    if (!node.name.empty()) out.group.node_names.push_back(node.name);
    const bool heavy = is_heavy_anchor(node), has_anchor = out.group.anchor != graph::kNoNode;
    const bool reduction = std::get_if<graph::Reduce>(&node.op) != nullptr;
    if (heavy && !(has_anchor && is_heavy_anchor(h.node(out.group.anchor)))) out.group.anchor = own;
    else if (reduction && !has_anchor) out.group.anchor = own;
  }
  for (NodeId id : out.nodes) {
    if (free_[static_cast<size_t>(id)]) continue;
    for (ValueId v : g.node(id).outputs)
      if (escapes(v, inside)) {
        h.outputs.push_back(to[v]);
        out.outputs.push_back(v);
      }
  }
  return out;
}

}  // namespace frit::fusion
