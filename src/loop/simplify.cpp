#include "loop/simplify.h"

#include <numeric>

#include "loop/affine.h"
#include "loop/build.h"
#include "loop/linear.h"

namespace frit::loop {

namespace {

bool is_index(const ExprNode* e) { return e->type.lanes == 1 && !is_float(e->type.dtype) && e->type.dtype != DType::kBool; }

int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

bool checked_mul_add(int64_t a, int64_t b, int64_t c, int64_t* out) {
  int64_t product = 0;
  return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(product, c, out);
}

}  // namespace

void Linear::add(const ExprNode* atom, int64_t coefficient) {
  auto [it, fresh] = terms.emplace(atom, coefficient);
  if (!fresh) it->second += coefficient;
  if (it->second == 0) terms.erase(it);
}

void Linear::add(const Linear& other, int64_t factor) {
  constant += other.constant * factor;
  for (const auto& [atom, k] : other.terms) add(atom, k * factor);
}

std::optional<Interval> Simplifier::range(const Linear& form) {
  Interval out{form.constant, form.constant};
  for (const auto& [atom, k] : form.terms) {
    const auto r = range(atom);
    if (!r) return std::nullopt;
    if (!checked_mul_add(k, k > 0 ? r->low : r->high, out.low, &out.low)) return std::nullopt;
    if (!checked_mul_add(k, k > 0 ? r->high : r->low, out.high, &out.high)) return std::nullopt;
  }
  return out;
}

std::optional<Interval> Simplifier::range(const ExprNode* e) {
  if (auto known = ranges_.find(e)) return known;
  if (e->kind == ExprKind::kInt) return Interval{e->bits, e->bits};
  if (e->kind == ExprKind::kSize) return Interval{0, INT64_MAX};
  if (e->kind == ExprKind::kSelect) {
    const auto a = range(linear(Expr{e->b})), b = range(linear(Expr{e->c}));
    if (!a || !b) return std::nullopt;
    return Interval{std::min(a->low, b->low), std::max(a->high, b->high)};
  }
  if (e->kind == ExprKind::kCast) {
    const DType from = e->a->type.dtype;
    if (e->a->type.lanes != 1 || is_float(from)) return std::nullopt;
    if (from == DType::kBool) return Interval{0, 1};
    // A widening cast keeps the value.
    if (dtype_bytes(from) < dtype_bytes(e->type.dtype) && is_signed_int(from) && is_signed_int(e->type.dtype)) return range(linear(Expr{e->a}));
    return std::nullopt;
  }
  if (e->kind != ExprKind::kBinary) return std::nullopt;
  int64_t c = 0;
  const bool constant = as_int(Expr{e->b}, &c);
  switch (e->op) {
    case OpCode::kFloorDiv:
    case OpCode::kDiv: {
      if (!constant || c <= 0) return std::nullopt;
      const auto x = range(linear(Expr{e->a}));
      if (!x || (e->op == OpCode::kDiv && x->low < 0)) return std::nullopt;
      return Interval{floor_quotient(x->low, c), floor_quotient(x->high, c)};
    }
    case OpCode::kFloorMod:
    case OpCode::kRem: {
      if (!constant || c <= 0) return std::nullopt;
      const auto x = range(linear(Expr{e->a}));
      if (e->op == OpCode::kRem && (!x || x->low < 0)) return std::nullopt;
      if (x && x->low >= 0 && x->high < c) return x;
      return Interval{0, c - 1};
    }
    case OpCode::kMin:
    case OpCode::kMax: {
      const auto a = range(linear(Expr{e->a})), b = range(linear(Expr{e->b}));
      const bool least = e->op == OpCode::kMin;
      if (a && b) return least ? Interval{std::min(a->low, b->low), std::min(a->high, b->high)} : Interval{std::max(a->low, b->low), std::max(a->high, b->high)};
      return std::nullopt;
    }
    case OpCode::kAnd:
      if (constant && c >= 0) return Interval{0, c};
      return std::nullopt;
    default: return std::nullopt;
  }
}

// d*(x/c) and m*(x%c) with d == m*c are m*x.
void Simplifier::recombine(Linear& form) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (const auto& [atom, m] : form.terms) {
      if (atom->kind != ExprKind::kBinary || (atom->op != OpCode::kFloorMod && atom->op != OpCode::kRem)) continue;
      int64_t c = 0;
      if (!as_int(Expr{atom->b}, &c)) continue;
      const ExprNode* quotient = nullptr;
      for (const auto& [other, d] : form.terms)
        if (other->kind == ExprKind::kBinary && (other->op == OpCode::kFloorDiv || other->op == OpCode::kDiv) && other->a == atom->a &&
            other->b == atom->b && d == m * c)
          quotient = other;
      if (!quotient) continue;
      const int64_t factor = m;
      const ExprNode* remainder = atom;
      const Linear x = linear(Expr{atom->a});
      form.terms.erase(quotient);
      form.terms.erase(remainder);
      form.add(x, factor);
      changed = true;
      break;
    }
  }
}

// floor(x / c): the part that c divides goes out, the rest is 0 when its range says so.
Linear Simplifier::divide(const ExprNode* e, const Linear& x, int64_t c) {
  Linear whole, rest;
  for (const auto& [atom, k] : x.terms) (k % c == 0 ? whole : rest).add(atom, k % c == 0 ? k / c : k);
  whole.constant = floor_quotient(x.constant, c);
  rest.constant = x.constant - whole.constant * c;
  if (rest.terms.empty()) return whole;
  const auto r = range(rest);
  if (r && r->low >= 0 && r->high < c) return whole;
  if (r && floor_quotient(r->low, c) == floor_quotient(r->high, c)) {
    whole.constant += floor_quotient(r->low, c);
    return whole;
  }
  int64_t g = c;
  for (const auto& [atom, k] : rest.terms) g = std::gcd(g, k);
  if (g > 1) {
    // (g*y + k) / (g*c') with 0 <= k: the constant rounds down with the rest.
    for (auto& [atom, k] : rest.terms) k /= g;
    rest.constant = floor_quotient(rest.constant, g);
    whole.add(divide(e, rest, c / g), 1);
    return whole;
  }
  const auto full = range(rest);
  const OpCode op = full && full->low >= 0 ? OpCode::kDiv : OpCode::kFloorDiv;
  Context& context = *e->context;
  whole.add(binary(op, rebuild(context, rest, e->type.dtype), int_const(context, c, e->type.dtype)).node, 1);
  return whole;
}

Linear Simplifier::remainder(const ExprNode* e, const Linear& x, int64_t c) {
  Linear rest;
  for (const auto& [atom, k] : x.terms)
    if (k % c != 0) rest.add(atom, k);
  rest.constant = x.constant - floor_quotient(x.constant, c) * c;
  if (rest.terms.empty()) return rest;
  const auto r = range(rest);
  if (r && r->low >= 0 && r->high < c) return rest;
  if (r && floor_quotient(r->low, c) == floor_quotient(r->high, c)) {
    rest.constant -= floor_quotient(r->low, c) * c;
    return rest;
  }
  Context& context = *e->context;
  int64_t g = c;
  for (const auto& [atom, k] : rest.terms) g = std::gcd(g, k);
  if (g > 1 && rest.constant % g == 0) {
    for (auto& [atom, k] : rest.terms) k /= g;
    rest.constant /= g;
    Linear out;
    out.add(remainder(e, rest, c / g), g);
    return out;
  }
  // x % c and x / c must stay a pair, so the dividend is the whole of x where a quotient of it may meet this.
  const auto full = range(rest);
  const OpCode op = full && full->low >= 0 ? OpCode::kRem : OpCode::kFloorMod;
  Linear out;
  Expr atom = binary(op, rebuild(context, rest, e->type.dtype), int_const(context, c, e->type.dtype));
  int64_t known = 0;
  if (as_int(atom, &known)) out.constant = known;
  else out.add(atom.node, 1);
  return out;
}

Linear Simplifier::extremum(const ExprNode* e) {
  const Linear a = linear(Expr{e->a}), b = linear(Expr{e->b});
  Linear difference = a;
  difference.add(b, -1);
  const bool least = e->op == OpCode::kMin;
  if (const auto r = range(difference)) {
    if (r->high <= 0) return least ? a : b;
    if (r->low >= 0) return least ? b : a;
  }
  Linear out;
  Expr m = binary(e->op, rebuild(*e->context, a, e->type.dtype), rebuild(*e->context, b, e->type.dtype));
  int64_t known = 0;
  if (as_int(m, &known)) out.constant = known;
  else out.add(m.node, 1);
  return out;
}

Linear Simplifier::linear(Expr e) {
  if (auto it = forms_.find(e.node); it != forms_.end()) return it->second;
  Linear out;
  int64_t c = 0;
  const bool binary_node = e->kind == ExprKind::kBinary;
  if (as_int(e, &c)) {
    out.constant = c;
  } else if (binary_node && (e->op == OpCode::kAdd || e->op == OpCode::kSub)) {
    out = linear(Expr{e->a});
    out.add(linear(Expr{e->b}), e->op == OpCode::kAdd ? 1 : -1);
    recombine(out);
  } else if (binary_node && e->op == OpCode::kMul) {
    const Linear a = linear(Expr{e->a}), b = linear(Expr{e->b});
    if (b.is_constant()) out.add(a, b.constant);
    else if (a.is_constant()) out.add(b, a.constant);
    else out.add(binary(OpCode::kMul, rebuild(*e->context, a, e->type.dtype), rebuild(*e->context, b, e->type.dtype)).node, 1);
  } else if (e->kind == ExprKind::kUnary && e->op == OpCode::kNeg) {
    out.add(linear(Expr{e->a}), -1);
  } else if (binary_node && (e->op == OpCode::kMin || e->op == OpCode::kMax)) {
    out = extremum(e.node);
  } else if (binary_node && as_int(Expr{e->b}, &c) && c > 0 &&
             (e->op == OpCode::kFloorDiv || e->op == OpCode::kFloorMod || e->op == OpCode::kDiv || e->op == OpCode::kRem)) {
    const Linear x = linear(Expr{e->a});
    const bool truncates = e->op == OpCode::kDiv || e->op == OpCode::kRem;
    const auto r = truncates ? range(x) : std::nullopt;
    if (truncates && !(r && r->low >= 0)) out.add(walk(e).node, 1);
    else out = e->op == OpCode::kFloorDiv || e->op == OpCode::kDiv ? divide(e.node, x, c) : remainder(e.node, x, c);
  } else {
    Expr w = walk(e);
    if (as_int(w, &c)) out.constant = c;
    else out.add(w.node, 1);
  }
  forms_.emplace(e.node, out);
  return out;
}

Expr Simplifier::rebuild(Context& context, const Linear& form, DType dtype) {
  Expr sum;
  for (const auto& [atom, k] : form.terms) {
    Expr t{atom};
    if (k != 1) t = binary(OpCode::kMul, t, int_const(context, k, dtype));
    sum = sum ? binary(OpCode::kAdd, sum, t) : t;
  }
  if (!sum) return int_const(context, form.constant, dtype);
  return form.constant ? binary(OpCode::kAdd, sum, int_const(context, form.constant, dtype)) : sum;
}

Expr Simplifier::compare(Expr e) {
  Linear difference = linear(Expr{e->a});
  difference.add(linear(Expr{e->b}), -1);
  if (const auto r = range(difference)) {
    auto decide = [&](bool yes, bool no) -> std::optional<bool> {
      if (yes) return true;
      if (no) return false;
      return std::nullopt;
    };
    std::optional<bool> answer;
    switch (e->op) {
      case OpCode::kLt: answer = decide(r->high < 0, r->low >= 0); break;
      case OpCode::kLe: answer = decide(r->high <= 0, r->low > 0); break;
      case OpCode::kGt: answer = decide(r->low > 0, r->high <= 0); break;
      case OpCode::kGe: answer = decide(r->low >= 0, r->high < 0); break;
      case OpCode::kEq: answer = decide(r->low == 0 && r->high == 0, r->low > 0 || r->high < 0); break;
      default: answer = decide(r->low > 0 || r->high < 0, r->low == 0 && r->high == 0); break;
    }
    if (answer) return int_const(*e->context, *answer, DType::kBool);
  }
  return binary(e->op, simplify(Expr{e->a}), simplify(Expr{e->b}));
}

// Children simplified, the node itself rebuilt by the makers (which fold constants).
Expr Simplifier::walk(Expr e) {
  if (!e->a || e->kind == ExprKind::kLoad) {
    if (e->kind != ExprKind::kLoad) return e;
    ExprNode n = *e.node;
    n.a = simplify(Expr{e->a}).node;
    if (e->b) n.b = simplify(Expr{e->b}).node;
    return e->context->intern(n);
  }
  Expr a = simplify(Expr{e->a});
  Expr b = e->b ? simplify(Expr{e->b}) : Expr{};
  Expr c = e->c ? simplify(Expr{e->c}) : Expr{};
  if (a.node == e->a && b.node == e->b && c.node == e->c) return e;
  switch (e->kind) {
    case ExprKind::kUnary: return unary(e->op, a);
    case ExprKind::kBinary: return binary(e->op, a, b);
    case ExprKind::kFma: return fma(a, b, c);
    case ExprKind::kSelect: return select(a, b, c);
    case ExprKind::kCast: return cast(a, e->type.dtype);
    case ExprKind::kBitcast: return bitcast(a, e->type.dtype);
    case ExprKind::kSplat: return splat(a, e->type.lanes);
    case ExprKind::kRamp: return ramp(a, e->bits, e->type.lanes);
    case ExprKind::kReduce: return reduce(e->op, a);
    case ExprKind::kShuffle: return shuffle(a, b, e->lanes);
    default: return e;
  }
}

Expr Simplifier::simplify(Expr e) {
  if (auto it = memo_.find(e.node); it != memo_.end()) return it->second;
  Expr r;
  const bool compares = e->kind == ExprKind::kBinary && e->op >= OpCode::kEq && e->type.lanes == 1 && is_index(e->a);
  if (is_index(e.node)) r = rebuild(*e->context, linear(e), e->type.dtype);
  else if (compares) r = compare(e);
  else r = walk(e);
  memo_.emplace(e.node, r);
  return r;
}

Expr simplify(Expr e, const Ranges& ranges) { return Simplifier(ranges).simplify(e); }

std::optional<Interval> range_of(Expr e, const Ranges& ranges) {
  Simplifier s(ranges);
  return s.range(s.linear(e));
}

// ---- affine.h ----------------------------------------------------------------------------------------------------------------

bool depends_on(Expr e, Expr var) {
  if (!e) return false;
  if (e == var) return true;
  return depends_on(Expr{e->a}, var) || depends_on(Expr{e->b}, var) || depends_on(Expr{e->c}, var);
}

Expr substitute(Expr e, Expr var, Expr replacement) {
  if (e == var) return replacement;
  if (!depends_on(e, var)) return e;
  auto s = [&](const ExprNode* n) { return substitute(Expr{n}, var, replacement); };
  switch (e->kind) {
    case ExprKind::kUnary: return unary(e->op, s(e->a));
    case ExprKind::kBinary: return binary(e->op, s(e->a), s(e->b));
    case ExprKind::kFma: return fma(s(e->a), s(e->b), s(e->c));
    case ExprKind::kSelect: return select(s(e->a), s(e->b), s(e->c));
    case ExprKind::kCast: return cast(s(e->a), e->type.dtype);
    case ExprKind::kBitcast: return bitcast(s(e->a), e->type.dtype);
    case ExprKind::kSplat: return splat(s(e->a), e->type.lanes);
    case ExprKind::kRamp: return ramp(s(e->a), e->bits, e->type.lanes);
    case ExprKind::kReduce: return reduce(e->op, s(e->a));
    case ExprKind::kShuffle: return shuffle(s(e->a), s(e->b), e->lanes);
    case ExprKind::kLoad: {
      ExprNode n = *e.node;
      n.a = s(e->a).node;
      if (e->b) n.b = s(e->b).node;
      return e->context->intern(n);
    }
    default: return e;
  }
}

std::optional<int64_t> stride_in(Expr e, Expr var, const Ranges& ranges) {
  Simplifier s(ranges);
  const Linear form = s.linear(e);
  int64_t stride = 0;
  for (const auto& [atom, k] : form.terms) {
    if (atom == var.node) stride = k;
    else if (depends_on(Expr{atom}, var)) return std::nullopt;
  }
  return stride;
}

}  // namespace frit::loop
