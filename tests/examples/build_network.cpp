// Makes a small convolutional network by calls, writes it as ONNX, and runs it on the caller's own memory.
//
//   build_network [OUT.onnx]
#include <array>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "frit/frit.h"

namespace {

// Weights as a training would start with: by the number of inputs of each output.
frit::Value weights(frit::GraphBuilder& g, std::vector<int64_t> shape, int64_t fan_in, const char* name) {
  static std::mt19937 random(7);
  std::normal_distribution<float> normal(0, std::sqrt(2.0f / static_cast<float>(fan_in)));
  frit::Tensor tensor = frit::Tensor::allocate(frit::DType::kF32, std::move(shape)).value_or_throw();
  for (float& v : tensor.values<float>()) v = normal(random);
  return g.constant(std::move(tensor), name);
}

frit::GraphBuilder digits() {
  frit::GraphBuilder g("digits");
  frit::Value x = g.input("image", frit::DType::kF32, {"batch", 1, 28, 28});
  x = g.relu(g.conv(x, weights(g, {16, 1, 3, 3}, 9, "w1"), {}, {.pads = {1, 1, 1, 1}}, "conv1"), "relu1");
  x = g.max_pool(x, {.kernel = {2, 2}, .strides = {2, 2}}, "pool1");
  x = g.relu(g.conv(x, weights(g, {32, 16, 3, 3}, 144, "w2"), {}, {.pads = {1, 1, 1, 1}}, "conv2"), "relu2");
  x = g.flatten(g.global_average_pool(x, "mean"), 1, "flat");
  x = g.gemm(x, weights(g, {32, 10}, 32, "w3"), {}, {}, "classes");
  g.output(g.softmax(x, -1, "softmax"), "probabilities");
  return g;
}

}  // namespace

int main(int argc, char** argv) {
  frit::GraphBuilder g = digits();
  if (argc > 1) {
    if (const frit::Status saved = g.save_onnx(argv[1]); !saved.ok()) {
      std::fprintf(stderr, "build_network: %s\n", saved.error().text().c_str());
      return 1;
    }
  }
  auto model = frit::Model::from_graph(std::move(g));
  if (!model.ok()) {
    std::fprintf(stderr, "build_network: %s\n", model.error().text().c_str());
    return 1;
  }
  auto session = frit::Session::create(*model, {.threads = 1});
  if (!session.ok()) return 1;

  // The caller's memory, used where it is.
  constexpr int64_t kBatch = 2;
  std::vector<float> image(kBatch * 28 * 28, 0.5f), probabilities(kBatch * 10);
  const frit::Status ran = session->run(std::array{frit::TensorView::of(image.data(), {kBatch, 1, 28, 28})},
                                        std::array{frit::TensorView::of(probabilities.data(), {kBatch, 10})});
  if (!ran.ok()) {
    std::fprintf(stderr, "build_network: %s\n", ran.error().text().c_str());
    return 1;
  }
  double sum = 0;
  for (int k = 0; k < 10; ++k) {
    std::printf("digit %d  %.4f\n", k, static_cast<double>(probabilities[static_cast<size_t>(k)]));
    sum += static_cast<double>(probabilities[static_cast<size_t>(k)]);
  }
  return std::abs(sum - 1) < 1e-5 ? 0 : 1;
}
