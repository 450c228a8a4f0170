// Transcendental functions as expressions of IR operations: no library is called, so every backend and machine with fma
// computes the same bits. One polynomial per function; -inf, +inf, NaN and denormals come out right (denormal results
// may be flushed by the mode the kernel runs in). Any number of lanes.
//
// f32 is computed in f32. f16, bf16 and f64 go by way of f32, so f64 has f32's accuracy and range here.
// Errors were measured against correctly rounded results in units of the result's last place (ulp) by
// tests/property/loop_math_test.cpp; "ops" counts operations of one evaluation, loads of constants aside.
#pragma once

#include "loop/ir.h"

namespace frit::loop::math {

Expr exp(Expr x);              // <= 1.6 ulp, 16 ops
Expr exp_nonpositive(Expr x);  // the same bits for x <= 0 or NaN; wrong above: 15 ops
Expr exp2(Expr x);             // <= 1.2 ulp, 14 ops
Expr expm1(Expr x);            // <= 1.6 ulp, 31 ops
Expr log(Expr x);              // <= 1.1 ulp, 26 ops
Expr tanh(Expr x);             // <= 1.9 ulp, 22 ops, odd
Expr sigmoid(Expr x);          // 1 / (1 + exp(-x)): <= 2 ulp, also where the result is tiny; 25 ops
Expr erf(Expr x);              // <= 1.8 ulp, 25 ops, odd

}  // namespace frit::loop::math
