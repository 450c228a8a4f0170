// LSTM. Literal results are onnxruntime's on pattern() data, unless a comment says otherwise.
#include "unit/eval_testing.h"

namespace frit::graph {
namespace {

using namespace testing;

TEST(EvalLstm, EverythingForward) {
  const auto out =
      run(Lstm{2, Direction::kForward, false, 0},
          {pattern({3, 2, 3}, 1), pattern({1, 8, 3}, 2), pattern({1, 8, 2}, 3), pattern({1, 16}, 4),
           i32({2}, {3, 2}), pattern({1, 2, 2}, 5), pattern({1, 2, 2}, 6), pattern({1, 6}, 7)},
          std::vector<TensorType>(3));
  ASSERT_EQ(out.size(), 3u);
  expect_near(out[0], {3, 1, 2, 2},
              {-0.0503115095, -0.40408802, -0.0054680286, 0.00235740631, -0.0097708283, -0.387997717,
               0.0477192886, -0.513608456, 0.0350525267, -0.772716463, 0, 0});
  expect_near(out[1], {1, 2, 2}, {0.0350525267, -0.772716463, 0.0477192886, -0.513608456});
  expect_near(out[2], {1, 2, 2}, {0.957777858, -1.51920176, 0.968150318, -0.879712641});
}

TEST(EvalLstm, EverythingReverse) {
  const auto out =
      run(Lstm{2, Direction::kReverse, false, 0},
          {pattern({3, 2, 3}, 1), pattern({1, 8, 3}, 2), pattern({1, 8, 2}, 3), pattern({1, 16}, 4),
           i32({2}, {3, 2}), pattern({1, 2, 2}, 5), pattern({1, 2, 2}, 6), pattern({1, 6}, 7)},
          std::vector<TensorType>(3));
  ASSERT_EQ(out.size(), 3u);
  expect_near(out[0], {3, 1, 2, 2},
              {-0.0865912512, -0.777167201, 0.0175430793, -0.259672731, 0.00940318219, -0.546058536,
               0.070958823, -0.154329434, 0.029550625, -0.531627953, 0, 0});
  expect_near(out[1], {1, 2, 2}, {-0.0865912512, -0.777167201, 0.0175430793, -0.259672731});
  expect_near(out[2], {1, 2, 2}, {-0.32806018, -1.10324407, 0.470237523, -0.571472168});
}

TEST(EvalLstm, EverythingBidirectional) {
  const auto out =
      run(Lstm{2, Direction::kBidirectional, false, 0},
          {pattern({3, 2, 3}, 1), pattern({2, 8, 3}, 2), pattern({2, 8, 2}, 3), pattern({2, 16}, 4),
           i32({2}, {3, 2}), pattern({2, 2, 2}, 5), pattern({2, 2, 2}, 6), pattern({2, 6}, 7)},
          std::vector<TensorType>(3));
  ASSERT_EQ(out.size(), 3u);
  expect_near(out[0], {3, 2, 2, 2},
              {-0.0503115095,
               -0.40408802,
               -0.0054680286,
               0.00235740631,
               -0.455647051,
               0.0313159563,
               -0.760255098,
               -0.259854436,
               -0.0097708283,
               -0.387997717,
               0.0477192886,
               -0.513608456,
               -0.827641129,
               0.129790112,
               -0.406735122,
               -0.0182034876,
               0.0350525267,
               -0.772716463,
               0,
               0,
               -0.590882719,
               0.154590517,
               0,
               0});
  expect_near(out[1], {2, 2, 2},
              {0.0350525267, -0.772716463, 0.0477192886, -0.513608456, -0.455647051, 0.0313159563,
               -0.760255098, -0.259854436});
  expect_near(out[2], {2, 2, 2},
              {0.957777858, -1.51920176, 0.968150318, -0.879712641, -0.777024031, 0.250370562, -1.02689147,
               -0.734036446});
}

TEST(EvalLstm, InputForgetAndClip) {
  const auto out =
      run(Lstm{2, Direction::kForward, true, 0.75f},
          {pattern({3, 2, 3}, 1), pattern({1, 8, 3}, 2), pattern({1, 8, 2}, 3)}, std::vector<TensorType>(3));
  ASSERT_EQ(out.size(), 3u);
  expect_near(out[0], {3, 1, 2, 2},
              {-0.136511594, 0.152385205, -0.0642566979, -0.0596351922, -0.105681412, -0.0180286579,
               0.122735292, -0.0934882611, 0.0997620076, -0.171483621, 0.0294884779, 0.00141045859});
  expect_near(out[1], {1, 2, 2}, {0.0997620076, -0.171483621, 0.0294884779, 0.00141045859});
  expect_near(out[2], {1, 2, 2}, {0.321605802, -0.449427336, 0.0434451699, 0.00207671523});
}

// By hand: with zero weights all gates are 1/2 and the cell input is 0, so each step halves the cell.
TEST(EvalLstm, ZeroWeightsHalveTheCell) {
  const HostTensor x = ramp({2, 1, 1}), w = f32({1, 4, 1}, {0, 0, 0, 0}), initial_c = f32({1, 1, 1}, {8});
  const auto out = run(Lstm{1, Direction::kForward, false, 0},
                       {x, w, w, kAbsent, kAbsent, kAbsent, initial_c}, std::vector<TensorType>(3));
  ASSERT_EQ(out.size(), 3u);
  expect_near(out[2], {1, 1, 1}, {2});
  expect_near(out[0], {2, 1, 1, 1}, {0.5 * std::tanh(4.0), 0.5 * std::tanh(2.0)});
}

TEST(EvalLstm, NoStepsKeepTheInitialState) {
  const HostTensor w = ramp({1, 4, 1}), h = f32({1, 2, 1}, {3, 4});
  const HostTensor empty = ramp({0, 2, 1});
  const auto out = run(Lstm{1, Direction::kForward, false, 0}, {empty, w, w, kAbsent, kAbsent, h},
                       std::vector<TensorType>(2));
  ASSERT_EQ(out.size(), 2u);
  expect_f32(out[0], {0, 1, 2, 1}, {});
  expect_f32(out[1], {1, 2, 1}, {3, 4});
}

TEST(EvalLstm, Errors) {
  const HostTensor x = ramp({2, 1, 3}), w = ramp({1, 8, 3}), r = ramp({1, 8, 2}), lengths = i32({1}, {3});
  const Lstm op{2, Direction::kForward, false, 0};
  const auto expect_error = [](const std::string& error, const char* part) {
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  expect_error(error_of(op, {x, r, r}), "W is f32[1,8,2], expected [1,8,3]");
  expect_error(error_of(op, {x, w, w}), "R is f32[1,8,3], expected [1,8,2]");
  expect_error(error_of(op, {x, w, r, kAbsent, lengths}), "a sequence length is 3, expected 0 to 2");
  expect_error(error_of(op, {x, w, kAbsent}), "input 2 is absent");
}

}  // namespace
}  // namespace frit::graph
