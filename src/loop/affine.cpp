#include "loop/affine.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "loop/build.h"
#include "loop/poly.h"
#include "loop/simplify.h"

namespace frit::loop {

namespace {

bool occurs(const ExprNode* e, const ExprNode* var, std::unordered_set<const ExprNode*>& seen) {
  if (!e) return false;
  if (e == var) return true;
  if (!seen.insert(e).second) return false;
  return occurs(e->a, var, seen) || occurs(e->b, var, seen) || occurs(e->c, var, seen);
}

class Substitution {
 public:
  Substitution(Expr var, Expr replacement) { done_[var.node] = replacement; }
  Expr apply(Expr e) {
    if (!e) return e;
    if (const auto it = done_.find(e.node); it != done_.end()) return it->second;
    const Expr a = apply({e->a}), b = apply({e->b}), c = apply({e->c});
    const bool same = a.node == e->a && b.node == e->b && c.node == e->c;
    const Expr out = same ? e : rebuild(e, a, b, c);
    return done_[e.node] = out;
  }

 private:
  std::unordered_map<const ExprNode*, Expr> done_;
};

}  // namespace

bool depends_on(Expr e, Expr var) {
  std::unordered_set<const ExprNode*> seen;
  return occurs(e.node, var.node, seen);
}

Expr substitute(Expr e, Expr var, Expr replacement) { return Substitution(var, replacement).apply(e); }

std::optional<Expr> stride_expr_in(Expr e, Expr var, const Ranges& ranges) {
  if (!e || e->type.lanes != 1 || e->type != var->type) return std::nullopt;
  const Poly p = poly_of(simplify(e, ranges), ranges,
                         {.wrapping = true});  // a difference holds in wrapping arithmetic as well
  Poly slope;
  for (const Term& t : p.terms) {
    Term factor = t;
    const auto it = std::find(factor.atoms.begin(), factor.atoms.end(), var.node);
    const bool linear = it != factor.atoms.end();
    if (linear) factor.atoms.erase(it);
    for (const ExprNode* a : factor.atoms) {
      if (depends_on({a}, var)) return std::nullopt;
    }
    if (linear) slope.terms.push_back(std::move(factor));
  }
  return to_expr(slope, *e->context, e->type.dtype);
}

std::optional<int64_t> stride_in(Expr e, Expr var, const Ranges& ranges) {
  const std::optional<Expr> stride = stride_expr_in(e, var, ranges);
  int64_t value = 0;
  if (!stride || !as_int(*stride, &value)) return std::nullopt;
  return value;
}

}  // namespace frit::loop
