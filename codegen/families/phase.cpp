#include "codegen/families/phase.h"

#include <algorithm>
#include <functional>

#include "codegen/families/anchored.h"
#include "codegen/families/machine.h"
#include "device/gpu_kernel_abi.h"

namespace frit::codegen {

using graph::ValueId;
using loop::Expr;

int64_t value_elements(const graph::Graph& graph, ValueId value) {
  int64_t n = 1;
  for (const auto& d : graph.value(value).type.shape) n *= d.value();
  return n;
}

double value_bytes(const graph::Graph& graph, ValueId value) {
  return static_cast<double>(value_elements(graph, value)) * static_cast<double>(dtype_bytes(graph.value(value).type.dtype));
}

Cost group_cost(const Group& group, const BuildContext& context, double peak_share) {
  const graph::Graph& g = group.graph;
  Cost c;
  for (ValueId v : g.inputs) c.bytes += value_bytes(g, v);
  for (ValueId v : g.outputs) c.bytes += value_bytes(g, v);
  for (const auto& node : g.nodes) c.flops += graph::node_cost(g, node).flops;
  const Machine machine = machine_of(*context.target, context.threads);
  c.seconds = std::max(c.bytes / machine.bytes_per_second, c.flops / (machine.flops / peak_share)) + machine.dispatch_seconds;
  return c;
}

bool read_outside_of(const graph::Graph& graph, ValueId value, ValueId input) {
  std::vector<bool> inside(graph.values.size(), false);
  std::function<void(ValueId)> visit = [&](ValueId v) {
    if (v == graph::kNoValue || inside[static_cast<size_t>(v)]) return;
    inside[static_cast<size_t>(v)] = true;
    if (graph.value(v).producer != graph::kNoNode)
      for (ValueId in : graph.node(graph.value(v).producer).inputs) visit(in);
  };
  visit(value);
  std::vector<bool> depends(graph.values.size(), false);
  depends[static_cast<size_t>(input)] = true;
  for (const auto& node : graph.nodes)
    for (ValueId in : node.inputs)
      if (in != graph::kNoValue && depends[static_cast<size_t>(in)])
        for (ValueId v : node.outputs) depends[static_cast<size_t>(v)] = true;
  // Outside are the nodes that do not lead to `value`. One of them reads `value` itself, as the anchor's operand; any other
  // way in keeps the input in use.
  int64_t as_operand = 0;
  for (const auto& node : graph.nodes) {
    if (inside[static_cast<size_t>(node.outputs[0])]) continue;
    for (ValueId in : node.inputs) {
      if (in == value) ++as_operand;
      else if (in != graph::kNoValue && depends[static_cast<size_t>(in)] && inside[static_cast<size_t>(in)]) return true;
    }
  }
  return as_operand > 1;
}

ProgramBuilder::ProgramBuilder(const Group& group, Device device) : group_(group), device_(device) {
  for (size_t k = 0; k < group.graph.inputs.size(); ++k)
    program_.buffers.push_back({loop::BufferRole::kInput, static_cast<int32_t>(k), 0});
  for (size_t k = 0; k < group.graph.outputs.size(); ++k)
    program_.buffers.push_back({loop::BufferRole::kOutput, static_cast<int32_t>(k), 0});
  program_.in_place.assign(group.graph.outputs.size(), -1);
}

int32_t ProgramBuilder::add_buffer(loop::BufferRole role, int64_t size_bytes) {
  const auto id = static_cast<int32_t>(program_.buffers.size());
  program_.buffers.push_back({role, id, size_bytes});
  return id;
}

namespace {

DType memory_dtype(DType t) { return t == DType::kBool ? DType::kU8 : t; }

}  // namespace

PhaseBuilder::PhaseBuilder(ProgramBuilder& program, std::string family, int32_t lanes, const std::vector<int32_t>& reads,
                           const std::vector<int32_t>& reads_buffers, const std::vector<ValueId>& outputs,
                           const std::vector<int32_t>& writes_buffers)
    : program_(program),
      fn_([&] {
        auto fn = std::make_shared<loop::LoopFn>();
        fn->context = std::make_shared<loop::Context>();
        fn->family = std::move(family);
        fn->gpu = program.device() == ProgramBuilder::Device::kGpu;
        return fn;
      }()),
      builder_(*fn_),
      dag_(program.group(), builder_, lanes) {
  const graph::Graph& g = program.group().graph;
  auto argument = [&](int32_t buffer, DType dtype, int64_t count, loop::Access access, int32_t align) {
    args_.push_back(buffer);
    if (fn_->gpu) align = static_cast<int32_t>(device::kGpuBufferAlignment);
    return builder_.arg(dtype, access, builder_.integer(count), align);
  };
  for (int32_t k : reads) {
    const ValueId v = g.inputs[static_cast<size_t>(k)];
    const DType t = memory_dtype(g.value(v).type.dtype);
    // What a caller may bind has its element's class; a constant is read where the model file has it, at any address.
    const bool constant = program.group().inputs[static_cast<size_t>(k)].constant;
    const auto align = constant ? 1 : static_cast<int32_t>(dtype_bytes(t));
    dag_.bind_buffer(v, argument(k, t, value_elements(g, v), loop::Access::kRead, align));
  }
  auto extra = [&](int32_t id, loop::Access access) {
    const auto& buffer = program_.program().buffers[static_cast<size_t>(id)];
    extra_[id] = argument(id, DType::kF32, buffer.size_bytes / 4, access, 64);
  };
  for (int32_t id : reads_buffers) extra(id, loop::Access::kRead);
  for (size_t k = 0; k < g.outputs.size(); ++k) {
    const ValueId v = g.outputs[k];
    if (std::find(outputs.begin(), outputs.end(), v) == outputs.end()) continue;
    const DType t = memory_dtype(g.value(v).type.dtype);
    const auto id = static_cast<int32_t>(g.inputs.size() + k);
    outputs_[v] = argument(id, t, value_elements(g, v), loop::Access::kWrite, static_cast<int32_t>(dtype_bytes(t)));
  }
  for (int32_t id : writes_buffers) extra(id, loop::Access::kWrite);
}

void PhaseBuilder::finish(ValueId result, const Index& index, Expr value) {
  const graph::Graph& g = program_.group().graph;
  dag_.bind(result, [value](const Index&) { return value; });
  std::vector<std::pair<Index, Expr>> elements;
  for (const auto& [v, buffer] : outputs_) {
    Index at = push_index(dag_, g, result, v, index);
    elements.emplace_back(at, builder_.let(dag_.at(v, at)));
  }
  size_t k = 0;
  for (const auto& [v, buffer] : outputs_) {
    dag_.store_to(buffer, v, elements[k].first, elements[k].second);
    ++k;
  }
}

Expr PhaseBuilder::broadcast(ValueId value, const Index& index, Expr guard) {
  const auto& shape = dag_.shape(value);
  const size_t lead = index.size() - shape.size();
  Index own(shape.size());
  for (size_t k = 0; k < shape.size(); ++k) own[k] = shape[k] == 1 ? builder_.integer(0) : index[lead + k];
  return dag_.at(value, own, guard);
}

Expr PhaseBuilder::tail_mask(Expr n, int64_t limit) {
  const int32_t lanes = dag_.lanes();
  return builder_.let(loop::lt(loop::ramp(n, 1, lanes), loop::int_const(builder_.context(), limit, DType::kI64, lanes)));
}

void ProgramBuilder::add_phase(PhaseBuilder& phase, bool prepare, int64_t grain) {
  loop::LoopFn& fn = *phase.fn_;
  // An output may be the memory of the input that in_place names; nothing else overlaps.
  for (auto& [value, buffer] : phase.outputs_) {
    for (size_t o = 0; o < group_.graph.outputs.size(); ++o) {
      if (group_.graph.outputs[o] != value || program_.in_place[o] < 0) continue;
      for (size_t k = 0; k < phase.args_.size(); ++k) {
        if (phase.args_[k] != program_.in_place[o]) continue;
        auto& out = fn.buffers[static_cast<size_t>(buffer.id)];
        auto& in = fn.buffers[k];
        out.may_alias.push_back(static_cast<int32_t>(k));
        in.may_alias.push_back(out.id);
        out.in_place = in.in_place = true;
      }
    }
  }
  phase.builder_.finish();
  loop::Phase p;
  p.fn = fn;
  p.args = phase.args_;
  p.grain = grain;
  (prepare ? program_.prepare : program_.phases).push_back(std::move(p));
}

}  // namespace frit::codegen
