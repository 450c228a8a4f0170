#include "support/compiled.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "base/text.h"
#include "base/thread_pool.h"
#include "base/try.h"
#include "exec/build.h"
#include "exec/compile.h"
#include "exec/context.h"
#include "exec/executor.h"
#include "exec/interpret.h"

namespace frit::testing {

using graph::HostTensor;

Result<std::shared_ptr<const device::CodegenLibrary>> open_codegen() {
  base::SystemEnvironment environment;
  return device::CodegenLibrary::open(FRIT_TEST_CODEGEN, environment);
}

Result<CompiledGraph> compile_graph(graph::Graph graph, const CompiledOptions& options) {
  fusion::FusionOptions fusion_options;
  fusion_options.build = {&options.target, options.numerics, options.threads};
  fusion_options.fuse = options.fuse;
  FRIT_ASSIGN(fusion::Plan made, fusion::make_plan(std::move(graph), fusion_options));
  auto plan = std::make_shared<const fusion::Plan>(std::move(made));
  if (options.see_plan) options.see_plan(*plan);
  std::vector<codegen::Params> choices(plan->groups.size());
  for (size_t k = 0; k < choices.size() && options.choose; ++k)
    if (!plan->groups[k].family.empty()) choices[k] = options.choose(plan->groups[k], fusion_options.build);

  exec::BuildOptions build;
  build.context = fusion_options.build;
  build.family = [](std::string_view name) { return codegen::family_named(name); };
  build.more_tries = 0;
  CompiledGraph out;
  if (!options.interpret) {
    exec::CodegenProvider::Options provider_options;
    provider_options.target = options.target;
    provider_options.open_library = open_codegen;
    FRIT_ASSIGN(out.provider, exec::CodegenProvider::make(std::move(provider_options)));
  }
  FRIT_ASSIGN(out.plan, exec::build_plan(plan, choices, out.provider.get(), build));
  return out;
}

Result<std::vector<HostTensor>> run_graph(const CompiledGraph& compiled, std::span<const HostTensor> inputs,
                                          const CompiledOptions& options) {
  if (options.interpret) return exec::interpret_plan(compiled.plan, inputs);
  exec::ConstantStore constants;
  exec::ExecOptions exec_options;
  exec_options.threads = options.threads;
  exec_options.numerics = options.numerics;
  FRIT_ASSIGN(auto exec_plan, exec::ExecPlan::make(compiled.plan, constants, exec_options));
  FRIT_ASSIGN(auto context, exec::ExecContext::make(exec_plan));

  std::vector<const void*> in;
  for (const HostTensor& t : inputs) in.push_back(t.bytes());
  const graph::Graph& graph = compiled.plan.plan->graph;
  std::vector<HostTensor> results;
  std::vector<void*> out;
  for (graph::ValueId v : graph.outputs) {
    const auto& type = graph.value(v).type;
    FRIT_ASSIGN(HostTensor t, HostTensor::allocate(type.dtype, *graph::constant_shape(type.shape)));
    results.push_back(std::move(t));
  }
  for (HostTensor& t : results) {
    std::memset(t.mutable_bytes(), 0xcd, t.size_bytes());
    out.push_back(t.mutable_bytes());
  }
  exec::RunOptions run;
  std::optional<base::PoolLease> lease;
  FRIT_ASSIGN(base::ThreadPool pool, base::ThreadPool::open());
  if (options.threads > 1) {
    FRIT_TRY(pool.reserve(options.threads));
    FRIT_ASSIGN(base::PoolLease taken,
                pool.acquire(options.threads, exec::worker_hooks(exec_plan->flush_denormals())));
    lease.emplace(std::move(taken));
    run.workers = &*lease;
  }
  FRIT_TRY(exec::Executor::run(*context, in, out, run));
  return results;
}

Result<std::vector<HostTensor>> run_compiled(graph::Graph graph, std::span<const HostTensor> inputs,
                                             const CompiledOptions& options) {
  FRIT_ASSIGN(const CompiledGraph compiled, compile_graph(std::move(graph), options));
  return run_graph(compiled, inputs, options);
}

codegen::Params any_choice(const fusion::PlanGroup& group, const codegen::BuildContext& context,
                           std::mt19937_64& random) {
  const codegen::Family* f = codegen::family_named(group.family);
  const codegen::Space space = f->space(group.group, context);
  const codegen::Params usual = f->heuristic(group.group, context);
  EXPECT_TRUE(space.legal(usual)) << f->name << ": the heuristic " << usual.text() << " is not in the space";
  if (random() % 8 == 0) return usual;
  for (int tries = 0; tries < 1000; ++tries) {
    codegen::Params point;
    for (const auto& dim : space.dims) point.set(dim.name, dim.values[random() % dim.values.size()]);
    if (space.legal(point)) return point;
  }
  return usual;
}

double usual_bound(DType dtype) { return dtype == DType::kBF16 ? 2e-2 : dtype == DType::kF16 ? 2e-3 : 5e-5; }

std::optional<std::string> different_bits(const HostTensor& got, const HostTensor& want) {
  const size_t size = dtype_bytes(want.dtype());
  for (int64_t i = 0; i < want.elements(); ++i) {
    const size_t at = static_cast<size_t>(i) * size;
    if (std::memcmp(got.bytes() + at, want.bytes() + at, size) == 0) continue;
    const double g = got.as_double(i), w = want.as_double(i);
    if (std::isnan(g) && std::isnan(w)) continue;
    return base::text_of("element ", i, ": ", g, ", expected ", w);
  }
  return std::nullopt;
}

double largest_difference(const HostTensor& got, const HostTensor& want, std::string* where) {
  if (got.shape() != want.shape() || got.dtype() != want.dtype()) {
    if (where) *where = "type " + got.type_text() + ", expected " + want.type_text();
    return std::numeric_limits<double>::infinity();
  }
  double scale = 1e-30, worst = 0;
  for (int64_t i = 0; i < want.elements(); ++i) {
    const double w = want.as_double(i);
    if (std::isfinite(w)) scale = std::max(scale, std::fabs(w));
  }
  for (int64_t i = 0; i < want.elements(); ++i) {
    const double g = got.as_double(i), w = want.as_double(i);
    double d = 0;
    if (std::isnan(w) || std::isnan(g))
      d = std::isnan(w) == std::isnan(g) ? 0 : std::numeric_limits<double>::infinity();
    else if (std::isinf(w) || std::isinf(g))
      d = w == g ? 0 : std::numeric_limits<double>::infinity();
    else
      d = std::fabs(g - w) / scale;
    if (d > worst) {
      worst = d;
      if (where) *where = base::text_of("element ", i, ": ", g, ", expected ", w);
    }
  }
  return worst;
}

}  // namespace frit::testing
