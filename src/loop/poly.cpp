#include "loop/poly.h"

#include <algorithm>

#include "loop/build.h"

namespace frit::loop {

namespace {

constexpr size_t kMaxTerms = 24;
constexpr int kMaxSteps = 64;  // of one proof

bool atoms_less(const Term& a, const Term& b) {
  return std::lexicographical_compare(
      a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end(),
      [](const ExprNode* x, const ExprNode* y) { return x->serial < y->serial; });
}

void normalize(Poly& p) {
  std::sort(p.terms.begin(), p.terms.end(), atoms_less);
  size_t out = 0;
  for (size_t i = 0; i < p.terms.size(); ++i) {
    if (out > 0 && p.terms[out - 1].atoms == p.terms[i].atoms) {
      if (__builtin_add_overflow(p.terms[out - 1].coef, p.terms[i].coef, &p.terms[out - 1].coef))
        p.valid = false;
    } else {
      if (out > 0 && p.terms[out - 1].coef == 0) --out;
      if (out != i) p.terms[out] = std::move(p.terms[i]);
      ++out;
    }
  }
  if (out > 0 && p.terms[out - 1].coef == 0) --out;
  p.terms.resize(out);
}

Poly atom(const ExprNode* e) {
  Poly p;
  p.terms.push_back({1, {e}});
  return p;
}

class PolyReader {
 public:
  PolyReader(const Ranges& ranges, PolyOptions options) : ranges_(ranges), options_(options) {}

  Poly read(const ExprNode* e, int depth) {
    if (e == options_.whole || depth > 60) return atom(e);
    if (e->kind == ExprKind::kInt) return poly_constant(e->bits);
    if (e->kind == ExprKind::kVar && options_.through_lets) {
      const Ranges::Fact* fact = ranges_.find(e);
      if (fact && fact->definition) return read(fact->definition.node, depth + 1);
      return atom(e);
    }
    const bool sum = e->kind == ExprKind::kBinary &&
                     (e->op == OpCode::kAdd || e->op == OpCode::kSub || e->op == OpCode::kMul);
    const bool negated = e->kind == ExprKind::kUnary && e->op == OpCode::kNeg;
    if ((!sum && !negated) || !(options_.wrapping || ranges_.is_exact({e}))) return atom(e);
    const Poly a = read(e->a, depth + 1);
    const Poly p = negated ? scaled(a, -1) : combine(e->op, a, read(e->b, depth + 1));
    return p.valid && p.terms.size() <= kMaxTerms ? p : atom(e);
  }

 private:
  static Poly combine(OpCode op, const Poly& a, const Poly& b) {
    if (op == OpCode::kAdd) return a + b;
    if (op == OpCode::kSub) return a - b;
    if (a.terms.size() * b.terms.size() > kMaxTerms) {
      Poly too_large;
      too_large.valid = false;
      return too_large;
    }
    return a * b;
  }

  const Ranges& ranges_;
  PolyOptions options_;
};

bool contains(const Term& t, const ExprNode* a) {
  return std::find(t.atoms.begin(), t.atoms.end(), a) != t.atoms.end();
}

Term without(Term t, const std::vector<const ExprNode*>& atoms, bool* found) {
  *found = true;
  for (const ExprNode* a : atoms) {
    const auto it = std::find(t.atoms.begin(), t.atoms.end(), a);
    if (it == t.atoms.end()) {
      *found = false;
      return t;
    }
    t.atoms.erase(it);
  }
  return t;
}

// Finds a value below p at which its sign is easier to see: atoms are replaced by bounds that are
// expressions.
class Prover {
 public:
  explicit Prover(const Ranges& ranges) : ranges_(ranges) {}

  bool nonnegative(const Poly& p, int depth) {
    if (!p.valid || ++steps_ > kMaxSteps) return false;
    if (range_of(p, ranges_).lo >= 0) return true;
    if (depth == 0) return false;
    std::vector<const ExprNode*> seen;
    for (const Term& term : p.terms) {
      for (const ExprNode* a : term.atoms) {
        if (std::find(seen.begin(), seen.end(), a) != seen.end()) continue;
        seen.push_back(a);
        if (bounded_away(p, a, depth)) return true;
      }
    }
    return false;
  }

 private:
  // p = k * a + rest with k free of a. Where k <= 0 an upper bound of a gives a lower one of p, where k >= 0
  // a lower one.
  bool bounded_away(const Poly& p, const ExprNode* a, int depth) {
    Poly k, rest;
    for (const Term& t : p.terms) {
      if (!contains(t, a)) {
        rest.terms.push_back(t);
        continue;
      }
      bool found = false;
      Term factor = without(t, {a}, &found);
      if (contains(factor, a)) return false;
      k.terms.push_back(std::move(factor));
    }
    normalize(k);
    const Range sign = range_of(k, ranges_);
    if (sign.hi <= 0) {
      for (const Poly& most : upper_bounds(a, !k.is_constant())) {
        if (nonnegative(k * most + rest, depth - 1)) return true;
      }
    }
    if (sign.lo >= 0) {
      for (const Poly& least : lower_bounds(a, !k.is_constant())) {
        if (nonnegative(k * least + rest, depth - 1)) return true;
      }
    }
    return divided(a, k, rest, sign, depth);
  }

  // a = floor_div(x, d): x - d + 1 <= d * a <= x, where each term of k holds d.
  bool divided(const ExprNode* a, const Poly& k, const Poly& rest, Range sign, int depth) {
    if (a->kind != ExprKind::kBinary || a->op != OpCode::kFloorDiv || ranges_.of({a->b}).lo < 0) return false;
    const Poly d = poly_of({a->b}, ranges_);
    if (d.terms.size() != 1) return false;
    const Split parts = split(k, d.terms[0]);
    if (!parts.rest.is_zero()) return false;
    const Poly x = poly_of({a->a}, ranges_);
    if (sign.hi <= 0) return nonnegative(parts.quotient * x + rest, depth - 1);
    if (sign.lo >= 0) return nonnegative(parts.quotient * (x - d + poly_constant(1)) + rest, depth - 1);
    return false;
  }

  // Constant bounds of an atom with a constant factor are in the interval already.
  std::vector<Poly> upper_bounds(const ExprNode* a, bool constants) const {
    std::vector<Poly> bounds;
    const Range r = ranges_.of({a});
    if (const Ranges::Fact* fact = ranges_.find(a); fact && fact->end) {
      Poly most = poly_of(fact->end, ranges_) - poly_constant(1);
      if (!most.is_constant()) bounds.push_back(std::move(most));
    }
    if (constants && r.hi != Range::kMax) bounds.push_back(poly_constant(r.hi));
    if (a->kind == ExprKind::kBinary) {
      const bool positive = ranges_.of({a->b}).lo >= 0;
      if (a->op == OpCode::kFloorMod && positive && a->b->kind != ExprKind::kInt)
        bounds.push_back(poly_of({a->b}, ranges_) - poly_constant(1));
      if (a->op == OpCode::kMin) {
        bounds.push_back(poly_of({a->a}, ranges_));
        bounds.push_back(poly_of({a->b}, ranges_));
      }
    }
    return bounds;
  }
  std::vector<Poly> lower_bounds(const ExprNode* a, bool constants) const {
    std::vector<Poly> bounds;
    const Range r = ranges_.of({a});
    if (constants && r.lo != Range::kMin) bounds.push_back(poly_constant(r.lo));
    if (a->kind == ExprKind::kBinary && a->op == OpCode::kMax) {
      bounds.push_back(poly_of({a->a}, ranges_));
      bounds.push_back(poly_of({a->b}, ranges_));
    }
    return bounds;
  }

  const Ranges& ranges_;
  int steps_ = 0;
};

int64_t times(int64_t a, int64_t b, bool* overflow) {
  int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) *overflow = true;
  return out;
}

}  // namespace

Poly poly_constant(int64_t value) {
  Poly p;
  if (value != 0) p.terms.push_back({value, {}});
  return p;
}

Poly operator+(const Poly& a, const Poly& b) {
  Poly p = a;
  p.valid = a.valid && b.valid;
  p.terms.insert(p.terms.end(), b.terms.begin(), b.terms.end());
  normalize(p);
  return p;
}

Poly scaled(const Poly& a, int64_t factor) {
  if (factor == 0) return {};
  Poly p = a;
  bool overflow = false;
  for (Term& t : p.terms) t.coef = times(t.coef, factor, &overflow);
  p.valid = p.valid && !overflow;
  return p;
}

Poly operator-(const Poly& a, const Poly& b) { return a + scaled(b, -1); }

Poly operator*(const Poly& a, const Poly& b) {
  Poly p;
  bool overflow = false;
  for (const Term& x : a.terms) {
    for (const Term& y : b.terms) {
      Term t;
      t.coef = times(x.coef, y.coef, &overflow);
      t.atoms = x.atoms;
      t.atoms.insert(t.atoms.end(), y.atoms.begin(), y.atoms.end());
      std::sort(t.atoms.begin(), t.atoms.end(),
                [](const ExprNode* u, const ExprNode* v) { return u->serial < v->serial; });
      p.terms.push_back(std::move(t));
    }
  }
  p.valid = a.valid && b.valid && !overflow;
  normalize(p);
  return p;
}

Poly poly_of(Expr e, const Ranges& ranges, PolyOptions options) {
  return PolyReader(ranges, options).read(e.node, 0);
}

Expr to_expr(const Poly& p, Context& context, DType dtype) {
  Expr sum;
  for (const Term& t : p.terms) {
    if (t.atoms.empty()) continue;
    Expr product;
    for (const ExprNode* a : t.atoms) product = product ? product * Expr{a} : Expr{a};
    if (sum && t.coef == -1)
      sum = sum - product;
    else if (const Expr scaled_product = product * t.coef; sum)
      sum = sum + scaled_product;
    else
      sum = scaled_product;
  }
  return sum ? sum + p.constant() : int_const(context, p.constant(), dtype);
}

Poly with_atom_replaced(const Poly& p, const ExprNode* atom, const Poly& by) {
  Poly out;
  out.valid = p.valid;
  for (const Term& t : p.terms) {
    Term rest = t;
    Poly product = poly_constant(1);
    for (auto it = rest.atoms.begin(); it != rest.atoms.end();) {
      if (*it == atom)
        product = product * by, it = rest.atoms.erase(it);
      else
        ++it;
    }
    Poly factor;
    factor.terms.push_back(std::move(rest));
    out = out + factor * product;
  }
  return out;
}

Range range_of(const Poly& p, const Ranges& ranges) {
  if (!p.valid) return {};
  Range sum{0, 0};
  for (const Term& t : p.terms) {
    Range product{t.coef, t.coef};
    for (const ExprNode* a : t.atoms) product = product_of(product, ranges.of({a}));
    sum = sum_of(sum, product);
  }
  return sum;
}

bool is_nonnegative(const Poly& p, const Ranges& ranges) {
  if (range_of(p, ranges).lo >= 0) return true;
  // Short proofs first: most facts need one or two replacements.
  for (const int depth : {1, 2, 4, 6}) {
    if (Prover(ranges).nonnegative(p, depth)) return true;
  }
  return false;
}

Split split(const Poly& p, const Term& d) {
  Split s;
  s.quotient.valid = s.rest.valid = p.valid;
  for (const Term& t : p.terms) {
    bool found = false;
    Term q = without(t, d.atoms, &found);
    if (found && q.coef % d.coef == 0) {
      q.coef /= d.coef;
      s.quotient.terms.push_back(std::move(q));
    } else if (t.atoms.empty() && d.atoms.empty()) {
      int64_t r = t.coef % d.coef;
      if (r < 0) r += d.coef;
      if (t.coef != r) s.quotient.terms.push_back({(t.coef - r) / d.coef, {}});
      s.rest.terms.push_back({r, {}});
    } else {
      s.rest.terms.push_back(t);
    }
  }
  normalize(s.quotient);
  normalize(s.rest);
  return s;
}

bool Ranges::proves_le(Expr a, Expr b) const {
  if (a->type != b->type || a->type.lanes != 1 || is_float(a->type.dtype)) return false;
  const Range ra = of(a), rb = of(b);
  if (ra.hi != Range::kMax && rb.lo != Range::kMin && ra.hi <= rb.lo) return true;
  if (dtype_bytes(a->type.dtype) == 8 && is_unsigned_int(a->type.dtype)) return false;
  return is_nonnegative(poly_of(b, *this) - poly_of(a, *this), *this);
}
bool Ranges::proves_lt(Expr a, Expr b) const {
  if (a->type != b->type || a->type.lanes != 1 || is_float(a->type.dtype)) return false;
  const Range ra = of(a), rb = of(b);
  if (ra.hi != Range::kMax && rb.lo != Range::kMin && ra.hi < rb.lo) return true;
  if (dtype_bytes(a->type.dtype) == 8 && is_unsigned_int(a->type.dtype)) return false;
  return is_nonnegative(poly_of(b, *this) - poly_of(a, *this) - poly_constant(1), *this);
}

}  // namespace frit::loop
