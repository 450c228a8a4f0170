// Index maps that do nothing, that follow one another, or that are simpler as another index map.
//
// Squeeze, Unsqueeze and Flatten are Reshapes since import. All but the last two move elements without
// computing.
#include <algorithm>
#include <numeric>

#include "base/try.h"
#include "graph/passes/match.h"
#include "graph/passes/pass_functions.h"

namespace frit::graph {
namespace {

Result<bool> replace_typed(Rewriter& r, NodeId id, Op op, std::vector<ValueId> inputs) {
  const ValueId out = r.node(id).outputs[0];
  const TensorType type = r.type(out);
  r.replace(out, r.add_typed(std::move(op), std::move(inputs), type));
  return true;
}

// The node as a T that has no shape operand any more.
template <class T>
const T* view(const Rewriter& r, NodeId id) {
  const Node& node = r.node(id);
  return node.inputs.size() == 1 ? std::get_if<T>(&node.op) : nullptr;
}
template <class T>
const Node* view_below(const Rewriter& r, ValueId v) {
  const Node* node = r.producer<T>(v);
  return node && node->inputs.size() == 1 ? node : nullptr;
}
bool keeps_shape(const Rewriter& r, NodeId id) {
  return same_shape(r, r.node(id).inputs[0], r.node(id).outputs[0]);
}

Result<bool> reshape_same(Rewriter& r, NodeId id) {
  if (!std::holds_alternative<Reshape>(r.node(id).op) || !keeps_shape(r, id)) return false;
  return becomes(r, id, r.node(id).inputs[0]);
}
Result<bool> reshape_twice(Rewriter& r, NodeId id) {
  if (!view<Reshape>(r, id)) return false;
  const Node* inner = r.producer<Reshape>(r.node(id).inputs[0]);
  return inner ? replace_typed(r, id, Reshape{}, {inner->inputs[0]}) : Result<bool>(false);
}

Result<bool> transpose_same(Rewriter& r, NodeId id) {
  const auto* t = view<Transpose>(r, id);
  if (!t || !std::is_sorted(t->perm.begin(), t->perm.end())) return false;
  return becomes(r, id, r.node(id).inputs[0]);
}
Result<bool> transpose_twice(Rewriter& r, NodeId id) {
  const auto* outer = view<Transpose>(r, id);
  const Node* below = outer ? view_below<Transpose>(r, r.node(id).inputs[0]) : nullptr;
  if (!below) return false;
  const auto& inner = std::get<Transpose>(below->op).perm;
  Transpose both;
  for (int64_t axis : outer->perm) both.perm.push_back(inner[static_cast<size_t>(axis)]);
  return replace_typed(r, id, both, {below->inputs[0]});
}
Result<bool> transpose_units(Rewriter& r, NodeId id) {
  const auto* t = view<Transpose>(r, id);
  if (!t) return false;
  const Shape& in = r.shape(r.node(id).inputs[0]);
  int64_t last = -1;
  for (int64_t axis : t->perm) {
    if (is_one(in[static_cast<size_t>(axis)])) continue;
    if (axis < last) return false;
    last = axis;
  }
  return replace_typed(r, id, Reshape{}, {r.node(id).inputs[0]});
}

Result<bool> expand_same(Rewriter& r, NodeId id) {
  if (!std::holds_alternative<Expand>(r.node(id).op) || !keeps_shape(r, id)) return false;
  return becomes(r, id, r.node(id).inputs[0]);
}
Result<bool> expand_twice(Rewriter& r, NodeId id) {
  if (!view<Expand>(r, id)) return false;
  const Node* inner = r.producer<Expand>(r.node(id).inputs[0]);
  return inner ? replace_typed(r, id, Expand{}, {inner->inputs[0]}) : Result<bool>(false);
}
// [n] -> [1,n] -> [m,n] is [n] -> [m,n]: Expand adds leading axes itself.
Result<bool> expand_leading(Rewriter& r, NodeId id) {
  if (!view<Expand>(r, id)) return false;
  const Node* inner = view_below<Reshape>(r, r.node(id).inputs[0]);
  if (!inner) return false;
  const Shape &from = r.shape(inner->inputs[0]), &to = r.shape(r.node(id).inputs[0]);
  if (from.size() >= to.size()) return false;
  const auto added = static_cast<std::ptrdiff_t>(to.size() - from.size());
  if (!std::equal(from.begin(), from.end(), to.begin() + added) ||
      !std::all_of(to.begin(), to.begin() + added, is_one)) {
    return false;
  }
  return replace_typed(r, id, Expand{}, {inner->inputs[0]});
}

Result<bool> slice_all(Rewriter& r, NodeId id) {
  const auto* s = view<Slice>(r, id);
  if (!s || !keeps_shape(r, id)) return false;
  const Shape& in = r.shape(r.node(id).inputs[0]);
  for (size_t axis = 0; axis < in.size(); ++axis) {
    if (!(s->starts[axis] == Dim(0)) || (s->steps[axis] != 1 && !is_one(in[axis]))) return false;
  }
  return becomes(r, id, r.node(id).inputs[0]);
}
Result<bool> slice_twice(Rewriter& r, NodeId id) {
  const auto* outer = view<Slice>(r, id);
  const Node* below = outer ? view_below<Slice>(r, r.node(id).inputs[0]) : nullptr;
  if (!below) return false;
  Slice both = std::get<Slice>(below->op);
  for (size_t axis = 0; axis < both.starts.size(); ++axis) {
    both.starts[axis] = both.starts[axis] + outer->starts[axis] * Dim(both.steps[axis]);
    both.steps[axis] *= outer->steps[axis];
  }
  return replace_typed(r, id, both, {below->inputs[0]});
}

// A slice that takes everything on all axes but `axis`, there with step 1: its start, else none.
std::optional<Dim> slice_start(const Rewriter& r, const Node& slice_node, size_t axis) {
  const auto& slice = std::get<Slice>(slice_node.op);
  const Shape &in = r.shape(slice_node.inputs[0]), &out = r.shape(slice_node.outputs[0]);
  for (size_t i = 0; i < in.size(); ++i) {
    if (slice.steps[i] != 1) return std::nullopt;
    if (i != axis && !(in[i] == out[i])) return std::nullopt;
  }
  return slice.starts[axis];
}

// A slice of a concatenation that lies inside one of its parts.
Result<bool> slice_concat(Rewriter& r, NodeId id) {
  if (!view<Slice>(r, id)) return false;
  const Node node = r.node(id);
  const Node* concat = r.producer<Concat>(node.inputs[0]);
  if (!concat) return false;
  const auto axis = static_cast<size_t>(std::get<Concat>(concat->op).axis);
  Slice slice = std::get<Slice>(node.op);
  const auto start = slice.starts[axis].constant(), size = r.shape(node.outputs[0])[axis].constant();
  if (!start || !size || slice.steps[axis] != 1) return false;
  int64_t at = 0;
  for (ValueId part : concat->inputs) {
    const auto extent = r.shape(part)[axis].constant();
    if (!extent) return false;
    if (*start >= at && *start + *size <= at + *extent && *extent > 0) {
      slice.starts[axis] = Dim(*start - at);
      return replace_typed(r, id, slice, {part});
    }
    at += *extent;
  }
  return false;
}

Result<bool> pad_nothing(Rewriter& r, NodeId id) {
  const auto* pad = std::get_if<Pad>(&r.node(id).op);
  if (!pad) return false;
  const auto zero = [](int64_t n) { return n == 0; };
  if (!std::all_of(pad->before.begin(), pad->before.end(), zero) ||
      !std::all_of(pad->after.begin(), pad->after.end(), zero)) {
    return false;
  }
  return becomes(r, id, r.node(id).inputs[0]);
}

Result<bool> concat_one(Rewriter& r, NodeId id) {
  if (!std::holds_alternative<Concat>(r.node(id).op)) return false;
  if (r.node(id).inputs.size() == 1) return becomes(r, id, r.node(id).inputs[0]);
  return false;
}
Result<bool> concat_empty(Rewriter& r, NodeId id) {
  const auto* concat = std::get_if<Concat>(&r.node(id).op);
  if (!concat) return false;
  std::vector<ValueId> parts;
  for (ValueId v : r.node(id).inputs) {
    if (!(r.shape(v)[static_cast<size_t>(concat->axis)] == Dim(0))) parts.push_back(v);
  }
  if (parts.empty() || parts.size() == r.node(id).inputs.size()) return false;
  return replace_typed(r, id, Concat{concat->axis}, std::move(parts));
}
Result<bool> concat_twice(Rewriter& r, NodeId id) {
  const auto* outer = std::get_if<Concat>(&r.node(id).op);
  if (!outer) return false;
  std::vector<ValueId> flat;
  for (ValueId v : r.node(id).inputs) {
    const Node* inner = r.single_use(v) ? r.producer<Concat>(v) : nullptr;
    if (inner && std::get<Concat>(inner->op).axis == outer->axis)
      flat.insert(flat.end(), inner->inputs.begin(), inner->inputs.end());
    else
      flat.push_back(v);
  }
  if (flat.size() == r.node(id).inputs.size()) return false;
  return replace_typed(r, id, Concat{outer->axis}, std::move(flat));
}
// Two neighbouring slices of one tensor, side by side again.
Result<bool> concat_slices(Rewriter& r, NodeId id) {
  const auto* concat = std::get_if<Concat>(&r.node(id).op);
  if (!concat) return false;
  const int64_t axis = concat->axis;
  const auto at = static_cast<size_t>(axis);
  std::vector<ValueId> parts = r.node(id).inputs;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    const Node *a = view_below<Slice>(r, parts[i]), *b = view_below<Slice>(r, parts[i + 1]);
    if (!a || !b || a->inputs[0] != b->inputs[0]) continue;
    const auto first = slice_start(r, *a, at), second = slice_start(r, *b, at);
    if (!first || !second || !(*first + r.shape(parts[i])[at] == *second)) continue;
    TensorType type = r.type(parts[i]);
    type.shape[at] = type.shape[at] + r.shape(parts[i + 1])[at];
    const Slice slice = std::get<Slice>(a->op);
    const ValueId whole = r.add_typed(slice, {a->inputs[0]}, type);
    parts[i] = whole;
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return replace_typed(r, id, Concat{axis}, std::move(parts));
  }
  return false;
}

struct Progression {
  int64_t first, step, count;
};

// Integers first, first + step ... in row-major order.
std::optional<Progression> progression(const Rewriter& r, ValueId v) {
  if (const Node* reshape = r.producer<Reshape>(v)) return progression(r, reshape->inputs[0]);
  if (const Node* iota = r.producer<Iota>(v)) {
    const auto count = constant_elements(r.shape(v));
    const auto along = r.shape(v)[static_cast<size_t>(std::get<Iota>(iota->op).axis)].constant();
    if (!count || count != along) return std::nullopt;
    return Progression{0, 1, *count};
  }
  if (const Node* sum = r.producer<Binary>(v); sum && std::get<Binary>(sum->op).op == BinaryOp::kAdd) {
    const auto offset = constant_ints(r.graph(), sum->inputs[1]);
    auto base = progression(r, sum->inputs[0]);
    if (!offset || offset->size() != 1 || !base || constant_elements(r.shape(v)) != base->count)
      return std::nullopt;
    base->first += (*offset)[0];
    return base;
  }
  const auto ints = constant_ints(r.graph(), v);
  if (!ints || ints->empty()) return std::nullopt;
  const auto count = static_cast<int64_t>(ints->size());
  const int64_t step = count > 1 ? (*ints)[1] - (*ints)[0] : 1;
  for (int64_t i = 1; i < count; ++i) {
    if ((*ints)[static_cast<size_t>(i)] - (*ints)[static_cast<size_t>(i - 1)] != step) return std::nullopt;
  }
  return Progression{(*ints)[0], step, count};
}

// Gathering rows that are counted off is a slice, reshaped to the indices' shape.
Result<bool> gather_slice(Rewriter& r, NodeId id) {
  const auto* gather = std::get_if<Gather>(&r.node(id).op);
  if (!gather) return false;
  const auto axis = static_cast<size_t>(gather->axis);
  const Node node = r.node(id);
  const TensorType data = r.type(node.inputs[0]);
  const auto extent = data.shape[axis].constant();
  auto rows = progression(r, node.inputs[1]);
  if (!extent || !rows || rows->step < 1 || rows->count < 1) return false;
  const int64_t last = rows->first + rows->step * (rows->count - 1);
  if (rows->first < 0 && last < 0) rows->first += *extent;
  if (rows->first < 0 || rows->first + rows->step * (rows->count - 1) >= *extent) return false;
  Slice slice{std::vector<Dim>(data.shape.size()), std::vector<int64_t>(data.shape.size(), 1)};
  slice.starts[axis] = Dim(rows->first);
  slice.steps[axis] = rows->count > 1 ? rows->step : 1;
  TensorType type{data.dtype, data.shape, {}};
  type.shape[axis] = Dim(rows->count);
  const ValueId part = r.add_typed(slice, {node.inputs[0]}, type);
  return replace_typed(r, id, Reshape{}, {part});
}

// Row k for every index is one row, repeated.
Result<bool> gather_row(Rewriter& r, NodeId id) {
  const auto* gather = std::get_if<Gather>(&r.node(id).op);
  if (!gather) return false;
  const Node node = r.node(id);
  const auto axis = static_cast<size_t>(gather->axis);
  const TensorType data = r.type(node.inputs[0]);
  const Shape indices = r.shape(node.inputs[1]);
  const auto extent = data.shape[axis].constant();
  const auto splat = splat_value(r.graph(), node.inputs[1]);
  if (!extent || !splat || has_one_element(indices)) return false;
  const auto row = static_cast<int64_t>(*splat < 0 ? *splat + static_cast<double>(*extent) : *splat);
  if (row < 0 || row >= *extent) return false;
  Slice slice{std::vector<Dim>(data.shape.size()), std::vector<int64_t>(data.shape.size(), 1)};
  slice.starts[axis] = Dim(row);
  TensorType type{data.dtype, data.shape, {}};
  type.shape[axis] = Dim(1);
  const ValueId part = r.add_typed(slice, {node.inputs[0]}, type);
  const auto at = type.shape.begin() + static_cast<std::ptrdiff_t>(axis);
  if (indices.empty()) {
    type.shape.erase(at);
  } else {
    type.shape.insert(at, indices.size() - 1, Dim(1));
  }
  return replace_typed(r, id, Expand{}, {r.add_typed(Reshape{}, {part}, type)});
}

// A transpose and a reshape that only adds or drops axes of size 1 change places: the transpose can meet
// another one.
Result<bool> transpose_reshaped(Rewriter& r, NodeId id) {
  const auto* transpose = view<Transpose>(r, id);
  const Node* reshape = transpose ? view_below<Reshape>(r, r.node(id).inputs[0]) : nullptr;
  if (!reshape) return false;
  const ValueId x = reshape->inputs[0];
  const Shape &bare = r.shape(x), &padded = r.shape(r.node(id).inputs[0]);
  std::vector<int64_t> axes_of_bare, rank_of_padded(padded.size(), -1);
  for (size_t i = 0; i < bare.size(); ++i) {
    if (!is_one(bare[i])) axes_of_bare.push_back(static_cast<int64_t>(i));
  }
  size_t count = 0;
  for (size_t i = 0; i < padded.size(); ++i) {
    if (is_one(padded[i])) continue;
    if (count == axes_of_bare.size() || !(padded[i] == bare[static_cast<size_t>(axes_of_bare[count])]))
      return false;
    rank_of_padded[i] = static_cast<int64_t>(count++);
  }
  if (count != axes_of_bare.size()) return false;
  // The axes of size 1 of x stay where they are, the others take the order that the transpose gives them.
  std::vector<int64_t> order;
  for (int64_t axis : transpose->perm) {
    const int64_t rank = rank_of_padded[static_cast<size_t>(axis)];
    if (rank >= 0) order.push_back(axes_of_bare[static_cast<size_t>(rank)]);
  }
  Transpose moved;
  size_t next = 0;
  for (size_t i = 0; i < bare.size(); ++i)
    moved.perm.push_back(is_one(bare[i]) ? static_cast<int64_t>(i) : order[next++]);
  FRIT_ASSIGN(const ValueId y, r.add(moved, {x}));
  return replace_typed(r, id, Reshape{}, {y});
}

// Interpolating along an axis of size 1 gives that one element everywhere.
Result<bool> resize_units(Rewriter& r, NodeId id) {
  const auto* resize = std::get_if<Resize>(&r.node(id).op);
  if (!resize || r.node(id).inputs.size() != 1 || !resize->scales.empty() || resize->exclude_outside ||
      resize->coord == ResizeCoord::kTfCropAndResize) {
    return false;
  }
  const Shape &in = r.shape(r.node(id).inputs[0]), &out = r.shape(r.node(id).outputs[0]);
  bool grows = false;
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] == out[i]) continue;
    if (!is_one(in[i])) return false;
    grows = true;
  }
  return grows ? replace_typed(r, id, Expand{}, {r.node(id).inputs[0]}) : Result<bool>(false);
}

// Sum, mean, maximum ... of one element is that element.
Result<bool> reduce_units(Rewriter& r, NodeId id) {
  const auto* reduce = std::get_if<Reduce>(&r.node(id).op);
  if (!reduce) return false;
  const Shape& in = r.shape(r.node(id).inputs[0]);
  Reduce rest = *reduce;
  rest.axes.clear();
  for (int64_t axis : reduce->axes) {
    if (!is_one(in[static_cast<size_t>(axis)])) rest.axes.push_back(axis);
  }
  if (rest.axes.size() == reduce->axes.size()) return false;
  if (rest.axes.empty()) return replace_typed(r, id, Reshape{}, {r.node(id).inputs[0]});
  if (!reduce->keepdims) return false;
  return replace_typed(r, id, rest, {r.node(id).inputs[0]});
}

constexpr Rule kViewRules[] = {
    {"reshape_same", "reshape(x, shape(x)) = x", Exactness::kExact, reshape_same},
    {"reshape_twice", "reshape(reshape(x)) = reshape(x)", Exactness::kExact, reshape_twice},
    {"transpose_same", "transpose(x, 0 1 2 ..) = x", Exactness::kExact, transpose_same},
    {"transpose_twice", "transpose(transpose(x)) = transpose(x)", Exactness::kExact, transpose_twice},
    {"transpose_units", "transpose(x) = reshape(x) where only axes of size 1 move", Exactness::kExact,
     transpose_units},
    {"expand_same", "expand(x, shape(x)) = x", Exactness::kExact, expand_same},
    {"expand_twice", "expand(expand(x)) = expand(x)", Exactness::kExact, expand_twice},
    {"expand_leading", "expand([1,n], [m,n]) = expand([n], [m,n])", Exactness::kExact, expand_leading},
    {"slice_all", "x[:] = x", Exactness::kExact, slice_all},
    {"slice_twice", "x[a:][b:] = x[a+b:]", Exactness::kExact, slice_twice},
    {"slice_concat", "concat(x, y)[inside y] = y[..]", Exactness::kExact, slice_concat},
    {"pad_nothing", "pad(x, 0) = x", Exactness::kExact, pad_nothing},
    {"concat_one", "concat(x) = x", Exactness::kExact, concat_one},
    {"concat_empty", "concat(x, []) = concat(x)", Exactness::kExact, concat_empty},
    {"concat_twice", "concat(concat(x, y), z) = concat(x, y, z)", Exactness::kExact, concat_twice},
    {"concat_slices", "concat(x[a:b], x[b:c]) = x[a:c]", Exactness::kExact, concat_slices},
    {"gather_slice", "x[[k, k+1, ..]] = x[k:]", Exactness::kExact, gather_slice},
    {"gather_row", "x[[k, k, ..]] = expand(x[k])", Exactness::kExact, gather_row},
    {"transpose_reshaped",
     "transpose(reshape(x)) = reshape(transpose(x)) where the reshape adds or drops axes of size 1",
     Exactness::kExact, transpose_reshaped},
    {"resize_units", "resize(x: [.., 1], [.., n]) = expand(x), weights adding up to 1", Exactness::kRounding,
     resize_units},
    {"reduce_units", "sum(x over an axis of size 1) = x, but for 0 + -0 = 0", Exactness::kSignedZero,
     reduce_units},
};

}  // namespace

std::span<const Rule> view_rules() { return kViewRules; }

Result<bool> simplify_views(Graph& graph, const PassContext& context) {
  return apply_rules(graph, context, kViewRules);
}

}  // namespace frit::graph
