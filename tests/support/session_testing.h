// What the tests of Model and Session share: options that find this build's compiler and no cache, a small
// network with named batch, its reference answer, a sink that remembers.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "frit/frit.h"
#include "graph/eval.h"
#include "graph/infer.h"
#include "runtime/graph_builder_impl.h"
#include "support/temp_folder.h"

namespace frit::testing {

class RememberingSink final : public LogSink {
 public:
  bool wants(LogLevel level, std::string_view) const override { return level <= LogLevel::kInfo; }
  void write(LogLevel level, std::string_view, std::string_view message) override {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(level, message);
  }
  std::vector<std::string> of(LogLevel level) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> out;
    for (const auto& [l, text] : lines_) {
      if (l == level) out.push_back(text);
    }
    return out;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<LogLevel, std::string>> lines_;
};

inline ModelOptions model_options(std::string cache = "off", std::shared_ptr<LogSink> log = {}) {
  return {.cache = std::move(cache), .codegen_library = FRIT_TEST_CODEGEN, .log = std::move(log)};
}

inline Tensor random_tensor(std::vector<int64_t> shape, uint64_t seed) {
  Tensor out = Tensor::allocate(DType::kF32, std::move(shape)).value_or_throw();
  uint64_t i = 0;
  for (float& v : out.values<float>()) v = static_cast<float>(base::uniform(seed, i++) - 0.5);
  return out;
}

// x [batch, 24] -> softmax(relu(x w1 + b1) w2 + b2) [batch, 10] and the sums of its hidden layer [batch, 1].
inline GraphBuilder small_net(uint64_t seed = 1) {
  GraphBuilder g("small");
  const Value x = g.input("x", DType::kF32, {"batch", 24});
  const Value hidden = g.relu(g.add(g.matmul(x, g.constant(random_tensor({24, 40}, seed), "w1"), "fc1"),
                                    g.constant(random_tensor({40}, seed + 1), "b1"), "bias1"),
                              "act");
  const Value logits = g.gemm(hidden, g.constant(random_tensor({40, 10}, seed + 2), "w2"),
                              g.constant(random_tensor({10}, seed + 3), "b2"), {}, "fc2");
  g.output(g.softmax(logits, -1, "prob"), "y");
  g.output(g.reduce_sum(hidden, {1}, true, "sum"), "s");
  return g;
}

// By the evaluator, for inputs of any shapes that fit.
inline std::vector<graph::HostTensor> reference(const GraphBuilder& builder,
                                                const std::vector<const Tensor*>& inputs) {
  std::vector<graph::HostTensor> tensors;
  for (const Tensor* t : inputs)
    tensors.push_back(graph::HostTensor::view(t->dtype(), t->shape(), t->bytes()));
  return graph::evaluate(builder.impl().graph, tensors).value_or_throw();
}

inline void expect_close(std::span<const float> got, const graph::HostTensor& want, double bound = 1e-4) {
  ASSERT_EQ(static_cast<int64_t>(got.size()), want.elements());
  double largest = 1e-30;
  for (int64_t i = 0; i < want.elements(); ++i) largest = std::max(largest, std::abs(want.as_double(i)));
  for (int64_t i = 0; i < want.elements(); ++i) {
    ASSERT_NEAR(got[static_cast<size_t>(i)], want.as_double(i), bound * largest) << "element " << i;
  }
}

}  // namespace frit::testing
