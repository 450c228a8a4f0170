// Products, reductions, scans and normalisations. Literal results are onnxruntime's on pattern() data where a
// row says so by using it, else they are by hand.
#include "unit/eval_testing.h"

namespace frit::graph {
namespace {

using namespace testing;

TEST(EvalMatMul, BroadcastsBatches) {
  expect_f32(run_one(MatMul{}, {pattern({2, 1, 2, 3}, 1), pattern({3, 3, 2}, 2)}), {2, 3, 2, 2},
             {0.828125, -1.84375, -1.8125,  0.796875, -1.90625, 0.453125, 0.90625,  0.28125,
              0.390625, 0.953125, 0.390625, -2.03125, -1.9375,  0.921875, 1.890625, 1.765625,
              0.84375,  0.46875,  1.859375, -1.5,     0.390625, -1.78125, -1.40625, 1.703125});
}

TEST(EvalGemm, TransposedScaledWithBroadcastAddend) {
  expect_f32(run_one(Gemm{0.5f, 2, true, true}, {pattern({3, 2}, 1), pattern({4, 3}, 2), pattern({2, 1}, 3)}),
             {2, 4}, {-0.71875, -1.1875, 0.140625, -0.328125, -3.390625, -3.015625, -2.4609375, -2.0859375});
}

TEST(EvalReduce, Sum) {
  expect_f32(run_one(Reduce{ReduceOp::kSum, {0, 2}, false}, {pattern({2, 3, 2}, 1)}), {3},
             {-1.375, 1.125, 0.75});
}

TEST(EvalReduce, Mean) {
  expect_f32(run_one(Reduce{ReduceOp::kMean, {0, 2}, false}, {pattern({2, 3, 2}, 1)}), {3},
             {-0.34375, 0.28125, 0.1875});
}

TEST(EvalReduce, Max) {
  expect_f32(run_one(Reduce{ReduceOp::kMax, {0, 2}, false}, {pattern({2, 3, 2}, 1)}), {3},
             {0.75, 1.375, 1.25});
}

TEST(EvalReduce, Min) {
  expect_f32(run_one(Reduce{ReduceOp::kMin, {0, 2}, false}, {pattern({2, 3, 2}, 1)}), {3},
             {-1.125, -0.5, -0.875});
}

TEST(EvalReduce, Prod) {
  expect_f32(run_one(Reduce{ReduceOp::kProd, {0, 2}, false}, {pattern({2, 3, 2}, 1)}), {3},
             {0, 0.1611328125, -0.0341796875});
}

TEST(EvalCumSum, AllForms) {
  expect_f32(run_one(CumSum{1, false, false}, {pattern({2, 3}, 1)}), {2, 3},
             {0, -1.125, -0.5, -0.5, 0.75, 0.875});
  expect_f32(run_one(CumSum{1, false, true}, {pattern({2, 3}, 1)}), {2, 3},
             {-0.5, -0.5, 0.625, 0.875, 1.375, 0.125});
  expect_f32(run_one(CumSum{1, true, false}, {pattern({2, 3}, 1)}), {2, 3}, {0, 0, -1.125, 0, -0.5, 0.75});
  expect_f32(run_one(CumSum{1, true, true}, {pattern({2, 3}, 1)}), {2, 3}, {-0.5, 0.625, 0, 1.375, 0.125, 0});
}

TEST(EvalLayerNorm, WithStatistics) {
  const auto out = run(LayerNorm{1, 1e-5f}, {pattern({2, 2, 3}, 1), pattern({2, 3}, 2), pattern({2, 3}, 3)},
                       std::vector<TensorType>(3));
  ASSERT_EQ(out.size(), 3u);
  expect_near(out[0], {2, 2, 3},
              {-0.238150835, -1.64088464, -0.148045599, -1.27304554, 0.734115362, -0.113150798, -1.76051641,
               -1.03759527, 0.903568983, 0.755630732, 1.05824423, 1.43524909});
  expect_near(out[1], {2, 1, 1}, {0.0625000075, 0.0208333284});
  expect_near(out[2], {2, 1, 1}, {1.31666398, 1.16519165});
}

TEST(EvalBatchNorm, PerChannel) {
  expect_near(run_one(BatchNorm{1e-3f}, {pattern({2, 2, 3}, 1), pattern({2}, 2), pattern({2}, 3),
                                         pattern({2}, 4), f32({2}, {0.75, 1.875})}),
              {2, 2, 3},
              {-2.10831976, -3.89330769, -1.11665988, -1.36407852, -1.04465878, -1.25, -3.69497561,
               -0.918327808, -2.70331573, -1.02184319, -1.2271843, -1.43252552});
}

TEST(EvalSoftmax, MiddleAxis) {
  expect_near(run_one(Softmax{1, false}, {pattern({2, 3, 2}, 1)}), {2, 3, 2},
              {0.1572676, 0.1572676, 0.29381457, 0.29381457, 0.54891783, 0.54891783, 0.1572676, 0.326247483,
               0.29381457, 0.609510541, 0.54891783, 0.0642419383});
  expect_near(run_one(Softmax{1, true}, {pattern({2, 3, 2}, 1)}), {2, 3, 2},
              {-1.84980655, -1.84980655, -1.22480655, -1.22480655, -0.599806488, -0.599806488, -1.84980655,
               -1.12009895, -1.22480655, -0.495098978, -0.599806488, -2.74509907});
}

TEST(EvalActivation, OrdinaryValues) {
  const HostTensor x = pattern({6}, 1), wide = run_one(Binary{BinaryOp::kMul}, {x, f32({}, {4})});
  expect_near(run_one(Gelu{false}, {x}), {6},
              {0, -0.146581352, 0.45875904, -0.154268771, 1.1179378, 0.0687172785});
  expect_near(run_one(Gelu{true}, {x}), {6},
              {0, -0.146775171, 0.458721161, -0.154285997, 1.11771417, 0.0687171966});
  expect_near(run_one(HardSigmoid{0.25f, 0.5f}, {wide}), {6}, {0.5, 0, 1, 0, 1, 0.625});
  expect_near(run_one(HardSwish{}, {wide}), {6}, {0, -0, 2.29166675, -0.333333313, 5, 0.291666657});
  expect_near(run_one(LeakyRelu{0.125f}, {x}), {6}, {0, -0.140625, 0.625, -0.0625, 1.25, 0.125});
  expect_f32(run_one(Clip{}, {x, f32({}, {-0.5f}), f32({}, {0.75f})}), {6},
             {0, -0.5, 0.625, -0.5, 0.75, 0.125});
}

TEST(EvalMatMul, LargerThanABlockAndRagged) {
  const HostTensor a = noise({1, 131, 77}, 1, DType::kF64), b = noise({77, 259}, 2, DType::kF64);
  const HostTensor y = run_one(MatMul{}, {a, b});
  ASSERT_EQ(y.shape(), (Extents{1, 131, 259}));
  for (int64_t i = 0; i < 131; ++i) {
    for (int64_t j = 0; j < 259; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < 77; ++k) sum += a.as_double(i * 77 + k) * b.as_double(k * 259 + j);
      ASSERT_EQ(y.as_double(i * 259 + j), sum) << i << ", " << j;
    }
  }
}

TEST(EvalMatMul, RoundsOnceAndWraps) {
  expect_f32(run_one(MatMul{}, {f32({1, 3}, {16777216, 1, 1}), f32({3, 1}, {1, 1, 1})}), {1, 1}, {16777218});
  expect_equal(run_one(MatMul{}, {i32({1, 2}, {INT32_MAX, 1}), i32({2, 1}, {2, 1})}), i32({1, 1}, {-1}));
  expect_equal(run_one(MatMul{}, {i8({1, 1}, {-100}), i8({1, 1}, {3})}), i8({1, 1}, {-44}));
  expect_equal(run_one(MatMul{}, {u64({1, 1}, {UINT64_MAX}), u64({1, 1}, {2})}),
               u64({1, 1}, {UINT64_MAX - 1}));
  expect_same(
      run_one(MatMul{}, {of_type(DType::kBF16, {1, 2}, {256, 1}), of_type(DType::kBF16, {2, 1}, {1, 2})}),
      DType::kBF16, {1, 1}, {258});
}

TEST(EvalMatMul, SpecialValuesAndEmptyExtents) {
  const float inf = static_cast<float>(kInf);
  expect_f32(run_one(MatMul{}, {f32({2, 2}, {inf, 1, 0, 1}), f32({2, 2}, {0, 1, 1, 1})}), {2, 2},
             {kNan, kInf, 1, 1});
  expect_f32(run_one(MatMul{}, {f32({2, 0}, {}), f32({0, 3}, {})}), {2, 3}, {0, 0, 0, 0, 0, 0});
  expect_f32(run_one(MatMul{}, {f32({0, 2}, {}), ramp({2, 3})}), {0, 3}, {});
  expect_f32(run_one(MatMul{}, {f32({0, 1, 2}, {}), ramp({2, 3})}), {0, 1, 3}, {});
}

TEST(EvalMatMul, Errors) {
  const auto expect_error = [](const std::string& error, const char* part) {
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  expect_error(error_of(MatMul{}, {ramp({2, 3}), ramp({2, 3})}), "f32[2,3] and f32[2,3] do not multiply");
  expect_error(error_of(MatMul{}, {ramp({3}), ramp({3, 2})}), "do not multiply");
  expect_error(error_of(MatMul{}, {ramp({2, 1, 2}), ramp({3, 2, 1})}), "do not broadcast");
  expect_error(error_of(Gemm{1, 1, true, false}, {ramp({2, 3}), ramp({3, 2})}), "f32[2,3] (transposed)");
  expect_error(error_of(Gemm{1, 1, false, false}, {ramp({2, 3}), ramp({3, 2}), ramp({3})}),
               "does not broadcast to [2,2]");
}

TEST(EvalGemm, IntegersAndAbsentAddend) {
  expect_equal(run_one(Gemm{1, 1, false, false}, {i32({1, 2}, {1, 2}), i32({2, 1}, {3, 4}), i32({}, {-1})}),
               i32({1, 1}, {10}));
  expect_equal(run_one(Gemm{0.5f, 1, false, false}, {i32({1, 2}, {1, 2}), i32({2, 1}, {3, 4})}),
               i32({1, 1}, {5}));
}

TEST(EvalReduce, IdentitiesOfNoElements) {
  const HostTensor none = f32({2, 0}, {});
  expect_f32(run_one(Reduce{ReduceOp::kSum, {1}, false}, {none}), {2}, {0, 0});
  expect_f32(run_one(Reduce{ReduceOp::kProd, {1}, true}, {none}), {2, 1}, {1, 1});
  expect_f32(run_one(Reduce{ReduceOp::kMax, {1}, false}, {none}), {2}, {-kInf, -kInf});
  expect_f32(run_one(Reduce{ReduceOp::kMin, {1}, false}, {none}), {2}, {kInf, kInf});
  expect_f32(run_one(Reduce{ReduceOp::kMean, {1}, false}, {none}), {2}, {kNan, kNan});
  expect_f32(run_one(Reduce{ReduceOp::kSum, {0}, false}, {none}), {0}, {});
  expect_equal(run_one(Reduce{ReduceOp::kMax, {0}, false}, {i8({0}, {})}), i8({}, {-128}));
  expect_equal(run_one(Reduce{ReduceOp::kMin, {0}, false}, {i64({0}, {})}), i64({}, {INT64_MAX}));
  expect_equal(run_one(Reduce{ReduceOp::kMin, {0}, false}, {u8({0}, {})}), u8({}, {255}));
  EXPECT_NE(error_of(Reduce{ReduceOp::kMean, {0}, false}, {i32({0}, {})}).find("is not defined"),
            std::string::npos);
}

TEST(EvalReduce, SpecialValuesRoundingAndWrap) {
  const float nan = static_cast<float>(kNan);
  expect_f32(run_one(Reduce{ReduceOp::kMax, {0}, false}, {f32({3}, {1, nan, 2})}), {}, {kNan});
  expect_f32(run_one(Reduce{ReduceOp::kMin, {0}, false}, {f32({3}, {nan, 1, 2})}), {}, {kNan});
  expect_f32(run_one(Reduce{ReduceOp::kSum, {0}, false}, {f32({3}, {16777216, 1, 1})}), {}, {16777218});
  expect_same(run_one(Reduce{ReduceOp::kSum, {0}, true}, {of_type(DType::kF16, {3}, {60000, 60000, -60000})}),
              DType::kF16, {1}, {60000});
  expect_equal(run_one(Reduce{ReduceOp::kSum, {0}, false}, {i8({2}, {100, 100})}), i8({}, {-56}));
  expect_equal(run_one(Reduce{ReduceOp::kMean, {0}, false}, {i32({2}, {-4, -3})}), i32({}, {-3}));
  expect_equal(run_one(Reduce{ReduceOp::kProd, {0}, false}, {i64({2}, {INT64_MIN, -1})}),
               i64({}, {INT64_MIN}));
  EXPECT_NE(
      error_of(Reduce{ReduceOp::kSum, {2}, false}, {ramp({2, 2})}).find("axis 2 is out of range for rank 2"),
      std::string::npos);
}

TEST(EvalArgReduce, TiesAndNan) {
  const float nan = static_cast<float>(kNan);
  const HostTensor x = f32({2, 4}, {1, 5, 5, 0, 3, nan, 9, nan});
  expect_i64(run_one(ArgReduce{true, 1, true, false}, {x}), {2, 1}, {1, 1});
  expect_i64(run_one(ArgReduce{true, 1, false, true}, {x}), {2}, {2, 3});
  expect_i64(run_one(ArgReduce{false, 1, false, false}, {x}), {2}, {3, 1});
  expect_i64(run_one(ArgReduce{true, 0, false, false}, {i32({2, 2}, {-1, 7, -2, 8})}), {2}, {0, 1});
  expect_i64(run_one(ArgReduce{true, 0, false, false}, {ramp({3, 0})}), {0}, {});
  EXPECT_NE(error_of(ArgReduce{true, 1, false, false}, {ramp({3, 0})}).find("is empty"), std::string::npos);
}

TEST(EvalCumSum, WrapsAndRoundsEachSumOnce) {
  expect_equal(run_one(CumSum{0, false, false}, {i8({3}, {100, 100, 100})}), i8({3}, {100, -56, 44}));
  expect_f32(run_one(CumSum{0, false, false}, {f32({3}, {16777216, 1, 1})}), {3},
             {16777216, 16777216, 16777218});
}

TEST(EvalTopK, OrderTiesAndNan) {
  const HostTensor x = f32({5}, {2, 9, static_cast<float>(kNan), 9, -1});
  auto out = run(TopK{0, true, true}, {x, i64({1}, {3})});
  ASSERT_EQ(out.size(), 2u);
  expect_f32(out[0], {3}, {kNan, 9, 9});
  expect_i64(out[1], {3}, {2, 1, 3});
  out = run(TopK{0, false, true}, {x, i64({1}, {5})});
  expect_f32(out[0], {5}, {-1, 2, 9, 9, kNan});
  expect_i64(out[1], {5}, {4, 0, 1, 3, 2});
  out = run(TopK{0, true, false}, {ramp({2, 3}), i64({1}, {1})});
  expect_f32(out[0], {1, 3}, {3, 4, 5});
  expect_i64(out[1], {1, 3}, {1, 1, 1});
  out = run(TopK{0, true, true}, {x, i64({1}, {0})});
  expect_f32(out[0], {0}, {});
  EXPECT_NE(error_of(TopK{0, true, true}, {x, i64({1}, {6})}).find("k is 6, expected 0 to 5"),
            std::string::npos);
}

TEST(EvalSoftmax, SpecialRows) {
  const float inf = static_cast<float>(kInf), nan = static_cast<float>(kNan);
  expect_f32(run_one(Softmax{1, false}, {f32({3, 2}, {-inf, 0, -inf, -inf, nan, 1})}), {3, 2},
             {0, 1, kNan, kNan, kNan, kNan});
  expect_f32(run_one(Softmax{1, false}, {f32({1, 2}, {10000, 10000})}), {1, 2}, {0.5, 0.5});
  expect_f32(run_one(Softmax{1, true}, {f32({1, 2}, {-inf, 0})}), {1, 2}, {-kInf, 0});
  expect_f32(run_one(Softmax{0, false}, {f32({0}, {})}), {0}, {});
  expect_f32(run_one(Softmax{0, false}, {ramp({0, 2})}), {0, 2}, {});
}

TEST(EvalLayerNorm, BroadcastScaleAndLongRows) {
  // A row longer than one internal chunk: 0, 1, 2 ... has the mean (n-1)/2 and the variance (n*n-1)/12.
  const int64_t n = 2500;
  const HostTensor y = run_one(LayerNorm{1, 0}, {ramp({2, n}), f32({1}, {2})});
  const double mean = (n - 1) / 2.0, deviation = std::sqrt((n * n - 1) / 12.0);
  for (int64_t i = 0; i < 2 * n; ++i)
    ASSERT_NEAR(y.as_double(i), 2 * (static_cast<double>(i % n) - mean) / deviation, 1e-6) << i;
  expect_near(run_one(LayerNorm{0, 1e-5f}, {f32({3}, {5, 5, 5}), ramp({3}), f32({3}, {1, 2, 3})}), {3},
              {1, 2, 3});
  EXPECT_NE(error_of(LayerNorm{1, 0}, {ramp({2, 3}), ramp({2})}).find("does not broadcast"),
            std::string::npos);
}

TEST(EvalActivation, SpecialValues) {
  const float inf = static_cast<float>(kInf), nan = static_cast<float>(kNan);
  const HostTensor x = f32({3}, {inf, -inf, nan});
  expect_f32(run_one(LeakyRelu{0.5f}, {x}), {3}, {kInf, -kInf, kNan});
  expect_f32(run_one(HardSigmoid{0.2f, 0.5f}, {x}), {3}, {1, 0, kNan});
  expect_f32(run_one(HardSwish{}, {x}), {3}, {kInf, kNan, kNan});
  expect_f32(run_one(Gelu{false}, {x}), {3}, {kInf, kNan, kNan});
  const HostTensor zero = f32({}, {0}), one = f32({}, {1});
  expect_f32(run_one(Clip{}, {x, kAbsent, one}), {3}, {1, -kInf, kNan});
  expect_f32(run_one(Clip{}, {x, zero}), {3}, {kInf, 0, kNan});
  expect_f32(run_one(Clip{}, {x, one, zero}), {3}, {0, 0, kNan});  // the upper bound has the last word
  expect_equal(run_one(Clip{}, {u8({3}, {0, 100, 255}), u8({}, {10}), u8({}, {200})}),
               u8({3}, {10, 100, 200}));
  EXPECT_NE(error_of(Clip{}, {ramp({2}), ramp({2})}).find("has 2 elements, expected 1"), std::string::npos);
}

}  // namespace
}  // namespace frit::graph
