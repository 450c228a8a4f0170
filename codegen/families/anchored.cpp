#include "codegen/families/anchored.h"

#include <algorithm>
#include <functional>
#include <map>

namespace frit::codegen {

using graph::Graph;
using graph::Node;
using graph::ValueId;

namespace {

int64_t op_flops(const graph::Op& op) {
  if (const auto* u = std::get_if<graph::Unary>(&op)) {
    switch (u->op) {
      case graph::UnaryOp::kNeg: case graph::UnaryOp::kAbs: case graph::UnaryOp::kRelu: case graph::UnaryOp::kNot:
      case graph::UnaryOp::kFloor: case graph::UnaryOp::kCeil: case graph::UnaryOp::kRound: case graph::UnaryOp::kIsNan: return 1;
      case graph::UnaryOp::kSqrt: case graph::UnaryOp::kRecip: return 5;
      default: return 15;
    }
  }
  if (const auto* b = std::get_if<graph::Binary>(&op)) return b->op == graph::BinaryOp::kPow ? 40 : b->op == graph::BinaryOp::kDiv ? 5 : 1;
  return graph::is_pointwise(op) ? 1 : 0;
}

}  // namespace

bool analyze_anchored(const Group& group, Anchored* out, std::string* why_not) {
  const Graph& g = group.graph;
  auto no = [&](std::string why) {
    if (why_not) *why_not = std::move(why);
    return false;
  };
  if (group.anchor == graph::kNoNode) return no("no anchor");
  out->anchor = &g.node(group.anchor);
  out->result = out->anchor->outputs[0];
  out->downstream.assign(g.values.size(), false);
  out->downstream[static_cast<size_t>(out->result)] = true;
  // The views since the anchor, as text: values that meet in a pointwise node must have come the same way.
  std::map<ValueId, std::string> way;
  way[out->result] = "";
  for (const Node& node : g.nodes) {
    if (&node == out->anchor) continue;
    std::optional<std::string> came;
    for (ValueId in : node.inputs) {
      if (in == graph::kNoValue || !out->downstream[static_cast<size_t>(in)]) continue;
      if (came && *came != way[in]) return no("two ways of indexing the anchor's result meet in one node");
      came = way[in];
      if (graph::is_pointwise(node.op) && g.value(in).type.shape != g.value(node.outputs[0]).type.shape)
        return no("the anchor's result is broadcast in the epilogue");
    }
    // Operands of the epilogue are computed where they are read, too: no other anchor among them.
    std::string why;
    if (!dag_can_evaluate(g, node, &why)) return no(why);
    if (!came) continue;
    if (!graph::is_pointwise(node.op)) {
      if (std::get_if<graph::Reshape>(&node.op)) *came += "r" + graph::shape_text(g.value(node.outputs[0]).type.shape);
      else if (const auto* t = std::get_if<graph::Transpose>(&node.op)) {
        *came += "t";
        for (int64_t p : t->perm) *came += std::to_string(p) + ",";
      } else return no(graph::op_name(node.op) + " after the anchor is not one to one");
    }
    out->epilogue_flops += op_flops(node.op);
    for (ValueId v : node.outputs) {
      out->downstream[static_cast<size_t>(v)] = true;
      way[v] = *came;
    }
  }
  for (ValueId v : g.outputs)
    if (!out->downstream[static_cast<size_t>(v)]) return no("an output does not depend on the anchor");
  return true;
}

bool only_views_before(const Graph& graph, ValueId value, std::string* why_not) {
  const graph::NodeId producer = graph.value(value).producer;
  if (producer == graph::kNoNode) return true;
  const Node& node = graph.node(producer);
  if (!graph::is_view_like(node.op)) {
    if (why_not) *why_not = graph::op_name(node.op) + " before the anchor would be computed many times";
    return false;
  }
  return only_views_before(graph, node.inputs[0], why_not);
}

std::vector<int32_t> inputs_before(const Graph& graph, ValueId value) {
  std::vector<bool> seen(graph.values.size(), false);
  std::vector<int32_t> out;
  std::function<void(ValueId)> visit = [&](ValueId v) {
    if (v == graph::kNoValue || seen[static_cast<size_t>(v)]) return;
    seen[static_cast<size_t>(v)] = true;
    if (graph.value(v).producer != graph::kNoNode)
      for (ValueId in : graph.node(graph.value(v).producer).inputs) visit(in);
  };
  visit(value);
  for (size_t k = 0; k < graph.inputs.size(); ++k)
    if (seen[static_cast<size_t>(graph.inputs[k])]) out.push_back(static_cast<int32_t>(k));
  return out;
}

bool is_constant_value(const Group& group, ValueId value) {
  const auto inputs = inputs_before(group.graph, value);
  return std::all_of(inputs.begin(), inputs.end(), [&](int32_t k) { return group.inputs[static_cast<size_t>(k)].constant; });
}

Index push_index(Dag& dag, const Graph& graph, ValueId from, ValueId to, const Index& index) {
  if (from == to) return index;
  std::vector<bool> reaches(graph.values.size(), false);
  reaches[static_cast<size_t>(from)] = true;
  for (const Node& node : graph.nodes)
    for (ValueId in : node.inputs)
      if (in != graph::kNoValue && reaches[static_cast<size_t>(in)])
        for (ValueId v : node.outputs) reaches[static_cast<size_t>(v)] = true;
  // Back from `to` along values that come from `from`, then the views forwards.
  std::vector<const Node*> path;
  for (ValueId v = to; v != from;) {
    const Node& node = graph.node(graph.value(v).producer);
    path.push_back(&node);
    for (ValueId in : node.inputs)
      if (in != graph::kNoValue && reaches[static_cast<size_t>(in)]) {
        v = in;
        break;
      }
  }
  Index at = index;
  ValueId here = from;
  for (auto it = path.rbegin(); it != path.rend(); ++it) {
    const Node& node = **it;
    const ValueId next = node.outputs[0];
    if (std::get_if<graph::Reshape>(&node.op)) {
      at = dag.reshape_index(at, dag.shape(here), dag.shape(next));
    } else if (const auto* t = std::get_if<graph::Transpose>(&node.op)) {
      Index moved(at.size());
      for (size_t k = 0; k < at.size(); ++k) moved[k] = at[static_cast<size_t>(t->perm[k])];
      at = moved;
    }
    here = next;
  }
  return at;
}

std::vector<int32_t> in_place_candidates(const Group& group) {
  const Graph& g = group.graph;
  std::vector<int32_t> out(g.outputs.size(), -1);
  const auto uses = graph::collect_uses(g);
  std::vector<bool> taken(g.inputs.size(), false);
  for (size_t o = 0; o < g.outputs.size(); ++o) {
    const auto& type = g.value(g.outputs[o]).type;
    for (size_t k = 0; k < g.inputs.size() && out[o] < 0; ++k) {
      const auto& info = group.inputs[k];
      if (info.constant || info.caller || taken[k] || !(g.value(g.inputs[k]).type == type)) continue;
      // Every node that the input reaches up to the outputs must be pointwise and of the output's shape.
      std::vector<bool> same(g.values.size(), false);
      same[static_cast<size_t>(g.inputs[k])] = true;
      bool fine = true, reaches = g.inputs[k] == g.outputs[o];
      for (const Node& node : g.nodes) {
        const bool touched = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return v != graph::kNoValue && same[static_cast<size_t>(v)]; });
        if (!touched) continue;
        fine = fine && graph::is_pointwise(node.op) && g.value(node.outputs[0]).type.shape == type.shape && g.value(node.outputs[0]).type.layout == type.layout;
        for (ValueId v : node.outputs) {
          same[static_cast<size_t>(v)] = true;
          reaches = reaches || v == g.outputs[o];
        }
      }
      // All outputs are written at one iteration point only when they have one shape.
      for (ValueId v : g.outputs) fine = fine && g.value(v).type.shape == type.shape && g.value(v).type.layout == type.layout;
      if (fine && reaches && !uses[static_cast<size_t>(g.inputs[k])].empty()) {
        out[o] = static_cast<int32_t>(k);
        taken[k] = true;
      }
    }
  }
  return out;
}

}  // namespace frit::codegen
