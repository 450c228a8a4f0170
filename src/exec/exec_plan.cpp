#include "exec/exec_plan.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "exec/steps.h"

namespace frit::exec {

using graph::ValueId;

class ExecPlanBuilder {
 public:
  ExecPlanBuilder(const CompiledPlan& compiled, ConstantStore& store, const ExecOptions& options)
      : compiled_(compiled), plan_(*compiled.plan), store_(store), options_(options), out_(new ExecPlan) {}

  Result<std::shared_ptr<const ExecPlan>> build() {
    const MemoryOptions memory_options{options_.threads, options_.donated, options_.physical_io};
    FRIT_ASSIGN(memory_, plan_memory(compiled_, memory_options));
    out_->threads_ = std::max(options_.threads, 1);
    out_->flush_denormals_ = options_.numerics != Numerics::kStrict;
    const PrepareOptions prepare{options_.workers, out_->flush_denormals_, options_.stop, options_.trace};
    FRIT_ASSIGN(out_->constants_, prepare_constants(compiled_, memory_, store_, prepare));
    out_->arena_bytes_ = memory_.arena_bytes;
    out_->worker_scratch_offset_ = memory_.worker_scratch_offset;
    out_->worker_scratch_bytes_ = memory_.worker_scratch_bytes;
    out_->in_place_ = memory_.in_place;
    bindings();
    out_->groups_.resize(plan_.groups.size());
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
      if (memory_.steps[g] < 0) continue;
      out_->groups_[g] = {group_label(plan_, g), error_sites(plan_, g)};
      FRIT_TRY(group(g).with(out_->groups_[g].label));
    }
    for (const OutputCopy& copy : memory_.copies) out_->copies_.push_back({copy.output, source(copy.value)});
    drop_kernels_twice();
    return std::shared_ptr<const ExecPlan>(std::move(out_));
  }

 private:
  void bindings() {
    const auto fill = [&](const std::vector<ValueId>& values, std::vector<BindingInfo>& out) {
      for (const ValueId v : values) out.push_back({memory_.value_bytes[at(v)], 1, false, {}});
    };
    fill(plan_.graph.inputs, out_->inputs_);
    fill(plan_.graph.outputs, out_->outputs_);
    for (const Storage& s : memory_.values) {
      if (s.kind != StorageKind::kInput && s.kind != StorageKind::kOutput) continue;
      BindingInfo& b = (s.kind == StorageKind::kInput ? out_->inputs_ : out_->outputs_)[at(s.index)];
      b.align_bytes = std::max(b.align_bytes, s.align_bytes);
      b.staged |= s.over_read;
    }
  }

  PointerSource source(ValueId v) const {
    const Storage& s = memory_.values[at(v)];
    return {s.kind, s.index, s.offset, out_->constants_.values[at(v)]};
  }

  void push_pointer(const PointerSource& from) {
    const auto slot = static_cast<int32_t>(out_->pointers_.size());
    if (from.kind == StorageKind::kInput) out_->inputs_[at(from.index)].slots.push_back(slot);
    if (from.kind == StorageKind::kOutput) out_->outputs_[at(from.index)].slots.push_back(slot);
    out_->pointers_.push_back(from);
  }

  void push_dispatch(const Dispatch& dispatch, int32_t step) {
    const auto number = static_cast<int32_t>(out_->dispatches_.size());
    out_->dispatches_.push_back(dispatch);
    // The phases of one program follow each other; kernels of different groups in one step run side by side.
    if (step == last_step_ && out_->dispatches_[at(number - 1)].group != dispatch.group) {
      ++out_->steps_.back().count;
    } else {
      out_->steps_.push_back({number, 1});
    }
    last_step_ = step;
  }

  Status group(size_t g) {
    const fusion::PlanGroup& group = plan_.groups[g];
    const BuiltGroup* built = compiled_.groups[g].get();
    Dispatch d;
    d.group = static_cast<int32_t>(g);
    if (!built) {
      d.pointers = static_cast<int32_t>(out_->pointers_.size());
      for (const ValueId v : group.inputs) push_pointer(source(v));
      for (const ValueId v : group.outputs) push_pointer(source(v));
      d.host_op = static_cast<int32_t>(out_->host_ops_.size());
      FRIT_ASSIGN(HostOp op, HostOp::make(group));
      out_->host_ops_.push_back(std::move(op));
      push_dispatch(d, memory_.steps[g]);
      return {};
    }
    if (built->phases.size() != built->program.phases.size()) {
      return make_error(Code::kInternal, "the group was built without kernels");
    }
    for (size_t p = 0; p < built->phases.size(); ++p) {
      const loop::Phase& phase = built->program.phases[p];
      d.entry = built->phases[p]->entry();
      d.tiles = built->phases[p]->shape().tiles;
      if (d.tiles == 0) continue;  // an empty tensor
      d.grain = phase.grain;
      d.workers = phase_workers(phase, d.tiles, out_->threads_);
      d.pointers = static_cast<int32_t>(out_->pointers_.size());
      for (const int32_t b : phase.args) push_pointer(argument(g, b));
      out_->kernels_.push_back(built->phases[p]);
      push_dispatch(d, memory_.steps[g]);
    }
    return {};
  }

  PointerSource argument(size_t g, int32_t b) const {
    const fusion::PlanGroup& group = plan_.groups[g];
    const loop::ProgramBuffer& buffer = compiled_.groups[g]->program.buffers[at(b)];
    switch (buffer.role) {
      case loop::BufferRole::kInput:
        return source(group.inputs[at(buffer.index)]);
      case loop::BufferRole::kOutput:
        return source(group.outputs[at(buffer.index)]);
      case loop::BufferRole::kPrepared:
        return {StorageKind::kConstant, -1, -1, out_->constants_.prepared[g][at(b)]};
      case loop::BufferRole::kScratch:
        break;
    }
    return {StorageKind::kArena, -1, memory_.scratch[g][at(b)], nullptr};
  }

  void drop_kernels_twice() {
    std::sort(out_->kernels_.begin(), out_->kernels_.end());
    out_->kernels_.erase(std::unique(out_->kernels_.begin(), out_->kernels_.end()), out_->kernels_.end());
  }

  const CompiledPlan& compiled_;
  const fusion::Plan& plan_;
  ConstantStore& store_;
  const ExecOptions& options_;
  MemoryPlan memory_;
  std::unique_ptr<ExecPlan> out_;
  int32_t last_step_ = -1;
};

Result<std::shared_ptr<const ExecPlan>> ExecPlan::make(const CompiledPlan& compiled, ConstantStore& constants,
                                                       const ExecOptions& options) {
  return ExecPlanBuilder(compiled, constants, options).build();
}

Error ExecPlan::error_of(const Dispatch& dispatch,
                         std::span<const int64_t, device::kErrorWords> words) const {
  const GroupInfo& info = groups_[at(dispatch.group)];
  return kernel_error(info.sites, info.label, words);
}

}  // namespace frit::exec
