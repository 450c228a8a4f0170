// Arithmetic, logic and comparison. From opset 7 on all of them broadcast as numpy does.
#include "base/text.h"
#include "onnx/dtypes.h"
#include "onnx/importers.h"

namespace frit::onnx {
namespace {

void fold_inputs(NodeContext& c, BinaryOp op) {
  ValueId result = c.in(0);
  for (size_t i = 1; i < c.input_count(); ++i) result = c.binary(op, result, c.in(i));
  c.out(0, result);
}

}  // namespace

// The exponent may have a type of its own (opset 12); the result has the base's.
void import_pow(NodeContext& c) {
  const DType base = c.dtype(c.in(0)), exponent = c.dtype(c.in(1));
  const DType compute = !is_float(base) && is_float(exponent) ? exponent : base;
  const ValueId power = c.binary(BinaryOp::kPow, c.cast(c.in(0), compute), c.cast(c.in(1), compute));
  c.out(0, c.cast(power, base));
}

void import_mod(NodeContext& c) {
  const bool truncate = c.attr_int("fmod", 0) != 0;
  if (!truncate && c.since() < 28 && is_float(c.dtype(c.in(0))))
    return c.fail("fmod is 0 and the inputs are floats, expected fmod 1 before opset 28");
  c.out(0, c.binary(truncate ? BinaryOp::kModTrunc : BinaryOp::kModFloor, c.in(0), c.in(1)));
}

void import_bit_shift(NodeContext& c) {
  const std::string direction = c.attr_string("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return c.fail("direction is " + base::quoted(direction) + ", expected \"LEFT\" or \"RIGHT\"");
  c.out(0, c.binary(direction == "LEFT" ? BinaryOp::kShl : BinaryOp::kShr, c.in(0), c.in(1)));
}

void import_is_inf(NodeContext& c) {
  const bool negative = c.attr_int("detect_negative", 1) != 0,
             positive = c.attr_int("detect_positive", 1) != 0;
  const ValueId x = c.in(0);
  ValueId result = c.unary(UnaryOp::kIsInf, x);
  if (!negative || !positive) {
    const ValueId zero = c.scalar_like(x, 0);
    // x > 0 and x < 0 at once is never: neither is detected.
    if (!negative) result = c.binary(BinaryOp::kAnd, result, c.binary(BinaryOp::kGt, x, zero));
    if (!positive) result = c.binary(BinaryOp::kAnd, result, c.binary(BinaryOp::kLt, x, zero));
  }
  c.out(0, result);
}

void import_sum(NodeContext& c) { fold_inputs(c, BinaryOp::kAdd); }
void import_max(NodeContext& c) { fold_inputs(c, BinaryOp::kMax); }
void import_min(NodeContext& c) { fold_inputs(c, BinaryOp::kMin); }

void import_mean(NodeContext& c) {
  ValueId sum = c.in(0);
  for (size_t i = 1; i < c.input_count(); ++i) sum = c.add(sum, c.in(i));
  if (c.input_count() > 1) sum = c.div(sum, c.scalar_like(sum, static_cast<double>(c.input_count())));
  c.out(0, sum);
}

void import_where(NodeContext& c) { c.out(0, c.select(c.in(0), c.in(1), c.in(2))); }

// saturate and round_mode only concern the 8-bit floats, which dtype_from_onnx refuses.
void import_cast(NodeContext& c) {
  const auto to = dtype_from_onnx(c.attr_int("to", 0));
  if (!to.ok()) return c.fail("to: " + to.error().message, to.error().code);
  c.out(0, c.cast(c.in(0), *to));
}
void import_cast_like(NodeContext& c) { c.out(0, c.cast(c.in(0), c.dtype(c.in(1)))); }

void import_clip(NodeContext& c) {
  ValueId low = c.in(1), high = c.in(2);
  if (c.since() < 11) {
    if (c.has_attr("min")) low = c.scalar_like(c.in(0), c.attr_float("min", 0));
    if (c.has_attr("max")) high = c.scalar_like(c.in(0), c.attr_float("max", 0));
  }
  std::vector<ValueId> inputs = {c.in(0), low, high};
  while (inputs.back() == kNoValue) inputs.pop_back();
  c.out(0, inputs.size() == 1 ? inputs[0] : c.emit(graph::Clip{}, inputs));
}

void import_cum_sum(NodeContext& c) {
  const Ints axis = c.known_ints(1, "axis");
  if (c.failed()) return;
  if (axis.size() != 1) return c.fail(base::text_of("axis has ", axis.size(), " values, expected 1"));
  c.out(0, c.emit(graph::CumSum{c.axis(axis[0], c.rank(c.in(0))), c.attr_int("exclusive", 0) != 0,
                                c.attr_int("reverse", 0) != 0},
                  {c.in(0)}));
}

}  // namespace frit::onnx
