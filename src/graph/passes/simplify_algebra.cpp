// Arithmetic that does nothing, or does in two steps what one can do.
//
// NaN, infinities and -0 decide what may stand here: x * 0 is not 0 (NaN, inf, -0), x - x is not 0 (NaN,
// inf), and x + 0 turns -0 into +0. Guards that a model writes itself (where(isnan(x), 0, x)) stay: nothing
// is assumed about data.
#include <algorithm>
#include <cmath>

#include "base/try.h"
#include "graph/passes/match.h"
#include "graph/passes/pass_functions.h"

namespace frit::graph {
namespace {

DType out_dtype(const Rewriter& r, NodeId id) { return r.type(r.node(id).outputs[0]).dtype; }

// x of `x op number`, the constant on the right.
std::optional<ValueId> neutral(const Rewriter& r, NodeId id, BinaryOp op, double number) {
  const Node& node = r.node(id);
  const auto* binary = std::get_if<Binary>(&node.op);
  if (!binary || binary->op != op || !is_splat(r.graph(), node.inputs[1], number)) return std::nullopt;
  return node.inputs[0];
}

template <BinaryOp kOp, int kNumber>
Result<bool> drop_neutral(Rewriter& r, NodeId id) {
  const auto x = neutral(r, id, kOp, kNumber);
  return x ? becomes(r, id, *x) : Result<bool>(false);
}

Result<bool> add_negative_zero(Rewriter& r, NodeId id) {
  if (!is_float(out_dtype(r, id))) return false;
  const auto x = neutral(r, id, BinaryOp::kAdd, -0.0);
  return x ? becomes(r, id, *x) : Result<bool>(false);
}
Result<bool> add_integer_zero(Rewriter& r, NodeId id) {
  if (is_float(out_dtype(r, id))) return false;
  return drop_neutral<BinaryOp::kAdd, 0>(r, id);
}
Result<bool> min_infinity(Rewriter& r, NodeId id) {
  const auto x = neutral(r, id, BinaryOp::kMin, INFINITY);
  return x ? becomes(r, id, *x) : Result<bool>(false);
}
Result<bool> max_infinity(Rewriter& r, NodeId id) {
  const auto x = neutral(r, id, BinaryOp::kMax, -INFINITY);
  return x ? becomes(r, id, *x) : Result<bool>(false);
}

// f(f(x)) = x
template <UnaryOp kOp>
Result<bool> undo(Rewriter& r, NodeId id) {
  const auto* outer = std::get_if<Unary>(&r.node(id).op);
  const Node* inner = outer && outer->op == kOp ? r.producer<Unary>(r.node(id).inputs[0]) : nullptr;
  if (!inner || std::get<Unary>(inner->op).op != kOp) return false;
  return becomes(r, id, inner->inputs[0]);
}

bool is_idempotent(UnaryOp op) {
  return op == UnaryOp::kAbs || op == UnaryOp::kRelu || op == UnaryOp::kFloor || op == UnaryOp::kCeil ||
         op == UnaryOp::kRound || op == UnaryOp::kSign;
}

Result<bool> idempotent(Rewriter& r, NodeId id) {
  const auto* outer = std::get_if<Unary>(&r.node(id).op);
  const ValueId x = outer ? r.node(id).inputs[0] : kNoValue;
  const Node* inner = outer && is_idempotent(outer->op) ? r.producer<Unary>(x) : nullptr;
  if (!inner || std::get<Unary>(inner->op).op != outer->op) return false;
  return becomes(r, id, x);
}

Result<bool> same_operands(Rewriter& r, NodeId id) {
  const Node& node = r.node(id);
  const auto* binary = std::get_if<Binary>(&node.op);
  if (!binary || node.inputs[0] != node.inputs[1]) return false;
  switch (binary->op) {
    case BinaryOp::kMin:
    case BinaryOp::kMax:
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kBitAnd:
    case BinaryOp::kBitOr:
      return becomes(r, id, node.inputs[0]);
    default:
      return false;
  }
}

// and(x, false) = false, or(x, true) = true
Result<bool> absorbing(Rewriter& r, NodeId id) {
  if (!neutral(r, id, BinaryOp::kAnd, 0) && !neutral(r, id, BinaryOp::kOr, 1)) return false;
  return becomes(r, id, add_scalar(r, DType::kBool, neutral(r, id, BinaryOp::kOr, 1) ? 1 : 0));
}

Result<bool> select_constant(Rewriter& r, NodeId id) {
  if (!std::holds_alternative<Select>(r.node(id).op)) return false;
  const auto condition = splat_value(r.graph(), r.node(id).inputs[0]);
  return condition ? becomes(r, id, r.node(id).inputs[*condition != 0 ? 1 : 2]) : Result<bool>(false);
}
Result<bool> select_same(Rewriter& r, NodeId id) {
  const Node& node = r.node(id);
  if (!std::holds_alternative<Select>(node.op) || node.inputs[1] != node.inputs[2]) return false;
  return becomes(r, id, node.inputs[1]);
}
Result<bool> select_not(Rewriter& r, NodeId id) {
  const Node node = r.node(id);
  if (!std::holds_alternative<Select>(node.op)) return false;
  const Node* inverted = r.producer<Unary>(node.inputs[0]);
  if (!inverted || std::get<Unary>(inverted->op).op != UnaryOp::kNot) return false;
  return finish(r, id, r.add(Select{}, {inverted->inputs[0], node.inputs[2], node.inputs[1]}));
}

// The inner choice is made already.
Result<bool> select_nested(Rewriter& r, NodeId id) {
  const Node node = r.node(id);
  if (!std::holds_alternative<Select>(node.op)) return false;
  std::vector<ValueId> inputs = node.inputs;
  for (size_t branch : {size_t{1}, size_t{2}}) {
    const Node* inner = r.producer<Select>(inputs[branch]);
    if (!inner || inner->inputs[0] != inputs[0] || !same_shape(r, inner->inputs[branch], inputs[branch]))
      continue;
    inputs[branch] = inner->inputs[branch];
  }
  if (inputs == node.inputs) return false;
  return finish(r, id, r.add(Select{}, std::move(inputs)));
}

// (x op a) op b = x op (a op b), where a op b is still a normal number (or 0 for a sum) of x's shape at most.
template <class F>
Result<bool> merge_constants(Rewriter& r, NodeId id, BinaryOp op, const F& combine) {
  const auto outer = match_constant_right(r, r.node(id), op);
  const Node* made = outer && r.single_use(outer->value) ? r.producer<Binary>(outer->value) : nullptr;
  const auto inner = made ? match_constant_right(r, *made, op) : std::nullopt;
  if (!inner) return false;
  const auto both = broadcast_shapes(r.shape(inner->constant), r.shape(outer->constant));
  const auto elements_both = both ? constant_elements(*both) : std::nullopt;
  const auto elements =
      std::max(constant_elements(r.shape(inner->constant)), constant_elements(r.shape(outer->constant)));
  if (!elements_both || elements_both != elements)
    return false;  // an outer product of constants would be larger
  const ValueId x = inner->value;
  const auto merged = map_constants(r, inner->constant, outer->constant, combine);
  if (!merged) return false;
  return finish(r, id, r.add(Binary{op}, {x, *merged}));
}

Result<bool> multiply_twice(Rewriter& r, NodeId id) {
  const DType dtype = out_dtype(r, id);
  return merge_constants(r, id, BinaryOp::kMul, [&](double a, double b) -> std::optional<double> {
    if (!is_normal_in(dtype, a) || !is_normal_in(dtype, b) || !is_normal_in(dtype, a * b))
      return std::nullopt;
    return a * b;
  });
}
Result<bool> add_twice(Rewriter& r, NodeId id) {
  const DType dtype = out_dtype(r, id);
  return merge_constants(r, id, BinaryOp::kAdd, [&](double a, double b) -> std::optional<double> {
    if (a + b != 0 && !is_normal_in(dtype, a + b)) return std::nullopt;
    return a + b;
  });
}
Result<bool> min_twice(Rewriter& r, NodeId id) {
  return merge_constants(r, id, BinaryOp::kMin, [](double a, double b) -> std::optional<double> {
    if (std::isnan(a) || std::isnan(b) || a == b) return std::nullopt;
    return std::min(a, b);
  });
}
Result<bool> max_twice(Rewriter& r, NodeId id) {
  return merge_constants(r, id, BinaryOp::kMax, [](double a, double b) -> std::optional<double> {
    if (std::isnan(a) || std::isnan(b) || a == b) return std::nullopt;
    return std::max(a, b);
  });
}

Result<bool> cast_same(Rewriter& r, NodeId id) {
  const auto* cast = std::get_if<Cast>(&r.node(id).op);
  if (!cast || r.type(r.node(id).inputs[0]).dtype != cast->to) return false;
  return becomes(r, id, r.node(id).inputs[0]);
}

int value_bits(DType t) {  // integers up to 2^bits are exact
  switch (t) {
    case DType::kF64:
      return 53;
    case DType::kF32:
      return 24;
    case DType::kF16:
      return 11;
    case DType::kBF16:
      return 8;
    case DType::kBool:
      return 1;
    default:
      return static_cast<int>(dtype_bytes(t)) * 8 - (is_signed_int(t) ? 1 : 0);
  }
}

bool is_lossless(DType from, DType to) {
  if (from == to) return true;
  if (to == DType::kBool) return false;
  if (is_float(from)) {
    return (to == DType::kF64) || (to == DType::kF32 && from != DType::kF64);
  }
  if (is_signed_int(from) && is_unsigned_int(to)) return false;
  return value_bits(from) <= value_bits(to);
}

// Through a float, integers outside the last type's range would saturate instead of wrap: both ends must
// agree.
Result<bool> cast_chain(Rewriter& r, NodeId id) {
  const auto* outer = std::get_if<Cast>(&r.node(id).op);
  const Node* inner = outer ? r.producer<Cast>(r.node(id).inputs[0]) : nullptr;
  if (!inner) return false;
  const ValueId x = inner->inputs[0];
  const DType from = r.type(x).dtype, middle = std::get<Cast>(inner->op).to, to = outer->to;
  if (!is_lossless(from, middle)) return false;
  const bool integer_detour = !is_float(from) && is_float(middle) && !is_float(to) && to != DType::kBool;
  if (integer_detour && !is_lossless(from, to)) return false;
  if (from == to) return becomes(r, id, x);
  return finish(r, id, r.add(Cast{to}, {x}));
}

constexpr Rule kAlgebraRules[] = {
    {"multiply_one", "x * 1 = x", Exactness::kExact, drop_neutral<BinaryOp::kMul, 1>},
    {"divide_one", "x / 1 = x", Exactness::kExact, drop_neutral<BinaryOp::kDiv, 1>},
    {"power_one", "pow(x, 1) = x", Exactness::kExact, drop_neutral<BinaryOp::kPow, 1>},
    {"subtract_zero", "x - 0 = x", Exactness::kExact, drop_neutral<BinaryOp::kSub, 0>},
    {"add_negative_zero", "x + (-0) = x", Exactness::kExact, add_negative_zero},
    {"add_integer_zero", "x + 0 = x for integers", Exactness::kExact, add_integer_zero},
    {"add_zero", "x + 0 = x, but for -0 + 0 = +0", Exactness::kSignedZero, drop_neutral<BinaryOp::kAdd, 0>},
    {"and_true", "and(x, true) = x", Exactness::kExact, drop_neutral<BinaryOp::kAnd, 1>},
    {"or_false", "or(x, false) = x", Exactness::kExact, drop_neutral<BinaryOp::kOr, 0>},
    {"absorbing", "and(x, false) = false, or(x, true) = true", Exactness::kExact, absorbing},
    {"min_infinity", "min(x, inf) = x", Exactness::kExact, min_infinity},
    {"max_infinity", "max(x, -inf) = x", Exactness::kExact, max_infinity},
    {"negate_twice", "-(-x) = x", Exactness::kExact, undo<UnaryOp::kNeg>},
    {"not_twice", "not(not(x)) = x", Exactness::kExact, undo<UnaryOp::kNot>},
    {"idempotent", "relu(relu(x)) = relu(x); abs, sign, floor, ceil, round", Exactness::kExact, idempotent},
    {"same_operands", "max(x, x) = x; min, and, or", Exactness::kExact, same_operands},
    {"select_constant", "where(true, a, b) = a, where(false, a, b) = b", Exactness::kExact, select_constant},
    {"select_same", "where(c, a, a) = a", Exactness::kExact, select_same},
    {"select_not", "where(not c, a, b) = where(c, b, a)", Exactness::kExact, select_not},
    {"select_nested", "where(c, a, where(c, b, d)) = where(c, a, d)", Exactness::kExact, select_nested},
    {"multiply_twice", "(x * a) * b = x * (a * b)", Exactness::kRounding, multiply_twice},
    {"add_twice", "(x + a) + b = x + (a + b)", Exactness::kRounding, add_twice},
    {"min_twice", "min(min(x, a), b) = min(x, min(a, b))", Exactness::kExact, min_twice},
    {"max_twice", "max(max(x, a), b) = max(x, max(a, b))", Exactness::kExact, max_twice},
    {"cast_same", "cast(x: t, t) = x", Exactness::kExact, cast_same},
    {"cast_chain", "cast(cast(x, b), c) = cast(x, c) where b keeps every value of x", Exactness::kExact,
     cast_chain},
};

}  // namespace

std::span<const Rule> algebra_rules() { return kAlgebraRules; }

Result<bool> simplify_algebra(Graph& graph, const PassContext& context) {
  return apply_rules(graph, context, kAlgebraRules);
}

}  // namespace frit::graph
