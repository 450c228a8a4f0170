#include <numeric>

#include "graph/eval/call.h"
#include "graph/eval/index.h"

namespace frit::graph::eval {
namespace {

struct Cut {
  int64_t start, step, count;
};

// x[start + i * step] for i < count, per axis.
Result<Outputs> cut(const Call& call, const HostTensor& x, const std::vector<Cut>& cuts) {
  const Extents own = row_major_strides(x.shape());
  Extents shape, strides;
  int64_t offset = 0;
  for (size_t axis = 0; axis < cuts.size(); ++axis) {
    const Cut& c = cuts[axis];
    if (c.count > 0) {
      const __int128 last = c.start + static_cast<__int128>(c.count - 1) * c.step;
      const int64_t extent = x.shape()[axis];
      if (c.start < 0 || c.start >= extent || last < 0 || last >= extent) {
        return bad(text_of("takes ", c.count, " elements from ", c.start, " in steps of ", c.step,
                           " along axis ", axis, " of ", x.type_text()));
      }
      offset += c.start * own[axis];
    }
    shape.push_back(c.count);
    // The step of an axis with one element is never taken, and may be huge.
    strides.push_back(c.count > 1 ? c.step * own[axis] : 0);
  }
  FRIT_ASSIGN(HostTensor out, call.allocate(x.dtype(), shape));
  copy_strided(x.bytes(), offset, strides, shape, dtype_bytes(x.dtype()), out.mutable_bytes());
  return single(std::move(out));
}

// ONNX Slice's clamping of [start, end) along an axis of `extent`.
Cut clamp_range(int64_t start, int64_t end, int64_t step, int64_t extent) {
  if (start < 0)
    start = std::max<int64_t>(start, -extent - 1) + extent;  // -extent - 1: still before the first
  if (end < 0) end = std::max<int64_t>(end, -extent - 1) + extent;
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, extent);
    end = std::clamp<int64_t>(end, 0, extent);
    const int64_t room = std::max<int64_t>(end - start, 0);
    return {start, step, room == 0 ? 0 : (room - 1) / step + 1};
  }
  start = std::clamp<int64_t>(start, extent > 0 ? 0 : -1, extent - 1);
  end = std::clamp<int64_t>(end, -1, extent - 1);
  const int64_t room = std::max<int64_t>(start - end, 0);
  const uint64_t stride = 0 - static_cast<uint64_t>(step);
  return {start, step, room == 0 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(room - 1) / stride) + 1};
}

}  // namespace

Result<Outputs> run(const Slice& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(1, 1));
  const HostTensor& x = call.in(0);
  FRIT_ASSIGN(const Extents shape, call.output_extents(0));
  if (op.starts.size() != x.shape().size() || op.steps.size() != x.shape().size() ||
      shape.size() != x.shape().size()) {
    return bad(text_of("has ", op.starts.size(), " starts, ", op.steps.size(), " steps and ", shape.size(),
                       " output extents for ", x.type_text()));
  }
  std::vector<Cut> cuts;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    FRIT_ASSIGN(const int64_t start, call.resolve(op.starts[axis]));
    cuts.push_back({start, op.steps[axis], shape[axis]});
  }
  return cut(call, x, cuts);
}

Result<Outputs> run(const DynamicSlice&, const Call& call) {
  FRIT_TRY(call.expect_inputs(3, 5));
  const HostTensor& x = call.in(0);
  for (size_t i = 1; i < 5; ++i) {
    if (call.has(i)) FRIT_TRY(call.expect_integers(i));
  }
  const std::vector<int64_t> starts = call.in(1).as_int64s(), ends = call.in(2).as_int64s();
  std::vector<int64_t> axes(starts.size());
  std::iota(axes.begin(), axes.end(), int64_t{0});
  if (call.has(3)) axes = call.in(3).as_int64s();
  std::vector<int64_t> steps(starts.size(), 1);
  if (call.has(4)) steps = call.in(4).as_int64s();
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    return bad(text_of("has ", starts.size(), " starts, ", ends.size(), " ends, ", axes.size(), " axes and ",
                       steps.size(), " steps"));
  }
  std::vector<Cut> cuts;
  for (int64_t extent : x.shape()) cuts.push_back({0, 1, extent});
  std::vector<bool> seen(cuts.size(), false);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + x.rank() : axes[i];
    FRIT_TRY(call.expect_axis(axis, x.rank()));
    if (seen[static_cast<size_t>(axis)]) return bad(text_of("axis ", axis, " is sliced twice"));
    seen[static_cast<size_t>(axis)] = true;
    if (steps[i] == 0) return bad("a step is 0");
    cuts[static_cast<size_t>(axis)] = clamp_range(starts[i], ends[i], steps[i], x.dim(axis));
  }
  return cut(call, x, cuts);
}

}  // namespace frit::graph::eval
