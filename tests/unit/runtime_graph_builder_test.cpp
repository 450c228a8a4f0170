#include <gtest/gtest.h>

#include <cmath>

#include "graph/verify.h"
#include "support/session_testing.h"

namespace frit::testing {
namespace {

std::string shape_of(const GraphBuilder& g, Value v) {
  std::string out;
  for (const Dimension& d : g.shape(v))
    out += (out.empty() ? "" : ",") + (d.is_known() ? std::to_string(d.size) : d.name);
  return out;
}

std::vector<float> values(const graph::HostTensor& t) { return t.values<float>(); }

TEST(GraphBuilderTest, InfersShapesWithNames) {
  GraphBuilder g;
  const Value x = g.input("x", DType::kF32, {"n", 3, 32, 32});
  const Value w = g.constant(random_tensor({8, 3, 3, 3}, 1));
  const Value c = g.conv(x, w, {}, {.strides = {2, 2}, .pads = {1, 1, 1, 1}});
  EXPECT_EQ(shape_of(g, c), "n,8,16,16");
  EXPECT_EQ(shape_of(g, g.max_pool(c, {.kernel = {3, 3}, .strides = {2, 2}, .pads = {1, 1, 1, 1}})),
            "n,8,8,8");
  EXPECT_EQ(shape_of(g, g.global_average_pool(c)), "n,8,1,1");
  EXPECT_EQ(shape_of(g, g.flatten(c)), "n,2048");
  EXPECT_EQ(shape_of(g, g.flatten(c, 4)), "2048*n,1");
  EXPECT_EQ(shape_of(g, g.reshape(c, {0, 8, -1})), "n,8,256");
  EXPECT_EQ(shape_of(g, g.reshape(c, {"n", 16, -1})), "n,16,128");
  EXPECT_EQ(shape_of(g, g.transpose(c, {0, 2, 3, 1})), "n,16,16,8");
  EXPECT_EQ(shape_of(g, g.unsqueeze(c, {0, -1})), "1,n,8,16,16,1");
  EXPECT_EQ(shape_of(g, g.squeeze(g.global_average_pool(c), {2, 3})), "n,8");
  EXPECT_EQ(shape_of(g, g.slice(c, 1, -3)), "n,3,16,16");
  EXPECT_EQ(shape_of(g, g.concat({c, c}, 1)), "n,16,16,16");
  const auto parts = g.split(c, 1, {3, 5});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(shape_of(g, parts[1]), "n,5,16,16");
  EXPECT_EQ(shape_of(g, g.pad(c, {0, 0, 1, 2}, {0, 0, 3, 4})), "n,8,20,22");
  EXPECT_EQ(shape_of(g, g.reduce_mean(c, {-1}, false)), "n,8,16");
  EXPECT_EQ(shape_of(g, g.expand(g.scalar(1), {4, 5})), "4,5");
  EXPECT_EQ(
      shape_of(g, g.conv_transpose(c, g.constant(random_tensor({8, 4, 2, 2}, 2)), {}, {.strides = {2, 2}})),
      "n,4,32,32");
  EXPECT_EQ(g.dtype(g.less(c, c)), DType::kBool);
  EXPECT_EQ(g.dtype(g.cast(c, DType::kI32)), DType::kI32);
  ASSERT_EQ(g.error(), nullptr) << g.error()->text();
  g.output(c, "y");
  EXPECT_TRUE(graph::verify(g.impl().graph).ok());
}

TEST(GraphBuilderTest, ComputesWhatOnnxSays) {
  GraphBuilder g;
  const Value x = g.input("x", DType::kF32, {2, 3});
  g.output(g.clip(x, -1, 1), "clip");
  g.output(g.clip(x, 0, INFINITY), "low only");
  g.output(g.silu(x), "silu");
  g.output(g.leaky_relu(x, 0.5f), "leaky");
  g.output(g.where(g.greater(x, g.scalar(0)), x, g.neg(x)), "abs");
  g.output(g.gather(x, g.constant(Tensor::of(std::vector<int64_t>{-1, 0}, {2}).value_or_throw()), 1),
           "gather");
  g.output(g.reduce_sum(x), "sum");
  g.output(g.layer_norm(x, g.constant(Tensor::of(std::vector<float>{1, 1, 1}, {3}).value_or_throw())),
           "norm");
  g.output(g.batch_norm(x, g.constant(Tensor::of(std::vector<float>{1, 2, 3}, {3}).value_or_throw()),
                        g.constant(Tensor::of(std::vector<float>{0, 0, 1}, {3}).value_or_throw()),
                        g.constant(Tensor::of(std::vector<float>{0, 1, 0}, {3}).value_or_throw()),
                        g.constant(Tensor::of(std::vector<float>{1, 1, 4}, {3}).value_or_throw()), 0),
           "bn");
  ASSERT_EQ(g.error(), nullptr) << g.error()->text();
  const Tensor input = Tensor::of(std::vector<float>{-3, -0.5, 0, 0.5, 1, 2}, {2, 3}).value_or_throw();
  const auto out = reference(g, {&input});
  EXPECT_EQ(values(out[0]), (std::vector<float>{-1, -0.5, 0, 0.5, 1, 1}));
  EXPECT_EQ(values(out[1]), (std::vector<float>{0, 0, 0, 0.5, 1, 2}));
  EXPECT_NEAR(values(out[2])[5], 2 / (1 + std::exp(-2.0)), 1e-6);
  EXPECT_EQ(values(out[3])[0], -1.5f);
  EXPECT_EQ(values(out[4]), (std::vector<float>{3, 0.5, 0, 0.5, 1, 2}));
  EXPECT_EQ(values(out[5]), (std::vector<float>{0, -3, 2, 0.5}));
  EXPECT_EQ(values(out[6]), (std::vector<float>{0}));
  EXPECT_NEAR(values(out[7])[3], -1.06904, 1e-4);
  EXPECT_EQ(values(out[8]), (std::vector<float>{-3, -3, 1, 0.5, 0, 4}));
}

TEST(GraphBuilderTest, KeepsTheFirstErrorAndNamesTheNode) {
  GraphBuilder g;
  const Value a = g.input("a", DType::kF32, {2, 3}), b = g.input("b", DType::kF32, {4, 5});
  const Value bad = g.matmul(a, b, "product");
  EXPECT_FALSE(bad.is_valid());
  const Value later = g.relu(bad, "later");
  EXPECT_FALSE(later.is_valid());
  g.output(later, "y");
  ASSERT_NE(g.error(), nullptr);
  EXPECT_EQ(g.error()->code, Code::kInvalidArgument);
  EXPECT_EQ(
      g.error()->text(),
      "node \"product\" (MatMul): shapes [2,3] and [4,5] do not multiply: inner dimensions are 3 and 4");
  const auto model = Model::from_graph(std::move(g), model_options());
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, Code::kInvalidArgument);
  EXPECT_NE(model.error().text().find("\"product\""), std::string::npos);
}

TEST(GraphBuilderTest, RefusesWhatDoesNotFit) {
  const auto message = [](auto&& build) {
    GraphBuilder g;
    const Value x = g.input("x", DType::kF32, {2, 3});
    build(g, x);
    return g.error() ? g.error()->text() : std::string();
  };
  GraphBuilder other;
  const Value foreign = other.input("x", DType::kF32, {2, 3});
  EXPECT_EQ(message([&](GraphBuilder& g, Value x) { g.add(x, foreign, "n"); }),
            "node \"n\" (Add): an operand is a value of another graph builder");
  EXPECT_EQ(message([](GraphBuilder& g, Value x) { g.add(x, {}, "n"); }),
            "node \"n\" (Add): an operand is absent");
  EXPECT_EQ(message([](GraphBuilder& g, Value x) { g.softmax(x, 2, "n"); }),
            "node \"n\" (Softmax): axis 2 of rank 2 does not exist");
  EXPECT_EQ(message([](GraphBuilder& g, Value x) {
              g.reduce_sum(x, {1, -1}, true, "n");
            }),
            "node \"n\" (ReduceSum): axes [1,-1] name one twice");
  EXPECT_EQ(message([](GraphBuilder& g, Value) { g.input("x", DType::kF32, {1}); }),
            "there are two inputs \"x\"");
  EXPECT_EQ(message([](GraphBuilder& g, Value) { g.input("z", DType::kF32, {-1}); }),
            "input \"z\" has the dimension -1, expected 0 or more, or a name");
  EXPECT_EQ(message([](GraphBuilder& g, Value x) {
              g.output(x, "y");
              g.output(x, "y");
            }),
            "there are two outputs \"y\"");
  EXPECT_EQ(message([](GraphBuilder& g, Value x) { g.squeeze(x, {0}, "n"); }),
            "node \"n\" (Squeeze): axis 0 has 2 elements, expected 1");
  EXPECT_EQ(message([](GraphBuilder& g, Value x) {
              g.reshape(x, {"n", -1, -1}, "n");
            }),
            "node \"n\" (Reshape): shape has the value -1 at axis 2");
  EXPECT_EQ(message([](GraphBuilder& g, Value) { g.concat({}, 0, "n"); }),
            "node \"n\" (Concat): there is nothing to concatenate");
  EXPECT_EQ(message([](GraphBuilder& g, Value) { g.scalar(1.5, DType::kI32); }),
            "scalar 1.5 is not a value of i32");
  EXPECT_EQ(message([](GraphBuilder& g, Value) { g.scalar(300, DType::kU8); }),
            "scalar 300 is not a value of u8");
  EXPECT_EQ(message([](GraphBuilder& g, Value) { g.scalar(NAN, DType::kI64); }),
            "scalar nan is not a value of i64");
  EXPECT_EQ(message([](GraphBuilder& g, Value x) { g.conv(x, x, {}, {}, "n"); }),
            "node \"n\" (Conv): input 0 has shape [2,3], expected rank 3 or more");
}

TEST(GraphBuilderTest, AGraphWithoutOutputsIsNoModel) {
  GraphBuilder g;
  g.input("x", DType::kF32, {1});
  const auto model = Model::from_graph(std::move(g), model_options());
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().message, "the graph has no outputs");
}

TEST(GraphBuilderTest, SavesAnOnnxFileThatComputesTheSame) {
  const TempFolder folder;
  const GraphBuilder g = small_net();
  const Status saved = g.save_onnx(folder / "small.onnx");
  ASSERT_TRUE(saved.ok()) << saved.error().text();
  auto model = Model::load(folder / "small.onnx", model_options());
  ASSERT_TRUE(model.ok()) << model.error().text();
  ASSERT_EQ(model->inputs().size(), 1u);
  EXPECT_EQ(model->inputs()[0].name, "x");
  EXPECT_EQ(model->inputs()[0].shape, (std::vector<Dimension>{"batch", 24}));
  EXPECT_EQ(model->outputs()[1].name, "s");
  auto session = Session::create(*model, {.threads = 1});
  ASSERT_TRUE(session.ok());
  const Tensor x = random_tensor({3, 24}, 9);
  const auto out = session->run(std::array{x.view()});
  ASSERT_TRUE(out.ok()) << out.error().text();
  const auto want = reference(g, {&x});
  expect_close((*out)[0].values<float>(), want[0]);
  expect_close((*out)[1].values<float>(), want[1]);
}

}  // namespace
}  // namespace frit::testing
