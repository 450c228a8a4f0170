// conv: direct convolution as an implicit product, any spatial rank, strides, dilations and groups, with an epilogue.
//
// Rows are output pixels, columns output channels, K is (kernel position, input channel). Pixels are read in place from
// a channels-last map; where there is padding, or another layout, a first phase copies the map into a padded
// channels-last one, so that the inner loop never asks whether a tap is inside. With dilation 1 a kernel row and its
// channels are one contiguous run. Where a wide dilation puts many taps on padding, nothing is padded: taps that miss
// the map are skipped (gemm.h). `strict` walks K in ONNX order (channel, then kernel position).
#include <algorithm>

#include "codegen/families/anchored.h"
#include "codegen/families/families.h"
#include "codegen/families/gemm.h"
#include "codegen/families/phase.h"

namespace frit::codegen {
namespace {

using graph::ValueId;
using loop::Expr;
using loop::LoopKind;

struct Shape {
  size_t rank = 0;                       // spatial
  int64_t images = 0, groups = 1, in_channels = 0, out_channels = 0;  // per group for the channels
  std::vector<int64_t> in, out, kernel, strides, dilations, before, padded;
  bool copies = false;                   // a padded channels-last copy is made
  bool merged = false;                   // last kernel axis and channels are one run
  bool in_order = false;                 // strict's order of K
  bool clipped = false;                  // no padding in memory: taps outside of the map are skipped
  GemmProblem problem;
  int64_t all_channels() const { return groups * in_channels; }
};

bool is_channels_last(const graph::TensorType& type) {
  const auto& order = type.layout.order;
  if (order.empty()) return false;
  const auto rank = static_cast<int64_t>(order.size());
  for (int64_t k = 1; k + 1 < rank; ++k)
    if (order[static_cast<size_t>(k)] != k + 1) return false;
  return order[0] == 0 && order.back() == 1;
}

Shape shape_of(const Group& group, Numerics numerics) {
  const graph::Graph& g = group.graph;
  const graph::Node& node = g.node(group.anchor);
  const auto& op = std::get<graph::Conv>(node.op);
  const auto& x = g.value(node.inputs[0]).type;
  const auto& w = g.value(node.inputs[1]).type;
  const auto& y = g.value(node.outputs[0]).type;
  Shape s;
  s.rank = x.shape.size() - 2;
  s.images = x.shape[0].value();
  s.groups = op.groups;
  s.in_channels = w.shape[1].value();
  s.out_channels = w.shape[0].value() / op.groups;
  bool pads = false, pointwise = true, dilated = false;
  for (size_t k = 0; k < s.rank; ++k) {
    s.in.push_back(x.shape[k + 2].value());
    s.out.push_back(y.shape[k + 2].value());
    s.kernel.push_back(w.shape[k + 2].value());
    s.strides.push_back(op.strides[k]);
    s.dilations.push_back(op.dilations[k]);
    s.before.push_back(op.pads[k]);
    const int64_t reach = (s.out[k] - 1) * s.strides[k] + (s.kernel[k] - 1) * s.dilations[k] + 1;
    s.padded.push_back(std::max<int64_t>(reach, 1));
    pads = pads || op.pads[k] != 0 || reach > s.in[k];
    pointwise = pointwise && s.kernel[k] == 1;
    dilated = dilated || (op.pads[k] * 4 > s.out[k] && op.dilations[k] > 1);
  }
  const bool in_place = g.value(node.inputs[0]).producer == graph::kNoNode && is_channels_last(x);
  s.in_order = numerics == Numerics::kStrict && !pointwise;
  s.clipped = dilated && !s.in_order && !pointwise;
  s.copies = (pads && !s.clipped) || (!in_place && !pointwise) || (!in_place && s.out_channels * s.groups > 32);
  if (!s.copies || s.clipped) s.padded = s.in;
  const bool contiguous = s.copies || in_place;
  s.merged = !s.in_order && contiguous && !pointwise && s.groups == 1 && s.dilations.back() == 1 && !s.clipped;
  s.problem.batch = s.groups;
  s.problem.m = s.images;
  for (int64_t n : s.out) s.problem.m *= n;
  s.problem.n = s.out_channels;
  s.problem.padded = pads && !s.clipped;
  s.problem.clipped = s.clipped;
  if (pointwise) {
    s.problem.run = s.in_channels;
  } else if (s.in_order) {
    s.problem.taps.push_back(s.in_channels);
    s.problem.taps.insert(s.problem.taps.end(), s.kernel.begin(), s.kernel.end() - 1);
    s.problem.run = s.kernel.back();
  } else if (s.merged) {
    s.problem.taps.assign(s.kernel.begin(), s.kernel.end() - 1);
    s.problem.run = s.kernel.back() * s.in_channels;
  } else {
    s.problem.taps = s.kernel;
    s.problem.run = s.in_channels;
  }
  return s;
}

// Kernel position and channel of a step of K.
struct Step {
  std::vector<Expr> position;
  Expr channel;
};
Step step_of(Dag& dag, loop::Builder& b, const Shape& s, const std::vector<Expr>& taps, Expr r) {
  Step step;
  if (s.in_order) {
    step.channel = taps[0];
    step.position.assign(taps.begin() + 1, taps.end());
    step.position.push_back(r);
  } else if (s.merged) {
    step.position = taps;
    step.position.push_back(dag.simplify(loop::floor_div(r, b.integer(s.in_channels))));
    step.channel = dag.simplify(loop::floor_mod(r, b.integer(s.in_channels)));
  } else {
    step.position = taps.empty() ? std::vector<Expr>(s.rank, b.integer(0)) : taps;
    step.channel = r;
  }
  return step;
}

bool accepts(const Group& group, const BuildContext&, std::string* why) {
  auto no = [&](std::string text) {
    if (why) *why = std::move(text);
    return false;
  };
  if (group.anchor == graph::kNoNode || !std::get_if<graph::Conv>(&group.graph.node(group.anchor).op)) return no("the anchor is not a convolution");
  Anchored anchored;
  if (!analyze_anchored(group, &anchored, why)) return false;
  const graph::Node& node = *anchored.anchor;
  for (ValueId v : node.inputs)
    if (v != graph::kNoValue && group.graph.value(v).type.dtype != DType::kF32) return no("operands are not f32");
  if (!is_constant_value(group, node.inputs[1]) && group.graph.value(node.inputs[1]).producer != graph::kNoNode) return no("computed weights");
  const Shape s = shape_of(group, Numerics::kDefault);
  if (s.rank < 1 || s.rank > 3) return no("spatial rank " + std::to_string(s.rank));
  return only_views_before(group.graph, node.inputs[0], why);
}

Space space(const Group& group, const BuildContext& context) {
  const Shape s = shape_of(group, context.numerics);
  return gemm_space(s.problem, *context.target, context.threads, s.problem.taps.empty());
}

Params heuristic(const Group& group, const BuildContext& context) {
  const Shape s = shape_of(group, context.numerics);
  Anchored anchored;
  analyze_anchored(group, &anchored, nullptr);
  return gemm_heuristic(s.problem, *context.target, context.threads, s.problem.taps.empty(), anchored.epilogue_flops > 12);
}

Cost cost(const Group& group, const Params& params, const BuildContext& context) {
  const Shape s = shape_of(group, context.numerics);
  Cost c = gemm_cost(group, s.problem, gemm_tile(params, *context.target), context);
  if (s.copies) c.bytes += 2 * value_bytes(group.graph, group.graph.node(group.anchor).inputs[0]);
  return c;
}

// Copies the map into [image, padded positions.., channels] with zeros around.
void build_copy(ProgramBuilder& program, const Shape& s, ValueId x, int32_t target, int32_t lanes) {
  const Group& group = program.group();
  const bool by_channel = is_channels_last(group.graph.value(x).type) || s.all_channels() >= lanes;
  PhaseBuilder phase(program, "conv_pad", lanes, inputs_before(group.graph, x), {}, {}, {target});
  loop::Builder& b = phase.builder();
  Dag& dag = phase.dag();
  const loop::Buffer& out = phase.program_buffer(target);
  auto tile = [&](int64_t n) {
    Expr v = b.tile(n);
    dag.note_range(v, 0, std::max<int64_t>(n - 1, 0));
    return v;
  };
  Expr image = tile(s.images);
  std::vector<Expr> position;
  for (size_t k = 0; k + 1 < s.rank; ++k) position.push_back(tile(s.padded[k]));
  position.push_back({});
  auto loop = [&](int64_t n, const std::function<void(Expr)>& body) {
    b.loop(b.integer(0), b.integer(n), 1, LoopKind::kSerial, [&](Expr i) {
      dag.note_range(i, 0, std::max<int64_t>(n - 1, 0));
      body(i);
    });
  };
  // Vectors along `n` elements of an axis, then what is left under a mask.
  auto vectors = [&](int64_t n, const std::function<void(Expr)>& body) {
    if (n >= lanes)
      loop(n / lanes, [&](Expr i) {
        dag.forget();
        dag.set_tail({});
        body(i * lanes + dag.lane());
      });
    if (n % lanes) {
      dag.forget();
      Expr start = b.integer(n / lanes * lanes);
      dag.set_tail(phase.tail_mask(start, n));
      body(start + dag.lane());
    }
  };
  auto element = [&](Expr channel) {
    Index index{image, channel};
    Expr inside;
    for (size_t k = 0; k < s.rank; ++k) {
      Expr i = dag.simplify(position[k] - (s.clipped ? 0 : s.before[k]));
      index.push_back(i);
      Expr in = dag.simplify(loop::both(loop::ge(i, b.integer(0)), loop::lt(i, b.integer(s.in[k]))));
      int64_t known = 0;
      if (loop::as_int(in, &known) && known) continue;
      inside = inside ? loop::both(inside, in) : in;
    }
    if (inside) inside = dag.condition(inside);
    Expr v = dag.at(x, index, inside);
    Expr to = image;
    for (size_t k = 0; k < s.rank; ++k) to = to * s.padded[k] + position[k];
    to = to * s.all_channels() + channel;
    dag.store_at(out, to, v);
  };
  if (by_channel) {
    loop(s.padded.back(), [&](Expr i) {
      position.back() = i;
      vectors(s.all_channels(), element);
    });
  } else {
    loop(s.all_channels(), [&](Expr c) {
      vectors(s.padded.back(), [&](Expr i) {
        position.back() = i;
        element(c);
      });
    });
  }
  program.add_phase(phase, false);
}

Result<loop::Program> build(const Group& group, const Params& params, const BuildContext& context) {
  const graph::Graph& g = group.graph;
  Anchored anchored;
  std::string why;
  if (!analyze_anchored(group, &anchored, &why)) return make_error(Code::kInternal, "conv: " + why);
  const Shape s = shape_of(group, context.numerics);
  const GemmTile tile = gemm_tile(params, *context.target);
  const graph::Node& node = *anchored.anchor;
  const ValueId x = node.inputs[0], w = node.inputs[1];
  const ValueId bias = node.inputs.size() > 2 ? node.inputs[2] : graph::kNoValue;

  ProgramBuilder program(group);
  program.allow_in_place(in_place_candidates(group));
  const bool constant_weights = is_constant_value(group, w);
  const int64_t nr = tile.nv * tile.lanes;
  const int32_t packed = program.add_buffer(constant_weights ? loop::BufferRole::kPrepared : loop::BufferRole::kScratch,
                                            packed_b_elements(s.problem, nr, s.groups) * 4);
  {
    PhaseBuilder phase(program, "conv_pack", tile.lanes, inputs_before(g, w), {}, {}, {packed});
    loop::Builder& b = phase.builder();
    Dag& dag = phase.dag();
    auto value = [&](Expr batch, Expr k, Expr n, Expr mask) {
      dag.forget();
      dag.set_tail(mask);
      std::vector<int64_t> extents = s.problem.taps;
      extents.push_back(s.problem.run);
      Index parts = dag.delinearize(k, extents);
      Expr r = parts.back();
      parts.pop_back();
      Step step = step_of(dag, b, s, parts, r);
      Index index{batch * s.out_channels + n + dag.lane(), step.channel};
      index.insert(index.end(), step.position.begin(), step.position.end());
      return dag.at(w, index);
    };
    emit_pack_b(b, s.problem, s.groups, nr, tile.lanes, phase.program_buffer(packed), value,
                [&](Expr v, int64_t lo, int64_t hi) { dag.note_range(v, lo, hi); });
    program.add_phase(phase, constant_weights);
  }

  int32_t copy = -1;
  if (s.copies) {
    int64_t elements = s.images * s.all_channels();
    for (int64_t n : s.padded) elements *= n;
    copy = program.add_buffer(loop::BufferRole::kScratch, elements * 4);
    build_copy(program, s, x, copy, tile.lanes);
  }

  std::vector<int32_t> reads;
  const auto weights_only = inputs_before(g, w), map_only = inputs_before(g, x);
  for (size_t k = 0; k < g.inputs.size(); ++k) {
    auto among = [&](const std::vector<int32_t>& list) { return std::find(list.begin(), list.end(), static_cast<int32_t>(k)) != list.end(); };
    const bool packed_away = among(weights_only) && !read_outside_of(g, w, g.inputs[k]);
    const bool copied_away = s.copies && among(map_only) && !read_outside_of(g, x, g.inputs[k]);
    if (!packed_away && !copied_away) reads.push_back(static_cast<int32_t>(k));
  }
  std::vector<int32_t> buffers{packed};
  if (s.copies) buffers.push_back(copy);
  PhaseBuilder phase(program, "conv", tile.lanes, reads, buffers, g.outputs, {});
  loop::Builder& b = phase.builder();
  Dag& dag = phase.dag();
  std::vector<int64_t> pixels{s.images};
  pixels.insert(pixels.end(), s.out.begin(), s.out.end());
  bool plain_rows = !s.copies;  // pixel m of the output reads pixel m of the map
  for (size_t k = 0; k < s.rank; ++k) plain_rows = plain_rows && s.kernel[k] == 1 && s.strides[k] == 1 && s.in[k] == s.out[k];
  const bool in_place = g.value(x).producer == graph::kNoNode && is_channels_last(g.value(x).type) && !s.copies;

  GemmCallbacks callbacks;
  callbacks.note_range = [&](Expr v, int64_t lo, int64_t hi) { dag.note_range(v, lo, hi); };
  callbacks.a = [&](Expr batch, Expr m, const std::vector<Expr>& taps, Expr r) {
    dag.forget();
    dag.set_tail({});
    if (!s.copies && !in_place) {
      Step step = step_of(dag, b, s, taps, r);
      Index at = dag.delinearize(m, pixels);
      Index index{at[0], batch * s.in_channels + step.channel};
      for (size_t k = 0; k < s.rank; ++k) index.push_back(dag.simplify(at[k + 1] * s.strides[k] + step.position[k] * s.dilations[k]));
      return dag.at(x, index);
    }
    // Address of the pixel's first tap, then the step's offset: r itself where the run is contiguous.
    Expr pixel = m;
    if (!plain_rows) {
      Index at = dag.delinearize(m, pixels);
      pixel = at[0];
      for (size_t k = 0; k < s.rank; ++k) pixel = pixel * s.padded[k] + at[k + 1] * s.strides[k];
    }
    Expr offset = b.integer(0);
    std::vector<Expr> position(s.rank, b.integer(0));
    Expr within = r;
    if (s.in_order) {
      within = taps[0];
      for (size_t k = 0; k + 1 < s.rank; ++k) position[k] = taps[k + 1];
      position.back() = r;
    } else {
      for (size_t k = 0; k < taps.size(); ++k) position[k] = taps[k];
    }
    for (size_t k = 0; k < s.rank; ++k)
      offset = offset * s.padded[k] + position[k] * s.dilations[k] - (s.clipped ? s.before[k] : 0);
    Expr address = pixel * s.all_channels() + batch * s.in_channels + offset * s.all_channels() + within;
    const loop::Buffer& from = s.copies ? phase.program_buffer(copy) : dag.buffer(x);
    return loop::load(b.context(), from, address);
  };
  if (s.problem.padded || s.problem.clipped) {
    callbacks.row_used = [&](Expr m, const std::vector<Expr>& taps, Expr r) {
      const Step step = step_of(dag, b, s, taps, r);
      const Index at = dag.delinearize(m, pixels);
      Expr inside;
      for (size_t k = 0; k < s.rank; ++k) {
        Expr p = at[k + 1] * s.strides[k] + step.position[k] * s.dilations[k] - s.before[k];
        Expr in = loop::both(loop::ge(p, b.integer(0)), loop::lt(p, b.integer(s.in[k])));
        inside = inside ? loop::both(inside, in) : in;
      }
      return inside;
    };
  }
  callbacks.epilogue = [&](Expr batch, Expr m, Expr n, Expr value, bool masked) {
    dag.forget();
    dag.set_tail(masked ? phase.tail_mask(n, s.problem.n) : Expr{});
    Expr channel = batch * s.out_channels + n + dag.lane();
    if (bias != graph::kNoValue) value = value + dag.at(bias, {channel});
    Index at = dag.delinearize(m, pixels);
    Index index{at[0], channel};
    index.insert(index.end(), at.begin() + 1, at.end());
    phase.finish(anchored.result, index, value);
  };
  emit_gemm(b, s.problem, tile, &phase.program_buffer(packed), callbacks);
  program.add_phase(phase, false);
  return program.take();
}

}  // namespace

Family conv_family() { return {"conv", 2, accepts, space, heuristic, cost, build}; }

}  // namespace frit::codegen
