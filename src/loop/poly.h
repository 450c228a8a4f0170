// Integer expressions as polynomials over atoms (variables, sizes, and whatever is not a sum or product).
// Private to src/loop: the common ground of the simplifier, of proofs about orderings and of strides.
#pragma once

#include <optional>
#include <vector>

#include "loop/ranges.h"

namespace frit::loop {

struct Term {
  int64_t coef = 0;
  std::vector<const ExprNode*> atoms;  // factors, sorted by serial, with repetition
};

// Sum of terms with distinct atoms, sorted by them; the constant comes first.
struct Poly {
  std::vector<Term> terms;
  bool valid = true;  // false: a coefficient did not fit

  bool is_zero() const { return terms.empty(); }
  bool is_constant() const { return terms.empty() || (terms.size() == 1 && terms[0].atoms.empty()); }
  int64_t constant() const { return !terms.empty() && terms[0].atoms.empty() ? terms[0].coef : 0; }
};

Poly poly_constant(int64_t value);
Poly operator+(const Poly& a, const Poly& b);
Poly operator*(const Poly& a, const Poly& b);
Poly scaled(const Poly& a, int64_t factor);
Poly operator-(const Poly& a, const Poly& b);

// Of a scalar integer expression. Descends through exact sums and products, and through the definitions of
// lets where `through_lets`; `whole` is taken as an atom wherever it occurs. Too large ones become one atom.
// With `wrapping` it descends through sums and products that wrap, too: the polynomial then holds modulo
// 2^width.
struct PolyOptions {
  bool through_lets = true;
  const ExprNode* whole = nullptr;
  bool wrapping = false;
};
Poly poly_of(Expr e, const Ranges& ranges, PolyOptions options = {});
// Terms in order, the constant last.
Expr to_expr(const Poly& p, Context& context, DType dtype);

Poly with_atom_replaced(const Poly& p, const ExprNode* atom, const Poly& by);

Range range_of(const Poly& p, const Ranges& ranges);
// Proves p >= 0; false says nothing.
bool is_nonnegative(const Poly& p, const Ranges& ranges);

// p = d * quotient + rest for the one-term divisor d, taking what divides exactly.
struct Split {
  Poly quotient, rest;
};
Split split(const Poly& p, const Term& d);

}  // namespace frit::loop
