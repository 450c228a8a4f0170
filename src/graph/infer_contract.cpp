// Rules of contractions and windows: MatMul, Gemm, Conv, ConvTranspose, Pool, Lstm.
#include "graph/infer_context.h"

namespace frit::graph {
namespace {

// x has the shape [N, C, spatial..]; returns the number of spatial axes.
Result<size_t> spatial_rank(const InferContext& c) {
  FRIT_TRY(c.require_dtype(0, is_numeric(c.dtype(0)), "a numeric type"));
  if (c.rank(0) < 3) return c.fail("input 0 has shape ", shape_text(c.shape(0)), ", expected rank 3 or more");
  return c.rank(0) - 2;
}

Status check_window(const InferContext& c, size_t spatial, const std::vector<int64_t>& strides,
                    const std::vector<int64_t>& pads, const std::vector<int64_t>& dilations) {
  const size_t rank = spatial + 2;
  FRIT_TRY(c.require_count("strides", strides.size(), spatial, rank));
  FRIT_TRY(c.require_count("pads", pads.size(), 2 * spatial, rank));
  FRIT_TRY(c.require_count("dilations", dilations.size(), spatial, rank));
  FRIT_TRY(c.require_at_least("strides", strides, 1));
  FRIT_TRY(c.require_at_least("pads", pads, 0));
  return c.require_at_least("dilations", dilations, 1);
}

// What the window leaves of the padded input: in + pads - ((kernel - 1) * dilation + 1).
Result<Dim> window_slack(const InferContext& c, const Dim& in, const Dim& kernel, int64_t before,
                         int64_t after, int64_t dilation, size_t axis) {
  const Dim padded = in + Dim(before) + Dim(after);
  const Dim extent = (kernel - 1) * Dim(dilation) + 1;
  const Dim slack = padded - extent;
  // An empty input with a window of one element gives an empty output; anything worse is a mistake.
  if (kernel.constant().value_or(1) < 1)
    return c.fail("the window of spatial axis ", axis, " has no elements");
  if (slack.constant().value_or(0) < (padded == Dim(0) ? -1 : 0)) {
    return c.fail("the window covers ", extent.text(), " elements of spatial axis ", axis, ", which has ",
                  padded.text(), " with padding");
  }
  return slack;
}

Status check_bias(const InferContext& c, const Dim& channels) {
  if (!c.has(2)) return {};
  FRIT_TRY(c.same_dtype(0, 2));
  FRIT_TRY(c.require_rank(2, 1));
  FRIT_TRY(c.equal_dims(c.shape(2)[0], channels, "bias size and output channels"));
  return {};
}

Status check_groups(const InferContext& c, int64_t groups, const Dim& channels, std::string_view what) {
  if (groups < 1) return c.fail("groups is ", groups, ", expected at least 1");
  if (const auto n = channels.constant(); n && *n % groups != 0) {
    return c.fail(what, " is ", *n, ", expected a multiple of groups = ", groups);
  }
  return {};
}

}  // namespace

Result<Types> infer_op(const MatMul&, InferContext& c) {
  FRIT_TRY(c.same_dtype(0, 1));
  FRIT_TRY(c.require_dtype(0, is_numeric(c.dtype(0)), "a numeric type"));
  for (size_t i = 0; i < 2; ++i) {
    if (c.rank(i) < 2)
      return c.fail("input ", i, " has shape ", shape_text(c.shape(i)), ", expected rank 2 or more");
  }
  const Shape &a = c.shape(0), &b = c.shape(1);
  if (const auto k = c.equal_dims(a[a.size() - 1], b[b.size() - 2], "inner dimensions"); !k.ok()) {
    return c.fail("shapes ", shape_text(a), " and ", shape_text(b), " do not multiply: inner dimensions are ",
                  a[a.size() - 1].text(), " and ", b[b.size() - 2].text());
  }
  FRIT_ASSIGN(Shape out, c.broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2)));
  out.push_back(a[a.size() - 2]);
  out.push_back(b[b.size() - 1]);
  return Types{make_type(c.dtype(0), std::move(out))};
}

Result<Types> infer_op(const Gemm& op, InferContext& c) {
  FRIT_TRY(c.same_dtype(0, 1));
  FRIT_TRY(c.require_dtype(0, is_numeric(c.dtype(0)), "a numeric type"));
  FRIT_TRY(c.require_rank(0, 2));
  FRIT_TRY(c.require_rank(1, 2));
  const Shape &a = c.shape(0), &b = c.shape(1);
  FRIT_TRY(c.equal_dims(a[op.trans_a ? 0 : 1], b[op.trans_b ? 1 : 0], "inner dimensions"));
  Shape out{a[op.trans_a ? 1 : 0], b[op.trans_b ? 0 : 1]};
  if (c.has(2)) {
    FRIT_TRY(c.same_dtype(0, 2));
    FRIT_ASSIGN(const Shape both, c.broadcast(out, c.shape(2)));
    if (both.size() != 2 || (both[0] != out[0] && out[0].is_constant()) ||
        (both[1] != out[1] && out[1].is_constant())) {
      return c.fail("input 2 has shape ", shape_text(c.shape(2)), ", which does not broadcast to ",
                    shape_text(out));
    }
  }
  return Types{make_type(c.dtype(0), std::move(out))};
}

Result<Types> infer_op(const Conv& op, InferContext& c) {
  FRIT_TRY(c.same_dtype(0, 1));
  FRIT_ASSIGN(const size_t spatial, spatial_rank(c));
  FRIT_TRY(check_window(c, spatial, op.strides, op.pads, op.dilations));
  FRIT_TRY(c.require_rank(1, c.rank(0)));
  const Shape &x = c.shape(0), &w = c.shape(1);
  FRIT_TRY(check_groups(c, op.groups, w[0], "the number of output channels"));
  FRIT_TRY(c.equal_dims(x[1], w[1] * Dim(op.groups), "input channels and weight channels times groups"));
  FRIT_TRY(check_bias(c, w[0]));
  Shape out{x[0], w[0]};
  for (size_t k = 0; k < spatial; ++k) {
    FRIT_ASSIGN(const Dim slack,
                window_slack(c, x[k + 2], w[k + 2], op.pads[k], op.pads[k + spatial], op.dilations[k], k));
    out.push_back(floor_div(slack, Dim(op.strides[k])) + 1);
  }
  return Types{make_type(c.dtype(0), std::move(out))};
}

Result<Types> infer_op(const ConvTranspose& op, InferContext& c) {
  FRIT_TRY(c.same_dtype(0, 1));
  FRIT_ASSIGN(const size_t spatial, spatial_rank(c));
  FRIT_TRY(check_window(c, spatial, op.strides, op.pads, op.dilations));
  FRIT_TRY(c.require_count("output_padding", op.output_padding.size(), spatial, spatial + 2));
  FRIT_TRY(c.require_at_least("output_padding", op.output_padding, 0));
  FRIT_TRY(c.require_rank(1, c.rank(0)));
  const Shape &x = c.shape(0), &w = c.shape(1);
  FRIT_TRY(check_groups(c, op.groups, w[0], "the number of input channels"));
  FRIT_TRY(c.equal_dims(x[1], w[0], "input channels and weight channels"));
  const Dim channels = w[1] * Dim(op.groups);
  FRIT_TRY(check_bias(c, channels));
  Shape out{x[0], channels};
  for (size_t k = 0; k < spatial; ++k) {
    out.push_back(Dim(op.strides[k]) * (x[k + 2] - 1) + Dim(op.output_padding[k]) +
                  (w[k + 2] - 1) * Dim(op.dilations[k]) + 1 - Dim(op.pads[k]) - Dim(op.pads[k + spatial]));
  }
  return Types{make_type(c.dtype(0), std::move(out))};
}

Result<Types> infer_op(const Pool& op, InferContext& c) {
  FRIT_ASSIGN(const size_t spatial, spatial_rank(c));
  FRIT_TRY(c.require_count("kernel", op.kernel.size(), spatial, spatial + 2));
  FRIT_TRY(c.require_at_least("kernel", op.kernel, 1));
  FRIT_TRY(check_window(c, spatial, op.strides, op.pads, op.dilations));
  const Shape& x = c.shape(0);
  Shape out{x[0], x[1]};
  for (size_t k = 0; k < spatial; ++k) {
    const Dim stride(op.strides[k]);
    FRIT_ASSIGN(const Dim slack, window_slack(c, x[k + 2], Dim(op.kernel[k]), op.pads[k],
                                              op.pads[k + spatial], op.dilations[k], k));
    if (!op.ceil_mode) {
      out.push_back(floor_div(slack, stride) + 1);
    } else {
      // A window that would start in the end padding is dropped.
      out.push_back(min(ceil_div(slack, stride) + 1, ceil_div(x[k + 2] + Dim(op.pads[k]), stride)));
    }
  }
  return Types{make_type(c.dtype(0), std::move(out))};
}

Result<Types> infer_op(const Lstm& op, InferContext& c) {
  FRIT_TRY(c.require_dtype(0, is_float(c.dtype(0)), "a float type"));
  if (op.hidden < 1) return c.fail("hidden is ", op.hidden, ", expected at least 1");
  const Dim directions(op.direction == Direction::kBidirectional ? 2 : 1), h(op.hidden);
  FRIT_TRY(c.require_rank(0, 3));
  const Dim steps = c.shape(0)[0], batch = c.shape(0)[1], width = c.shape(0)[2];
  const std::pair<size_t, Shape> expected[] = {
      {1, {directions, h * 4, width}}, {2, {directions, h * 4, h}}, {3, {directions, h * 8}}, {4, {batch}},
      {5, {directions, batch, h}},     {6, {directions, batch, h}}, {7, {directions, h * 3}}};
  for (const auto& [i, shape] : expected) {
    if (!c.has(i)) continue;
    if (i == 4) {
      FRIT_TRY(c.require_dtype(i, c.dtype(i) == DType::kI32, "i32"));
    } else {
      FRIT_TRY(c.same_dtype(0, i));
    }
    FRIT_TRY(c.require_rank(i, shape.size()));
    for (size_t k = 0; k < shape.size(); ++k) {
      FRIT_TRY(c.equal_dims(c.shape(i)[k], shape[k],
                            base::text_of("axis ", k, " of input ", i, " (actual and expected)")));
    }
  }
  Types types{make_type(c.dtype(0), {steps, directions, batch, h})};
  while (types.size() < c.output_count()) types.push_back(make_type(c.dtype(0), {directions, batch, h}));
  return types;
}

}  // namespace frit::graph
