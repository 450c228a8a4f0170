#include "loop/evaluate.h"

#include <algorithm>

#include "base/text.h"
#include "base/try.h"
#include "loop/scalar.h"
#include "loop/text.h"

namespace frit::loop {

namespace {

bool value_of(const ExprNode* e, std::span<const int64_t> sizes, int64_t* out) {
  if (!e || e->type.lanes != 1) return false;
  int64_t a = 0, b = 0, c = 0;
  switch (e->kind) {
    case ExprKind::kInt:
      *out = e->bits;
      return true;
    case ExprKind::kSize:
      if (e->id < 0 || static_cast<size_t>(e->id) >= sizes.size()) return false;
      *out = sizes[static_cast<size_t>(e->id)];
      return true;
    case ExprKind::kUnary:
      return value_of(e->a, sizes, &a) && fold_unary(e->op, e->a->type.dtype, a, out);
    case ExprKind::kBinary:
      return value_of(e->a, sizes, &a) && value_of(e->b, sizes, &b) &&
             fold_binary(e->op, e->a->type.dtype, a, b, out);
    case ExprKind::kSelect:
      if (!value_of(e->a, sizes, &a) || !value_of(e->b, sizes, &b) || !value_of(e->c, sizes, &c))
        return false;
      *out = a ? b : c;
      return true;
    case ExprKind::kCast:
      if (!value_of(e->a, sizes, &a)) return false;
      *out = fold_cast(e->a->type.dtype, e->type.dtype, a);
      return true;
    default:
      return false;
  }
}

}  // namespace

Result<int64_t> evaluate(Expr e, std::span<const int64_t> sizes) {
  int64_t value = 0;
  if (value_of(e.node, sizes, &value)) return value;
  return make_error(Code::kInternal,
                    base::text_of("'", brief(e), "' has no value for ", sizes.size(), " sizes"));
}

Result<int64_t> tile_count(const LoopFn& fn, std::span<const int64_t> sizes) {
  int64_t count = 1;
  for (const TileDim& tile : fn.tiles) {
    FRIT_ASSIGN(const int64_t extent, evaluate(tile.extent, sizes));
    if (__builtin_mul_overflow(count, std::max<int64_t>(extent, 0), &count)) {
      return make_error(Code::kInternal, "the number of tiles does not fit an i64");
    }
  }
  return count;
}

}  // namespace frit::loop
