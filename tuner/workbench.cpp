#include "tuner/workbench.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/try.h"
#include "exec/build.h"
#include "exec/executor.h"
#include "graph/eval.h"
#include "tuner/random_data.h"
#include "tuner/statistics.h"

namespace frit::tuner {

using graph::HostTensor;
using graph::ValueId;

namespace {

// Below this the clock and the dispatch would be a visible part of a sample.
constexpr double kMinSampleNs = 20e3;
// The evaluator makes about one product per two nanoseconds; more than this is checked another way.
constexpr double kMaxEvaluatorFlops = 60e6;

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
  for (size_t id = 0; id < plan.graph.nodes.size(); ++id) group.nodes.push_back(static_cast<graph::NodeId>(id));
  plan.groups.push_back(std::move(group));
  return plan;
}

// The elements of a tensor that is stored in a layout, row-major.
Result<HostTensor> to_row_major(const HostTensor& stored, const graph::Layout& layout) {
  if (layout.is_plain()) return stored;
  FRIT_ASSIGN(HostTensor out, HostTensor::allocate(stored.dtype(), stored.shape()));
  const size_t rank = stored.shape().size(), bytes = dtype_bytes(stored.dtype());
  std::vector<int64_t> stride(rank, 1);  // of each logical axis in memory
  int64_t step = 1;
  for (size_t k = rank; k-- > 0;) {
    stride[static_cast<size_t>(layout.order[k])] = step;
    step *= stored.shape()[static_cast<size_t>(layout.order[k])];
  }
  std::vector<int64_t> index(rank, 0);
  for (int64_t i = 0; i < stored.elements(); ++i) {
    int64_t from = 0;
    for (size_t k = 0; k < rank; ++k) from += index[k] * stride[k];
    std::memcpy(out.mutable_bytes() + static_cast<size_t>(i) * bytes, stored.bytes() + static_cast<size_t>(from) * bytes, bytes);
    for (size_t k = rank; k-- > 0;) {
      if (++index[k] < stored.shape()[k]) break;
      index[k] = 0;
    }
  }
  return out;
}

}  // namespace

double Candidate::median_ns() const { return median(samples_ns); }
double Candidate::spread_ns() const { return median_deviation(samples_ns); }

Result<std::unique_ptr<Workbench>> Workbench::make(const fusion::PlanGroup& group, Options options) {
  auto bench = std::unique_ptr<Workbench>(new Workbench);
  bench->options_ = options;
  bench->family_ = codegen::family_named(group.family);
  if (!bench->family_) return make_error(Code::kInternal, base::text_of("no kernel family is called '", group.family, "'"));
  FRIT_ASSIGN(fusion::Plan plan, plan_of(group, options.seed));
  bench->plan_ = std::make_shared<const fusion::Plan>(std::move(plan));
  bench->space_ = bench->family_->space(bench->group(), options.build);
  bench->constants_ = std::make_unique<exec::ConstantStore>();
  const graph::Graph& g = bench->plan_->graph;
  for (size_t k = 0; k < g.inputs.size(); ++k) {
    FRIT_ASSIGN(HostTensor t, random_input(g, g.inputs[k], options.seed + k));
    bench->inputs_.push_back(std::move(t));
  }
  for (ValueId v : g.outputs) {
    const auto& type = g.value(v).type;
    FRIT_ASSIGN(HostTensor t, HostTensor::allocate(type.dtype, *graph::constant_shape(type.shape)));
    bench->outputs_.push_back(std::move(t));
  }
  return bench;
}

Result<std::shared_ptr<const exec::ExecPlan>> Workbench::plan_for(const codegen::Params& params, Numerics numerics) {
  exec::BuildOptions build;
  build.context = options_.build;
  build.context.numerics = numerics;
  build.family = [](std::string_view name) { return codegen::family_named(name); };
  build.more_tries = -1;  // this choice or none
  const codegen::Params choices[] = {params};
  FRIT_ASSIGN(exec::CompiledPlan compiled, exec::build_plan(plan_, choices, options_.provider, build));
  if (!compiled.groups[0]->replaced.empty()) return make_error(Code::kUnsupported, compiled.groups[0]->replaced);
  exec::ExecOptions exec_options;
  exec_options.threads = options_.build.threads;
  exec_options.numerics = numerics;
  exec_options.workers = options_.workers;
  exec_options.physical_io = true;
  return exec::ExecPlan::make(compiled, *constants_, exec_options);
}

Result<std::unique_ptr<Candidate>> Workbench::prepare(const codegen::Params& params) {
  FRIT_ASSIGN(auto plan, plan_for(params, options_.build.numerics));
  auto candidate = std::make_unique<Candidate>();
  candidate->params = params;
  FRIT_ASSIGN(candidate->context, exec::ExecContext::make(plan));
  return candidate;
}

Status Workbench::run(Candidate& candidate) {
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const HostTensor& t : inputs_) in.push_back(t.bytes());
  for (HostTensor& t : outputs_) out.push_back(t.mutable_bytes());
  exec::RunOptions options;
  options.workers = options_.workers;
  return exec::Executor::run(*candidate.context, in, out, options);
}

void Workbench::evict() const {
#if defined(__x86_64__)
  // The packed weights are in the constant store; so are the originals that a family reads in place.
  for (const auto& block : constants_->blocks())
    for (int64_t at = 0; at < block->size_bytes(); at += 64) __builtin_ia32_clflush(block->data(0) + at);
#endif
}

Status Workbench::sample(Candidate& candidate) {
  if (candidate.samples_ns.empty()) FRIT_TRY(run(candidate));  // warm-up
  for (;;) {
    if (options_.cold_weights) evict();
    const int64_t begin = options_.clock->now_ns();
    for (int64_t i = 0; i < batch_; ++i) FRIT_TRY(run(candidate));
    const double total = static_cast<double>(options_.clock->now_ns() - begin);
    if (total < kMinSampleNs && batch_ < 4096 && candidate.samples_ns.empty()) {
      batch_ *= 4;
      continue;
    }
    candidate.samples_ns.push_back(total / static_cast<double>(batch_));
    return {};
  }
}

Status Workbench::make_reference() {
  const graph::Graph& g = plan_->graph;
  double flops = 0;
  for (const auto& node : g.nodes) flops += graph::node_cost(g, node).flops;
  if (flops <= kMaxEvaluatorFlops) {
    std::vector<HostTensor> inputs;
    for (size_t k = 0; k < inputs_.size(); ++k) {
      FRIT_ASSIGN(HostTensor t, to_row_major(inputs_[k], g.value(g.inputs[k]).type.layout));
      inputs.push_back(std::move(t));
    }
    FRIT_ASSIGN(reference_, graph::evaluate(g, inputs));
  } else {
    // Too much for the evaluator: the family's plainest schedule, whose every family is tested against the evaluator.
    const auto points = space_.enumerate(1);
    FRIT_ASSIGN(auto plan, plan_for(points.empty() ? family_->heuristic(group(), options_.build) : points[0], options_.build.numerics));
    Candidate plain;
    FRIT_ASSIGN(plain.context, exec::ExecContext::make(plan));
    FRIT_TRY(run(plain));
    for (size_t k = 0; k < outputs_.size(); ++k) {
      FRIT_ASSIGN(HostTensor copy, HostTensor::allocate(outputs_[k].dtype(), outputs_[k].shape()));
      std::memcpy(copy.mutable_bytes(), outputs_[k].bytes(), outputs_[k].size_bytes());
      FRIT_ASSIGN(HostTensor want, to_row_major(copy, g.value(g.outputs[k]).type.layout));
      reference_.push_back(std::move(want));
    }
  }
  has_reference_ = true;
  return {};
}

Status Workbench::verify(Candidate& candidate) {
  if (!has_reference_) FRIT_TRY(make_reference());
  for (HostTensor& t : outputs_) std::memset(t.mutable_bytes(), 0xff, t.size_bytes());  // NaN, or -1
  FRIT_TRY(run(candidate));
  const double bound = options_.build.numerics == Numerics::kStrict ? 1e-5 : 1e-4;
  for (size_t k = 0; k < outputs_.size(); ++k) {
    FRIT_ASSIGN(const HostTensor got, to_row_major(outputs_[k], plan_->graph.value(plan_->graph.outputs[k]).type.layout));
    const HostTensor& want = reference_[k];
    double scale = 1e-30;
    for (int64_t i = 0; i < want.elements(); ++i)
      if (const double w = std::fabs(want.as_double(i)); std::isfinite(w)) scale = std::max(scale, w);
    for (int64_t i = 0; i < want.elements(); ++i) {
      const double g = got.as_double(i), w = want.as_double(i);
      const bool same = std::isnan(w) ? std::isnan(g) : std::isinf(w) ? g == w : std::fabs(g - w) <= bound * scale;
      if (!same)
        return make_error(Code::kInternal, base::text_of("output ", k, " element ", i, " is ", g, ", expected ", w, " within ", bound, " of ", scale));
    }
  }
  return {};
}

}  // namespace frit::tuner
