// Pooling. Literal results are onnxruntime's on pattern() data unless a comment says otherwise.
#include "unit/eval_testing.h"

namespace frit::graph {
namespace {

using namespace testing;

TEST(EvalPool, Max) {
  expect_f32(run_one(Pool{PoolOp::kMax, {3, 2}, {2, 2}, {1, 0, 1, 0}, {1, 1}, false, false},
                     {pattern({1, 1, 5, 4}, 1)}),
             {1, 1, 3, 2}, {1.25, 0.75, 1.375, 0.75, 1, 0.375});
  expect_f32(run_one(Pool{PoolOp::kMax, {3}, {2}, {1, 1}, {2}, false, false}, {pattern({1, 2, 7}, 1)}),
             {1, 2, 3}, {-0.5, 0.125, 0.125, 0.25, 0.875, 0.875});
  expect_f32(run_one(Pool{PoolOp::kMax, {2, 2}, {3, 2}, {0, 0, 0, 0}, {2, 1}, true, false},
                     {pattern({1, 1, 6, 5}, 1)}),
             {1, 1, 2, 3}, {0.25, 0.875, 1.25, 0.625, 1.25, -1});
}

TEST(EvalPool, Average) {
  expect_near(run_one(Pool{PoolOp::kAvg, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, false, false},
                      {pattern({1, 1, 5, 4}, 1)}),
              {1, 1, 3, 2}, {0.0625, -0.1875, 0.5, -0.0694444478, 0.21875, -0.270833343}, 1e-7);
  expect_near(run_one(Pool{PoolOp::kAvg, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, true, true},
                      {pattern({1, 1, 5, 4}, 1)}),
              {1, 1, 3, 3},
              {0.027777778, -0.125, 0.0416666679, 0.333333343, -0.0694444478, 0.0416666679, 0.0972222239,
               -0.180555552, -0.145833328},
              1e-7);
  expect_f32(run_one(Pool{PoolOp::kAvg, {2, 2, 2}, {1, 1, 1}, {0, 1, 0, 0, 0, 1}, {1, 1, 1}, false, true},
                     {pattern({1, 1, 3, 2, 2}, 1)}),
             {1, 1, 2, 2, 2}, {0.03125, -0.125, 0.015625, -0.09375, 0.296875, 0.1875, 0.1875, 0.171875});
}

TEST(EvalPool, AverageDilatedWithCeil) {
  expect_f32(run_one(Pool{PoolOp::kAvg, {2}, {2}, {1, 0}, {2}, true, true}, {pattern({1, 1, 6}, 1)}),
             {1, 1, 3}, {-0.5625, -0.8125, -0.1875});
  expect_f32(run_one(Pool{PoolOp::kAvg, {2}, {2}, {1, 0}, {2}, true, false}, {pattern({1, 1, 6}, 1)}),
             {1, 1, 3}, {-1.125, -0.8125, -0.1875});
}

// By hand: the fourth window of ceil mode would start in the end padding, so there are three.
TEST(EvalPool, CeilModeStartsNoWindowInTheEndPadding) {
  expect_f32(run_one(Pool{PoolOp::kMax, {1}, {2}, {0, 1}, {1}, true, false}, {f32({1, 1, 4}, {1, 2, 3, 4})}),
             {1, 1, 2}, {1, 3});
}

// By hand: a NaN wins, an empty window gives the identity, infinities are ordinary.
TEST(EvalPool, SpecialValues) {
  const float inf = static_cast<float>(kInf), nan = static_cast<float>(kNan);
  expect_f32(run_one(Pool{PoolOp::kMax, {2}, {1}, {0, 0}, {1}, false, false},
                     {f32({1, 1, 4}, {1, nan, -inf, -inf})}),
             {1, 1, 3}, {kNan, kNan, -kInf});
  expect_f32(run_one(Pool{PoolOp::kMax, {1}, {1}, {1, 0}, {1}, false, false}, {f32({1, 1, 1}, {7})}),
             {1, 1, 2}, {-kInf, 7});
  expect_f32(
      run_one(Pool{PoolOp::kAvg, {2}, {1}, {0, 0}, {1}, false, false}, {f32({1, 1, 3}, {inf, -inf, 1})}),
      {1, 1, 2}, {kNan, -kInf});
  expect_equal(
      run_one(Pool{PoolOp::kMax, {2}, {2}, {1, 1}, {1}, false, false}, {i8({1, 1, 2}, {-128, -100})}),
      i8({1, 1, 2}, {-128, -100}));
  expect_equal(run_one(Pool{PoolOp::kMax, {2}, {1}, {0, 0}, {1}, false, false}, {u8({1, 1, 3}, {0, 255, 3})}),
               u8({1, 1, 2}, {255, 255}));
}

TEST(EvalPool, EmptyBatchAndErrors) {
  expect_f32(run_one(Pool{PoolOp::kMax, {2}, {1}, {0, 0}, {1}, false, false}, {ramp({0, 3, 4})}), {0, 3, 3},
             {});
  std::string error =
      error_of(Pool{PoolOp::kMax, {2, 2}, {1, 1}, {0, 0, 0, 0}, {1, 1}, false, false}, {ramp({1, 3, 4})});
  EXPECT_NE(error.find("kernel has 2 values, expected 1"), std::string::npos) << error;
  error = error_of(Pool{PoolOp::kAvg, {2}, {1}, {0, 0}, {1}, false, false}, {i8({1, 1, 2}, {1, 2})});
  EXPECT_NE(error.find("only defined for floats"), std::string::npos) << error;
  error = error_of(Pool{PoolOp::kMax, {9}, {1}, {0, 0}, {1}, false, false}, {ramp({1, 3, 4})});
  EXPECT_NE(error.find("spans 9 elements"), std::string::npos) << error;
}

}  // namespace
}  // namespace frit::graph
