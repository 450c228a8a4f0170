// pointwise on a GPU: one thread per vector of neighbouring elements, in the output's order in memory, so
// that a warp writes one run of it; `unroll` vectors per thread, a block apart.
#include <algorithm>

#include "codegen/families/anchored.h"
#include "codegen/families/families.h"
#include "codegen/families/gpu.h"
#include "codegen/families/iteration.h"

namespace frit::codegen {
namespace {

using graph::ValueId;
using loop::Expr;
using loop::LoopKind;

constexpr int64_t kVectorBytes = 16;

struct Work {
  Iteration it;
  int64_t elements = 1;
  int64_t inner = 1;  // extent of the innermost axis: a vector stays inside of it
};

Work work_of(const Group& group) {
  Work w;
  w.it = make_iteration(group, group.graph.outputs[0]);
  if (w.it.extents.empty()) {
    w.it.extents = {1};
    w.it.axes = {{}};
  }
  w.elements = w.it.elements();
  w.inner = w.it.extents.back();
  return w;
}

std::vector<int64_t> vectors(const Group& group, const Work& w) {
  int64_t widest = 1;  // bytes of the widest output element
  for (ValueId v : group.graph.outputs)
    widest = std::max(widest, static_cast<int64_t>(dtype_bytes(group.graph.value(v).type.dtype)));
  std::vector<int64_t> out;
  for (int64_t n = 1; n * widest <= kVectorBytes && n <= 8; n *= 2)
    if (w.inner % n == 0) out.push_back(n);
  return out;
}

Space space(const Group& group, const BuildContext& context) {
  const Work w = work_of(group);
  Space s;
  s.dims.push_back({"threads", block_sizes(context.target->gpu(), 64, 1024), "threads per block"});
  s.dims.push_back({"vec", vectors(group, w), "elements per access"});
  s.dims.push_back({"unroll", {1, 2, 4, 8}, "vectors per thread"});
  return s;
}

Params heuristic(const Group& group, const BuildContext& context) {
  const Work w = work_of(group);
  const int64_t vec = vectors(group, w).back(), threads = 128;
  // More bytes in flight per thread, as long as every multiprocessor keeps eight blocks to choose from.
  int64_t unroll = 1;
  while (unroll < 4 && w.elements / (threads * vec * unroll * 2) >= 8 * context.target->gpu().sm_count)
    unroll *= 2;
  return Params{{"threads", threads}, {"vec", vec}, {"unroll", unroll}};
}

Cost cost(const Group& group, const Params& params, const BuildContext& context) {
  const Work w = work_of(group);
  const device::GpuArch& arch = context.target->gpu();
  const int64_t threads = params.get_or("threads", 128),
                per_block = threads * params.get_or("vec", 1) * params.get_or("unroll", 1);
  const int64_t per_sm = device::blocks_per_sm(arch, {threads, 32, 0});
  return gpu_group_cost(group, context, wave_efficiency(arch, ceil_div(w.elements, per_block), per_sm));
}

Result<loop::Program> build(const Group& group, const Params& params, const BuildContext&) {
  const graph::Graph& g = group.graph;
  const Work w = work_of(group);
  const int64_t threads = params.get_or("threads", 128), vec = params.get_or("vec", 1),
                unroll = params.get_or("unroll", 1);
  std::vector<int32_t> reads;
  for (size_t k = 0; k < g.inputs.size(); ++k) reads.push_back(static_cast<int32_t>(k));

  ProgramBuilder program(group, ProgramBuilder::Device::kGpu);
  program.allow_in_place(in_place_candidates(group));
  PhaseBuilder phase(program, "pointwise", static_cast<int32_t>(vec), reads, {}, g.outputs, {});
  loop::Builder& b = phase.builder();
  Dag& dag = phase.dag();
  std::vector<int64_t> extents = w.it.extents;
  extents.back() /= vec;
  const int64_t count = w.elements / vec, per_block = threads * unroll;

  auto element = [&](Expr vector) {
    dag.forget();
    std::vector<Expr> point = dag.delinearize(vector, extents);
    point.back() = point.back() * vec + dag.lane();
    const Index index = w.it.logical(dag, point, dag.shape(g.outputs[0]));
    std::vector<Expr> values;
    for (ValueId v : g.outputs) values.push_back(b.let(dag.at(v, index)));
    for (size_t k = 0; k < values.size(); ++k) phase.store_output(g.outputs[k], index, values[k]);
  };
  for_blocks(phase, ceil_div(count, per_block), [&](Expr block) {
    for_threads(phase, threads, 0, [&](Expr thread) {
      b.loop(0, unroll, 1, LoopKind::kUnrolled, [&](Expr u) {
        dag.note_range(u, 0, unroll - 1);
        Expr vector = b.let((block * unroll + u) * threads + thread);
        dag.note_range(vector, 0, std::max<int64_t>(count - 1, 0));
        if (count % per_block == 0)
          element(vector);
        else
          b.if_then(loop::lt(vector, b.integer(count)), [&] { element(vector); });
      });
    });
  });
  program.add_phase(phase, false);
  return program.take();
}

}  // namespace

Family gpu_pointwise_family() {
  return {"pointwise", 1, pointwise_family().accepts, space, heuristic, cost, build};
}

}  // namespace frit::codegen
