// pointwise: any number of outputs of one shape and layout, each element a function of elements of the inputs, through
// pointwise ops and index maps. Also what data movement is made of: transposes, concats, slices, pads, gathers, resizes.
//
// Vectors run along the innermost axis in memory (merged with its neighbours where operands allow), or along another
// one (param `axis`) where inputs are contiguous there and the output is not.
#include <algorithm>

#include "codegen/families/anchored.h"
#include "codegen/families/families.h"
#include "codegen/families/iteration.h"
#include "codegen/families/machine.h"
#include "codegen/families/phase.h"

namespace frit::codegen {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;
using loop::Expr;
using loop::LoopKind;

bool accepts(const Group& group, const BuildContext&, std::string* why) {
  const Graph& g = group.graph;
  auto no = [&](std::string text) {
    if (why) *why = std::move(text);
    return false;
  };
  if (group.anchor != graph::kNoNode) return no("has an anchor");
  if (g.outputs.empty()) return no("no output");
  for (const Node& node : g.nodes) {
    std::string reason;
    if (!dag_can_evaluate(g, node, &reason)) return no(reason);
    if (const auto* c = std::get_if<graph::Concat>(&node.op); c && node.inputs.size() > 8) return no("a concat of more than 8 parts");
  }
  const auto& first = g.value(g.outputs[0]).type;
  for (ValueId v : g.outputs)
    if (g.value(v).type.shape != first.shape || g.value(v).type.layout != first.layout) return no("outputs of different shapes");
  return true;
}

struct Work {
  Iteration it;
  int64_t vector_axis = 0;  // of the iteration
  int64_t rows = 1;         // points of all other axes
  int64_t length = 1;       // of the vector axis
};

Work work_of(const Group& group, const Params& params) {
  Work w;
  w.it = make_iteration(group, group.graph.outputs[0]);
  if (w.it.extents.empty()) {
    w.it.extents = {1};
    w.it.axes = {{}};
  }
  const auto count = static_cast<int64_t>(w.it.extents.size());
  w.vector_axis = count - 1 - std::min(params.get("axis"), count - 1);
  w.length = w.it.extents[static_cast<size_t>(w.vector_axis)];
  for (int64_t k = 0; k < count; ++k)
    if (k != w.vector_axis) w.rows *= w.it.extents[static_cast<size_t>(k)];
  return w;
}

Space space(const Group& group, const BuildContext&) {
  const Iteration it = make_iteration(group, group.graph.outputs[0]);
  Space s;
  std::vector<int64_t> axes{0};
  for (int64_t k = 1; k < std::min<int64_t>(static_cast<int64_t>(it.extents.size()), 3); ++k) axes.push_back(k);
  s.dims.push_back({"axis", axes, "vectors run along the k-th axis from the innermost"});
  s.dims.push_back({"unroll", {1, 2, 4}, "vectors per loop iteration"});
  s.dims.push_back({"chunk", {1, 4, 16, 64, 256}, "KiB of output per tile"});
  return s;
}

Params heuristic(const Group& group, const BuildContext& context) {
  const Iteration it = make_iteration(group, group.graph.outputs[0]);
  const int64_t lanes = context.target->vector_bytes() / 4;
  // The innermost axis, unless it is shorter than half a vector and a longer one is near.
  int64_t axis = 0;
  const auto n = static_cast<int64_t>(it.extents.size());
  for (int64_t k = 0; k < std::min<int64_t>(n, 3); ++k) {
    const int64_t here = it.extents[static_cast<size_t>(n - 1 - axis)], there = it.extents[static_cast<size_t>(n - 1 - k)];
    if (here < lanes / 2 && there > here) axis = k;
  }
  return Params{{"axis", axis}, {"unroll", 1}, {"chunk", 16}};
}

Cost cost(const Group& group, const Params&, const BuildContext& context) {
  const Graph& g = group.graph;
  Cost c;
  for (ValueId v : g.inputs) {
    // An input behind a gather is read where the indices point, not as a whole.
    double bytes = value_bytes(g, v);
    for (const Node& node : g.nodes)
      if (std::get_if<graph::Gather>(&node.op) && node.inputs[0] == v) bytes = std::min(bytes, value_bytes(g, node.outputs[0]));
    c.bytes += bytes;
  }
  for (ValueId v : g.outputs) c.bytes += value_bytes(g, v);
  for (const Node& node : g.nodes) c.flops += graph::node_cost(g, node).flops;
  const Machine machine = machine_of(*context.target, context.threads);
  c.seconds = std::max(c.bytes / machine.bytes_per_second, c.flops / (machine.flops / 8)) + machine.dispatch_seconds;
  return c;
}

Result<loop::Program> build(const Group& group, const Params& params, const BuildContext& context) {
  const Graph& g = group.graph;
  const auto lanes = static_cast<int32_t>(context.target->vector_bytes() / 4);
  const Work w = work_of(group, params);
  const ValueId out = g.outputs[0];
  std::vector<int32_t> reads;
  for (size_t k = 0; k < g.inputs.size(); ++k) reads.push_back(static_cast<int32_t>(k));

  ProgramBuilder program(group);
  program.allow_in_place(in_place_candidates(group));
  PhaseBuilder phase(program, "pointwise", lanes, reads, {}, g.outputs, {});
  loop::Builder& b = phase.builder();
  Dag& dag = phase.dag();

  // Tiles: either many rows, or pieces of long ones. A piece is a multiple of the vectors of one iteration.
  const int64_t unroll = params.get_or("unroll", 1);
  const int64_t want = std::max<int64_t>(params.get_or("chunk", 16) * 1024 / static_cast<int64_t>(dtype_bytes(g.value(out).type.dtype)), 1);
  const int64_t step = unroll * lanes;
  const int64_t piece = w.length > want ? std::max(want / step, int64_t{1}) * step : w.length;
  const int64_t pieces = piece > 0 ? (w.length + piece - 1) / piece : 0;
  const int64_t rows_per_tile = pieces <= 1 ? std::clamp<int64_t>(want / std::max<int64_t>(w.length, 1), 1, std::max<int64_t>(w.rows, 1)) : 1;
  const int64_t row_tiles = (w.rows + rows_per_tile - 1) / rows_per_tile;
  auto tile = [&](int64_t n) {
    Expr v = b.tile(n);
    dag.note_range(v, 0, std::max<int64_t>(n - 1, 0));
    return v;
  };
  Expr row_tile = tile(row_tiles), piece_index = tile(std::max<int64_t>(pieces, w.length > 0 ? 1 : 0));

  std::vector<int64_t> outer;
  for (size_t k = 0; k < w.it.extents.size(); ++k)
    if (static_cast<int64_t>(k) != w.vector_axis) outer.push_back(w.it.extents[k]);
  auto element = [&](Expr row, Expr along) {
    std::vector<Expr> point = dag.delinearize(row, outer);
    point.insert(point.begin() + w.vector_axis, along);
    const Index index = w.it.logical(dag, point, dag.shape(out));
    std::vector<Expr> values;
    for (ValueId v : g.outputs) values.push_back(b.let(dag.at(v, index)));
    for (size_t k = 0; k < values.size(); ++k) phase.store_output(g.outputs[k], index, values[k]);
  };
  auto fresh = [&](Expr tail) {
    dag.forget();
    dag.set_tail(tail);
  };
  auto along_row = [&](Expr row) {
    Expr begin = pieces <= 1 ? b.integer(0) : b.let(piece_index * piece);
    Expr end = pieces <= 1 ? b.integer(w.length) : b.let(loop::min(begin + piece, b.integer(w.length)));
    dag.note_range(begin, 0, std::max<int64_t>(w.length - 1, 0));
    const int64_t rest = w.length % step;  // only the last piece has one
    if (w.length >= step) {
      b.loop(begin, rest ? end - (step - 1) : end, step, LoopKind::kSerial, [&](Expr i) {
        dag.note_range(i, 0, w.length - step);
        b.loop(0, unroll, 1, LoopKind::kUnrolled, [&](Expr u) {
          dag.note_range(u, 0, unroll - 1);
          fresh({});
          element(row, i + u * lanes + dag.lane());
        });
      });
    }
    if (!rest) return;
    auto remainder = [&] {
      int64_t at = w.length - rest;
      for (; at + lanes <= w.length; at += lanes) {
        fresh({});
        element(row, b.integer(at) + dag.lane());
      }
      if (at < w.length) {
        fresh(phase.tail_mask(b.integer(at), w.length));
        element(row, b.integer(at) + dag.lane());
      }
    };
    if (pieces <= 1) remainder();
    else b.if_then(loop::eq(end, b.integer(w.length)), remainder);
  };
  if (rows_per_tile == 1) {
    along_row(row_tile);
  } else {
    Expr first = b.let(row_tile * rows_per_tile);
    Expr last = b.let(loop::min(first + rows_per_tile, b.integer(w.rows)));
    b.loop(first, last, 1, LoopKind::kSerial, [&](Expr row) {
      dag.note_range(row, 0, std::max<int64_t>(w.rows - 1, 0));
      along_row(row);
    });
  }
  program.add_phase(phase, false);
  return program.take();
}

}  // namespace

Family pointwise_family() { return {"pointwise", 1, accepts, space, heuristic, cost, build}; }

}  // namespace frit::codegen
