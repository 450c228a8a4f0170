// Activations. Those without a graph op of their own are spelled out in primitives.
#include <cmath>

#include "base/text.h"
#include "onnx/importers.h"

namespace frit::onnx {
namespace {

// alpha * (exp(x) - 1) below zero, x above. exp sees min(x, 0), so that large x do not overflow in the unused
// branch.
ValueId elu(NodeContext& c, ValueId x, double alpha) {
  const ValueId zero = c.scalar_like(x, 0);
  const ValueId exp = c.unary(UnaryOp::kExp, c.binary(BinaryOp::kMin, x, zero));
  const ValueId low = c.mul(c.scalar_like(x, alpha), c.sub(exp, c.scalar_like(x, 1)));
  return c.select(c.binary(BinaryOp::kLt, x, zero), low, x);
}

// log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), which never overflows.
ValueId softplus(NodeContext& c, ValueId x) {
  const ValueId exp = c.unary(UnaryOp::kExp, c.unary(UnaryOp::kNeg, c.unary(UnaryOp::kAbs, x)));
  const ValueId tail = c.unary(UnaryOp::kLog, c.add(c.scalar_like(x, 1), exp));
  return c.add(c.binary(BinaryOp::kMax, x, c.scalar_like(x, 0)), tail);
}

ValueId swish(NodeContext& c, ValueId x, float alpha) {
  const ValueId inner = alpha == 1.0f ? x : c.mul(x, c.scalar_like(x, alpha));
  return c.mul(x, c.unary(UnaryOp::kSigmoid, inner));
}

// Before opset 13 softmax works on the 2-D matrix that x becomes when it is split at `axis`.
struct FlatView {
  ValueId x;
  int64_t axis;
};
FlatView softmax_view(NodeContext& c, ValueId x) {
  const int64_t rank = c.rank(x);
  const bool flattens = c.since() < 13;
  const int64_t axis = c.axis(c.attr_int("axis", flattens ? 1 : -1), rank);
  if (!flattens || axis == rank - 1 || c.failed()) return {x, axis};
  const Shape& shape = c.shape(x);
  const auto split = shape.begin() + axis;
  return {c.reshape(x, {graph::element_count(Shape(shape.begin(), split)),
                        graph::element_count(Shape(split, shape.end()))}),
          1};
}

}  // namespace

void import_elu(NodeContext& c) { c.out(0, elu(c, c.in(0), c.attr_float("alpha", 1.0f))); }

void import_selu(NodeContext& c) {
  const ValueId x = c.in(0);
  const float alpha = c.attr_float("alpha", 1.67326319217681884765625f);
  const float gamma = c.attr_float("gamma", 1.05070102214813232421875f);
  c.out(0, c.mul(c.scalar_like(x, gamma), elu(c, x, alpha)));
}

// max(0, x) + min(0, alpha * (exp(x / alpha) - 1))
void import_celu(NodeContext& c) {
  const ValueId x = c.in(0), zero = c.scalar_like(x, 0);
  const float alpha = c.attr_float("alpha", 1.0f);
  const ValueId exp = c.unary(UnaryOp::kExp, c.div(x, c.scalar_like(x, alpha)));
  const ValueId low = c.mul(c.scalar_like(x, alpha), c.sub(exp, c.scalar_like(x, 1)));
  c.out(0, c.add(c.binary(BinaryOp::kMax, x, zero), c.binary(BinaryOp::kMin, low, zero)));
}

void import_softplus(NodeContext& c) { c.out(0, softplus(c, c.in(0))); }

void import_softsign(NodeContext& c) {
  const ValueId x = c.in(0);
  c.out(0, c.div(x, c.add(c.scalar_like(x, 1), c.unary(UnaryOp::kAbs, x))));
}

void import_mish(NodeContext& c) { c.out(0, c.mul(c.in(0), c.unary(UnaryOp::kTanh, softplus(c, c.in(0))))); }

void import_thresholded_relu(NodeContext& c) {
  const ValueId x = c.in(0), alpha = c.scalar_like(x, c.attr_float("alpha", 1.0f));
  c.out(0, c.select(c.binary(BinaryOp::kGt, x, alpha), x, c.scalar_like(x, 0)));
}

void import_leaky_relu(NodeContext& c) {
  c.out(0, c.emit(graph::LeakyRelu{c.attr_float("alpha", 0.01f)}, {c.in(0)}));
}

void import_prelu(NodeContext& c) {
  const ValueId x = c.in(0);
  c.out(0, c.select(c.binary(BinaryOp::kLt, x, c.scalar_like(x, 0)), c.mul(x, c.in(1)), x));
}

void import_hard_sigmoid(NodeContext& c) {
  c.out(0, c.emit(graph::HardSigmoid{c.attr_float("alpha", 0.2f), c.attr_float("beta", 0.5f)}, {c.in(0)}));
}
void import_hard_swish(NodeContext& c) { c.out(0, c.emit(graph::HardSwish{}, {c.in(0)})); }

void import_gelu(NodeContext& c) {
  const std::string approximate = c.attr_string("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return c.fail("approximate is " + base::quoted(approximate) + ", expected \"none\" or \"tanh\"");
  c.out(0, c.emit(graph::Gelu{approximate == "tanh"}, {c.in(0)}));
}

void import_swish(NodeContext& c) { c.out(0, swish(c, c.in(0), c.attr_float("alpha", 1.0f))); }
void import_swiglu(NodeContext& c) {
  c.out(0, c.mul(swish(c, c.in(0), c.attr_float("alpha", 1.0f)), c.in(1)));
}

// x < -lambd: x + bias; x > lambd: x - bias; else 0
void import_shrink(NodeContext& c) {
  const ValueId x = c.in(0);
  const float lambd = c.attr_float("lambd", 0.5f), bias = c.attr_float("bias", 0.0f);
  const ValueId above = c.select(c.binary(BinaryOp::kGt, x, c.scalar_like(x, lambd)),
                                 c.sub(x, c.scalar_like(x, bias)), c.scalar_like(x, 0));
  c.out(0, c.select(c.binary(BinaryOp::kLt, x, c.scalar_like(x, -lambd)), c.add(x, c.scalar_like(x, bias)),
                    above));
}

void import_softmax(NodeContext& c) {
  const FlatView view = softmax_view(c, c.in(0));
  const ValueId y = c.emit(graph::Softmax{view.axis, c.op_type() == "LogSoftmax"}, {view.x});
  c.out(0, c.reshape(y, c.shape(c.in(0))));
}

// 1 at the first largest element along the axis, else 0.
void import_hardmax(NodeContext& c) {
  const FlatView view = softmax_view(c, c.in(0));
  const ValueId best = c.emit(graph::ArgReduce{true, view.axis, true, false}, {view.x});
  const ValueId index = c.emit_as(graph::Iota{view.axis}, {}, {DType::kI64, c.shape(view.x), {}});
  const ValueId hit = c.cast(c.binary(BinaryOp::kEq, index, best), c.dtype(view.x));
  c.out(0, c.reshape(hit, c.shape(c.in(0))));
}

}  // namespace frit::onnx
