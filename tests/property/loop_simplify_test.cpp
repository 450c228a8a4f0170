// Random integer expressions: the simplified one has the same value wherever the variables may be.
#include "loop/simplify.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>

#include "loop/affine.h"
#include "loop/build.h"
#include "loop/scalar.h"
#include "loop/text.h"

namespace frit::loop {
namespace {

// Values of variables and sizes by node. False: the value is undefined there.
using Env = std::map<const ExprNode*, int64_t>;
bool evaluate(const ExprNode* e, const Env& env, int32_t lane, int64_t* out) {
  int64_t a = 0, b = 0, c = 0;
  switch (e->kind) {
    case ExprKind::kInt:
      *out = e->bits;
      return true;
    case ExprKind::kVar:
    case ExprKind::kSize:
      *out = env.at(e);
      return true;
    case ExprKind::kSplat:
      return evaluate(e->a, env, 0, out);
    case ExprKind::kRamp:
      if (!evaluate(e->a, env, 0, &a)) return false;
      *out = canonical_bits(static_cast<int64_t>(uint64_t(a) + uint64_t(lane) * uint64_t(e->bits)),
                            e->type.dtype);
      return true;
    case ExprKind::kUnary:
      return evaluate(e->a, env, lane, &a) && fold_unary(e->op, e->a->type.dtype, a, out);
    case ExprKind::kBinary:
      return evaluate(e->a, env, lane, &a) && evaluate(e->b, env, lane, &b) &&
             fold_binary(e->op, e->a->type.dtype, a, b, out);
    case ExprKind::kSelect:
      if (!evaluate(e->a, env, lane, &a) || !evaluate(e->b, env, lane, &b) || !evaluate(e->c, env, lane, &c))
        return false;
      *out = a ? b : c;
      return true;
    case ExprKind::kCast:
      if (!evaluate(e->a, env, lane, &a)) return false;
      *out = fold_cast(e->a->type.dtype, e->type.dtype, a);
      return true;
    default:
      ADD_FAILURE() << "unexpected " << brief(Expr{e});
      return false;
  }
}

struct Leaf {
  Expr node;
  int64_t begin = 0, end = 0, step = 1;  // end: of a loop over a size, unused
  Expr size;                             // loop runs to this size
};

class Generator {
 public:
  Generator(Context& c, uint64_t seed, DType dtype, std::vector<Leaf> leaves)
      : c_(c), random_(seed), dtype_(dtype), leaves_(std::move(leaves)) {}
  int64_t draw(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  // Sums of products and the quotients and remainders that layouts make, nested.
  Expr index(int depth) {
    if (depth == 0 || draw(8) == 0)
      return draw(4) == 0 ? constant()
                          : leaves_[static_cast<size_t>(draw(static_cast<int64_t>(leaves_.size())))].node;
    switch (draw(12)) {
      case 0:
      case 1:
      case 2:
        return index(depth - 1) + index(depth - 1);
      case 3:
        return index(depth - 1) - index(depth - 1);
      case 4:
      case 5:
        return index(depth - 1) * factor();
      case 6:
        return floor_div(index(depth - 1), factor());
      case 7:
        return floor_mod(index(depth - 1), factor());
      case 8:
        return draw(2) ? min(index(depth - 1), index(depth - 1)) : max(index(depth - 1), index(depth - 1));
      case 9:
        return draw(2) ? index(depth - 1) / factor() : binary(OpCode::kRem, index(depth - 1), factor());
      case 10:
        return select(condition(depth - 1), index(depth - 1), index(depth - 1));
      default:
        return index(depth - 1) * index(depth / 2);
    }
  }
  Expr condition(int depth) {
    static constexpr OpCode kOps[] = {OpCode::kLt, OpCode::kLe, OpCode::kGt,
                                      OpCode::kGe, OpCode::kEq, OpCode::kNe};
    return binary(kOps[draw(6)], index(depth), index(depth));
  }
  Expr vector(int depth) {
    const int64_t step = draw(3) == 0 ? draw(20) - 4 : 1;
    const Expr base = index(depth);
    const Expr lanes = ramp(base, step, 4);
    switch (draw(5)) {
      case 0:
        return lt(lanes, splat(index(depth), 4));
      case 1:
        return floor_mod(lanes, splat(factor(), 4));
      case 2:
        return min(lanes, splat(index(depth), 4));
      case 3:
        return ge(lanes, splat(constant(), 4));
      default:
        return floor_div(lanes, splat(factor(), 4));
    }
  }

 private:
  Expr constant() { return int_const(c_, draw(40) - 8, dtype_); }
  Expr factor() {
    static constexpr int64_t kFactors[] = {1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32};
    if (draw(4) == 0) {
      for (const Leaf& leaf : leaves_) {
        if (leaf.node->kind == ExprKind::kSize && draw(2)) return leaf.node;
      }
    }
    return int_const(c_, kFactors[draw(11)], dtype_);
  }
  Context& c_;
  std::mt19937_64 random_;
  DType dtype_;
  std::vector<Leaf> leaves_;
};

uint64_t seed() {
  const char* text = std::getenv("FRIT_TEST_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 20240601;
}

// All values of the leaves, from the last on.
void for_all(const std::vector<Leaf>& leaves, size_t at, Env& env, const std::function<void()>& f) {
  if (at == leaves.size()) return f();
  const Leaf& leaf = leaves[at];
  const int64_t end = leaf.size ? env.at(leaf.size.node) : leaf.end;
  for (int64_t v = leaf.begin; v < end; v += leaf.step) {
    env[leaf.node.node] = v;
    for_all(leaves, at + 1, env, f);
  }
}

void check(Expr e, Expr simple, const std::vector<Leaf>& leaves, uint64_t which) {
  ASSERT_EQ(e->type, simple->type);
  if (simple == e) return;
  Env env;
  bool wrong = false;
  for_all(leaves, 0, env, [&] {
    for (int32_t lane = 0; lane < e->type.lanes && !wrong; ++lane) {
      int64_t want = 0, got = 0;
      if (!evaluate(e.node, env, lane, &want)) continue;
      wrong = !evaluate(simple.node, env, lane, &got) || got != want;
      if (!wrong) continue;
      std::string where;
      for (const auto& [node, value] : env) where += brief(Expr{node}) + "=" + std::to_string(value) + " ";
      ADD_FAILURE() << "seed " << seed() << " case " << which << " at " << where << "lane " << lane << ": "
                    << brief(e) << " is " << want << ", " << brief(simple) << " is " << got;
    }
  });
}

TEST(LoopSimplifyProperty, IndicesKeepTheirValues) {
  int changed = 0;
  for (uint64_t n = 0; n < 4000 && !testing::Test::HasFailure(); ++n) {
    Context c;
    Ranges r;
    std::mt19937_64 random(seed() + n);
    const Expr s0 = size_param(c, 0), s1 = size_param(c, 1);
    const Expr i = c.new_var({}), j = c.new_var({}), k = c.new_var({}), t = c.new_var({});
    const int64_t ends[] = {4, 5, 8, 16}, steps[] = {1, 1, 2, 4};
    const int64_t end_i = ends[random() % 4], step_i = steps[random() % 4];
    const std::vector<Leaf> leaves{{s0, 0, 4, 1, {}}, {s1, 1, 7, 2, {}}, {i, 0, end_i, step_i, {}},
                                   {j, -2, 5, 1, {}}, {k, 0, 0, 1, s0},  {t, 0, 0, 1, s1}};
    r.bind(i, int_const(c, 0), int_const(c, end_i), step_i);
    r.bind(j, int_const(c, -2), int_const(c, 5));
    r.bind(k, int_const(c, 0), s0);
    r.bind(t, int_const(c, 0), s1);
    Generator g(c, random(), DType::kI64, leaves);
    const Expr e = n % 3 == 0 ? g.vector(3) : n % 3 == 1 ? g.condition(3) : g.index(4);
    const Expr simple = simplify(e, r);
    changed += !(simple == e);
    check(e, simple, leaves, n);
    EXPECT_EQ(simplify(simple, r), simple) << "seed " << seed() << " case " << n << ": " << brief(simple);
  }
  EXPECT_GT(changed, 1000);
}

TEST(LoopSimplifyProperty, NarrowDataWraps) {
  int changed = 0;
  for (uint64_t n = 0; n < 3000 && !testing::Test::HasFailure(); ++n) {
    Context c;
    Ranges r;
    const DType dtype = n % 2 ? DType::kI8 : DType::kU8;
    const int64_t lo = n % 2 ? -128 : 0;
    const Expr x = c.new_var({dtype, 1}), y = c.new_var({dtype, 1});
    const std::vector<Leaf> leaves{{x, lo, lo + 256, 3, {}}, {y, lo, lo + 256, 5, {}}};
    Generator g(c, seed() * 31 + n, dtype, leaves);
    const Expr e = n % 3 == 0 ? g.vector(2) : n % 3 == 1 ? g.condition(2) : g.index(3);
    const Expr simple = simplify(e, r);
    changed += !(simple == e);
    check(e, simple, leaves, n);
  }
  EXPECT_GT(changed, 50);
}

TEST(LoopSimplifyProperty, BoundsHold) {
  for (uint64_t n = 0; n < 3000; ++n) {
    Context c;
    Ranges r;
    const Expr i = c.new_var({}), j = c.new_var({});
    const std::vector<Leaf> leaves{{i, 0, 16, 4, {}}, {j, -3, 6, 1, {}}};
    r.bind(i, int_const(c, 0), int_const(c, 16), 4);
    r.bind(j, int_const(c, -3), int_const(c, 6));
    Generator g(c, seed() * 17 + n, DType::kI64, leaves);
    const Expr e = g.index(4);
    const Range bounds = r.of(e);
    const int64_t divisor = r.divisor(e);
    Env env;
    for_all(leaves, 0, env, [&] {
      int64_t v = 0;
      if (!evaluate(e.node, env, 0, &v)) return;
      ASSERT_TRUE(v >= bounds.lo && v <= bounds.hi) << "seed " << seed() << ": " << brief(e) << " = " << v
                                                    << " outside [" << bounds.lo << ", " << bounds.hi << "]";
      ASSERT_TRUE(divisor == 0 ? v == 0 : v % divisor == 0)
          << brief(e) << " = " << v << " not divided by " << divisor;
    });
  }
}

TEST(LoopSimplifyProperty, StridesAreDifferences) {
  int found = 0;
  for (uint64_t n = 0; n < 2000; ++n) {
    Context c;
    Ranges r;
    const Expr i = c.new_var({}), j = c.new_var({});
    r.bind(i, int_const(c, 0), int_const(c, 12));
    r.bind(j, int_const(c, 0), int_const(c, 5));
    const std::vector<Leaf> leaves{{i, 0, 11, 1, {}}, {j, 0, 5, 1, {}}};
    Generator g(c, seed() * 13 + n, DType::kI64, leaves);
    const Expr e = g.index(3), next = substitute(e, i, i + 1);
    const std::optional<int64_t> stride = stride_in(e, i, r);
    if (!stride) continue;
    ++found;
    Env env;
    for_all(leaves, 0, env, [&] {
      int64_t a = 0, b = 0;
      if (!evaluate(e.node, env, 0, &a) || !evaluate(next.node, env, 0, &b)) return;
      ASSERT_EQ(b - a, *stride) << "seed " << seed() << ": " << brief(e);
    });
  }
  EXPECT_GT(found, 300);
}

}  // namespace
}  // namespace frit::loop
