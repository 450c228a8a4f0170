// Bad models: each gives the code and says file, node, operator, opset and what was expected.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/seams.h"
#include "support/onnx_builder.h"
#include "support/onnx_run.h"

namespace frit::test {
namespace {

using I = std::vector<int64_t>;

struct BadModel {
  const char* what;
  std::string bytes;
  Code code;
  const char* message;
};

OnnxBuilder image(int64_t opset = 17) {
  OnnxBuilder b(opset);
  b.input("x", kFloat, {"1", "2", "4", "4"}).floats("w", {3, 2, 3, 3}, std::vector<float>(54, 1)).output("y");
  return b;
}
OnnxBuilder vector_model(int64_t opset = 17) {
  OnnxBuilder b(opset);
  b.input("x", kFloat, {"2", "3"}).output("y");
  return b;
}
std::string conv(const onnx::Attributes& attributes) {
  return image().node("Conv", {"x", "w"}, {"y"}, attributes, "Conv_12").bytes();
}

onnx::MessageWriter wrong_size() {
  onnx::MessageWriter m = OnnxBuilder::header("w", kFloat, {3});
  m.text(9, "12345678");
  return m;
}
onnx::MessageWriter segment() {
  onnx::MessageWriter m = OnnxBuilder::tensor<float>("w", kFloat, {1}, {1});
  m.text(3, "");
  return m;
}
onnx::MessageWriter too_few() {
  onnx::MessageWriter m = OnnxBuilder::header("w", kFloat, {3});
  m.packed_floats(4, {1, 2});
  return m;
}
onnx::MessageWriter too_many() {
  onnx::MessageWriter m = OnnxBuilder::header("w", kInt64, {1});
  m.packed_integers(7, {1, 2, 3});
  return m;
}
std::string initializer_model(onnx::MessageWriter tensor) {
  return OnnxBuilder().initializer(std::move(tensor)).output("w").bytes();
}

std::vector<BadModel> bad_models() {
  const auto bad = Code::kBadModel, no = Code::kUnsupported;
  const std::string good = vector_model().node("Relu", {"x"}, {"y"}).bytes();
  return {
      // ---- files ----
      {"empty", "", bad, "m.onnx: the file is empty, expected an ONNX model"},
      {"not ONNX", "This is a text file.\n", bad, "m.onnx: not a valid ONNX model"},
      {"no graph", std::string("\x08\x08", 2), bad, "m.onnx: not an ONNX model: it has no graph"},
      {"cut off", good.substr(0, good.size() - 3), bad, "m.onnx: not a valid ONNX model: truncated"},
      {"too old", vector_model(6).node("Relu", {"x"}, {"y"}).bytes(), no,
       "the model uses opset 6, expected 7 to 28"},
      {"too new", vector_model(29).node("Relu", {"x"}, {"y"}).bytes(), no,
       "the model uses opset 29, expected 7 to 28"},
      {"no outputs", OnnxBuilder().input("x", kFloat, {"1"}).bytes(), bad, "the graph has no outputs"},
      // ---- inputs and initializers ----
      {"string input", OnnxBuilder().input("x", kString, {"1"}).output("x").bytes(), no,
       "input \"x\" has element type string is not supported"},
      {"unknown type", OnnxBuilder().input("x", 99, {"1"}).output("x").bytes(), bad,
       "element type 99 is not one of ONNX"},
      {"huge input", OnnxBuilder().input("x", kFloat, {"9223372036854775807", "2"}).output("x").bytes(), bad,
       "is too large"},
      {"input twice", OnnxBuilder().input("x", kFloat, {"1"}).input("x", kFloat, {"1"}).output("x").bytes(),
       bad, "value \"x\" is defined twice"},
      {"float8", initializer_model(OnnxBuilder::tensor<uint8_t>("w", kFloat8, {1}, {1})), no,
       "initializer \"w\": element type float8e4m3fn is not supported"},
      {"raw size", initializer_model(wrong_size()), bad,
       "initializer \"w\": raw data has 8 bytes, expected 12 for f32[3]"},
      {"too few", initializer_model(too_few()), bad, "initializer \"w\": has 2 elements, expected 3"},
      {"too many", initializer_model(too_many()), bad,
       "initializer \"w\": has more than 1 elements, expected 1"},
      {"segment", initializer_model(segment()), no, "tensor is a segment"},
      {"negative", initializer_model(OnnxBuilder::header("w", kFloat, {-3})), bad,
       "shape [-3] has a negative dimension"},
      {"overflow", initializer_model(OnnxBuilder::header("w", kFloat, {int64_t{1} << 40, int64_t{1} << 40})),
       bad, "is too large"},
      {"initializer twice", OnnxBuilder().floats("w", {1}, {1}).floats("w", {1}, {1}).output("w").bytes(),
       bad, "initializer \"w\" is there twice"},
      // ---- graph structure ----
      {"undefined value", vector_model().node("Relu", {"nope"}, {"y"}).bytes(), bad,
       "m.onnx: node \"n\" (Relu, opset 17): value \"nope\" is not defined"},
      {"unsorted", vector_model().node("Relu", {"t"}, {"y"}).node("Relu", {"x"}, {"t"}).bytes(), bad,
       "value \"t\" is not defined"},
      {"defined twice", vector_model().node("Relu", {"x"}, {"y"}).node("Neg", {"x"}, {"y"}).bytes(), bad,
       "m.onnx: node \"n\" (Neg, opset 17): value \"y\" is defined twice"},
      {"missing output", vector_model().node("Relu", {"x"}, {"z"}).bytes(), bad,
       "output \"y\": value \"y\" is not defined"},
      {"output type", OnnxBuilder().input("x", kFloat, {"1"}).output("x", kInt64, {"1"}).bytes(), bad,
       "output \"x\" is declared as i64, but computes f32"},
      {"unnamed node", vector_model().node("Relu", {"x"}, {"t"}).node("Foo", {"t"}, {"y"}, {}, "").bytes(),
       no, "m.onnx: node 1 (Foo, opset 17): operator \"Foo\" is not supported"},
      // ---- operators, arity, attributes ----
      {"unknown operator", vector_model().node("Bogus", {"x"}, {"y"}).bytes(), no,
       "operator \"Bogus\" is not supported"},
      {"unprintable operator", vector_model().node("Bo\ngus", {"x"}, {"y"}).bytes(), no,
       "(Bo\\ngus, opset 17)"},
      {"other domain", vector_model().node("FusedConv", {"x"}, {"y"}, {}, "n", "com.microsoft").bytes(), no,
       "operator FusedConv of domain \"com.microsoft\" is not supported"},
      {"control flow", vector_model().node("If", {"x"}, {"y"}).bytes(), no,
       "operator \"If\" is not supported"},
      {"too few inputs", vector_model().node("Add", {"x"}, {"y"}).bytes(), bad,
       "the node has 1 inputs, expected 2"},
      {"too many inputs", vector_model().node("Relu", {"x", "x"}, {"y"}).bytes(), bad,
       "the node has 2 inputs, expected 1"},
      {"absent input", vector_model().node("Add", {"x", ""}, {"y"}).bytes(), bad,
       "input 1 is absent, but not optional"},
      {"absent in a list",
       vector_model().node("Concat", {"x", "", "x"}, {"y"}, {{"axis", int64_t{0}}}).bytes(), bad,
       "an input is absent"},
      {"too many outputs", vector_model().node("Relu", {"x"}, {"y", "z"}).bytes(), bad,
       "the node has 2 outputs, expected 1"},
      {"unknown attribute", vector_model().node("Relu", {"x"}, {"y"}, {{"alpha", 1.0f}}).bytes(), no,
       "node \"n\" (Relu, opset 17): attribute \"alpha\" is unknown"},
      {"attribute of a later opset",
       vector_model(10).node("Softmax", {"x"}, {"y"}, {{"axes", int64_t{1}}}).bytes(), no,
       "attribute \"axes\" is unknown"},
      {"attribute type", vector_model().node("Softmax", {"x"}, {"y"}, {{"axis", 1.0f}}).bytes(), bad,
       "attribute \"axis\" has type float, expected an int"},
      {"attribute missing", vector_model().node("Concat", {"x"}, {"y"}).bytes(), bad,
       "attribute \"axis\" is missing"},
      {"attribute twice",
       vector_model().node("Concat", {"x"}, {"y"}, {{"axis", int64_t{0}}, {"axis", int64_t{1}}}).bytes(), bad,
       "attribute \"axis\" is there twice"},
      // ---- values of attributes ----
      {"dilations", conv({{"dilations", I{1, 1, 1}}}), bad,
       "m.onnx: node \"Conv_12\" (Conv, opset 17): dilations has 3 values, expected 2 for rank-4 input"},
      {"strides", conv({{"strides", I{0, 1}}}), bad, "strides has 0, expected 1 to"},
      {"pads", conv({{"pads", I{1, 1}}}), bad, "pads has 2 values, expected 4 for rank-4 input"},
      {"negative pads", conv({{"pads", I{-1, 0, 0, 0}}}), bad, "pads has -1, expected 0 to"},
      {"kernel_shape", conv({{"kernel_shape", I{5, 5}}}), bad,
       "kernel_shape is [5,5], but the weight is f32[3,2,3,3]"},
      {"auto_pad", conv({{"auto_pad", std::string("SOME")}}), bad, "auto_pad is \"SOME\""},
      {"group", conv({{"group", int64_t{0}}}), bad, "group is 0, expected at least 1"},
      {"group and channels", conv({{"group", int64_t{2}}}), bad, "node \"Conv_12\" (Conv, opset 17)"},
      {"weight rank", image().node("Conv", {"x", "v"}, {"y"}).floats("v", {2}, {1, 1}).bytes(), bad,
       "weight is f32[2], expected rank 4"},
      {"axis", vector_model().node("Softmax", {"x"}, {"y"}, {{"axis", int64_t{2}}}).bytes(), bad,
       "axis is 2, expected -2 to 1 for rank 2"},
      {"perm", vector_model().node("Transpose", {"x"}, {"y"}, {{"perm", I{0, 0}}}).bytes(), bad,
       "perm is [0,0], expected a permutation of 2 axes"},
      {"broadcast", vector_model().floats("b", {4}, {1, 2, 3, 4}).node("Add", {"x", "b"}, {"y"}).bytes(), bad,
       "node \"n\" (Add, opset 17)"},
      {"types", vector_model().ints("b", {1}).node("Add", {"x", "b"}, {"y"}).bytes(), bad, "f32 and i64"},
      {"matmul", vector_model().node("MatMul", {"x", "x"}, {"y"}).bytes(), bad,
       "node \"n\" (MatMul, opset 17)"},
      {"cast", vector_model().node("Cast", {"x"}, {"y"}, {{"to", int64_t{8}}}).bytes(), no,
       "to: element type string is not supported"},
      {"reshape", vector_model().ints("s", {4}).node("Reshape", {"x", "s"}, {"y"}).bytes(), bad,
       "node \"n\" (Reshape, opset 17)"},
      {"squeeze", vector_model().ints("a", {1}).node("Squeeze", {"x", "a"}, {"y"}).bytes(), bad,
       "dimension 1 of f32[2,3] is squeezed, expected 1"},
      {"unsqueeze twice", vector_model().ints("a", {1, 1}).node("Unsqueeze", {"x", "a"}, {"y"}).bytes(), bad,
       "axes has an axis twice"},
      {"axes at run time",
       OnnxBuilder(18)
           .input("x", kFloat, {"2"})
           .input("a", kInt64, {"1"})
           .node("ReduceSum", {"x", "a"}, {"y"})
           .output("y")
           .bytes(),
       no, "axes is computed while the model runs, expected a constant"},
      {"pad mode",
       vector_model()
           .ints("p", {0, 0, 0, 0})
           .node("Pad", {"x", "p"}, {"y"}, {{"mode", std::string("wrap")}})
           .bytes(),
       bad, "mode is \"wrap\", expected \"constant\", \"reflect\" or \"edge\""},
      {"pad count", vector_model().ints("p", {0, 0}).node("Pad", {"x", "p"}, {"y"}).bytes(), bad,
       "pads has 2 values, expected 4"},
      {"huge result",
       vector_model().ints("s", {int64_t{1} << 50, 1}).node("Expand", {"x", "s"}, {"y"}).bytes(), bad,
       "node \"n\" (Expand, opset 17)"},
      {"activation",
       OnnxBuilder(14)
           .input("x", kFloat, {"2", "1", "1"})
           .floats("w", {1, 4, 1}, {1, 1, 1, 1})
           .node("LSTM", {"x", "w", "w"}, {"y"},
                 {{"hidden_size", int64_t{1}}, {"direction", std::string("sideways")}})
           .output("y")
           .bytes(),
       bad, "direction is \"sideways\""},
      {"training",
       vector_model(14)
           .floats("s", {3}, {1, 1, 1})
           .node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y", "m"})
           .bytes(),
       no, "belongs to training"},
      {"resize", OnnxBuilder(13).input("x", kFloat, {"2"}).node("Resize", {"x"}, {"y"}).output("y").bytes(),
       bad, "needs either scales or sizes"},
      {"resize mode",
       OnnxBuilder(13)
           .input("x", kFloat, {"2"})
           .ints("s", {4})
           .node("Resize", {"x", "", "", "s"}, {"y"}, {{"mode", std::string("best")}})
           .output("y")
           .bytes(),
       bad, "mode is \"best\""},
  };
}

TEST(OnnxErrors, BadModelsAreRefusedWithAReason) {
  for (const BadModel& m : bad_models()) {
    const auto graph = import_text(m.bytes);
    ASSERT_FALSE(graph.ok()) << m.what << " was accepted";
    EXPECT_EQ(code_name(graph.error().code), std::string(code_name(m.code)))
        << m.what << ": " << graph.error().text();
    EXPECT_NE(graph.error().text().find(m.message), std::string::npos)
        << m.what << ": " << graph.error().text();
    EXPECT_EQ(graph.error().text().find("m.onnx: "), 0u) << m.what << ": " << graph.error().text();
  }
}

TEST(OnnxErrors, FilesThatCannotBeRead) {
  base::SystemFileSystem files;
  const std::string folder = testing::TempDir();
  const auto missing = onnx::import_model(files, folder + "no_such_model.onnx");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::kIo);
  EXPECT_NE(missing.error().text().find("no_such_model.onnx"), std::string::npos);
  EXPECT_NE(missing.error().text().find("no such file"), std::string::npos);
  const auto directory = onnx::import_model(files, folder);
  ASSERT_FALSE(directory.ok());
  EXPECT_EQ(directory.error().code, Code::kIo);
  EXPECT_NE(directory.error().text().find("is a folder"), std::string::npos);
  const std::string empty = folder + "frit_empty.onnx";
  std::ofstream(empty).close();
  const auto nothing = onnx::import_model(files, empty);
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().code, Code::kBadModel);
  EXPECT_EQ(nothing.error().text(), empty + ": the file is empty, expected an ONNX model");
  std::filesystem::remove(empty);
}

}  // namespace
}  // namespace frit::test
