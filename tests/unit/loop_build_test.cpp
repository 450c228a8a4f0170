// The makers: what they fold, what they must leave alone, and how the Builder nests scopes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "loop/build.h"
#include "loop/scalar.h"

namespace frit::loop {
namespace {

struct Makers : testing::Test {
  Context c;
  Expr i = c.new_var({DType::kI64, 1});
  Expr j = c.new_var({DType::kI64, 1});
  Expr x = c.new_var({DType::kF32, 1});
  Expr v = c.new_var({DType::kF32, 8});
  Expr k(int64_t value) { return int_const(c, value); }
  Expr f(double value) { return float_const(c, value); }
};

TEST_F(Makers, EqualExpressionsAreOneNode) {
  EXPECT_EQ(i * 4 + 3, i * 4 + 3);
  EXPECT_FALSE(i + j == j + i);
  EXPECT_FALSE(int_const(c, 1, DType::kI32) == int_const(c, 1, DType::kI64));
  EXPECT_FALSE(f(0.0) == f(-0.0));
}

TEST_F(Makers, InterningSurvivesGrowth) {
  std::vector<Expr> first;
  for (int64_t n = 0; n < 5000; ++n) first.push_back(i * (n + 2));
  for (int64_t n = 0; n < 5000; ++n) ASSERT_EQ(first[n], i * (n + 2));
}

TEST_F(Makers, FoldsIntegerIdentities) {
  EXPECT_EQ(i + 0, i);
  EXPECT_EQ(i * 1, i);
  EXPECT_EQ(i * 0, k(0));
  EXPECT_EQ(i - i, k(0));
  EXPECT_EQ(floor_div(i, k(1)), i);
  EXPECT_EQ(floor_mod(i, k(1)), k(0));
  EXPECT_EQ((i + 3) + 4, i + 7);
  EXPECT_EQ((i - 3) + 3, i);
  EXPECT_EQ(k(3) + i, i + 3);
  EXPECT_EQ(gt(k(3), i), lt(i, k(3)));
  EXPECT_EQ(eq(i, i), const_bits(c, 1, {DType::kBool, 1}));
}

TEST_F(Makers, FloatIdentitiesKeepSignedZeroAndNan) {
  EXPECT_EQ(x * f(1.0), x);
  EXPECT_EQ(x + f(-0.0), x);
  EXPECT_FALSE(x + f(0.0) == x);
  EXPECT_FALSE(x * f(0.0) == f(0.0));
  EXPECT_FALSE(x - x == f(0.0));
  EXPECT_FALSE(eq(x, x) == const_bits(c, 1, {DType::kBool, 1}));
  EXPECT_EQ(min(x, f(1.0)), min(f(1.0), x));
  EXPECT_FALSE(min(x, f(0.0)) == min(f(0.0), x));
  EXPECT_FALSE(max(x, f(NAN)) == max(f(NAN), x));
}

TEST_F(Makers, UndefinedDivisionsAreNotFolded) {
  EXPECT_EQ(floor_div(k(7), k(0))->kind, ExprKind::kBinary);
  EXPECT_EQ((k(std::numeric_limits<int64_t>::min()) / k(-1))->kind, ExprKind::kBinary);
  EXPECT_EQ(binary(OpCode::kShl, k(1), k(64))->kind, ExprKind::kBinary);
  EXPECT_EQ(floor_div(k(-7), k(2)), k(-4));
  EXPECT_EQ(floor_mod(k(-7), k(2)), k(1));
  EXPECT_EQ(k(-7) / k(2), k(-3));
}

TEST_F(Makers, ScalarsAreSplattedAndSplatsHoisted) {
  EXPECT_EQ((v + x)->type, (Type{DType::kF32, 8}));
  EXPECT_EQ(splat(x, 8) + splat(x, 8), splat(x + x, 8));
  EXPECT_EQ(splat(splat(x, 8), 8), splat(x, 8));
  EXPECT_EQ(float_const(c, 2.0, DType::kF32, 8), splat(f(2.0), 8));
}

TEST_F(Makers, RampsAddAndScale) {
  EXPECT_EQ(ramp(i, 1, 8) + j, ramp(i + j, 1, 8));
  EXPECT_EQ(ramp(i, 3, 8) * 2, ramp(i * 2, 6, 8));
  EXPECT_EQ(ramp(i, 1, 8) - ramp(j, 1, 8), splat(i - j, 8));
  EXPECT_EQ(shuffle(ramp(i, 3, 8), {}, {2}), i + 6);
}

TEST_F(Makers, LoadsOfConsecutiveElementsHaveScalarIndices) {
  Buffer b;
  b.id = 0;
  EXPECT_EQ(load(c, b, ramp(i, 1, 8)), load(c, b, i, 8));
  EXPECT_EQ(load(c, b, splat(i, 8)), splat(load(c, b, i), 8));
  EXPECT_EQ(load(c, b, i, 8, const_bits(c, 0, {DType::kBool, 1})), float_const(c, 0, DType::kF32, 8));
  EXPECT_EQ(load(c, b, i, 8, const_bits(c, 1, {DType::kBool, 1})), load(c, b, i, 8));
}

TEST_F(Makers, MismatchedOperandsAreMadeAsTheyStand) {
  const Expr bad = i + x;
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->kind, ExprKind::kBinary);
  EXPECT_FALSE(i + Expr{});
}

TEST(Scalar, CastsFollowTheHeader) {
  const auto f32 = [](float v) { return to_bits(v); };
  const auto cast_bits = [&](float v, DType to) { return fold_cast(DType::kF32, to, f32(v)); };
  EXPECT_EQ(cast_bits(-1.9f, DType::kI32), -1);
  EXPECT_EQ(cast_bits(NAN, DType::kI32), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(cast_bits(2147483648.0f, DType::kI32), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(cast_bits(300.5f, DType::kI8), 44);
  EXPECT_EQ(cast_bits(-1.0f, DType::kU8), 255);
  EXPECT_EQ(cast_bits(INFINITY, DType::kI64), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(static_cast<uint64_t>(cast_bits(1e19f, DType::kU64)), 9999999980506447872u);
  EXPECT_EQ(cast_bits(NAN, DType::kBool), 1);
  EXPECT_EQ(cast_bits(-0.0f, DType::kBool), 0);
}

TEST(Scalar, MinAndMaxKeepNanAndGiveTheSecondOfATie) {
  const auto run = [](OpCode op, float a, float b) {
    int64_t out = 0;
    EXPECT_TRUE(fold_binary(op, DType::kF32, to_bits(a), to_bits(b), &out));
    return from_bits<float>(out);
  };
  EXPECT_TRUE(std::isnan(run(OpCode::kMin, NAN, 1)));
  EXPECT_TRUE(std::isnan(run(OpCode::kMin, 1, NAN)));
  EXPECT_TRUE(std::isnan(run(OpCode::kMax, NAN, 1)));
  EXPECT_TRUE(std::signbit(run(OpCode::kMax, 0.0f, -0.0f)));
  EXPECT_FALSE(std::signbit(run(OpCode::kMin, -0.0f, 0.0f)));
}

TEST(Scalar, DivisionAndShiftsByType) {
  int64_t out = 0;
  ASSERT_TRUE(fold_binary(OpCode::kFloorDiv, DType::kI8, -7, 2, &out));
  EXPECT_EQ(out, -4);
  ASSERT_TRUE(fold_binary(OpCode::kAShr, DType::kU8, 0x80, 7, &out));
  EXPECT_EQ(out, 0xff);
  ASSERT_TRUE(fold_binary(OpCode::kLShr, DType::kI8, -128, 7, &out));
  EXPECT_EQ(out, 1);
  EXPECT_FALSE(fold_binary(OpCode::kShl, DType::kI8, 1, 8, &out));
  EXPECT_FALSE(fold_binary(OpCode::kRem, DType::kF32, 1, 1, &out));
  ASSERT_TRUE(fold_binary(OpCode::kAdd, DType::kI32, std::numeric_limits<int32_t>::max(), 1, &out));
  EXPECT_EQ(out, std::numeric_limits<int32_t>::min());
}

TEST(BuilderTest, LocalsCloseWithTheirScope) {
  LoopFn fn;
  Builder b(fn);
  const Buffer out = b.arg(DType::kF32, Access::kWrite, b.integer(16), 64);
  b.loop(0, 16, 1, LoopKind::kSerial, [&](Expr i) {
    const Buffer acc = b.local(Space::kRegister, DType::kF32, 1);
    b.store(acc, b.integer(0), b.number(1));
    b.store(out, i, load(b.context(), acc, b.integer(0)));
  });
  b.store(out, b.integer(0), b.number(2));
  b.finish();
  ASSERT_EQ(fn.body->body.size(), 2u);
  const Stmt loop = fn.body->body[0];
  ASSERT_EQ(loop->kind, StmtKind::kFor);
  ASSERT_EQ(loop->body.at(0)->body.size(), 1u);
  const Stmt alloc = loop->body[0]->body[0];
  EXPECT_EQ(alloc->kind, StmtKind::kAlloc);
  EXPECT_EQ(alloc->body.at(0)->body.size(), 2u);
  EXPECT_EQ(fn.body->body[1]->kind, StmtKind::kStore);
  EXPECT_EQ(fn.arg_count, 1);
  EXPECT_EQ(fn.buffers.size(), 2u);
}

TEST(BuilderTest, LetsOfLeavesAreNotMade) {
  LoopFn fn;
  Builder b(fn);
  const Expr t = b.tile(4);
  EXPECT_EQ(b.let(t), t);
  EXPECT_EQ(b.let(b.integer(3)), b.integer(3));
  const Expr v = b.let(t * 4);
  EXPECT_EQ(v->kind, ExprKind::kVar);
  b.if_then(const_bits(b.context(), 0, {DType::kBool, 1}), [&] { b.barrier(); });
  b.finish();
  ASSERT_EQ(fn.body->body.size(), 1u);
  EXPECT_EQ(fn.body->body[0]->kind, StmtKind::kLet);
}

}  // namespace
}  // namespace frit::loop
