// Tensors out of nothing.
#include <cstring>

#include "base/text.h"
#include "onnx/dtypes.h"
#include "onnx/importers.h"

namespace frit::onnx {
namespace {

using base::text_of;

ValueId as_scalar(NodeContext& c, ValueId v) { return c.reshape(v, {}); }

}  // namespace

void import_constant(NodeContext& c) {
  if (c.has_attr("value")) return c.out(0, c.attr_tensor("value"));
  if (c.has_attr("value_int")) {
    const ValueId v = c.ints_constant({c.attr_int("value_int", 0)});
    return c.out(0, as_scalar(c, v));
  }
  if (c.has_attr("value_ints")) return c.out(0, c.ints_constant(c.attr_ints("value_ints")));
  if (c.has_attr("value_float")) return c.out(0, c.scalar(DType::kF32, c.attr_float("value_float", 0)));
  if (const AttributeView* floats = c.attr("value_floats"))
    return c.out(0, c.floats_constant(floats->floats, {static_cast<int64_t>(floats->floats.size())}));
  if (c.has_attr("sparse_value")) return c.unsupported("sparse_value is not supported");
  if (c.has_attr("value_string") || c.has_attr("value_strings"))
    return c.unsupported("strings are not supported");
  c.fail("has no value");
}

void import_constant_of_shape(NodeContext& c) {
  uint64_t bits = 0;
  DType dtype = DType::kF32;
  if (c.has_attr("value")) {
    const ValueId value = c.attr_tensor("value");
    if (c.failed()) return;
    dtype = c.dtype(value);
    const Dim count = graph::element_count(c.shape(value));
    if (count != Dim(1)) return c.fail("value has " + count.text() + " elements, expected 1");
    std::memcpy(&bits, c.constant_bytes(value).data(), dtype_bytes(dtype));
  }
  c.out(0, c.emit_fill(bits, dtype, c.in(0)));
}

// 16-bit floats count in f32, as stash_type 1 says: x + 1 == x comes early there.
void import_range(NodeContext& c) {
  const DType dtype = c.dtype(c.in(0));
  const bool narrow = dtype == DType::kF16 || dtype == DType::kBF16;
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < 3; ++i)
    inputs.push_back(c.cast(as_scalar(c, c.in(i)), narrow ? DType::kF32 : dtype));
  c.out(0, c.cast(c.emit(graph::Range{}, inputs), dtype));
}

// on where the index equals the position along the new axis, else off; an index out of range is off
// everywhere.
void import_one_hot(NodeContext& c) {
  const ValueId indices = c.cast(c.in(0), DType::kI64);
  const int64_t rank = c.rank(indices) + 1;
  const int64_t axis = c.axis(c.attr_int("axis", -1), rank);
  if (c.failed() || !c.expect_rank(c.in(2), 1, 1, "values")) return;
  const ValueId depth = c.cast(as_scalar(c, c.in(1)), DType::kI64);
  const ValueId zero = c.scalar(DType::kI64, 0);
  const ValueId from_end = c.binary(BinaryOp::kLt, indices, zero);
  const ValueId index = c.select(from_end, c.add(indices, depth), indices);
  ValueId position = c.emit(graph::Range{}, {zero, depth, c.scalar(DType::kI64, 1)});
  Shape along(static_cast<size_t>(rank), Dim(1));
  along[static_cast<size_t>(axis)] = c.dim(position, 0);
  position = c.reshape(position, along);
  const ValueId hit = c.binary(BinaryOp::kEq, c.unsqueeze(index, {axis}), position);
  const ValueId off = as_scalar(c, c.slice(c.in(2), 0, 0, 1)), on = as_scalar(c, c.slice(c.in(2), 0, 1, 1));
  c.out(0, c.select(hit, on, off));
}

void import_eye_like(NodeContext& c) {
  if (!c.expect_rank(c.in(0), 2, 2, "input")) return;
  DType dtype = c.dtype(c.in(0));
  if (c.has_attr("dtype")) {
    const auto given = dtype_from_onnx(c.attr_int("dtype", 0));
    if (!given.ok()) return c.fail("dtype: " + given.error().message, given.error().code);
    dtype = *given;
  }
  const ValueId row = c.emit_as(graph::Iota{0}, {}, {DType::kI64, {c.dim(c.in(0), 0), 1}, {}});
  const ValueId column = c.emit_as(graph::Iota{1}, {}, {DType::kI64, {1, c.dim(c.in(0), 1)}, {}});
  const ValueId k = c.scalar(DType::kI64, static_cast<double>(c.attr_int("k", 0)));
  c.out(0, c.cast(c.binary(BinaryOp::kEq, c.sub(column, row), k), dtype));
}

}  // namespace frit::onnx
