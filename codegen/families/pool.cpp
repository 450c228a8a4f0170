// pool: maximum and average over sliding windows, vectors across channels, an epilogue in registers.
#include <algorithm>

#include "codegen/families/anchored.h"
#include "codegen/families/families.h"
#include "codegen/families/scalar_ops.h"
#include "codegen/families/window.h"

namespace frit::codegen {
namespace {

using graph::ValueId;
using loop::Expr;

bool accepts(const Group& group, const BuildContext&, std::string* why) {
  auto no = [&](std::string text) {
    if (why) *why = std::move(text);
    return false;
  };
  const graph::Graph& g = group.graph;
  if (group.anchor == graph::kNoNode || !std::get_if<graph::Pool>(&g.node(group.anchor).op)) return no("the anchor is not a pool");
  const graph::Node& node = g.node(group.anchor);
  const auto& op = std::get<graph::Pool>(node.op);
  const DType t = g.value(node.inputs[0]).type.dtype;
  if (op.op == graph::PoolOp::kAvg && t != DType::kF32) return no("an average of other types than f32");
  if (is_float(t) && dtype_bytes(t) == 2) return no("16-bit floats");
  if (op.op == graph::PoolOp::kAvg && op.ceil_mode && op.count_include_pad) return no("an average that counts padding in ceil mode");
  if (node.outputs.size() > 1) return no("indices of the maxima");
  if (op.kernel.empty() || op.kernel.size() > 3) return no("spatial rank " + std::to_string(op.kernel.size()));
  Anchored anchored;
  return analyze_anchored(group, &anchored, why) && only_views_before(g, node.inputs[0], why);
}

WindowProblem problem_of(const Group& group) {
  const graph::Graph& g = group.graph;
  const graph::Node& node = g.node(group.anchor);
  const auto& op = std::get<graph::Pool>(node.op);
  const auto& x = g.value(node.inputs[0]).type.shape;
  const auto& y = g.value(node.outputs[0]).type.shape;
  WindowProblem p;
  p.images = x[0].value();
  p.channels = x[1].value();
  for (size_t k = 2; k < x.size(); ++k) {
    p.in.push_back(x[k].value());
    p.out.push_back(y[k].value());
  }
  p.kernel = op.kernel;
  p.strides = op.strides;
  p.dilations = op.dilations;
  p.before.assign(op.pads.begin(), op.pads.begin() + static_cast<long>(op.kernel.size()));
  return p;
}

Space space(const Group&, const BuildContext&) {
  Space s;
  s.dims.push_back({"pixels", {1, 2, 4, 7, 8}, "windows computed together along the last axis"});
  return s;
}

Params heuristic(const Group& group, const BuildContext&) { return Params{{"pixels", problem_of(group).out.back() >= 4 ? 4 : 1}}; }

Cost cost(const Group& group, const Params&, const BuildContext& context) { return group_cost(group, context, 4); }

Result<loop::Program> build(const Group& group, const Params& params, const BuildContext& context) {
  const graph::Graph& g = group.graph;
  Anchored anchored;
  std::string why;
  if (!analyze_anchored(group, &anchored, &why)) return make_error(Code::kInternal, "pool: " + why);
  const graph::Node& node = *anchored.anchor;
  const auto& op = std::get<graph::Pool>(node.op);
  const auto lanes = static_cast<int32_t>(context.target->vector_bytes() / 4);
  const WindowProblem p = problem_of(group);
  const DType t = g.value(node.inputs[0]).type.dtype;
  int64_t taps = 1;
  for (int64_t k : p.kernel) taps *= k;

  ProgramBuilder program(group);
  std::vector<int32_t> reads;
  for (size_t k = 0; k < g.inputs.size(); ++k) reads.push_back(static_cast<int32_t>(k));
  PhaseBuilder phase(program, "pool", lanes, reads, {}, g.outputs, {});
  loop::Builder& b = phase.builder();
  const auto reduce = op.op == graph::PoolOp::kMax ? graph::ReduceOp::kMax : graph::ReduceOp::kSum;
  WindowCallbacks callbacks;
  callbacks.initial = [&] { return reduce_identity(b.context(), reduce, t, lanes); };
  callbacks.combine = [&](Expr acc, Expr x, const std::vector<Expr>&, Expr) { return emit_combine(reduce, acc, x); };
  callbacks.finish = [&](const Index& at, Expr acc, Expr count) {
    if (op.op == graph::PoolOp::kAvg) {
      Expr n = op.count_include_pad ? b.number(static_cast<double>(taps)) : loop::cast(count, DType::kF32);
      acc = acc / loop::splat(n, lanes);
    }
    phase.finish(anchored.result, at, acc);
  };
  emit_windows(phase, p, node.inputs[0], t, params.get_or("pixels", 1), callbacks);
  program.add_phase(phase, false);
  return program.take();
}

}  // namespace

Family pool_family() { return {"pool", 1, accepts, space, heuristic, cost, build}; }

}  // namespace frit::codegen
