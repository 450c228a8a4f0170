// matmul: batched products with packed B, prologue views and an epilogue in registers.
//
// A [.., M, K] is read in place, through any views. B [.., K, N] is packed once at load when it is constant;
// otherwise it is packed per run or, when its rows are contiguous, read in place (param `pack`). A batch that
// B does not have is folded into M.
#include <algorithm>

#include "base/try.h"
#include "codegen/families/anchored.h"
#include "codegen/families/families.h"
#include "codegen/families/matmul_shape.h"
#include "codegen/families/phase.h"

namespace frit::codegen {
namespace {

using graph::ValueId;
using loop::Expr;

bool accepts(const Group& group, const BuildContext&, std::string* why) { return accepts_matmul(group, why); }

Space space(const Group& group, const BuildContext& context) {
  const MatmulShape s = matmul_shape(group);
  Space out = gemm_space(s.problem, *context.target, context.threads, true);
  out.dims.push_back({"pack", s.constant_b ? std::vector<int64_t>{1} : std::vector<int64_t>{0, 1},
                      "B 0: read in place, 1: packed"});
  return out;
}

Params heuristic(const Group& group, const BuildContext& context) {
  const MatmulShape s = matmul_shape(group);
  Anchored anchored;
  analyze_anchored(group, &anchored, nullptr);
  Params params =
      gemm_heuristic(s.problem, *context.target, context.threads, true, anchored.epilogue_flops > 12);
  // Packing reads and writes B once more; it pays when rows reuse it, or when B's rows are not contiguous.
  const graph::Graph& g = group.graph;
  const ValueId b = anchored.anchor->inputs[1];
  const graph::NodeId producer = g.value(b).producer;
  const bool plain_rows = producer == graph::kNoNode || !std::get_if<graph::Transpose>(&g.node(producer).op);
  params.set("pack", s.constant_b || s.problem.m >= 24 || !plain_rows ? 1 : 0);
  return params;
}

Cost cost(const Group& group, const Params& params, const BuildContext& context) {
  const MatmulShape s = matmul_shape(group);
  return gemm_cost(group, s.problem, gemm_tile(params, *context.target), context);
}

Result<loop::Program> build(const Group& group, const Params& params, const BuildContext& context) {
  const graph::Graph& g = group.graph;
  Anchored anchored;
  std::string why;
  if (!analyze_anchored(group, &anchored, &why)) return make_error(Code::kInternal, "matmul: " + why);
  const MatmulShape s = matmul_shape(group);
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
      Index index = s.b_index(dag, phase.builder().context(), batch);
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
    const bool only_b = std::find(before.begin(), before.end(), static_cast<int32_t>(k)) != before.end() &&
                        packs && !read_outside_of(g, b_value, g.inputs[k]);
    if (!only_b) reads.push_back(static_cast<int32_t>(k));
  }
  PhaseBuilder phase(program, "matmul", tile.lanes, reads,
                     packs ? std::vector<int32_t>{packed} : std::vector<int32_t>{}, g.outputs, {});
  Dag& dag = phase.dag();
  loop::Builder& b = phase.builder();
  GemmCallbacks callbacks;
  callbacks.note_range = [&](Expr v, int64_t lo, int64_t hi) { dag.note_range(v, lo, hi); };
  callbacks.a = [&](Expr batch, Expr m, const std::vector<Expr>&, Expr r) {
    dag.forget();
    dag.set_tail({});
    Index index = s.row_index(dag, batch, m);
    index.push_back(r);
    return phase.broadcast(a_value, index);
  };
  callbacks.b = [&](Expr batch, Expr k, Expr n, bool masked) {
    dag.forget();
    dag.set_tail(masked ? phase.tail_mask(n, s.problem.n) : Expr{});
    Index index = s.b_index(dag, b.context(), batch);
    index.push_back(k);
    index.push_back(n + dag.lane());
    Expr v = phase.broadcast(b_value, index);
    return v->type.lanes == 1 ? loop::splat(v, tile.lanes) : v;
  };
  callbacks.epilogue = [&](Expr batch, Expr m, Expr n, Expr value, bool masked) {
    dag.forget();
    dag.set_tail(masked ? phase.tail_mask(n, s.problem.n) : Expr{});
    Index index = s.row_index(dag, batch, m);
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
