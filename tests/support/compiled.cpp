#include "support/compiled.h"

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

Result<std::vector<HostTensor>> run_compiled(graph::Graph graph, std::span<const HostTensor> inputs, const CompiledOptions& options) {
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
  if (options.interpret) {
    FRIT_ASSIGN(exec::CompiledPlan compiled, exec::build_plan(plan, choices, nullptr, build));
    return exec::interpret_plan(compiled, inputs);
  }
  exec::CodegenProvider::Options provider_options;
  provider_options.target = options.target;
  provider_options.open_library = [] {
    base::SystemEnvironment environment;
    return device::CodegenLibrary::open(FRIT_TEST_CODEGEN, environment);
  };
  FRIT_ASSIGN(auto provider, exec::CodegenProvider::make(std::move(provider_options)));
  FRIT_ASSIGN(exec::CompiledPlan compiled, exec::build_plan(plan, choices, provider.get(), build));
  exec::ConstantStore constants;
  exec::ExecOptions exec_options;
  exec_options.threads = options.threads;
  exec_options.numerics = options.numerics;
  FRIT_ASSIGN(auto exec_plan, exec::ExecPlan::make(compiled, constants, exec_options));
  FRIT_ASSIGN(auto context, exec::ExecContext::make(exec_plan));

  std::vector<const void*> in;
  for (const HostTensor& t : inputs) in.push_back(t.bytes());
  std::vector<HostTensor> results;
  std::vector<void*> out;
  for (graph::ValueId v : plan->graph.outputs) {
    const auto& type = plan->graph.value(v).type;
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
    FRIT_ASSIGN(base::PoolLease taken, pool.acquire(options.threads, exec::worker_hooks(exec_plan->flush_denormals())));
    lease.emplace(std::move(taken));
    run.workers = &*lease;
  }
  FRIT_TRY(exec::Executor::run(*context, in, out, run));
  return results;
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
    if (std::isnan(w) || std::isnan(g)) d = std::isnan(w) == std::isnan(g) ? 0 : std::numeric_limits<double>::infinity();
    else if (std::isinf(w) || std::isinf(g)) d = w == g ? 0 : std::numeric_limits<double>::infinity();
    else d = std::fabs(g - w) / scale;
    if (d > worst) {
      worst = d;
      if (where) *where = base::text_of("element ", i, ": ", g, ", expected ", w);
    }
  }
  return worst;
}

}  // namespace frit::testing
