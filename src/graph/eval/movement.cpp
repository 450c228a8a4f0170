#include "graph/eval/call.h"
#include "graph/eval/index.h"

namespace frit::graph::eval {
namespace {

size_t element_bytes(const HostTensor& x) { return dtype_bytes(x.dtype()); }

// `requested` with its 0 and -1 filled in as ONNX Reshape does. Axes that a 0 copies cancel out of what -1
// stands for, so that it has an answer when they are empty.
Result<Extents> reshaped_extents(const Reshape& op, const HostTensor& x,
                                 const std::vector<int64_t>& requested) {
  Extents shape = requested, uncopied = x.shape(), known;
  int64_t inferred = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !op.allowzero) {
      if (static_cast<int64_t>(i) >= x.rank()) {
        return bad(text_of("shape ", extents_text(requested), " copies axis ", i, ", which ", x.type_text(),
                           " lacks"));
      }
      shape[i] = x.shape()[i];
      uncopied[i] = 1;
    } else if (shape[i] == -1) {
      if (inferred >= 0) return bad(text_of("shape ", extents_text(requested), " has more than one -1"));
      inferred = static_cast<int64_t>(i);
    } else {
      known.push_back(shape[i]);
    }
  }
  if (inferred >= 0) {
    FRIT_ASSIGN(const int64_t divisor, checked_element_count(known));
    const int64_t dividend = product(uncopied);
    if (divisor == 0 || dividend % divisor != 0) {
      return bad(text_of(x.type_text(), " does not reshape to ", extents_text(requested)));
    }
    shape[static_cast<size_t>(inferred)] = dividend / divisor;
  }
  return shape;
}

}  // namespace

Result<Outputs> run(const Reshape& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(1, 2));
  const HostTensor& x = call.in(0);
  Extents shape;
  if (call.has(1)) {
    FRIT_TRY(call.expect_integers(1));
    FRIT_ASSIGN(shape, reshaped_extents(op, x, call.in(1).as_int64s()));
  } else {
    FRIT_ASSIGN(shape, call.output_extents(0));
  }
  FRIT_ASSIGN(const int64_t count, checked_element_count(shape));
  if (count != x.elements()) {
    return bad(text_of(x.type_text(), " has ", x.elements(), " elements, shape ", extents_text(shape),
                       " has ", count));
  }
  return single(x.reshaped(std::move(shape)));
}

Result<Outputs> run(const Transpose& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(1, 1));
  const HostTensor& x = call.in(0);
  const Extents own = row_major_strides(x.shape());
  Extents shape, strides;
  std::vector<bool> seen(x.shape().size(), false);
  for (int64_t axis : op.perm) {
    FRIT_TRY(call.expect_axis(axis, x.rank()));
    if (seen[static_cast<size_t>(axis)]) return bad(text_of("perm names axis ", axis, " twice"));
    seen[static_cast<size_t>(axis)] = true;
    shape.push_back(x.dim(axis));
    strides.push_back(own[static_cast<size_t>(axis)]);
  }
  if (op.perm.size() != x.shape().size()) {
    return bad(text_of("perm has ", op.perm.size(), " axes, expected ", x.rank(), " for ", x.type_text()));
  }
  FRIT_ASSIGN(HostTensor out, call.allocate(x.dtype(), shape));
  copy_strided(x.bytes(), 0, strides, shape, element_bytes(x), out.mutable_bytes());
  return single(std::move(out));
}

Result<Outputs> run(const Expand&, const Call& call) {
  FRIT_TRY(call.expect_inputs(1, 2));
  const HostTensor& x = call.in(0);
  Extents wanted;
  if (call.has(1)) {
    FRIT_TRY(call.expect_integers(1));
    wanted = call.in(1).as_int64s();
  } else {
    FRIT_ASSIGN(wanted, call.output_extents(0));
  }
  FRIT_ASSIGN(const Extents shape, broadcast_shapes(x.shape(), wanted));
  FRIT_ASSIGN(HostTensor out, call.allocate(x.dtype(), shape));
  copy_strided(x.bytes(), 0, broadcast_strides(x.shape(), shape), shape, element_bytes(x),
               out.mutable_bytes());
  return single(std::move(out));
}

Result<Outputs> run(const Concat& op, const Call& call) {
  if (call.inputs.empty()) return bad("has no inputs");
  FRIT_TRY(call.expect_inputs(call.inputs.size(), call.inputs.size()));
  const HostTensor& first = call.in(0);
  FRIT_TRY(call.expect_axis(op.axis, first.rank()));
  Extents shape = first.shape();
  const size_t axis = static_cast<size_t>(op.axis);
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    FRIT_TRY(call.expect_same_dtype(0, i));
    FRIT_TRY(call.expect_rank(i, first.rank()));
    Extents others = call.in(i).shape();
    shape[axis] += others[axis];
    others[axis] = first.dim(op.axis);
    if (others != first.shape()) {
      return bad(text_of("inputs ", first.type_text(), " and ", call.in(i).type_text(),
                         " differ outside axis ", op.axis));
    }
  }
  FRIT_ASSIGN(HostTensor out, call.allocate(first.dtype(), shape));
  if (out.elements() == 0) return single(std::move(out));
  const AxisView whole(shape, op.axis);
  const size_t row_bytes = static_cast<size_t>(whole.extent * whole.inner) * element_bytes(first);
  size_t at = 0;  // bytes of a row that are done
  for (const HostTensor* part : call.inputs) {
    const size_t part_bytes = static_cast<size_t>(part->dim(op.axis) * whole.inner) * element_bytes(first);
    if (part_bytes == 0) continue;
    for (size_t o = 0; o < static_cast<size_t>(whole.outer); ++o) {
      std::memcpy(out.mutable_bytes() + o * row_bytes + at, part->bytes() + o * part_bytes, part_bytes);
    }
    at += part_bytes;
  }
  return single(std::move(out));
}

// Sizes come from the input, else from the outputs' types, else all outputs are equal but a smaller last one.
Result<Outputs> run(const Split& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(1, 2));
  const HostTensor& x = call.in(0);
  FRIT_TRY(call.expect_axis(op.axis, x.rank()));
  const AxisView view(x.shape(), op.axis);
  const size_t count = call.output_count();
  std::vector<int64_t> sizes;
  if (call.has(1)) {
    FRIT_TRY(call.expect_integers(1));
    sizes = call.in(1).as_int64s();
  } else {
    const int64_t parts = static_cast<int64_t>(count);
    const int64_t each = (view.extent + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i) {
      sizes.push_back(std::clamp<int64_t>(view.extent - i * each, 0, each));
      if (call.has_output_extents(static_cast<size_t>(i))) {
        FRIT_ASSIGN(const Extents shape, call.output_extents(static_cast<size_t>(i)));
        if (static_cast<int64_t>(shape.size()) == x.rank())
          sizes.back() = shape[static_cast<size_t>(op.axis)];
      }
    }
  }
  if (sizes.size() != count) return bad(text_of("has ", count, " outputs, but ", sizes.size(), " sizes"));
  int64_t total = 0;
  for (int64_t size : sizes) {
    if (size < 0 || size > view.extent)
      return bad(text_of("a size of ", size, " along an axis of ", view.extent));
    total += size;
  }
  if (total != view.extent)
    return bad(text_of("the sizes sum to ", total, ", but axis ", op.axis, " has ", view.extent));
  Outputs out;
  int64_t at = 0;
  for (int64_t size : sizes) {
    Extents shape = x.shape();
    shape[static_cast<size_t>(op.axis)] = size;
    FRIT_ASSIGN(HostTensor part, call.allocate(x.dtype(), shape));
    copy_strided(x.bytes(), at * view.inner, row_major_strides(x.shape()), shape, element_bytes(x),
                 part.mutable_bytes());
    at += size;
    out.push_back(std::move(part));
  }
  return out;
}

Result<Outputs> run(const Tile&, const Call& call) {
  FRIT_TRY(call.expect_inputs(2, 2));
  FRIT_TRY(call.expect_integers(1));
  const HostTensor& x = call.in(0);
  const std::vector<int64_t> repeats = call.in(1).as_int64s();
  if (static_cast<int64_t>(repeats.size()) != x.rank()) {
    return bad(
        text_of("repeats has ", repeats.size(), " values, expected ", x.rank(), " for ", x.type_text()));
  }
  // A tiled axis of extent n is two axes, [repeat, n], of which the first has stride 0.
  const Extents own = row_major_strides(x.shape());
  Extents shape, split_shape, split_strides;
  for (size_t axis = 0; axis < repeats.size(); ++axis) {
    if (repeats[axis] < 0) return bad(text_of("repeats has the negative value ", repeats[axis]));
    FRIT_ASSIGN(const int64_t extent, checked_element_count({repeats[axis], x.shape()[axis]}));
    shape.push_back(extent);
    split_shape.insert(split_shape.end(), {repeats[axis], x.shape()[axis]});
    split_strides.insert(split_strides.end(), {0, own[axis]});
  }
  FRIT_ASSIGN(HostTensor out, call.allocate(x.dtype(), shape));
  copy_strided(x.bytes(), 0, split_strides, split_shape, element_bytes(x), out.mutable_bytes());
  return single(std::move(out));
}

}  // namespace frit::graph::eval
