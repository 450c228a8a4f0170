// Loads an ONNX file, runs it once with random inputs, prints what came out.
//
//   run_model MODEL.onnx [DIMENSION=SIZE ...]
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "frit/frit.h"

namespace {

int fail(const frit::Error& error) {
  std::fprintf(stderr, "run_model: %s\n", error.text().c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: run_model MODEL.onnx [DIMENSION=SIZE ...]\n");
    return 2;
  }
  auto model = frit::Model::load(argv[1]);
  if (!model.ok()) return fail(model.error());

  // Sizes of named dimensions; 1 where the command line says nothing.
  std::vector<frit::NamedShape> sizes;
  for (int k = 2; k < argc; ++k) {
    const std::string word = argv[k];
    const size_t equals = word.find('=');
    if (equals == std::string::npos) return 2;
    sizes.push_back({word.substr(0, equals), {std::atoll(word.c_str() + equals + 1)}});
  }
  const auto size_of = [&](const frit::Dimension& d) -> int64_t {
    if (d.is_known()) return d.size;
    for (const auto& s : sizes) {
      if (s.name == d.name) return s.shape[0];
    }
    return 1;
  };

  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<frit::Tensor> inputs;
  std::vector<frit::TensorView> views;
  for (const frit::TensorInfo& info : model->inputs()) {
    std::vector<int64_t> shape;
    for (const frit::Dimension& d : info.shape) shape.push_back(size_of(d));
    auto tensor = frit::Tensor::allocate(info.dtype, shape);
    if (!tensor.ok()) return fail(tensor.error());
    if (info.dtype == frit::DType::kF32) {
      for (float& v : tensor->values<float>()) v = normal(random);
    }
    std::printf("in   %s  %s%s\n", info.name.c_str(), frit::dtype_name(info.dtype),
                frit::shape_text(shape).c_str());
    views.push_back(tensor->view());
    inputs.push_back(std::move(*tensor));
  }

  auto session = frit::Session::create(*model);
  if (!session.ok()) return fail(session.error());
  const auto outputs = session->run(views);
  if (!outputs.ok()) return fail(outputs.error());

  for (size_t k = 0; k < outputs->size(); ++k) {
    const frit::Tensor& tensor = (*outputs)[k];
    std::printf("out  %s  %s%s", model->outputs()[k].name.c_str(), frit::dtype_name(tensor.dtype()),
                frit::shape_text(tensor.shape()).c_str());
    if (tensor.dtype() == frit::DType::kF32) {
      for (const float v : tensor.values<float>().first(std::min<size_t>(4, tensor.values<float>().size()))) {
        std::printf("  %g", static_cast<double>(v));
      }
    }
    std::printf("\n");
  }
  const frit::SessionStats stats = session->stats();
  std::printf("%lld groups in %lld kernels, prepared in %.1f ms\n",
              static_cast<long long>(stats.counters.groups), static_cast<long long>(stats.counters.kernels),
              stats.prepare_ms);
  return 0;
}
