// Reductions. The compound ones (norms, logarithms of sums) are spelled out around Reduce.
#include <numeric>

#include "base/text.h"
#include "onnx/importers.h"

namespace frit::onnx {
namespace {

struct Axes {
  Ints axes;
  bool keepdims;
};

// The axes come from an attribute in old opsets and from an input in new ones; none means all, or, where the
// attribute noop_with_empty_axes says so, nothing at all.
Axes reduction_axes(NodeContext& c) {
  const int64_t rank = c.rank(c.in(0));
  Ints axes = c.has(1) ? c.known_ints(1, "axes") : c.attr_ints("axes");
  axes = c.axes(std::move(axes), rank);
  if (axes.empty() && c.attr_int("noop_with_empty_axes", 0) == 0) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  return {axes, c.attr_int("keepdims", 1) != 0};
}

// log(sum(exp(x))) = m + log(sum(exp(x - m))) with m the largest; an infinite m is left out, or inf - inf
// would appear.
ValueId log_sum_exp(NodeContext& c, ValueId x, const Axes& a) {
  const ValueId zero = c.scalar_like(x, 0);
  const ValueId top = c.reduce(ReduceOp::kMax, x, a.axes, true);
  const ValueId shift = c.select(c.unary(UnaryOp::kIsInf, top), zero, top);
  const ValueId sum = c.reduce(ReduceOp::kSum, c.unary(UnaryOp::kExp, c.sub(x, shift)), a.axes, true);
  const ValueId y = c.add(c.unary(UnaryOp::kLog, sum), shift);
  return a.keepdims ? y : c.squeeze(y, a.axes);
}

}  // namespace

void import_reduce(NodeContext& c) {
  const Axes a = reduction_axes(c);
  if (c.failed()) return;
  const ValueId x = c.in(0);
  const DType dtype = c.dtype(x);
  const std::string_view op = c.op_type();
  const auto reduce = [&](ReduceOp how, ValueId v) { return c.reduce(how, v, a.axes, a.keepdims); };
  // Roots and logarithms of integers are computed in f64 and cut back.
  const bool via_float =
      !is_float(dtype) && (op == "ReduceL2" || op == "ReduceLogSum" || op == "ReduceLogSumExp");
  const ValueId v = via_float ? c.cast(x, DType::kF64) : dtype == DType::kBool ? c.cast(x, DType::kU8) : x;
  ValueId y = kNoValue;
  if (op == "ReduceSum") y = reduce(ReduceOp::kSum, v);
  if (op == "ReduceMean") y = reduce(ReduceOp::kMean, v);
  if (op == "ReduceMax") y = reduce(ReduceOp::kMax, v);
  if (op == "ReduceMin") y = reduce(ReduceOp::kMin, v);
  if (op == "ReduceProd") y = reduce(ReduceOp::kProd, v);
  if (op == "ReduceL1") y = reduce(ReduceOp::kSum, c.unary(UnaryOp::kAbs, v));
  if (op == "ReduceSumSquare") y = reduce(ReduceOp::kSum, c.mul(v, v));
  if (op == "ReduceL2") y = c.unary(UnaryOp::kSqrt, reduce(ReduceOp::kSum, c.mul(v, v)));
  if (op == "ReduceLogSum") y = c.unary(UnaryOp::kLog, reduce(ReduceOp::kSum, v));
  if (op == "ReduceLogSumExp") y = log_sum_exp(c, v, a);
  c.out(0, c.cast(y, dtype));
}

void import_arg_reduce(NodeContext& c) {
  const int64_t axis = c.axis(c.attr_int("axis", 0), c.rank(c.in(0)));
  c.out(0, c.emit(graph::ArgReduce{c.op_type() == "ArgMax", axis, c.attr_int("keepdims", 1) != 0,
                                   c.attr_int("select_last_index", 0) != 0},
                  {c.in(0)}));
}

void import_top_k(NodeContext& c) {
  const int64_t axis = c.axis(c.attr_int("axis", -1), c.rank(c.in(0)));
  const ValueId k = c.since() < 10 ? c.ints_constant({c.attr_int("k", 0)}) : c.in(1);
  const auto outs = c.emit_many(
      graph::TopK{axis, c.attr_int("largest", 1) != 0, c.attr_int("sorted", 1) != 0}, {c.in(0), k}, 2);
  c.out(0, outs[0]);
  c.out(1, outs[1]);
}

}  // namespace frit::onnx
