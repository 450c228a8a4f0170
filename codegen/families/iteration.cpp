#include "codegen/families/iteration.h"

#include <algorithm>
#include <map>

namespace frit::codegen {

using graph::Graph;
using graph::Node;
using graph::ValueId;

int64_t Iteration::elements() const {
  int64_t n = 1;
  for (int64_t e : extents) n *= e;
  return n;
}

Index Iteration::logical(Dag& dag, const std::vector<loop::Expr>& point, const std::vector<int64_t>& shape) const {
  Index index(shape.size());
  for (size_t k = 0; k < axes.size(); ++k) {
    std::vector<int64_t> part;
    for (int64_t a : axes[k]) part.push_back(shape[static_cast<size_t>(a)]);
    Index split = dag.delinearize(point[k], part);
    for (size_t i = 0; i < axes[k].size(); ++i) index[static_cast<size_t>(axes[k][i])] = split[i];
  }
  return index;
}

namespace {

std::vector<int64_t> physical_order(const graph::TensorType& type) {
  if (!type.layout.order.empty()) return type.layout.order;
  std::vector<int64_t> order(type.shape.size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int64_t>(k);
  return order;
}

// Per axis of the iteration space, how a value uses it: 'f' its own axis of full extent, '1' broadcast. Empty: the value
// is reached through index maps, so that nothing may be merged.
using Pattern = std::string;

}  // namespace

Iteration make_iteration(const Group& group, ValueId out, const std::vector<bool>& apart) {
  const Graph& g = group.graph;
  const auto& type = g.value(out).type;
  const size_t rank = type.shape.size();
  const auto order = physical_order(type);
  bool mergeable = true;
  // joined[k]: physical axes k and k+1 are treated alike by every operand.
  std::vector<bool> joined(rank > 0 ? rank - 1 : 0, true);
  auto extent = [&](size_t k) { return type.shape[static_cast<size_t>(order[k])].value(); };
  auto look_at = [&](const graph::TensorType& t) {
    if (t.shape.size() > rank) return void(mergeable = false);
    const size_t lead = rank - t.shape.size();
    auto full = [&](size_t k) {
      const auto axis = static_cast<size_t>(order[k]);
      if (axis < lead) return false;
      return t.shape[axis - lead].value() != 1;
    };
    bool any_full = false;
    for (size_t k = 0; k < rank; ++k) any_full = any_full || full(k);
    for (size_t k = 0; k + 1 < rank; ++k) {
      if (extent(k) == 1 || extent(k + 1) == 1) continue;  // an axis of one element joins anything
      if (full(k) != full(k + 1)) joined[k] = false;
    }
    // Neighbours in the output must be neighbours, in the same order, in the operand's memory.
    if (any_full) {
      std::vector<int64_t> own;
      for (int64_t a : physical_order(t))
        if (t.shape[static_cast<size_t>(a)].value() != 1) own.push_back(a + static_cast<int64_t>(lead));
      std::vector<int64_t> want;
      for (size_t k = 0; k < rank; ++k)
        if (full(k)) want.push_back(order[k]);
      if (own != want) mergeable = false;
    }
  };
  for (const Node& node : g.nodes) {
    const bool reduce = std::get_if<graph::Reduce>(&node.op) != nullptr;
    if (!graph::is_pointwise(node.op) && !std::get_if<graph::Expand>(&node.op) && !reduce) mergeable = false;
    if (!mergeable) break;
    for (ValueId v : node.inputs)
      if (v != graph::kNoValue && g.value(v).producer == graph::kNoNode) look_at(g.value(v).type);
    for (ValueId v : node.outputs) look_at(g.value(v).type);
  }
  Iteration it;
  for (size_t k = 0; k < rank; ++k) {
    const bool split = !apart.empty() && k > 0 && apart[static_cast<size_t>(order[k])] != apart[static_cast<size_t>(order[k - 1])];
    if (k > 0 && mergeable && joined[k - 1] && !split) {
      it.axes.back().push_back(order[k]);
      it.extents.back() *= extent(k);
    } else {
      it.axes.push_back({order[k]});
      it.extents.push_back(extent(k));
    }
  }
  return it;
}

}  // namespace frit::codegen
