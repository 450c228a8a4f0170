#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "loop/build.h"
#include "loop/poly.h"
#include "loop/scalar.h"
#include "loop/simplify.h"

namespace frit::loop {

namespace {

// Scalars, splats and ramps: lane i is base + i * step.
struct Lanes {
  Expr base;
  int64_t step = 0;
};
bool as_lanes(Expr e, Lanes* out) {
  if (e->type.lanes == 1)
    *out = {e, 0};
  else if (e->kind == ExprKind::kSplat)
    *out = {{e->a}, 0};
  else if (e->kind == ExprKind::kRamp)
    *out = {{e->a}, e->bits};
  else
    return false;
  return true;
}
Expr from_lanes(Expr base, int64_t step, int32_t lanes) { return ramp(base, step, lanes); }

class Simplifier {
 public:
  Simplifier(const Ranges& ranges, const Replacements* replacements)
      : ranges_(ranges), replacements_(replacements) {}

  Expr apply(Expr e) {
    if (!e) return e;
    if (e->kind == ExprKind::kVar && replacements_) {
      const auto it = replacements_->find(e->id);
      return it == replacements_->end() ? e : it->second;
    }
    if (!e->a) return e;
    if (const auto it = done_.find(e.node); it != done_.end()) return it->second;
    Expr out = rebuild(e, apply({e->a}), apply({e->b}), apply({e->c}));
    // A rule's result may be simplified further; the limit only guards against rules that undo one another.
    if (depth_ < 16) {
      ++depth_;
      if (const Expr better = improve(out); better && !(better == out)) out = apply(better);
      --depth_;
    }
    done_[out.node] = out;
    return done_[e.node] = out;
  }

 private:
  Expr improve(Expr e) {
    if (e->kind != ExprKind::kBinary || is_float(e->a->type.dtype)) return {};
    if (e->a->type.dtype == DType::kBool) return {};
    Lanes a, b;
    if (!as_lanes({e->a}, &a) || !as_lanes({e->b}, &b)) return {};
    if (is_comparison(e->op)) return compare(e, a, b);
    switch (e->op) {
      case OpCode::kMin:
      case OpCode::kMax:
        return choose(e, a, b);
      case OpCode::kFloorDiv:
        return divide(e, a, b, false);
      case OpCode::kFloorMod:
        return divide(e, a, b, true);
      case OpCode::kDiv:
      case OpCode::kRem:
        // Toward zero and toward minus infinity agree on what is not negative.
        return ranges_.of({e->a}).lo >= 0 ? divide(e, a, b, e->op == OpCode::kRem) : Expr{};
      case OpCode::kAdd:
      case OpCode::kSub:
      case OpCode::kMul:
        return e->type.lanes == 1 ? collect(e) : Expr{};
      default:
        return {};
    }
  }

  // ---- orderings
  bool unsigned_wide(Expr e) const { return e->a->type.dtype == DType::kU64; }
  // The lanes' values are those of base + i * step, without wrapping.
  bool exact(Expr e) const { return e->kind != ExprKind::kRamp || ranges_.is_exact(e); }

  // Least and greatest of a - b over all lanes, as polynomials.
  struct Difference {
    Poly least, greatest;
  };
  Difference difference(const Lanes& a, const Lanes& b, int32_t lanes) const {
    const Poly d = poly_of(a.base, ranges_) - poly_of(b.base, ranges_);
    const int64_t span = (a.step - b.step) * (lanes - 1);
    return {d + poly_constant(std::min<int64_t>(span, 0)), d + poly_constant(std::max<int64_t>(span, 0))};
  }
  bool nonnegative(const Poly& p) const { return is_nonnegative(p, ranges_); }
  bool nonpositive(const Poly& p) const { return is_nonnegative(scaled(p, -1), ranges_); }

  bool comparable(Expr e, const Lanes& a, const Lanes& b) const {
    const int64_t limit = int64_t{1} << 40;
    return !unsigned_wide(e) && exact({e->a}) && exact({e->b}) && std::abs(a.step) < limit &&
           std::abs(b.step) < limit;
  }

  Expr compare(Expr e, const Lanes& a, const Lanes& b) {
    if (!comparable(e, a, b)) return {};
    const Difference d = difference(a, b, e->type.lanes);
    const auto decided = [&](bool value) { return const_bits(*e->context, value, e->type); };
    const Poly one = poly_constant(1);
    switch (e->op) {
      case OpCode::kLt:
        if (nonpositive(d.greatest + one)) return decided(true);
        if (nonnegative(d.least)) return decided(false);
        return {};
      case OpCode::kGe:
        if (nonpositive(d.greatest + one)) return decided(false);
        if (nonnegative(d.least)) return decided(true);
        return {};
      case OpCode::kLe:
        if (nonpositive(d.greatest)) return decided(true);
        if (nonnegative(d.least - one)) return decided(false);
        return {};
      case OpCode::kGt:
        if (nonpositive(d.greatest)) return decided(false);
        if (nonnegative(d.least - one)) return decided(true);
        return {};
      default: {
        const bool equal = d.least.is_zero() && d.greatest.is_zero() && d.least.valid;
        const bool apart = nonnegative(d.least - one) || nonpositive(d.greatest + one);
        if (equal || apart) return decided(equal == (e->op == OpCode::kEq));
        return {};
      }
    }
  }

  Expr choose(Expr e, const Lanes& a, const Lanes& b) {
    if (!comparable(e, a, b)) return {};
    const Difference d = difference(a, b, e->type.lanes);
    const bool wants_less = e->op == OpCode::kMin;
    if (nonpositive(d.greatest)) return {wants_less ? e->a : e->b};
    if (nonnegative(d.least)) return {wants_less ? e->b : e->a};
    return {};
  }

  // ---- quotients and remainders
  Expr divide(Expr e, const Lanes& a, const Lanes& b, bool remainder) {
    if (b.step != 0 || !is_int(e->type.dtype) || unsigned_wide(e)) return {};
    const Expr d = b.base;
    if (ranges_.of(d).lo < 0) return {};  // zero is excluded by the program
    if (a.step != 0) return divide_ramp(e, a, d, remainder);
    if (e->type.lanes != 1) return {};  // splats are hoisted by the makers
    return divide_scalar(a.base, d, remainder);
  }

  struct Quotient {
    Poly whole, rest;  // a = d * whole + rest
    Poly d;
    Term divisor;
  };
  bool split_by(Expr a, Expr d, Quotient* q) const {
    q->d = poly_of(d, ranges_);
    bool opaque = false;
    if (q->d.terms.size() != 1 || q->d.terms[0].coef < 1) {
      // Not a single term: one atom, wherever it occurs.
      opaque = true;
      q->divisor = Term{1, {d.node}};
    } else {
      q->divisor = q->d.terms[0];
    }
    const Poly p = poly_of(a, ranges_, {.whole = opaque ? d.node : nullptr});
    if (!p.valid) return false;
    const Split s = split(p, q->divisor);
    q->whole = s.quotient;
    q->rest = opaque ? with_atom_replaced(s.rest, d.node, q->d) : s.rest;
    return q->whole.valid && q->rest.valid;
  }
  // rest is within [0, d).
  bool is_rest(const Poly& rest, const Poly& d) const {
    return nonnegative(rest) && nonnegative(d - rest - poly_constant(1));
  }
  // The parts do not wrap where the whole does not (i64: an index, which never does).
  bool representable(const Quotient& q, DType dtype) const {
    if (dtype == DType::kI64) return true;
    const Range r = range_of(q.rest, ranges_), w = range_of(q.whole, ranges_);
    const int bits = static_cast<int>(dtype_bytes(dtype)) * 8 - is_signed_int(dtype);
    const int64_t hi = (int64_t{1} << bits) - 1, lo = is_signed_int(dtype) ? -hi - 1 : 0;
    return r.lo >= lo && r.hi <= hi && w.lo >= lo && w.hi <= hi;
  }
  Expr expr_of(const Poly& p, Expr like) const { return to_expr(p, *like->context, like->type.dtype); }

  Expr divide_scalar(Expr a, Expr d, bool remainder) {
    // Nothing to split, but the range says that it is one period: also for data that could wrap.
    const Range periods =
        floor_quotient_of(ranges_.of(a), {std::max<int64_t>(ranges_.of(d).lo, 1), ranges_.of(d).hi});
    if (periods == Range{0, 0}) return remainder ? a : int_const(*a->context, 0, a->type.dtype);
    if (const Expr e = divide_nested(a, d, remainder)) return e;
    Quotient q;
    if (!split_by(a, d, &q)) return {};
    if (!representable(q, a->type.dtype)) return {};
    if (is_rest(q.rest, q.d)) return remainder ? expr_of(q.rest, a) : expr_of(q.whole, a);
    if (const Expr e = shifted_rest(a, d, q, remainder)) return e;
    if (const Expr e = reduce_by_divisor(a, d, q, remainder)) return e;
    if (q.whole.is_zero()) return {};
    const Expr rest = expr_of(q.rest, a);
    const Expr part = binary(remainder ? OpCode::kFloorMod : OpCode::kFloorDiv, rest, d);
    return remainder ? part : expr_of(q.whole, a) + part;
  }

  // The rest lies in [k d, (k + 1) d) for a constant k.
  Expr shifted_rest(Expr a, Expr d, const Quotient& q, bool remainder) {
    int64_t size = 0;
    if (!as_int(d, &size)) return {};
    const Range k = floor_quotient_of(range_of(q.rest, ranges_), {size, size});
    if (!k.is_single()) return {};
    if (remainder) return expr_of(q.rest - poly_constant(k.lo * size), a);
    return expr_of(q.whole + poly_constant(k.lo), a);
  }

  // All of the rest but its constant r is a multiple of g, which also divides d = g h:
  // (g x + r) / (g h) = (x + r / g) / h, and the remainder is g ((x + r / g) % h) + r % g.
  Expr reduce_by_divisor(Expr a, Expr d, const Quotient& q, bool remainder) {
    int64_t size = 0;
    if (!as_int(d, &size)) return {};
    int64_t g = size;
    for (const Term& t : q.rest.terms) {
      if (!t.atoms.empty()) g = std::gcd(g, t.coef);
    }
    if (g <= 1 || g == size) return {};
    const Split parts = split(q.rest, Term{g, {}});
    const Expr x = expr_of(parts.quotient, a), h = int_const(*a->context, size / g, a->type.dtype);
    if (!remainder) return expr_of(q.whole, a) + floor_div(x, h);
    return floor_mod(x, h) * g + parts.rest.constant();
  }

  // (x / b) / d = x / (b d), (x % (d m)) % d = x % d
  Expr divide_nested(Expr a, Expr d, bool remainder) {
    int64_t inner = 0, outer = 0, product = 0;
    if (a->kind != ExprKind::kBinary || !as_int(d, &outer) || !as_int({a->b}, &inner) || inner < 1 ||
        outer < 1)
      return {};
    if (!remainder && a->op == OpCode::kFloorDiv && !__builtin_mul_overflow(inner, outer, &product) &&
        canonical_bits(product, a->type.dtype) == product) {
      return floor_div({a->a}, int_const(*a->context, product, a->type.dtype));
    }
    if (remainder && a->op == OpCode::kFloorMod && inner % outer == 0) return floor_mod({a->a}, d);
    return {};
  }

  // A ramp whose lanes stay inside of one block of d.
  Expr divide_ramp(Expr e, const Lanes& a, Expr d, bool remainder) {
    if (!ranges_.is_exact({e->a})) return {};
    const int64_t limit = int64_t{1} << 40;
    if (std::abs(a.step) > limit) return {};
    const int64_t span = a.step * (e->type.lanes - 1);
    const int64_t least = std::min<int64_t>(span, 0), most = std::max<int64_t>(span, 0);
    Quotient q;
    if (!split_by(a.base, d, &q)) return {};
    const bool inside =
        (nonnegative(q.rest + poly_constant(least)) && nonnegative(q.d - q.rest - poly_constant(most + 1))) ||
        aligned(q, least, most);
    if (inside) {
      const Expr scalar = binary(remainder ? OpCode::kFloorMod : OpCode::kFloorDiv, a.base, d);
      return from_lanes(scalar, remainder ? a.step : 0, e->type.lanes);
    }
    int64_t size = 0;
    if (as_int(d, &size) && a.step % size == 0) {  // every lane has the same remainder
      const Expr scalar = binary(remainder ? OpCode::kFloorMod : OpCode::kFloorDiv, a.base, d);
      return from_lanes(scalar, remainder ? 0 : a.step / size, e->type.lanes);
    }
    return {};
  }

  // All but the constant of the rest is a multiple of g, and so is d: the lanes then stay inside of a block
  // of g.
  bool aligned(const Quotient& q, int64_t least, int64_t most) const {
    int64_t g = q.divisor.coef;
    for (const ExprNode* atom : q.divisor.atoms) {
      if (__builtin_mul_overflow(g, std::max<int64_t>(ranges_.divisor({atom}), 1), &g)) return false;
    }
    for (const Term& t : q.rest.terms) {
      if (t.atoms.empty()) continue;
      int64_t term = t.coef;
      for (const ExprNode* atom : t.atoms) {
        if (__builtin_mul_overflow(term, ranges_.divisor({atom}), &term)) return false;
      }
      g = std::gcd(g, term);
    }
    if (g < 1) return false;
    int64_t r = q.rest.constant() % g;
    if (r < 0) r += g;
    return r + least >= 0 && r + most < g;
  }

  // ---- sums: like terms, and x / d * d + x % d
  Expr collect(Expr e) {
    Poly p = poly_of(e, ranges_, {.through_lets = false});
    if (!p.valid) return {};
    const size_t apart = leaves(e.node, 0);
    bool changed = false;
    while (rejoin(p)) changed = true;
    if (!changed && p.terms.size() >= apart) return {};
    return expr_of(p, e);
  }
  // Terms that the sum has as it is written.
  size_t leaves(const ExprNode* e, int depth) const {
    if (depth > 60) return 1;
    const bool sum = e->kind == ExprKind::kBinary && (e->op == OpCode::kAdd || e->op == OpCode::kSub);
    if (sum && ranges_.is_exact({e})) return leaves(e->a, depth + 1) + leaves(e->b, depth + 1);
    if (e->kind == ExprKind::kBinary && e->op == OpCode::kMul && ranges_.is_exact({e})) {
      return leaves(e->a, depth + 1) * leaves(e->b, depth + 1);
    }
    return e->kind == ExprKind::kInt && e->bits == 0 ? 0 : 1;
  }
  // c d (x / d) + c (x % d) -> c x
  bool rejoin(Poly& p) {
    for (const Term& t : p.terms) {
      for (const ExprNode* m : t.atoms) {
        if (m->kind != ExprKind::kBinary || m->op != OpCode::kFloorMod) continue;
        const PolyOptions plain{.through_lets = false};
        Term others = t;
        others.atoms.erase(std::find(others.atoms.begin(), others.atoms.end(), m));
        Poly c;
        c.terms.push_back(std::move(others));
        const Poly x = poly_of({m->a}, ranges_, plain), d = poly_of({m->b}, ranges_, plain);
        const Poly quotient = poly_of(apply(floor_div({m->a}, {m->b})), ranges_, plain),
                   remainder = poly_of({m}, ranges_, plain);
        Poly joined = p - c * (d * quotient + remainder) + c * x;
        if (!joined.valid || joined.terms.size() >= p.terms.size()) continue;
        p = std::move(joined);
        return true;
      }
    }
    return false;
  }

  const Ranges& ranges_;
  const Replacements* replacements_;
  std::unordered_map<const ExprNode*, Expr> done_;
  int depth_ = 0;
};

}  // namespace

Expr simplify(Expr e, const Ranges& ranges) { return Simplifier(ranges, nullptr).apply(e); }
Expr simplify(Expr e, const Ranges& ranges, const Replacements& replacements) {
  return Simplifier(ranges, &replacements).apply(e);
}

}  // namespace frit::loop
