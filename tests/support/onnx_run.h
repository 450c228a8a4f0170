// Import and evaluate a model that a test built: what it computes, or the text of the error.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/eval.h"
#include "onnx/import.h"

namespace frit::test {

inline Result<graph::Graph> import_text(const std::string& bytes,
                                        const onnx::ExternalResolver& resolver = {}) {
  return onnx::import_bytes({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), nullptr},
                            "m.onnx", resolver);
}

inline graph::HostTensor floats(graph::Extents shape, const std::vector<float>& values) {
  return graph::HostTensor::of<float>(DType::kF32, std::move(shape), values).value_or_throw();
}
inline graph::HostTensor ints(graph::Extents shape, const std::vector<int64_t>& values) {
  return graph::HostTensor::of<int64_t>(DType::kI64, std::move(shape), values).value_or_throw();
}

struct Outputs {
  std::vector<graph::HostTensor> values;
  std::string error;  // empty when it worked
};

inline Outputs run_model(const std::string& bytes, const std::vector<graph::HostTensor>& inputs) {
  auto graph = import_text(bytes);
  if (!graph.ok()) return {{}, graph.error().text()};
  auto outputs = graph::evaluate(*graph, inputs);
  if (!outputs.ok()) return {{}, outputs.error().text()};
  return {*std::move(outputs), {}};
}

// Compares shape and elements with a tolerance that a few float operations need.
inline void expect_output(const Outputs& got, size_t i, const graph::Extents& shape,
                          const std::vector<double>& values, double tolerance = 1e-6) {
  ASSERT_EQ(got.error, "");
  ASSERT_LT(i, got.values.size());
  ASSERT_EQ(got.values[i].shape(), shape);
  ASSERT_EQ(static_cast<size_t>(got.values[i].elements()), values.size());
  for (size_t k = 0; k < values.size(); ++k) {
    const double element = got.values[i].as_double(static_cast<int64_t>(k));
    if (element == values[k]) continue;  // infinities too
    EXPECT_NEAR(element, values[k], tolerance) << "element " << k;
  }
}

}  // namespace frit::test
