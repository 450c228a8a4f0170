// Transcendental functions as expressions of IR operations: no library is called, so every backend and
// machine with fma computes the same bits. One polynomial per function; -inf, +inf, NaN and denormals come
// out right (denormal results may be flushed by the mode the kernel runs in). Odd functions are odd to the
// bit. Any number of lanes.
//
// f32 is computed in f32. f16, bf16 and f64 go by way of f32, so f64 has f32's accuracy and range here.
// Errors were measured against correctly rounded results in units of the result's last place (ulp) by
// tests/property/loop_math_test.cpp; "ops" counts operations of one evaluation, loads of constants aside.
#pragma once

#include "loop/ir.h"

namespace frit::loop::math {

Expr exp(Expr x);              // <= 1.6 ulp, 16 ops
Expr exp_nonpositive(Expr x);  // the same bits for x <= 0 or NaN; wrong above: 15 ops
Expr exp2(Expr x);             // <= 1.2 ulp, 15 ops
Expr expm1(Expr x);            // <= 1.6 ulp, 33 ops
Expr log(Expr x);              // <= 1.1 ulp, 27 ops
Expr log1p(Expr x);            // <= 1.8 ulp, 35 ops
Expr tanh(Expr x);             // <= 1.9 ulp, 22 ops
Expr sigmoid(Expr x);          // 1 / (1 + exp(-x)): <= 2 ulp, also where the result is tiny; 29 ops
Expr erf(Expr x);              // <= 1.8 ulp, 25 ops

Expr sinh(Expr x);   // <= 2 ulp, 34 ops
Expr cosh(Expr x);   // <= 1.6 ulp, 24 ops
Expr asinh(Expr x);  // <= 2 ulp, 62 ops
Expr acosh(Expr x);  // <= 2 ulp, 67 ops
Expr atanh(Expr x);  // <= 2 ulp, 47 ops

// Right for all finite arguments, however large (which costs 60 of their ops). An infinite one gives NaN.
Expr sin(Expr x);   // <= 1.7 ulp, 103 ops
Expr cos(Expr x);   // <= 1.7 ulp, 102 ops
Expr tan(Expr x);   // <= 2.1 ulp, 111 ops
Expr asin(Expr x);  // <= 2 ulp, 18 ops
Expr acos(Expr x);  // <= 1.4 ulp, 23 ops
Expr atan(Expr x);  // <= 1.4 ulp, 20 ops

// C's pow with all of its special cases.
Expr pow(Expr base, Expr exponent);  // <= 2.7 ulp (2.6 was found in 10^8 samples), 95 ops

}  // namespace frit::loop::math
