#include "codegen/families/scalar_ops.h"

#include <limits>

#include "loop/math.h"

namespace frit::codegen {

using graph::BinaryOp;
using graph::UnaryOp;
using loop::Expr;
using loop::OpCode;

namespace {

bool is_half(DType t) { return t == DType::kF16 || t == DType::kBF16; }

bool needs_math(UnaryOp op) {
  switch (op) {
    case UnaryOp::kExp: case UnaryOp::kLog: case UnaryOp::kErf: case UnaryOp::kTanh: case UnaryOp::kSigmoid:
    case UnaryOp::kSin: case UnaryOp::kCos: case UnaryOp::kTan: case UnaryOp::kAsin: case UnaryOp::kAcos:
    case UnaryOp::kAtan: case UnaryOp::kSinh: case UnaryOp::kCosh: case UnaryOp::kAsinh: case UnaryOp::kAcosh:
    case UnaryOp::kAtanh: return true;
    default: return false;
  }
}

Expr number(Expr like, double v);
Expr integer(Expr like, int64_t v);

// Integer division where the divisor is not known: the caller has excluded zero (Dag's check), and the lowest value
// divided by -1, which traps on x86, is a negation.
Expr divide_integers(OpCode op, Expr a, Expr b) {
  int64_t known = 0;
  if (is_unsigned_int(b->type.dtype) || (loop::as_int(b, &known) && known != -1)) return loop::binary(op, a, b);
  Expr minus = loop::eq(b, integer(b, -1));
  Expr q = loop::binary(op, a, loop::select(minus, integer(b, 1), b));
  return loop::select(minus, op == OpCode::kDiv ? loop::unary(OpCode::kNeg, a) : integer(a, 0), q);
}

Expr number(Expr like, double v) { return loop::float_const(*like->context, v, like->type.dtype, like->type.lanes); }
Expr integer(Expr like, int64_t v) { return loop::int_const(*like->context, v, like->type.dtype, like->type.lanes); }

Expr floats(UnaryOp op, Expr x) {
  switch (op) {
    case UnaryOp::kFloor: return loop::unary(OpCode::kFloor, x);
    case UnaryOp::kCeil: return loop::unary(OpCode::kCeil, x);
    case UnaryOp::kRound: return loop::unary(OpCode::kRoundEven, x);
    case UnaryOp::kSqrt: return loop::unary(OpCode::kSqrt, x);
    case UnaryOp::kRecip: return number(x, 1) / x;
    case UnaryOp::kExp: return loop::math::exp(x);
    case UnaryOp::kLog: return loop::math::log(x);
    case UnaryOp::kErf: return loop::math::erf(x);
    case UnaryOp::kTanh: return loop::math::tanh(x);
    case UnaryOp::kSigmoid: return loop::math::sigmoid(x);
    case UnaryOp::kSin: return loop::math::sin(x);
    case UnaryOp::kCos: return loop::math::cos(x);
    case UnaryOp::kTan: return loop::math::tan(x);
    case UnaryOp::kAsin: return loop::math::asin(x);
    case UnaryOp::kAcos: return loop::math::acos(x);
    case UnaryOp::kAtan: return loop::math::atan(x);
    case UnaryOp::kSinh: return loop::math::sinh(x);
    case UnaryOp::kCosh: return loop::math::cosh(x);
    case UnaryOp::kAsinh: return loop::math::asinh(x);
    case UnaryOp::kAcosh: return loop::math::acosh(x);
    case UnaryOp::kAtanh: return loop::math::atanh(x);
    default: return x;
  }
}

}  // namespace

bool can_emit(const graph::Op& op, DType operand, DType result) {
  (void)result;
  if (const auto* u = std::get_if<graph::Unary>(&op)) return !(needs_math(u->op) && operand == DType::kF64);
  if (const auto* b = std::get_if<graph::Binary>(&op)) {
    if (b->op == BinaryOp::kPow) return is_float(operand) && operand != DType::kF64;
    if (b->op == BinaryOp::kModTrunc || b->op == BinaryOp::kModFloor) return !is_float(operand);
    if (b->op == BinaryOp::kDiv) return true;
  }
  return true;
}

Expr emit_unary(UnaryOp op, Expr x) {
  const DType t = x->type.dtype;
  switch (op) {
    case UnaryOp::kNeg: return loop::unary(OpCode::kNeg, x);
    case UnaryOp::kAbs: return is_unsigned_int(t) ? x : loop::unary(OpCode::kAbs, x);
    case UnaryOp::kNot:
    case UnaryOp::kBitNot: return loop::unary(OpCode::kNot, x);
    case UnaryOp::kIsNan: return loop::ne(x, x);
    case UnaryOp::kIsInf: return loop::eq(loop::unary(OpCode::kAbs, x), number(x, std::numeric_limits<double>::infinity()));
    case UnaryOp::kRelu: return loop::max(is_float(t) ? number(x, 0) : integer(x, 0), x);
    case UnaryOp::kSign: {
      Expr zero = is_float(t) ? number(x, 0) : integer(x, 0);
      Expr one = is_float(t) ? number(x, 1) : integer(x, 1);
      Expr r = loop::select(loop::gt(x, zero), one, x);  // zeros and NaN stay what they are
      return is_unsigned_int(t) ? r : loop::select(loop::lt(x, zero), loop::unary(OpCode::kNeg, one), r);
    }
    default: break;
  }
  if (!is_half(t)) return floats(op, x);
  return loop::cast(floats(op, loop::cast(x, DType::kF32)), t);
}

Expr emit_binary(BinaryOp op, Expr a, Expr b) {
  const DType t = a->type.dtype;
  switch (op) {
    case BinaryOp::kAdd: return a + b;
    case BinaryOp::kSub: return a - b;
    case BinaryOp::kMul: return a * b;
    case BinaryOp::kDiv: return is_float(t) ? a / b : divide_integers(OpCode::kDiv, a, b);
    case BinaryOp::kPow: return loop::math::pow(a, b);
    // A constant stands first: then min and max are one instruction, since only a NaN on the left needs care.
    case BinaryOp::kMin: return loop::is_const(b) ? loop::min(b, a) : loop::min(a, b);
    case BinaryOp::kMax: return loop::is_const(b) ? loop::max(b, a) : loop::max(a, b);
    case BinaryOp::kModFloor: return divide_integers(OpCode::kFloorMod, a, b);
    case BinaryOp::kModTrunc: return divide_integers(OpCode::kRem, a, b);
    case BinaryOp::kAnd:
    case BinaryOp::kBitAnd: return loop::binary(OpCode::kAnd, a, b);
    case BinaryOp::kOr:
    case BinaryOp::kBitOr: return loop::binary(OpCode::kOr, a, b);
    case BinaryOp::kXor:
    case BinaryOp::kBitXor: return loop::binary(OpCode::kXor, a, b);
    case BinaryOp::kShl:
    case BinaryOp::kShr: {
      // ONNX leaves a shift by the width or more open; zero is what a wide shifter gives.
      const auto width = static_cast<int64_t>(dtype_bytes(t) * 8);
      Expr fits = loop::lt(b, integer(b, width));
      Expr by = loop::binary(OpCode::kAnd, b, integer(b, width - 1));
      return loop::select(fits, loop::binary(op == BinaryOp::kShl ? OpCode::kShl : OpCode::kLShr, a, by), integer(a, 0));
    }
    case BinaryOp::kEq: return loop::eq(a, b);
    case BinaryOp::kNe: return loop::ne(a, b);
    case BinaryOp::kLt: return loop::lt(a, b);
    case BinaryOp::kLe: return loop::le(a, b);
    case BinaryOp::kGt: return loop::gt(a, b);
    case BinaryOp::kGe: return loop::ge(a, b);
  }
  return a;
}

Expr emit_cast(Expr x, DType to) { return loop::cast(x, to); }

Expr emit_combine(graph::ReduceOp op, Expr a, Expr b) {
  switch (op) {
    case graph::ReduceOp::kSum:
    case graph::ReduceOp::kMean: return a + b;
    case graph::ReduceOp::kProd: return a * b;
    case graph::ReduceOp::kMax: return loop::max(a, b);
    case graph::ReduceOp::kMin: return loop::min(a, b);
  }
  return a;
}

Expr reduce_identity(loop::Context& c, graph::ReduceOp op, DType t, int32_t lanes) {
  const double inf = std::numeric_limits<double>::infinity();
  const bool flt = is_float(t);
  auto of = [&](double f, int64_t i) { return flt ? loop::float_const(c, f, t, lanes) : loop::int_const(c, i, t, lanes); };
  const auto bits = static_cast<int>(dtype_bytes(t) * 8);
  const int64_t lowest = is_unsigned_int(t) ? 0 : static_cast<int64_t>(~uint64_t{0} << (bits - 1));
  const int64_t highest = is_unsigned_int(t) ? (bits == 64 ? -1 : (int64_t{1} << bits) - 1) : ~lowest;
  switch (op) {
    case graph::ReduceOp::kSum:
    case graph::ReduceOp::kMean: return of(0, 0);
    case graph::ReduceOp::kProd: return of(1, 1);
    case graph::ReduceOp::kMax: return of(-inf, lowest);
    case graph::ReduceOp::kMin: return of(inf, highest);
  }
  return of(0, 0);
}

}  // namespace frit::codegen
