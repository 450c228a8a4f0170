// Convolutions. Literal results are onnxruntime's on pattern() data, which is exact in float.
#include <random>

#include "unit/eval_testing.h"

namespace frit::graph {
namespace {

using namespace testing;

Conv plain(size_t rank) {
  return Conv{std::vector<int64_t>(rank, 1), std::vector<int64_t>(2 * rank, 0), std::vector<int64_t>(rank, 1),
              1};
}

TEST(EvalConv, OneAxisStridedPaddedWithBias) {
  expect_f32(
      run_one(Conv{{2}, {1, 1}, {1}, 1}, {pattern({1, 2, 5}, 1), pattern({3, 2, 3}, 2), pattern({3}, 3)}),
      {1, 3, 3}, {2.203125, -1.625, -1.171875, -3.03125, -3.640625, -4.046875, 1.078125, 3.6875, 3.5});
}

TEST(EvalConv, TwoAxesGroupedDilatedUnevenPads) {
  expect_f32(
      run_one(Conv{{1, 2}, {1, 0, 0, 2}, {2, 1}, 2}, {pattern({1, 4, 4, 3}, 1), pattern({4, 2, 2, 3}, 2)}),
      {1, 4, 3, 2}, {0.46875,  -0.015625, -0.40625, -0.046875, 2.234375, -0.21875, 3.21875,  0.609375,
                     4.015625, -1.3125,   -0.75,    2.15625,   0.65625,  0.40625,  0.546875, 0.03125,
                     1.671875, 1.03125,   1.09375,  -0.578125, 4.296875, 0.578125, 2.328125, -0.171875});
}

TEST(EvalConv, ThreeAxes) {
  expect_f32(run_one(Conv{{1, 2, 1}, {0, 1, 1, 1, 0, 0}, {1, 1, 1}, 1},
                     {pattern({1, 1, 3, 3, 2}, 1), pattern({2, 1, 2, 2, 2}, 2)}),
             {1, 2, 3, 2, 2},
             {0.75,      -1.921875, 1.578125, -1.296875, -1.53125, 2.046875, 2.578125,  -2.359375,
              0.765625,  -0.984375, -1,       -0.265625, 1.125,    -1.40625, -0.15625,  1.953125,
              -1.484375, 1.90625,   -0.53125, -1.140625, 0.4375,   -1.21875, -0.203125, 0.015625});
}

TEST(EvalConv, DepthwiseDilatedBatched) {
  expect_f32(run_one(Conv{{1, 1}, {0, 0, 0, 0}, {1, 2}, 3},
                     {pattern({2, 3, 1, 4}, 1), pattern({3, 1, 1, 2}, 2), pattern({3}, 3)}),
             {2, 3, 1, 2},
             {0.03125, -1.796875, -3.21875, -0.703125, 0.25, 1.359375, 0.734375, -0.375, -0.703125, -3.21875,
              -1.171875, 0.65625});
}

// The definition, one output element at a time.
double convolve_at(const Conv& op, const HostTensor& x, const HostTensor& w, int64_t n, int64_t o, int64_t oh,
                   int64_t ow) {
  const int64_t per_group = w.dim(0) / op.groups, first = o / per_group * w.dim(1);
  double sum = 0;
  for (int64_t c = 0; c < w.dim(1); ++c) {
    for (int64_t kh = 0; kh < w.dim(2); ++kh) {
      for (int64_t kw = 0; kw < w.dim(3); ++kw) {
        const int64_t h = oh * op.strides[0] - op.pads[0] + kh * op.dilations[0];
        const int64_t v = ow * op.strides[1] - op.pads[1] + kw * op.dilations[1];
        if (h < 0 || h >= x.dim(2) || v < 0 || v >= x.dim(3)) continue;
        sum += x.as_double(((n * x.dim(1) + first + c) * x.dim(2) + h) * x.dim(3) + v) *
               w.as_double(((o * w.dim(1) + c) * w.dim(2) + kh) * w.dim(3) + kw);
      }
    }
  }
  return sum;
}

struct Case {
  Conv op = plain(2);
  HostTensor x, w;
};

Case random_case(std::mt19937_64& random, uint64_t seed) {
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  Case c;
  c.op.groups = pick(1, 3);
  const int64_t in = pick(1, 5), out = pick(1, 6);
  const Extents kernel = {pick(1, 3), pick(1, 4)};
  Extents image = {pick(1, 9), pick(1, 13)};
  for (size_t axis = 0; axis < 2; ++axis) {
    c.op.strides[axis] = pick(1, 3);
    c.op.dilations[axis] = pick(1, 2);
    c.op.pads[axis] = pick(0, 2);
    c.op.pads[axis + 2] = pick(0, 2);
    const int64_t span = c.op.dilations[axis] * (kernel[axis] - 1) + 1;
    image[axis] = std::max(image[axis], span - c.op.pads[axis] - c.op.pads[axis + 2]);
  }
  c.x = noise({pick(1, 2), in * c.op.groups, image[0], image[1]}, seed);
  c.w = noise({out * c.op.groups, in, kernel[0], kernel[1]}, seed + 1);
  return c;
}

TEST(EvalConv, AgreesWithItsDefinition) {
  const uint64_t seed = 20260101;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 100; ++round) {
    const Case c = random_case(random, seed + static_cast<uint64_t>(round));
    const HostTensor y = run_one(c.op, {c.x, c.w});
    ASSERT_EQ(y.rank(), 4);
    for (int64_t i = 0; i < y.elements(); ++i) {
      const int64_t ow = i % y.dim(3), oh = i / y.dim(3) % y.dim(2), o = i / y.dim(3) / y.dim(2) % y.dim(1);
      const int64_t n = i / y.dim(3) / y.dim(2) / y.dim(1);
      ASSERT_EQ(y.at<float>(i), static_cast<float>(convolve_at(c.op, c.x, c.w, n, o, oh, ow)))
          << "round " << round << " element " << i;
    }
  }
}

// <conv(x, w), y> = <x, conv_transpose(y, w)>: a transposed convolution is the adjoint of the convolution.
TEST(EvalConvTranspose, IsTheAdjointOfConv) {
  const uint64_t seed = 20260102;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const auto dot = [](const HostTensor& a, const HostTensor& b) {
    double sum = 0;
    for (int64_t i = 0; i < a.elements(); ++i) sum += a.as_double(i) * b.as_double(i);
    return sum;
  };
  for (int round = 0; round < 60; ++round) {
    Case c = random_case(random, seed + static_cast<uint64_t>(round));
    c.x = cast(c.x, DType::kF64);
    c.w = cast(c.w, DType::kF64);
    const HostTensor forward = run_one(c.op, {c.x, c.w});
    if (forward.elements() == 0) continue;
    const HostTensor y = noise(forward.shape(), seed, DType::kF64);
    ConvTranspose transposed{c.op.strides, c.op.pads, c.op.dilations, {0, 0}, c.op.groups};
    for (size_t axis = 0; axis < 2; ++axis) {
      const int64_t span = c.op.dilations[axis] * (c.w.shape()[axis + 2] - 1) + 1;
      const int64_t reached =
          c.op.strides[axis] * (y.shape()[axis + 2] - 1) + span - c.op.pads[axis] - c.op.pads[axis + 2];
      transposed.output_padding[axis] = c.x.shape()[axis + 2] - reached;
    }
    const HostTensor back = run_one(transposed, {y, c.w});
    ASSERT_EQ(back.shape(), c.x.shape()) << "round " << round;
    ASSERT_NEAR(dot(forward, y), dot(c.x, back), 1e-9) << "round " << round;
  }
}

TEST(EvalConvTranspose, OneAxis) {
  expect_f32(run_one(ConvTranspose{{2}, {1, 0}, {1}, {1}, 1},
                     {pattern({1, 2, 3}, 1), pattern({2, 2, 3}, 2), pattern({2}, 3)}),
             {1, 2, 7},
             {0.25, -1.703125, -1.34375, 3.015625, -0.0625, -0.546875, -0.125, -0.625, -2.640625, -2.53125,
              1.453125, -1.5625, -2.046875, -1.25});
}

TEST(EvalConvTranspose, GroupedDilatedWithOutputPadding) {
  expect_f32(run_one(ConvTranspose{{2, 1}, {0, 1, 1, 0}, {1, 2}, {1, 0}, 2},
                     {pattern({1, 4, 2, 2}, 1), pattern({4, 1, 2, 3}, 2), pattern({2}, 3)}),
             {1, 2, 4, 5},
             {-1.625,  -1.0625,   -0.5,      1.125,     0.984375,  -1.125,    -1.6875,   0,
              0.5,     1.484375,  -0.53125,  0.78125,   -0.8125,   -1.671875, 1.0625,    -0.65625,
              0.96875, -0.9375,   -1.484375, 0.9375,    -2.421875, -1.5625,   0.265625,  -2.125,
              -1,      -2.984375, -1.8125,   -0.296875, 0.140625,  -2.28125,  -0.234375, -1.140625,
              -2.1875, 0.125,     -1.625,    0.015625,  -0.578125, -1.9375,   -3.265625, -0.296875});
}

// Padding is not multiplied: an infinite weight meets no zero. A NaN spoils only the outputs that read it.
TEST(EvalConv, NonFiniteValuesStayWhereTheyAreRead) {
  const float inf = static_cast<float>(kInf), nan = static_cast<float>(kNan);
  expect_f32(run_one(Conv{{1}, {1, 1}, {1}, 1}, {f32({1, 1, 3}, {1, 2, 3}), f32({1, 1, 3}, {inf, 1, 1})}),
             {1, 1, 3}, {3, kInf, kInf});
  expect_f32(run_one(Conv{{1}, {1, 1}, {1}, 1}, {f32({1, 1, 4}, {nan, 2, 3, 4}), f32({1, 1, 3}, {1, 1, 1})}),
             {1, 1, 4}, {kNan, kNan, 9, 7});
  const HostTensor x = noise({1, 3, 6, 7}, 5), w = noise({8, 3, 3, 3}, 6);
  HostTensor poisoned = f32(w.shape(), w.values<float>());
  reinterpret_cast<float*>(poisoned.mutable_bytes())[5 * 27] = inf;  // output channel 5 only
  const Conv same{{1, 1}, {1, 1, 1, 1}, {1, 1}, 1};
  const HostTensor a = run_one(same, {x, w}), b = run_one(same, {x, poisoned});
  for (int64_t i = 0; i < a.elements(); ++i) {
    if (i / 42 == 5) continue;
    ASSERT_EQ(a.at<float>(i), b.at<float>(i)) << i;
  }
}

TEST(EvalConv, AccumulatesInDoubleAndRoundsOnce) {
  // In float the ones would be lost beside 2^24.
  expect_f32(run_one(plain(1), {f32({1, 4, 1}, {16777216, 1, 1, -16777216}), f32({1, 4, 1}, {1, 1, 1, 1})}),
             {1, 1, 1}, {2});
  expect_same(run_one(plain(1), {of_type(DType::kF16, {1, 2, 1}, {300, 300}),
                                 of_type(DType::kF16, {1, 2, 1}, {300, -300})}),
              DType::kF16, {1, 1, 1}, {0});
}

TEST(EvalConv, EmptyExtents) {
  expect_f32(run_one(plain(2), {ramp({0, 1, 3, 3}), ramp({2, 1, 2, 2})}), {0, 2, 2, 2}, {});
  expect_f32(run_one(plain(1), {ramp({1, 1, 0}), ramp({2, 1, 1})}), {1, 2, 0}, {});
  expect_f32(run_one(plain(1), {ramp({1, 0, 3}), ramp({2, 0, 2}), f32({2}, {1, 2})}), {1, 2, 2},
             {1, 1, 2, 2});
}

TEST(EvalConv, Errors) {
  const HostTensor x = ramp({1, 2, 4, 4}), w = ramp({2, 2, 3, 3});
  const auto expect_error = [](const std::string& error, const char* part) {
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  expect_error(error_of(Conv{{1, 1}, {0, 0, 0, 0}, {1, 1, 1}, 1}, {x, w}),
               "dilations has 3 values, expected 2");
  expect_error(error_of(Conv{{1, 0}, {0, 0, 0, 0}, {1, 1}, 1}, {x, w}), "strides has the value 0");
  expect_error(error_of(Conv{{1, 1}, {0, 0, 0, 0}, {1, 1}, 2}, {x, w}), "do not fit 2 groups");
  expect_error(error_of(Conv{{1, 1}, {0, 0, 0, 0}, {1, 1}, 0}, {x, w}), "do not fit 0 groups");
  expect_error(error_of(plain(2), {x, ramp({2, 2, 3})}), "expected rank 4");
  expect_error(error_of(plain(2), {x, ramp({2, 2, 6, 3})}), "spans 6 elements of spatial axis 0");
  expect_error(error_of(plain(2), {x, w, ramp({3})}), "bias is f32[3], expected [2]");
  expect_error(error_of(plain(2), {x}), "has 1 inputs, expected 2 to 3");
  expect_error(error_of(plain(2), {x, cast(w, DType::kF64)}), "input 1 is f64, expected f32");
}

// The same bits whatever runs the tasks, in whatever order.
TEST(EvalConv, ParallelForDoesNotChangeBits) {
  const HostTensor x = noise({1, 6, 20, 23}, 1), w = noise({140, 3, 3, 3}, 2);
  const Conv op{{1, 1}, {1, 1, 1, 1}, {1, 1}, 2};
  EvalOptions options;
  int64_t tasks = 0;
  options.parallel_for = [&](int64_t count, const std::function<void(int64_t)>& task) {
    tasks += count;
    for (int64_t i = count; i-- > 0;) task(i);
  };
  const HostTensor* inputs[] = {&x, &w};
  auto parallel = evaluate_node(op, inputs, {}, options);
  ASSERT_TRUE(parallel.ok());
  EXPECT_GT(tasks, 4);
  expect_equal((*parallel)[0], run_one(op, {x, w}));
}

}  // namespace
}  // namespace frit::graph
