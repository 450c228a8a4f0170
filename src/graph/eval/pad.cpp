#include <numeric>

#include "graph/eval/call.h"
#include "graph/eval/index.h"

namespace frit::graph::eval {
namespace {

// Which position of the kept range [0, extent) an index beside it stands for.
int64_t source_of(PadMode mode, int64_t index, int64_t extent) {
  if (index >= 0 && index < extent) return index;
  const auto modulo = [](int64_t a, int64_t b) { return (a % b + b) % b; };
  switch (mode) {
    case PadMode::kEdge:
      return index < 0 ? 0 : extent - 1;
    case PadMode::kWrap:
      return modulo(index, extent);
    case PadMode::kReflect: {
      if (extent == 1) return 0;
      const int64_t at = modulo(index, 2 * (extent - 1));
      return at < extent ? at : 2 * (extent - 1) - at;
    }
    case PadMode::kConstant:
      break;
  }
  return kNoSource;
}

// Negative amounts crop first; the padding that is left then refers to what was kept.
Result<Outputs> pad(const Call& call, PadMode mode, const std::vector<int64_t>& before,
                    const std::vector<int64_t>& after, const HostTensor* value) {
  const HostTensor& x = call.in(0);
  const Extents own = row_major_strides(x.shape());
  Extents shape;
  for (size_t axis = 0; axis < before.size(); ++axis) {
    constexpr int64_t kMost = int64_t{1} << 40;
    if (before[axis] < -kMost || before[axis] > kMost || after[axis] < -kMost || after[axis] > kMost) {
      return bad(text_of("pads ", before[axis], " and ", after[axis], " of axis ", axis, " are too large"));
    }
    const int64_t first = std::max<int64_t>(-before[axis], 0);
    const int64_t kept = x.shape()[axis] - first - std::max<int64_t>(-after[axis], 0);
    const int64_t lead = std::max<int64_t>(before[axis], 0);
    const int64_t extent = lead + kept + std::max<int64_t>(after[axis], 0);
    if (kept < 0) {
      return bad(text_of("pads ", before[axis], " and ", after[axis], " cut more than axis ", axis, " of ",
                         x.type_text(), " has"));
    }
    if (kept == 0 && extent > 0 && mode != PadMode::kConstant) {
      return bad(text_of("axis ", axis, " has no element to pad from"));
    }
    shape.push_back(extent);
  }
  FRIT_ASSIGN(HostTensor out, call.allocate(x.dtype(), shape));
  if (out.elements() == 0) return single(std::move(out));
  const size_t size = dtype_bytes(x.dtype());
  if (value != nullptr) {
    for (int64_t i = 0; i < out.elements(); ++i) {
      std::memcpy(out.mutable_bytes() + static_cast<size_t>(i) * size, value->bytes(), size);
    }
  }
  std::vector<std::vector<int64_t>> sources;
  for (size_t axis = 0; axis < before.size(); ++axis) {
    const int64_t first = std::max<int64_t>(-before[axis], 0), lead = std::max<int64_t>(before[axis], 0);
    const int64_t kept = x.shape()[axis] - first - std::max<int64_t>(-after[axis], 0);
    std::vector<int64_t>& offsets = sources.emplace_back(static_cast<size_t>(shape[axis]));
    for (int64_t i = 0; i < shape[axis]; ++i) {
      const int64_t source = source_of(mode, i - lead, kept);
      offsets[static_cast<size_t>(i)] = source == kNoSource ? kNoSource : (first + source) * own[axis];
    }
  }
  copy_by_axis_offsets(x.bytes(), sources, shape, size, out.mutable_bytes());
  return single(std::move(out));
}

Status check_value(const Call& call, size_t i) {
  if (!call.has(i)) return {};
  FRIT_TRY(call.expect_same_dtype(0, i));
  if (call.in(i).elements() == 1) return {};
  return bad(text_of("the padding value is ", call.in(i).type_text(), ", expected one element"));
}

}  // namespace

Result<Outputs> run(const Pad& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(1, 2));
  FRIT_TRY(check_value(call, 1));
  const size_t rank = call.in(0).shape().size();
  if (op.before.size() != rank || op.after.size() != rank) {
    return bad(text_of("pads ", op.before.size(), " and ", op.after.size(), " axes, expected ", rank));
  }
  return pad(call, op.mode, op.before, op.after, call.has(1) ? &call.in(1) : nullptr);
}

Result<Outputs> run(const DynamicPad& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(2, 4));
  FRIT_TRY(call.expect_integers(1));
  FRIT_TRY(check_value(call, 2));
  const int64_t rank = call.in(0).rank();
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), int64_t{0});
  if (call.has(3)) {
    FRIT_TRY(call.expect_integers(3));
    axes = call.in(3).as_int64s();
  }
  const std::vector<int64_t> pads = call.in(1).as_int64s();
  if (pads.size() != 2 * axes.size()) {
    return bad(text_of("pads has ", pads.size(), " values, expected ", 2 * axes.size(), " for ", axes.size(),
                       " axes"));
  }
  std::vector<int64_t> before(static_cast<size_t>(rank), 0), after(before);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    FRIT_TRY(call.expect_axis(axis, rank));
    before[static_cast<size_t>(axis)] = pads[i];
    after[static_cast<size_t>(axis)] = pads[axes.size() + i];
  }
  return pad(call, op.mode, before, after, call.has(2) ? &call.in(2) : nullptr);
}

}  // namespace frit::graph::eval
