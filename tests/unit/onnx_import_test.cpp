// The importer: names, dimensions, aliases, functions, and forms of operators that the networks do not have.
#include <gtest/gtest.h>

#include "support/onnx_builder.h"
#include "support/onnx_run.h"

namespace frit::test {
namespace {

using std::vector;
using I = vector<int64_t>;

TEST(OnnxImport, NamedDimensionsAreSymbolsAndUnnamedOnesAreFresh) {
  const auto graph = import_text(OnnxBuilder()
                                     .input("ids", kInt64, {"batch", "seq"})
                                     .input("mask", kInt64, {"batch", "past + seq", "?", "-1"})
                                     .input("pk", kFloat, {"past", "batch-size", "ids.0"})
                                     .output("ids")
                                     .bytes());
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const auto shape = [&](size_t i) { return graph::shape_text(graph->value(graph->inputs[i]).type.shape); };
  EXPECT_EQ(shape(0), "[batch,seq]");
  const graph::Shape& mask = graph->value(graph->inputs[1]).type.shape;
  EXPECT_EQ(mask[1], graph::Dim::symbol("past") + graph::Dim::symbol("seq"));
  EXPECT_EQ(mask[2], graph::Dim::symbol("mask.2"));
  EXPECT_EQ(mask[3], graph::Dim::symbol("mask.3"));  // -1 means unknown to some exporters
  // Not an expression: "batch-size" has a part that is no dimension.
  EXPECT_EQ(graph->value(graph->inputs[2]).type.shape[1], graph::Dim::symbol("batch-size"));
}

TEST(OnnxImport, OutputsKeepTheirNamesWhereValuesAreShared) {
  const auto graph = import_text(OnnxBuilder()
                                     .input("x", kFloat, {"2"})
                                     .node("Identity", {"x"}, {"a"})
                                     .node("Identity", {"a"}, {"b"})
                                     .node("Neg", {"b"}, {"c"})
                                     .output("a")
                                     .output("c")
                                     .output("b")
                                     .output("x")
                                     .bytes());
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(graph->nodes.size(), 1u);
  EXPECT_EQ(graph->output_names, (vector<std::string>{"a", "c", "b", "x"}));
  EXPECT_EQ(graph->outputs[0], graph->inputs[0]);
  EXPECT_EQ(graph->outputs[2], graph->inputs[0]);
  EXPECT_EQ(graph->value(graph->outputs[1]).name, "c");
}

TEST(OnnxImport, InputsWithInitializersAreConstants) {
  const auto graph = import_text(OnnxBuilder()
                                     .input("x", kFloat, {"1"})
                                     .input("w", kFloat, {"1"})
                                     .floats("w", {1}, {3})
                                     .floats("unused", {1}, {4})
                                     .node("Add", {"x", "w"}, {"y"})
                                     .output("y")
                                     .bytes());
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  ASSERT_EQ(graph->inputs.size(), 1u);
  EXPECT_EQ(graph->value(graph->inputs[0]).name, "x");
  size_t constants = 0;
  for (const auto& v : graph->values) constants += v.is_constant();
  EXPECT_EQ(constants, 1u);  // what nobody uses stays out
}

TEST(OnnxImport, NodesKeepNameAndOperatorForMessages) {
  const auto graph = import_text(OnnxBuilder(20)
                                     .input("x", kFloat, {"2", "3"})
                                     .node("Elu", {"x"}, {"y"}, {}, "act")
                                     .output("y")
                                     .bytes());
  ASSERT_TRUE(graph.ok());
  ASSERT_GT(graph->nodes.size(), 1u);
  for (const auto& node : graph->nodes) {
    EXPECT_EQ(node.name, "act");
    EXPECT_EQ(node.source_op, "Elu");
  }
}

TEST(OnnxImport, AutoPadAndItsOddElement) {
  const auto conv = [](const char* mode) {
    return run_model(OnnxBuilder(11)
                         .input("x", kFloat, {"1", "1", "3"})
                         .floats("w", {1, 1, 2}, {1, 10})
                         .node("Conv", {"x", "w"}, {"y"}, {{"auto_pad", std::string(mode)}})
                         .output("y")
                         .bytes(),
                     {floats({1, 1, 3}, {1, 2, 3})});
  };
  expect_output(conv("SAME_UPPER"), 0, {1, 1, 3}, {21, 32, 3});
  expect_output(conv("SAME_LOWER"), 0, {1, 1, 3}, {10, 21, 32});
  expect_output(conv("VALID"), 0, {1, 1, 2}, {21, 32});
  const Outputs strided = run_model(
      OnnxBuilder(11)
          .input("x", kFloat, {"1", "1", "5"})
          .node("MaxPool", {"x"}, {"y"},
                {{"auto_pad", std::string("SAME_UPPER")}, {"kernel_shape", I{2}}, {"strides", I{2}}})
          .output("y")
          .bytes(),
      {floats({1, 1, 5}, {1, 2, 3, 4, 5})});
  expect_output(strided, 0, {1, 1, 3}, {2, 4, 5});
}

TEST(OnnxImport, ConvTransposeReachesItsOutputShape) {
  const auto deconv = [](const onnx::Attributes& a) {
    return run_model(OnnxBuilder(11)
                         .input("x", kFloat, {"1", "1", "2"})
                         .floats("w", {1, 1, 2}, {1, 10})
                         .node("ConvTranspose", {"x", "w"}, {"y"}, a)
                         .output("y")
                         .bytes(),
                     {floats({1, 1, 2}, {1, 2})});
  };
  expect_output(deconv({}), 0, {1, 1, 3}, {1, 12, 20});
  expect_output(deconv({{"strides", I{2}}, {"output_shape", I{3}}}), 0, {1, 1, 3}, {10, 2, 20});
  expect_output(
      deconv({{"strides", I{2}}, {"output_shape", I{1, 1, 3}}, {"auto_pad", std::string("SAME_UPPER")}}), 0,
      {1, 1, 3}, {1, 10, 2});
  expect_output(deconv({{"strides", I{2}}, {"output_shape", I{5}}}), 0, {1, 1, 5}, {1, 10, 2, 20, 0});
  expect_output(deconv({{"strides", I{3}}, {"auto_pad", std::string("SAME_LOWER")}}), 0, {1, 1, 6},
                {1, 10, 0, 2, 20, 0});
}

TEST(OnnxImport, MatMulOfVectors) {
  const Outputs y = run_model(OnnxBuilder()
                                  .input("v", kFloat, {"2"})
                                  .input("m", kFloat, {"2", "2"})
                                  .node("MatMul", {"v", "v"}, {"a"})
                                  .node("MatMul", {"v", "m"}, {"b"})
                                  .node("MatMul", {"m", "v"}, {"c"})
                                  .output("a")
                                  .output("b")
                                  .output("c")
                                  .bytes(),
                              {floats({2}, {1, 2}), floats({2, 2}, {1, 2, 3, 4})});
  expect_output(y, 0, {}, {5});
  expect_output(y, 1, {2}, {7, 10});
  expect_output(y, 2, {2}, {5, 11});
}

TEST(OnnxImport, EinsumForms) {
  const auto a = floats({2, 2}, {1, 2, 3, 4}), b = floats({2, 2}, {5, 6, 7, 8});
  const auto two = [&](const char* equation) {
    return run_model(OnnxBuilder()
                         .input("a", kFloat, {"2", "2"})
                         .input("b", kFloat, {"2", "2"})
                         .node("Einsum", {"a", "b"}, {"y"}, {{"equation", std::string(equation)}})
                         .output("y")
                         .bytes(),
                     {a, b});
  };
  const auto one = [&](const char* equation) {
    return run_model(OnnxBuilder()
                         .input("a", kFloat, {"2", "2"})
                         .node("Einsum", {"a"}, {"y"}, {{"equation", std::string(equation)}})
                         .output("y")
                         .bytes(),
                     {a});
  };
  expect_output(two("ij,jk->ik"), 0, {2, 2}, {19, 22, 43, 50});
  expect_output(two("ij,jk"), 0, {2, 2}, {19, 22, 43, 50});
  expect_output(two("ij , kj -> k i"), 0, {2, 2}, {17, 39, 23, 53});
  expect_output(two("ij,ij->"), 0, {}, {70});
  expect_output(two("ij,ij->ji"), 0, {2, 2}, {5, 21, 12, 32});
  expect_output(two("i...,j...->ij..."), 0, {2, 2, 2}, {5, 12, 7, 16, 15, 24, 21, 32});
  expect_output(two("...j,...j->..."), 0, {2}, {17, 53});
  expect_output(one("ij->ji"), 0, {2, 2}, {1, 3, 2, 4});
  expect_output(one("ij->j"), 0, {2}, {4, 6});
  expect_output(one("ii->i"), 0, {2}, {1, 4});
  expect_output(one("ii"), 0, {}, {5});
  EXPECT_NE(two("ij,jk->iz").error.find("Einsum"), std::string::npos);
  EXPECT_NE(one("ijk->i").error.find("for an operand of rank 2"), std::string::npos);
  EXPECT_NE(one("i1->i").error.find("expected letters"), std::string::npos);
}

TEST(OnnxImport, MaxPoolIndices) {
  const auto pool = [](int64_t order) {
    return run_model(OnnxBuilder(12)
                         .input("x", kFloat, {"n", "2", "2", "3"})
                         .node("MaxPool", {"x"}, {"y", "i"},
                               {{"kernel_shape", I{2, 2}}, {"pads", I{1, 0, 0, 0}}, {"storage_order", order}})
                         .output("y")
                         .output("i")
                         .bytes(),
                     {floats({1, 2, 2, 3}, {1, 5, 2, 4, 3, 6, -9, -5, -8, -7, -4, -6})});
  };
  for (int64_t order : {0, 1}) {
    const Outputs y = pool(order);
    expect_output(y, 0, {1, 2, 2, 2}, {5, 5, 5, 6, -5, -5, -4, -4});
    expect_output(
        y, 1, {1, 2, 2, 2},
        order == 0 ? vector<double>{1, 1, 1, 5, 7, 7, 10, 10} : vector<double>{2, 2, 2, 5, 8, 8, 9, 9});
  }
}

TEST(OnnxImport, LstmWithTheBatchFirst) {
  const auto build = [](int64_t layout) {
    OnnxBuilder b(14);
    b.input("x", kFloat, {"2", "2", "1"})
        .floats("w", {1, 4, 1}, {.1f, .2f, .3f, .4f})
        .floats("r", {1, 4, 1}, {.5f, .6f, .7f, .8f});
    return b.node("LSTM", {"x", "w", "r"}, {"y", "h"}, {{"hidden_size", int64_t{1}}, {"layout", layout}})
        .output("y")
        .output("h")
        .bytes();
  };
  const Outputs time_first = run_model(build(0), {floats({2, 2, 1}, {1, 2, 3, 4})});
  const Outputs batch_first = run_model(build(1), {floats({2, 2, 1}, {1, 3, 2, 4})});
  ASSERT_EQ(time_first.error, "");
  ASSERT_EQ(batch_first.error, "");
  EXPECT_EQ(time_first.values[0].shape(), (graph::Extents{2, 1, 2, 1}));
  EXPECT_EQ(batch_first.values[0].shape(), (graph::Extents{2, 2, 1, 1}));
  const auto a = time_first.values[0].values<float>(), b = batch_first.values[0].values<float>();
  EXPECT_EQ((vector<float>{a[0], a[2], a[1], a[3]}), b);
  EXPECT_EQ(time_first.values[1].values<float>(), batch_first.values[1].values<float>());
}

// Scaled by one, tanh is tanh: the LSTM that is spelled out step by step must compute what the graph's own op
// does.
TEST(OnnxImport, LstmSpelledOutAgreesWithTheOp) {
  const auto values = [](size_t count, int seed) {
    vector<float> v(count);
    for (size_t i = 0; i < count; ++i)
      v[i] = static_cast<float>((i * 7 + static_cast<size_t>(seed) * 5) % 11) / 5 - 1;
    return v;
  };
  const auto build = [&](const onnx::Attribute& activations, bool input_forget) {
    onnx::MessageWriter lengths = OnnxBuilder::header("len", kInt32, {2});
    lengths.packed_integers(5, {3, 1});
    OnnxBuilder b(14);
    b.input("x", kFloat, {"3", "2", "2"})
        .floats("w", {2, 12, 2}, values(48, 1))
        .floats("r", {2, 12, 3}, values(72, 2))
        .floats("b", {2, 24}, values(48, 3))
        .initializer(std::move(lengths))
        .floats("h0", {2, 2, 3}, values(12, 4))
        .floats("c0", {2, 2, 3}, values(12, 5))
        .floats("p", {2, 9}, values(18, 6));
    onnx::Attributes a = {{"hidden_size", int64_t{3}},
                          {"direction", std::string("bidirectional")},
                          {"clip", 0.9f},
                          {"input_forget", int64_t{input_forget}}};
    if (!activations.name.empty()) a.push_back(activations);
    return b.node("LSTM", {"x", "w", "r", "b", "len", "h0", "c0", "p"}, {"y", "h", "c"}, a)
        .output("y")
        .output("h")
        .output("c")
        .bytes();
  };
  const onnx::Attribute scaled{"activations",
                               onnx::Names{"Sigmoid", "Tanh", "ScaledTanh", "Sigmoid", "ScaledTanh", "Tanh"}};
  for (const bool input_forget : {false, true}) {
    const auto x = floats({3, 2, 2}, values(12, 0));
    const Outputs op = run_model(build({}, input_forget), {x}),
                  steps = run_model(build(scaled, input_forget), {x});
    ASSERT_EQ(op.error, "");
    for (size_t i = 0; i < 3; ++i) expect_output(steps, i, op.values[i].shape(), op.values[i].as_doubles());
  }
}

TEST(OnnxImport, ResizeByTablesAgreesWithTheOp) {
  // Antialiasing that has nothing to do (growing), and a crop of everything, are plain resizes.
  const auto resize = [](const onnx::Attributes& a, bool roi) {
    OnnxBuilder b(18);
    b.input("x", kFloat, {"1", "3", "2"}).ints("sizes", {1, 5, 6});
    if (roi) b.floats("roi", {6}, {0, 0, 0, 1, 1, 1});
    return run_model(b.node("Resize", {"x", roi ? "roi" : "", "", "sizes"}, {"y"}, a).output("y").bytes(),
                     {floats({1, 3, 2}, {1, 2, 4, 8, 16, 32})});
  };
  for (const std::string mode : {"linear", "cubic"}) {
    const Outputs plain = resize({{"mode", mode}}, false);
    const Outputs smooth = resize({{"mode", mode}, {"antialias", int64_t{1}}}, false);
    ASSERT_EQ(plain.error, "");
    expect_output(smooth, 0, {1, 5, 6}, plain.values[0].as_doubles(), 1e-4);
  }
  const Outputs corners = resize(
      {{"mode", std::string("linear")}, {"coordinate_transformation_mode", std::string("align_corners")}},
      false);
  const Outputs crop = resize({{"mode", std::string("linear")},
                               {"coordinate_transformation_mode", std::string("tf_crop_and_resize")}},
                              true);
  ASSERT_EQ(corners.error, "");
  expect_output(crop, 0, {1, 5, 6}, corners.values[0].as_doubles(), 1e-4);
}

onnx::MessageWriter function_node(const std::string& op, const onnx::Names& in, const onnx::Names& out,
                                  onnx::MessageWriter attribute, const std::string& domain = "") {
  onnx::MessageWriter m;
  for (const auto& i : in) m.text(1, i);
  for (const auto& o : out) m.text(2, o);
  m.text(4, op);
  if (!domain.empty()) m.text(7, domain);
  if (attribute.size_bytes() != 0) m.message(5, std::move(attribute));
  return m;
}

onnx::MessageWriter local_function(const std::string& name, std::vector<onnx::MessageWriter> nodes) {
  onnx::MessageWriter f, opset;
  f.text(1, name);
  f.text(4, "x");
  f.text(5, "y");
  f.text(6, "slope");
  for (auto& n : nodes) f.message(7, std::move(n));
  opset.integer(2, 17);
  f.message(9, std::move(opset));
  f.text(10, "my");
  return f;
}

TEST(OnnxImport, FunctionsAreWrittenOut) {
  onnx::MessageWriter reference;  // alpha = the call's slope
  reference.text(1, "alpha");
  reference.integer(20, 1);
  reference.text(21, "slope");
  std::vector<onnx::MessageWriter> body;
  body.push_back(function_node("LeakyRelu", {"x"}, {"t"}, std::move(reference)));
  body.push_back(function_node("Neg", {"t"}, {"y"}, {}));
  const std::string bytes = OnnxBuilder()
                                .input("x", kFloat, {"2"})
                                .node("Act", {"x"}, {"a"}, {{"slope", 0.5f}}, "n", "my")
                                .node("Act", {"a"}, {"b"}, {}, "n", "my")
                                .output("a")
                                .output("b")
                                .function(local_function("Act", std::move(body)))
                                .bytes();
  const Outputs y = run_model(bytes, {floats({2}, {-4, 4})});
  expect_output(y, 0, {2}, {2, -4});
  expect_output(y, 1, {2}, {-2, 0.04});  // without the attribute: LeakyRelu's own default
}

TEST(OnnxImport, FunctionsThatCallThemselvesAreAnError) {
  std::vector<onnx::MessageWriter> body;
  body.push_back(function_node("Loop", {"x"}, {"y"}, {}, "my"));
  const std::string bytes = OnnxBuilder()
                                .input("x", kFloat, {"2"})
                                .node("Loop", {"x"}, {"y"}, {}, "n", "my")
                                .output("y")
                                .function(local_function("Loop", std::move(body)))
                                .bytes();
  const Outputs y = run_model(bytes, {});
  EXPECT_NE(y.error.find("functions call each other more than 32 deep"), std::string::npos) << y.error;
}

}  // namespace
}  // namespace frit::test
