#include "loop/unrolled_values.h"

#include <algorithm>

#include "base/text.h"
#include "loop/scalar.h"

namespace frit::loop {

namespace {

constexpr int64_t kMaxCombinations = 1 << 16;
constexpr int64_t kMaxVisits = 1 << 20;  // of nodes, while one index is checked

int64_t trips_of(const Binding& v) { return v.end > v.begin ? (v.end - v.begin - 1) / v.step + 1 : 0; }

}  // namespace

std::string UnrolledValues::outside(Expr index, int64_t size) {
  int64_t lo = 0, hi = 0;
  if (affine_range(index.node, &lo, &hi) && lo >= 0 && hi < size) return {};
  collect(index.node);
  int64_t combinations = 1;
  for (const int32_t id : free_) {
    const int64_t trips = trips_of(vars_[static_cast<size_t>(id)]);
    if (trips == 0) return {};  // never runs
    if (trips > kMaxCombinations || (combinations *= trips) > kMaxCombinations) {
      return "takes too many values to check";
    }
  }
  for (int64_t n = 0; n < combinations; ++n) {
    int64_t rest = n;
    for (const int32_t id : free_) {
      const Binding& v = vars_[static_cast<size_t>(id)];
      values_[static_cast<size_t>(id)] = v.begin + rest % trips_of(v) * v.step;
      rest /= trips_of(v);
    }
    int64_t value = 0;
    if (!evaluate(index.node, &value)) return "cannot be evaluated";
    if (value < 0 || value >= size) {
      return base::text_of("takes the value ", value, ", its size is ", size);
    }
  }
  return {};
}

// Bounds of sums and of products with constants; exact where each variable occurs once.
bool UnrolledValues::affine_range(const ExprNode* e, int64_t* lo, int64_t* hi) {
  constexpr int64_t kBig = int64_t{1} << 30;
  if (++visits_ > kMaxVisits) return false;
  if (e->kind == ExprKind::kInt) {
    *lo = *hi = e->bits;
    return e->bits >= -kBig && e->bits <= kBig;
  }
  if (e->kind == ExprKind::kVar) {
    const Binding& v = vars_[static_cast<size_t>(e->id)];
    if (v.constant) return affine_range(v.constant, lo, hi);
    if (v.end <= v.begin || v.begin < -kBig || v.end > kBig) return false;
    *lo = v.begin;
    *hi = v.begin + (v.end - v.begin - 1) / v.step * v.step;
    return true;
  }
  int64_t a = 0, b = 0, c = 0, d = 0;
  if (e->kind != ExprKind::kBinary || (e->op != OpCode::kAdd && e->op != OpCode::kMul)) return false;
  if (!affine_range(e->a, &a, &b) || !affine_range(e->b, &c, &d)) return false;
  if (e->op == OpCode::kAdd) {
    *lo = a + c;
    *hi = b + d;
  } else {
    if (c != d) return false;
    *lo = std::min(a * c, b * c);
    *hi = std::max(a * c, b * c);
  }
  return *lo >= -kBig && *hi <= kBig;
}

void UnrolledValues::collect(const ExprNode* e) {
  if (!e || ++visits_ > kMaxVisits) return;
  if (e->kind == ExprKind::kVar) {
    const Binding& v = vars_[static_cast<size_t>(e->id)];
    if (v.constant) return collect(v.constant);
    for (const int32_t id : free_) {
      if (id == e->id) return;
    }
    free_.push_back(e->id);
    values_.resize(vars_.size());
  }
  collect(e->a);
  collect(e->b);
  collect(e->c);
}

bool UnrolledValues::evaluate(const ExprNode* e, int64_t* out) {
  int64_t a = 0, b = 0, c = 0;
  if (++visits_ > kMaxVisits) return false;
  switch (e->kind) {
    case ExprKind::kInt:
      *out = e->bits;
      return true;
    case ExprKind::kVar: {
      const Binding& v = vars_[static_cast<size_t>(e->id)];
      if (v.constant) return evaluate(v.constant, out);
      *out = values_[static_cast<size_t>(e->id)];
      return true;
    }
    case ExprKind::kUnary:
      return evaluate(e->a, &a) && fold_unary(e->op, e->a->type.dtype, a, out);
    case ExprKind::kBinary:
      return evaluate(e->a, &a) && evaluate(e->b, &b) && fold_binary(e->op, e->a->type.dtype, a, b, out);
    case ExprKind::kSelect:
      if (!evaluate(e->a, &a) || !evaluate(e->b, &b) || !evaluate(e->c, &c)) return false;
      *out = a ? b : c;
      return true;
    case ExprKind::kCast:
      if (!evaluate(e->a, &a)) return false;
      *out = fold_cast(e->a->type.dtype, e->type.dtype, a);
      return true;
    default:
      return false;
  }
}

}  // namespace frit::loop
