#include <cstdint>

#include "unit/eval_testing.h"

namespace frit::graph {
namespace {

using namespace testing;

HostTensor unary(UnaryOp op, const HostTensor& x) { return run_one(Unary{op}, {x}); }
HostTensor binary(BinaryOp op, const HostTensor& a, const HostTensor& b) {
  return run_one(Binary{op}, {a, b});
}

TEST(EvalUnary, SpecialFloats) {
  const HostTensor x = f32({6}, {-0.0f, 0.0f, static_cast<float>(kInf), static_cast<float>(-kInf),
                                 static_cast<float>(kNan), -2.5f});
  expect_f32(unary(UnaryOp::kNeg, x), {6}, {0, -0.0, -kInf, kInf, kNan, 2.5});
  expect_f32(unary(UnaryOp::kAbs, x), {6}, {0, 0, kInf, kInf, kNan, 2.5});
  expect_f32(unary(UnaryOp::kSign, x), {6}, {0, 0, 1, -1, kNan, -1});
  expect_f32(unary(UnaryOp::kRelu, x), {6}, {0, 0, kInf, 0, kNan, 0});
  expect_f32(unary(UnaryOp::kFloor, x), {6}, {-0.0, 0, kInf, -kInf, kNan, -3});
  expect_f32(unary(UnaryOp::kCeil, x), {6}, {-0.0, 0, kInf, -kInf, kNan, -2});
  expect_f32(unary(UnaryOp::kSqrt, x), {6}, {-0.0, 0, kInf, kNan, kNan, kNan});
  expect_f32(unary(UnaryOp::kRecip, x), {6}, {-kInf, kInf, 0, -0.0, kNan, static_cast<float>(-0.4)});
  expect_f32(unary(UnaryOp::kExp, x), {6}, {1, 1, kInf, 0, kNan, 0.08208499848842621});
  expect_f32(
      unary(UnaryOp::kSigmoid, f32({4}, {static_cast<float>(kInf), static_cast<float>(-kInf), 0, 1000})), {4},
      {1, 0, 0.5, 1});
  expect_same(unary(UnaryOp::kIsNan, x), DType::kBool, {6}, {0, 0, 0, 0, 1, 0});
  expect_same(unary(UnaryOp::kIsInf, x), DType::kBool, {6}, {0, 0, 1, 1, 0, 0});
}

TEST(EvalUnary, RoundIsHalfToEven) {
  expect_f32(unary(UnaryOp::kRound, f32({6}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 2.6f})), {6},
             {0, 2, 2, -0.0, -2, 3});
}

// Expected: Python's math module.
TEST(EvalUnary, FunctionsAtOrdinaryPoints) {
  const HostTensor x = f64({3}, {0.25, 0.5, 0.875});
  const std::pair<UnaryOp, std::vector<double>> rows[] = {
      {UnaryOp::kLog, {-1.3862943611198906, -0.6931471805599453, -0.13353139262452263}},
      {UnaryOp::kErf, {0.2763263901682369, 0.5204998778130465, 0.7840750610598597}},
      {UnaryOp::kTanh, {0.24491866240370913, 0.46211715726000974, 0.7039056039366212}},
      {UnaryOp::kSigmoid, {0.5621765008857981, 0.6224593312018546, 0.7057850278370112}},
      {UnaryOp::kSin, {0.24740395925452294, 0.479425538604203, 0.7675435022360271}},
      {UnaryOp::kCos, {0.9689124217106447, 0.8775825618903728, 0.6409968581633251}},
      {UnaryOp::kTan, {0.25534192122103627, 0.5463024898437905, 1.197421629234348}},
      {UnaryOp::kAsin, {0.25268025514207865, 0.5235987755982989, 1.0654358165107394}},
      {UnaryOp::kAcos, {1.318116071652818, 1.0471975511965979, 0.5053605102841573}},
      {UnaryOp::kAtan, {0.24497866312686414, 0.4636476090008061, 0.7188299996216245}},
      {UnaryOp::kSinh, {0.2526123168081683, 0.5210953054937474, 0.9910066371442947}},
      {UnaryOp::kCosh, {1.0314130998795732, 1.1276259652063807, 1.4078686568228032}},
      {UnaryOp::kAsinh, {0.24746646154726346, 0.48121182505960347, 0.790168725412397}},
      {UnaryOp::kAtanh, {0.25541281188299536, 0.5493061443340548, 1.354025100551105}},
  };
  for (const auto& [op, expected] : rows) expect_near(unary(op, x), {3}, expected, 1e-12);
  expect_near(unary(UnaryOp::kAcosh, f64({2}, {1.5, 4})), {2}, {0.9624236501192069, 2.0634370688955608},
              1e-12);
}

TEST(EvalUnary, IntegersWrapAndBooleansNegate) {
  expect_equal(unary(UnaryOp::kNeg, i8({3}, {-128, 127, 0})), i8({3}, {-128, -127, 0}));
  expect_equal(unary(UnaryOp::kAbs, i8({2}, {-128, -5})), i8({2}, {-128, 5}));
  expect_equal(unary(UnaryOp::kNeg, u8({2}, {1, 0})), u8({2}, {255, 0}));
  expect_equal(unary(UnaryOp::kAbs, i64({1}, {INT64_MIN})), i64({1}, {INT64_MIN}));
  expect_equal(unary(UnaryOp::kSign, i32({3}, {-7, 0, 9})), i32({3}, {-1, 0, 1}));
  expect_equal(unary(UnaryOp::kSign, u64({2}, {UINT64_MAX, 0})), u64({2}, {1, 0}));
  expect_equal(unary(UnaryOp::kBitNot, u8({2}, {0, 0xf0})), u8({2}, {255, 0x0f}));
  expect_equal(unary(UnaryOp::kNot, boolean({2}, {0, 1})), boolean({2}, {1, 0}));
  expect_equal(unary(UnaryOp::kRelu, i32({2}, {-3, 3})), i32({2}, {0, 3}));
  EXPECT_NE(error_of(Unary{UnaryOp::kExp}, {i32({1}, {1})}).find("not defined for i32"), std::string::npos);
  EXPECT_NE(error_of(Unary{UnaryOp::kNot}, {f32({1}, {1})}).find("not defined for f32"), std::string::npos);
}

TEST(EvalBinary, Broadcasts) {
  expect_f32(binary(BinaryOp::kAdd, f32({2, 1, 3}, {0, 1, 2, 3, 4, 5}), f32({2, 1}, {10, 20})), {2, 2, 3},
             {10, 11, 12, 20, 21, 22, 13, 14, 15, 23, 24, 25});
  expect_f32(binary(BinaryOp::kSub, f32({}, {1}), f32({2}, {3, 5})), {2}, {-2, -4});
  expect_f32(binary(BinaryOp::kMul, f32({0, 3}, {}), f32({1, 3}, {1, 2, 3})), {0, 3}, {});
  expect_f32(binary(BinaryOp::kMul, f32({1}, {2}), f32({0}, {})), {0}, {});
  const std::string error = error_of(Binary{BinaryOp::kAdd}, {f32({2}, {1, 2}), f32({3}, {1, 2, 3})});
  EXPECT_NE(error.find("[2] and [3] do not broadcast"), std::string::npos) << error;
}

// Longer than one internal chunk, with a repeated operand whose period does not divide it.
TEST(EvalBinary, BroadcastsAcrossChunks) {
  const HostTensor a = ramp({7, 1, 331}), b = ramp({5, 1}, 1000);
  const HostTensor sum = binary(BinaryOp::kAdd, a, b);
  ASSERT_EQ(sum.shape(), (Extents{7, 5, 331}));
  for (int64_t i = 0; i < sum.elements(); ++i) {
    const int64_t x = i % 331, y = i / 331 % 5, z = i / 331 / 5;
    ASSERT_EQ(sum.as_double(i), static_cast<double>(z * 331 + x + 1000 * y)) << i;
  }
}

TEST(EvalBinary, DivisionOfIntegers) {
  expect_equal(binary(BinaryOp::kDiv, i32({4}, {7, -7, INT32_MIN, 7}), i32({4}, {2, 2, -1, -2})),
               i32({4}, {3, -3, INT32_MIN, -3}));
  expect_equal(binary(BinaryOp::kDiv, i64({1}, {INT64_MIN}), i64({1}, {-1})), i64({1}, {INT64_MIN}));
  expect_equal(binary(BinaryOp::kDiv, u64({1}, {UINT64_MAX}), u64({1}, {2})), u64({1}, {UINT64_MAX / 2}));
  expect_equal(binary(BinaryOp::kModTrunc, i64({4}, {7, -7, 7, INT64_MIN}), i64({4}, {3, 3, -3, -1})),
               i64({4}, {1, -1, 1, 0}));
  expect_equal(binary(BinaryOp::kModFloor, i64({5}, {7, -7, 7, -7, 6}), i64({5}, {3, 3, -3, -3, -3})),
               i64({5}, {1, 2, -2, -1, 0}));
  for (BinaryOp op : {BinaryOp::kDiv, BinaryOp::kModFloor, BinaryOp::kModTrunc}) {
    const std::string error = error_of(Binary{op}, {i32({3}, {1, 2, 3}), i32({3}, {1, 1, 0})});
    EXPECT_NE(error.find("integer division by zero at element 2"), std::string::npos) << error;
  }
}

TEST(EvalBinary, SpecialFloats) {
  const float inf = static_cast<float>(kInf), nan = static_cast<float>(kNan);
  expect_f32(binary(BinaryOp::kDiv, f32({4}, {1, -1, 0, inf}), f32({4}, {0, 0, 0, inf})), {4},
             {kInf, -kInf, kNan, kNan});
  expect_f32(binary(BinaryOp::kMax, f32({4}, {nan, 1, 1, -inf}), f32({4}, {1, nan, 2, -3})), {4},
             {kNan, kNan, 2, -3});
  expect_f32(binary(BinaryOp::kMin, f32({4}, {nan, 1, 1, -inf}), f32({4}, {1, nan, 2, -3})), {4},
             {kNan, kNan, 1, -kInf});
  expect_f32(binary(BinaryOp::kModTrunc, f32({4}, {5.5f, -5.5f, 5, inf}), f32({4}, {2, 2, inf, 2})), {4},
             {1.5, -1.5, 5, kNan});
  expect_f32(binary(BinaryOp::kModFloor, f32({4}, {5.5f, -5.5f, 5.5f, -4}), f32({4}, {2, 2, -2, 2})), {4},
             {1.5, 0.5, -0.5, 0});
  expect_same(binary(BinaryOp::kEq, f32({3}, {nan, 0, 1}), f32({3}, {nan, -0.0f, 2})), DType::kBool, {3},
              {0, 1, 0});
  expect_same(binary(BinaryOp::kNe, f32({2}, {nan, 1}), f32({2}, {nan, 1})), DType::kBool, {2}, {1, 0});
  expect_same(binary(BinaryOp::kLt, f32({3}, {nan, 1, 2}), f32({3}, {1, 2, 2})), DType::kBool, {3},
              {0, 1, 0});
  expect_same(binary(BinaryOp::kLe, f32({1}, {2}), f32({1}, {2})), DType::kBool, {1}, {1});
  expect_same(binary(BinaryOp::kGt, u64({1}, {UINT64_MAX}), u64({1}, {1})), DType::kBool, {1}, {1});
  expect_same(binary(BinaryOp::kGe, i64({1}, {-1}), i64({1}, {1})), DType::kBool, {1}, {0});
}

// One rounding: 16777216 + 1 is not a float, and 2048 + 1 no f16; a sum is the float nearest to the exact
// one.
TEST(EvalBinary, RoundsOnceToTheElementType) {
  expect_f32(binary(BinaryOp::kAdd, f32({1}, {16777216}), f32({1}, {1})), {1}, {16777216});
  expect_same(
      binary(BinaryOp::kAdd, of_type(DType::kF16, {2}, {2048, 60000}), of_type(DType::kF16, {2}, {1, 60000})),
      DType::kF16, {2}, {2048, kInf});
  expect_same(binary(BinaryOp::kMul, of_type(DType::kBF16, {1}, {1.0078125}),
                     of_type(DType::kBF16, {1}, {1.0078125})),
              DType::kBF16, {1}, {1.015625});
}

TEST(EvalBinary, IntegersWrap) {
  expect_equal(binary(BinaryOp::kAdd, i8({1}, {127}), i8({1}, {1})), i8({1}, {-128}));
  expect_equal(binary(BinaryOp::kMul, i32({1}, {INT32_MAX}), i32({1}, {2})), i32({1}, {-2}));
  expect_equal(binary(BinaryOp::kSub, u8({1}, {0}), u8({1}, {1})), u8({1}, {255}));
  expect_equal(binary(BinaryOp::kAdd, i64({1}, {INT64_MAX}), i64({1}, {1})), i64({1}, {INT64_MIN}));
  expect_equal(binary(BinaryOp::kMul, i64({1}, {INT64_MIN}), i64({1}, {-1})), i64({1}, {INT64_MIN}));
}

TEST(EvalBinary, Power) {
  expect_equal(binary(BinaryOp::kPow, i32({6}, {2, -3, 0, 2, -1, 1}), i32({6}, {10, 3, 0, -1, -3, -9})),
               i32({6}, {1024, -27, 1, 0, -1, 1}));
  expect_equal(binary(BinaryOp::kPow, i32({1}, {3}), i32({1}, {21})),
               i32({1}, {1870418611}));  // 3^21 mod 2^32
  expect_f32(binary(BinaryOp::kPow, f32({3}, {-8, 0, 2}), i64({3}, {3, 0, -1})), {3}, {-512, 1, 0.5});
  expect_equal(binary(BinaryOp::kPow, i64({2}, {9, 2}), f32({2}, {0.5f, -1})), i64({2}, {3, 0}));
  expect_f32(binary(BinaryOp::kPow, f32({2}, {-8, static_cast<float>(kNan)}), f32({2}, {0.5f, 0})), {2},
             {kNan, 1});
}

TEST(EvalBinary, BitsAndLogic) {
  expect_equal(binary(BinaryOp::kAnd, boolean({4}, {0, 0, 1, 1}), boolean({4}, {0, 1, 0, 1})),
               boolean({4}, {0, 0, 0, 1}));
  expect_equal(binary(BinaryOp::kOr, boolean({4}, {0, 0, 1, 1}), boolean({4}, {0, 1, 0, 1})),
               boolean({4}, {0, 1, 1, 1}));
  expect_equal(binary(BinaryOp::kXor, boolean({4}, {0, 0, 1, 1}), boolean({4}, {0, 1, 0, 1})),
               boolean({4}, {0, 1, 1, 0}));
  expect_equal(binary(BinaryOp::kBitXor, i8({1}, {-1}), i8({1}, {15})), i8({1}, {-16}));
  expect_equal(binary(BinaryOp::kBitAnd, u8({1}, {0x3c}), u8({1}, {0x0f})), u8({1}, {0x0c}));
  expect_equal(binary(BinaryOp::kBitOr, u8({1}, {0x3c}), u8({1}, {0x0f})), u8({1}, {0x3f}));
  expect_equal(binary(BinaryOp::kShl, u8({4}, {1, 1, 255, 1}), u8({4}, {7, 8, 4, 200})),
               u8({4}, {128, 0, 240, 0}));
  expect_equal(binary(BinaryOp::kShr, u8({3}, {255, 255, 255}), u8({3}, {1, 8, 64})), u8({3}, {127, 0, 0}));
  expect_equal(binary(BinaryOp::kShr, i8({2}, {-128, -1}), i8({2}, {3, 100})), i8({2}, {-16, -1}));
  EXPECT_NE(error_of(Binary{BinaryOp::kAnd}, {f32({1}, {1}), f32({1}, {1})}).find("not defined"),
            std::string::npos);
  EXPECT_NE(
      error_of(Binary{BinaryOp::kAdd}, {f32({1}, {1}), i32({1}, {1})}).find("input 1 is i32, expected f32"),
      std::string::npos);
}

TEST(EvalSelect, BroadcastsAllThree) {
  const HostTensor out = run_one(Select{}, {boolean({2, 1}, {1, 0}), f32({3}, {1, 2, 3}), f32({1}, {-0.0f})});
  expect_f32(out, {2, 3}, {1, 2, 3, -0.0, -0.0, -0.0});
  expect_equal(run_one(Select{}, {boolean({}, {0}), i64({}, {1}), i64({}, {INT64_MAX})}),
               i64({}, {INT64_MAX}));
}

TEST(EvalCast, FloatToIntegerTruncatesAndSaturatesAsX86) {
  const float inf = static_cast<float>(kInf), nan = static_cast<float>(kNan);
  const HostTensor x = f32({7}, {2.9f, -2.9f, 3e9f, -3e9f, inf, nan, 300});
  expect_equal(cast(x, DType::kI32), i32({7}, {2, -2, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, 300}));
  expect_equal(cast(x, DType::kI64), i64({7}, {2, -2, 3000000000, -3000000000, INT64_MIN, INT64_MIN, 300}));
  expect_equal(cast(x, DType::kI8), i8({7}, {2, -2, 0, 0, 0, 0, 44}));
  expect_equal(cast(x, DType::kU8), u8({7}, {2, 254, 0, 0, 0, 0, 44}));
  expect_equal(cast(x, DType::kBool), boolean({7}, {1, 1, 1, 1, 1, 1, 1}));
  expect_equal(cast(f32({2}, {-0.0f, 0.1f}), DType::kBool), boolean({2}, {0, 1}));
  expect_equal(cast(f64({2}, {1.8e19, 2147483647.9}), DType::kU64),
               u64({2}, {18000000000000000000u, 2147483647}));
  expect_equal(cast(f64({2}, {2147483647.9, -2147483648.9}), DType::kI32), i32({2}, {INT32_MAX, INT32_MIN}));
}

TEST(EvalCast, IntegersRoundOnce) {
  // 2^53 + 1 and 2^60 + 2^36 + 1 lie between floats; by way of double the second would tie to even and go
  // down.
  expect_f32(cast(i64({2}, {9007199254740993, (int64_t{1} << 60) + (int64_t{1} << 36) + 1}), DType::kF32),
             {2}, {9007199254740992.0, 0x1p60 + 0x1p37});
  // bf16 has 8 bits: 2^60 + 2^52 is a tie that the last bit decides.
  expect_same(
      cast(i64({2}, {(int64_t{1} << 60) + (int64_t{1} << 52) + 1, (int64_t{1} << 60) + (int64_t{1} << 52)}),
           DType::kBF16),
      DType::kBF16, {2}, {0x1p60 + 0x1p53, 0x1p60});
  expect_equal(cast(i64({3}, {300, -1, 1 << 20}), DType::kU8), u8({3}, {44, 255, 0}));
  expect_equal(cast(i8({1}, {-1}), DType::kU64), u64({1}, {UINT64_MAX}));
  expect_equal(cast(boolean({2}, {7, 0}), DType::kI32), i32({2}, {1, 0}));
  expect_same(cast(i32({1}, {70000}), DType::kF16), DType::kF16, {1}, {kInf});
}

TEST(EvalCast, EveryPairOfTypesKeepsSmallNumbers) {
  const DType all[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8,  DType::kI16,
                       DType::kI32, DType::kI64, DType::kU8,  DType::kU16,  DType::kU32, DType::kU64};
  for (DType from : all) {
    for (DType to : all) expect_same(cast(of_type(from, {3}, {0, 1, 100}), to), to, {3}, {0, 1, 100});
  }
}

}  // namespace
}  // namespace frit::graph
