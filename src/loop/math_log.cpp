// log and what is made of it; fitted like math_exp.cpp.
#include <cmath>
#include <limits>

#include "loop/math.h"
#include "loop/math_detail.h"

namespace frit::loop::math {

Expr log(Expr x) {
  return by_way_of_f32(x, [](Expr v) {
    // v = 2^n m with 2/3 <= m < 4/3; denormals are made normal first.
    const Expr tiny = lt(v, f32(v, 0x1p-126));
    const Expr bits = bits_of(select(tiny, v * f32(v, 0x1p23), v));
    const Expr exponent = bit_and(bits - i32(v, 0x3f2aaaab), i32(v, -0x800000));  // n << 23
    const Expr f = from_bits(bits - exponent) - f32(v, 1);
    const Expr n = fma(cast(exponent, DType::kF32), f32(v, 0x1p-23), select(tiny, f32(v, -23), f32(v, 0)));
    // log(1 + f) = f + f^2 q on |f| <= 1/3, error 2^-25.2
    const Expr q = poly(f, {-0x1.ffffd6p-2, 0x1.5554fcp-2, -0x1.00145p-2, 0x1.99d3a8p-3, -0x1.503884p-3, 0x1.1ea94cp-3,
                            -0x1.3b0e5cp-3, 0x1.1f243ap-3});
    const Expr y = fma(n, f32(v, 0x1.62e43p-1), fma(f * f, q, f));
    // inf and NaN give themselves, zero gives -inf, what is below NaN.
    constexpr double kInf = std::numeric_limits<double>::infinity();
    const Expr out = select(eq(v, f32(v, 0)), f32(v, -kInf), f32(v, std::nan("")));
    return select(lt(v, f32(v, kInf)), select(gt(v, f32(v, 0)), y, out), v);
  });
}

}  // namespace frit::loop::math
