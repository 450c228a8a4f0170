#include "exec/interpret.h"

#include <cstring>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "exec/host_ops.h"
#include "exec/run_error.h"
#include "loop/interp.h"

namespace frit::exec {

namespace {

using graph::HostTensor;
using graph::ValueId;

class PlanInterpreter {
 public:
  PlanInterpreter(const CompiledPlan& compiled, const InterpretOptions& options)
      : compiled_(compiled), plan_(*compiled.plan), options_(options), values_(plan_.graph.values.size()) {}

  Result<std::vector<HostTensor>> run(std::span<const HostTensor> inputs) {
    if (inputs.size() != plan_.graph.inputs.size()) {
      return make_error(Code::kInvalidArgument,
                        base::text_of(inputs.size(), " inputs, expected ", plan_.graph.inputs.size()));
    }
    for (size_t k = 0; k < inputs.size(); ++k) {
      const ValueId v = plan_.graph.inputs[k];
      FRIT_ASSIGN(HostTensor made, allocate(v));
      if (made.dtype() != inputs[k].dtype() || made.shape() != inputs[k].shape()) {
        return make_error(Code::kInvalidArgument, base::text_of("input ", k, " is ", inputs[k].type_text(),
                                                                ", expected ", made.type_text()));
      }
      values_[at(v)] = inputs[k];
    }
    for (size_t v = 0; v < values_.size(); ++v) {
      const auto& constant = plan_.graph.values[v].constant;
      if (!constant) continue;
      FRIT_ASSIGN(values_[v], constant_tensor(static_cast<ValueId>(v), constant));
    }
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
      for (const ValueId v : plan_.groups[g].outputs) {
        FRIT_ASSIGN(values_[at(v)], allocate(v));
      }
      FRIT_TRY((compiled_.groups[g] ? run_program(g) : run_host_op(g)).with(group_label(plan_, g)));
    }
    std::vector<HostTensor> out;
    for (const ValueId v : plan_.graph.outputs) out.push_back(values_[at(v)]);
    return out;
  }

 private:
  Result<HostTensor> allocate(ValueId v) const {
    auto shape = graph::constant_shape(plan_.graph.value(v).type.shape);
    if (!shape) return make_error(Code::kInternal, base::text_of("value ", v, " has no constant shape"));
    return HostTensor::allocate(plan_.graph.value(v).type.dtype, *std::move(shape));
  }

  Result<HostTensor> constant_tensor(ValueId v,
                                     const std::shared_ptr<const graph::ConstantData>& data) const {
    FRIT_ASSIGN(const HostTensor like, allocate(v));
    if (data->size_bytes < like.size_bytes())
      return make_error(Code::kBadModel, base::text_of("constant ", v, " is too short"));
    return HostTensor::view(like.dtype(), like.shape(), data->bytes, data);
  }

  loop::InterpBuffer buffer_of(ValueId v) {
    HostTensor& t = values_[at(v)];
    return {t.mutable_bytes(), static_cast<int64_t>(t.size_bytes())};
  }

  Status run_program(size_t g) {
    const fusion::PlanGroup& group = plan_.groups[g];
    std::vector<loop::InterpBuffer> inputs, outputs;
    for (const ValueId v : group.inputs) inputs.push_back(buffer_of(v));
    for (const ValueId v : group.outputs) outputs.push_back(buffer_of(v));
    loop::ProgramRun run;
    run.inputs = inputs;
    run.outputs = outputs;
    run.pieces = options_.pieces;
    run.seed = options_.seed;
    FRIT_ASSIGN(const loop::InterpFailure failure, loop::run_program(compiled_.groups[g]->program, run));
    if (failure.code == 0) return {};
    const int64_t words[device::kErrorWords] = {failure.code, failure.a, failure.b};
    return kernel_error(error_sites(plan_, g), group_label(plan_, g), words);
  }

  Status run_host_op(size_t g) {
    const fusion::PlanGroup& group = plan_.groups[g];
    FRIT_ASSIGN(const HostOp op, HostOp::make(group));
    std::vector<void*> buffers;
    for (const ValueId v : group.inputs) buffers.push_back(buffer_of(v).data);
    for (const ValueId v : group.outputs) buffers.push_back(buffer_of(v).data);
    return op.run(buffers.data(), nullptr);
  }

  const CompiledPlan& compiled_;
  const fusion::Plan& plan_;
  const InterpretOptions& options_;
  std::vector<HostTensor> values_;
};

}  // namespace

Result<std::vector<HostTensor>> interpret_plan(const CompiledPlan& compiled,
                                               std::span<const HostTensor> inputs,
                                               const InterpretOptions& options) {
  return PlanInterpreter(compiled, options).run(inputs);
}

}  // namespace frit::exec
