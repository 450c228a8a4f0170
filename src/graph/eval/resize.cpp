#include "graph/eval/call.h"
#include "graph/eval/index.h"
#include "graph/resize_taps.h"

namespace frit::graph::eval {
namespace {

struct Request {
  Extents shape;
  std::vector<std::optional<float>> scales;  // per axis; none: out / in
};

Result<Request> requested_shape(const Resize& op, const Call& call) {
  const HostTensor& x = call.in(0);
  const size_t rank = x.shape().size();
  Request request{{}, std::vector<std::optional<float>>(rank)};
  std::vector<float> scales = op.scales;
  if (call.has(1) && !op.by_scales) {
    FRIT_TRY(call.expect_integers(1));
    request.shape = call.in(1).as_int64s();
  } else if (call.has(1)) {
    FRIT_TRY(call.expect_dtype(1, DType::kF32));
    scales = call.in(1).values<float>();
  }
  if (!scales.empty()) {
    if (scales.size() != rank) return bad(text_of("has ", scales.size(), " scales, expected ", rank));
    if (request.shape.empty()) {
      for (size_t axis = 0; axis < rank; ++axis)
        request.shape.push_back(resized_extent(x.shape()[axis], scales[axis]));
    }
    request.scales.assign(scales.begin(), scales.end());
  } else if (!call.has(1)) {
    FRIT_ASSIGN(request.shape, call.output_extents(0));
  }
  if (request.shape.size() != rank)
    return bad(text_of("has ", request.shape.size(), " sizes, expected ", rank));
  return request;
}

// One axis of `values` (shape `shape`, which is updated) interpolated.
std::vector<double> interpolate(const std::vector<double>& values, Extents& shape, size_t axis,
                                const AxisTaps& taps) {
  const AxisView view(shape, static_cast<int64_t>(axis));
  const int64_t extent = static_cast<int64_t>(taps.index.size()) / taps.taps;
  shape[axis] = extent;
  std::vector<double> out(static_cast<size_t>(view.outer * extent * view.inner), 0.0);
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t i = 0; i < extent; ++i) {
      for (int64_t t = 0; t < taps.taps; ++t) {
        const size_t tap = static_cast<size_t>(i * taps.taps + t);
        const double* from = values.data() + (o * view.extent + taps.index[tap]) * view.inner;
        double* to = out.data() + (o * extent + i) * view.inner;
        for (int64_t k = 0; k < view.inner; ++k) to[k] += taps.weight[tap] * from[k];
      }
    }
  }
  return out;
}

}  // namespace

Result<Outputs> run(const Resize& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(1, 2));
  const HostTensor& x = call.in(0);
  FRIT_ASSIGN(const Request request, requested_shape(op, call));
  FRIT_ASSIGN(HostTensor out, call.allocate(x.dtype(), request.shape));
  if (out.elements() == 0) return single(std::move(out));
  std::vector<AxisTaps> taps;
  for (size_t axis = 0; axis < request.shape.size(); ++axis) {
    FRIT_ASSIGN(AxisTaps found, resize_taps(op, x.shape()[axis], request.shape[axis], request.scales[axis]));
    taps.push_back(std::move(found));
  }
  if (op.mode == ResizeMode::kNearest) {
    const Extents strides = row_major_strides(x.shape());
    std::vector<std::vector<int64_t>> offsets;
    for (size_t axis = 0; axis < taps.size(); ++axis) {
      for (int64_t& index : taps[axis].index) index *= strides[axis];
      offsets.push_back(std::move(taps[axis].index));
    }
    copy_by_axis_offsets(x.bytes(), offsets, request.shape, dtype_bytes(x.dtype()), out.mutable_bytes());
    return single(std::move(out));
  }
  std::vector<double> values = x.as_doubles();
  Extents shape = x.shape();
  for (size_t axis = 0; axis < taps.size(); ++axis) {
    // An axis that keeps its extent at scale 1 is not interpolated: its weights would be 1 and 0, and 0 * inf
    // is not 0.
    const bool kept = shape[axis] == request.shape[axis] && request.scales[axis].value_or(1.0f) == 1.0f;
    if (!kept) values = interpolate(values, shape, axis, taps[axis]);
  }
  store(out, 0, out.elements(), values.data());
  return single(std::move(out));
}

}  // namespace frit::graph::eval
