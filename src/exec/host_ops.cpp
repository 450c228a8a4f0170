#include "exec/host_ops.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "graph/eval.h"

namespace frit::exec {

Result<HostOp::Type> HostOp::type_of(const graph::Value& value) {
  auto shape = graph::constant_shape(value.type.shape);
  if (!shape || !value.type.layout.is_plain()) {
    return make_error(Code::kInternal,
                      base::text_of("host op has a value of type ", graph::type_text(value.type),
                                    ", expected row-major of constant shape"));
  }
  return Type{value.type.dtype, *std::move(shape)};
}

Result<HostOp> HostOp::make(const fusion::PlanGroup& group) {
  HostOp out;
  auto graph = std::make_shared<graph::Graph>(group.group.graph);
  for (const graph::ValueId v : graph->inputs) {
    FRIT_ASSIGN(Type type, type_of(graph->value(v)));
    out.inputs_.push_back(std::move(type));
  }
  for (const graph::ValueId v : graph->outputs) {
    FRIT_ASSIGN(Type type, type_of(graph->value(v)));
    out.outputs_.push_back(std::move(type));
  }
  out.graph_ = std::move(graph);
  return out;
}

Status HostOp::run(void* const* buffers, base::PoolLease* workers) const {
  std::vector<graph::HostTensor> inputs;
  inputs.reserve(inputs_.size());
  for (size_t k = 0; k < inputs_.size(); ++k) {
    inputs.push_back(graph::HostTensor::view(inputs_[k].dtype, inputs_[k].shape,
                                             static_cast<const std::byte*>(buffers[k])));
  }
  graph::EvalOptions options;
  if (workers && workers->workers() > 1) {
    options.parallel_for = [workers](int64_t count, const std::function<void(int64_t)>& task) {
      std::atomic<int64_t> next{0};
      workers->run([&](int, int) {
        for (int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) task(i);
      });
    };
  }
  FRIT_ASSIGN(const std::vector<graph::HostTensor> results, graph::evaluate(*graph_, inputs, options));
  for (size_t k = 0; k < outputs_.size(); ++k) {
    if (results[k].dtype() != outputs_[k].dtype || results[k].shape() != outputs_[k].shape) {
      return make_error(Code::kInternal,
                        base::text_of("output ", k, " is ", results[k].type_text(), ", the plan expected ",
                                      dtype_name(outputs_[k].dtype), graph::extents_text(outputs_[k].shape)));
    }
    if (results[k].size_bytes() > 0)
      std::memcpy(buffers[inputs_.size() + k], results[k].bytes(), results[k].size_bytes());
  }
  return {};
}

}  // namespace frit::exec
