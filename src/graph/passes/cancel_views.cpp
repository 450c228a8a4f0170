// A Reshape or Transpose meets another one on the far side of row-wise or pointwise work, and the two merge
// or vanish.
//
// From the later view, the work above it is asked: what would you cost in nodes, computed in my arrangement?
// Constants and per-row or per-column operands adapt for free, an earlier view gives one node back. It is
// done only where nodes become strictly fewer, so nothing wanders to and fro.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/try.h"
#include "graph/passes/match.h"
#include "graph/passes/pass_functions.h"

namespace frit::graph {
namespace {

// Bounds the walk; real chains between two views are shorter.
constexpr int kMaxDepth = 24;

Shape with_last(Shape shape, const Dim& last) {
  shape.back() = last;
  return shape;
}

Shape without_leading_ones(const Shape& shape) {
  return Shape(std::find_if_not(shape.begin(), shape.end(), is_one), shape.end());
}

// Axes [from_begin, from_end) of one shape hold the elements of axes [to_begin, to_end) of the other.
struct AxisGroup {
  size_t from_begin, from_end, to_begin, to_end;
};

// Whether `size` is a proper part of the product `whole`.
bool is_part_of(const Dim& size, const Dim& whole) {
  const auto x = size.constant(), y = whole.constant();
  if (x && y) return *x < *y;
  return x == 1 || (x != 0 && floor_div(whole, size) * size == whole);
}

// The finest grouping of the axes of two shapes with as many elements; none where sizes do not tell.
std::optional<std::vector<AxisGroup>> matching_groups(const Shape& from, const Shape& to) {
  std::vector<AxisGroup> groups;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    AxisGroup g{i, i, j, j};
    Dim a(1), b(1);
    // One axis at least; axes of size 1 join the group before them, or stand alone at the front.
    if (i < from.size()) a = from[i++];
    if (j < to.size()) b = to[j++];
    while (!(a == b)) {
      const bool grow_a = is_part_of(a, b);
      if (!grow_a && !is_part_of(b, a)) return std::nullopt;
      if (grow_a ? i == from.size() : j == to.size()) return std::nullopt;
      if (grow_a)
        a = a * from[i++];
      else
        b = b * to[j++];
    }
    g.from_end = i;
    g.to_end = j;
    groups.push_back(g);
  }
  return groups;
}

// The plan for one operand or value: how the node count changes, or that it cannot be done at all.
using Delta = std::optional<int>;
Delta plus(Delta a, Delta b) { return a && b ? Delta(*a + *b) : std::nullopt; }

// Moves a Reshape up through pointwise nodes and nodes that work on rows.
class ReshapeMover {
 public:
  explicit ReshapeMover(Rewriter& r) : r_(r) {}

  Result<bool> visit(NodeId id) {
    const Node node = r_.node(id);
    if (!std::holds_alternative<Reshape>(node.op) || node.inputs.size() != 1) return false;
    const Shape target = r_.shape(node.outputs[0]);
    const Delta moved = through(node.inputs[0], target, 0);
    // Without another view in reach there is nothing to cancel, even where the work adapts for free.
    if (!moved || *moved >= 1 || !found_view_) return false;
    FRIT_ASSIGN(const ValueId y, build_through(node.inputs[0], target));
    r_.replace(node.outputs[0], y);
    return true;
  }

 private:
  // The node count's change when `v` is wanted with shape `target`, by whichever way is cheapest.
  int cost(ValueId v, const Shape& target, int depth) {
    if (r_.shape(v) == target || r_.value(v).is_constant()) return 0;
    if (const Node* view = r_.producer<Reshape>(v); view && view->inputs.size() == 1) {
      found_view_ = true;
      return (r_.single_use(v) ? -1 : 0) + (r_.shape(view->inputs[0]) == target ? 0 : 1);
    }
    const Delta moved = through(v, target, depth + 1);
    return moved ? std::min(*moved, 1) : 1;
  }

  // The same when the node that makes `v` must be redone in the new shape itself.
  Delta through(ValueId v, const Shape& target, int depth) {
    const NodeId made_by = r_.value(v).producer;
    if (made_by == kNoNode || !r_.single_use(v) || depth > kMaxDepth) return std::nullopt;
    const Node& node = r_.node(made_by);
    if (is_pointwise(node.op)) {
      Delta sum = 0;
      for (ValueId operand : node.inputs) {
        const auto shape = operand_shape(operand, r_.shape(v), target);
        sum = plus(sum, shape ? Delta(cost(operand, *shape, depth)) : std::nullopt);
      }
      return sum;
    }
    if (const auto shape = row_operand(node, r_.shape(v), target)) return cost(node.inputs[0], *shape, depth);
    return std::nullopt;
  }

  Result<ValueId> build(ValueId v, const Shape& target) {
    if (r_.shape(v) == target) return v;
    if (r_.value(v).is_constant()) return reshape_constant(r_, v, target);
    const TensorType type{r_.type(v).dtype, target, {}};
    if (const Node* view = r_.producer<Reshape>(v); view && view->inputs.size() == 1) {
      const ValueId source = view->inputs[0];
      return r_.shape(source) == target ? source : r_.add_typed(Reshape{}, {source}, type);
    }
    const Delta moved = through(v, target, 1);
    if (moved && *moved < 1) return build_through(v, target);
    return r_.add_typed(Reshape{}, {v}, type);
  }

  Result<ValueId> build_through(ValueId v, const Shape& target) {
    const Node node = r_.node(r_.value(v).producer);
    const Shape old_shape = r_.shape(v);
    std::vector<ValueId> inputs = node.inputs;
    if (is_pointwise(node.op)) {
      for (ValueId& operand : inputs) {
        FRIT_ASSIGN(operand, build(operand, *operand_shape(operand, old_shape, target)));
      }
    } else {
      FRIT_ASSIGN(inputs[0], build(inputs[0], *row_operand(node, old_shape, target)));
    }
    Op op = node.op;
    if (auto* reduce = std::get_if<Reduce>(&op)) reduce->axes = {static_cast<int64_t>(target.size()) - 1};
    return r_.add_typed(std::move(op), std::move(inputs), {r_.type(v).dtype, target, {}});
  }

  // The shape that a pointwise operand needs so that the result has shape `target` and the same elements in
  // order: within each group of axes that the reshape regroups, the operand must be full or broadcast
  // altogether.
  std::optional<Shape> operand_shape(ValueId operand, const Shape& result, const Shape& target) const {
    Shape shape = r_.shape(operand);
    if (shape == result) return target;
    if (shape.empty()) return shape;
    const auto groups = matching_groups(result, target);
    if (!groups || shape.size() > result.size()) return std::nullopt;
    shape.insert(shape.begin(), result.size() - shape.size(), Dim(1));
    Shape mapped;
    for (const AxisGroup& g : *groups) {
      bool full = true, broadcast = true;
      for (size_t i = g.from_begin; i < g.from_end; ++i) {
        full = full && shape[i] == result[i];
        broadcast = broadcast && is_one(shape[i]);
      }
      if (!full && !broadcast) return std::nullopt;
      for (size_t j = g.to_begin; j < g.to_end; ++j) mapped.push_back(full ? target[j] : Dim(1));
    }
    // Leading axes of size 1 say nothing: an operand that differs only in them needs no reshape.
    const Shape& original = r_.shape(operand);
    const Shape bare = without_leading_ones(mapped);
    if (original.size() <= target.size() && without_leading_ones(original) == bare) return original;
    return r_.value(operand).is_constant() ? bare : mapped;
  }

  // The shape of the first operand of a node that works on rows: x [.., K] times w [K, N], or a reduction of
  // the last axis.
  std::optional<Shape> row_operand(const Node& node, const Shape& result, const Shape& target) const {
    if (target.empty() || result.empty() || !(result.back() == target.back())) return std::nullopt;
    const Shape& x = r_.shape(node.inputs[0]);
    if (std::holds_alternative<MatMul>(node.op)) {
      if (r_.shape(node.inputs[1]).size() != 2 || target.size() < 2) return std::nullopt;
      return with_last(target, x.back());
    }
    const auto* reduce = std::get_if<Reduce>(&node.op);
    if (!reduce || !reduce->keepdims || reduce->axes.size() != 1) return std::nullopt;
    if (reduce->axes[0] != static_cast<int64_t>(x.size()) - 1) return std::nullopt;
    return with_last(target, x.back());
  }

  Rewriter& r_;
  bool found_view_ = false;
};

using Perm = std::vector<int64_t>;

// Moves a Transpose up through pointwise nodes and reductions.
class TransposeMover {
 public:
  TransposeMover(Rewriter& r, int64_t constant_limit) : r_(r), constant_limit_(constant_limit) {}

  Result<bool> visit(NodeId id) {
    const Node node = r_.node(id);
    const auto* transpose = std::get_if<Transpose>(&node.op);
    if (!transpose) return false;
    const Delta moved = through(node.inputs[0], transpose->perm, 0);
    if (!moved || *moved >= 1 || !found_view_) return false;
    FRIT_ASSIGN(const ValueId y, build_through(node.inputs[0], transpose->perm));
    r_.replace(node.outputs[0], y);
    return true;
  }

 private:
  static bool is_identity(const Perm& perm) { return std::is_sorted(perm.begin(), perm.end()); }
  static Perm after(const Perm& inner, const Perm& outer) {
    Perm both;
    for (int64_t axis : outer) both.push_back(inner[static_cast<size_t>(axis)]);
    return both;
  }

  bool adapts(ValueId v, size_t rank) const {
    const auto elements = constant_elements(r_.shape(v));
    return r_.value(v).is_constant() && r_.shape(v).size() <= rank && elements &&
           *elements <= constant_limit_;
  }

  Delta cost(ValueId v, const Perm& perm, int depth) {
    if (r_.shape(v).empty() || adapts(v, perm.size())) return 0;
    if (r_.shape(v).size() != perm.size()) return std::nullopt;
    if (is_identity(perm)) return 0;
    if (const Node* view = r_.producer<Transpose>(v)) {
      found_view_ = true;
      return (r_.single_use(v) ? -1 : 0) +
             (is_identity(after(std::get<Transpose>(view->op).perm, perm)) ? 0 : 1);
    }
    const Delta moved = through(v, perm, depth + 1);
    return moved ? std::min(*moved, 1) : 1;
  }

  Delta through(ValueId v, const Perm& perm, int depth) {
    const NodeId made_by = r_.value(v).producer;
    if (made_by == kNoNode || !r_.single_use(v) || depth > kMaxDepth) return std::nullopt;
    const Node& node = r_.node(made_by);
    if (!is_movable(node)) return std::nullopt;
    Delta sum = 0;
    for (ValueId operand : node.inputs) sum = plus(sum, cost(operand, perm, depth));
    return sum;
  }

  static bool is_movable(const Node& node) {
    const auto* reduce = std::get_if<Reduce>(&node.op);
    return is_pointwise(node.op) || (reduce && reduce->keepdims);
  }

  Result<ValueId> build(ValueId v, const Perm& perm) {
    if (r_.shape(v).empty() || (is_identity(perm) && r_.shape(v).size() == perm.size())) return v;
    if (adapts(v, perm.size())) {
      Shape full(perm.size() - r_.shape(v).size(), Dim(1));
      full.insert(full.end(), r_.shape(v).begin(), r_.shape(v).end());
      if (full != r_.shape(v)) v = reshape_constant(r_, v, std::move(full));
      return r_.add(Transpose{perm}, {v});
    }
    if (const Node* view = r_.producer<Transpose>(v)) {
      const ValueId source = view->inputs[0];
      const Perm both = after(std::get<Transpose>(view->op).perm, perm);
      if (is_identity(both)) return source;
      return r_.add(Transpose{both}, {source});
    }
    const Delta moved = through(v, perm, 1);
    if (moved && *moved < 1) return build_through(v, perm);
    return r_.add(Transpose{perm}, {v});
  }

  Result<ValueId> build_through(ValueId v, const Perm& perm) {
    const Node node = r_.node(r_.value(v).producer);
    std::vector<ValueId> inputs = node.inputs;
    for (ValueId& operand : inputs) {
      FRIT_ASSIGN(operand, build(operand, perm));
    }
    Op op = node.op;
    if (auto* reduce = std::get_if<Reduce>(&op)) {
      const Perm axes = std::exchange(reduce->axes, {});
      for (size_t i = 0; i < perm.size(); ++i) {
        if (std::find(axes.begin(), axes.end(), perm[i]) != axes.end())
          reduce->axes.push_back(static_cast<int64_t>(i));
      }
    }
    return r_.add(std::move(op), std::move(inputs));
  }

  Rewriter& r_;
  int64_t constant_limit_;
  bool found_view_ = false;
};

}  // namespace

Result<bool> cancel_views(Graph& graph, const PassContext& context) {
  return Rewriter(graph).sweep([&](Rewriter& r, NodeId id) -> Result<bool> {
    FRIT_ASSIGN(const bool reshaped, ReshapeMover(r).visit(id));
    if (reshaped) return true;
    return TransposeMover(r, context.fold_limit_elems).visit(id);
  });
}

}  // namespace frit::graph
