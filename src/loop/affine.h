// Questions about how an index expression depends on one variable.
#pragma once

#include <cstdint>
#include <optional>

#include "loop/ir.h"
#include "loop/simplify.h"

namespace frit::loop {

bool depends_on(Expr e, Expr var);
// `e` with every occurrence of the variable replaced by an expression of its type.
Expr substitute(Expr e, Expr var, Expr replacement);
// s where e == (something that does not depend on var) + s * var under the ranges; none where it is not of that form.
std::optional<int64_t> stride_in(Expr e, Expr var, const Ranges& ranges);

}  // namespace frit::loop
