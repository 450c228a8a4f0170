#include "loop/ranges.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "loop/build.h"
#include "loop/scalar.h"

namespace frit::loop {

namespace {

using Wide = __int128;
constexpr int64_t kMin = Range::kMin, kMax = Range::kMax;

int64_t clamped(Wide v) { return v <= kMin ? kMin : v >= kMax ? kMax : static_cast<int64_t>(v); }

// Bounds with infinities: an infinite operand makes an infinite result.
int64_t add_lo(int64_t a, int64_t b) { return a == kMin || b == kMin ? kMin : clamped(Wide{a} + b); }
int64_t add_hi(int64_t a, int64_t b) { return a == kMax || b == kMax ? kMax : clamped(Wide{a} + b); }
Range operator-(Range a) { return {a.hi == kMax ? kMin : -a.hi, a.lo == kMin ? kMax : -a.lo}; }

int64_t times(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  const bool infinite = a == kMin || a == kMax || b == kMin || b == kMax;
  if (infinite) return (a < 0) != (b < 0) ? kMin : kMax;
  return clamped(Wide{a} * b);
}
Range join(Range a, Range b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }
Range meet(Range a, Range b) { return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)}; }

int64_t floor_quotient(int64_t a, int64_t b) {  // b > 0
  if (a == kMin || a == kMax) return b == kMax ? (a == kMax ? kMax : kMin) : a;
  if (b == kMax) return a < 0 ? -1 : 0;
  return a / b - (a % b < 0);
}
Range floor_div_range(Range a, Range b) {  // b > 0
  const int64_t c[] = {floor_quotient(a.lo, b.lo), floor_quotient(a.lo, b.hi), floor_quotient(a.hi, b.lo),
                       floor_quotient(a.hi, b.hi)};
  return {*std::min_element(c, c + 4), *std::max_element(c, c + 4)};
}
Range floor_mod_range(Range a, Range b) {  // b > 0
  if (a.lo >= 0 && a.hi < b.lo) return a;
  const int64_t most = b.hi == kMax ? kMax : b.hi - 1;
  return {0, a.lo >= 0 ? std::min(most, a.hi) : most};
}
// All bits up to the highest one of v.
int64_t bits_up_to(int64_t v) {
  return v <= 0 ? 0 : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(v) + 1) - 1);
}

Range type_range(DType t) {
  switch (t) {
    case DType::kBool:
      return {0, 1};
    case DType::kU64:
      return {0, kMax};
    default:
      break;
  }
  const int bits = static_cast<int>(dtype_bytes(t)) * 8;
  if (is_unsigned_int(t)) return {0, (int64_t{1} << bits) - 1};
  if (bits == 64 || is_float(t)) return {};
  return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}
bool fits(Range r, DType t) {
  const Range all = type_range(t);
  // For 64 bits a bound at the very edge may have been cut.
  if (dtype_bytes(t) == 8) return r.lo >= all.lo && r.lo != kMin && r.hi != kMax;
  return r.lo >= all.lo && r.hi <= all.hi;
}

}  // namespace

Range sum_of(Range a, Range b) { return {add_lo(a.lo, b.lo), add_hi(a.hi, b.hi)}; }
Range product_of(Range a, Range b) {
  const int64_t c[] = {times(a.lo, b.lo), times(a.lo, b.hi), times(a.hi, b.lo), times(a.hi, b.hi)};
  return {*std::min_element(c, c + 4), *std::max_element(c, c + 4)};
}
Range floor_quotient_of(Range a, Range b) { return floor_div_range(a, b); }

void Ranges::set(Expr leaf, Range range) {
  memo_.clear();
  if (leaf->kind == ExprKind::kSize) {
    sizes_[leaf->id] = range;
  } else {
    vars_[leaf->id].range = range;
    vars_[leaf->id].index = true;
  }
}

void Ranges::bind(Expr var, Expr begin, Expr end, int64_t step) {
  const Range from = of(begin), to = of(end);
  Fact fact;
  fact.range = {from.lo, to.hi == kMax ? kMax : to.hi - 1};
  if (from.is_single() && to.is_single() && to.hi > from.lo && step > 0) {
    fact.range.hi = from.lo + (to.hi - from.lo - 1) / step * step;
  }
  fact.index = is_index(begin) && is_index(end);
  fact.divisor = std::gcd(divisor(begin), step);
  if (!reads_memory(end)) fact.end = end;
  memo_.clear();
  vars_[var->id] = fact;
}

void Ranges::define(Expr var, Expr value) {
  if (value->type.lanes != 1 || is_float(value->type.dtype)) return;
  Fact fact;
  fact.range = of(value);
  fact.index = is_index(value);
  fact.divisor = divisor(value);
  if (is_exact(value) && !reads_memory(value)) fact.definition = value;
  memo_.clear();
  vars_[var->id] = fact;
}

void Ranges::assume(Expr cond) {
  if (!cond || cond->kind != ExprKind::kBinary || cond->type.lanes != 1) return;
  const Expr a{cond->a}, b{cond->b};
  if (cond->op == OpCode::kAnd) {
    assume(a);
    return assume(b);
  }
  if (!is_comparison(cond->op) || is_float(a->type.dtype)) return;
  const auto narrow = [&](Expr var, Range bound) {
    if (var->kind != ExprKind::kVar && var->kind != ExprKind::kSize) return;
    const Range now = meet(of(var), bound);
    memo_.clear();
    if (var->kind == ExprKind::kSize)
      sizes_[var->id] = now;
    else
      vars_[var->id].range = now;
  };
  const Range ra = of(a), rb = of(b);
  const auto below = [](int64_t v) { return v == kMax || v == kMin ? v : v - 1; };
  const auto above = [](int64_t v) { return v == kMax || v == kMin ? v : v + 1; };
  switch (cond->op) {
    case OpCode::kLt:
      narrow(a, {kMin, below(rb.hi)});
      return narrow(b, {above(ra.lo), kMax});
    case OpCode::kLe:
      narrow(a, {kMin, rb.hi});
      return narrow(b, {ra.lo, kMax});
    case OpCode::kGt:
      narrow(a, {above(rb.lo), kMax});
      return narrow(b, {kMin, below(ra.hi)});
    case OpCode::kGe:
      narrow(a, {rb.lo, kMax});
      return narrow(b, {kMin, ra.hi});
    case OpCode::kEq:
      narrow(a, rb);
      return narrow(b, ra);
    default:
      return;
  }
}

const Ranges::Fact* Ranges::find(const ExprNode* var) const {
  const auto it = var->kind == ExprKind::kVar ? vars_.find(var->id) : vars_.end();
  return it == vars_.end() ? nullptr : &it->second;
}

Range Ranges::of(Expr e) const { return known(e.node).range; }
bool Ranges::is_index(Expr e) const { return known(e.node).index; }
bool Ranges::reads_memory(Expr e) const { return known(e.node).reads; }
bool Ranges::is_exact(Expr e) const { return known(e.node).exact; }
int64_t Ranges::divisor(Expr e) const { return known(e.node).divisor; }

const Ranges::Known& Ranges::known(const ExprNode* e) const {
  const auto it = memo_.find(e);
  if (it != memo_.end()) return it->second;
  const Known computed = compute(e);
  return memo_[e] = computed;
}

Ranges::Known Ranges::compute(const ExprNode* e) const {
  Known k;
  const DType dtype = e->type.dtype;
  bool operands_index = true;
  for (const ExprNode* part : {e->a, e->b, e->c}) {
    if (!part) continue;
    operands_index = known(part).index && operands_index;
    k.reads = k.reads || known(part).reads;
  }
  if (e->kind == ExprKind::kLoad) k.reads = true;
  const Fact* fact = find(e);
  switch (e->kind) {
    case ExprKind::kInt:
    case ExprKind::kSize:
      k.index = true;
      break;
    case ExprKind::kVar:
      k.index = fact ? fact->index : dtype == DType::kI64;
      break;
    case ExprKind::kUnary:
    case ExprKind::kBinary:
    case ExprKind::kSelect:
    case ExprKind::kSplat:
    case ExprKind::kRamp:
    case ExprKind::kCast:
      k.index = operands_index && !is_float(dtype);
      break;
    default:
      break;
  }
  bool wraps = false;
  k.range = compute_range(e, &wraps);
  const bool never_overflows = k.index && dtype == DType::kI64;
  if (wraps && !never_overflows) k.range = type_range(dtype);
  k.exact = !is_float(dtype) && (!wraps || never_overflows);
  k.divisor = compute_divisor(e, k.exact);
  return k;
}

// Bounds of the result as if it did not wrap; *wraps where it may.
Range Ranges::compute_range(const ExprNode* e, bool* wraps) const {
  const DType dtype = e->type.dtype;
  const Range all = type_range(dtype);
  if (is_float(dtype)) return all;
  const Range a = e->a ? known(e->a).range : Range{}, b = e->b ? known(e->b).range : Range{};
  const auto checked = [&](Range r) {
    *wraps = !fits(r, dtype);
    return r;
  };
  switch (e->kind) {
    case ExprKind::kInt:
      if (dtype == DType::kU64 && e->bits < 0) return {kMax, kMax};
      return {e->bits, e->bits};
    case ExprKind::kVar: {
      const Fact* fact = find(e);
      return fact ? meet(fact->range, all) : all;
    }
    case ExprKind::kSize: {
      const auto it = sizes_.find(e->id);
      return it == sizes_.end() ? Range{0, kMax} : it->second;
    }
    case ExprKind::kSplat:
      return a;
    case ExprKind::kRamp: {
      const Range span = product_of({0, e->type.lanes - 1}, {e->bits, e->bits});
      return checked(sum_of(a, span));
    }
    case ExprKind::kUnary:
      if (e->op == OpCode::kNeg) return checked(-a);
      if (e->op == OpCode::kAbs) return checked(a.lo >= 0 ? a : Range{0, std::max(a.hi, (-a).hi)});
      return all;
    case ExprKind::kSelect:
      return join(b, known(e->c).range);
    case ExprKind::kCast: {
      if (is_float(e->a->type.dtype)) return all;
      if (dtype == DType::kBool) return all;
      *wraps = a.lo < all.lo || a.hi > all.hi ||
               (e->a->type.dtype == DType::kU64 && dtype == DType::kI64 && a.hi == kMax);
      return a;
    }
    case ExprKind::kShuffle:
      return join(a, b);
    case ExprKind::kReduce:
      return e->op == OpCode::kMin || e->op == OpCode::kMax ? a : all;
    case ExprKind::kBinary:
      break;
    default:
      return all;
  }
  // A zero divisor and an overlong shift are excluded by the program, so bounds need not consider them.
  const Range divisor_range{std::max<int64_t>(b.lo, 1), b.hi};
  switch (e->op) {
    case OpCode::kAdd:
      return checked(sum_of(a, b));
    case OpCode::kSub:
      return checked(sum_of(a, -b));
    case OpCode::kMul:
      return checked(product_of(a, b));
    case OpCode::kFloorDiv:
      return b.lo >= 0 && b.hi >= 1 ? floor_div_range(a, divisor_range) : all;
    case OpCode::kFloorMod:
      return b.lo >= 0 && b.hi >= 1 ? floor_mod_range(a, divisor_range) : all;
    case OpCode::kDiv:
      return a.lo >= 0 && b.lo >= 0 && b.hi >= 1 ? floor_div_range(a, divisor_range) : all;
    case OpCode::kRem:
      return a.lo >= 0 && b.lo >= 0 && b.hi >= 1 ? floor_mod_range(a, divisor_range) : all;
    case OpCode::kMin:
      return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case OpCode::kMax:
      return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case OpCode::kAnd:
      if (b.lo >= 0) return {0, a.lo >= 0 ? std::min(a.hi, b.hi) : b.hi};
      return a.lo >= 0 ? Range{0, a.hi} : all;
    case OpCode::kOr:
    case OpCode::kXor:
      if (a.lo < 0 || b.lo < 0 || a.hi == kMax || b.hi == kMax) return all;
      return {0, bits_up_to(std::max(a.hi, b.hi))};
    case OpCode::kShl:
      if (b.is_single() && b.lo >= 0 && b.lo < 62)
        return checked(product_of(a, {int64_t{1} << b.lo, int64_t{1} << b.lo}));
      *wraps = true;
      return all;
    case OpCode::kAShr:
    case OpCode::kLShr: {
      // ashr of a signed type and lshr of what is not negative divide; other mixes look at bits.
      const bool divides = b.is_single() && b.lo >= 0 && b.lo < 62 &&
                           (is_signed_int(dtype) ? e->op == OpCode::kAShr || a.lo >= 0
                                                 : e->op == OpCode::kLShr && a.hi != kMax);
      return divides ? floor_div_range(a, {int64_t{1} << b.lo, int64_t{1} << b.lo}) : all;
    }
    default:
      return all;
  }
}

int64_t Ranges::compute_divisor(const ExprNode* e, bool exact) const {
  if (is_float(e->type.dtype) || !exact) return 1;
  const auto of_part = [&](const ExprNode* part) { return known(part).divisor; };
  switch (e->kind) {
    case ExprKind::kInt:
      return e->bits == kMin ? 1 : std::abs(e->bits);
    case ExprKind::kVar: {
      const Fact* fact = find(e);
      return fact ? fact->divisor : 1;
    }
    case ExprKind::kSplat:
      return of_part(e->a);
    case ExprKind::kSelect:
      return std::gcd(of_part(e->b), of_part(e->c));
    case ExprKind::kBinary:
      break;
    default:
      return 1;
  }
  if (is_comparison(e->op)) return 1;
  const int64_t a = of_part(e->a), b = of_part(e->b);
  switch (e->op) {
    case OpCode::kAdd:
    case OpCode::kSub:
    case OpCode::kMin:
    case OpCode::kMax:
    case OpCode::kFloorMod:
    case OpCode::kRem:
      return std::gcd(a, b);
    case OpCode::kMul: {
      int64_t product = 0;
      return __builtin_mul_overflow(a, b, &product) ? 1 : product;
    }
    case OpCode::kFloorDiv:
    case OpCode::kDiv:
      if (e->b->kind == ExprKind::kInt && e->b->bits > 0 && a % e->b->bits == 0) return a / e->b->bits;
      return 1;
    default:
      return 1;
  }
}

}  // namespace frit::loop
