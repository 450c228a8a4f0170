#include <algorithm>

#include "codegen/families/dag.h"
#include "codegen/families/rows.h"

namespace frit::codegen {

using graph::Graph;
using graph::Node;
using graph::ValueId;

namespace {

std::vector<int64_t> constant_dims(const Graph& g, ValueId v) {
  std::vector<int64_t> out;
  for (const auto& d : g.value(v).type.shape) out.push_back(d.value());
  return out;
}

}  // namespace

bool analyze_rows(const Group& group, RowAnalysis* out, std::string* why_not) {
  const Graph& g = group.graph;
  auto no = [&](std::string text) {
    if (why_not) *why_not = std::move(text);
    return false;
  };
  RowAnalysis r;
  r.pass.assign(g.nodes.size(), 0);
  r.form.assign(g.values.size(), RowForm::kOutside);
  r.after.assign(g.values.size(), false);
  std::vector<int32_t> ready(g.values.size(), 0);  // reductions in a chain before the value is known
  for (size_t id = 0; id < g.nodes.size(); ++id) {
    const auto* op = std::get_if<graph::Reduce>(&g.nodes[id].op);
    if (!op) continue;
    const auto shape = constant_dims(g, g.nodes[id].inputs[0]);
    std::vector<bool> reduced(shape.size(), false);
    for (int64_t a : op->axes) reduced[static_cast<size_t>(a)] = true;
    if (r.reductions.empty()) {
      r.space = g.nodes[id].inputs[0];
      r.shape = shape;
      r.reduced = reduced;
    } else if (shape != r.shape || reduced != r.reduced) {
      return no("reductions over different axes or shapes");
    }
    r.reductions.push_back(static_cast<graph::NodeId>(id));
  }
  if (r.reductions.empty()) return no("no reduction");
  for (size_t k = 0; k < r.shape.size(); ++k) (r.reduced[k] ? r.row_elements : r.rows) *= r.shape[k];
  std::vector<int64_t> kept = r.shape, squeezed;
  for (size_t k = 0; k < r.shape.size(); ++k) {
    if (r.reduced[k]) kept[k] = 1;
    else squeezed.push_back(r.shape[k]);
  }
  for (size_t id = 0; id < g.nodes.size(); ++id) {
    const Node& node = g.nodes[id];
    const ValueId y = node.outputs[0];
    const auto shape = constant_dims(g, y);
    for (ValueId v : node.inputs)
      if (v != graph::kNoValue) {
        r.pass[id] = std::max(r.pass[id], ready[static_cast<size_t>(v)]);
        r.after[static_cast<size_t>(y)] = r.after[static_cast<size_t>(y)] || r.after[static_cast<size_t>(v)];
      }
    ready[static_cast<size_t>(y)] = r.pass[id];
    auto& form = r.form[static_cast<size_t>(y)];
    if (const auto* op = std::get_if<graph::Reduce>(&node.op)) {
      const DType t = g.value(node.inputs[0]).type.dtype;
      if (t == DType::kBool) return no("a reduction of bool");
      if (is_float(t) && dtype_bytes(t) == 2) return no("a reduction of a 16-bit float");
      if (!is_float(t) && op->op == graph::ReduceOp::kMean) return no("an integer mean");
      form = op->keepdims ? RowForm::kKept : RowForm::kSqueezed;
      r.after[static_cast<size_t>(y)] = true;
      ready[static_cast<size_t>(y)] = ++r.pass[id];
      continue;
    }
    std::string why;
    if (!dag_can_evaluate(g, node, &why)) return no(why);
    if (!r.after[static_cast<size_t>(y)]) {
      if (shape == r.shape) form = RowForm::kFull;
      continue;
    }
    // After a reduction: only what keeps the row's index.
    const ValueId x = node.inputs[0];
    const RowForm from = r.form[static_cast<size_t>(x)];
    if (std::get_if<graph::Reshape>(&node.op)) {
      if (from == RowForm::kFull || (shape != kept && shape != squeezed)) return no("a reshape after the reduction mixes rows");
      form = shape == kept ? RowForm::kKept : RowForm::kSqueezed;
    } else if (std::get_if<graph::Expand>(&node.op)) {
      if (shape != r.shape || from == RowForm::kSqueezed) return no("an expand after the reduction leaves the row");
      form = RowForm::kFull;
    } else if (graph::is_pointwise(node.op)) {
      if (shape == r.shape) form = RowForm::kFull;
      else if (shape == kept) form = RowForm::kKept;
      else if (shape == squeezed) form = RowForm::kSqueezed;
      else return no("a value after the reduction has a shape of its own");
      for (ValueId v : node.inputs) {
        if (v == graph::kNoValue || !r.after[static_cast<size_t>(v)]) continue;
        const RowForm f = r.form[static_cast<size_t>(v)];
        if (f == RowForm::kSqueezed && form != RowForm::kSqueezed && kept != squeezed) return no("a row value is broadcast along another axis");
      }
    } else {
      return no(graph::op_name(node.op) + " after a reduction");
    }
  }
  for (ValueId v : g.outputs) {
    const RowForm f = r.form[static_cast<size_t>(v)];
    if (f == RowForm::kOutside) return no("an output has neither the row's shape nor one value per row");
    if (f == RowForm::kFull && g.value(v).type.layout != g.value(r.space).type.layout) return no("an output in another layout");
    r.passes = std::max(r.passes, ready[static_cast<size_t>(v)] + (f == RowForm::kFull ? 1 : 0));
  }
  *out = std::move(r);
  return true;
}

}  // namespace frit::codegen
