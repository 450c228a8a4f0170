// Normalizations. BatchNorm and LayerNorm are graph ops; the others are spelled out in primitives.
#include <algorithm>

#include "base/text.h"
#include "onnx/importers.h"

namespace frit::onnx {
namespace {

using base::text_of;

Ints axes_between(int64_t first, int64_t end) {
  Ints axes;
  for (int64_t a = first; a < end; ++a) axes.push_back(a);
  return axes;
}

// 16-bit floats are normalised in f32 (stash_type 1, the default).
DType stash_type(NodeContext& c, ValueId x) {
  const DType dtype = c.dtype(x);
  const bool narrow = dtype == DType::kF16 || dtype == DType::kBF16;
  return narrow && c.attr_int("stash_type", 1) == 1 ? DType::kF32 : dtype;
}

struct Moments {
  ValueId centred, variance;
};
Moments moments(NodeContext& c, ValueId x, const Ints& axes) {
  const ValueId centred = c.sub(x, c.reduce(ReduceOp::kMean, x, axes, true));
  return {centred, c.reduce(ReduceOp::kMean, c.mul(centred, centred), axes, true)};
}

// (x - mean) / sqrt(variance + epsilon)
ValueId normalize(NodeContext& c, ValueId x, const Ints& axes, float epsilon) {
  const Moments m = moments(c, x, axes);
  return c.div(m.centred, c.unary(UnaryOp::kSqrt, c.add(m.variance, c.scalar_like(x, epsilon))));
}

// A vector of per-channel values for axis 1 of a tensor of that rank.
ValueId per_channel(NodeContext& c, ValueId v, int64_t rank) {
  if (!c.expect_rank(v, 1, 1, "per-channel input")) return v;
  Shape shape(static_cast<size_t>(std::max<int64_t>(1, rank - 1)), Dim(1));
  shape[0] = c.dim(v, 0);
  return c.reshape(v, shape);
}

ValueId scale_and_shift(NodeContext& c, ValueId x, ValueId scale, ValueId bias, int64_t rank) {
  return c.add(c.mul(x, per_channel(c, scale, rank)), per_channel(c, bias, rank));
}

// Batch statistics normalise the input and update the running ones.
void train_batch_norm(NodeContext& c, float epsilon) {
  const ValueId x = c.in(0);
  const int64_t rank = c.rank(x);
  Ints axes = axes_between(2, rank);
  axes.insert(axes.begin(), 0);
  const Moments m = moments(c, x, axes);
  const ValueId y = c.div(m.centred, c.unary(UnaryOp::kSqrt, c.add(m.variance, c.scalar_like(x, epsilon))));
  c.out(0, scale_and_shift(c, y, c.cast(c.in(1), c.dtype(x)), c.cast(c.in(2), c.dtype(x)), rank));
  const float momentum = c.attr_float("momentum", 0.9f);
  const auto running = [&](ValueId old, ValueId now) {
    const ValueId batch = c.cast(c.reshape(now, {c.dim(x, 1)}), c.dtype(old));
    return c.add(c.mul(old, c.scalar_like(old, momentum)), c.mul(batch, c.scalar_like(old, 1.0 - momentum)));
  };
  if (c.wants(1)) c.out(1, running(c.in(3), c.reduce(ReduceOp::kMean, x, axes, true)));
  if (c.wants(2)) c.out(2, running(c.in(4), m.variance));
}

}  // namespace

void import_batch_normalization(NodeContext& c) {
  const ValueId x = c.in(0);
  const float epsilon = c.attr_float("epsilon", 1e-5f);
  if (!c.expect_rank(x, 2, INT64_MAX, "input")) return;
  if (c.since() >= 14 && c.attr_int("training_mode", 0) != 0) return train_batch_norm(c, epsilon);
  for (size_t i = 1; i < c.output_count(); ++i)
    if (c.wants(i))
      return c.unsupported(text_of("output ", i, " belongs to training; frit runs inference only"));
  if (c.attr_int("spatial", 1) == 0) {  // statistics per element, not per channel
    const ValueId centred = c.sub(x, c.in(3));
    const ValueId deviation = c.unary(UnaryOp::kSqrt, c.add(c.in(4), c.scalar_like(c.in(4), epsilon)));
    return c.out(0, c.add(c.mul(c.div(centred, deviation), c.in(1)), c.in(2)));
  }
  // Statistics may be wider than x (opset 15): the widest type computes.
  DType compute = c.dtype(x);
  for (size_t i = 1; i < 5; ++i)
    if (dtype_bytes(c.dtype(c.in(i))) > dtype_bytes(compute)) compute = c.dtype(c.in(i));
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < 5; ++i) inputs.push_back(c.cast(c.in(i), compute));
  c.out(0, c.cast(c.emit(graph::BatchNorm{epsilon}, inputs), c.dtype(x)));
}

void import_layer_normalization(NodeContext& c) {
  const ValueId x = c.in(0);
  const int64_t axis = c.axis(c.attr_int("axis", -1), c.rank(x));
  const DType compute = stash_type(c, x);
  std::vector<ValueId> inputs = {c.cast(x, compute), c.cast(c.in(1), compute)};
  if (c.has(2)) inputs.push_back(c.cast(c.in(2), compute));
  size_t count = 1;
  for (size_t i = 1; i < 3; ++i)
    if (c.wants(i)) count = i + 1;
  const auto outs = c.emit_many(graph::LayerNorm{axis, c.attr_float("epsilon", 1e-5f)}, inputs, count);
  c.out(0, c.cast(outs[0], c.dtype(x)));
  for (size_t i = 1; i < count; ++i) c.out(i, outs[i]);
}

void import_rms_normalization(NodeContext& c) {
  const ValueId x = c.in(0);
  const int64_t axis = c.axis(c.attr_int("axis", -1), c.rank(x));
  const ValueId wide = c.cast(x, stash_type(c, x));
  const ValueId square = c.reduce(ReduceOp::kMean, c.mul(wide, wide), axes_between(axis, c.rank(x)), true);
  const ValueId rms =
      c.unary(UnaryOp::kSqrt, c.add(square, c.scalar_like(square, c.attr_float("epsilon", 1e-5f))));
  c.out(0, c.mul(c.cast(c.div(wide, rms), c.dtype(x)), c.in(1)));
}

void import_instance_normalization(NodeContext& c) {
  const int64_t rank = c.rank(c.in(0));
  if (!c.expect_rank(c.in(0), 3, INT64_MAX, "input")) return;
  const ValueId y = normalize(c, c.in(0), axes_between(2, rank), c.attr_float("epsilon", 1e-5f));
  c.out(0, scale_and_shift(c, y, c.in(1), c.in(2), rank));
}

void import_group_normalization(NodeContext& c) {
  const ValueId x = c.in(0);
  const Shape shape = c.shape(x);
  const int64_t groups = c.attr_int("num_groups", 0);
  if (!c.expect_rank(x, 3, INT64_MAX, "input")) return;
  if (groups < 1 || (shape[1].is_constant() && shape[1].value() % groups != 0))
    return c.fail(
        text_of("num_groups is ", groups, ", expected a divisor of the channel count ", shape[1].text()));
  Shape rest(shape.begin() + 2, shape.end());
  const Dim size = floor_div(shape[1], Dim(groups)) * graph::element_count(rest);
  const ValueId wide = c.cast(c.reshape(x, {shape[0], groups, size}), stash_type(c, x));
  ValueId y = c.cast(normalize(c, wide, {2}, c.attr_float("epsilon", 1e-5f)), c.dtype(x));
  if (c.since() < 21) {  // scale and bias per group
    y = scale_and_shift(c, y, c.in(1), c.in(2), 3);
    return c.out(0, c.reshape(y, shape));
  }
  c.out(0, scale_and_shift(c, c.reshape(y, shape), c.in(1), c.in(2), c.rank(x)));
}

// x / |x|_p along the axis; 0 where the norm is 0.
void import_lp_normalization(NodeContext& c) {
  const ValueId x = c.in(0);
  const int64_t p = c.attr_int("p", 2);
  if (p != 1 && p != 2) return c.fail(text_of("p is ", p, ", expected 1 or 2"));
  const Ints axes = {c.axis(c.attr_int("axis", -1), c.rank(x))};
  const ValueId zero = c.scalar_like(x, 0);
  ValueId norm = c.reduce(ReduceOp::kSum, p == 1 ? c.unary(UnaryOp::kAbs, x) : c.mul(x, x), axes, true);
  if (p == 2) norm = c.unary(UnaryOp::kSqrt, norm);
  c.out(0, c.select(c.binary(BinaryOp::kEq, norm, zero), zero, c.div(x, norm)));
}

// (x - mean) / (standard deviation + 1e-9)
void import_mean_variance_normalization(NodeContext& c) {
  const ValueId x = c.in(0);
  Ints axes = {0, 2, 3};
  if (c.has_attr("axes")) axes = c.attr_ints("axes");
  axes = c.axes(axes, c.rank(x));
  if (c.failed()) return;
  const Moments m = moments(c, x, axes);
  c.out(0, c.div(m.centred, c.add(c.unary(UnaryOp::kSqrt, m.variance), c.scalar_like(x, 1e-9))));
}

// x / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta; the mean over a window
// along the channels, padding included, is sum / size.
void import_lrn(NodeContext& c) {
  const ValueId x = c.in(0);
  const Shape shape = c.shape(x);
  const int64_t size = c.attr_int("size", 0);
  if (!c.expect_rank(x, 3, INT64_MAX, "input")) return;
  if (size < 1 || size > 1 << 20) return c.fail(text_of("size is ", size, ", expected 1 to 1048576"));
  const Dim rest = graph::element_count(Shape(shape.begin() + 2, shape.end()));
  const ValueId planes = c.reshape(c.mul(x, x), {shape[0], 1, shape[1], rest});
  const graph::Pool window{
      graph::PoolOp::kAvg, {size, 1}, {1, 1}, {(size - 1) / 2, 0, size / 2, 0}, {1, 1}, false, true};
  const ValueId mean = c.reshape(c.emit(window, {planes}), shape);
  const ValueId base = c.add(c.mul(mean, c.scalar_like(x, c.attr_float("alpha", 0.0001f))),
                             c.scalar_like(x, c.attr_float("bias", 1.0f)));
  c.out(0, c.div(x, c.binary(BinaryOp::kPow, base, c.scalar_like(x, c.attr_float("beta", 0.75f)))));
}

}  // namespace frit::onnx
