#include <array>

#include "graph/eval/arith.h"
#include "graph/eval/call.h"
#include "graph/eval/index.h"

namespace frit::graph::eval {
namespace {

template <class C>
C identity_of(ReduceOp op, DType dtype) {
  switch (op) {
    case ReduceOp::kMax:
      return lowest_of<C>(dtype);
    case ReduceOp::kMin:
      return highest_of<C>(dtype);
    case ReduceOp::kProd:
      return 1;
    case ReduceOp::kSum:
    case ReduceOp::kMean:
      break;
  }
  return 0;
}

template <class C>
C combine(ReduceOp op, C a, C b) {
  switch (op) {
    case ReduceOp::kMax:
      return max_of(a, b);
    case ReduceOp::kMin:
      return min_of(a, b);
    case ReduceOp::kProd:
      return wrap_mul(a, b);
    case ReduceOp::kSum:
    case ReduceOp::kMean:
      break;
  }
  return wrap_add(a, b);
}

Extents without_axes(const Extents& kept, const std::vector<int64_t>& axes) {
  Extents out;
  for (size_t axis = 0; axis < kept.size(); ++axis) {
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) == axes.end())
      out.push_back(kept[axis]);
  }
  return out;
}

// The position along an axis of the largest (or smallest) element: the first or the last of equals. A NaN
// wins.
template <class C>
int64_t best_position(const std::vector<C>& line, bool max, bool select_last) {
  size_t best = 0;
  const auto is_nan = [](C v) { return v != v; };
  for (size_t i = 1; i < line.size(); ++i) {
    const bool tie = line[i] == line[best] || (is_nan(line[i]) && is_nan(line[best]));
    const bool better = is_nan(line[i]) || (max ? line[i] > line[best] : line[i] < line[best]);
    if (tie ? select_last : (better && !is_nan(line[best]))) best = i;
  }
  return static_cast<int64_t>(best);
}

}  // namespace

Result<Outputs> run(const Reduce& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(1, 1));
  const HostTensor& x = call.in(0);
  Extents kept = x.shape();
  int64_t reduced = 1;  // elements per result
  for (int64_t axis : op.axes) {
    FRIT_TRY(call.expect_axis(axis, x.rank()));
    reduced *= x.dim(axis);
    kept[static_cast<size_t>(axis)] = 1;
  }
  if (op.op == ReduceOp::kMean && reduced == 0 && !is_float(x.dtype()) && product(kept) > 0) {
    return bad(text_of("the mean of no ", dtype_name(x.dtype()), " elements is not defined"));
  }
  FRIT_ASSIGN(HostTensor out,
              call.allocate(x.dtype(), op.keepdims ? kept : without_axes(x.shape(), op.axes)));
  with_compute_type(x.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    std::vector<C> totals(static_cast<size_t>(out.elements()), identity_of<C>(op.op, x.dtype()));
    // Goes over x in memory order and adds each element to its result's total.
    Walker walker(x.shape(), broadcast_strides(kept, x.shape()));
    std::array<C, kChunk> chunk;
    for (int64_t start = 0; start < x.elements(); start += kChunk) {
      const int64_t count = std::min(kChunk, x.elements() - start);
      load(x, start, count, chunk.data());
      for (size_t i = 0; i < static_cast<size_t>(count); ++i, walker.next()) {
        C& total = totals[static_cast<size_t>(walker.offset())];
        total = combine(op.op, total, chunk[i]);
      }
    }
    if (op.op == ReduceOp::kMean) {
      for (C& total : totals) total = divide(total, static_cast<C>(reduced));
    }
    store(out, 0, out.elements(), totals.data());
  });
  return single(std::move(out));
}

Result<Outputs> run(const ArgReduce& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(1, 1));
  const HostTensor& x = call.in(0);
  FRIT_TRY(call.expect_axis(op.axis, x.rank()));
  Extents shape = x.shape();
  if (op.keepdims)
    shape[static_cast<size_t>(op.axis)] = 1;
  else
    shape.erase(shape.begin() + op.axis);
  FRIT_ASSIGN(HostTensor out, call.allocate(DType::kI64, shape));
  const AxisView view(x.shape(), op.axis);
  if (view.extent == 0 && out.elements() > 0)
    return bad(text_of("axis ", op.axis, " of ", x.type_text(), " is empty"));
  with_compute_type(x.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    std::vector<C> line(static_cast<size_t>(view.extent));
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t k = 0; k < view.inner; ++k) {
        for (int64_t i = 0; i < view.extent; ++i) {
          load(x, (o * view.extent + i) * view.inner + k, 1, &line[static_cast<size_t>(i)]);
        }
        const int64_t best = best_position(line, op.max, op.select_last);
        store(out, o * view.inner + k, 1, &best);
      }
    }
  });
  return single(std::move(out));
}

}  // namespace frit::graph::eval
