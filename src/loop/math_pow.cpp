// pow with C's special cases. The logarithm is kept in two f32 parts, so that the product with the exponent
// still has the bits that exp needs.
#include <cmath>

#include "loop/math.h"
#include "loop/math_detail.h"

namespace frit::loop::math {

namespace {

struct Pair {
  Expr high, low;
};

// log a for a > 0 finite, relative error about 2^-29. With a = 2^n m, sqrt(1/2) <= m < sqrt(2) and q = (m -
// 1) / (m + 1): log m = 2 atanh q = 2 q + q^3 c(q^2).
Pair long_log(Expr a) {
  const Expr tiny = lt(a, f32(a, 0x1p-126));
  const Expr bits = bits_of(select(tiny, a * f32(a, 0x1p23), a));
  const Expr exponent = bit_and(bits - i32(a, 0x3f3504f3), i32(a, -0x800000));
  const Expr d = from_bits(bits - exponent) - f32(a, 1);  // m - 1, exact
  const Expr n = fma(cast(exponent, DType::kF32), f32(a, 0x1p-23), select(tiny, f32(a, -23), f32(a, 0)));
  // q in two parts: d - q (d + 2) is exact in two fused steps.
  const Expr inverse = f32(a, 1) / (d + f32(a, 2));
  const Expr q = d * inverse;
  const Expr q_low = inverse * fma(negate(q), d, fma(q, f32(a, -2), d));
  // s = q^2 in two parts, t = s c / 2 relative to 2 q
  const Expr s = q * q;
  const Expr s_low = fma(q + q, q_low, fma(q, q, negate(s)));
  const Expr c = poly(s, {0x1.555556p-2, 0x1.999852p-3, 0x1.24f486p-3, 0x1.af8e48p-4, 0x1.3db4ap-3});
  const Expr t = fma(c, s, c * s_low);
  // n log 2 (high part exact) + 2 q + 2 q t, smaller terms collected apart
  const Expr twice = q + q;
  const Expr head = n * f32(a, 0x1.62e4p-1);
  const Expr high = head + twice;
  Expr low = twice - (high - head);
  low = fma(n, f32(a, 0x1.7f7d1cp-20), low);
  low = low + fma(twice, t, q_low + q_low);
  const Expr sum = high + low;
  return {sum, low - (sum - high)};
}

}  // namespace

Expr pow(Expr base, Expr exponent) {
  if (!base || !exponent) return {};
  const DType dtype = base->type.dtype;
  const Expr x = cast(base, DType::kF32), y = cast(exponent, DType::kF32);
  const Expr a = abs(x), zero = f32(x, 0), one = f32(x, 1);
  Pair l = long_log(a);
  // Zero, infinity and NaN go through the product as the logarithm's limits.
  l.high = select(lt(a, f32(x, kInf)), select(eq(a, zero), f32(x, -kInf), l.high), a);
  const Expr product = y * l.high;
  const Expr inside = lt(abs(product), f32(x, 120));
  const Expr rest = select(inside, fma(y, l.low, fma(y, l.high, negate(product))), zero);
  const Expr magnitude = exp_of_sum(max(min(product, f32(x, 89)), f32(x, -104)), rest);
  // 1 to any power; the sign of a negative base survives odd integers, others have no real power.
  const Expr size = select(eq(a, one), one, magnitude);
  const Expr is_integer = eq(unary(OpCode::kTrunc, y), y);
  const Expr half = y * f32(x, 0.5);
  const Expr is_odd = both(is_integer, ne(unary(OpCode::kTrunc, half), half));
  const Expr signed_size =
      select(is_odd, from_bits(bit_or(bits_of(size), bit_and(bits_of(x), i32(x, INT32_MIN)))), size);
  const Expr no_power = both(both(lt(x, zero), gt(x, f32(x, -kInf))), ne(unary(OpCode::kTrunc, y), y));
  const Expr known = select(no_power, f32(x, std::nan("")), signed_size);
  // A NaN exponent must show even where the base is -1.
  const Expr with_nan = select(eq(y, y), known, y);
  return cast(select(either(eq(y, zero), eq(x, one)), one, with_nan), dtype);
}

}  // namespace frit::loop::math
