// Small models for the fuzz test: each group of operators with its attributes and constant inputs, so that
// damage to them reaches the importers.
#pragma once

#include <string>
#include <vector>

#include "support/onnx_builder.h"

namespace frit::fuzz {

inline std::vector<std::string> small_models() {
  using test::OnnxBuilder;
  using I = std::vector<int64_t>;
  using S = std::string;
  constexpr auto kFloat = test::kFloat, kInt64 = test::kInt64;
  std::vector<std::string> models;
  const auto image = [](int64_t opset) {
    OnnxBuilder b(opset);
    b.input("x", kFloat, {"n", "4", "6", "5"}).output("y");
    return b;
  };
  const auto matrix = [](int64_t opset) {
    OnnxBuilder b(opset);
    b.input("x", kFloat, {"batch", "6"}).output("y");
    return b;
  };
  const auto add = [&](OnnxBuilder& b) { models.push_back(b.bytes()); };
  const std::vector<float> some(4 * 2 * 3 * 3, 0.5f);

  add(image(17)
          .floats("w", {4, 2, 3, 3}, some)
          .floats("b", {4}, {1, 2, 3, 4})
          .node("Conv", {"x", "w", "b"}, {"t"},
                {{"group", int64_t{2}},
                 {"strides", I{2, 1}},
                 {"pads", I{1, 1, 1, 1}},
                 {"dilations", I{1, 1}},
                 {"kernel_shape", I{3, 3}}})
          .node("BatchNormalization", {"t", "b", "b", "b", "b"}, {"y"}, {{"epsilon", 0.1f}}));
  add(image(11)
          .floats("w", {4, 2, 3, 3}, some)
          .node("ConvTranspose", {"x", "w"}, {"y"},
                {{"strides", I{2, 2}}, {"output_padding", I{1, 0}}, {"auto_pad", S("SAME_LOWER")}}));
  add(image(12)
          .node("MaxPool", {"x"}, {"t", "i"},
                {{"kernel_shape", I{2, 2}}, {"strides", I{2, 2}}, {"storage_order", int64_t{1}}})
          .node("AveragePool", {"t"}, {"u"},
                {{"kernel_shape", I{2, 2}}, {"ceil_mode", int64_t{1}}, {"count_include_pad", int64_t{1}}})
          .node("GlobalMaxPool", {"u"}, {"y"}));
  add(image(18)
          .node("LpPool", {"x"}, {"t"},
                {{"kernel_shape", I{2, 2}}, {"p", int64_t{3}}, {"ceil_mode", int64_t{1}}})
          .node("LRN", {"t"}, {"y"}, {{"size", int64_t{3}}, {"alpha", 0.1f}}));
  add(image(18)
          .ints("sizes", {9, 9})
          .node("Resize", {"x", "", "", "sizes"}, {"t"},
                {{"axes", I{2, 3}}, {"mode", S("linear")}, {"antialias", int64_t{1}}})
          .floats("scales", {4}, {1, 1, 1.5f, 0.7f})
          .node("Resize", {"t", "", "scales"}, {"y"},
                {{"mode", S("cubic")}, {"cubic_coeff_a", -0.5f}, {"exclude_outside", int64_t{1}}}));
  add(image(13)
          .floats("roi", {8}, {0, 0, 0.1f, 0.2f, 1, 1, 0.9f, 1.5f})
          .ints("sizes", {1, 4, 3, 3})
          .node("Slice", {"x", "zero", "one"}, {"first"})
          .ints("zero", {0})
          .ints("one", {1})
          .node("Resize", {"first", "roi", "", "sizes"}, {"y"},
                {{"coordinate_transformation_mode", S("tf_crop_and_resize")}, {"mode", S("linear")}}));
  add(image(9).floats("s", {4}, {1, 1, 2, 2}).node("Upsample", {"x", "s"}, {"y"}, {{"mode", S("nearest")}}));
  add(image(18)
          .node("DepthToSpace", {"x"}, {"t"}, {{"blocksize", int64_t{2}}, {"mode", S("CRD")}})
          .node("InstanceNormalization", {"t", "one", "one"}, {"u"})
          .floats("one", {1}, {1})
          .node("Mish", {"u"}, {"y"}));
  add(image(18)
          .floats("g", {2}, {1, 2})
          .node("GroupNormalization", {"x", "g", "g"}, {"y"}, {{"num_groups", int64_t{2}}}));
  add(matrix(17)
          .floats("w", {6, 3}, std::vector<float>(18, 1))
          .floats("c", {3}, {1, 2, 3})
          .node("Gemm", {"x", "w", "c"}, {"t"}, {{"alpha", 0.5f}, {"beta", 2.0f}, {"transB", int64_t{0}}})
          .node("Softmax", {"t"}, {"u"}, {{"axis", int64_t{-1}}})
          .node("LayerNormalization", {"u", "c", "c"}, {"y"}, {{"axis", int64_t{1}}}));
  add(matrix(12)
          .node("Einsum", {"x", "x"}, {"t"}, {{"equation", S("...i,ki->k...")}})
          .node("Hardmax", {"t"}, {"y"}, {{"axis", int64_t{0}}}));
  add(matrix(18)
          .ints("axes", {-1})
          .node("ReduceLogSumExp", {"x", "axes"}, {"t"}, {{"keepdims", int64_t{1}}})
          .node("ReduceL2", {"t", "axes"}, {"u"}, {{"keepdims", int64_t{0}}})
          .node("ArgMax", {"x"}, {"i"}, {{"axis", int64_t{1}}})
          .node("Cast", {"i"}, {"f"}, {{"to", int64_t{1}}})
          .node("Add", {"u", "f"}, {"y"}));
  add(matrix(13)
          .node("Shape", {"x"}, {"s"})
          .ints("i", {0})
          .ints("m", {-1})
          .ints("two", {2})
          .node("Gather", {"s", "i"}, {"b"}, {{"axis", int64_t{0}}})
          .node("Concat", {"b", "two", "m"}, {"t"}, {{"axis", int64_t{0}}})
          .node("Reshape", {"x", "t"}, {"r"})
          .node("Transpose", {"r"}, {"p"}, {{"perm", I{0, 2, 1}}})
          .node("Unsqueeze", {"p", "i"}, {"q"})
          .node("Squeeze", {"q", "i"}, {"y"}));
  add(matrix(18)
          .ints("s", {1, -1})
          .ints("e", {INT64_MAX, INT64_MIN})
          .ints("a", {0, 1})
          .ints("d", {1, -2})
          .node("Slice", {"x", "s", "e", "a", "d"}, {"t"})
          .ints("p", {0, 1, 2, -1})
          .floats("v", {}, {7})
          .node("Pad", {"t", "p", "v"}, {"u"}, {{"mode", S("constant")}})
          .node("Split", {"u"}, {"y", "z"}, {{"axis", int64_t{1}}, {"num_outputs", int64_t{2}}}));
  add(matrix(16)
          .ints("k", {2})
          .node("TopK", {"x", "k"}, {"v", "i"}, {{"largest", int64_t{0}}})
          .node("GatherElements", {"x", "i"}, {"g"}, {{"axis", int64_t{1}}})
          .node("ScatterElements", {"x", "i", "g"}, {"y"}, {{"axis", int64_t{1}}, {"reduction", S("add")}}));
  add(matrix(16)
          .node("NonZero", {"x"}, {"z"})
          .node("Transpose", {"z"}, {"t"})
          .node("GatherND", {"x", "t"}, {"g"})
          .node("ScatterND", {"x", "t", "g"}, {"y"}, {{"reduction", S("mul")}}));
  add(matrix(14)
          .ints("k", {1})
          .node("Trilu", {"x", "k"}, {"t"}, {{"upper", int64_t{0}}})
          .node("CumSum", {"t", "k"}, {"u"}, {{"reverse", int64_t{1}}})
          .node("EyeLike", {"x"}, {"e"}, {{"k", int64_t{1}}, {"dtype", int64_t{1}}})
          .node("Where", {"c", "u", "e"}, {"y"})
          .node("Greater", {"u", "e"}, {"c"}));
  add(matrix(11)
          .input("i", kInt64, {"batch"})
          .ints("depth", {5})
          .floats("values", {2}, {0, 1})
          .node("OneHot", {"i", "depth", "values"}, {"y"}, {{"axis", int64_t{-1}}}));
  add(matrix(20)
          .ints("s", {2, 3})
          .initializer(OnnxBuilder::tensor<float>("r", kFloat, {}, {0}))
          .floats("l", {}, {6})
          .floats("d", {}, {1.5f})
          .node("ConstantOfShape", {"s"}, {"c"})
          .node("Range", {"r", "l", "d"}, {"g"})
          .node("Expand", {"g", "s2"}, {"y"})
          .ints("s2", {2, 1})
          .node("Tile", {"c", "s"}, {"t"}));
  OnnxBuilder lstm(14);
  add(lstm.input("x", kFloat, {"t", "b", "3"})
          .floats("w", {2, 8, 3}, std::vector<float>(48, 1))
          .floats("r", {2, 8, 2}, std::vector<float>(32, 1))
          .node("LSTM", {"x", "w", "r", "", "", "", ""}, {"y", "h"},
                {{"hidden_size", int64_t{2}},
                 {"direction", S("bidirectional")},
                 {"layout", int64_t{1}},
                 {"clip", 3.0f}})
          .output("y")
          .output("h"));
  OnnxBuilder external(17);
  add(external
          .initializer(OnnxBuilder::external("w", kFloat, {4},
                                             {{"location", "w.bin"}, {"offset", "64"}, {"length", "16"}}))
          .output("w"));
  onnx::MessageWriter typed = OnnxBuilder::header("w", test::kInt8, {3});
  typed.packed_integers(5, {1, -2, 3});
  OnnxBuilder numbers(17);
  add(numbers.initializer(std::move(typed)).node("BitwiseNot", {"w"}, {"y"}).output("w"));
  return models;
}

}  // namespace frit::fuzz
