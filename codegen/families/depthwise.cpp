// depthwise: convolution with one input channel per output channel, vectors across channels, an epilogue in registers.
// Weights are repacked to [kernel position][channel] at load.
#include <algorithm>

#include "codegen/families/anchored.h"
#include "codegen/families/families.h"
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
  if (group.anchor == graph::kNoNode || !std::get_if<graph::Conv>(&g.node(group.anchor).op)) return no("the anchor is not a convolution");
  const graph::Node& node = g.node(group.anchor);
  const auto& op = std::get<graph::Conv>(node.op);
  const auto& w = g.value(node.inputs[1]).type.shape;
  if (w[1].value() != 1 || w[0].value() != op.groups || op.groups < 2) return no("not one channel per group");
  if (w.size() > 5) return no("spatial rank " + std::to_string(w.size() - 2));
  Anchored anchored;
  if (!analyze_anchored(group, &anchored, why)) return false;
  for (ValueId v : node.inputs)
    if (v != graph::kNoValue && g.value(v).type.dtype != DType::kF32) return no("operands are not f32");
  return only_views_before(g, node.inputs[0], why) && only_views_before(g, node.inputs[1], why);
}

WindowProblem problem_of(const Group& group) {
  const graph::Graph& g = group.graph;
  const graph::Node& node = g.node(group.anchor);
  const auto& op = std::get<graph::Conv>(node.op);
  const auto& x = g.value(node.inputs[0]).type.shape;
  const auto& w = g.value(node.inputs[1]).type.shape;
  const auto& y = g.value(node.outputs[0]).type.shape;
  WindowProblem p;
  p.images = x[0].value();
  p.channels = op.groups;
  for (size_t k = 2; k < x.size(); ++k) {
    p.in.push_back(x[k].value());
    p.out.push_back(y[k].value());
    p.kernel.push_back(w[k].value());
    p.strides.push_back(op.strides[k - 2]);
    p.dilations.push_back(op.dilations[k - 2]);
    p.before.push_back(op.pads[k - 2]);
  }
  return p;
}

Space space(const Group&, const BuildContext& context) {
  Space s;
  s.dims.push_back({"pixels", context.target->vector_registers() >= 32 ? std::vector<int64_t>{1, 2, 4, 7, 8, 14} : std::vector<int64_t>{1, 2, 4, 7},
                    "windows computed together along the last axis"});
  return s;
}

Params heuristic(const Group& group, const BuildContext&) {
  const int64_t width = problem_of(group).out.back();
  return Params{{"pixels", width % 7 == 0 ? 7 : width >= 4 ? 4 : 1}};
}

Cost cost(const Group& group, const Params&, const BuildContext& context) { return group_cost(group, context, 2); }

Result<loop::Program> build(const Group& group, const Params& params, const BuildContext& context) {
  const graph::Graph& g = group.graph;
  Anchored anchored;
  std::string why;
  if (!analyze_anchored(group, &anchored, &why)) return make_error(Code::kInternal, "depthwise: " + why);
  const graph::Node& node = *anchored.anchor;
  const auto lanes = static_cast<int32_t>(context.target->vector_bytes() / 4);
  const WindowProblem p = problem_of(group);
  const ValueId w = node.inputs[1], bias = node.inputs.size() > 2 ? node.inputs[2] : graph::kNoValue;
  const int64_t padded = (p.channels + lanes - 1) / lanes * lanes;
  int64_t taps = 1;
  for (int64_t k : p.kernel) taps *= k;

  ProgramBuilder program(group);
  program.allow_in_place(in_place_candidates(group));
  const bool constant = is_constant_value(group, w);
  const int32_t packed = program.add_buffer(constant ? loop::BufferRole::kPrepared : loop::BufferRole::kScratch, taps * padded * 4);
  {
    PhaseBuilder phase(program, "depthwise_pack", lanes, inputs_before(g, w), {}, {}, {packed});
    loop::Builder& b = phase.builder();
    Dag& dag = phase.dag();
    Expr tap = b.tile(taps), block = b.tile(padded / lanes);
    dag.note_range(tap, 0, taps - 1);
    dag.note_range(block, 0, padded / lanes - 1);
    Expr first = b.let(block * lanes);
    if (padded != p.channels) dag.set_tail(phase.tail_mask(first, p.channels));
    Index index{first + dag.lane(), b.integer(0)};
    const Index position = dag.delinearize(tap, p.kernel);
    index.insert(index.end(), position.begin(), position.end());
    Expr v = dag.at(w, index);
    dag.set_tail({});
    dag.store_at(phase.program_buffer(packed), tap * padded + first + dag.lane(), v);
    program.add_phase(phase, constant);
  }

  const auto weight_inputs = inputs_before(g, w);
  std::vector<int32_t> reads;
  for (size_t k = 0; k < g.inputs.size(); ++k) {
    const bool only_weights = std::find(weight_inputs.begin(), weight_inputs.end(), static_cast<int32_t>(k)) != weight_inputs.end();
    if (!only_weights || read_outside_of(g, w, g.inputs[k])) reads.push_back(static_cast<int32_t>(k));
  }
  PhaseBuilder phase(program, "depthwise", lanes, reads, {packed}, g.outputs, {});
  loop::Builder& b = phase.builder();
  Dag& dag = phase.dag();
  const loop::Buffer& weights = phase.program_buffer(packed);
  WindowCallbacks callbacks;
  callbacks.initial = [&] { return loop::float_const(b.context(), 0, DType::kF32, lanes); };
  callbacks.combine = [&](Expr acc, Expr x, const std::vector<Expr>& tap, Expr channel) {
    Expr flat = b.integer(0);
    for (size_t k = 0; k < tap.size(); ++k) flat = flat * p.kernel[k] + tap[k];
    return loop::fma(x, loop::load(b.context(), weights, flat * padded + channel, lanes), acc);
  };
  callbacks.finish = [&](const Index& at, Expr acc, Expr) {
    if (bias != graph::kNoValue) acc = acc + dag.at(bias, {at[1]});
    phase.finish(anchored.result, at, acc);
  };
  emit_windows(phase, p, node.inputs[0], DType::kF32, params.get_or("pixels", 1), callbacks);
  program.add_phase(phase, false);
  return program.take();
}

}  // namespace

Family depthwise_family() { return {"depthwise", 1, accepts, space, heuristic, cost, build}; }

}  // namespace frit::codegen
