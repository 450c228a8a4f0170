// Rules of data movement by position: reshape, transpose, slice, concat, pad, tile, split, expand.
#include <algorithm>
#include <limits>

#include "graph/infer_context.h"

namespace frit::graph {
namespace {

// A bound that no axis reaches: exporters write the largest or smallest integer for "to the end".
constexpr int64_t kEndless = std::numeric_limits<int32_t>::max();

// x as ONNX Slice reads a start or end: counted from the end when negative, clamped to [low, high].
std::optional<Dim> clamp_bound(const Dim& x, const Dim& dim, const Dim& low, const Dim& high) {
  if (!dim.is_constant()) {
    if (x.constant().value_or(0) >= kEndless) return high;
    if (x.constant().value_or(0) <= -kEndless) return low;
  }
  if (is_non_negative(x)) return min(max(x, low), high);
  if (is_non_negative(Dim(-1) - x)) {
    // Adding the size to the most negative integer must not wrap around.
    const Dim shifted = x.constant().value_or(0) < std::numeric_limits<int64_t>::min() / 2 ? low : x + dim;
    return min(max(shifted, low), high);
  }
  return std::nullopt;
}

Result<Shape> reshaped(const Reshape& op, InferContext& c, const std::vector<Dim>& wanted) {
  const Shape& x = c.shape(0);
  // Sizes copied by 0 are left out of both products, so that the rest can be inferred for empty tensors too.
  std::vector<bool> copied(std::max(x.size(), wanted.size()), false);
  Shape out(wanted.size());
  std::optional<size_t> inferred;
  Dim rest(1);
  for (size_t k = 0; k < wanted.size(); ++k) {
    if (wanted[k] == Dim(-1)) {
      if (inferred) return c.fail("shape ", shape_text(wanted), " has more than one -1");
      inferred = k;
      continue;
    }
    if (wanted[k] == Dim(0) && !op.allowzero) {
      if (k >= x.size())
        return c.fail("shape ", shape_text(wanted), " copies axis ", k, " of ", shape_text(x));
      out[k] = x[k];
      copied[k] = true;
      continue;
    }
    if (wanted[k].constant().value_or(0) < 0)
      return c.fail("shape ", shape_text(wanted), " has the value ", wanted[k].text());
    out[k] = wanted[k];
    rest = rest * wanted[k];
  }
  Dim available(1);
  for (size_t k = 0; k < x.size(); ++k) {
    if (!copied[k]) available = available * x[k];
  }
  auto mismatch = [&] { return c.fail("cannot reshape ", shape_text(x), " to ", shape_text(wanted)); };
  if (inferred) {
    if (rest == Dim(0)) return mismatch();
    out[*inferred] = floor_div(available, rest);
    const Dim left = available - rest * out[*inferred];
    if (left.is_constant() && left != Dim(0)) return mismatch();
  } else if (available.is_constant() && rest.is_constant() && available != rest) {
    // A copied axis of size 0 makes both sides empty.
    if (element_count(x) != Dim(0) || element_count(out) != Dim(0)) return mismatch();
  }
  return out;
}

Result<Types> padded(InferContext& c, PadMode mode, const std::vector<Dim>& before,
                     const std::vector<Dim>& after) {
  Shape out;
  for (size_t k = 0; k < c.rank(0); ++k) {
    const Dim& d = c.shape(0)[k];
    out.push_back(d + before[k] + after[k]);
    // What the borders may be taken from: reflect leaves out the edge itself.
    const Dim limit = mode == PadMode::kReflect ? d - 1 : d;
    for (const Dim* pad : {&before[k], &after[k]}) {
      if (mode == PadMode::kConstant || !d.is_constant() || pad->constant().value_or(0) <= 0) continue;
      const bool fits = mode == PadMode::kEdge ? d.value() > 0 : pad->value() <= limit.value();
      if (!fits) {
        return c.fail("pads axis ", k, " by ", pad->text(), " with mode ",
                      mode == PadMode::kReflect ? "reflect"
                      : mode == PadMode::kWrap  ? "wrap"
                                                : "edge",
                      ", but it has only ", d.text(), " elements");
      }
    }
  }
  return Types{make_type(c.dtype(0), std::move(out))};
}

// The axes input of DynamicSlice and DynamicPad, normalised; all axes in order when it is absent. None: not
// known.
Result<std::optional<std::vector<size_t>>> known_axes(const InferContext& c, size_t input, size_t count) {
  std::vector<size_t> axes;
  if (!c.has(input)) {
    for (size_t k = 0; k < count; ++k) axes.push_back(k);
    if (count > c.rank(0))
      return c.fail("bounds of ", count, " axes are given, but input 0 has rank ", c.rank(0));
    return std::optional(axes);
  }
  FRIT_TRY(c.require_index_type(input));
  const auto known = c.known(input);
  if (!known) return std::optional<std::vector<size_t>>();
  if (known->size() != count) return c.fail("axes has ", known->size(), " values, expected ", count);
  const auto rank = static_cast<int64_t>(c.rank(0));
  for (const Dim& d : *known) {
    if (!d.is_constant()) return std::optional<std::vector<size_t>>();
    const int64_t axis = d.value() < 0 ? d.value() + rank : d.value();
    FRIT_TRY(c.require_axis(axis, c.rank(0)));
    if (std::find(axes.begin(), axes.end(), static_cast<size_t>(axis)) != axes.end()) {
      return c.fail("axes names axis ", axis, " twice");
    }
    axes.push_back(static_cast<size_t>(axis));
  }
  return std::optional(axes);
}

Shape unknown_shape(InferContext& c, size_t rank) {
  Shape out;
  for (size_t k = 0; k < rank; ++k) out.push_back(c.data_dependent(0, rank, k));
  return out;
}

}  // namespace

std::optional<SliceBounds> slice_bounds(const Dim& dim, const Dim& start, const Dim& end, int64_t step) {
  const bool forward = step > 0;
  const Dim last = dim - 1;
  const auto first = forward ? clamp_bound(start, dim, 0, dim) : clamp_bound(start, dim, 0, last);
  const auto stop = forward ? clamp_bound(end, dim, 0, dim) : clamp_bound(end, dim, -1, last);
  if (!first || !stop || step == 0) return std::nullopt;
  if (step == std::numeric_limits<int64_t>::min()) step = -std::numeric_limits<int64_t>::max();
  const Dim size = forward ? ceil_div(*stop - *first, Dim(step)) : ceil_div(*first - *stop, Dim(-step));
  return SliceBounds{*first, max(size, 0)};
}

Result<Types> infer_op(const Reshape& op, InferContext& c) {
  if (!c.has(1)) {
    const TensorType* type = c.declared(0);
    if (!type) return c.fail("the output's shape is not given, and there is no shape input");
    const auto from = element_count(c.shape(0)).constant(), to = element_count(type->shape).constant();
    if (from && to && *from != *to) {
      return c.fail("cannot reshape ", shape_text(c.shape(0)), " to ", shape_text(type->shape));
    }
    return Types{make_type(c.dtype(0), type->shape)};
  }
  FRIT_ASSIGN(const std::optional<int64_t> rank, c.shape_vector(1));
  if (!rank) return make_error(Code::kUnsupported, "the rank of the output depends on data");
  if (const auto wanted = c.known(1)) {
    FRIT_ASSIGN(Shape out, reshaped(op, c, *wanted));
    return Types{make_type(c.dtype(0), std::move(out))};
  }
  return Types{make_type(c.dtype(0), unknown_shape(c, static_cast<size_t>(*rank)))};
}

Result<Types> infer_op(const Transpose& op, InferContext& c) {
  FRIT_TRY(c.require_count("perm", op.perm.size(), c.rank(0), c.rank(0)));
  std::vector<bool> seen(op.perm.size(), false);
  Shape out;
  for (int64_t axis : op.perm) {
    FRIT_TRY(c.require_axis(axis, c.rank(0)));
    if (seen[static_cast<size_t>(axis)])
      return c.fail("perm [", base::join(op.perm), "] names axis ", axis, " twice");
    seen[static_cast<size_t>(axis)] = true;
    out.push_back(c.shape(0)[static_cast<size_t>(axis)]);
  }
  return Types{make_type(c.dtype(0), std::move(out))};
}

Result<Types> infer_op(const Expand&, InferContext& c) {
  if (!c.has(1)) {
    const TensorType* type = c.declared(0);
    if (!type) return c.fail("the output's shape is not given, and there is no shape input");
    FRIT_ASSIGN(const Shape both, c.broadcast(c.shape(0), type->shape));
    bool grows = both.size() != type->shape.size();
    for (size_t k = 0; !grows && k < both.size(); ++k) {
      grows = both[k].is_constant() && type->shape[k].is_constant() && both[k] != type->shape[k];
    }
    if (grows) return c.fail("cannot expand ", shape_text(c.shape(0)), " to ", shape_text(type->shape));
    return Types{make_type(c.dtype(0), type->shape)};
  }
  FRIT_ASSIGN(const std::optional<int64_t> length, c.shape_vector(1));
  if (const auto wanted = c.known(1)) {
    for (const Dim& d : *wanted) {
      if (d.constant().value_or(0) < 0)
        return c.fail("shape ", shape_text(*wanted), " has the value ", d.text());
    }
    FRIT_ASSIGN(Shape out, c.broadcast(c.shape(0), *wanted));
    return Types{make_type(c.dtype(0), std::move(out))};
  }
  if (!length) return make_error(Code::kUnsupported, "the rank of the output depends on data");
  return Types{make_type(c.dtype(0), unknown_shape(c, std::max(c.rank(0), static_cast<size_t>(*length))))};
}

Result<Types> infer_op(const Slice& op, InferContext& c) {
  const size_t rank = c.rank(0);
  FRIT_TRY(c.require_count("starts", op.starts.size(), rank, rank));
  FRIT_TRY(c.require_count("steps", op.steps.size(), rank, rank));
  FRIT_ASSIGN(Shape out, c.declared_shape(rank));
  for (size_t k = 0; k < rank; ++k) {
    if (op.steps[k] == 0) return c.fail("the step of axis ", k, " is 0");
    if (!out[k].is_constant() || !op.starts[k].is_constant()) continue;
    const int64_t size = out[k].value(), start = op.starts[k].value();
    if (size <= 0) continue;
    const auto dim = c.shape(0)[k].constant();
    int64_t last = 0;
    const bool overflow =
        __builtin_mul_overflow(size - 1, op.steps[k], &last) || __builtin_add_overflow(last, start, &last);
    if (overflow || std::min(start, last) < 0 || (dim && std::max(start, last) >= *dim)) {
      return c.fail("slice of axis ", k, " takes ", size, " elements from ", start, " in steps of ",
                    op.steps[k], ", but the axis has ", c.shape(0)[k].text());
    }
  }
  return Types{make_type(c.dtype(0), std::move(out))};
}

Result<Types> infer_op(const DynamicSlice&, InferContext& c) {
  FRIT_ASSIGN(const std::optional<int64_t> count, c.shape_vector(1));
  FRIT_ASSIGN(const std::optional<int64_t> end_count, c.shape_vector(2));
  if (count && end_count && *count != *end_count) {
    return c.fail("starts has ", *count, " values and ends has ", *end_count, ", expected the same");
  }
  if (c.has(4)) FRIT_TRY(c.require_index_type(4));
  Shape out = c.shape(0);
  std::optional<std::vector<size_t>> axes;
  if (count) {
    FRIT_ASSIGN(axes, known_axes(c, 3, static_cast<size_t>(*count)));
  }
  if (!axes) return Types{make_type(c.dtype(0), unknown_shape(c, out.size()))};
  const auto starts = c.known(1), ends = c.known(2), steps = c.known(4);
  if (steps && steps->size() != axes->size())
    return c.fail("steps has ", steps->size(), " values, expected ", axes->size());
  for (size_t i = 0; i < axes->size(); ++i) {
    const size_t axis = (*axes)[i];
    const auto step = !c.has(4) ? std::optional<int64_t>(1) : steps ? (*steps)[i].constant() : std::nullopt;
    if (step == 0) return c.fail("the step of axis ", axis, " is 0");
    std::optional<SliceBounds> bounds;
    if (starts && ends && step) bounds = slice_bounds(out[axis], (*starts)[i], (*ends)[i], *step);
    out[axis] = bounds ? bounds->size : c.data_dependent(0, out.size(), axis);
  }
  return Types{make_type(c.dtype(0), std::move(out))};
}

Result<Types> infer_op(const Concat& op, InferContext& c) {
  FRIT_TRY(c.require_axis(op.axis, c.rank(0)));
  const auto axis = static_cast<size_t>(op.axis);
  Shape out = c.shape(0);
  for (size_t i = 1; i < c.node().inputs.size(); ++i) {
    FRIT_TRY(c.same_dtype(0, i));
    if (c.rank(i) != out.size()) {
      return c.fail("input ", i, " has shape ", shape_text(c.shape(i)), ", expected rank ", out.size(),
                    " as input 0");
    }
    for (size_t k = 0; k < out.size(); ++k) {
      if (k == axis) {
        out[k] = out[k] + c.shape(i)[k];
      } else {
        FRIT_ASSIGN(out[k],
                    c.equal_dims(out[k], c.shape(i)[k], base::text_of("axis ", k, " of inputs 0 and ", i)));
      }
    }
  }
  return Types{make_type(c.dtype(0), std::move(out))};
}

Result<Types> infer_op(const Pad& op, InferContext& c) {
  FRIT_TRY(c.require_count("before", op.before.size(), c.rank(0), c.rank(0)));
  FRIT_TRY(c.require_count("after", op.after.size(), c.rank(0), c.rank(0)));
  if (c.has(1)) FRIT_TRY(c.same_dtype(0, 1));
  return padded(c, op.mode, {op.before.begin(), op.before.end()}, {op.after.begin(), op.after.end()});
}

Result<Types> infer_op(const DynamicPad& op, InferContext& c) {
  FRIT_ASSIGN(const std::optional<int64_t> count, c.shape_vector(1));
  if (c.has(2)) FRIT_TRY(c.same_dtype(0, 2));
  if (count && *count % 2 != 0) return c.fail("pads has ", *count, " values, expected an even number");
  const auto pads = c.known(1);
  std::optional<std::vector<size_t>> axes;
  if (count) {
    FRIT_ASSIGN(axes, known_axes(c, 3, static_cast<size_t>(*count / 2)));
  }
  if (!pads || !axes) return Types{make_type(c.dtype(0), unknown_shape(c, c.rank(0)))};
  if (!c.has(3)) FRIT_TRY(c.require_count("pads", pads->size(), 2 * c.rank(0), c.rank(0)));
  std::vector<Dim> before(c.rank(0)), after(c.rank(0));
  for (size_t i = 0; i < axes->size(); ++i) {
    before[(*axes)[i]] = (*pads)[i];
    after[(*axes)[i]] = (*pads)[i + axes->size()];
  }
  return padded(c, op.mode, before, after);
}

Result<Types> infer_op(const Tile&, InferContext& c) {
  FRIT_ASSIGN(const std::optional<int64_t> count, c.shape_vector(1));
  if (count) FRIT_TRY(c.require_count("repeats", static_cast<size_t>(*count), c.rank(0), c.rank(0)));
  const auto repeats = c.known(1);
  if (!repeats || repeats->size() != c.rank(0))
    return Types{make_type(c.dtype(0), unknown_shape(c, c.rank(0)))};
  Shape out = c.shape(0);
  for (size_t k = 0; k < out.size(); ++k) {
    if ((*repeats)[k].constant().value_or(0) < 0)
      return c.fail("repeats has the value ", (*repeats)[k].text());
    out[k] = out[k] * (*repeats)[k];
  }
  return Types{make_type(c.dtype(0), std::move(out))};
}

Result<Types> infer_op(const Split& op, InferContext& c) {
  FRIT_TRY(c.require_axis(op.axis, c.rank(0)));
  const auto axis = static_cast<size_t>(op.axis);
  const size_t count = c.output_count();
  const Dim whole = c.shape(0)[axis];
  const auto sizes = c.known(1);
  if (c.has(1)) {
    FRIT_ASSIGN(const std::optional<int64_t> length, c.shape_vector(1));
    if (length && static_cast<size_t>(*length) != count) {
      return c.fail("split has ", *length, " values, but the node has ", count, " outputs");
    }
  }
  Types types;
  Dim sum;
  // Without sizes: equal parts, the last one takes what is left.
  const Dim part = ceil_div(whole, Dim(static_cast<int64_t>(count)));
  for (size_t j = 0; j < count; ++j) {
    Shape out = c.shape(0);
    if (sizes && sizes->size() == count) {
      out[axis] = (*sizes)[j];
    } else if (c.has(1)) {
      out[axis] = c.data_dependent(j, out.size(), axis);
    } else {
      out[axis] = j + 1 < count ? part : whole - sum;
    }
    if (out[axis].constant().value_or(0) < 0) {
      return c.fail("axis ", op.axis, " of ", whole.text(), " elements cannot be split into ", count,
                    " parts");
    }
    sum = sum + out[axis];
    types.push_back(make_type(c.dtype(0), std::move(out)));
  }
  if (sum.is_constant() && whole.is_constant() && sum != whole) {
    return c.fail("the parts sum to ", sum.text(), ", but axis ", op.axis, " has ", whole.text(),
                  " elements");
  }
  return types;
}

}  // namespace frit::graph
