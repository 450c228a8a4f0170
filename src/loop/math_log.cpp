// log and what is made of it; fitted like math_exp.cpp.
#include <cmath>

#include "loop/math.h"
#include "loop/math_detail.h"

namespace frit::loop::math {

namespace {

// v + low = 2^n (1 + f) with |f| <= 1/3, for v > 0 normal and low (or null) below its last place.
struct Split {
  Expr n, f;
};
Split split(Expr v, Expr low) {
  const Expr bits = bits_of(v);
  const Expr exponent = bit_and(bits - i32(v, 0x3f2aaaab), i32(v, -0x800000));  // n << 23
  Expr f = from_bits(bits - exponent) - f32(v, 1);
  // 2^-n, or 0 where n is so large that the product is below notice
  if (low) f = fma(low, from_bits(max(i32(v, 0x3f800000) - exponent, i32(v, 0))), f);
  return {cast(exponent, DType::kF32) * f32(v, 0x1p-23), f};
}
// n log 2 + log(1 + f), error of the second part 2^-25.2
Expr log_of(Split s) {
  const Expr f = s.f;
  const Expr q = poly(f, {-0x1.ffffd6p-2, 0x1.5554fcp-2, -0x1.00145p-2, 0x1.99d3a8p-3, -0x1.503884p-3,
                          0x1.1ea94cp-3, -0x1.3b0e5cp-3, 0x1.1f243ap-3});
  return fma(s.n, f32(f, 0x1.62e43p-1), fma(f * f, q, f));
}

// log(1 + u + rest) for u > -1 finite and a tiny rest (or null).
Expr log_plus_one(Expr u, Expr rest = {}) {
  const Expr one = f32(u, 1);
  const Expr sum = u + one;
  // What the sum lost, exactly: the larger operand goes first.
  Expr low = select(gt(u, one), one - (sum - u), u - (sum - one));
  if (rest) low = low + rest;
  return log_of(split(sum, low));
}

}  // namespace

Expr log(Expr x) {
  return by_way_of_f32(x, [](Expr v) {
    // Denormals are made normal first.
    const Expr tiny = lt(v, f32(v, 0x1p-126));
    Split s = split(select(tiny, v * f32(v, 0x1p23), v), {});
    s.n = s.n + select(tiny, f32(v, -23), f32(v, 0));
    // inf and NaN give themselves, zero gives -inf, what is below NaN.
    const Expr out = select(eq(v, f32(v, 0)), f32(v, -kInf), f32(v, std::nan("")));
    return select(lt(v, f32(v, kInf)), select(gt(v, f32(v, 0)), log_of(s), out), v);
  });
}

Expr log1p(Expr x) {
  return by_way_of_f32(x, [](Expr v) {
    const Expr out = select(eq(v, f32(v, -1)), f32(v, -kInf), f32(v, std::nan("")));
    // Where the sum is 1 the function is the identity (it also keeps -0 and denormals).
    const Expr y = select(lt(abs(v), f32(v, 0x1p-25)), v, log_plus_one(v));
    return select(lt(v, f32(v, kInf)), select(gt(v, f32(v, -1)), y, out), v);
  });
}

// asinh a = log1p(a + a^2 / (1 + sqrt(1 + a^2))), and log(2 a) from 2^12 on, where the rest is below 2^-25.
Expr asinh(Expr x) {
  return by_way_of_f32(x, [](Expr v) {
    const Expr a = abs(v), one = f32(v, 1);
    const Expr capped = min(a, f32(v, 4096));
    const Expr square = capped * capped;
    const Expr w = square / (one + unary(OpCode::kSqrt, square + one));
    const Expr u = capped + w;
    const Expr large = log_of(split(a, {})) + f32(v, 0x1.62e43p-1);
    const Expr y =
        select(lt(a, f32(v, 4096)), log_plus_one(u, w - (u - capped)), select(lt(a, f32(v, kInf)), large, a));
    return with_sign_of(select(lt(a, f32(v, 0x1p-12)), a, y), v);
  });
}

// acosh x = log1p(t + sqrt(2 t + t^2)) with t = x - 1
Expr acosh(Expr x) {
  return by_way_of_f32(x, [](Expr v) {
    const Expr t = min(v, f32(v, 4096)) - f32(v, 1);  // exact below 2
    const Expr twice = t + t, square = fma(t, t, twice);
    const Expr root = unary(OpCode::kSqrt, square);
    const Expr u = t + root;
    // What the root misses: of its own rounding and of the square's; 0 / tiny at t = 0.
    const Expr miss = fma(negate(root), root, square) + fma(t, t, twice - square);
    const Expr rest = t - (u - root) + miss / max(root + root, f32(v, 0x1p-60));
    const Expr large = log_of(split(v, {})) + f32(v, 0x1.62e43p-1);
    const Expr y =
        select(lt(v, f32(v, 4096)), log_plus_one(u, rest), select(lt(v, f32(v, kInf)), large, v));
    return select(lt(v, f32(v, 1)), f32(v, std::nan("")), y);
  });
}

// atanh a = log1p(2 a / (1 - a)) / 2
Expr atanh(Expr x) {
  return by_way_of_f32(x, [](Expr v) {
    const Expr a = abs(v), one = f32(v, 1);
    const Expr d = one - a, inverse = one / d, twice = a + a;
    const Expr u = twice * inverse;
    // What u misses: 2 a - u (d + e), with e what d lost.
    const Expr miss = fma(negate(u), (one - d) - a, fma(negate(u), d, twice));
    const Expr y = log_plus_one(u, miss * inverse) * f32(v, 0.5);
    const Expr out = select(eq(a, one), f32(v, kInf), f32(v, std::nan("")));
    return with_sign_of(select(lt(a, f32(v, 0x1p-13)), a, select(lt(a, one), y, out)), v);
  });
}

}  // namespace frit::loop::math
