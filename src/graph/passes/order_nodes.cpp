// The canonical order: nodes as a depth-first walk from the outputs finishes them, operands of commutative
// nodes by structure. Two graphs that compute the same by the same nodes then have the same text, however
// they were built.
//
// Order of operands: constants last, broadcast operands after those that have the result's shape, then the
// value that took more steps from the inputs first, then by what made it, a few levels down. Operands that
// look alike on all counts keep their order.
#include <algorithm>

#include "graph/passes/match.h"
#include "graph/passes/pass_functions.h"

namespace frit::graph {
namespace {

constexpr int kCompareLevels = 4;

class Orderer {
 public:
  explicit Orderer(Graph& graph) : graph_(graph), depth_(graph.values.size(), 0) {
    for (const Node& node : graph_.nodes) {
      int deepest = 0;
      for (ValueId v : node.inputs) {
        if (v != kNoValue) deepest = std::max(deepest, depth_[static_cast<size_t>(v)]);
      }
      for (ValueId v : node.outputs) {
        if (v != kNoValue) depth_[static_cast<size_t>(v)] = deepest + 1;
      }
    }
  }

  bool sort_operands() {
    bool changed = false;
    for (Node& node : graph_.nodes) {
      if (!commutes(node.op) || !stands_behind(node)) continue;
      std::swap(node.inputs[0], node.inputs[1]);
      changed = true;
    }
    return changed;
  }

  std::vector<NodeId> depth_first() const {
    std::vector<NodeId> order;
    std::vector<bool> started(graph_.nodes.size(), false);
    struct Frame {
      NodeId node;
      size_t next;
    };
    std::vector<Frame> stack;
    auto enter = [&](ValueId v) {
      if (v == kNoValue) return;
      const NodeId made_by = graph_.value(v).producer;
      if (made_by == kNoNode || started[static_cast<size_t>(made_by)]) return;
      started[static_cast<size_t>(made_by)] = true;
      stack.push_back({made_by, 0});
    };
    for (ValueId out : graph_.outputs) {
      enter(out);
      while (!stack.empty()) {
        Frame& top = stack.back();
        const Node& node = graph_.node(top.node);
        if (top.next < node.inputs.size()) {
          enter(node.inputs[top.next++]);
        } else {
          order.push_back(top.node);
          stack.pop_back();
        }
      }
    }
    return order;
  }

 private:
  // The first operand belongs behind the second.
  bool stands_behind(const Node& node) const {
    const Value &a = graph_.value(node.inputs[0]), &b = graph_.value(node.inputs[1]);
    if (a.is_constant() != b.is_constant()) return a.is_constant();
    const Shape& result = graph_.value(node.outputs[0]).type.shape;
    const bool full_a = a.type.shape == result, full_b = b.type.shape == result;
    if (full_a != full_b) return full_b;
    return compare(node.inputs[0], node.inputs[1], kCompareLevels) > 0;
  }

  // Below 0: a stands first.
  int compare(ValueId a, ValueId b, int levels) const {
    if (a == b || a == kNoValue || b == kNoValue) return a == b ? 0 : (a == kNoValue ? 1 : -1);
    const Value &x = graph_.value(a), &y = graph_.value(b);
    if (x.is_constant() != y.is_constant()) return x.is_constant() ? 1 : -1;
    const int depth_x = depth_[static_cast<size_t>(a)], depth_y = depth_[static_cast<size_t>(b)];
    if (depth_x != depth_y) return depth_x > depth_y ? -1 : 1;
    if (x.type.dtype != y.type.dtype) return x.type.dtype < y.type.dtype ? -1 : 1;
    if (x.type.shape != y.type.shape) return x.type.shape < y.type.shape ? -1 : 1;
    if (x.producer == kNoNode)
      return x.is_constant() ? 0 : (a < b ? -1 : 1);  // inputs stand in the caller's order
    if (x.producer == y.producer) return x.output_index < y.output_index ? -1 : 1;
    const Node &m = graph_.node(x.producer), &n = graph_.node(y.producer);
    if (m.op < n.op) return -1;
    if (n.op < m.op) return 1;
    if (m.inputs.size() != n.inputs.size()) return m.inputs.size() < n.inputs.size() ? -1 : 1;
    for (size_t i = 0; levels > 0 && i < m.inputs.size(); ++i) {
      if (const int order = compare(m.inputs[i], n.inputs[i], levels - 1); order != 0) return order;
    }
    return 0;
  }

  Graph& graph_;
  std::vector<int> depth_;
};

}  // namespace

Result<bool> order_nodes(Graph& graph, const PassContext&) {
  bool changed = false;
  {
    Orderer orderer(graph);
    changed = orderer.sort_operands();
    const std::vector<NodeId> order = orderer.depth_first();
    if (order.size() != graph.nodes.size() || !std::is_sorted(order.begin(), order.end())) {
      changed = true;
      std::vector<Node> nodes;
      nodes.reserve(order.size());
      for (NodeId id : order) {
        nodes.push_back(std::move(graph.node(id)));
        for (ValueId v : nodes.back().outputs) {
          if (v != kNoValue) graph.value(v).producer = static_cast<NodeId>(nodes.size()) - 1;
        }
      }
      graph.nodes = std::move(nodes);
    }
  }
  if (changed) compact(graph);
  return changed;
}

}  // namespace frit::graph
