// Ops that move elements: all expectations by hand or from numpy's indexing rules.
#include "unit/eval_testing.h"

namespace frit::graph {
namespace {

using namespace testing;

void expect_error(const std::string& error, const char* part) {
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

TEST(EvalReshape, Forms) {
  const HostTensor x = ramp({2, 3, 4}), none = f32({0, 3}, {});
  EXPECT_EQ(run_one(Reshape{}, {x, i64({2}, {0, -1})}).shape(), (Extents{2, 12}));
  EXPECT_EQ(run_one(Reshape{}, {x, i32({4}, {4, 1, -1, 2})}).shape(), (Extents{4, 1, 3, 2}));
  EXPECT_EQ(run_one(Reshape{}, {x}, {type_of(DType::kF32, {24})}).shape(), (Extents{24}));
  EXPECT_EQ(run_one(Reshape{}, {ramp({1}), i64({0}, {})}).shape(), (Extents{}));
  EXPECT_EQ(run_one(Reshape{}, {none, i64({2}, {0, -1})}).shape(), (Extents{0, 3}));
  EXPECT_EQ(run_one(Reshape{}, {none, i64({2}, {5, -1})}).shape(), (Extents{5, 0}));
  EXPECT_EQ(run_one(Reshape{true}, {none, i64({2}, {3, 0})}).shape(), (Extents{3, 0}));
  expect_equal(run_one(Reshape{}, {x, i64({1}, {24})}), ramp({24}));
}

TEST(EvalReshape, Errors) {
  const HostTensor x = ramp({2, 3});
  expect_error(error_of(Reshape{}, {x, i64({2}, {-1, -1})}), "more than one -1");
  expect_error(error_of(Reshape{}, {x, i64({2}, {4, -1})}), "does not reshape to [4,-1]");
  expect_error(error_of(Reshape{}, {x, i64({1}, {7})}), "has 6 elements, shape [7] has 7");
  expect_error(error_of(Reshape{}, {x, i64({3}, {2, 3, 0})}), "copies axis 2");
  expect_error(error_of(Reshape{}, {x, i64({1}, {-2})}), "negative extent");
  expect_error(error_of(Reshape{true}, {ramp({0}), i64({2}, {0, -1})}), "does not reshape");
  expect_error(error_of(Reshape{}, {x, i64({2}, {INT64_MAX, 2})}), "too many elements");
  expect_error(error_of(Reshape{}, {x, ramp({1})}), "input 1 is f32, expected i64 or i32");
  expect_error(error_of(Reshape{}, {x}, {TensorType{DType::kF32, {Dim::symbol("n")}, {}}}),
               "dimension n has no value");
}

TEST(EvalTranspose, Permutes) {
  expect_f32(run_one(Transpose{{2, 0, 1}}, {ramp({2, 2, 3})}), {3, 2, 2},
             {0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11});
  expect_equal(run_one(Transpose{{1, 0}}, {boolean({1, 3}, {1, 0, 1})}), boolean({3, 1}, {1, 0, 1}));
  expect_equal(run_one(Transpose{{1, 0}}, {i64({2, 2}, {1, INT64_MAX, 3, 4})}),
               i64({2, 2}, {1, 3, INT64_MAX, 4}));
  expect_f32(run_one(Transpose{{}}, {f32({}, {5})}), {}, {5});
  expect_f32(run_one(Transpose{{1, 0}}, {ramp({0, 2})}), {2, 0}, {});
  expect_error(error_of(Transpose{{0, 0}}, {ramp({2, 2})}), "names axis 0 twice");
  expect_error(error_of(Transpose{{0}}, {ramp({2, 2})}), "perm has 1 axes, expected 2");
  expect_error(error_of(Transpose{{0, 2}}, {ramp({2, 2})}), "axis 2 is out of range");
}

// NaN payloads and signs of zero are moved, not computed with.
TEST(EvalTranspose, KeepsBits) {
  const HostTensor bits = tensor<uint32_t>(DType::kF32, {2, 2}, {0x7fa00001, 0x80000000, 0xffc12345, 1});
  expect_equal(run_one(Transpose{{1, 0}}, {bits}),
               tensor<uint32_t>(DType::kF32, {2, 2}, {0x7fa00001, 0xffc12345, 0x80000000, 1}));
}

TEST(EvalExpand, BothDirections) {
  expect_f32(run_one(Expand{}, {ramp({2, 1}), i64({3}, {2, 1, 3})}), {2, 2, 3},
             {0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1});
  expect_f32(run_one(Expand{}, {ramp({3}), i64({1}, {1})}), {3}, {0, 1, 2});
  expect_f32(run_one(Expand{}, {f32({}, {7})}, {type_of(DType::kF32, {2})}), {2}, {7, 7});
  expect_f32(run_one(Expand{}, {f32({1}, {7}), i64({2}, {0, 2})}), {0, 2}, {});
  expect_error(error_of(Expand{}, {ramp({2}), i64({1}, {3})}), "[2] and [3] do not broadcast");
  expect_error(error_of(Expand{}, {ramp({1}), i64({1}, {-3})}), "negative extent");
  expect_error(error_of(Expand{}, {ramp({1}), i64({1}, {int64_t{1} << 57})}), "larger than the limit");
}

TEST(EvalSlice, StepsOfBothSigns) {
  const HostTensor x = ramp({3, 5});
  expect_f32(run_one(Slice{{Dim(2), Dim(1)}, {-2, 3}}, {x}, {type_of(DType::kF32, {2, 2})}), {2, 2},
             {11, 14, 1, 4});
  expect_f32(run_one(Slice{{Dim(0), Dim(5)}, {1, 1}}, {x}, {type_of(DType::kF32, {3, 0})}), {3, 0}, {});
  expect_error(error_of(Slice{{Dim(0), Dim(3)}, {1, 1}}, {x}, {type_of(DType::kF32, {3, 3})}),
               "takes 3 elements from 3 in steps of 1 along axis 1");
  expect_error(error_of(Slice{{Dim(0)}, {1}}, {x}, {type_of(DType::kF32, {3, 5})}), "has 1 starts");
}

HostTensor sliced(const HostTensor& x, int64_t start, int64_t end, int64_t step) {
  return run_one(DynamicSlice{}, {x, i64({1}, {start}), i64({1}, {end}), i64({1}, {0}), i64({1}, {step})});
}

TEST(EvalDynamicSlice, ClampsAsOnnx) {
  const HostTensor x = ramp({5});
  constexpr int64_t kMin = INT64_MIN, kMax = INT64_MAX;
  expect_f32(sliced(x, 1, kMax, 2), {2}, {1, 3});
  expect_f32(sliced(x, -2, kMax, 1), {2}, {3, 4});
  expect_f32(sliced(x, -100, 2, 1), {2}, {0, 1});
  expect_f32(sliced(x, kMax, kMin, -1), {5}, {4, 3, 2, 1, 0});
  expect_f32(sliced(x, -1, kMin, -2), {3}, {4, 2, 0});
  expect_f32(sliced(x, 3, 1, 1), {0}, {});
  expect_f32(sliced(x, 7, 9, 1), {0}, {});
  expect_f32(sliced(x, 0, kMax, kMax), {1}, {0});
  expect_f32(sliced(x, 4, kMin, kMin), {1}, {4});
  expect_f32(sliced(ramp({0}), kMax, kMin, -1), {0}, {});
  expect_f32(sliced(ramp({0}), 0, kMax, 1), {0}, {});
}

TEST(EvalDynamicSlice, AxesAndDefaults) {
  const HostTensor x = ramp({2, 3});
  expect_f32(run_one(DynamicSlice{}, {x, i32({2}, {1, 1}), i32({2}, {2, 3})}), {1, 2}, {4, 5});
  expect_f32(run_one(DynamicSlice{}, {x, i64({1}, {0}), i64({1}, {1}), i64({1}, {-1})}), {2, 1}, {0, 3});
  expect_error(error_of(DynamicSlice{}, {x, i64({2}, {0, 0}), i64({2}, {1, 1}), i64({2}, {0, -2})}),
               "axis 0 is sliced twice");
  expect_error(error_of(DynamicSlice{}, {x, i64({1}, {0}), i64({1}, {1}), i64({1}, {2})}),
               "axis 2 is out of range");
  expect_error(error_of(DynamicSlice{}, {x, i64({1}, {0}), i64({1}, {1}), i64({1}, {0}), i64({1}, {0})}),
               "a step is 0");
  expect_error(error_of(DynamicSlice{}, {x, i64({1}, {0}), i64({2}, {1, 1})}), "1 starts, 2 ends");
}

TEST(EvalConcat, MiddleAxisAndEmptyParts) {
  expect_f32(run_one(Concat{1}, {ramp({2, 1}), f32({2, 0}, {}), ramp({2, 2}, 1, 10)}), {2, 3},
             {0, 10, 11, 1, 12, 13});
  expect_equal(run_one(Concat{0}, {boolean({1}, {1}), boolean({2}, {0, 1})}), boolean({3}, {1, 0, 1}));
  expect_error(error_of(Concat{0}, {ramp({1, 2}), ramp({1, 3})}), "differ outside axis 0");
  expect_error(error_of(Concat{0}, {ramp({1}), i64({1}, {1})}), "input 1 is i64, expected f32");
}

TEST(EvalSplit, SizesFromInputTypesOrEqual) {
  const HostTensor x = ramp({2, 5});
  auto out = run(Split{1}, {x, i64({3}, {1, 0, 4})}, std::vector<TensorType>(3));
  ASSERT_EQ(out.size(), 3u);
  expect_f32(out[0], {2, 1}, {0, 5});
  expect_f32(out[1], {2, 0}, {});
  expect_f32(out[2], {2, 4}, {1, 2, 3, 4, 6, 7, 8, 9});
  out = run(Split{1}, {x}, {type_of(DType::kF32, {2, 4}), type_of(DType::kF32, {2, 1})});
  expect_f32(out[1], {2, 1}, {4, 9});
  const TensorType unknown{DType::kF32, {Dim::symbol("a"), Dim::symbol("b")}, {}};
  out = run(Split{1}, {x}, {unknown, unknown});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].shape(), (Extents{2, 3}));
  EXPECT_EQ(out[1].shape(), (Extents{2, 2}));
  expect_error(error_of(Split{1}, {x, i64({2}, {1, 1})}, {unknown, unknown}),
               "the sizes sum to 2, but axis 1 has 5");
  expect_error(error_of(Split{1}, {x, i64({2}, {-1, 6})}, {unknown, unknown}), "a size of -1");
}

TEST(EvalTile, RepeatsAndZero) {
  expect_f32(run_one(Tile{}, {ramp({2, 2}), i64({2}, {2, 3})}), {4, 6},
             {0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3});
  expect_f32(run_one(Tile{}, {ramp({2}), i64({1}, {0})}), {0}, {});
  expect_f32(run_one(Tile{}, {f32({}, {3}), i64({0}, {})}), {}, {3});
  expect_error(error_of(Tile{}, {ramp({2}), i64({2}, {1, 1})}), "repeats has 2 values, expected 1");
  expect_error(error_of(Tile{}, {ramp({2}), i64({1}, {-1})}), "negative value -1");
}

TEST(EvalPad, Modes) {
  const HostTensor x = f32({1, 3}, {1, 2, 3}), nine = f32({}, {9});
  expect_f32(run_one(Pad{PadMode::kConstant, {1, 2}, {0, 1}}, {x, nine}), {2, 6},
             {9, 9, 9, 9, 9, 9, 9, 9, 1, 2, 3, 9});
  expect_f32(run_one(Pad{PadMode::kConstant, {0, 1}, {0, 0}}, {x}), {1, 4}, {0, 1, 2, 3});
  expect_f32(run_one(Pad{PadMode::kEdge, {0, 2}, {1, 1}}, {x}), {2, 6}, {1, 1, 1, 2, 3, 3, 1, 1, 1, 2, 3, 3});
  expect_f32(run_one(Pad{PadMode::kReflect, {0, 2}, {0, 2}}, {x}), {1, 7}, {3, 2, 1, 2, 3, 2, 1});
  expect_f32(run_one(Pad{PadMode::kReflect, {0, 5}, {0, 0}}, {x}), {1, 8},
             {2, 1, 2, 3, 2, 1, 2, 3});  // more than once across
  expect_f32(run_one(Pad{PadMode::kReflect, {2, 0}, {0, 0}}, {x}), {3, 3}, {1, 2, 3, 1, 2, 3, 1, 2, 3});
  expect_f32(run_one(Pad{PadMode::kWrap, {0, 4}, {0, 1}}, {x}), {1, 8}, {3, 1, 2, 3, 1, 2, 3, 1});
}

TEST(EvalPad, NegativeAmountsCropFirst) {
  const HostTensor x = f32({4}, {1, 2, 3, 4});
  expect_f32(run_one(Pad{PadMode::kConstant, {-1}, {-2}}, {x}), {1}, {2});
  expect_f32(run_one(Pad{PadMode::kConstant, {-1}, {2}}, {x, f32({1}, {7})}), {5}, {2, 3, 4, 7, 7});
  expect_f32(run_one(Pad{PadMode::kEdge, {2}, {-2}}, {x}), {4}, {1, 1, 1, 2});
  expect_f32(run_one(Pad{PadMode::kReflect, {1}, {-2}}, {x}), {3}, {2, 1, 2});
  expect_f32(run_one(Pad{PadMode::kConstant, {-2}, {-2}}, {x}), {0}, {});
  expect_error(error_of(Pad{PadMode::kConstant, {-3}, {-2}}, {x}), "cut more than axis 0");
  expect_error(error_of(Pad{PadMode::kEdge, {-2}, {-2 + 4}}, {ramp({2})}), "no element to pad from");
  expect_f32(run_one(Pad{PadMode::kConstant, {1}, {1}}, {ramp({0}), f32({}, {5})}), {2}, {5, 5});
}

TEST(EvalDynamicPad, AxesAndErrors) {
  const HostTensor x = ramp({2, 2}), pads = i64({2}, {1, 0}), value = f32({}, {8}), axes = i64({1}, {-1});
  expect_f32(run_one(DynamicPad{PadMode::kConstant}, {x, pads, value, axes}), {2, 3}, {8, 0, 1, 8, 2, 3});
  expect_f32(run_one(DynamicPad{PadMode::kConstant}, {x, pads, kAbsent, axes}), {2, 3}, {0, 0, 1, 0, 2, 3});
  expect_error(error_of(DynamicPad{PadMode::kConstant}, {x, pads}), "pads has 2 values, expected 4");
  const HostTensor huge = i64({4}, {INT64_MAX, 0, 0, 0}), ints = i64({}, {8});
  expect_error(error_of(DynamicPad{PadMode::kConstant}, {x, huge}), "are too large");
  expect_error(error_of(DynamicPad{PadMode::kConstant}, {x, pads, ints, axes}),
               "input 2 is i64, expected f32");
}

TEST(EvalGather, AxesRanksAndNegativeIndices) {
  const HostTensor x = ramp({2, 3, 2});
  expect_f32(run_one(Gather{1}, {x, i64({2}, {-1, 0})}), {2, 2, 2}, {4, 5, 0, 1, 10, 11, 6, 7});
  expect_f32(run_one(Gather{0}, {x, i32({}, {1})}), {3, 2}, {6, 7, 8, 9, 10, 11});
  expect_f32(run_one(Gather{0}, {ramp({3}), i64({2, 2}, {0, 1, 2, -3})}), {2, 2}, {0, 1, 2, 0});
  expect_f32(run_one(Gather{0}, {ramp({3, 0}), i64({2}, {0, 2})}), {2, 0}, {});
  expect_f32(run_one(Gather{0}, {x, i64({0}, {})}), {0, 3, 2}, {});
  expect_error(error_of(Gather{1}, {x, i64({3}, {0, 3, 1})}),
               "index 3 at element 1 is out of range for axis 1 with 3 elements");
  expect_error(error_of(Gather{1}, {x, i64({1}, {-4})}), "index -4");
  expect_error(error_of(Gather{0}, {ramp({0}), i64({1}, {0})}),
               "index 0 at element 0 is out of range for axis 0 with 0 elements");
  expect_error(error_of(Gather{0}, {x, ramp({1})}), "expected i64 or i32");
}

TEST(EvalGatherElements, SmallerIndicesElsewhere) {
  expect_f32(run_one(GatherElements{1}, {ramp({2, 3}), i64({2, 2}, {2, -3, 0, 1})}), {2, 2}, {2, 0, 3, 4});
  expect_f32(run_one(GatherElements{0}, {ramp({3, 3}), i64({1, 2}, {2, 1})}), {1, 2}, {6, 4});
  expect_error(error_of(GatherElements{0}, {ramp({2, 2}), i64({1, 3}, {0, 0, 0})}), "reach beyond");
  expect_error(error_of(GatherElements{0}, {ramp({2, 2}), i64({1, 1}, {2})}), "index 2");
}

TEST(EvalGatherND, TuplesAndBatches) {
  const HostTensor x = ramp({2, 2, 2});
  expect_f32(run_one(GatherND{0}, {x, i64({2, 2}, {0, 1, 1, -2})}), {2, 2}, {2, 3, 4, 5});
  expect_f32(run_one(GatherND{0}, {x, i64({1, 3}, {1, 1, 0})}), {1}, {6});
  expect_f32(run_one(GatherND{1}, {x, i64({2, 1}, {1, 0})}), {2, 2}, {2, 3, 4, 5});
  expect_f32(run_one(GatherND{1}, {x, i64({2, 2, 1}, {1, 0, 0, 0})}), {2, 2, 2}, {2, 3, 0, 1, 4, 5, 4, 5});
  expect_f32(run_one(GatherND{0}, {x, i64({2, 0}, {})}), {2, 2, 2, 2},
             {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7});
  expect_error(error_of(GatherND{0}, {x, i64({1, 4}, {0, 0, 0, 0})}), "do not index");
  expect_error(error_of(GatherND{0}, {x, i64({1, 2}, {0, 2})}),
               "index 2 of tuple 0 is out of range for axis 1");
  expect_error(error_of(GatherND{1}, {x, i64({3, 1}, {0, 0, 0})}), "do not index");
}

TEST(EvalScatterElements, Reductions) {
  const HostTensor x = f32({1, 4}, {1, 2, 3, 4}), at = i64({1, 3}, {1, -1, 1}),
                   updates = f32({1, 3}, {10, 20, 5});
  const auto scattered = [&](ScatterOp op) { return run_one(ScatterElements{1, op}, {x, at, updates}); };
  expect_f32(scattered(ScatterOp::kNone), {1, 4}, {1, 5, 3, 20});  // the last update of an element stays
  expect_f32(scattered(ScatterOp::kAdd), {1, 4}, {1, 17, 3, 24});
  expect_f32(scattered(ScatterOp::kMul), {1, 4}, {1, 100, 3, 80});
  expect_f32(scattered(ScatterOp::kMax), {1, 4}, {1, 10, 3, 20});
  expect_f32(scattered(ScatterOp::kMin), {1, 4}, {1, 2, 3, 4});
  expect_f32(x, {1, 4}, {1, 2, 3, 4});  // the operand itself is untouched
  expect_error(error_of(ScatterElements{1, ScatterOp::kNone}, {x, i64({1, 1}, {4}), ramp({1, 1})}),
               "index 4");
  expect_error(error_of(ScatterElements{1, ScatterOp::kNone}, {x, at, ramp({1, 2})}), "updates are f32[1,2]");
}

TEST(EvalScatterND, SlicesAndReductions) {
  const HostTensor x = ramp({3, 2});
  expect_f32(run_one(ScatterND{ScatterOp::kNone}, {x, i64({2, 1}, {2, 0}), f32({2, 2}, {9, 8, 7, 6})}),
             {3, 2}, {7, 6, 2, 3, 9, 8});
  expect_f32(run_one(ScatterND{ScatterOp::kAdd}, {x, i64({2, 2}, {1, 1, 1, -1}), f32({2}, {10, 100})}),
             {3, 2}, {0, 1, 2, 113, 4, 5});
  expect_f32(run_one(ScatterND{ScatterOp::kNone}, {x, i64({0, 1}, {}), f32({0, 2}, {})}), {3, 2},
             {0, 1, 2, 3, 4, 5});
  expect_same(run_one(ScatterND{ScatterOp::kAdd}, {of_type(DType::kF16, {1}, {2048}), i64({2, 1}, {0, 0}),
                                                   of_type(DType::kF16, {2}, {1, 1})}),
              DType::kF16, {1}, {2050});  // one rounding
  expect_equal(run_one(ScatterND{ScatterOp::kMul}, {i8({1}, {100}), i64({1, 1}, {0}), i8({1}, {2})}),
               i8({1}, {-56}));
  expect_error(error_of(ScatterND{ScatterOp::kNone}, {x, i64({1, 1}, {3}), ramp({1, 2})}),
               "index 3 of tuple 0");
  expect_error(error_of(ScatterND{ScatterOp::kNone}, {x, i64({1, 1}, {0}), ramp({1, 3})}), "expected [1,2]");
  expect_error(error_of(ScatterND{ScatterOp::kNone}, {x, i64({1, 3}, {0, 0, 0}), ramp({1})}), "do not index");
}

TEST(EvalRange, FloatsIntegersAndErrors) {
  expect_f32(run_one(Range{}, {f32({}, {1}), f32({}, {2}), f32({}, {0.25f})}), {4}, {1, 1.25, 1.5, 1.75});
  expect_equal(run_one(Range{}, {i32({}, {10}), i32({}, {4}), i32({}, {-3})}), i32({2}, {10, 7}));
  expect_i64(run_one(Range{}, {i64({}, {5}), i64({1}, {0}), i64({}, {1})}), {0}, {});
  expect_i64(run_one(Range{}, {i64({}, {INT64_MAX - 1}), i64({}, {INT64_MAX}), i64({}, {5})}), {1},
             {INT64_MAX - 1});
  expect_error(error_of(Range{}, {i64({}, {0}), i64({}, {1}), i64({}, {0})}), "delta is 0");
  expect_error(error_of(Range{}, {i64({}, {INT64_MIN}), i64({}, {INT64_MAX}), i64({}, {1})}),
               "no sensible length");
  expect_error(error_of(Range{}, {f32({}, {0}), f32({}, {static_cast<float>(kInf)}), f32({}, {1})}),
               "no sensible length");
}

TEST(EvalGenerators, IotaShapeFillNonZero) {
  expect_i64(run_one(Iota{1}, {}, {type_of(DType::kI64, {2, 3})}), {2, 3}, {0, 1, 2, 0, 1, 2});
  expect_i64(run_one(Iota{0}, {}, {type_of(DType::kI64, {0, 3})}), {0, 3}, {});
  expect_i64(run_one(ShapeOf{0, 3}, {ramp({4, 0, 2})}), {3}, {4, 0, 2});
  expect_i64(run_one(ShapeOf{1, 2}, {ramp({4, 0, 2})}), {1}, {0});
  expect_f32(run_one(Fill{0x3f800000}, {i64({2}, {1, 2})}, {type_of(DType::kF32, {1, 2})}), {1, 2}, {1, 1});
  expect_same(run_one(Fill{0x3c00}, {}, {type_of(DType::kF16, {2})}), DType::kF16, {2}, {1, 1});
  expect_i64(run_one(NonZero{}, {f32({2, 3}, {0, 1, static_cast<float>(kNan), -0.0f, 0, 2})}), {2, 3},
             {0, 0, 1, 1, 2, 2});
  expect_i64(run_one(NonZero{}, {boolean({3}, {0, 0, 0})}), {1, 0}, {});
  expect_i64(run_one(NonZero{}, {f32({}, {3})}), {0, 1}, {});
  expect_error(error_of(Fill{0}, {i64({1}, {-1})}, {type_of(DType::kF32, {1})}), "negative extent");
  expect_error(
      error_of(Fill{0}, {i64({2}, {int64_t{1} << 40, int64_t{1} << 40})}, {type_of(DType::kF32, {1})}),
      "too many elements");
}

}  // namespace
}  // namespace frit::graph
