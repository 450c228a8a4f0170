// matmul: batched products with packed B, prologue views and an epilogue in registers.
//
// A [.., M, K] is read in place, through any views. B [.., K, N] is packed once at load when it is constant; otherwise
// it is packed per run or, when its rows are contiguous, read in place (param `pack`). A batch that B does not have is
// folded into M.
#include <algorithm>

#include "base/try.h"
#include "codegen/families/anchored.h"
#include "codegen/families/families.h"
#include "codegen/families/gemm.h"
#include "codegen/families/phase.h"

namespace frit::codegen {
namespace {

using graph::ValueId;
using loop::Expr;

struct Shape {
  GemmProblem problem;
  std::vector<int64_t> batch;  // output's leading dimensions
  int64_t rows = 0;            // M of one matrix
  bool folded = false;         // the batch is part of problem.m
  int64_t b_batch = 1;
  bool constant_b = false;
};

std::vector<int64_t> dims(const graph::Graph& g, ValueId v) {
  std::vector<int64_t> out;
  for (const auto& d : g.value(v).type.shape) out.push_back(d.value());
  return out;
}

int64_t product(const std::vector<int64_t>& v, size_t end) {
  int64_t n = 1;
  for (size_t k = 0; k < end; ++k) n *= v[k];
  return n;
}

Shape shape_of(const Group& group) {
  const graph::Graph& g = group.graph;
  const graph::Node& node = g.node(group.anchor);
  const auto a = dims(g, node.inputs[0]), b = dims(g, node.inputs[1]), c = dims(g, node.outputs[0]);
  Shape s;
  s.batch.assign(c.begin(), c.end() - 2);
  s.rows = c[c.size() - 2];
  const int64_t batch = product(c, c.size() - 2);
  s.folded = product(b, b.size() - 2) == 1;
  s.problem.batch = s.folded ? 1 : batch;
  s.problem.m = s.folded ? batch * s.rows : s.rows;
  s.problem.n = c.back();
  s.problem.run = a.back();
  s.b_batch = s.folded ? 1 : batch;
  s.constant_b = is_constant_value(group, node.inputs[1]);
  return s;
}

bool accepts(const Group& group, const BuildContext&, std::string* why) {
  Anchored anchored;
  if (group.anchor == graph::kNoNode || !std::get_if<graph::MatMul>(&group.graph.node(group.anchor).op)) {
    if (why) *why = "the anchor is not a matmul";
    return false;
  }
  if (!analyze_anchored(group, &anchored, why)) return false;
  for (ValueId v : {anchored.anchor->inputs[0], anchored.anchor->inputs[1], anchored.result})
    if (group.graph.value(v).type.dtype != DType::kF32) {
      if (why) *why = "operands are not f32";
      return false;
    }
  return only_views_before(group.graph, anchored.anchor->inputs[0], why) && only_views_before(group.graph, anchored.anchor->inputs[1], why);
}

Space space(const Group& group, const BuildContext& context) {
  const Shape s = shape_of(group);
  Space out = gemm_space(s.problem, *context.target, context.threads, true);
  out.dims.push_back({"pack", s.constant_b ? std::vector<int64_t>{1} : std::vector<int64_t>{0, 1}, "B 0: read in place, 1: packed"});
  return out;
}

Params heuristic(const Group& group, const BuildContext& context) {
  const Shape s = shape_of(group);
  Anchored anchored;
  analyze_anchored(group, &anchored, nullptr);
  Params params = gemm_heuristic(s.problem, *context.target, context.threads, true, anchored.epilogue_flops > 12);
  // Packing reads and writes B once more; it pays when rows reuse it, or when B's rows are not contiguous.
  const graph::Graph& g = group.graph;
  const ValueId b = anchored.anchor->inputs[1];
  const graph::NodeId producer = g.value(b).producer;
  const bool plain_rows = producer == graph::kNoNode || !std::get_if<graph::Transpose>(&g.node(producer).op);
  params.set("pack", s.constant_b || s.problem.m >= 24 || !plain_rows ? 1 : 0);
  return params;
}

Cost cost(const Group& group, const Params& params, const BuildContext& context) {
  const Shape s = shape_of(group);
  return gemm_cost(group, s.problem, gemm_tile(params, *context.target), context);
}

Result<loop::Program> build(const Group& group, const Params& params, const BuildContext& context) {
  const graph::Graph& g = group.graph;
  Anchored anchored;
  std::string why;
  if (!analyze_anchored(group, &anchored, &why)) return make_error(Code::kInternal, "matmul: " + why);
  const Shape s = shape_of(group);
  const GemmTile tile = gemm_tile(params, *context.target);
  const int64_t nr = tile.nv * tile.lanes;
  const ValueId a_value = anchored.anchor->inputs[0], b_value = anchored.anchor->inputs[1];
  const bool packs = params.get("pack") != 0;

  ProgramBuilder program(group);
  program.allow_in_place(in_place_candidates(group));
  int32_t packed = -1;
  if (packs) {
    packed = program.add_buffer(s.constant_b ? loop::BufferRole::kPrepared : loop::BufferRole::kScratch,
                                packed_b_elements(s.problem, nr, s.b_batch) * 4);
    PhaseBuilder phase(program, "matmul_pack", tile.lanes, inputs_before(g, b_value), {}, {}, {packed});
    auto value = [&](Expr batch, Expr k, Expr n, Expr mask) {
      Dag& dag = phase.dag();
      dag.forget();
      dag.set_tail(mask);
      Index index = s.folded ? Index(s.batch.size(), phase.builder().integer(0)) : dag.delinearize(batch, s.batch);
      index.push_back(k);
      index.push_back(n + dag.lane());
      return phase.broadcast(b_value, index);
    };
    emit_pack_b(phase.builder(), s.problem, s.b_batch, nr, tile.lanes, phase.program_buffer(packed), value,
                [&](Expr v, int64_t lo, int64_t hi) { phase.dag().note_range(v, lo, hi); });
    program.add_phase(phase, s.constant_b);
  }

  std::vector<int32_t> reads;
  for (size_t k = 0; k < g.inputs.size(); ++k) {
    const auto before = inputs_before(g, b_value);
    const bool only_b = std::find(before.begin(), before.end(), static_cast<int32_t>(k)) != before.end() && packs && !read_outside_of(g, b_value, g.inputs[k]);
    if (!only_b) reads.push_back(static_cast<int32_t>(k));
  }
  PhaseBuilder phase(program, "matmul", tile.lanes, reads, packs ? std::vector<int32_t>{packed} : std::vector<int32_t>{}, g.outputs, {});
  Dag& dag = phase.dag();
  loop::Builder& b = phase.builder();
  GemmCallbacks callbacks;
  callbacks.note_range = [&](Expr v, int64_t lo, int64_t hi) { dag.note_range(v, lo, hi); };
  auto leading = [&](Expr batch, Expr m) {  // index of the output's leading dimensions and row
    std::vector<int64_t> shape = s.batch;
    shape.push_back(s.rows);
    if (s.folded) return dag.delinearize(m, shape);
    Index index = dag.delinearize(batch, s.batch);
    index.push_back(m);
    return index;
  };
  callbacks.a = [&](Expr batch, Expr m, const std::vector<Expr>&, Expr r) {
    dag.forget();
    dag.set_tail({});
    Index index = leading(batch, m);
    index.push_back(r);
    return phase.broadcast(a_value, index);
  };
  callbacks.b = [&](Expr batch, Expr k, Expr n, bool masked) {
    dag.forget();
    dag.set_tail(masked ? phase.tail_mask(n, s.problem.n) : Expr{});
    Index index = s.folded ? Index(s.batch.size(), b.integer(0)) : dag.delinearize(batch, s.batch);
    index.push_back(k);
    index.push_back(n + dag.lane());
    Expr v = phase.broadcast(b_value, index);
    return v->type.lanes == 1 ? loop::splat(v, tile.lanes) : v;
  };
  callbacks.epilogue = [&](Expr batch, Expr m, Expr n, Expr value, bool masked) {
    dag.forget();
    dag.set_tail(masked ? phase.tail_mask(n, s.problem.n) : Expr{});
    Index index = leading(batch, m);
    index.push_back(n + dag.lane());
    phase.finish(anchored.result, index, value);
  };
  const loop::Buffer packed_buffer = packs ? phase.program_buffer(packed) : loop::Buffer{};
  emit_gemm(b, s.problem, tile, packs ? &packed_buffer : nullptr, callbacks);
  program.add_phase(phase, false);
  return program.take();
}

}  // namespace

Family matmul_family() { return {"matmul", 1, accepts, space, heuristic, cost, build}; }

}  // namespace frit::codegen
