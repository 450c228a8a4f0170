// Steps that compute: pointwise, reductions, contractions, composites.
#include <iterator>

#include "support/random_graph_builder.h"

namespace frit::testing {

void Builder::unary() {
  static constexpr UnaryOp kTame[] = {UnaryOp::kNeg,     UnaryOp::kAbs,   UnaryOp::kSign, UnaryOp::kFloor,
                                      UnaryOp::kCeil,    UnaryOp::kRound, UnaryOp::kErf,  UnaryOp::kTanh,
                                      UnaryOp::kSigmoid, UnaryOp::kSin,   UnaryOp::kCos,  UnaryOp::kAtan,
                                      UnaryOp::kRelu,    UnaryOp::kRelu};
  static constexpr UnaryOp kWild[] = {UnaryOp::kSqrt, UnaryOp::kRecip, UnaryOp::kExp,   UnaryOp::kLog,
                                      UnaryOp::kTan,  UnaryOp::kAsin,  UnaryOp::kAcos,  UnaryOp::kSinh,
                                      UnaryOp::kCosh, UnaryOp::kAsinh, UnaryOp::kAcosh, UnaryOp::kAtanh};
  const ValueId x = pick_float();
  if (x == kNoValue) return;
  if (!options_.tame && random_.one_in(2)) {
    put(Unary{kWild[random_.below(std::size(kWild))]}, {x});
  } else if (random_.one_in(5)) {  // exp where it cannot overflow
    const ValueId negative = put_one(Unary{UnaryOp::kNeg}, {put_one(Unary{UnaryOp::kAbs}, {x})});
    put(Unary{UnaryOp::kExp}, {negative});
  } else {
    put(Unary{kTame[random_.below(std::size(kTame))]}, {x});
  }
}

void Builder::binary() {
  static constexpr BinaryOp kOps[] = {BinaryOp::kAdd, BinaryOp::kAdd, BinaryOp::kSub, BinaryOp::kMul,
                                      BinaryOp::kMul, BinaryOp::kMin, BinaryOp::kMax};
  const ValueId x = pick_numeric();
  if (x == kNoValue) return;
  Ids inputs{x, partner(x)};
  if (random_.one_in(3)) std::swap(inputs[0], inputs[1]);
  put(Binary{kOps[random_.below(std::size(kOps))]}, inputs);
}

void Builder::divide() {
  const ValueId x = pick_numeric();
  if (x == kNoValue) return;
  if (!options_.tame && is_float(type(x).dtype)) {
    put(Binary{random_.one_in(2) ? BinaryOp::kDiv : BinaryOp::kPow}, {x, partner(x)});
    return;
  }
  static constexpr BinaryOp kOps[] = {BinaryOp::kDiv, BinaryOp::kModFloor, BinaryOp::kModTrunc};
  const double divisor = static_cast<double>(random_.between(1, 3)) + (is_float(type(x).dtype) ? 0.5 : 0);
  put(Binary{kOps[is_float(type(x).dtype) ? 0 : random_.below(3)]}, {x, number(type(x).dtype, divisor)});
}

void Builder::compare_and_select() {
  const ValueId x = pick_numeric();
  if (x == kNoValue || !options_.integers) return;
  const ValueId y = partner(x);
  static constexpr BinaryOp kOps[] = {BinaryOp::kEq, BinaryOp::kNe, BinaryOp::kLt,
                                      BinaryOp::kLe, BinaryOp::kGt, BinaryOp::kGe};
  const ValueId condition = put_one(Binary{kOps[random_.below(std::size(kOps))]}, {x, y});
  if (condition == kNoValue) return;
  if (random_.one_in(3)) {
    const ValueId other = pick_if([&](const TensorType& t) { return t.dtype == DType::kBool; });
    put(Binary{random_.pick(std::vector<BinaryOp>{BinaryOp::kAnd, BinaryOp::kOr, BinaryOp::kXor})},
        {condition, other});
  }
  if (random_.one_in(4)) put(Unary{UnaryOp::kNot}, {condition});
  put(Select{}, {condition, x, y});
}

void Builder::bit_ops() {
  const ValueId x =
      pick_if([](const TensorType& t) { return !is_float(t.dtype) && t.dtype != DType::kBool; });
  if (x == kNoValue) return;
  static constexpr BinaryOp kOps[] = {BinaryOp::kBitAnd, BinaryOp::kBitOr, BinaryOp::kBitXor};
  if (random_.one_in(3)) {
    put(Unary{UnaryOp::kBitNot}, {x});
  } else if (random_.one_in(3)) {
    put(Binary{random_.one_in(2) ? BinaryOp::kShl : BinaryOp::kShr},
        {x, number(type(x).dtype, static_cast<double>(random_.below(4)))});
  } else {
    put(Binary{kOps[random_.below(std::size(kOps))]}, {x, partner(x)});
  }
}

void Builder::cast() {
  const ValueId x = pick_any();
  if (x == kNoValue) return;
  const DType from = type(x).dtype;
  const DType to = random_.one_in(2)   ? any_float()
                   : random_.one_in(5) ? DType::kBool
                   : random_.one_in(2) ? DType::kI64
                                       : DType::kI32;
  // Floats may be too large for an integer; bound them first.
  if (is_float(from) && !is_float(to) && to != DType::kBool) {
    put(Cast{to}, {put_one(Clip{}, {x, number(from, -100), number(from, 100)})});
  } else {
    put(Cast{to}, {x});
  }
}

void Builder::reduce() {
  const ValueId x = pick_numeric(1);
  if (x == kNoValue) return;
  std::vector<int64_t> axes;
  for (int64_t k = 0; k < static_cast<int64_t>(rank(x)); ++k) {
    if (random_.one_in(2)) axes.push_back(k);
  }
  if (axes.empty()) axes.push_back(axis_of(x));
  auto op = static_cast<ReduceOp>(random_.below(options_.tame || !is_float(type(x).dtype) ? 4 : 5));
  if (op == ReduceOp::kMean && !is_float(type(x).dtype))
    op = ReduceOp::kSum;  // of no integers it is undefined
  put(Reduce{op, axes, random_.one_in(2)}, {x});
}

// An axis that is certainly not empty, so that an index exists; -1 if there is none.
int64_t Builder::filled_axis(ValueId x) {
  const int64_t axis = axis_of(x);
  return dim_of(x, axis).constant().value_or(0) > 0 ? axis : -1;
}

void Builder::arg_reduce() {
  const ValueId x = pick_numeric(1);
  if (x == kNoValue) return;
  const int64_t axis = filled_axis(x);
  if (axis < 0) return;
  if (random_.one_in(3)) {
    const int64_t k = random_.between(1, dim_of(x, axis).value());
    put(TopK{axis, random_.one_in(2), true}, {x, ints({k})}, {TensorType{}, TensorType{}});
  } else {
    put(ArgReduce{random_.one_in(2), axis, random_.one_in(2), random_.one_in(2)}, {x});
  }
}

void Builder::cumsum() {
  const ValueId x = pick_numeric(1);
  if (x != kNoValue) put(CumSum{axis_of(x), random_.one_in(2), random_.one_in(2)}, {x});
}

void Builder::matmul() {
  const ValueId x = pick_float(2);
  if (x == kNoValue) return;
  const Dim& k = dim_of(x, static_cast<int64_t>(rank(x)) - 1);
  if (!k.is_constant()) return;
  Shape s{k, random_.between(1, options_.max_dim)};
  if (random_.one_in(3) && rank(x) > 2 && dim_of(x, static_cast<int64_t>(rank(x)) - 3).is_constant()) {
    s.insert(s.begin(), dim_of(x, static_cast<int64_t>(rank(x)) - 3));
  }
  const ValueId w = constant(type(x).dtype, s);
  if (options_.composites && random_.one_in(3)) {
    const bool transpose = random_.one_in(2) && s.size() == 2;
    const ValueId weight = transpose ? constant(type(x).dtype, {s[1], s[0]}) : w;
    put(Gemm{0.5f, random_.one_in(2) ? 1.f : 0.25f, false, transpose},
        {x, weight, random_.one_in(2) ? kNoValue : constant(type(x).dtype, {s.back()})});
  } else {
    put(MatMul{}, {x, w});
  }
}

void Builder::conv() {
  const ValueId x = pick_float(3);
  if (x == kNoValue) return;
  const size_t spatial = rank(x) - 2;
  const auto channels = dim_of(x, 1).constant();
  if (!channels || *channels == 0) return;
  const int64_t groups = random_.one_in(3) ? *channels : 1;
  std::vector<int64_t> strides, dilations, pads(2 * spatial), kernel;
  for (size_t k = 0; k < spatial; ++k) {
    strides.push_back(random_.between(1, 2));
    dilations.push_back(random_.one_in(4) ? 2 : 1);
    kernel.push_back(random_.between(1, 3));
    pads[k] = random_.between(0, 1);
    pads[k + spatial] = random_.between(0, 1);
  }
  const int64_t what = random_.below(4);
  if (what == 0) {
    // A window of padding alone would make the maximum -inf, and the average of nothing.
    for (size_t k = 0; k < spatial; ++k) {
      kernel[k] = std::max(kernel[k], std::max(pads[k], pads[k + spatial]) + 1);
      dilations[k] = 1;
    }
    put(Pool{random_.one_in(2) ? PoolOp::kMax : PoolOp::kAvg, kernel, strides, pads, dilations,
             random_.one_in(3), random_.one_in(2)},
        {x});
    return;
  }
  const bool transposed = what == 1;
  const int64_t out_channels = groups * random_.between(1, 3);
  Shape w = transposed ? Shape{*channels, out_channels / groups} : Shape{out_channels, *channels / groups};
  w.insert(w.end(), kernel.begin(), kernel.end());
  Ids inputs{x, constant(type(x).dtype, w)};
  if (random_.one_in(2)) inputs.push_back(constant(type(x).dtype, {out_channels}));
  if (transposed) {
    put(ConvTranspose{strides, pads, dilations, std::vector<int64_t>(spatial, 0), groups}, inputs);
  } else {
    put(Conv{strides, pads, dilations, groups}, inputs);
  }
}

void Builder::lstm() {
  const ValueId x = pick_float(3);
  if (x == kNoValue || rank(x) != 3 || !dim_of(x, 2).is_constant()) return;
  const bool both = random_.one_in(3);
  const int64_t hidden = random_.between(1, 3), directions = both ? 2 : 1;
  const DType t = type(x).dtype;
  Ids inputs{x, constant(t, {directions, 4 * hidden, dim_of(x, 2)}),
             constant(t, {directions, 4 * hidden, hidden})};
  if (random_.one_in(2)) inputs.push_back(constant(t, {directions, 8 * hidden}));
  const Direction direction = both                ? Direction::kBidirectional
                              : random_.one_in(2) ? Direction::kForward
                                                  : Direction::kReverse;
  put(Lstm{hidden, direction, false, 0}, inputs,
      std::vector<TensorType>(static_cast<size_t>(random_.between(1, 3))));
}

void Builder::composite() {
  const ValueId x = pick_float();
  if (x == kNoValue) return;
  const DType t = type(x).dtype;
  switch (random_.below(9)) {
    case 0:
      put(Gelu{random_.one_in(2)}, {x});
      break;
    case 1:
      put(HardSigmoid{0.2f, 0.5f}, {x});
      break;
    case 2:
      put(HardSwish{}, {x});
      break;
    case 3:
      put(LeakyRelu{0.1f}, {x});
      break;
    case 4:
      put(Clip{},
          {x, random_.one_in(2) ? kNoValue : number(t, -1), random_.one_in(2) ? kNoValue : number(t, 1.5)});
      break;
    case 5:
      if (rank(x) > 0) put(Softmax{axis_of(x), random_.one_in(3)}, {x});
      break;
    case 6: {
      if (rank(x) == 0) break;
      const int64_t axis = static_cast<int64_t>(rank(x)) - 1;
      if (!dim_of(x, axis).is_constant()) break;
      const ValueId scale = constant(t, {dim_of(x, axis)});
      const ValueId bias = random_.one_in(2) ? kNoValue : constant(t, {dim_of(x, axis)});
      put(LayerNorm{axis, 1e-2f}, {x, scale, bias});
      break;
    }
    case 7: {
      if (rank(x) < 2 || !dim_of(x, 1).is_constant()) break;
      const Shape channels{dim_of(x, 1)};
      std::vector<std::byte> variance = random_bytes(t, channels[0].value(), random_, false);
      for (int64_t i = 0; i < channels[0].value(); ++i) {
        store_number(t, 0.25 + random_.unit(), variance.data() + static_cast<size_t>(i) * dtype_bytes(t));
      }
      put(BatchNorm{1e-3f}, {x, constant(t, channels), constant(t, channels), constant(t, channels),
                             g_.add_constant({t, channels, {}}, make_constant(std::move(variance)))});
      break;
    }
    default:
      if (rank(x) > 0)
        put(Split{axis_of(x)}, {x}, std::vector<TensorType>(static_cast<size_t>(random_.between(1, 2))));
  }
}

}  // namespace frit::testing
