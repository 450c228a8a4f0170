#include "fusion/node_kinds.h"

#include "codegen/families/family.h"

namespace frit::fusion {

bool is_heavy_anchor(const graph::Node& node) {
  return std::get_if<graph::MatMul>(&node.op) || std::get_if<graph::Conv>(&node.op) || std::get_if<graph::Pool>(&node.op);
}

bool is_free(const graph::Node& node) {
  return graph::is_view_like(node.op) || std::get_if<graph::Iota>(&node.op) || std::get_if<graph::Fill>(&node.op);
}

bool is_host_op(const graph::Graph& g, const graph::Node& node) {
  // The node alone, with its operands as inputs: which instructions a target has never decides.
  graph::Graph h;
  codegen::Group group;
  std::vector<graph::ValueId> inputs;
  for (graph::ValueId v : node.inputs) {
    if (v == graph::kNoValue) {
      inputs.push_back(v);
      continue;
    }
    inputs.push_back(h.add_input(g.value(v).type));
    group.inputs.push_back({g.value(v).is_constant(), false});
  }
  std::vector<graph::TensorType> types;
  for (graph::ValueId v : node.outputs) types.push_back(g.value(v).type);
  const graph::NodeId own = h.add_node(node.op, inputs, types);
  h.outputs = h.node(own).outputs;
  group.graph = std::move(h);
  if (is_heavy_anchor(node) || std::get_if<graph::Reduce>(&node.op)) group.anchor = own;
  device::Target baseline;
  codegen::BuildContext context;
  context.target = &baseline;
  return codegen::find_family(group, context, nullptr) == nullptr;
}

}  // namespace frit::fusion
