// Pools. Global ones are reductions; Lp pools and the indices of MaxPool are spelled out.
#include <limits>
#include <numeric>

#include "base/text.h"
#include "onnx/importers.h"
#include "onnx/windows.h"

namespace frit::onnx {
namespace {

using base::text_of;

Windows pool_windows(NodeContext& c) {
  if (!c.expect_rank(c.in(0), 3, INT64_MAX, "input")) return {};
  return read_windows(c, c.in(0), c.attr_ints("kernel_shape"));
}

ValueId pool(NodeContext& c, graph::PoolOp op, ValueId x, const Windows& w, bool ceil_mode,
             bool count_include_pad) {
  return c.emit(graph::Pool{op, w.kernel, w.strides, w.pads, w.dilations, ceil_mode, count_include_pad}, {x});
}

Ints spatial_axes(NodeContext& c) {
  Ints axes;
  for (int64_t a = 2; a < c.rank(c.in(0)); ++a) axes.push_back(a);
  return axes;
}

// |x|^p and its inverse
ValueId power(NodeContext& c, ValueId x, int64_t p) {
  if (p == 2) return c.mul(x, x);
  const ValueId magnitude = c.unary(UnaryOp::kAbs, x);
  return p == 1 ? magnitude : c.binary(BinaryOp::kPow, magnitude, c.scalar_like(x, static_cast<double>(p)));
}
ValueId root(NodeContext& c, ValueId x, int64_t p) {
  if (p == 1) return x;
  if (p == 2) return c.unary(UnaryOp::kSqrt, x);
  return c.binary(BinaryOp::kPow, x, c.scalar_like(x, 1.0 / static_cast<double>(p)));
}
int64_t norm_order(NodeContext& c) {
  const int64_t p = c.attr_int("p", 2);
  if (p < 1) c.fail(text_of("p is ", p, ", expected at least 1"));
  return p;
}

// For each window and tap the flat spatial index of the element it reads; `outside` where that is padding.
struct Taps {
  Ints input;     // row-major index, for reading
  Ints reported;  // the index that MaxPool reports (column-major with storage_order 1)
  int64_t windows = 1, taps = 1, elements = 1;
};

Taps list_taps(const Windows& w, const Ints& sizes, const Ints& counts, bool column_major) {
  Taps t;
  for (size_t i = 0; i < w.axes(); ++i) {
    t.windows *= counts[i];
    t.taps *= w.kernel[i];
    t.elements *= sizes[i];
  }
  for (int64_t window = 0; window < t.windows; ++window) {
    for (int64_t tap = 0; tap < t.taps; ++tap) {
      int64_t rest_window = window, rest_tap = tap, row_major = 0, scale = 1;
      bool inside = true;
      Ints position(w.axes());
      for (size_t i = w.axes(); i-- > 0;) {
        const int64_t at =
            rest_window % counts[i] * w.strides[i] - w.pads[i] + rest_tap % w.kernel[i] * w.dilations[i];
        rest_window /= counts[i];
        rest_tap /= w.kernel[i];
        inside &= at >= 0 && at < sizes[i];
        position[i] = at;
        row_major += at * scale;
        scale *= sizes[i];
      }
      int64_t reported = row_major;
      if (column_major) {
        reported = 0;
        scale = 1;
        for (size_t i = 0; i < w.axes(); ++i) {
          reported += position[i] * scale;
          scale *= sizes[i];
        }
      }
      t.input.push_back(inside ? row_major : t.elements);
      t.reported.push_back(inside ? reported : 0);
    }
  }
  return t;
}

ValueId lowest(NodeContext& c, ValueId like) {
  switch (c.dtype(like)) {
    case DType::kI8:
      return c.scalar_like(like, std::numeric_limits<int8_t>::min());
    case DType::kU8:
      return c.scalar_like(like, 0);
    default:
      return c.scalar_like(like, -std::numeric_limits<double>::infinity());
  }
}

// MaxPool with indices: all taps of all windows are gathered, then the first largest of each window is found.
// Memory is taps times the output, which is what it costs to have no kernel of its own; nobody asks for it in
// inference.
void max_pool_with_indices(NodeContext& c, const Windows& w, bool ceil_mode) {
  const ValueId x = c.in(0);
  Ints sizes, counts;
  int64_t entries = 1;
  constexpr int64_t kMostEntries = 1 << 26;
  for (size_t i = 0; i < w.axes(); ++i) {
    sizes.push_back(c.known_dim(x, static_cast<int64_t>(i) + 2, "the output Indices"));
    if (c.failed()) return;
    counts.push_back(count_windows(w, i, sizes[i], ceil_mode));
    for (int64_t factor : {counts[i], w.kernel[i]}) {
      if (factor > kMostEntries || entries * factor > kMostEntries)
        return c.unsupported("the output Indices of so many windows is not supported");
      entries = std::max<int64_t>(1, entries * factor);
    }
  }
  const Taps t = list_taps(w, sizes, counts, c.attr_int("storage_order", 0) != 0);
  const Dim n = c.dim(x, 0), channels = c.dim(x, 1);
  const ValueId flat = c.reshape(x, {n, channels, t.elements});
  const ValueId padded =
      c.emit(graph::Pad{graph::PadMode::kConstant, {0, 0, 0}, {0, 0, 1}}, {flat, lowest(c, x)});
  const ValueId table = c.reshape(c.ints_constant(t.input), {t.windows, t.taps});
  const ValueId read = c.emit(graph::Gather{2}, {padded, table});  // [n, channels, windows, taps]
  const ValueId best = c.emit(graph::ArgReduce{true, 3, false, false}, {read});
  const auto iota = [&](Shape shape, int64_t axis) {
    return c.emit_as(graph::Iota{axis}, {}, {DType::kI64, std::move(shape), {}});
  };
  const auto number = [&](int64_t v) { return c.ints_constant({v}); };
  const ValueId entry = c.add(c.mul(iota({1, 1, t.windows}, 2), number(t.taps)), best);
  const ValueId spatial = c.emit(graph::Gather{0}, {c.ints_constant(t.reported), entry});
  const ValueId shape = c.emit(graph::ShapeOf{1, 2}, {x});
  const ValueId plane = c.add(c.mul(iota({n, 1, 1}, 0), shape), iota({1, channels, 1}, 1));
  const ValueId index = c.add(c.mul(plane, number(t.elements)), spatial);
  Shape out = {n, channels};
  for (int64_t count : counts) out.push_back(count);
  c.out(0, c.reshape(c.reduce(ReduceOp::kMax, read, {3}, false), out));
  c.out(1, c.reshape(index, out));
}

}  // namespace

void import_max_pool(NodeContext& c) {
  const Windows w = pool_windows(c);
  const bool ceil_mode = c.attr_int("ceil_mode", 0) != 0;
  if (c.failed()) return;
  if (c.wants(1)) return max_pool_with_indices(c, w, ceil_mode);
  c.out(0, pool(c, graph::PoolOp::kMax, c.in(0), w, ceil_mode, false));
}

void import_average_pool(NodeContext& c) {
  const Windows w = pool_windows(c);
  c.out(0, pool(c, graph::PoolOp::kAvg, c.in(0), w, c.attr_int("ceil_mode", 0) != 0,
                c.attr_int("count_include_pad", 0) != 0));
}

// The mean over whole windows, padding included, times their size is the sum. A partial last window of
// ceil_mode is made whole by padding.
void import_lp_pool(NodeContext& c) {
  Windows w = pool_windows(c);
  const int64_t p = norm_order(c);
  for (size_t i = 0; i < w.axes() && c.attr_int("ceil_mode", 0) != 0; ++i) {
    const int64_t size = c.known_dim(c.in(0), static_cast<int64_t>(i) + 2, "ceil_mode");
    if (c.failed()) return;
    const int64_t covered = (count_windows(w, i, size, true) - 1) * w.strides[i] + w.extent(i);
    w.pads[i + w.axes()] = std::max(w.pads[i + w.axes()], covered - size - w.pads[i]);
  }
  double taps = 1;
  for (int64_t k : w.kernel) taps *= static_cast<double>(k);
  const ValueId mean = pool(c, graph::PoolOp::kAvg, power(c, c.in(0), p), w, false, true);
  c.out(0, root(c, c.mul(mean, c.scalar_like(mean, taps)), p));
}

void import_global_average_pool(NodeContext& c) {
  c.out(0, c.reduce(ReduceOp::kMean, c.in(0), spatial_axes(c), true));
}
void import_global_max_pool(NodeContext& c) {
  c.out(0, c.reduce(ReduceOp::kMax, c.in(0), spatial_axes(c), true));
}
void import_global_lp_pool(NodeContext& c) {
  const int64_t p = norm_order(c);
  c.out(0, root(c, c.reduce(ReduceOp::kSum, power(c, c.in(0), p), spatial_axes(c), true), p));
}

}  // namespace frit::onnx
