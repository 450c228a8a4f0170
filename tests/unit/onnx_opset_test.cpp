// Operators whose form or meaning changed between opsets: each old and new spelling computes what its opset
// says.
#include <gtest/gtest.h>

#include <cmath>

#include "support/onnx_builder.h"
#include "support/onnx_run.h"

namespace frit::test {
namespace {

using std::vector;
using I = vector<int64_t>;

TEST(OnnxOpset, SqueezeAndUnsqueezeTakeAxesByAttributeThenByInput) {
  for (int64_t opset : {11, 13}) {
    OnnxBuilder b(opset);
    b.input("x", kFloat, {"1", "2", "1"}).output("a").output("b").output("c");
    if (opset == 11) {
      b.node("Squeeze", {"x"}, {"a"}, {{"axes", I{-1}}})
          .node("Unsqueeze", {"x"}, {"b"}, {{"axes", I{0, -1}}});
    } else {
      b.ints("minus_one", {-1}).ints("both", {0, -1});
      b.node("Squeeze", {"x", "minus_one"}, {"a"}).node("Unsqueeze", {"x", "both"}, {"b"});
    }
    b.node("Squeeze", {"x"}, {"c"});
    const Outputs y = run_model(b.bytes(), {floats({1, 2, 1}, {3, 4})});
    expect_output(y, 0, {1, 2}, {3, 4});
    expect_output(y, 1, {1, 1, 2, 1, 1}, {3, 4});
    expect_output(y, 2, {2}, {3, 4});
  }
}

TEST(OnnxOpset, ClipHasAttributesThenOptionalInputs) {
  const auto x = floats({4}, {-2, 0, 2, 9});
  const Outputs old = run_model(OnnxBuilder(7)
                                    .input("x", kFloat, {"4"})
                                    .node("Clip", {"x"}, {"a"}, {{"min", -1.0f}, {"max", 3.0f}})
                                    .node("Clip", {"x"}, {"b"}, {{"max", 1.0f}})
                                    .node("Clip", {"x"}, {"c"})
                                    .output("a")
                                    .output("b")
                                    .output("c")
                                    .bytes(),
                                {x});
  expect_output(old, 0, {4}, {-1, 0, 2, 3});
  expect_output(old, 1, {4}, {-2, 0, 1, 1});
  expect_output(old, 2, {4}, {-2, 0, 2, 9});
  const Outputs now = run_model(OnnxBuilder(13)
                                    .input("x", kFloat, {"4"})
                                    .floats("lo", {}, {-1})
                                    .floats("hi", {}, {3})
                                    .node("Clip", {"x", "lo", "hi"}, {"a"})
                                    .node("Clip", {"x", "", "hi"}, {"b"})
                                    .node("Clip", {"x", "lo"}, {"c"})
                                    .output("a")
                                    .output("b")
                                    .output("c")
                                    .bytes(),
                                {x});
  expect_output(now, 0, {4}, {-1, 0, 2, 3});
  expect_output(now, 1, {4}, {-2, 0, 2, 3});
  expect_output(now, 2, {4}, {-1, 0, 2, 9});
}

TEST(OnnxOpset, SoftmaxFlattensBefore13) {
  const auto x = floats({1, 2, 2}, {0, 0, 0, 0});
  const auto build = [&](int64_t opset, const onnx::Attributes& a) {
    return run_model(OnnxBuilder(opset)
                         .input("x", kFloat, {"1", "2", "2"})
                         .node("Softmax", {"x"}, {"y"}, a)
                         .node("LogSoftmax", {"x"}, {"z"}, a)
                         .node("Hardmax", {"x"}, {"h"}, a)
                         .output("y")
                         .output("z")
                         .output("h")
                         .bytes(),
                     {x});
  };
  const Outputs flat = build(11, {});  // axis 1 of [1, 4]
  expect_output(flat, 0, {1, 2, 2}, {.25, .25, .25, .25});
  expect_output(flat, 1, {1, 2, 2}, {std::log(.25), std::log(.25), std::log(.25), std::log(.25)});
  expect_output(flat, 2, {1, 2, 2}, {1, 0, 0, 0});
  const Outputs last = build(13, {});  // axis -1
  expect_output(last, 0, {1, 2, 2}, {.5, .5, .5, .5});
  expect_output(last, 2, {1, 2, 2}, {1, 0, 1, 0});
  expect_output(build(13, {{"axis", int64_t{1}}}), 2, {1, 2, 2}, {1, 1, 0, 0});
}

TEST(OnnxOpset, ReductionsTakeAxesByAttributeThenByInput) {
  const auto x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const Outputs old =
      run_model(OnnxBuilder(11)
                    .input("x", kFloat, {"2", "3"})
                    .node("ReduceSum", {"x"}, {"a"}, {{"axes", I{-1}}, {"keepdims", int64_t{0}}})
                    .node("ReduceMean", {"x"}, {"b"})
                    .output("a")
                    .output("b")
                    .bytes(),
                {x});
  expect_output(old, 0, {2}, {6, 15});
  expect_output(old, 1, {1, 1}, {3.5});
  const Outputs now =
      run_model(OnnxBuilder(18)
                    .input("x", kFloat, {"2", "3"})
                    .ints("axes", {0})
                    .ints("none", {})
                    .node("ReduceSum", {"x", "axes"}, {"a"})
                    .node("ReduceMax", {"x", "axes"}, {"b"}, {{"keepdims", int64_t{0}}})
                    .node("ReduceSum", {"x", "none"}, {"c"}, {{"noop_with_empty_axes", int64_t{1}}})
                    .node("ReduceSumSquare", {"x", "none"}, {"d"}, {{"noop_with_empty_axes", int64_t{1}}})
                    .node("ReduceSum", {"x", "none"}, {"e"}, {{"keepdims", int64_t{0}}})
                    .output("a")
                    .output("b")
                    .output("c")
                    .output("d")
                    .output("e")
                    .bytes(),
                {x});
  expect_output(now, 0, {1, 3}, {5, 7, 9});
  expect_output(now, 1, {3}, {4, 5, 6});
  expect_output(now, 2, {2, 3}, {1, 2, 3, 4, 5, 6});
  expect_output(now, 3, {2, 3}, {1, 4, 9, 16, 25, 36});
  expect_output(now, 4, {}, {21});
}

TEST(OnnxOpset, CompoundReductionsAreRightAtTheEdges) {
  const float inf = std::numeric_limits<float>::infinity();
  const Outputs y =
      run_model(OnnxBuilder(13)
                    .input("x", kFloat, {"2", "2"})
                    .node("ReduceLogSumExp", {"x"}, {"a"}, {{"axes", I{1}}, {"keepdims", int64_t{0}}})
                    .node("ReduceL1", {"x"}, {"b"}, {{"axes", I{1}}})
                    .output("a")
                    .output("b")
                    .bytes(),
                {floats({2, 2}, {1000, 1000, -inf, -inf})});
  expect_output(y, 0, {2}, {1000 + std::log(2.0), -inf}, 1e-3);
  expect_output(y, 1, {2, 1}, {2000, inf});
  const Outputs l2 =
      run_model(OnnxBuilder(13).input("x", kInt64, {"2"}).node("ReduceL2", {"x"}, {"a"}).output("a").bytes(),
                {ints({2}, {3, 4})});
  expect_output(l2, 0, {1}, {5});
}

TEST(OnnxOpset, SplitSizesComeByAttributeInputOrCount) {
  const auto x = floats({5}, {1, 2, 3, 4, 5});
  const Outputs old = run_model(OnnxBuilder(11)
                                    .input("x", kFloat, {"5"})
                                    .node("Split", {"x"}, {"a", "b"}, {{"split", I{2, 3}}})
                                    .output("a")
                                    .output("b")
                                    .bytes(),
                                {x});
  expect_output(old, 0, {2}, {1, 2});
  expect_output(old, 1, {3}, {3, 4, 5});
  const Outputs input = run_model(OnnxBuilder(13)
                                      .input("x", kFloat, {"5"})
                                      .ints("sizes", {4, 1})
                                      .node("Split", {"x", "sizes"}, {"a", "b"}, {{"axis", int64_t{-1}}})
                                      .output("a")
                                      .output("b")
                                      .bytes(),
                                  {x});
  expect_output(input, 0, {4}, {1, 2, 3, 4});
  expect_output(input, 1, {1}, {5});
  const Outputs count = run_model(OnnxBuilder(18)
                                      .input("x", kFloat, {"5"})
                                      .node("Split", {"x"}, {"a", "b", "c"}, {{"num_outputs", int64_t{3}}})
                                      .output("a")
                                      .output("b")
                                      .output("c")
                                      .bytes(),
                                  {x});
  expect_output(count, 0, {2}, {1, 2});
  expect_output(count, 2, {1}, {5});
  const Outputs uneven = run_model(
      OnnxBuilder(13).input("x", kFloat, {"5"}).node("Split", {"x"}, {"a", "b"}).output("a").bytes(), {x});
  EXPECT_NE(uneven.error.find("size 5 is split into 2 equal parts"), std::string::npos) << uneven.error;
}

TEST(OnnxOpset, SliceBoundsComeByAttributesThenByInputs) {
  const auto x = floats({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Outputs old =
      run_model(OnnxBuilder(9)
                    .input("x", kFloat, {"2", "4"})
                    .node("Slice", {"x"}, {"a"}, {{"starts", I{-3}}, {"ends", I{1000}}, {"axes", I{1}}})
                    .node("Slice", {"x"}, {"b"}, {{"starts", I{1, 0}}, {"ends", I{2, -1}}})
                    .output("a")
                    .output("b")
                    .bytes(),
                {x});
  expect_output(old, 0, {2, 3}, {2, 3, 4, 6, 7, 8});
  expect_output(old, 1, {1, 3}, {5, 6, 7});
  const Outputs now = run_model(OnnxBuilder(13)
                                    .input("x", kFloat, {"2", "4"})
                                    .ints("s", {1, -1})
                                    .ints("e", {-1000, INT64_MIN})
                                    .ints("t", {-1, -2})
                                    .node("Slice", {"x", "s", "e", "", "t"}, {"a"})
                                    .output("a")
                                    .bytes(),
                                {x});
  expect_output(now, 0, {2, 2}, {8, 6, 4, 2});
}

TEST(OnnxOpset, PadHasAttributesThenInputsThenAxes) {
  const auto x = floats({1, 2}, {1, 2});
  const Outputs old =
      run_model(OnnxBuilder(7)
                    .input("x", kFloat, {"1", "2"})
                    .node("Pad", {"x"}, {"a"}, {{"pads", I{0, 1, 1, 0}}, {"value", 7.0f}})
                    .node("Pad", {"x"}, {"b"}, {{"pads", I{0, 1, 0, 1}}, {"mode", std::string("reflect")}})
                    .output("a")
                    .output("b")
                    .bytes(),
                {x});
  expect_output(old, 0, {2, 3}, {7, 1, 2, 7, 7, 7});
  expect_output(old, 1, {1, 4}, {2, 1, 2, 1});
  const Outputs now =
      run_model(OnnxBuilder(19)
                    .input("x", kFloat, {"1", "2"})
                    .ints("p", {2, -1})
                    .ints("axis", {-1})
                    .floats("v", {}, {9})
                    .node("Pad", {"x", "p", "v", "axis"}, {"a"})
                    .node("Pad", {"x", "wrapped", "", "axis"}, {"b"}, {{"mode", std::string("wrap")}})
                    .ints("wrapped", {1, 2})
                    .output("a")
                    .output("b")
                    .bytes(),
                {x});
  expect_output(now, 0, {1, 3}, {9, 9, 1});
  expect_output(now, 1, {1, 5}, {2, 1, 2, 1, 2});
}

TEST(OnnxOpset, TopKTakesItsCountByAttributeThenByInput) {
  const auto x = floats({4}, {3, 1, 4, 2});
  const Outputs old = run_model(OnnxBuilder(9)
                                    .input("x", kFloat, {"4"})
                                    .node("TopK", {"x"}, {"v", "i"}, {{"k", int64_t{2}}})
                                    .output("v")
                                    .output("i")
                                    .bytes(),
                                {x});
  expect_output(old, 0, {2}, {4, 3});
  expect_output(old, 1, {2}, {2, 0});
  const Outputs now = run_model(OnnxBuilder(11)
                                    .input("x", kFloat, {"4"})
                                    .ints("k", {2})
                                    .node("TopK", {"x", "k"}, {"v", "i"}, {{"largest", int64_t{0}}})
                                    .output("v")
                                    .output("i")
                                    .bytes(),
                                {x});
  expect_output(now, 0, {2}, {1, 2});
  expect_output(now, 1, {2}, {1, 3});
}

TEST(OnnxOpset, UpsampleAndOldResizeUsePlainCoordinates) {
  const auto x = floats({1, 1, 1, 2}, {1, 3});
  const Outputs nine = run_model(OnnxBuilder(9)
                                     .input("x", kFloat, {"1", "1", "1", "2"})
                                     .floats("s", {4}, {1, 1, 2, 2})
                                     .node("Upsample", {"x", "s"}, {"y"})
                                     .node("Upsample", {"x", "s"}, {"z"}, {{"mode", std::string("linear")}})
                                     .output("y")
                                     .output("z")
                                     .bytes(),
                                 {x});
  expect_output(nine, 0, {1, 1, 2, 4}, {1, 1, 3, 3, 1, 1, 3, 3});
  expect_output(nine, 1, {1, 1, 2, 4}, {1, 2, 3, 3, 1, 2, 3, 3});
  // Opset 10 rounds up where an axis shrinks: positions 0, 5/3, 10/3 of 5 elements at scale 0.6.
  const Outputs ten = run_model(OnnxBuilder(10)
                                    .input("x", kFloat, {"5"})
                                    .floats("s", {1}, {0.6f})
                                    .node("Resize", {"x", "s"}, {"y"})
                                    .output("y")
                                    .bytes(),
                                {floats({5}, {0, 1, 2, 3, 4})});
  expect_output(ten, 0, {3}, {0, 2, 4});
  const Outputs gone = run_model(OnnxBuilder(10)
                                     .input("x", kFloat, {"2"})
                                     .floats("s", {1}, {2})
                                     .node("Upsample", {"x", "s"}, {"y"})
                                     .output("y")
                                     .bytes(),
                                 {floats({2}, {1, 2})});
  EXPECT_NE(gone.error.find("does not exist from opset 10 on"), std::string::npos) << gone.error;
}

TEST(OnnxOpset, ResizeIgnoresEmptyInputs) {
  const Outputs y = run_model(OnnxBuilder(11)
                                  .input("x", kFloat, {"1", "1", "2"})
                                  .floats("none", {0}, {})
                                  .ints("sizes", {1, 1, 4})
                                  .node("Resize", {"x", "none", "none", "sizes"}, {"y"},
                                        {{"mode", std::string("nearest")},
                                         {"coordinate_transformation_mode", std::string("asymmetric")},
                                         {"nearest_mode", std::string("floor")}})
                                  .output("y")
                                  .bytes(),
                              {floats({1, 1, 2}, {5, 6})});
  expect_output(y, 0, {1, 1, 4}, {5, 5, 6, 6});
}

TEST(OnnxOpset, BatchNormalizationWithoutSpatialSharing) {
  const auto build = [](int64_t opset, const onnx::Attributes& a, const vector<int64_t>& dims,
                        const vector<float>& v) {
    OnnxBuilder b(opset);
    b.input("x", kFloat, {"1", "2", "2"});
    for (const char* name : {"scale", "bias", "mean", "var"})
      b.floats(name, dims, std::string(name) == "bias" ? vector<float>(v.size(), 1) : v);
    return b.node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y"}, a).output("y").bytes();
  };
  const auto x = floats({1, 2, 2}, {5, 6, 7, 8});
  // (x - m) / sqrt(m) * m + 1 with m = 4
  expect_output(run_model(build(7, {{"spatial", int64_t{0}}, {"epsilon", 0.0f}}, {2, 2}, {4, 4, 4, 4}), {x}),
                0, {1, 2, 2}, {3, 5, 7, 9});
  expect_output(run_model(build(9, {{"epsilon", 0.0f}}, {2}, {4, 4}), {x}), 0, {1, 2, 2}, {3, 5, 7, 9});
}

TEST(OnnxOpset, BatchNormalizationInTrainingModeReturnsRunningStatistics) {
  OnnxBuilder b(15);
  b.input("x", kFloat, {"2", "1"});
  for (const char* name : {"scale", "bias", "mean", "var"})
    b.floats(name, {1}, {std::string(name) == "bias" ? 0.0f : 1.0f});
  b.node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y", "m", "v"},
         {{"training_mode", int64_t{1}}, {"momentum", 0.5f}, {"epsilon", 0.0f}});
  const Outputs y = run_model(b.output("y").output("m").output("v").bytes(), {floats({2, 1}, {3, 7})});
  expect_output(y, 0, {2, 1}, {-1, 1});
  expect_output(y, 1, {1}, {3});    // (1 + 5) / 2
  expect_output(y, 2, {1}, {2.5});  // (1 + 4) / 2
}

TEST(OnnxOpset, GroupNormalizationScalesGroupsThenChannels) {
  const auto build = [](int64_t opset, const vector<float>& scale) {
    const vector<int64_t> dims = {static_cast<int64_t>(scale.size())};
    return OnnxBuilder(opset)
        .input("x", kFloat, {"1", "4", "1"})
        .floats("s", dims, scale)
        .floats("b", dims, vector<float>(scale.size(), 0))
        .node("GroupNormalization", {"x", "s", "b"}, {"y"}, {{"num_groups", int64_t{2}}, {"epsilon", 0.0f}})
        .output("y")
        .bytes();
  };
  const auto x = floats({1, 4, 1}, {1, 3, 10, 30});
  expect_output(run_model(build(18, {1, 2}), {x}), 0, {1, 4, 1}, {-1, 1, -2, 2});
  expect_output(run_model(build(21, {1, 2, 3, 4}), {x}), 0, {1, 4, 1}, {-1, 2, -3, 4});
}

TEST(OnnxOpset, OperatorsExistFromTheirOpsetOn) {
  const auto at = [](int64_t opset) {
    return run_model(
               OnnxBuilder(opset).input("x", kFloat, {"1"}).node("Gelu", {"x"}, {"y"}).output("y").bytes(),
               {floats({1}, {0})})
        .error;
  };
  EXPECT_EQ(at(20), "");
  EXPECT_NE(at(19).find("does not exist before opset 20"), std::string::npos) << at(19);
}

TEST(OnnxOpset, FloatRemainderByFloorIsOpset28) {
  const auto at = [](int64_t opset) {
    return run_model(OnnxBuilder(opset)
                         .input("x", kFloat, {"2"})
                         .floats("d", {}, {3})
                         .node("Mod", {"x", "d"}, {"y"})
                         .output("y")
                         .bytes(),
                     {floats({2}, {-1, 4})});
  };
  expect_output(at(28), 0, {2}, {2, 1});
  EXPECT_NE(at(13).error.find("expected fmod 1 before opset 28"), std::string::npos);
}

}  // namespace
}  // namespace frit::test
