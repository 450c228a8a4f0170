#include "graph/eval/arith.h"
#include "graph/eval/call.h"
#include "graph/eval/index.h"
#include "graph/eval/window.h"

namespace frit::graph::eval {
namespace {

// With ceil_mode a last window may hang over the padded end, if it starts before the end of the input proper
// or in the padding in front of it.
Extents count_with_ceil(const Window& window) {
  Extents out;
  for (size_t axis = 0; axis < window.kernel.size(); ++axis) {
    const int64_t span = window.dilations[axis] * (window.kernel[axis] - 1) + 1,
                  stride = window.strides[axis];
    const int64_t room = window.large[axis] + window.pads_begin[axis] + window.pads_end[axis] - span;
    int64_t count = room < 0 ? 0 : (room + stride - 1) / stride + 1;
    if (count > 0 && (count - 1) * stride >= window.large[axis] + window.pads_begin[axis]) --count;
    out.push_back(count);
  }
  return out;
}

// The divisor of each output position's average: taps on the input, or with count_include_pad on the padded
// input; what hangs over that (ceil_mode) never counts.
std::vector<int64_t> count_taps(const Window& window, bool include_pad) {
  const Extents unused(window.kernel.size(), 0);
  std::vector<int64_t> out(static_cast<size_t>(product(window.small)));
  Walker position(window.small, unused);
  for (int64_t& total : out) {
    total = 1;
    for (size_t axis = 0; axis < window.kernel.size(); ++axis) {
      const int64_t low = include_pad ? -window.pads_begin[axis] : 0;
      const int64_t high = window.large[axis] + (include_pad ? window.pads_end[axis] : 0);
      int64_t inside = 0;
      for (int64_t tap = 0; tap < window.kernel[axis]; ++tap) {
        const int64_t at = position.coords()[axis] * window.strides[axis] - window.pads_begin[axis] +
                           tap * window.dilations[axis];
        inside += at >= low && at < high;
      }
      total *= inside;
    }
    position.next();
  }
  return out;
}

// A maximum over no element is the identity of max; a NaN wins.
template <class C>
void pool_max(const Window& window, const HostTensor& x, HostTensor& out) {
  const int64_t plane = product(window.large), pixels = product(window.small), taps = window.taps();
  std::vector<C> values(static_cast<size_t>(plane));
  std::vector<int64_t> offsets;
  for (int64_t p0 = 0; p0 < pixels; p0 += kChunk) {
    const int64_t count = std::min(kChunk, pixels - p0);
    window.find_offsets(p0, count, offsets);
    std::vector<C> result(static_cast<size_t>(count));
    for (int64_t channel = 0; channel < x.dim(0) * x.dim(1); ++channel) {
      load(x, channel * plane, plane, values.data());
      std::fill(result.begin(), result.end(), lowest_of<C>(x.dtype()));
      for (int64_t t = 0; t < taps; ++t) {
        for (int64_t i = 0; i < count; ++i) {
          const int64_t offset = offsets[static_cast<size_t>(t * count + i)];
          C& best = result[static_cast<size_t>(i)];
          if (offset >= 0) best = max_of(best, values[static_cast<size_t>(offset)]);
        }
      }
      store(out, channel * pixels + p0, count, result.data());
    }
  }
}

void pool_average(const Window& window, bool include_pad, const HostTensor& x, HostTensor& out) {
  const int64_t plane = product(window.large), pixels = product(window.small), taps = window.taps();
  const std::vector<int64_t> divisors = count_taps(window, include_pad);
  std::vector<double> values(static_cast<size_t>(plane));
  std::vector<int64_t> offsets;
  for (int64_t p0 = 0; p0 < pixels; p0 += kChunk) {
    const int64_t count = std::min(kChunk, pixels - p0);
    window.find_offsets(p0, count, offsets);
    std::vector<double> result(static_cast<size_t>(count));
    for (int64_t channel = 0; channel < x.dim(0) * x.dim(1); ++channel) {
      load(x, channel * plane, plane, values.data());
      std::fill(result.begin(), result.end(), 0.0);
      for (int64_t t = 0; t < taps; ++t) {
        for (int64_t i = 0; i < count; ++i) {
          const int64_t offset = offsets[static_cast<size_t>(t * count + i)];
          if (offset >= 0) result[static_cast<size_t>(i)] += values[static_cast<size_t>(offset)];
        }
      }
      for (int64_t i = 0; i < count; ++i) {
        result[static_cast<size_t>(i)] /= static_cast<double>(divisors[static_cast<size_t>(p0 + i)]);
      }
      store(out, channel * pixels + p0, count, result.data());
    }
  }
}

}  // namespace

Result<Outputs> run(const Pool& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(1, 1));
  const HostTensor& x = call.in(0);
  if (x.rank() < 3) return bad(text_of("input 0 is ", x.type_text(), ", expected rank 3 or more"));
  if (op.op == PoolOp::kAvg && !is_float(x.dtype())) return bad("the average is only defined for floats");
  FRIT_ASSIGN(Window window, make_window(op.kernel, op.strides, op.pads, op.dilations));
  if (window.rank() != x.rank() - 2) {
    return bad(
        text_of("kernel has ", window.rank(), " values, expected ", x.rank() - 2, " for ", x.type_text()));
  }
  window.large.assign(x.shape().begin() + 2, x.shape().end());
  if (op.ceil_mode) {
    window.small = count_with_ceil(window);
  } else {
    FRIT_ASSIGN(window.small, count_windows(window));
  }
  Extents shape = {x.dim(0), x.dim(1)};
  shape.insert(shape.end(), window.small.begin(), window.small.end());
  FRIT_ASSIGN(HostTensor out, call.allocate(x.dtype(), shape));
  if (out.elements() == 0) return single(std::move(out));
  if (op.op == PoolOp::kAvg) {
    pool_average(window, op.count_include_pad, x, out);
  } else {
    with_compute_type(x.dtype(), [&](auto tag) { pool_max<typename decltype(tag)::type>(window, x, out); });
  }
  return single(std::move(out));
}

}  // namespace frit::graph::eval
