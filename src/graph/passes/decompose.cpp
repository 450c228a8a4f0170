// Composites become primitives, so that fusion matches on meaning, not on one exporter's spelling. What comes
// out here is what unify_spellings turns hand-written chains into; the two must be changed together.
#include <cmath>
#include <numbers>

#include "base/try.h"
#include "graph/infer.h"
#include "graph/passes/match.h"
#include "graph/passes/pass_functions.h"

namespace frit::graph {
namespace {

// One composite under the knife: short names for the ops that formulas are made of.
class Formula {
 public:
  Formula(Rewriter& r, NodeId id) : r_(r), node_(r.node(id)) {}

  ValueId in(size_t i) const { return i < node_.inputs.size() ? node_.inputs[i] : kNoValue; }
  ValueId out(size_t i = 0) const { return node_.outputs[i]; }
  size_t outputs() const { return node_.outputs.size(); }
  bool wanted(size_t i) const {
    return i < node_.outputs.size() && node_.outputs[i] != kNoValue && r_.uses(node_.outputs[i]) > 0;
  }
  const TensorType& type(ValueId v) const { return r_.type(v); }
  Rewriter& rewriter() { return r_; }
  Result<std::vector<TensorType>> output_types() const { return infer_types(r_.graph(), node_); }

  Result<ValueId> unary(UnaryOp op, ValueId x) { return r_.add(Unary{op}, {x}); }
  Result<ValueId> binary(BinaryOp op, ValueId a, ValueId b) { return r_.add(Binary{op}, {a, b}); }
  // Against a number of the operand's own type.
  Result<ValueId> binary(BinaryOp op, ValueId a, double number) {
    return binary(op, a, add_scalar(r_, r_.type(a).dtype, number));
  }
  Result<ValueId> reduce(ReduceOp op, ValueId x, std::vector<int64_t> axes) {
    return r_.add(Reduce{op, std::move(axes), true}, {x});
  }
  Result<ValueId> cast(ValueId x, DType to) {
    if (r_.type(x).dtype == to) return x;
    return r_.add(Cast{to}, {x});
  }
  Result<ValueId> reshape(ValueId x, Shape shape) {
    if (r_.shape(x) == shape) return x;
    if (r_.value(x).is_constant()) return reshape_constant(r_, x, std::move(shape));
    return r_.add_typed(Reshape{}, {x}, {r_.type(x).dtype, std::move(shape), {}});
  }
  Result<bool> finish(ValueId result, size_t i = 0) {
    r_.replace(out(i), result);
    return true;
  }

 private:
  Rewriter& r_;
  const Node node_;  // a copy: adding nodes moves the graph's
};

// Sums of many elements, exp and division lose too much in 16 bits; the standard computes these in f32 as
// well.
DType compute_type(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype;
}

// scale / sqrt(var + epsilon) and bias - mean * that, per channel; computed in double where all four are
// constant.
struct ScaleShift {
  ValueId scale, shift;
};
Result<ScaleShift> batch_norm_coefficients(Formula& f, float epsilon) {
  const ValueId scale = f.in(1), bias = f.in(2), mean = f.in(3), var = f.in(4);
  const Graph& graph = f.rewriter().graph();
  const auto s = constant_tensor(graph, scale), b = constant_tensor(graph, bias),
             m = constant_tensor(graph, mean), v = constant_tensor(graph, var);
  if (s && b && m && v) {
    int64_t i = 0, j = 0;
    auto factor = [&](int64_t c) {
      return s->as_double(c) / std::sqrt(v->as_double(c) + static_cast<double>(epsilon));
    };
    const auto scale_folded = map_constant(f.rewriter(), scale, [&](double) { return factor(i++); });
    const auto shift_folded = map_constant(f.rewriter(), bias, [&](double c) {
      const int64_t channel = j++;
      return c - m->as_double(channel) * factor(channel);
    });
    if (scale_folded && shift_folded) return ScaleShift{*scale_folded, *shift_folded};
  }
  FRIT_ASSIGN(const ValueId shifted, f.binary(BinaryOp::kAdd, var, static_cast<double>(epsilon)));
  FRIT_ASSIGN(const ValueId deviation, f.unary(UnaryOp::kSqrt, shifted));
  FRIT_ASSIGN(const ValueId factor, f.binary(BinaryOp::kDiv, scale, deviation));
  FRIT_ASSIGN(const ValueId product, f.binary(BinaryOp::kMul, mean, factor));
  FRIT_ASSIGN(const ValueId shift, f.binary(BinaryOp::kSub, bias, product));
  return ScaleShift{factor, shift};
}

// y = x * a + b per channel, a = scale / sqrt(var + epsilon), b = bias - mean * a
Result<bool> expand_batch_norm(Formula& f, const BatchNorm& op) {
  const ValueId x = f.in(0);
  const DType dtype = f.type(x).dtype;
  FRIT_ASSIGN(const ScaleShift c, batch_norm_coefficients(f, op.epsilon));
  const size_t rank = f.type(x).shape.size();
  Shape per_channel(rank > 2 ? rank - 1 : 1, Dim(1));
  per_channel[0] = f.type(c.scale).shape[0];
  FRIT_ASSIGN(const ValueId scale_cast, f.cast(c.scale, dtype));
  FRIT_ASSIGN(const ValueId shift_cast, f.cast(c.shift, dtype));
  FRIT_ASSIGN(const ValueId scale, f.reshape(scale_cast, per_channel));
  FRIT_ASSIGN(const ValueId shift, f.reshape(shift_cast, per_channel));
  FRIT_ASSIGN(const ValueId scaled, f.binary(BinaryOp::kMul, x, scale));
  FRIT_ASSIGN(const ValueId y, f.binary(BinaryOp::kAdd, scaled, shift));
  return f.finish(y);
}

// d = x - mean(x); y = d / sqrt(mean(d * d) + epsilon) * scale + bias
Result<bool> expand_layer_norm(Formula& f, const LayerNorm& op) {
  const DType dtype = f.type(f.in(0)).dtype;
  FRIT_ASSIGN(const ValueId x, f.cast(f.in(0), compute_type(dtype)));
  std::vector<int64_t> axes;
  for (int64_t axis = op.axis; axis < static_cast<int64_t>(f.type(x).shape.size()); ++axis)
    axes.push_back(axis);
  FRIT_ASSIGN(const ValueId mean, f.reduce(ReduceOp::kMean, x, axes));
  FRIT_ASSIGN(const ValueId centred, f.binary(BinaryOp::kSub, x, mean));
  FRIT_ASSIGN(const ValueId squared, f.binary(BinaryOp::kMul, centred, centred));
  FRIT_ASSIGN(const ValueId variance, f.reduce(ReduceOp::kMean, squared, axes));
  FRIT_ASSIGN(const ValueId shifted, f.binary(BinaryOp::kAdd, variance, static_cast<double>(op.epsilon)));
  FRIT_ASSIGN(const ValueId deviation, f.unary(UnaryOp::kSqrt, shifted));
  FRIT_ASSIGN(const ValueId normal, f.binary(BinaryOp::kDiv, centred, deviation));
  FRIT_ASSIGN(ValueId y, f.cast(normal, dtype));
  if (f.in(1) != kNoValue) {
    FRIT_ASSIGN(y, f.binary(BinaryOp::kMul, y, f.in(1)));
  }
  if (f.in(2) != kNoValue) {
    FRIT_ASSIGN(y, f.binary(BinaryOp::kAdd, y, f.in(2)));
  }
  if (f.wanted(1)) {
    FRIT_ASSIGN(const ValueId m, f.cast(mean, f.type(f.out(1)).dtype));
    f.rewriter().replace(f.out(1), m);
  }
  if (f.wanted(2)) {
    FRIT_ASSIGN(const ValueId inverse, f.unary(UnaryOp::kRecip, deviation));
    FRIT_ASSIGN(const ValueId i, f.cast(inverse, f.type(f.out(2)).dtype));
    f.rewriter().replace(f.out(2), i);
  }
  return f.finish(y);
}

// t = x - max(x); softmax = exp(t) / sum(exp(t)); log-softmax = t - log(sum(exp(t)))
Result<bool> expand_softmax(Formula& f, const Softmax& op) {
  const DType dtype = f.type(f.in(0)).dtype;
  FRIT_ASSIGN(const ValueId x, f.cast(f.in(0), compute_type(dtype)));
  FRIT_ASSIGN(const ValueId peak, f.reduce(ReduceOp::kMax, x, {op.axis}));
  FRIT_ASSIGN(const ValueId t, f.binary(BinaryOp::kSub, x, peak));
  FRIT_ASSIGN(const ValueId e, f.unary(UnaryOp::kExp, t));
  FRIT_ASSIGN(const ValueId sum, f.reduce(ReduceOp::kSum, e, {op.axis}));
  ValueId y = kNoValue;
  if (op.log) {
    FRIT_ASSIGN(const ValueId log_sum, f.unary(UnaryOp::kLog, sum));
    FRIT_ASSIGN(y, f.binary(BinaryOp::kSub, t, log_sum));
  } else {
    FRIT_ASSIGN(y, f.binary(BinaryOp::kDiv, e, sum));
  }
  FRIT_ASSIGN(y, f.cast(y, dtype));
  return f.finish(y);
}

// x * (erf(x / sqrt 2) + 1) * 0.5, or x * (tanh(sqrt(2 / pi) * (x + 0.044715 x^3)) + 1) * 0.5
Result<bool> expand_gelu(Formula& f, const Gelu& op) {
  const DType dtype = f.type(f.in(0)).dtype;
  FRIT_ASSIGN(const ValueId x, f.cast(f.in(0), compute_type(dtype)));
  ValueId bend = kNoValue;
  if (op.tanh) {
    FRIT_ASSIGN(const ValueId square, f.binary(BinaryOp::kMul, x, x));
    FRIT_ASSIGN(const ValueId cube, f.binary(BinaryOp::kMul, square, x));
    FRIT_ASSIGN(const ValueId small, f.binary(BinaryOp::kMul, cube, 0.044715));
    FRIT_ASSIGN(const ValueId inner, f.binary(BinaryOp::kAdd, x, small));
    FRIT_ASSIGN(const ValueId scaled, f.binary(BinaryOp::kMul, inner, std::sqrt(2 * std::numbers::inv_pi)));
    FRIT_ASSIGN(bend, f.unary(UnaryOp::kTanh, scaled));
  } else {
    FRIT_ASSIGN(const ValueId scaled, f.binary(BinaryOp::kMul, x, std::numbers::sqrt2 / 2));
    FRIT_ASSIGN(bend, f.unary(UnaryOp::kErf, scaled));
  }
  FRIT_ASSIGN(const ValueId lifted, f.binary(BinaryOp::kAdd, bend, 1.0));
  FRIT_ASSIGN(const ValueId product, f.binary(BinaryOp::kMul, x, lifted));
  FRIT_ASSIGN(const ValueId half, f.binary(BinaryOp::kMul, product, 0.5));
  FRIT_ASSIGN(const ValueId y, f.cast(half, dtype));
  return f.finish(y);
}

// alpha * A' B' + beta * C
Result<bool> expand_gemm(Formula& f, const Gemm& op) {
  ValueId a = f.in(0), b = f.in(1), c = f.in(2);
  if (op.trans_a) {
    FRIT_ASSIGN(a, f.rewriter().add(Transpose{{1, 0}}, {a}));
  }
  if (op.trans_b) {
    FRIT_ASSIGN(b, f.rewriter().add(Transpose{{1, 0}}, {b}));
  }
  FRIT_ASSIGN(ValueId y, f.rewriter().add(MatMul{}, {a, b}));
  if (op.alpha != 1) {
    FRIT_ASSIGN(y, f.binary(BinaryOp::kMul, y, static_cast<double>(op.alpha)));
  }
  if (c == kNoValue) return f.finish(y);
  if (op.beta != 1) {
    FRIT_ASSIGN(c, f.binary(BinaryOp::kMul, c, static_cast<double>(op.beta)));
  }
  FRIT_ASSIGN(y, f.binary(BinaryOp::kAdd, y, c));
  return f.finish(y);
}

// min(max(alpha * x + beta, 0), 1)
Result<ValueId> hard_sigmoid(Formula& f, ValueId x, double alpha, double beta) {
  FRIT_ASSIGN(const ValueId scaled, f.binary(BinaryOp::kMul, x, alpha));
  FRIT_ASSIGN(const ValueId shifted, f.binary(BinaryOp::kAdd, scaled, beta));
  FRIT_ASSIGN(const ValueId above, f.binary(BinaryOp::kMax, shifted, 0.0));
  return f.binary(BinaryOp::kMin, above, 1.0);
}

Result<bool> expand_hard_sigmoid(Formula& f, const HardSigmoid& op) {
  FRIT_ASSIGN(const ValueId y,
              hard_sigmoid(f, f.in(0), static_cast<double>(op.alpha), static_cast<double>(op.beta)));
  return f.finish(y);
}

// x * hard_sigmoid(x, 1/6, 1/2)
Result<bool> expand_hard_swish(Formula& f) {
  FRIT_ASSIGN(const ValueId gate, hard_sigmoid(f, f.in(0), 1.0 / 6, 0.5));
  FRIT_ASSIGN(const ValueId y, f.binary(BinaryOp::kMul, f.in(0), gate));
  return f.finish(y);
}

// x < 0 ? alpha * x : x. Not max(x, alpha * x): that is another function for alpha > 1, and NaN at inf for
// alpha = 0.
Result<bool> expand_leaky_relu(Formula& f, const LeakyRelu& op) {
  FRIT_ASSIGN(const ValueId negative, f.binary(BinaryOp::kLt, f.in(0), 0.0));
  FRIT_ASSIGN(const ValueId scaled, f.binary(BinaryOp::kMul, f.in(0), static_cast<double>(op.alpha)));
  FRIT_ASSIGN(const ValueId y, f.rewriter().add(Select{}, {negative, scaled, f.in(0)}));
  return f.finish(y);
}

// min(max(x, low), high), in this order: with low > high the standard gives high
Result<bool> expand_clip(Formula& f) {
  ValueId y = f.in(0);
  for (const auto& [bound, op] : {std::pair{f.in(1), BinaryOp::kMax}, std::pair{f.in(2), BinaryOp::kMin}}) {
    if (bound == kNoValue) continue;
    FRIT_ASSIGN(const ValueId scalar, f.reshape(bound, {}));  // a bound of shape [1] must not raise the rank
    FRIT_ASSIGN(y, f.binary(op, y, scalar));
  }
  return f.finish(y);
}

// Windows that do not overlap (kernel = stride, no padding): every input pixel makes a block of the output, so it is a
// product over the channels whose columns are (kernel position, output channel), then a move into place:
// [N,S..,C] x [C,K..*O] -> [N,S..,K..,O] -> [N,O,S0,K0,S1,K1..] -> [N,O,S0*K0,S1*K1..]
Result<bool> expand_conv_transpose(Formula& f, const ConvTranspose& op) {
  const TensorType x = f.type(f.in(0)), w = f.type(f.in(1)), y = f.type(f.out());
  const size_t rank = x.shape.size() - 2;
  bool blocks = op.groups == 1 && w.shape.size() == rank + 2 && op.output_padding.size() == rank;
  for (size_t k = 0; k < rank && blocks; ++k) {
    const auto kernel = w.shape[k + 2].constant();
    blocks = kernel && *kernel == op.strides[k] && (op.dilations[k] == 1 || *kernel == 1) && op.pads[k] == 0 &&
             op.pads[k + rank] == 0 && op.output_padding[k] == 0;
  }
  if (!blocks) return false;
  std::vector<int64_t> pixels_last{0}, weights{0}, places{0};
  Shape columns{w.shape[0], w.shape[1]}, split{x.shape[0]};
  for (size_t k = 0; k < rank; ++k) {
    const auto axis = static_cast<int64_t>(k);
    pixels_last.push_back(axis + 2);
    weights.push_back(axis + 2);
    columns[1] = columns[1] * w.shape[k + 2];
    split.push_back(x.shape[k + 2]);
  }
  pixels_last.push_back(1);
  weights.push_back(1);
  for (size_t k = 0; k < rank; ++k) split.push_back(w.shape[k + 2]);
  split.push_back(w.shape[1]);
  places.push_back(static_cast<int64_t>(2 * rank + 1));
  for (size_t k = 0; k < rank; ++k) {
    places.push_back(static_cast<int64_t>(k + 1));
    places.push_back(static_cast<int64_t>(k + 1 + rank));
  }
  FRIT_ASSIGN(const ValueId rows, f.rewriter().add(Transpose{pixels_last}, {f.in(0)}));
  FRIT_ASSIGN(const ValueId turned, f.rewriter().add(Transpose{weights}, {f.in(1)}));
  FRIT_ASSIGN(const ValueId matrix, f.reshape(turned, columns));
  FRIT_ASSIGN(const ValueId product, f.rewriter().add(MatMul{}, {rows, matrix}));
  FRIT_ASSIGN(const ValueId blocks_of, f.reshape(product, split));
  FRIT_ASSIGN(const ValueId placed, f.rewriter().add(Transpose{places}, {blocks_of}));
  FRIT_ASSIGN(ValueId out, f.reshape(placed, y.shape));
  if (f.in(2) != kNoValue) {
    Shape per_channel(rank + 2, Dim(1));
    per_channel[1] = w.shape[1];
    FRIT_ASSIGN(const ValueId bias, f.reshape(f.in(2), per_channel));
    FRIT_ASSIGN(out, f.binary(BinaryOp::kAdd, out, bias));
  }
  return f.finish(out);
}

Result<bool> expand_split(Formula& f, const Split& op) {
  const size_t rank = f.type(f.in(0)).shape.size();
  std::vector<Dim> starts(rank);
  const std::vector<int64_t> steps(rank, 1);
  FRIT_ASSIGN(const std::vector<TensorType> parts,
              f.output_types());  // also of outputs that the model left out
  for (size_t i = 0; i < f.outputs(); ++i) {
    if (f.wanted(i)) {
      const TensorType part = f.type(f.out(i));
      f.rewriter().replace(f.out(i), f.rewriter().add_typed(Slice{starts, steps}, {f.in(0)}, part));
    }
    const auto axis = static_cast<size_t>(op.axis);
    starts[axis] = starts[axis] + parts[i].shape[axis];
  }
  return true;
}

// Repeats along an axis: [.., n, ..] -> [.., 1, n, ..] -> [.., r, n, ..] -> [.., r * n, ..]
Result<bool> expand_tile(Formula& f) {
  const auto repeats = known_contents(f.rewriter().graph(), f.in(1));
  if (!repeats) return false;
  const TensorType in = f.type(f.in(0)), out = f.type(f.out());
  Shape split, repeated;
  for (size_t axis = 0; axis < in.shape.size(); ++axis) {
    const Dim times = (*repeats)[axis];
    if (is_one(in.shape[axis])) {
      split.emplace_back(1);
      repeated.push_back(times);
      continue;
    }
    if (!is_one(times)) {
      split.emplace_back(1);
      repeated.push_back(times);
    }
    split.push_back(in.shape[axis]);
    repeated.push_back(in.shape[axis]);
  }
  FRIT_ASSIGN(ValueId y, f.reshape(f.in(0), split));
  if (split != repeated) y = f.rewriter().add_typed(Expand{}, {y}, {in.dtype, repeated, {}});
  FRIT_ASSIGN(y, f.reshape(y, out.shape));
  return f.finish(y);
}

}  // namespace

Result<bool> decompose(Graph& graph, const PassContext&) {
  return Rewriter(graph).sweep([](Rewriter& r, NodeId id) -> Result<bool> {
    const Op& op = r.node(id).op;
    if (!is_composite(op) && !std::holds_alternative<Tile>(op) && !std::holds_alternative<ConvTranspose>(op)) return false;
    Formula f(r, id);
    const Op copy = op;
    return std::visit(
        [&f]<class T>(const T& o) -> Result<bool> {
          if constexpr (std::is_same_v<T, BatchNorm>)
            return expand_batch_norm(f, o);
          else if constexpr (std::is_same_v<T, LayerNorm>)
            return expand_layer_norm(f, o);
          else if constexpr (std::is_same_v<T, Softmax>)
            return expand_softmax(f, o);
          else if constexpr (std::is_same_v<T, Gelu>)
            return expand_gelu(f, o);
          else if constexpr (std::is_same_v<T, Gemm>)
            return expand_gemm(f, o);
          else if constexpr (std::is_same_v<T, HardSigmoid>)
            return expand_hard_sigmoid(f, o);
          else if constexpr (std::is_same_v<T, HardSwish>)
            return expand_hard_swish(f);
          else if constexpr (std::is_same_v<T, LeakyRelu>)
            return expand_leaky_relu(f, o);
          else if constexpr (std::is_same_v<T, Clip>)
            return expand_clip(f);
          else if constexpr (std::is_same_v<T, ConvTranspose>)
            return expand_conv_transpose(f, o);
          else if constexpr (std::is_same_v<T, Split>)
            return expand_split(f, o);
          else if constexpr (std::is_same_v<T, Tile>)
            return expand_tile(f);
          else
            return false;
        },
        copy);
  });
}

}  // namespace frit::graph
