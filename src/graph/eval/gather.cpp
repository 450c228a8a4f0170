#include "graph/eval/call.h"
#include "graph/eval/index.h"
#include "graph/eval/indices.h"

namespace frit::graph::eval {

Result<std::vector<int64_t>> read_indices(const HostTensor& indices, int64_t extent, int64_t axis) {
  std::vector<int64_t> out = indices.as_int64s();
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] < -extent || out[i] >= extent) {
      return bad(text_of("index ", out[i], " at element ", i, " is out of range for axis ", axis, " with ",
                         extent, " elements"));
    }
    if (out[i] < 0) out[i] += extent;
  }
  return out;
}

Result<std::vector<int64_t>> read_index_tuples(const HostTensor& indices, const Extents& shape,
                                               int64_t first_axis) {
  const int64_t length = indices.shape().back();
  const int64_t count = product(indices.shape(), 0, indices.rank() - 1);
  const Extents strides = row_major_strides(shape);
  std::vector<int64_t> out(static_cast<size_t>(count), 0);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t k = 0; k < length; ++k) {
      const size_t axis = static_cast<size_t>(first_axis + k);
      int64_t index = indices.as_int64(i * length + k);
      if (index < -shape[axis] || index >= shape[axis]) {
        return bad(text_of("index ", index, " of tuple ", i, " is out of range for axis ", axis, " with ",
                           shape[axis], " elements"));
      }
      if (index < 0) index += shape[axis];
      out[static_cast<size_t>(i)] += index * strides[axis];
    }
  }
  return out;
}

Result<Outputs> run(const Gather& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(2, 2));
  FRIT_TRY(call.expect_integers(1));
  const HostTensor& x = call.in(0);
  const HostTensor& indices = call.in(1);
  FRIT_TRY(call.expect_axis(op.axis, x.rank()));
  FRIT_ASSIGN(const std::vector<int64_t> at, read_indices(indices, x.dim(op.axis), op.axis));
  Extents shape(x.shape().begin(), x.shape().begin() + op.axis);
  shape.insert(shape.end(), indices.shape().begin(), indices.shape().end());
  shape.insert(shape.end(), x.shape().begin() + op.axis + 1, x.shape().end());
  FRIT_ASSIGN(HostTensor out, call.allocate(x.dtype(), shape));
  if (out.elements() == 0) return single(std::move(out));
  const AxisView view(x.shape(), op.axis);
  const size_t run_bytes = static_cast<size_t>(view.inner) * dtype_bytes(x.dtype());
  std::byte* to = out.mutable_bytes();
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t index : at) {
      std::memcpy(to, x.bytes() + static_cast<size_t>(o * view.extent + index) * run_bytes, run_bytes);
      to += run_bytes;
    }
  }
  return single(std::move(out));
}

Result<Outputs> run(const GatherElements& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(2, 2));
  FRIT_TRY(call.expect_integers(1));
  const HostTensor& x = call.in(0);
  const HostTensor& indices = call.in(1);
  FRIT_TRY(call.expect_axis(op.axis, x.rank()));
  FRIT_TRY(expect_index_shape(call, 1, op.axis));
  FRIT_ASSIGN(const std::vector<int64_t> at, read_indices(indices, x.dim(op.axis), op.axis));
  FRIT_ASSIGN(HostTensor out, call.allocate(x.dtype(), indices.shape()));
  const Extents strides = row_major_strides(x.shape());
  const size_t size = dtype_bytes(x.dtype());
  Walker walker(indices.shape(), strides);
  for (size_t i = 0; i < at.size(); ++i, walker.next()) {
    const size_t axis = static_cast<size_t>(op.axis);
    const int64_t offset = walker.offset() + (at[i] - walker.coords()[axis]) * strides[axis];
    std::memcpy(out.mutable_bytes() + i * size, x.bytes() + static_cast<size_t>(offset) * size, size);
  }
  return single(std::move(out));
}

Status expect_index_shape(const Call& call, size_t i, int64_t axis) {
  const HostTensor& x = call.in(0);
  const HostTensor& indices = call.in(i);
  FRIT_TRY(call.expect_rank(i, x.rank()));
  for (int64_t other = 0; other < x.rank(); ++other) {
    if (other != axis && indices.dim(other) > x.dim(other)) {
      return bad(
          text_of("indices ", indices.type_text(), " reach beyond ", x.type_text(), " along axis ", other));
    }
  }
  return {};
}

Result<Outputs> run(const GatherND& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(2, 2));
  FRIT_TRY(call.expect_integers(1));
  const HostTensor& x = call.in(0);
  const HostTensor& indices = call.in(1);
  const int64_t b = op.batch_dims;
  if (b < 0 || indices.rank() < 1 || b >= indices.rank() || b >= std::max<int64_t>(x.rank(), 1) ||
      b + indices.shape().back() > x.rank() ||
      !std::equal(x.shape().begin(), x.shape().begin() + b, indices.shape().begin())) {
    return bad(
        text_of("indices ", indices.type_text(), " with ", b, " batch axes do not index ", x.type_text()));
  }
  const int64_t length = indices.shape().back();
  Extents shape(indices.shape().begin(), indices.shape().end() - 1);
  shape.insert(shape.end(), x.shape().begin() + b + length, x.shape().end());
  FRIT_ASSIGN(HostTensor out, call.allocate(x.dtype(), shape));
  FRIT_ASSIGN(const std::vector<int64_t> at, read_index_tuples(indices, x.shape(), b));
  if (out.elements() == 0) return single(std::move(out));
  const int64_t inner = product(x.shape(), b + length, x.rank());
  const int64_t per_batch = product(indices.shape(), b, indices.rank() - 1);  // tuples
  const int64_t batch_stride = product(x.shape(), b, x.rank());
  const size_t size = dtype_bytes(x.dtype());
  for (size_t i = 0; i < at.size(); ++i) {
    const int64_t offset = static_cast<int64_t>(i) / per_batch * batch_stride + at[i];
    std::memcpy(out.mutable_bytes() + i * static_cast<size_t>(inner) * size,
                x.bytes() + static_cast<size_t>(offset) * size, static_cast<size_t>(inner) * size);
  }
  return single(std::move(out));
}

}  // namespace frit::graph::eval
