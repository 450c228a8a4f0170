// For tests of exec: a plan of fake kernels made ready to run, and runs on tensors.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "exec/executor.h"
#include "graph/eval.h"
#include "support/exec_fakes.h"

namespace frit::testing {

inline exec::ExecOptions with_threads(int threads) {
  exec::ExecOptions options;
  options.threads = threads;
  return options;
}

// A plan with everything that a run needs.
struct Ready {
  std::shared_ptr<FakeProvider> provider = std::make_shared<FakeProvider>();
  exec::ConstantStore store;
  exec::CompiledPlan compiled;
  std::shared_ptr<const exec::ExecPlan> plan;
  std::unique_ptr<exec::ExecContext> context;

  Status make(std::shared_ptr<const fusion::Plan> source, const exec::ExecOptions& options = {},
              int64_t kind = 0, LaunchHook hook = {}) {
    if (!provider->make_body)
      provider->make_body = [hook](const loop::LoopFn& fn) { return elementwise_body(fn, hook); };
    const std::vector<codegen::Params> choices(source->groups.size(), codegen::Params{{"kind", kind}});
    FRIT_ASSIGN(compiled,
                exec::build_plan(source, choices, provider.get(), fake_build_options(options.threads)));
    FRIT_ASSIGN(plan, exec::ExecPlan::make(compiled, store, options));
    FRIT_ASSIGN(context, exec::ExecContext::make(plan));
    return {};
  }
};

inline Status run(exec::ExecContext& context, const std::vector<std::vector<float>>& inputs,
                  std::vector<std::vector<float>>& outputs, const exec::RunOptions& options = {}) {
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const auto& i : inputs) in.push_back(i.data());
  for (auto& o : outputs) out.push_back(o.data());
  return exec::Executor::run(context, in, out, options);
}

// What the evaluator says, as floats.
inline std::vector<std::vector<float>> expected(const graph::Graph& graph,
                                                const std::vector<std::vector<float>>& inputs) {
  std::vector<graph::HostTensor> tensors;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const auto shape = *graph::constant_shape(graph.value(graph.inputs[k]).type.shape);
    tensors.push_back(*graph::HostTensor::of(DType::kF32, shape, inputs[k]));
  }
  auto results = graph::evaluate(graph, tensors);
  EXPECT_TRUE(results.ok()) << (results.ok() ? "" : results.error().text());
  std::vector<std::vector<float>> out;
  if (!results.ok()) return out;
  for (const graph::HostTensor& t : *results) out.push_back(t.values<float>());
  return out;
}

inline graph::ValueId relu(graph::Graph& g, graph::ValueId x) {
  return g.add(graph::Unary{graph::UnaryOp::kRelu}, {x}, g.value(x).type);
}
inline graph::ValueId add(graph::Graph& g, graph::ValueId a, graph::ValueId b) {
  return g.add(graph::Binary{graph::BinaryOp::kAdd}, {a, b}, g.value(a).type);
}
inline graph::ValueId constant(graph::Graph& g, const std::vector<float>& values) {
  return g.add_constant(f32({static_cast<int64_t>(values.size())}), graph::make_constant_of(values));
}
inline std::vector<float> ramp(size_t n, float start = 0, float step = 1) {
  std::vector<float> out(n);
  for (size_t k = 0; k < n; ++k) out[k] = start + step * static_cast<float>(k);
  return out;
}

}  // namespace frit::testing
