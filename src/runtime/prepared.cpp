#include "runtime/prepared.h"

#include <algorithm>
#include <utility>

#include "base/stop.h"
#include "base/text.h"
#include "base/try.h"
#include "exec/executor.h"
#include "exec/launch.h"
#include "runtime/choices.h"
#include "runtime/planning.h"
#include "runtime/strided.h"
#include "runtime/tuning.h"
#include "tuner/tune.h"

namespace frit::runtime {

namespace {

// A table that a gather reads counts as far as it is read.
double bytes_of(const codegen::Group& group) {
  const graph::Graph& g = group.graph;
  const auto bytes = [&](graph::ValueId v) {
    const auto shape = graph::constant_shape(g.value(v).type.shape);
    double count = static_cast<double>(dtype_bytes(g.value(v).type.dtype));
    for (const int64_t n : shape ? *shape : std::vector<int64_t>()) count *= static_cast<double>(n);
    return count;
  };
  const auto uses = graph::collect_uses(g);
  double sum = 0;
  for (const graph::ValueId v : g.outputs) sum += bytes(v);
  for (const graph::ValueId v : g.inputs) {
    double gathered = 0;
    const auto& all = uses[static_cast<size_t>(v)];
    const bool table = std::all_of(all.begin(), all.end(), [&](const graph::Use& use) {
      const graph::Node& node = g.node(use.node);
      if (use.input != 0 || !std::holds_alternative<graph::Gather>(node.op)) return false;
      gathered += bytes(node.outputs[0]);
      return true;
    });
    sum += table ? gathered : bytes(v);
  }
  return sum;
}

std::vector<GroupInfo> group_infos(const exec::CompiledPlan& compiled,
                                   const std::vector<GroupChoice>& choices) {
  std::vector<GroupInfo> out;
  for (size_t g = 0; g < choices.size(); ++g) {
    const fusion::PlanGroup& group = compiled.plan->groups[g];
    GroupInfo info;
    info.label = exec::group_label(*compiled.plan, g);
    info.family = group.family;
    info.work = group.family.empty() ? info.label : tuner::group_label(group.group, group.family);
    info.load_time = group.load_time;
    if (compiled.groups[g]) info.params = compiled.groups[g]->params.text();
    info.match = choices[g].match;
    info.tuned = static_cast<Tuned>(choices[g].state);
    info.time_ms = choices[g].evidence.time_ns * 1e-6;
    info.heuristic_ms = choices[g].evidence.heuristic_ns * 1e-6;
    for (const graph::Node& node : group.group.graph.nodes) {
      info.flops += graph::node_cost(group.group.graph, node).flops;
    }
    info.bytes = bytes_of(group.group);
    out.push_back(std::move(info));
  }
  return out;
}

static_assert(static_cast<int>(tuner::State::kHeuristic) == static_cast<int>(Tuned::kHeuristic) &&
              static_cast<int>(tuner::State::kPartial) == static_cast<int>(Tuned::kPartial) &&
              static_cast<int>(tuner::State::kTuned) == static_cast<int>(Tuned::kFull));

}  // namespace

Prepared::Prepared(std::shared_ptr<const exec::ExecPlan> plan, int contexts, base::Clock* clock)
    : contexts_(std::move(plan), contexts), clock_(clock) {
  slots_.reserve(static_cast<size_t>(std::max(contexts, 1)));
}

Result<std::shared_ptr<Prepared>> Prepared::make(const Model::Impl& model, const Setup& setup,
                                                 InputShapes shapes, const StopToken& stop) {
  Runtime& runtime = *model.runtime;
  base::Clock& clock = *runtime.seams().clock;
  const int64_t begin_ns = clock.now_ns();
  FRIT_TRY(base::check_stop(stop));
  base::TraceSpan passes(runtime.trace(), "runtime", "passes");
  FRIT_ASSIGN(graph::Graph graph, specialise(model.graph, shapes, setup.build.numerics));
  passes.end();
  FRIT_TRY(base::check_stop(stop));
  base::TraceSpan planning(runtime.trace(), "runtime", "plan");
  FRIT_ASSIGN(const Planned planned, make_or_replay(runtime, std::move(graph), setup));
  planning.end();
  FRIT_TRY(base::check_stop(stop));
  base::TraceSpan looking(runtime.trace(), "runtime", "decisions");
  FRIT_ASSIGN(std::vector<GroupChoice> choices, choose(runtime, *planned.plan, setup));
  looking.end();
  int64_t trials = 0;
  if (setup.on_miss == OnMiss::kTune) {
    const base::TraceSpan tuning(runtime.trace(), "runtime", "tune");
    FRIT_ASSIGN(trials, tune_misses(model, *planned.plan, setup, choices, stop));
  }

  std::vector<codegen::Params> params;
  for (const GroupChoice& choice : choices) params.push_back(choice.params);
  FRIT_ASSIGN(base::PoolLease workers, runtime.build_workers());
  exec::BuildOptions build;
  build.context = setup.build;
  build.family = codegen::family_named;
  build.workers = &workers;
  build.stop = stop;
  build.log = runtime.log();
  build.trace = runtime.trace();
  FRIT_ASSIGN(const exec::CompiledPlan compiled,
              exec::build_plan(planned.plan, params, &runtime.provider(), build));
  record(runtime, compiled, choices);

  exec::ExecOptions options;
  options.threads = setup.build.threads;
  options.numerics = setup.build.numerics;
  options.workers = &workers;
  options.stop = stop;
  options.trace = runtime.trace();
  FRIT_ASSIGN(auto plan, exec::ExecPlan::make(compiled, model.constants, options));
  workers.release();

  std::shared_ptr<Prepared> out(new Prepared(std::move(plan), setup.contexts, &clock));
  FRIT_TRY(out->contexts_.warm());
  out->inputs_ = std::move(shapes);
  for (const graph::ValueId v : planned.plan->graph.outputs) {
    const auto shape = graph::constant_shape(planned.plan->graph.value(v).type.shape);
    if (!shape) return make_error(Code::kInternal, "the shape of an output is not known after planning");
    out->outputs_.push_back(*shape);
  }
  out->slots_.push_back(out->make_slot());
  out->groups_ = group_infos(compiled, choices);
  out->trials_ = trials;
  out->prepare_ms_ = static_cast<double>(clock.now_ns() - begin_ns) * 1e-6;
  return out;
}

bool Prepared::matches(std::span<const TensorView> inputs) const {
  return std::equal(
      inputs.begin(), inputs.end(), inputs_.begin(), inputs_.end(),
      [](const TensorView& view, const std::vector<int64_t>& shape) { return view.shape == shape; });
}

std::unique_ptr<Prepared::Slot> Prepared::make_slot() const {
  auto slot = std::make_unique<Slot>();
  slot->inputs.resize(plan().inputs().size());
  slot->outputs.resize(plan().outputs().size());
  slot->staged_inputs.resize(slot->inputs.size());
  slot->staged_outputs.resize(slot->outputs.size());
  return slot;
}

// Whoever has a context finds a slot, or makes the one that goes with it.
class Prepared::SlotLease {
 public:
  explicit SlotLease(Prepared& from) : from_(from) {
    {
      const std::lock_guard lock(from_.slots_mutex_);
      if (!from_.slots_.empty()) {
        slot_ = std::move(from_.slots_.back());
        from_.slots_.pop_back();
      }
    }
    if (!slot_) slot_ = from_.make_slot();
  }
  ~SlotLease() {
    const std::lock_guard lock(from_.slots_mutex_);
    from_.slots_.push_back(std::move(slot_));
  }
  SlotLease(const SlotLease&) = delete;
  SlotLease& operator=(const SlotLease&) = delete;
  Slot* operator->() const { return slot_.get(); }

 private:
  Prepared& from_;
  std::unique_ptr<Slot> slot_;
};

Status Prepared::run(const base::ThreadPool& pool, std::span<const TensorView> inputs,
                     std::span<const TensorView> outputs, const StopToken& stop, const Observe& observe) {
  FRIT_ASSIGN(exec::ContextPool::Lease context, contexts_.acquire(stop));
  const SlotLease slot(*this);
  const auto staging = [](base::AlignedBuffer& buffer, int64_t size_bytes) -> Result<std::byte*> {
    if (!buffer.data()) {
      FRIT_ASSIGN(buffer, base::AlignedBuffer::make(static_cast<size_t>(size_bytes + exec::kOverReadBytes)));
    }
    return buffer.data();
  };
  for (size_t k = 0; k < inputs.size(); ++k) {
    slot->inputs[k] = inputs[k].data;
    if (is_row_major(inputs[k].shape, inputs[k].strides)) continue;
    FRIT_ASSIGN(std::byte * dense, staging(slot->staged_inputs[k], plan().inputs()[k].size_bytes));
    copy_strided(dense, {}, static_cast<const std::byte*>(inputs[k].data), inputs[k].strides, inputs[k].shape,
                 dtype_bytes(inputs[k].dtype));
    slot->inputs[k] = dense;
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    slot->outputs[k] = outputs[k].data;
    if (is_row_major(outputs[k].shape, outputs[k].strides)) continue;
    FRIT_ASSIGN(slot->outputs[k], staging(slot->staged_outputs[k], plan().outputs()[k].size_bytes));
  }
  FRIT_ASSIGN(base::PoolLease workers,
              pool.acquire(plan().threads(), exec::worker_hooks(plan().flush_denormals())));
  exec::RunOptions options;
  options.workers = &workers;
  options.stop = stop;
  options.trace = observe.trace;
  options.kernel_ns = observe.kernel_ns;
  options.clock = clock_;
  FRIT_TRY(exec::Executor::run(*context, slot->inputs, slot->outputs, options));
  workers.release();
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (slot->outputs[k] == outputs[k].data) continue;
    copy_strided(static_cast<std::byte*>(outputs[k].data), outputs[k].strides,
                 static_cast<const std::byte*>(slot->outputs[k]), {}, outputs[k].shape,
                 dtype_bytes(outputs[k].dtype));
  }
  return {};
}

void Prepared::trim() {
  contexts_.trim();
  std::vector<std::unique_ptr<Slot>> dropped;
  dropped.reserve(slots_.capacity());
  const std::lock_guard lock(slots_mutex_);
  slots_.swap(dropped);
}

}  // namespace frit::runtime
