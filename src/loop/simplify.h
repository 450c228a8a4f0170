// The simplifier: rewrites expressions and functions to cheaper equal ones, with what is known about ranges.
//
// It undoes the index arithmetic of tiles and layouts: quotients and remainders of mixed-radix sums,
// comparisons, minima and masks that ranges decide, quotients of ramps that stay inside of one block, loops
// of no or one iteration, lets that nobody uses. Floating point arithmetic is never changed beyond what the
// makers fold.
#pragma once

#include "loop/ranges.h"

namespace frit::loop {

Expr simplify(Expr e, const Ranges& ranges);
// With variables replaced on the way, by id.
using Replacements = std::unordered_map<int32_t, Expr>;
Expr simplify(Expr e, const Ranges& ranges, const Replacements& replacements);

// Every statement under the ranges of its scope. The result shares the context and has the same signature.
LoopFn simplify(const LoopFn& fn);
// Facts about sizes, known to the caller.
LoopFn simplify(const LoopFn& fn, const Ranges& sizes);

}  // namespace frit::loop
