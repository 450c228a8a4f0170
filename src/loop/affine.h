// How an index depends on a variable: strides decide what can be vectorised, substitution moves expressions
// between loops.
#pragma once

#include <optional>

#include "loop/ranges.h"

namespace frit::loop {

bool depends_on(Expr e, Expr var);
// e with each occurrence of var (any node, in fact) replaced, by the makers.
Expr substitute(Expr e, Expr var, Expr replacement);

// e(var + 1) - e(var), where that is one constant for all values of var under the ranges; 0 where e does not
// depend on it.
std::optional<int64_t> stride_in(Expr e, Expr var, const Ranges& ranges = {});
// The same where it may be an expression over other variables and sizes (a run-time stride).
std::optional<Expr> stride_expr_in(Expr e, Expr var, const Ranges& ranges = {});

}  // namespace frit::loop
