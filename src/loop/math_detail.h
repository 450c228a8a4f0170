// Shared pieces of the files that implement math.h.
#pragma once

#include <initializer_list>
#include <limits>

#include "loop/build.h"

namespace frit::loop::math {

inline constexpr double kInf = std::numeric_limits<double>::infinity();

inline Expr f32(Expr like, double value) { return float_const(*like->context, value); }
inline Expr i32(Expr like, int64_t value) { return int_const(*like->context, value, DType::kI32); }
inline Expr bits_of(Expr x) { return bitcast(x, DType::kI32); }
inline Expr from_bits(Expr bits) { return bitcast(bits, DType::kF32); }
inline Expr shift_left(Expr bits, int64_t n) { return binary(OpCode::kShl, bits, i32(bits, n)); }
inline Expr shift_right(Expr bits, int64_t n) { return binary(OpCode::kAShr, bits, i32(bits, n)); }
inline Expr bit_and(Expr a, Expr b) { return binary(OpCode::kAnd, a, b); }
inline Expr bit_or(Expr a, Expr b) { return binary(OpCode::kOr, a, b); }
inline Expr abs(Expr x) { return unary(OpCode::kAbs, x); }
inline Expr negate(Expr x) { return unary(OpCode::kNeg, x); }

// c[0] + x * (c[1] + x * (...)), by Horner's rule in fused steps.
inline Expr poly(Expr x, std::initializer_list<double> c) {
  auto it = c.end();
  Expr sum = f32(x, *--it);
  while (it != c.begin()) sum = fma(sum, x, f32(x, *--it));
  return sum;
}

// y >= 0 with the sign of x.
inline Expr with_sign_of(Expr y, Expr x) {
  const Expr sign = bit_and(bits_of(x), i32(x, INT32_MIN));
  return from_bits(bit_or(bits_of(y), sign));
}

// 1.5 * 2^23. Adding it to |v| < 2^22 rounds v to the nearest integer, which then is the low bits of the sum:
// the low bits of kRound + 127 + n, shifted to the exponent field, are 2^n.
inline constexpr double kRound = 12582912.0;
struct Rounded {
  Expr n;      // v rounded to an integer, as a float
  Expr scale;  // 2^n for -127 < n < 128
};
// v = a * b
inline Rounded round_product(Expr a, double b) {
  const Expr t = fma(a, f32(a, b), f32(a, kRound + 127));
  return {t - f32(a, kRound + 127), from_bits(shift_left(bits_of(t), 23))};
}

// exp(x + low) for -104 <= x <= 89 (or NaN) and a tiny `low`.
Expr exp_of_sum(Expr x, Expr low);

// Applies an f32 function to any float type.
template <class F>
Expr by_way_of_f32(Expr x, F&& f) {
  if (!x) return x;
  const DType dtype = x->type.dtype;
  return cast(f(cast(x, DType::kF32)), dtype);
}

}  // namespace frit::loop::math
