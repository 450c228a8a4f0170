// GraphBuilder's operators that compute: pointwise, products, windows, reductions, normalisation.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "runtime/graph_builder_impl.h"

namespace frit {
inline namespace FRIT_ABI {

using graph::BinaryOp;
using graph::UnaryOp;
using Name = std::string_view;

namespace {

// An empty list stands for as many defaults.
std::vector<int64_t> or_default(const std::vector<int64_t>& values, int64_t count, int64_t value) {
  return values.empty() ? std::vector<int64_t>(static_cast<size_t>(std::max<int64_t>(count, 0)), value)
                        : values;
}

}  // namespace

Value GraphBuilder::add(Value a, Value b, Name name) {
  return impl_->node("Add", graph::Binary{BinaryOp::kAdd}, {a, b}, 2, name);
}
Value GraphBuilder::sub(Value a, Value b, Name name) {
  return impl_->node("Sub", graph::Binary{BinaryOp::kSub}, {a, b}, 2, name);
}
Value GraphBuilder::mul(Value a, Value b, Name name) {
  return impl_->node("Mul", graph::Binary{BinaryOp::kMul}, {a, b}, 2, name);
}
Value GraphBuilder::div(Value a, Value b, Name name) {
  return impl_->node("Div", graph::Binary{BinaryOp::kDiv}, {a, b}, 2, name);
}
Value GraphBuilder::pow(Value a, Value b, Name name) {
  return impl_->node("Pow", graph::Binary{BinaryOp::kPow}, {a, b}, 2, name);
}
Value GraphBuilder::min(Value a, Value b, Name name) {
  return impl_->node("Min", graph::Binary{BinaryOp::kMin}, {a, b}, 2, name);
}
Value GraphBuilder::max(Value a, Value b, Name name) {
  return impl_->node("Max", graph::Binary{BinaryOp::kMax}, {a, b}, 2, name);
}
Value GraphBuilder::equal(Value a, Value b, Name name) {
  return impl_->node("Equal", graph::Binary{BinaryOp::kEq}, {a, b}, 2, name);
}
Value GraphBuilder::less(Value a, Value b, Name name) {
  return impl_->node("Less", graph::Binary{BinaryOp::kLt}, {a, b}, 2, name);
}
Value GraphBuilder::greater(Value a, Value b, Name name) {
  return impl_->node("Greater", graph::Binary{BinaryOp::kGt}, {a, b}, 2, name);
}
Value GraphBuilder::logical_and(Value a, Value b, Name name) {
  return impl_->node("And", graph::Binary{BinaryOp::kAnd}, {a, b}, 2, name);
}
Value GraphBuilder::logical_or(Value a, Value b, Name name) {
  return impl_->node("Or", graph::Binary{BinaryOp::kOr}, {a, b}, 2, name);
}
Value GraphBuilder::logical_not(Value x, Name name) {
  return impl_->node("Not", graph::Unary{UnaryOp::kNot}, {x}, 1, name);
}
Value GraphBuilder::where(Value condition, Value then, Value otherwise, Name name) {
  return impl_->node("Where", graph::Select{}, {condition, then, otherwise}, 3, name);
}
Value GraphBuilder::cast(Value x, DType to, Name name) {
  return impl_->node("Cast", graph::Cast{to}, {x}, 1, name);
}

Value GraphBuilder::neg(Value x, Name name) {
  return impl_->node("Neg", graph::Unary{UnaryOp::kNeg}, {x}, 1, name);
}
Value GraphBuilder::abs(Value x, Name name) {
  return impl_->node("Abs", graph::Unary{UnaryOp::kAbs}, {x}, 1, name);
}
Value GraphBuilder::sqrt(Value x, Name name) {
  return impl_->node("Sqrt", graph::Unary{UnaryOp::kSqrt}, {x}, 1, name);
}
Value GraphBuilder::reciprocal(Value x, Name name) {
  return impl_->node("Reciprocal", graph::Unary{UnaryOp::kRecip}, {x}, 1, name);
}
Value GraphBuilder::exp(Value x, Name name) {
  return impl_->node("Exp", graph::Unary{UnaryOp::kExp}, {x}, 1, name);
}
Value GraphBuilder::log(Value x, Name name) {
  return impl_->node("Log", graph::Unary{UnaryOp::kLog}, {x}, 1, name);
}
Value GraphBuilder::sin(Value x, Name name) {
  return impl_->node("Sin", graph::Unary{UnaryOp::kSin}, {x}, 1, name);
}
Value GraphBuilder::cos(Value x, Name name) {
  return impl_->node("Cos", graph::Unary{UnaryOp::kCos}, {x}, 1, name);
}
Value GraphBuilder::erf(Value x, Name name) {
  return impl_->node("Erf", graph::Unary{UnaryOp::kErf}, {x}, 1, name);
}
Value GraphBuilder::tanh(Value x, Name name) {
  return impl_->node("Tanh", graph::Unary{UnaryOp::kTanh}, {x}, 1, name);
}
Value GraphBuilder::sigmoid(Value x, Name name) {
  return impl_->node("Sigmoid", graph::Unary{UnaryOp::kSigmoid}, {x}, 1, name);
}
Value GraphBuilder::relu(Value x, Name name) {
  return impl_->node("Relu", graph::Unary{UnaryOp::kRelu}, {x}, 1, name);
}
Value GraphBuilder::leaky_relu(Value x, float alpha, Name name) {
  return impl_->node("LeakyRelu", graph::LeakyRelu{alpha}, {x}, 1, name);
}
Value GraphBuilder::gelu(Value x, bool tanh_approximation, Name name) {
  return impl_->node("Gelu", graph::Gelu{tanh_approximation}, {x}, 1, name);
}
Value GraphBuilder::silu(Value x, Name name) { return mul(x, sigmoid(x, name), name); }
Value GraphBuilder::hard_sigmoid(Value x, float alpha, float beta, Name name) {
  return impl_->node("HardSigmoid", graph::HardSigmoid{alpha, beta}, {x}, 1, name);
}
Value GraphBuilder::hard_swish(Value x, Name name) {
  return impl_->node("HardSwish", graph::HardSwish{}, {x}, 1, name);
}
Value GraphBuilder::clip(Value x, double low, double high, Name name) {
  if (!impl_->has(x, "Clip", name)) return {};
  const DType type = dtype(x);
  const Value least = std::isinf(low) && low < 0 ? Value() : scalar(low, type);
  const Value most = std::isinf(high) && high > 0 ? Value() : scalar(high, type);
  return impl_->node("Clip", graph::Clip{}, {x, least, most}, 1, name);
}

// Products.

Value GraphBuilder::matmul(Value a, Value b, Name name) {
  return impl_->node("MatMul", graph::MatMul{}, {a, b}, 2, name);
}
Value GraphBuilder::gemm(Value a, Value b, Value c, const GemmOptions& o, Name name) {
  return impl_->node("Gemm", graph::Gemm{o.alpha, o.beta, o.trans_a, o.trans_b}, {a, b, c}, 2, name);
}
Value GraphBuilder::conv(Value x, Value w, Value bias, const ConvOptions& o, Name name) {
  if (!impl_->has(x, "Conv", name)) return {};
  const int64_t spatial = impl_->rank(x) - 2;
  return impl_->node("Conv",
                     graph::Conv{or_default(o.strides, spatial, 1), or_default(o.pads, 2 * spatial, 0),
                                 or_default(o.dilations, spatial, 1), o.groups},
                     {x, w, bias}, 2, name);
}
Value GraphBuilder::conv_transpose(Value x, Value w, Value bias, const ConvOptions& o, Name name) {
  if (!impl_->has(x, "ConvTranspose", name)) return {};
  const int64_t spatial = impl_->rank(x) - 2;
  return impl_->node(
      "ConvTranspose",
      graph::ConvTranspose{or_default(o.strides, spatial, 1), or_default(o.pads, 2 * spatial, 0),
                           or_default(o.dilations, spatial, 1), or_default({}, spatial, 0), o.groups},
      {x, w, bias}, 2, name);
}

// Over axes.

Value GraphBuilder::softmax(Value x, int64_t axis, Name name) {
  if (!impl_->has(x, "Softmax", name)) return {};
  const int64_t a = impl_->axis("Softmax", name, axis, impl_->rank(x));
  return impl_->node("Softmax", graph::Softmax{a, false}, {x}, 1, name);
}
Value GraphBuilder::log_softmax(Value x, int64_t axis, Name name) {
  if (!impl_->has(x, "LogSoftmax", name)) return {};
  const int64_t a = impl_->axis("LogSoftmax", name, axis, impl_->rank(x));
  return impl_->node("LogSoftmax", graph::Softmax{a, true}, {x}, 1, name);
}
Value GraphBuilder::layer_norm(Value x, Value scale, Value bias, int64_t axis, float epsilon, Name name) {
  if (!impl_->has(x, "LayerNormalization", name)) return {};
  const int64_t a = impl_->axis("LayerNormalization", name, axis, impl_->rank(x));
  return impl_->node("LayerNormalization", graph::LayerNorm{a, epsilon}, {x, scale, bias}, 2, name);
}
Value GraphBuilder::batch_norm(Value x, Value scale, Value bias, Value mean, Value variance, float epsilon,
                               Name name) {
  return impl_->node("BatchNormalization", graph::BatchNorm{epsilon}, {x, scale, bias, mean, variance}, 5,
                     name);
}

Value GraphBuilder::reduce_sum(Value x, std::vector<int64_t> axes, bool keep, Name name) {
  return impl_->reduce("ReduceSum", graph::ReduceOp::kSum, x, axes, keep, name);
}
Value GraphBuilder::reduce_mean(Value x, std::vector<int64_t> axes, bool keep, Name name) {
  return impl_->reduce("ReduceMean", graph::ReduceOp::kMean, x, axes, keep, name);
}
Value GraphBuilder::reduce_max(Value x, std::vector<int64_t> axes, bool keep, Name name) {
  return impl_->reduce("ReduceMax", graph::ReduceOp::kMax, x, axes, keep, name);
}
Value GraphBuilder::reduce_min(Value x, std::vector<int64_t> axes, bool keep, Name name) {
  return impl_->reduce("ReduceMin", graph::ReduceOp::kMin, x, axes, keep, name);
}

Value GraphBuilder::Impl::reduce(Name op_name, graph::ReduceOp op, Value x,
                                 const std::vector<int64_t>& wanted, bool keep, Name name) {
  if (!has(x, op_name, name)) return {};
  std::vector<int64_t> over = axes(op_name, name, wanted, rank(x));
  if (wanted.empty()) {
    for (int64_t k = 0; k < rank(x); ++k) over.push_back(k);
  }
  if (over.empty()) return x;  // of a scalar
  return node(op_name, graph::Reduce{op, std::move(over), keep}, {x}, 1, name);
}

Value GraphBuilder::max_pool(Value x, const PoolOptions& options, Name name) {
  return impl_->pool("MaxPool", graph::PoolOp::kMax, x, options, name);
}
Value GraphBuilder::average_pool(Value x, const PoolOptions& options, Name name) {
  return impl_->pool("AveragePool", graph::PoolOp::kAvg, x, options, name);
}
Value GraphBuilder::global_average_pool(Value x, Name name) {
  if (!impl_->has(x, "GlobalAveragePool", name)) return {};
  std::vector<int64_t> spatial;
  for (int64_t k = 2; k < impl_->rank(x); ++k) spatial.push_back(k);
  if (spatial.empty()) {
    impl_->fail(make_error(Code::kInvalidArgument,
                           base::text_of("operand has rank ", impl_->rank(x), ", expected 3 or more"))
                    .with(Impl::label("GlobalAveragePool", name)));
    return {};
  }
  return impl_->node("GlobalAveragePool", graph::Reduce{graph::ReduceOp::kMean, std::move(spatial), true},
                     {x}, 1, name);
}

Value GraphBuilder::Impl::pool(Name op_name, graph::PoolOp op, Value x, const PoolOptions& o, Name name) {
  if (!has(x, op_name, name)) return {};
  const int64_t spatial = rank(x) - 2;
  return node(op_name,
              graph::Pool{op, o.kernel, or_default(o.strides, spatial, 1), or_default(o.pads, 2 * spatial, 0),
                          or_default({}, spatial, 1), o.ceil_mode, o.count_include_pad},
              {x}, 1, name);
}

}  // namespace FRIT_ABI
}  // namespace frit
