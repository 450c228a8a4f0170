// Resize. Literal results are onnxruntime's on pattern() data, unless a comment says otherwise.
#include "unit/eval_testing.h"

namespace frit::graph {
namespace {

using namespace testing;

Resize resize(ResizeMode mode, ResizeCoord coord, bool by_scales = false) {
  return Resize{mode, coord, ResizeNearest::kRoundPreferFloor, -0.75f, false, by_scales, {}};
}

TEST(EvalResize, LinearToSizes) {
  expect_near(run_one(resize(ResizeMode::kLinear, ResizeCoord::kHalfPixel),
                      {pattern({1, 1, 5}, 1), i64({3}, {1, 1, 8})}),
              {1, 1, 8}, {0, -0.4921875, -1.015625, 0.078125, 0.2734375, -0.4296875, 0.484375, 1.25});
  expect_near(run_one(resize(ResizeMode::kLinear, ResizeCoord::kPytorchHalfPixel),
                      {pattern({1, 1, 5}, 1), i64({3}, {1, 1, 8})}),
              {1, 1, 8}, {0, -0.4921875, -1.015625, 0.078125, 0.2734375, -0.4296875, 0.484375, 1.25});
  expect_near(run_one(resize(ResizeMode::kLinear, ResizeCoord::kAlignCorners),
                      {pattern({1, 1, 5}, 1), i64({3}, {1, 1, 8})}),
              {1, 1, 8},
              {0, -0.642857194, -0.874999881, 0.12500006, 0.303571314, -0.339285791, 0.25000006, 1.25});
  expect_near(run_one(resize(ResizeMode::kLinear, ResizeCoord::kAsymmetric),
                      {pattern({1, 1, 5}, 1), i64({3}, {1, 1, 8})}),
              {1, 1, 8}, {0, -0.703125, -0.6875, 0.40625, 0.0625, -0.28125, 0.8125, 1.25});
  expect_near(run_one(resize(ResizeMode::kLinear, ResizeCoord::kHalfPixelSymmetric),
                      {pattern({1, 1, 5}, 1), i64({3}, {1, 1, 8})}),
              {1, 1, 8}, {0, -0.4921875, -1.015625, 0.078125, 0.2734375, -0.4296875, 0.484375, 1.25});
}

TEST(EvalResize, LinearByScales) {
  expect_near(run_one(resize(ResizeMode::kLinear, ResizeCoord::kHalfPixel, true),
                      {pattern({1, 1, 4}, 1), f32({3}, {1, 1, 0.6f})}),
              {1, 1, 2}, {-0.37499997, 0.625});
  expect_near(run_one(resize(ResizeMode::kLinear, ResizeCoord::kPytorchHalfPixel, true),
                      {pattern({1, 1, 4}, 1), f32({3}, {1, 1, 0.6f})}),
              {1, 1, 2}, {-0.37499997, 0.625});
  expect_near(run_one(resize(ResizeMode::kLinear, ResizeCoord::kAlignCorners, true),
                      {pattern({1, 1, 4}, 1), f32({3}, {1, 1, 0.6f})}),
              {1, 1, 2}, {0, -0.5});
  expect_near(run_one(resize(ResizeMode::kLinear, ResizeCoord::kAsymmetric, true),
                      {pattern({1, 1, 4}, 1), f32({3}, {1, 1, 0.6f})}),
              {1, 1, 2}, {0, 0.0416665673});
  expect_near(run_one(resize(ResizeMode::kLinear, ResizeCoord::kHalfPixelSymmetric, true),
                      {pattern({1, 1, 4}, 1), f32({3}, {1, 1, 0.6f})}),
              {1, 1, 2}, {-0.75, 0.250000089});
}

TEST(EvalResize, CubicToSizes) {
  expect_near(run_one(resize(ResizeMode::kCubic, ResizeCoord::kHalfPixel),
                      {pattern({1, 1, 1, 5}, 1), i64({4}, {1, 1, 1, 7})}),
              {1, 1, 1, 7},
              {0.0885571539, -0.83637017, -0.737062931, 0.625, -0.317967027, 0.116618156, 1.38775539});
  expect_near(run_one(resize(ResizeMode::kCubic, ResizeCoord::kPytorchHalfPixel),
                      {pattern({1, 1, 1, 5}, 1), i64({4}, {1, 1, 1, 7})}),
              {1, 1, 1, 7},
              {0.0885571539, -0.83637017, -0.737062931, 0.625, -0.317967027, 0.116618156, 1.38775539});
  expect_near(run_one(resize(ResizeMode::kCubic, ResizeCoord::kAlignCorners),
                      {pattern({1, 1, 1, 5}, 1), i64({4}, {1, 1, 1, 7})}),
              {1, 1, 1, 7}, {0, -0.965277791, -0.636573792, 0.625, -0.243056238, -0.0740737021, 1.25});
  expect_near(run_one(resize(ResizeMode::kCubic, ResizeCoord::kAsymmetric),
                      {pattern({1, 1, 1, 5}, 1), i64({4}, {1, 1, 1, 7})}),
              {1, 1, 1, 7},
              {0, -1.01949716, -0.419825017, 0.603681266, -0.478681237, 0.426749349, 1.44132686});
  expect_near(run_one(resize(ResizeMode::kCubic, ResizeCoord::kHalfPixelSymmetric),
                      {pattern({1, 1, 1, 5}, 1), i64({4}, {1, 1, 1, 7})}),
              {1, 1, 1, 7},
              {0.0885571539, -0.83637017, -0.737062931, 0.625, -0.317967027, 0.116618156, 1.38775539});
}

TEST(EvalResize, NearestRounding) {
  expect_f32(run_one(Resize{ResizeMode::kNearest,
                            ResizeCoord::kHalfPixel,
                            ResizeNearest::kRoundPreferFloor,
                            0,
                            false,
                            false,
                            {}},
                     {pattern({1, 1, 4}, 1), i64({3}, {1, 1, 6})}),
             {1, 1, 6}, {0, 0, -1.125, 0.625, 0.625, -0.5});
  expect_f32(run_one(Resize{ResizeMode::kNearest,
                            ResizeCoord::kAsymmetric,
                            ResizeNearest::kRoundPreferFloor,
                            0,
                            false,
                            false,
                            {}},
                     {pattern({1, 1, 5}, 1), i64({3}, {1, 1, 3})}),
             {1, 1, 3}, {0, 0.625, -0.5});
  expect_f32(run_one(Resize{ResizeMode::kNearest,
                            ResizeCoord::kHalfPixel,
                            ResizeNearest::kRoundPreferCeil,
                            0,
                            false,
                            false,
                            {}},
                     {pattern({1, 1, 4}, 1), i64({3}, {1, 1, 6})}),
             {1, 1, 6}, {0, -1.125, -1.125, 0.625, -0.5, -0.5});
  expect_f32(run_one(Resize{ResizeMode::kNearest,
                            ResizeCoord::kAsymmetric,
                            ResizeNearest::kRoundPreferCeil,
                            0,
                            false,
                            false,
                            {}},
                     {pattern({1, 1, 5}, 1), i64({3}, {1, 1, 3})}),
             {1, 1, 3}, {0, 0.625, -0.5});
  expect_f32(
      run_one(
          Resize{ResizeMode::kNearest, ResizeCoord::kHalfPixel, ResizeNearest::kFloor, 0, false, false, {}},
          {pattern({1, 1, 4}, 1), i64({3}, {1, 1, 6})}),
      {1, 1, 6}, {0, 0, -1.125, -1.125, 0.625, -0.5});
  expect_f32(
      run_one(
          Resize{ResizeMode::kNearest, ResizeCoord::kAsymmetric, ResizeNearest::kFloor, 0, false, false, {}},
          {pattern({1, 1, 5}, 1), i64({3}, {1, 1, 3})}),
      {1, 1, 3}, {0, -1.125, -0.5});
  expect_f32(
      run_one(
          Resize{ResizeMode::kNearest, ResizeCoord::kHalfPixel, ResizeNearest::kCeil, 0, false, false, {}},
          {pattern({1, 1, 4}, 1), i64({3}, {1, 1, 6})}),
      {1, 1, 6}, {0, -1.125, 0.625, 0.625, -0.5, -0.5});
  expect_f32(
      run_one(
          Resize{ResizeMode::kNearest, ResizeCoord::kAsymmetric, ResizeNearest::kCeil, 0, false, false, {}},
          {pattern({1, 1, 5}, 1), i64({3}, {1, 1, 3})}),
      {1, 1, 3}, {0, 0.625, 1.25});
}

TEST(EvalResize, TwoAxes) {
  expect_near(run_one(resize(ResizeMode::kLinear, ResizeCoord::kHalfPixel),
                      {pattern({1, 1, 2, 3}, 1), i64({4}, {1, 1, 3, 5})}),
              {1, 1, 3, 5},
              {0, -0.450000048, -1.125, -0.0749997497, 0.625, -0.25, -0.12499997, 0.0625, 0.25000006, 0.375,
               -0.5, 0.200000077, 1.25, 0.574999809, 0.125});
  expect_near(
      run_one(
          Resize{ResizeMode::kCubic, ResizeCoord::kHalfPixel, ResizeNearest::kFloor, -0.5f, true, false, {}},
          {pattern({1, 1, 3, 4}, 1), i64({4}, {1, 1, 5, 3})}),
      {1, 1, 5, 3},
      {-0.243869394, -0.222287685, -0.420120895, 0.360423684, -0.450851053, 0.0179280564, 1.13430023,
       -0.6171875, 0.538566709, 0.349033624, 0.41126442, -0.264164448, -0.261519194, 1.11365008,
       -0.857252479});
}

// By hand: from here on.
TEST(EvalResize, ShapeFromTheTypeOrFromTheScalesOfTheOp) {
  const HostTensor x = f32({1, 1, 2}, {1, 2});
  Resize op{ResizeMode::kNearest, ResizeCoord::kAsymmetric, ResizeNearest::kFloor, 0, false, false, {}};
  expect_f32(run_one(op, {x}, {type_of(DType::kF32, {1, 1, 4})}), {1, 1, 4}, {1, 1, 2, 2});
  op.scales = {1, 1, 1.75f};  // 3 elements: 0, 1 / 1.75, 2 / 1.75
  expect_f32(run_one(op, {x}), {1, 1, 3}, {1, 1, 2});
}

TEST(EvalResize, NearestCopiesAnyTypeAndBatchesAreApart) {
  const Resize op{ResizeMode::kNearest, ResizeCoord::kAsymmetric, ResizeNearest::kFloor, 0, false, true, {}};
  expect_equal(run_one(op, {i64({2, 2}, {1, INT64_MIN, 3, 4}), f32({2}, {1, 2})}),
               i64({2, 4}, {1, 1, INT64_MIN, INT64_MIN, 3, 3, 4, 4}));
  expect_f32(run_one(op, {f32({0, 2}, {}), f32({2}, {1, 2})}), {0, 4}, {});
}

// The product is rounded to float before floor: 10 * 0.7f is 7, though 0.7f is less than 0.7.
TEST(EvalResize, ExtentOfScales) {
  const Resize op{ResizeMode::kNearest, ResizeCoord::kAsymmetric, ResizeNearest::kFloor, 0, false, true, {}};
  EXPECT_EQ(run_one(op, {ramp({10}), f32({1}, {0.7f})}).shape(), Extents{7});
}

TEST(EvalResize, Errors) {
  const auto expect_error = [](const std::string& error, const char* part) {
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  const Resize op = resize(ResizeMode::kLinear, ResizeCoord::kHalfPixel);
  expect_error(error_of(op, {ramp({2, 2}), i64({1}, {4})}), "has 1 sizes, expected 2");
  expect_error(error_of(op, {ramp({0}), i64({1}, {4})}), "empty axis does not resize");
  expect_error(
      error_of(resize(ResizeMode::kLinear, ResizeCoord::kHalfPixel, true), {ramp({2}), f32({1}, {-1})}),
      "negative extent");
  expect_error(error_of(resize(ResizeMode::kLinear, ResizeCoord::kHalfPixel, true),
                        {ramp({2}), f32({1}, {static_cast<float>(kNan)})}),
               "negative extent");
  expect_error(
      error_of(resize(ResizeMode::kLinear, ResizeCoord::kTfCropAndResize), {ramp({2}), i64({1}, {4})}),
      "region of interest");
}

}  // namespace
}  // namespace frit::graph
