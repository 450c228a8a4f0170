// exp and what is made of it. The polynomials are minimax fits of relative error (Lawson-weighted least
// squares, with coefficients rounded to f32 one after the other and the rest fitted again); the method is
// Tang's (1989): reduce by multiples of a constant kept in two parts, polynomial, scale.
#include "loop/math.h"
#include "loop/math_detail.h"

namespace frit::loop::math {

namespace {

struct ExpOptions {
  bool long_poly = false;  // one term more, worth 0.2 ulp
  bool keep_rest = false;  // what rounding the reduced argument loses, worth 0.4 ulp
  Expr low;                // a tiny addend of the argument (with keep_rest), or null
  double factor = 1;       // a power of two
};
// exp(x + low) * factor for -104 <= x <= 89 (or NaN). Reduces by multiples of 2 ln 2, so that the scale 4^m
// is applied as two factors 2^m: neither overflows or becomes denormal, and a denormal result is rounded
// once.
Expr exp_within(Expr x, const ExpOptions& options = {}) {
  constexpr double kTwoLn2High = 0x1.62e4p+0;  // 16 bits: its products with m are exact
  constexpr double kTwoLn2Low = 0x1.7f7d1cp-19;
  const auto [m, scale] = round_product(x, 0x1.715476p-1);  // 1 / (2 ln 2)
  const Expr high = fma(m, f32(x, -kTwoLn2High), x);        // exact
  Expr r, rest;
  if (options.keep_rest) {
    const Expr low = options.low ? fma(m, f32(x, -kTwoLn2Low), options.low) : m * f32(x, -kTwoLn2Low);
    r = high + low;
    rest = low - (r - high);
  } else {
    r = fma(m, f32(x, -kTwoLn2Low), high);
  }
  // exp(r) = 1 + r + r^2 q on |r| <= ln 2, error 2^-26.0 or 2^-30.2
  const Expr q = options.long_poly ? poly(r, {0.5, 0x1.55555cp-3, 0x1.555534p-5, 0x1.110b6p-7, 0x1.6c2b7ep-10,
                                              0x1.a55fep-13, 0x1.9bdf58p-16})
                                   : poly(r, {0x1.00000cp-1, 0x1.555514p-3, 0x1.5549fp-5, 0x1.1126eap-7,
                                              0x1.71beeap-10, 0x1.9ba69cp-13});
  const Expr h = rest ? fma(r * r, q, rest) + r : fma(r * r, q, r);
  return fma(scale, h, scale) * (scale * f32(x, options.factor));
}

// (exp(r) - 1 - r) / r^2 on |r| <= ln(2) / 2, such that r + r^2 q has error 2^-26.1 relative to exp(r) - 1.
constexpr double kQ[] = {0x1.fffffep-2, 0x1.5554b4p-3, 0x1.5556f4p-5, 0x1.12253ep-7, 0x1.6b9a1ep-10};

// exp(a) / 2 for a >= 0: overflows with sinh and cosh, not before.
Expr half_exp(Expr a) {
  return exp_within(min(a, f32(a, 90)), {.long_poly = true, .keep_rest = true, .low = {}, .factor = 0.5});
}

}  // namespace

Expr exp_of_sum(Expr x, Expr low) {
  return exp_within(x, {.long_poly = true, .keep_rest = true, .low = low, .factor = 1});
}

Expr exp(Expr x) {
  return by_way_of_f32(x, [](Expr v) { return exp_within(max(min(v, f32(v, 89)), f32(v, -104))); });
}

Expr exp_nonpositive(Expr x) {
  return by_way_of_f32(x, [](Expr v) { return exp_within(max(v, f32(v, -104))); });
}

Expr exp2(Expr x) {
  return by_way_of_f32(x, [](Expr v) {
    v = max(min(v, f32(v, 128)), f32(v, -151));
    const auto [m, scale] = round_product(v, 0.5);
    const Expr r = fma(m, f32(v, -2), v);  // exact
    const Expr p = poly(r, {1, 0x1.62e432p-1, 0x1.ebfbf8p-3, 0x1.c6afap-5, 0x1.3b1fe6p-7, 0x1.5dbd8cp-10,
                            0x1.481db8p-13, 0x1.f4e53p-17});
    return p * scale * scale;
  });
}

Expr expm1(Expr x) {
  return by_way_of_f32(x, [](Expr v) {
    // Above 2^24 the -1 is lost, so that exp's scaling is good there; below, 2^n - 1 is exact or harmless.
    const Expr c = max(min(v, f32(v, 80)), f32(v, -20));
    const auto [n, scale] = round_product(c, 0x1.715476p+0);  // 1 / ln 2
    Expr r = fma(n, f32(v, -0x1.62e4p-1), c);
    r = fma(n, f32(v, -0x1.7f7d1cp-20), r);
    const Expr h = fma(r * r, poly(r, {kQ[0], kQ[1], kQ[2], kQ[3], kQ[4]}), r);
    const Expr small = fma(scale, h, scale - f32(v, 1));
    return select(gt(v, f32(v, 80)), exp(v), small);
  });
}

Expr sinh(Expr x) {
  return by_way_of_f32(x, [](Expr v) {
    const Expr a = abs(v);
    const Expr half = half_exp(a);
    const Expr z = a * a;
    // sinh a = a + a z p on [0, 1], error 2^-31.6
    const Expr small = fma(a * z, poly(z, {0x1.555556p-3, 0x1.1110ep-7, 0x1.a022bcp-13, 0x1.756c1ep-19}), a);
    return with_sign_of(select(lt(a, f32(v, 1)), small, half - f32(v, 0.25) / half), v);
  });
}

Expr cosh(Expr x) {
  return by_way_of_f32(x, [](Expr v) {
    const Expr half = half_exp(abs(v));
    return half + f32(v, 0.25) / half;
  });
}

// With w = (exp(2|x|) - 1) / 2: tanh |x| = w / (w + 1). No cancellation anywhere.
Expr tanh(Expr x) {
  return by_way_of_f32(x, [](Expr v) {
    const Expr a = min(abs(v), f32(v, 9.1));                  // from 9.02 on the result rounds to 1
    const auto [n, scale] = round_product(a, 0x1.715476p+1);  // 2 / ln 2
    const Expr r =
        fma(n, f32(v, -0x1.62e43p-2), a);  // half of the reduced argument; n <= 26: one step will do
    const Expr q = poly(r, {2 * kQ[0], 4 * kQ[1], 8 * kQ[2], 16 * kQ[3], 32 * kQ[4]});
    const Expr h = fma(r * r, q, r);
    const Expr w = fma(scale, h, fma(scale, f32(v, 0.5), f32(v, -0.5)));
    const Expr ratio = w / (w + f32(v, 1));
    // Small w: w - w * ratio, since the rounding of w + 1 weighs less there.
    return with_sign_of(select(lt(a, f32(v, 0.4)), fma(negate(w), ratio, w), ratio), v);
  });
}

// e = exp(-|x|) never overflows; the result is 1 / (1 + e), or e / (1 + e) = e - e * (e / (1 + e)), which
// rounds better.
Expr sigmoid(Expr x) {
  return by_way_of_f32(x, [](Expr v) {
    const Expr e = exp_within(max(negate(abs(v)), f32(v, -104)),
                              {.long_poly = true, .keep_rest = true, .low = {}, .factor = 1});
    const Expr positive = ge(v, f32(v, 0));
    const Expr ratio = select(positive, f32(v, 1), e) / (e + f32(v, 1));
    return select(positive, ratio, fma(negate(e), ratio, e));
  });
}

// erf |x| = 1 - exp(-G(|x|)) with G(a) = -ln erfc a = a + a p(a), a smooth function that one polynomial fits
// over the whole range; errors of G are damped by exp(-G). The fit weighs them so: 2^-27.8.
Expr erf(Expr x) {
  return by_way_of_f32(x, [](Expr v) {
    const Expr a = min(abs(v), f32(v, 4.1));  // from 3.92 on the result rounds to 1
    const Expr p = poly(a, {0x1.06eba8p-3, 0x1.45f3p-1, 0x1.a4f8c4p-4, -0x1.39b7cap-6, -0x1.637a3p-13,
                            0x1.b744dap-10, -0x1.4e29b8p-11, 0x1.f28b48p-14, -0x1.3b032ap-17});
    const Expr g = fma(a, p, a);
    const auto [n, scale] = round_product(g, -0x1.715476p+0);
    const Expr r = fma(n, f32(v, 0x1.62e43p-1), g);  // -(the reduced argument)
    const Expr h = fma(r * r, poly(r, {-kQ[0], kQ[1], -kQ[2], kQ[3], -kQ[4]}), r);
    return with_sign_of(fma(scale, h, f32(v, 1) - scale), v);
  });
}

}  // namespace frit::loop::math
