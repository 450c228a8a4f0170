// Trigonometric functions and their inverses. Polynomials fitted like those of math_exp.cpp; the reduction is
// Cody and Waite's (1980) with fused steps below 2^16 and Payne and Hanek's (1983) above, both always
// evaluated: there are no branches in an expression.
#include <cmath>
#include <limits>

#include "loop/math.h"
#include "loop/math_detail.h"

namespace frit::loop::math {

namespace {

constexpr double kHalfPi = 0x1.921fb6p+0, kHalfPiLow = -0x1.777a5cp-25, kHalfPiLowest = -0x1.ee59dap-50;
constexpr double kPi = 0x1.921fb6p+1, kPiLow = -0x1.777a5cp-24;

// a = quadrant * pi/2 + r with |r| <= pi/4 + 0.004 (the quotient is rounded).
struct Reduced {
  Expr r;
  Expr quadrant;  // i32, only its low two bits count
  Expr rest;      // what the last rounding of r lost
};

Expr u32(Expr like, int64_t value) { return int_const(*like->context, value, DType::kU32); }
Expr lower(Expr x, int64_t n) { return binary(OpCode::kLShr, x, int_const(*x->context, n, x->type.dtype)); }

// 2^16 <= a < inf. a = m 2^(e - 23); the product of m with the 96 bits of 2/pi from bit e - 25 on is a * 2/pi
// modulo 4, scaled by 2^94. Earlier bits contribute multiples of 4, later ones less than 2^-70.
Reduced reduce_large(Expr a) {
  static constexpr int64_t kTwoOverPi[] = {
      0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
      0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561};  // after 32 zero bits
  const Expr bits = bitcast(a, DType::kU32);
  const Expr position = lower(bits, 23) - u32(a, 127 - 7);  // e + 7
  const Expr word = lower(position, 5), shift = bit_and(position, u32(a, 31));
  const auto is_on = [&](int64_t bit) { return ne(bit_and(word, u32(a, bit)), u32(a, 0)); };
  const Expr by_1 = is_on(1), by_2 = is_on(2), by_4 = is_on(4);
  const auto word_at = [&](int k) {
    const auto at = [&](int i) { return u32(a, kTwoOverPi[k + i]); };
    return select(by_4, at(4), select(by_2, select(by_1, at(3), at(2)), select(by_1, at(1), at(0))));
  };
  const Expr w[] = {word_at(0), word_at(1), word_at(2), word_at(3)};
  const auto window = [&](int k) {
    const Expr high = binary(OpCode::kShl, w[k], shift);
    const Expr low = binary(OpCode::kLShr, lower(w[k + 1], 1), u32(a, 31) - shift);
    return cast(bit_or(high, low), DType::kU64);
  };
  const Expr m = cast(bit_or(bit_and(bits, u32(a, 0x7fffff)), u32(a, 0x800000)), DType::kU64);
  const Expr middle = m * window(1) + lower(m * window(2), 32);
  const Expr top = m * window(0) + lower(middle, 32);
  const Expr high = cast(top, DType::kU32), low = cast(middle, DType::kU32);
  // The top two bits, rounded, are the quadrant; what is left is a signed fraction of 64 bits.
  const Expr quadrant = lower(high + u32(a, 1 << 29), 30);
  const Expr fraction = bitcast(bit_or(binary(OpCode::kShl, high, u32(a, 2)), lower(low, 30)), DType::kI32);
  const Expr rest = bitcast(binary(OpCode::kShl, low, u32(a, 2)), DType::kI32);
  // Its magnitude (but for the last bit), in two floats: 23 bits that convert exactly, and what follows.
  const Expr negative = shift_right(fraction, 31);
  const auto magnitude = [&](Expr x) { return binary(OpCode::kXor, x, negative); };
  const auto to_float = [](Expr x) { return cast(x, DType::kF32); };
  const Expr whole = magnitude(fraction);
  const Expr tail = bitcast(lower(bitcast(magnitude(rest), DType::kU32), 1), DType::kI32);
  const Expr f = to_float(bit_and(whole, i32(a, ~0xff))) * f32(a, 0x1p-32);
  const Expr f_low =
      fma(to_float(bit_and(whole, i32(a, 0xff))), f32(a, 0x1p-32), to_float(tail) * f32(a, 0x1p-63));
  const Expr r = fma(f, f32(a, kHalfPi), fma(f, f32(a, kHalfPiLow), f_low * f32(a, kHalfPi)));
  return {with_sign_of(r, from_bits(negative)), bitcast(quadrant, DType::kI32), f32(a, 0)};
}

// a >= 0, or NaN; infinity reduces to NaN.
Reduced reduce(Expr a) {
  const Expr t = fma(a, f32(a, 0x1.45f306p-1), f32(a, kRound));
  const Expr n = t - f32(a, kRound);
  // The first step is exact: both terms are multiples of 2^-23 (or the argument is small).
  Expr r = fma(n, f32(a, -kHalfPi), a);
  const Expr before = fma(n, f32(a, -kHalfPiLow), r);
  r = fma(n, f32(a, -kHalfPiLowest), before);
  const Expr rest = fma(n, f32(a, -kHalfPiLowest), before - r);
  const Reduced large = reduce_large(a);
  const Expr is_large = ge(a, f32(a, 0x1p16));
  return {select(is_large, large.r + (a - a), r), select(is_large, large.quadrant, bits_of(t)),
          select(is_large, large.rest, rest)};
}

// Errors 2^-27.8 and 2^-32.9.
Expr sin_poly(Expr r, Expr z) {
  return fma(r * z, poly(z, {-0x1.555544p-3, 0x1.1106c6p-7, -0x1.991c2p-13}), r);
}
Expr cos_poly(Expr z) { return poly(z, {1, -0.5, 0x1.55554ap-5, -0x1.6c0c2p-10, 0x1.99e428p-16}); }

Expr is_odd(Expr quadrant) { return ne(bit_and(quadrant, i32(quadrant, 1)), i32(quadrant, 0)); }
// y with its sign flipped where bit 1 of the quadrant is on.
Expr flipped_in_half(Expr y, Expr quadrant) {
  const Expr sign = shift_left(bit_and(quadrant, i32(y, 2)), 30);
  return from_bits(binary(OpCode::kXor, bits_of(y), sign));
}
Expr sign_bit(Expr x) { return bit_and(bits_of(x), i32(x, INT32_MIN)); }

}  // namespace

Expr sin(Expr x) {
  return by_way_of_f32(x, [](Expr v) {
    const Reduced reduced = reduce(abs(v));
    const Expr r = reduced.r, quadrant = reduced.quadrant;
    const Expr z = r * r;
    const Expr y = select(is_odd(quadrant), cos_poly(z), sin_poly(r, z));
    return from_bits(binary(OpCode::kXor, bits_of(flipped_in_half(y, quadrant)), sign_bit(v)));
  });
}

Expr cos(Expr x) {
  return by_way_of_f32(x, [](Expr v) {
    const Reduced reduced = reduce(abs(v));
    const Expr r = reduced.r, quadrant = reduced.quadrant;
    const Expr z = r * r;
    const Expr y = select(is_odd(quadrant), sin_poly(r, z), cos_poly(z));
    return flipped_in_half(y, quadrant + i32(v, 1));
  });
}

Expr tan(Expr x) {
  return by_way_of_f32(x, [](Expr v) {
    const auto [r, quadrant, rest] = reduce(abs(v));
    const Expr z = r * r;
    // tan r = r + r z p, error 2^-29.3; in odd quadrants -1 / tan r
    const Expr p = poly(z, {0x1.555562p-2, 0x1.110d1ap-3, 0x1.baf0cp-5, 0x1.5bd4a8p-6, 0x1.67931cp-7,
                            -0x1.6d5f94p-14, 0x1.2494f6p-8});
    const Expr cube = r * z;
    const Expr t = fma(cube, p, rest) + r;
    // One Newton step on the reciprocal, with what t lost.
    const Expr inverse = f32(v, -1) / t, t_low = fma(cube, p, rest + (r - t));
    const Expr miss = fma(inverse, t_low, fma(inverse, t, f32(v, 1)));
    // At 0 and where t underflows there is nothing to correct, and no odd quadrant.
    const Expr y = select(is_odd(quadrant), fma(inverse, miss, inverse), t);
    return from_bits(binary(OpCode::kXor, bits_of(y), sign_bit(v)));
  });
}

namespace {

// For a = |x|: arcsin of a where a <= 1/2, of sqrt((1 - a) / 2) above. Error 2^-27.6.
struct ArcSine {
  Expr is_big;
  Expr value;
};
ArcSine arc_sine(Expr a) {
  const Expr is_big = gt(a, f32(a, 0.5));
  const Expr z = select(is_big, fma(a, f32(a, -0.5), f32(a, 0.5)), a * a);
  const Expr s = select(is_big, unary(OpCode::kSqrt, z), a);
  const Expr p = poly(z, {0x1.5555c8p-3, 0x1.3301fep-4, 0x1.747ccp-5, 0x1.8c308ep-6, 0x1.596aaap-5});
  return {is_big, fma(s * z, p, s)};
}

}  // namespace

Expr asin(Expr x) {
  return by_way_of_f32(x, [](Expr v) {
    const auto [is_big, value] = arc_sine(abs(v));
    const Expr big = fma(value, f32(v, -2), f32(v, kHalfPi)) + f32(v, kHalfPiLow);
    return with_sign_of(select(is_big, big, value), v);
  });
}

Expr acos(Expr x) {
  return by_way_of_f32(x, [](Expr v) {
    const auto [is_big, value] = arc_sine(abs(v));
    const Expr twice = value + value;
    const Expr near_end = select(lt(v, f32(v, 0)), (f32(v, kPi) - twice) + f32(v, kPiLow), twice);
    const Expr middle = f32(v, kHalfPi) - (with_sign_of(value, v) - f32(v, kHalfPiLow));
    return select(is_big, near_end, middle);
  });
}

Expr atan(Expr x) {
  return by_way_of_f32(x, [](Expr v) {
    const Expr a = abs(v);
    const Expr is_big = gt(a, f32(v, 1));
    const Expr r = select(is_big, f32(v, 1) / a, a);
    const Expr z = r * r;
    // atan r = r + r z p on [0, 1], error 2^-28.5
    const Expr p = poly(z, {-0x1.55553ep-2, 0x1.9991e6p-3, -0x1.2420b6p-3, 0x1.c08f66p-4, -0x1.58156cp-4,
                            0x1.da5f2p-5, -0x1.fdfce4p-6, 0x1.64c2ccp-7, -0x1.d49a3ap-10});
    const Expr t = fma(r * z, p, r);
    return with_sign_of(select(is_big, f32(v, kHalfPi) - (t - f32(v, kHalfPiLow)), t), v);
  });
}

}  // namespace frit::loop::math
