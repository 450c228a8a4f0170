// One spelling for one meaning. Exporters write the same GELU, layer norm, softmax or mask in many ways;
// after these rules (and simplify_algebra) they are the same nodes, so that a group has one text and one
// tuned kernel.
//
// Direction: constants to the right and outward, division by constants as multiplication, powers as products,
// the reciprocal of a row's statistic once per row, broadcasts as late as possible.
#include <cmath>

#include "base/try.h"
#include "graph/passes/match.h"
#include "graph/passes/pass_functions.h"

namespace frit::graph {
namespace {

const Binary* binary_of(const Rewriter& r, NodeId id, BinaryOp op) {
  const auto* binary = std::get_if<Binary>(&r.node(id).op);
  return binary && binary->op == op ? binary : nullptr;
}
const Node* made_by(const Rewriter& r, ValueId v, UnaryOp op) {
  const Node* node = r.producer<Unary>(v);
  return node && std::get<Unary>(node->op).op == op ? node : nullptr;
}
const Node* made_by(const Rewriter& r, ValueId v, BinaryOp op) {
  const Node* node = r.producer<Binary>(v);
  return node && std::get<Binary>(node->op).op == op ? node : nullptr;
}
DType out_type(const Rewriter& r, NodeId id) { return r.type(r.node(id).outputs[0]).dtype; }
bool makes_float(const Rewriter& r, NodeId id) { return is_float(out_type(r, id)); }

// Two nodes in a row: first(operands), then the rest applied to it.
template <class Then>
Result<bool> finish_after(Rewriter& r, NodeId id, Result<ValueId> first, const Then& then) {
  FRIT_ASSIGN(const ValueId x, std::move(first));
  return finish(r, id, then(x));
}

// A constant, or one seen through views.
bool is_weight(const Rewriter& r, ValueId v) {
  while (r.value(v).producer != kNoNode && is_view_like(r.node(r.value(v).producer).op)) {
    v = r.node(r.value(v).producer).inputs[0];
  }
  return r.value(v).is_constant();
}

std::optional<BinaryOp> mirrored(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
    case BinaryOp::kMul:
    case BinaryOp::kMin:
    case BinaryOp::kMax:
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kXor:
    case BinaryOp::kBitAnd:
    case BinaryOp::kBitOr:
    case BinaryOp::kBitXor:
    case BinaryOp::kEq:
    case BinaryOp::kNe:
      return op;
    case BinaryOp::kLt:
      return BinaryOp::kGt;
    case BinaryOp::kGt:
      return BinaryOp::kLt;
    case BinaryOp::kLe:
      return BinaryOp::kGe;
    case BinaryOp::kGe:
      return BinaryOp::kLe;
    default:
      return std::nullopt;
  }
}

bool is_extremum(BinaryOp op) { return op == BinaryOp::kMin || op == BinaryOp::kMax; }

// min and max apart from the rest: of two zeros they give the second.
template <bool kExtrema>
Result<bool> constant_right(Rewriter& r, NodeId id) {
  const auto* binary = std::get_if<Binary>(&r.node(id).op);
  if (!binary || is_extremum(binary->op) != kExtrema) return false;
  const auto mirror = mirrored(binary->op);
  const std::vector<ValueId> in = r.node(id).inputs;
  if (!mirror || !r.value(in[0]).is_constant() || r.value(in[1]).is_constant()) return false;
  return finish(r, id, r.add(Binary{*mirror}, {in[1], in[0]}));
}

// Operands of pointwise nodes that broadcast: a constant needs no more elements and no more rank than it
// says.
Result<bool> shrink_constant(Rewriter& r, NodeId id) {
  if (!is_pointwise(r.node(id).op)) return false;
  const Node node = r.node(id);
  if (node.inputs.size() < 2) return false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId c = node.inputs[i];
    const Shape shape = r.shape(c);
    if (!r.value(c).is_constant() || shape.empty()) continue;
    Shape others;
    bool known = true;
    for (size_t j = 0; j < node.inputs.size() && known; ++j) {
      if (j == i) continue;
      const auto both = broadcast_shapes(others, r.shape(node.inputs[j]));
      known = both.has_value();
      if (known) others = *both;
    }
    if (!known) continue;
    std::vector<ValueId> inputs = node.inputs;
    const Shape result = r.shape(node.outputs[0]);
    const auto number = splat_value(r.graph(), c);
    if (number && others == result) {
      // The bits of one element, not a number that went through double: 64-bit integers and NaNs stay what
      // they are.
      const auto tensor = constant_tensor(r.graph(), c);
      if (!tensor) continue;
      const std::byte* first = tensor->bytes();
      inputs[i] = r.add_constant({r.type(c).dtype, {}, {}},
                                 make_constant({first, first + dtype_bytes(tensor->dtype())}));
    } else {
      size_t ones = 0;
      while (ones < shape.size() && is_one(shape[ones])) ++ones;
      const Shape trimmed(shape.begin() + static_cast<std::ptrdiff_t>(ones), shape.end());
      if (ones == 0 || broadcast_shapes(others, trimmed) != result) continue;
      inputs[i] = reshape_constant(r, c, trimmed);
    }
    return finish(r, id, r.add(node.op, std::move(inputs)));
  }
  return false;
}

Result<bool> sink_expand(Rewriter& r, NodeId id) {
  if (!is_pointwise(r.node(id).op)) return false;
  const Node node = r.node(id);
  std::vector<ValueId> inputs = node.inputs;
  bool any = false;
  std::optional<Shape> small = Shape{};
  for (ValueId& v : inputs) {
    if (const Node* expand = r.producer<Expand>(v); expand && expand->inputs.size() == 1) {
      v = expand->inputs[0];
      any = true;
    }
    if (small) small = broadcast_shapes(*small, r.shape(v));
  }
  if (!any || !small) return false;
  const TensorType result = r.type(node.outputs[0]);
  FRIT_ASSIGN(ValueId y, r.add(node.op, std::move(inputs)));
  if (r.shape(y) != result.shape) y = r.add_typed(Expand{}, {y}, result);
  r.replace(node.outputs[0], y);
  return true;
}

Result<bool> subtract_constant(Rewriter& r, NodeId id) {
  const auto m = match_constant_right(r, r.node(id), BinaryOp::kSub);
  if (!m) return false;
  const auto negated = map_constant(r, m->constant, [](double c) { return std::optional(-c); });
  if (!negated) return false;
  return finish(r, id, r.add(Binary{BinaryOp::kAdd}, {m->value, *negated}));
}

Result<bool> divide_by(Rewriter& r, NodeId id, bool powers_of_two) {
  const auto m = match_constant_right(r, r.node(id), BinaryOp::kDiv);
  if (!m) return false;
  const DType dtype = out_type(r, id);
  const auto reciprocal = map_constant(r, m->constant, [&](double c) -> std::optional<double> {
    if (powers_of_two && !is_power_of_two(c)) return std::nullopt;
    if (!is_normal_in(dtype, c) || !is_normal_in(dtype, 1 / c)) return std::nullopt;
    return 1 / c;
  });
  if (!reciprocal) return false;
  return finish(r, id, r.add(Binary{BinaryOp::kMul}, {m->value, *reciprocal}));
}
Result<bool> divide_by_power_of_two(Rewriter& r, NodeId id) { return divide_by(r, id, true); }
Result<bool> divide_by_constant(Rewriter& r, NodeId id) { return divide_by(r, id, false); }

std::optional<ValueId> power(const Rewriter& r, NodeId id, double exponent) {
  if (!binary_of(r, id, BinaryOp::kPow) || !makes_float(r, id)) return std::nullopt;
  const Node& node = r.node(id);
  const auto found = splat_value(r.graph(), node.inputs[1]);
  if (!found || *found != exponent || r.shape(node.inputs[0]) != r.shape(node.outputs[0]))
    return std::nullopt;
  return node.inputs[0];
}

Result<bool> square(Rewriter& r, NodeId id) {
  const auto x = power(r, id, 2);
  if (!x) return false;
  return finish(r, id, r.add(Binary{BinaryOp::kMul}, {*x, *x}));
}
Result<bool> cube(Rewriter& r, NodeId id) {
  const auto x = power(r, id, 3);
  if (!x) return false;
  return finish_after(r, id, r.add(Binary{BinaryOp::kMul}, {*x, *x}), [&](ValueId xx) {
    return r.add(Binary{BinaryOp::kMul}, {xx, *x});
  });
}
Result<bool> root(Rewriter& r, NodeId id) {
  const auto x = power(r, id, 0.5);
  if (!x) return false;
  return finish(r, id, r.add(Unary{UnaryOp::kSqrt}, {*x}));
}
Result<bool> power_minus_one(Rewriter& r, NodeId id) {
  const auto x = power(r, id, -1);
  if (!x) return false;
  return finish(r, id, r.add(Unary{UnaryOp::kRecip}, {*x}));
}
Result<bool> reciprocal_root(Rewriter& r, NodeId id) {
  const auto x = power(r, id, -0.5);
  if (!x) return false;
  return finish_after(r, id, r.add(Unary{UnaryOp::kSqrt}, {*x}),
                      [&](ValueId root_x) { return r.add(Unary{UnaryOp::kRecip}, {root_x}); });
}

Result<bool> one_over(Rewriter& r, NodeId id) {
  if (!binary_of(r, id, BinaryOp::kDiv) || !makes_float(r, id)) return false;
  const Node node = r.node(id);
  if (!is_splat(r.graph(), node.inputs[0], 1) || r.shape(node.inputs[1]) != r.shape(node.outputs[0]))
    return false;
  return finish(r, id, r.add(Unary{UnaryOp::kRecip}, {node.inputs[1]}));
}

// One division per element is as good as a reciprocal and a product, and rounds once.
Result<bool> times_reciprocal(Rewriter& r, NodeId id) {
  if (!binary_of(r, id, BinaryOp::kMul)) return false;
  const Node node = r.node(id);
  for (size_t i = 0; i < 2; ++i) {
    const ValueId x = node.inputs[1 - i], inverse = node.inputs[i];
    const Node* recip = made_by(r, inverse, UnaryOp::kRecip);
    if (!recip || !r.single_use(inverse) || r.shape(inverse) != r.shape(node.outputs[0])) continue;
    if (r.value(x).is_constant()) continue;
    return finish(r, id, r.add(Binary{BinaryOp::kDiv}, {x, recip->inputs[0]}));
  }
  return false;
}

// exp(..) summed after its row's maximum was taken away: between 1 and the row's length.
bool is_softmax_sum(const Rewriter& r, ValueId v) {
  const Node* sum = r.producer<Reduce>(v);
  if (!sum || std::get<Reduce>(sum->op).op != ReduceOp::kSum) return false;
  const std::vector<int64_t> axes = std::get<Reduce>(sum->op).axes;
  const Node* e = made_by(r, sum->inputs[0], UnaryOp::kExp);
  const Node* t = e ? made_by(r, e->inputs[0], BinaryOp::kSub) : nullptr;
  const Node* peak = t ? r.producer<Reduce>(t->inputs[1]) : nullptr;
  return peak && std::get<Reduce>(peak->op).op == ReduceOp::kMax && std::get<Reduce>(peak->op).axes == axes &&
         peak->inputs[0] == t->inputs[0];
}

// Only for denominators whose reciprocal can neither overflow nor be flushed: roots, and sums of a softmax.
Result<bool> divide_by_row(Rewriter& r, NodeId id) {
  if (!binary_of(r, id, BinaryOp::kDiv) || !makes_float(r, id)) return false;
  const Node node = r.node(id);
  const ValueId x = node.inputs[0], row = node.inputs[1];
  if (r.shape(row) == r.shape(node.outputs[0]) || r.shape(x) != r.shape(node.outputs[0])) return false;
  if (!made_by(r, row, UnaryOp::kSqrt) && !is_softmax_sum(r, row)) return false;
  return finish_after(r, id, r.add(Unary{UnaryOp::kRecip}, {row}), [&](ValueId inverse) {
    return r.add(Binary{BinaryOp::kMul}, {x, inverse});
  });
}

Result<bool> sum_to_mean(Rewriter& r, NodeId id) {
  const auto m = match_constant_right(r, r.node(id), BinaryOp::kMul);
  if (!m || !r.single_use(m->value) || !makes_float(r, id)) return false;
  const Node* sum = r.producer<Reduce>(m->value);
  const auto factor = splat_value(r.graph(), m->constant);
  if (!sum || !factor || !same_shape(r, m->value, r.node(id).outputs[0])) return false;
  Reduce reduce = std::get<Reduce>(sum->op);
  if (reduce.op != ReduceOp::kSum) return false;
  const Shape& in = r.shape(sum->inputs[0]);
  Dim count(1);
  for (int64_t axis : reduce.axes) count = count * in[static_cast<size_t>(axis)];
  if (!count.is_constant() || count.value() < 1) return false;
  const double exact = 1.0 / static_cast<double>(count.value());
  const double rounded =
      out_type(r, id) == DType::kF64 ? exact : static_cast<double>(static_cast<float>(exact));
  if (*factor != rounded) return false;
  reduce.op = ReduceOp::kMean;
  return finish(r, id, r.add(reduce, {sum->inputs[0]}));
}

Result<bool> name_sigmoid(Rewriter& r, NodeId id) {
  const auto* unary = std::get_if<Unary>(&r.node(id).op);
  if (!unary || unary->op != UnaryOp::kRecip) return false;
  const Node* sum = made_by(r, r.node(id).inputs[0], BinaryOp::kAdd);
  if (!sum || !is_splat(r.graph(), sum->inputs[1], 1)) return false;
  const Node* e = made_by(r, sum->inputs[0], UnaryOp::kExp);
  const Node* negated = e ? made_by(r, e->inputs[0], UnaryOp::kNeg) : nullptr;
  if (!negated || r.shape(negated->inputs[0]) != r.shape(r.node(id).outputs[0])) return false;
  return finish(r, id, r.add(Unary{UnaryOp::kSigmoid}, {negated->inputs[0]}));
}

Result<bool> name_relu(Rewriter& r, NodeId id) {
  const auto m = match_constant_right(r, r.node(id), BinaryOp::kMax);
  if (!m || !makes_float(r, id) || !is_splat(r.graph(), m->constant, 0)) return false;
  if (!same_shape(r, m->value, r.node(id).outputs[0])) return false;
  return finish(r, id, r.add(Unary{UnaryOp::kRelu}, {m->value}));
}

Result<bool> scalar_outward(Rewriter& r, NodeId id) {
  if (!binary_of(r, id, BinaryOp::kMul) || !makes_float(r, id)) return false;
  const Node node = r.node(id);
  for (size_t i = 0; i < 2; ++i) {
    const ValueId scaled = node.inputs[i], y = node.inputs[1 - i];
    if (!r.single_use(scaled) || r.value(y).is_constant() || !same_shape(r, scaled, node.outputs[0]))
      continue;
    const Node* inner = made_by(r, scaled, BinaryOp::kMul);
    if (!inner || !r.value(inner->inputs[1]).is_constant() || !r.shape(inner->inputs[1]).empty()) continue;
    const ValueId x = inner->inputs[0], c = inner->inputs[1];
    return finish_after(
        r, id, i == 0 ? r.add(Binary{BinaryOp::kMul}, {x, y}) : r.add(Binary{BinaryOp::kMul}, {y, x}),
        [&](ValueId product) {
          return r.add(Binary{BinaryOp::kMul}, {product, c});
        });
  }
  return false;
}

// Between two computed operands (attention scores): exporters scale one of them, or both by the root, or the
// product. f16 is left alone, where unscaled scores may overflow; and a constant operand, whose scale is
// folded elsewhere.
Result<bool> scalar_through_matmul(Rewriter& r, NodeId id) {
  if (!std::holds_alternative<MatMul>(r.node(id).op) || out_type(r, id) == DType::kF16 || !makes_float(r, id))
    return false;
  const Node node = r.node(id);
  for (size_t i = 0; i < 2; ++i) {
    const Node* scaled = r.single_use(node.inputs[i]) ? made_by(r, node.inputs[i], BinaryOp::kMul) : nullptr;
    if (!scaled || !r.value(scaled->inputs[1]).is_constant() || !r.shape(scaled->inputs[1]).empty()) continue;
    if (is_weight(r, scaled->inputs[0]) || is_weight(r, node.inputs[1 - i])) continue;
    const auto c = splat_value(r.graph(), scaled->inputs[1]);
    if (!c || !is_normal_in(out_type(r, id), *c)) continue;
    const ValueId factor = scaled->inputs[1];
    std::vector<ValueId> inputs = node.inputs;
    inputs[i] = scaled->inputs[0];
    return finish_after(r, id, r.add(MatMul{}, std::move(inputs)), [&](ValueId product) {
      return r.add(Binary{BinaryOp::kMul}, {product, factor});
    });
  }
  return false;
}

Result<bool> factor_scalar(Rewriter& r, NodeId id) {
  const auto m = match_constant_right(r, r.node(id), BinaryOp::kAdd);
  if (!m || !makes_float(r, id) || !r.single_use(m->value) || !r.shape(m->constant).empty()) return false;
  const Node* scaled = made_by(r, m->value, BinaryOp::kMul);
  if (!scaled || !r.value(scaled->inputs[1]).is_constant() || !r.shape(scaled->inputs[1]).empty())
    return false;
  const auto c = splat_value(r.graph(), scaled->inputs[1]), d = splat_value(r.graph(), m->constant);
  if (!c || !d || *c != *d || !is_normal_in(out_type(r, id), *c)) return false;
  const ValueId x = scaled->inputs[0], factor = scaled->inputs[1];
  const ValueId one = add_scalar(r, out_type(r, id), 1);
  return finish_after(r, id, r.add(Binary{BinaryOp::kAdd}, {x, one}), [&](ValueId sum) {
    return r.add(Binary{BinaryOp::kMul}, {sum, factor});
  });
}

Result<bool> times_minus_one(Rewriter& r, NodeId id) {
  const auto m = match_constant_right(r, r.node(id), BinaryOp::kMul);
  if (!m || !makes_float(r, id) || !is_splat(r.graph(), m->constant, -1)) return false;
  if (!same_shape(r, m->value, r.node(id).outputs[0])) return false;
  return finish(r, id, r.add(Unary{UnaryOp::kNeg}, {m->value}));
}

Result<bool> add_negated(Rewriter& r, NodeId id) {
  if (!binary_of(r, id, BinaryOp::kAdd)) return false;
  const Node node = r.node(id);
  for (size_t i = 2; i-- > 0;) {
    const Node* negated = made_by(r, node.inputs[i], UnaryOp::kNeg);
    if (!negated || r.value(node.inputs[1 - i]).is_constant()) continue;
    return finish(r, id, r.add(Binary{BinaryOp::kSub}, {node.inputs[1 - i], negated->inputs[0]}));
  }
  return false;
}

Result<bool> subtract_negated(Rewriter& r, NodeId id) {
  if (!binary_of(r, id, BinaryOp::kSub)) return false;
  const Node node = r.node(id);
  const Node* negated = made_by(r, node.inputs[1], UnaryOp::kNeg);
  if (!negated) return false;
  return finish(r, id, r.add(Binary{BinaryOp::kAdd}, {node.inputs[0], negated->inputs[0]}));
}

constexpr Rule kSpellingRules[] = {
    {"constant_right", "c + x = x + c, c * x = x * c, c < x = x > c ...", Exactness::kExact,
     constant_right<false>},
    {"extremum_constant_right", "max(c, x) = max(x, c)", Exactness::kSignedZero, constant_right<true>},
    {"shrink_constant", "x + [c,c,c] = x + c; x + c[1,1,n] = x + c[n]", Exactness::kExact, shrink_constant},
    {"sink_expand", "f(expand(x), y) = expand(f(x, y))", Exactness::kExact, sink_expand},
    {"subtract_constant", "x - c = x + (-c)", Exactness::kExact, subtract_constant},
    {"divide_by_power_of_two", "x / 2^k = x * 2^-k", Exactness::kExact, divide_by_power_of_two},
    {"divide_by_constant", "x / c = x * (1 / c)", Exactness::kRounding, divide_by_constant},
    {"square", "pow(x, 2) = x * x", Exactness::kExact, square},
    {"cube", "pow(x, 3) = x * x * x", Exactness::kRounding, cube},
    {"root", "pow(x, 1/2) = sqrt(x), but for -0 and -inf", Exactness::kRounding, root},
    {"power_minus_one", "pow(x, -1) = 1 / x", Exactness::kRounding, power_minus_one},
    {"reciprocal_root", "pow(x, -1/2) = 1 / sqrt(x), but for -0 and -inf", Exactness::kRounding,
     reciprocal_root},
    {"one_over", "1 / x = recip(x)", Exactness::kExact, one_over},
    {"times_reciprocal", "x * recip(y) = x / y", Exactness::kRounding, times_reciprocal},
    {"divide_by_row", "x / r = x * recip(r), r once per row", Exactness::kRounding, divide_by_row},
    {"sum_to_mean", "sum(x) * (1 / n) = mean(x)", Exactness::kRounding, sum_to_mean},
    {"name_sigmoid", "1 / (exp(-x) + 1) = sigmoid(x)", Exactness::kRounding, name_sigmoid},
    {"name_relu", "max(x, 0) = relu(x)", Exactness::kExact, name_relu},
    {"scalar_outward", "(x * c) * y = (x * y) * c", Exactness::kRounding, scalar_outward},
    {"scalar_through_matmul", "matmul(x * c, y) = matmul(x, y) * c", Exactness::kRounding,
     scalar_through_matmul},
    {"factor_scalar", "x * c + c = (x + 1) * c", Exactness::kRounding, factor_scalar},
    {"times_minus_one", "x * -1 = -x", Exactness::kExact, times_minus_one},
    {"add_negated", "x + (-y) = x - y", Exactness::kExact, add_negated},
    {"subtract_negated", "x - (-y) = x + y", Exactness::kExact, subtract_negated},
};

}  // namespace

std::span<const Rule> spelling_rules() { return kSpellingRules; }

Result<bool> unify_spellings(Graph& graph, const PassContext& context) {
  return apply_rules(graph, context, kSpellingRules);
}

}  // namespace frit::graph
