// One graph primitive on operands that are already expressions: the arithmetic that pointwise groups, prologues and
// epilogues share. Any number of lanes. Narrow floats compute in f32 and round after each op, as the evaluator does.
#pragma once

#include "frit/result.h"
#include "graph/op.h"
#include "loop/build.h"

namespace frit::codegen {

// True when the op on this element type can be emitted (f64 transcendental functions cannot, for example).
bool can_emit(const graph::Op& op, DType operand, DType result);

loop::Expr emit_unary(graph::UnaryOp op, loop::Expr x);
loop::Expr emit_binary(graph::BinaryOp op, loop::Expr a, loop::Expr b);
// ONNX Cast, bool included.
loop::Expr emit_cast(loop::Expr x, DType to);
// a op b of a reduction, with NaN propagating through max and min.
loop::Expr emit_combine(graph::ReduceOp op, loop::Expr a, loop::Expr b);
// The identity of a reduction as an expression of `dtype`.
loop::Expr reduce_identity(loop::Context& c, graph::ReduceOp op, DType dtype, int32_t lanes = 1);

}  // namespace frit::codegen
