// The simplifier: the rewrites that index arithmetic needs, one case each.
#include "loop/simplify.h"

#include <gtest/gtest.h>

#include "loop/affine.h"
#include "loop/build.h"
#include "loop/text.h"

namespace frit::loop {
namespace {

struct Simplify : testing::Test {
  Context c;
  Ranges r;
  Expr k(int64_t v) { return int_const(c, v); }
  Expr loop_var(Expr begin, Expr end, int64_t step = 1) {
    const Expr v = c.new_var({});
    r.bind(v, begin, end, step);
    return v;
  }
  Expr loop_var(Expr end) { return loop_var(k(0), end); }
  Expr loop_var(int64_t end, int64_t step = 1) { return loop_var(k(0), k(end), step); }
  Expr size(int32_t id) { return size_param(c, id); }
  Expr truth(bool v) { return const_bits(c, v, {DType::kBool, 1}); }
  Expr s(Expr e) { return simplify(e, r); }
};
#define EXPECT_SAME(a, b) EXPECT_EQ(a, b) << brief(a) << " is not " << brief(b)

TEST_F(Simplify, QuotientsOfTiledIndices) {
  const Expr i = loop_var(size(0)), j = loop_var(64);
  EXPECT_SAME(s(floor_div(i * 64 + j, k(64))), i);
  EXPECT_SAME(s(floor_mod(i * 64 + j, k(64))), j);
  EXPECT_SAME(s(floor_div(i * 128 + j, k(64))), i * 2);
  EXPECT_SAME(s(floor_mod(i * 128 + j + 64, k(64))), j);
  EXPECT_SAME(s(floor_div(j, k(64))), k(0));
  EXPECT_SAME(s(i * 64 + j / k(64)), i * 64);
  EXPECT_SAME(s(binary(OpCode::kRem, i * 64 + j, k(64))), j);
  EXPECT_SAME(s(floor_div(i * 64 + j, k(32))), i * 2 + s(floor_div(j, k(32))));
}

TEST_F(Simplify, MixedRadixWithConstants) {
  const Expr a = loop_var(5), b = loop_var(7), d = loop_var(3);
  const Expr linear = (a * 7 + b) * 3 + d;
  EXPECT_SAME(s(floor_div(linear, k(21))), a);
  EXPECT_SAME(s(floor_mod(floor_div(linear, k(3)), k(7))), b);
  EXPECT_SAME(s(floor_mod(linear, k(3))), d);
}

TEST_F(Simplify, MixedRadixWithSizes) {
  const Expr a = loop_var(size(0)), b = loop_var(size(1)), d = loop_var(size(2));
  const Expr linear = (a * size(1) + b) * size(2) + d;
  EXPECT_SAME(s(floor_mod(floor_div(linear, size(2)), size(1))), b);
  EXPECT_SAME(s(floor_div(floor_div(linear, size(2)), size(1))), a);
  EXPECT_SAME(s(floor_div(linear, size(1) * size(2))), a);
  EXPECT_SAME(s(floor_mod(linear, size(2))), d);
  // A divisor that is a sum.
  const Expr padded = size(0) + 2, e = loop_var(padded);
  EXPECT_SAME(s(floor_div(a * padded + e, padded)), a);
  EXPECT_SAME(s(floor_mod(a * padded + e, padded)), e);
}

TEST_F(Simplify, SplitAndJoinedAgain) {
  const Expr x = loop_var(size(0));
  EXPECT_SAME(s(floor_div(x, k(24)) * 24 + floor_mod(x, k(24))), x);
  EXPECT_SAME(s(floor_div(x, size(1)) * size(1) + floor_mod(x, size(1))), x);
  const Expr a = floor_div(x, k(12)), b = floor_mod(floor_div(x, k(4)), k(3)), d = floor_mod(x, k(4));
  EXPECT_SAME(s((a * 3 + b) * 4 + d), x);
}

TEST_F(Simplify, NestedQuotients) {
  const Expr x = loop_var(size(0));
  EXPECT_SAME(s(floor_div(floor_div(x, k(4)), k(8))), floor_div(x, k(32)));
  EXPECT_SAME(s(floor_mod(floor_mod(x, k(32)), k(8))), floor_mod(x, k(8)));
  EXPECT_SAME(s(floor_div(x * 8 + 3, k(32))), floor_div(x, k(4)));
  EXPECT_SAME(s(floor_mod(x * 8 + 3, k(32))), floor_mod(x, k(4)) * 8 + 3);
}

TEST_F(Simplify, RangesDecideComparisons) {
  const Expr i = loop_var(10), j = loop_var(size(0));
  EXPECT_SAME(s(lt(i, k(10))), truth(true));
  EXPECT_SAME(s(ge(i, k(10))), truth(false));
  EXPECT_SAME(s(eq(i, k(12))), truth(false));
  EXPECT_SAME(s(lt(j, size(0))), truth(true));
  EXPECT_SAME(s(lt(j * 8 + 7, size(0) * 8)), truth(true));
  EXPECT_EQ(s(lt(j, k(5)))->kind, ExprKind::kBinary);
  EXPECT_SAME(s(min(i, k(20))), i);
  EXPECT_SAME(s(max(i, k(20))), k(20));
  EXPECT_SAME(s(min(j * 4 + 3, size(0) * 4)), j * 4 + 3);
  EXPECT_SAME(s(select(lt(i, k(10)), j, i)), j);
  EXPECT_SAME(s(lt(floor_div(j, k(8)) * 8, size(0))), truth(true));
}

TEST_F(Simplify, TailsThatMinimaBound) {
  const Expr t = loop_var(floor_div(size(0) + 63, k(64)));
  const Expr n = min(k(64), size(0) - t * 64);
  const Expr i = loop_var(k(0), n);
  EXPECT_SAME(s(lt(t * 64 + i, size(0))), truth(true));
  EXPECT_SAME(s(lt(i, k(64))), truth(true));
}

TEST_F(Simplify, RampsInsideOneBlock) {
  const Expr i = loop_var(64, 8), j = loop_var(size(0));
  EXPECT_SAME(s(floor_div(ramp(j * 64 + i, 1, 8), k(64))), splat(j, 8));
  EXPECT_SAME(s(floor_mod(ramp(j * 64 + i, 1, 8), k(64))), ramp(i, 1, 8));
  // Aligned to 8, whatever the block.
  EXPECT_SAME(s(floor_div(ramp(j * 8, 1, 8), k(24))), splat(floor_div(j, k(3)), 8));
  EXPECT_EQ(s(floor_div(ramp(j * 4, 1, 8), k(24)))->kind, ExprKind::kBinary);
  EXPECT_SAME(s(floor_div(ramp(j, 16, 8), k(16))), ramp(floor_div(j, k(16)), 1, 8));
  EXPECT_SAME(s(lt(ramp(i, 1, 8), splat(k(64), 8))), const_bits(c, 1, {DType::kBool, 8}));
  EXPECT_EQ(s(lt(ramp(i, 1, 16), splat(k(64), 16)))->kind, ExprKind::kBinary);
}

TEST_F(Simplify, LikeTermsAreCollected) {
  const Expr i = loop_var(10), j = loop_var(10);
  EXPECT_SAME(s((i * 3 + j) - i * 3), j);
  EXPECT_SAME(s(i + i), i * 2);
  EXPECT_SAME(s((i + j) * 4 - j * 4), i * 4);
}

TEST_F(Simplify, DataMayWrap) {
  Buffer b;
  b.id = 0;
  b.dtype = DType::kI64;
  const Expr data = load(c, b, k(0));
  EXPECT_EQ(s(floor_div(data * 64 + 3, k(64)))->kind, ExprKind::kBinary);
  EXPECT_EQ(s(lt(data, data + 1))->kind, ExprKind::kBinary);
  const Expr byte = cast(load(c, b, k(1)), DType::kU8);
  EXPECT_SAME(
      s(lt(byte, int_const(c, 255, DType::kU8)))->kind == ExprKind::kBinary ? truth(true) : truth(false),
      truth(true));
  EXPECT_SAME(s(lt(cast(byte, DType::kI64), k(256))), truth(true));
}

TEST_F(Simplify, StridesOfIndices) {
  const Expr i = c.new_var({}), j = c.new_var({});
  EXPECT_EQ(stride_in((i * 4 + j) * 8 + 3, j), 8);
  EXPECT_EQ(stride_in((i * 4 + j) * 8 + 3, i), 32);
  EXPECT_EQ(stride_in(i * 2, j), 0);
  EXPECT_EQ(stride_in(i * j, j), std::nullopt);
  EXPECT_EQ(stride_in(floor_div(j, k(2)), j), std::nullopt);
  EXPECT_SAME(*stride_expr_in(i * size(0) + j, i), size(0));
  r.bind(j, k(0), k(4));
  EXPECT_EQ(stride_in(floor_div(i * 4 + j, k(4)), j, r), 0);
  EXPECT_EQ(stride_in(floor_div(i * 4 + j, k(4)), i, r), 1);
  EXPECT_TRUE(depends_on(i * 3 + j, j));
  EXPECT_FALSE(depends_on(i * 3, j));
  EXPECT_SAME(substitute((i + j) * 2, i, k(3)), (j + 3) * 2);
}

LoopFn simplified(const std::string& text) { return simplify(*parse_loop_fn(text)); }
std::string body_of(const std::string& body) {
  return print(simplified("fn t sizes=1 scratch=0 {\n  arg b0 i64[64] read_write align=8\n  tile v0 < s0\n" +
                          body + "}\n"));
}
std::string expected(const std::string& body) {
  return "fn t sizes=1 scratch=0 {\n  arg b0 i64[64] read_write align=8\n  tile v0 < s0\n" + body + "}\n";
}

TEST(SimplifyFunction, LoopsOfNoneAndOneIteration) {
  EXPECT_EQ(body_of("for v1 = 0..0 step 1 {\nb0[v1] = 1\n}\n"), expected(""));
  EXPECT_EQ(body_of("for v1 = 4..8 step 4 {\nb0[v1] = v1\n}\n"), expected("  b0[4] = 4\n"));
  EXPECT_EQ(body_of("for v1 = v0..(v0 + 1) step 1 {\nb0[v1] = 1\n}\n"), expected("  b0[v0] = 1\n"));
  EXPECT_EQ(body_of("for v1 = 0..s0 step 1 {\n}\n"), expected(""));
}

TEST(SimplifyFunction, DeadLetsAndBranches) {
  EXPECT_EQ(body_of("let v1 = (v0 * 3)\nlet v2 = (v1 + 1)\nb0[v0] = 1\n"), expected("  b0[v0] = 1\n"));
  EXPECT_EQ(body_of("let v1 = (v0 * 1)\nb0[v1] = v1\n"), expected("  b0[v0] = v0\n"));
  EXPECT_EQ(body_of("if (v0 < s0) {\nb0[0] = 1\n} else {\nb0[1] = 1\n}\n"), expected("  b0[0] = 1\n"));
  EXPECT_EQ(body_of("if (v0 < 8) {\nif (v0 < 9) {\nb0[v0] = 1\n}\n} else {\nif (v0 < 8) {\nb0[0] = "
                    "1\n}\n}\nif (v0 < 9) {\nb0[v0] = 2\n}\n"),
            expected("  if (v0 < 8) {\n    b0[v0] = 1\n  }\n  if (v0 < 9) {\n    b0[v0] = 2\n  }\n"));
}

TEST(SimplifyFunction, LetsAreSeenThroughUnlessTheyReadMemory) {
  EXPECT_EQ(body_of("for v1 = 0..8 step 1 {\nlet v2 = ((v0 * 8) + v1)\nb0[v2] = floor_div(v2, 8)\n}\n"),
            expected("  for v1 = 0..8 step 1 {\n    let v2 = ((v0 * 8) + v1)\n    b0[v2] = v0\n  }\n"));
  // The loaded value may have changed since.
  const std::string text = "  let v1 = (b0[0] + 1)\n  b0[0] = 7\n  b0[1] = (v1 - b0[0])\n";
  EXPECT_EQ(body_of(text), expected(text));
}

TEST(SimplifyFunction, MemoryReadByALoopsBoundIsReadOnce) {
  const std::string text = body_of("for v1 = b0[0]..(b0[0] + 1) step 1 {\nb0[0] = 5\nb0[1] = v1\n}\n");
  EXPECT_EQ(text.find("b0[1] = b0[0]"), std::string::npos) << text;
}

}  // namespace
}  // namespace frit::loop
