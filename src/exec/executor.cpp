#include "exec/executor.h"

#include <algorithm>
#include <cstring>

#include "base/stop.h"
#include "base/text.h"
#include "base/try.h"

namespace frit::exec {

namespace {

Launch launch_of(const ExecPlan& plan, const Dispatch& d, void* const* table, std::byte* scratch,
                 WorkerState* workers) {
  return {d.entry, table + d.pointers,          d.tiles, d.grain,
          scratch, plan.worker_scratch_bytes(), workers, plan.flush_denormals()};
}

bool overlap(const std::byte* a, int64_t a_bytes, const std::byte* b, int64_t b_bytes) {
  return a_bytes > 0 && b_bytes > 0 && a < b + b_bytes && b < a + a_bytes;
}

}  // namespace

Status Executor::run(ExecContext& context, std::span<const void* const> inputs,
                     std::span<void* const> outputs, const RunOptions& options) {
  const ExecPlan& plan = *context.plan_;
  FRIT_TRY(bind(context, inputs, outputs));
  const device::FlushDenormals mode(plan.flush_denormals());
  const bool timed = options.trace || !options.kernel_ns.empty();
  for (const Step& step : plan.steps()) {
    if (options.stop.stop_requested()) return base::check_stop(options.stop);
    if (Status s = timed ? run_timed(context, step, options) : run_step(context, step, options); !s.ok())
      return s;
  }
  finish(context);
  return {};
}

Status Executor::bind(ExecContext& context, std::span<const void* const> inputs,
                      std::span<void* const> outputs) {
  const ExecPlan& plan = *context.plan_;
  if (inputs.size() != plan.inputs().size() || outputs.size() != plan.outputs().size()) {
    return make_error(
        Code::kInvalidArgument,
        base::text_of("run with ", inputs.size(), " inputs and ", outputs.size(), " outputs, expected ",
                      plan.inputs().size(), " and ", plan.outputs().size()));
  }
  const auto bind_one = [&](ExecContext::Binding& b, const BindingInfo& info, const void* pointer) -> Status {
    const auto* p = static_cast<const std::byte*>(pointer);
    if (b.known && p == b.caller) return {};
    context.checked_ = false;
    b.known = false;
    b.caller = p;
    b.bound = const_cast<std::byte*>(p);
    const bool fits =
        p && !info.staged && reinterpret_cast<uintptr_t>(p) % static_cast<uintptr_t>(info.align_bytes) == 0;
    if (!fits && !info.slots.empty()) FRIT_TRY(stage(b, info));
    for (const int32_t slot : info.slots) context.table_[at(slot)] = b.bound;
    b.known = true;
    return {};
  };
  for (size_t k = 0; k < inputs.size(); ++k) {
    const BindingInfo& info = plan.inputs()[k];
    if (!inputs[k] && info.size_bytes > 0)
      return make_error(Code::kInvalidArgument, base::text_of("input ", k, " has no memory"));
    FRIT_TRY(bind_one(context.inputs_[k], info, inputs[k]));
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    FRIT_TRY(bind_one(context.outputs_[k], plan.outputs()[k], outputs[k]));
  }
  if (!context.checked_) FRIT_TRY(check_overlap(context));
  for (size_t k = 0; k < inputs.size(); ++k) {
    const ExecContext::Binding& b = context.inputs_[k];
    if (b.bound != b.caller && plan.inputs()[k].size_bytes > 0)
      std::memcpy(b.bound, b.caller, static_cast<size_t>(plan.inputs()[k].size_bytes));
  }
  return {};
}

// Kernels assume that arguments do not overlap where their signature does not say so.
Status Executor::check_overlap(ExecContext& context) {
  const ExecPlan& plan = *context.plan_;
  for (size_t o = 0; o < context.outputs_.size(); ++o) {
    const ExecContext::Binding& output = context.outputs_[o];
    const auto meets = [&](const ExecContext::Binding& other, const BindingInfo& info) {
      return output.caller && other.caller &&
             overlap(output.caller, plan.outputs()[o].size_bytes, other.caller, info.size_bytes);
    };
    const auto refuse = [&](const char* what, size_t k) {
      return make_error(Code::kInvalidArgument,
                        base::text_of("the memory of output ", o, " overlaps that of ", what, " ", k));
    };
    for (size_t k = 0; k < context.inputs_.size(); ++k) {
      if (meets(context.inputs_[k], plan.inputs()[k])) return refuse("input", k);
    }
    for (size_t k = 0; k < o; ++k) {
      if (meets(context.outputs_[k], plan.outputs()[k])) return refuse("output", k);
    }
  }
  context.checked_ = true;
  return {};
}

Status Executor::stage(ExecContext::Binding& binding, const BindingInfo& info) {
  if (!binding.staging.data()) {
    FRIT_ASSIGN(binding.staging,
                base::AlignedBuffer::make(static_cast<size_t>(info.size_bytes + kOverReadBytes)));
  }
  binding.bound = binding.staging.data();
  return {};
}

const std::byte* Executor::address(const ExecContext& context, const PointerSource& from) {
  switch (from.kind) {
    case StorageKind::kConstant:
      return from.fixed;
    case StorageKind::kArena:
      return context.arena_.data() + from.offset;
    case StorageKind::kInput:
      return context.inputs_[at(from.index)].bound;
    case StorageKind::kOutput:
      return context.outputs_[at(from.index)].bound;
    case StorageKind::kUnused:
      break;
  }
  return nullptr;
}

// Copies what kernels could not write to the caller's memory themselves.
void Executor::finish(ExecContext& context) {
  const ExecPlan& plan = *context.plan_;
  for (size_t k = 0; k < context.outputs_.size(); ++k) context.results_[k] = context.outputs_[k].bound;
  for (const ExecPlan::Copy& copy : plan.copies())
    context.results_[at(copy.output)] = address(context, copy.from);
  for (size_t k = 0; k < context.outputs_.size(); ++k) {
    auto* caller = const_cast<std::byte*>(context.outputs_[k].caller);
    if (!caller || context.results_[k] == caller) continue;
    const int64_t bytes = plan.outputs()[k].size_bytes;
    if (bytes > 0) std::memcpy(caller, context.results_[k], static_cast<size_t>(bytes));
    context.results_[k] = caller;
  }
}

Status Executor::run_step(ExecContext& context, const Step& step, const RunOptions& options) {
  const ExecPlan& plan = *context.plan_;
  std::byte* scratch = context.arena_.data() + plan.worker_scratch_offset();
  WorkerState* states = context.workers_.data();
  const int free = options.workers ? std::min(options.workers->workers(), plan.threads()) : 1;
  if (step.count > 1 && free > 1)
    return run_side_by_side(context, step, *options.workers, std::min(free, step.count));
  const Dispatch* dispatch = plan.dispatches().data() + step.first;
  for (const Dispatch* d = dispatch; d != dispatch + step.count; ++d) {
    if (!d->entry) {
      FRIT_TRY(run_host_op(context, *d, options));
      continue;
    }
    const Launch launch = launch_of(plan, *d, context.table_.data(), scratch, states);
    const int count = std::min<int>(d->workers, free);
    if (count == 1) {
      if (const int32_t status = launch_whole(launch, 0); status != 0) [[unlikely]] {
        states[0].error[device::kErrorCode] = status;
        return plan.error_of(*d, states[0].error);
      }
      continue;
    }
    launch_split(*options.workers, launch, count);
    if (const WorkerState* failed = take_failure(states, count)) return plan.error_of(*d, failed->error);
  }
  return {};
}

// Worker w runs kernels w, w + count, ... of the step, up to the first that fails.
Status Executor::run_side_by_side(ExecContext& context, const Step& step, base::PoolLease& workers,
                                  int count) {
  const ExecPlan& plan = *context.plan_;
  const auto work = [&](int worker, int n) {
    const device::FlushDenormals mode(plan.flush_denormals());
    WorkerState& state = context.workers_[at(worker)];
    for (int32_t k = step.first + worker; k < step.first + step.count && state.status == 0; k += n) {
      state.dispatch = k;
      state.status = launch_whole(
          launch_of(plan, plan.dispatches()[at(k)], context.table_.data(),
                    context.arena_.data() + plan.worker_scratch_offset(), context.workers_.data()),
          worker);
    }
  };
  using Work = decltype(work);
  workers.run([](void* ctx, int worker, int n) { (*static_cast<const Work*>(ctx))(worker, n); },
              const_cast<std::remove_const_t<Work>*>(&work), count);
  // The first kernel that failed, whichever worker met it.
  const WorkerState* first = nullptr;
  for (int w = 0; w < count; ++w) {
    const WorkerState& state = context.workers_[at(w)];
    if (state.status != 0 && (!first || state.dispatch < first->dispatch)) first = &state;
  }
  if (!first) return {};
  take_failure(context.workers_.data(), count);
  return plan.error_of(plan.dispatches()[at(first->dispatch)], first->error);
}

Status Executor::run_host_op(ExecContext& context, const Dispatch& dispatch, const RunOptions& options) {
  const ExecPlan& plan = *context.plan_;
  return plan.host_op(dispatch.host_op)
      .run(context.table_.data() + dispatch.pointers, options.workers)
      .with(plan.label(dispatch.group));
}

Status Executor::run_timed(ExecContext& context, const Step& step, const RunOptions& options) {
  const ExecPlan& plan = *context.plan_;
  const auto now = [&] { return options.trace ? options.trace->now_ns() : options.clock->now_ns(); };
  const int64_t begin_ns = now();
  Status status = run_step(context, step, options);
  const int64_t end_ns = now();
  if (at(step.first) < options.kernel_ns.size()) options.kernel_ns[at(step.first)] += end_ns - begin_ns;
  if (options.trace) {
    std::string name;
    for (int32_t k = 0; k < step.count; ++k)
      base::append(name, k ? " | " : "", plan.label(plan.dispatches()[at(step.first + k)].group));
    options.trace->add("exec", std::move(name), begin_ns, end_ns);
  }
  return status;
}

}  // namespace frit::exec
