#include "fusion/layouts.h"

#include <algorithm>
#include <numeric>

#include "codegen/families/phase.h"
#include "fusion/node_kinds.h"

namespace frit::fusion {

using graph::Graph;
using graph::Node;
using graph::ValueId;

namespace {

bool is_window(const graph::Op& op) {
  return std::get_if<graph::Conv>(&op) || std::get_if<graph::ConvTranspose>(&op) || std::get_if<graph::Pool>(&op);
}

// Ops whose operands and results of equal rank share a layout for free.
bool carries_layout(const graph::Op& op) {
  if (graph::is_pointwise(op) || std::get_if<graph::Concat>(&op) || std::get_if<graph::Resize>(&op) || std::get_if<graph::Pad>(&op) ||
      std::get_if<graph::Slice>(&op))
    return true;
  const auto* reduce = std::get_if<graph::Reduce>(&op);
  return reduce && reduce->keepdims;
}

class Regions {
 public:
  explicit Regions(size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }
  size_t find(size_t v) {
    while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
    return v;
  }
  void join(size_t a, size_t b) { parent_[find(b)] = find(a); }

 private:
  std::vector<size_t> parent_;
};

graph::Layout channels_last(size_t rank) {
  graph::Layout layout;
  layout.order.push_back(0);
  for (size_t k = 2; k < rank; ++k) layout.order.push_back(static_cast<int64_t>(k));
  layout.order.push_back(1);
  return layout;
}

}  // namespace

LayoutReport assign_layouts(Graph& g) {
  const size_t n = g.values.size();
  std::vector<bool> host;  // per node; asked for once, since it asks every family
  for (const Node& node : g.nodes) host.push_back(is_host_op(g, node));
  auto on_host = [&](const Node& node) { return host[static_cast<size_t>(&node - g.nodes.data())]; };
  std::vector<bool> fixed(n, false);  // seen from outside: plain
  for (ValueId v : g.inputs) fixed[static_cast<size_t>(v)] = true;
  for (ValueId v : g.outputs) fixed[static_cast<size_t>(v)] = true;
  for (size_t v = 0; v < n; ++v) {
    const size_t rank = g.values[v].type.shape.size();
    fixed[v] = fixed[v] || g.values[v].is_constant() || rank < 3 || rank > 5;
  }
  for (const Node& node : g.nodes) {
    if (!on_host(node)) continue;
    for (ValueId v : node.inputs)
      if (v != graph::kNoValue) fixed[static_cast<size_t>(v)] = true;
    for (ValueId v : node.outputs) fixed[static_cast<size_t>(v)] = true;
  }
  auto movable = [&](ValueId v) { return v != graph::kNoValue && !fixed[static_cast<size_t>(v)]; };

  Regions regions(n);
  for (const Node& node : g.nodes) {
    if (on_host(node)) continue;
    std::vector<ValueId> joined;
    if (is_window(node.op)) joined = {node.inputs[0], node.outputs[0]};
    else if (carries_layout(node.op)) {
      joined = node.inputs;
      joined.insert(joined.end(), node.outputs.begin(), node.outputs.end());
    }
    ValueId first = graph::kNoValue;
    const size_t rank = g.value(node.outputs[0]).type.shape.size();
    for (ValueId v : joined) {
      if (!movable(v) || g.value(v).type.shape.size() != rank) continue;
      if (first == graph::kNoValue) first = v;
      else regions.join(static_cast<size_t>(first), static_cast<size_t>(v));
    }
  }

  // What each choice converts: plain, every window op gathers its channels (a copy in, a scattered result); channels-last,
  // only the values at the region's edge.
  std::vector<double> plain(n, 0), last(n, 0);
  std::vector<bool> window(n, false);
  auto charge = [&](std::vector<double>& cost, ValueId region, double bytes) { cost[regions.find(static_cast<size_t>(region))] += bytes; };
  for (const Node& node : g.nodes) {
    const ValueId x = node.inputs.empty() ? graph::kNoValue : node.inputs[0], y = node.outputs[0];
    if (is_window(node.op) && !on_host(node)) {
      for (ValueId v : {x, y}) {
        if (!movable(v)) continue;
        window[regions.find(static_cast<size_t>(v))] = true;
        charge(plain, v, 2 * codegen::value_bytes(g, v));
      }
      if (movable(y) && !movable(x)) charge(last, y, codegen::value_bytes(g, x));
      if (movable(x) && !movable(y)) charge(last, x, codegen::value_bytes(g, y));
      continue;
    }
    const bool carries = carries_layout(node.op);
    for (ValueId v : node.inputs) {
      if (!movable(v)) continue;
      const bool same = carries && movable(y) && regions.find(static_cast<size_t>(v)) == regions.find(static_cast<size_t>(y));
      if (!same && !std::get_if<graph::Transpose>(&node.op)) charge(last, v, codegen::value_bytes(g, v));
      if (std::get_if<graph::Transpose>(&node.op)) charge(plain, v, codegen::value_bytes(g, v));
    }
  }
  LayoutReport report;
  for (size_t v = 0; v < n; ++v) {
    g.values[v].type.layout = {};
    const size_t region = regions.find(v);
    if (region == v && window[v]) {
      ++report.regions;
      report.bytes_plain += plain[v];
      report.bytes_channels_last += last[v];
      if (last[v] <= plain[v]) ++report.channels_last_regions;
    }
    if (fixed[v] || !window[region] || last[region] > plain[region]) continue;
    g.values[v].type.layout = channels_last(g.values[v].type.shape.size());
    ++report.values;
  }
  return report;
}

}  // namespace frit::fusion
