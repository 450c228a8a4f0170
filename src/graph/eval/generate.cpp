#include <cmath>

#include "graph/eval/call.h"
#include "graph/eval/index.h"

namespace frit::graph::eval {
namespace {

// max(ceil((limit - start) / delta), 0); delta != 0.
template <class C>
double range_length(C start, C limit, C delta) {
  if constexpr (std::is_floating_point_v<C>) {
    return std::ceil((limit - start) / delta);
  } else {
    const __int128 room = static_cast<__int128>(limit) - start, step = delta;
    const __int128 whole = room / step;
    return static_cast<double>(whole + (room % step != 0 && (room < 0) == (step < 0) ? 1 : 0));
  }
}

}  // namespace

// Element i is start + i * delta, in double (rounded once) or exactly.
Result<Outputs> run(const Range&, const Call& call) {
  FRIT_TRY(call.expect_inputs(3, 3));
  for (size_t i = 0; i < 3; ++i) {
    FRIT_TRY(call.expect_same_dtype(0, i));
    if (call.in(i).elements() != 1)
      return bad(text_of("input ", i, " is ", call.in(i).type_text(), ", expected a scalar"));
  }
  const DType dtype = call.in(0).dtype();
  if (dtype == DType::kBool) return bad("is not defined for bool");
  return with_compute_type(dtype, [&](auto tag) -> Result<Outputs> {
    using C = typename decltype(tag)::type;
    C start, limit, delta;
    load(call.in(0), 0, 1, &start);
    load(call.in(1), 0, 1, &limit);
    load(call.in(2), 0, 1, &delta);
    if (delta == 0) return bad("delta is 0");
    const double length = range_length(start, limit, delta);
    if (std::isnan(length) || length > static_cast<double>(call.options.max_value_bytes)) {
      return bad(text_of("start ", start, ", limit ", limit, ", delta ", delta, " give no sensible length"));
    }
    const int64_t count = length > 0 ? static_cast<int64_t>(length) : 0;
    FRIT_ASSIGN(HostTensor out, call.allocate(dtype, {count}));
    for (int64_t i = 0; i < count; ++i) {
      C value;
      if constexpr (std::is_floating_point_v<C>)
        value = start + static_cast<double>(i) * delta;
      else
        value = static_cast<C>(static_cast<uint64_t>(start) +
                               static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
      store(out, i, 1, &value);
    }
    return single(std::move(out));
  });
}

Result<Outputs> run(const Iota& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(0, 0));
  FRIT_ASSIGN(const Extents shape, call.output_extents(0));
  FRIT_TRY(call.expect_axis(op.axis, static_cast<int64_t>(shape.size())));
  FRIT_ASSIGN(HostTensor out, call.allocate(call.output_dtype(0, DType::kI64), shape));
  const AxisView view(shape, op.axis);
  for (int64_t i = 0; i < out.elements(); ++i) {
    const int64_t value = i / view.inner % view.extent;
    store(out, i, 1, &value);
  }
  return single(std::move(out));
}

Result<Outputs> run(const ShapeOf& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(1, 1));
  const Extents& shape = call.in(0).shape();
  const int64_t rank = call.in(0).rank();
  const int64_t start = std::clamp<int64_t>(op.start, 0, rank),
                end = std::clamp<int64_t>(op.end, start, rank);
  return single(
      HostTensor::of(DType::kI64, {end - start}, Extents(shape.begin() + start, shape.begin() + end)));
}

Result<Outputs> run(const Fill& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(0, 1));
  Extents shape;
  if (call.has(0)) {
    FRIT_TRY(call.expect_integers(0));
    shape = call.in(0).as_int64s();
  } else {
    FRIT_ASSIGN(shape, call.output_extents(0));
  }
  if (call.output_types.empty()) return bad("the type of output 0 is needed, but not given");
  FRIT_ASSIGN(HostTensor out, call.allocate(call.output_types[0].dtype, shape));
  const size_t size = dtype_bytes(out.dtype());  // little-endian: the low bytes come first
  for (int64_t i = 0; i < out.elements(); ++i) {
    std::memcpy(out.mutable_bytes() + static_cast<size_t>(i) * size, &op.bits, size);
  }
  return single(std::move(out));
}

// i64 [rank, count]: the coordinates of the elements that are not 0 (NaN is not), in memory order. A scalar
// has none.
Result<Outputs> run(const NonZero&, const Call& call) {
  FRIT_TRY(call.expect_inputs(1, 1));
  const HostTensor& x = call.in(0);
  std::vector<Extents> found;
  int64_t count = 0;
  with_compute_type(x.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    Walker walker(x.shape(), Extents(x.shape().size(), 0));
    for (int64_t i = 0; i < x.elements(); ++i, walker.next()) {
      C value;
      load(x, i, 1, &value);
      if (value == 0) continue;
      ++count;
      found.push_back(walker.coords());
    }
  });
  FRIT_ASSIGN(HostTensor out, call.allocate(DType::kI64, {x.rank(), count}));
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    for (int64_t i = 0; i < count; ++i) {
      store(out, axis * count + i, 1, &found[static_cast<size_t>(i)][static_cast<size_t>(axis)]);
    }
  }
  return single(std::move(out));
}

}  // namespace frit::graph::eval
