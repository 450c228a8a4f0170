#include "tuner/workbench.h"

#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "exec/build.h"
#include "exec/executor.h"
#include "tuner/random_data.h"
#include "tuner/statistics.h"

namespace frit::tuner {

using graph::HostTensor;
using graph::ValueId;

namespace {

struct Runnable final : Variant {
  std::unique_ptr<exec::ExecContext> context;
  int64_t runs = 0;  // per sample
};

// The group as a plan of its own: weights become constants with random contents.
Result<fusion::Plan> plan_of(const fusion::PlanGroup& source, uint64_t seed) {
  fusion::Plan plan;
  fusion::PlanGroup group;
  group.group = source.group;
  group.family = source.family;
  plan.graph = source.group.graph;
  group.inputs = plan.graph.inputs;
  group.outputs = plan.graph.outputs;
  std::vector<ValueId> runtime_inputs;
  for (size_t k = 0; k < group.inputs.size(); ++k) {
    graph::Value& value = plan.graph.value(group.inputs[k]);
    if (!source.group.inputs[k].constant) {
      runtime_inputs.push_back(group.inputs[k]);
      continue;
    }
    FRIT_ASSIGN(HostTensor t, random_input(plan.graph, group.inputs[k], seed + 1000 + k));
    auto data = std::make_shared<graph::ConstantData>();
    data->bytes = t.bytes();
    data->size_bytes = t.size_bytes();
    data->owner = t.owner();
    value.constant = std::move(data);
  }
  plan.graph.inputs = std::move(runtime_inputs);
  for (size_t id = 0; id < plan.graph.nodes.size(); ++id)
    group.nodes.push_back(static_cast<graph::NodeId>(id));
  plan.groups.push_back(std::move(group));
  return plan;
}

Verdict failed(Outcome outcome, const Error& error) { return {outcome, error.text()}; }

Verdict check_fences(GuardedIo& io) {
  const Status s = io.check();
  if (s.ok()) return {};
  io.restore();
  return failed(Outcome::kOutOfBounds, s.error());
}

}  // namespace

double Variant::median_ns() const { return median(samples_ns); }
double Variant::spread_ns() const { return median_deviation(samples_ns); }

Result<std::unique_ptr<Workbench>> Workbench::make(const fusion::PlanGroup& group, const Options& options) {
  auto bench = std::unique_ptr<Workbench>(new Workbench(options));
  bench->family_ = codegen::family_named(group.family);
  if (!bench->family_)
    return make_error(Code::kInternal, base::text_of("no kernel family is called '", group.family, "'"));
  FRIT_ASSIGN(fusion::Plan plan, plan_of(group, options.seed));
  bench->plan_ = std::make_shared<const fusion::Plan>(std::move(plan));
  bench->space_ = bench->family_->space(bench->group(), options.build);
  bench->constants_ = std::make_unique<exec::ConstantStore>();
  const graph::Graph& g = bench->plan_->graph;
  for (size_t k = 0; k < g.inputs.size(); ++k) {
    FRIT_ASSIGN(HostTensor t, random_input(g, g.inputs[k], options.seed + k));
    bench->inputs_.push_back(std::move(t));
  }
  return bench;
}

Verdict Workbench::prepare(const codegen::Params& params, std::unique_ptr<Variant>* out) {
  exec::BuildOptions build;
  build.context = options_.build;
  build.family = [](std::string_view name) { return codegen::family_named(name); };
  build.more_tries = -1;  // this choice or none
  const codegen::Params choices[] = {params};
  auto compiled = exec::build_plan(plan_, choices, options_.provider, build);
  if (!compiled.ok()) return failed(Outcome::kCompileError, compiled.error());
  if (!compiled->groups[0]->replaced.empty()) return {Outcome::kCompileError, compiled->groups[0]->replaced};
  exec::ExecOptions exec_options;
  exec_options.threads = options_.build.threads;
  exec_options.numerics = options_.build.numerics;
  exec_options.workers = options_.workers;
  exec_options.physical_io = true;
  const auto fails = [](const Error& error) {
    return failed(error.code == Code::kOutOfMemory ? Outcome::kMemory : Outcome::kRunError, error);
  };
  auto plan = exec::ExecPlan::make(*compiled, *constants_, exec_options);
  if (!plan.ok()) return fails(plan.error());
  auto variant = std::make_unique<Runnable>();
  variant->params = params;
  auto context = exec::ExecContext::make(*plan);
  if (!context.ok()) return fails(context.error());
  variant->context = *std::move(context);
  if (!io_) {  // one for all variants: sizes are the same, and the next finds its inputs as the last one left
               // them
    auto io = GuardedIo::make(**plan, inputs_, Fence::kRoomy);
    if (!io.ok()) return fails(io.error());
    io_ = *std::move(io);
  }
  *out = std::move(variant);
  return {};
}

Status Workbench::run(exec::ExecContext& context, const GuardedIo& io) const {
  exec::RunOptions options;
  options.workers = options_.workers;
  return exec::Executor::run(context, io.inputs(), io.outputs(), options);
}

void Workbench::evict() const {
#if defined(__x86_64__)
  // The packed weights are in the constant store; so are the originals that a family reads in place.
  for (const auto& block : constants_->blocks())
    for (int64_t at = 0; at < block->size_bytes(); at += 64) __builtin_ia32_clflush(block->data(0) + at);
#endif
}

Verdict Workbench::sample(Variant& variant) {
  auto& own = static_cast<Runnable&>(variant);
  if (own.samples_ns.empty()) {  // warm-up; and the last moment to notice that it writes where it must not
    if (Status s = run(*own.context, *io_); !s.ok()) return failed(Outcome::kRunError, s.error());
    if (Verdict v = check_fences(*io_); !v.ok()) return v;
  }
  const auto time = sampler_.sample(
      own.runs, [&] { return run(*own.context, *io_); },
      options_.cold_weights ? std::function<void()>([this] { evict(); }) : nullptr);
  if (!time.ok()) return failed(Outcome::kRunError, time.error());
  own.samples_ns.push_back(*time);
  return {};
}

Verdict Workbench::verify(Variant& variant) {
  if (!reference_) {
    auto made = Reference::make(plan_->graph, inputs_, options_.seed, options_.check_work);
    if (!made.ok())
      return failed(Outcome::kWrongAnswer, made.error());  // what cannot be checked is not stored
    reference_.emplace(*std::move(made));
  }
  auto& own = static_cast<Runnable&>(variant);
  if (Verdict v = check(variant, *io_); !v.ok() || !options_.closed_pages) return v;
  for (const Fence fence : {Fence::kFront, Fence::kEnd}) {
    auto io = GuardedIo::make(own.context->plan(), inputs_, fence);
    if (!io.ok()) return failed(Outcome::kMemory, io.error());
    if (Verdict v = check(variant, *io); !v.ok()) return v;
  }
  return {};
}

Verdict Workbench::check(Variant& variant, GuardedIo& io) {
  io.poison_outputs();
  if (Status s = run(*static_cast<Runnable&>(variant).context, io); !s.ok())
    return failed(Outcome::kRunError, s.error());
  if (Verdict v = check_fences(io); !v.ok()) return v;
  const double bound = options_.build.numerics == Numerics::kStrict    ? 1e-5
                       : options_.build.numerics == Numerics::kDefault ? 1e-4
                                                                       : 2e-2;
  const std::vector<const void*> outputs(io.outputs().begin(), io.outputs().end());
  if (Status s = reference_->check(variant.params, outputs, bound); !s.ok())
    return failed(Outcome::kWrongAnswer, s.error());
  return {};
}

}  // namespace frit::tuner
