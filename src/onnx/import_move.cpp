// Elements picked, placed and repeated.
#include <numeric>

#include "base/text.h"
#include "onnx/importers.h"

namespace frit::onnx {
namespace {

using base::quoted;
using base::text_of;

int64_t axis_attribute(NodeContext& c, ValueId x) { return c.axis(c.attr_int("axis", 0), c.rank(x)); }

ValueId as_i64(NodeContext& c, ValueId v) { return v == kNoValue ? v : c.cast(v, DType::kI64); }

std::optional<graph::PadMode> pad_mode(NodeContext& c) {
  const std::string mode = c.attr_string("mode", "constant");
  if (mode == "constant") return graph::PadMode::kConstant;
  if (mode == "reflect") return graph::PadMode::kReflect;
  if (mode == "edge") return graph::PadMode::kEdge;
  if (mode == "wrap" && c.since() >= 19) return graph::PadMode::kWrap;
  c.fail("mode is " + quoted(mode) + ", expected \"constant\", \"reflect\"" +
         (c.since() >= 19 ? ", \"edge\" or \"wrap\"" : " or \"edge\""));
  return std::nullopt;
}

graph::ScatterOp scatter_reduction(NodeContext& c) {
  const std::string how = c.attr_string("reduction", "none");
  if (how == "none") return graph::ScatterOp::kNone;
  if (how == "add") return graph::ScatterOp::kAdd;
  if (how == "mul") return graph::ScatterOp::kMul;
  if (how == "max" && c.since() >= 18) return graph::ScatterOp::kMax;
  if (how == "min" && c.since() >= 18) return graph::ScatterOp::kMin;
  c.fail("reduction is " + quoted(how) + ", expected \"none\", \"add\"" +
         (c.since() >= 18 ? ", \"mul\", \"max\" or \"min\"" : " or \"mul\""));
  return graph::ScatterOp::kNone;
}

// The sizes of a split, where they are known; empty where the parts are equal shares of an unknown dimension.
Ints split_sizes(NodeContext& c, const Dim& dim, int64_t parts) {
  if (c.since() < 13 && c.has_attr("split")) return c.attr_ints("split");
  if (!dim.is_constant()) return {};
  const int64_t size = dim.value();
  if (c.since() < 18 && size % parts != 0) {
    c.fail(text_of("dimension of size ", size, " is split into ", parts, " equal parts"));
    return {};
  }
  const int64_t chunk = (size + parts - 1) / parts;
  Ints sizes(static_cast<size_t>(parts), chunk);
  int64_t left = size;
  for (int64_t& s : sizes) {
    s = std::min(chunk, left);
    left -= s;
  }
  return sizes;
}

}  // namespace

void import_expand(NodeContext& c) { c.out(0, c.emit(graph::Expand{}, {c.in(0), c.in(1)})); }
void import_tile(NodeContext& c) { c.out(0, c.emit(graph::Tile{}, {c.in(0), c.in(1)})); }

void import_concat(NodeContext& c) {
  const int64_t axis = axis_attribute(c, c.in(0));
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < c.input_count(); ++i) inputs.push_back(c.in(i));
  c.out(0, inputs.size() == 1 ? inputs[0] : c.emit(graph::Concat{axis}, inputs));
}

void import_split(NodeContext& c) {
  const ValueId x = c.in(0);
  const auto parts = static_cast<int64_t>(c.output_count());
  const int64_t axis = axis_attribute(c, x);
  if (c.failed()) return;
  if (c.since() >= 18 && c.has_attr("num_outputs") == c.has(1))
    return c.fail("needs either the input split or the attribute num_outputs");
  if (c.has_attr("num_outputs") && c.attr_int("num_outputs", 0) != parts)
    return c.fail(
        text_of("num_outputs is ", c.attr_int("num_outputs", 0), ", but the node has ", parts, " outputs"));
  std::vector<ValueId> inputs = {x};
  if (c.has(1)) {
    inputs.push_back(as_i64(c, c.in(1)));
  } else {
    const Ints sizes = split_sizes(c, c.dim(x, axis), parts);
    if (!sizes.empty()) inputs.push_back(c.ints_constant(sizes));
  }
  const auto outs = c.emit_many(graph::Split{axis}, inputs, static_cast<size_t>(parts));
  for (size_t i = 0; i < outs.size(); ++i) c.out(i, outs[i]);
}

void import_slice(NodeContext& c) {
  ValueId starts = c.in(1), ends = c.in(2), axes = c.in(3);
  const ValueId steps = c.in(4);
  if (c.since() < 10) {
    starts = c.ints_constant(c.attr_ints("starts"));
    ends = c.ints_constant(c.attr_ints("ends"));
    if (c.has_attr("axes")) axes = c.ints_constant(c.attr_ints("axes"));
  }
  if (axes == kNoValue && steps != kNoValue) {  // DynamicSlice takes steps after axes only
    Ints all(static_cast<size_t>(std::max<int64_t>(0, c.known_dim(starts, 0, "starts"))));
    if (all.size() > c.shape(c.in(0)).size())
      return c.fail(text_of("starts has ", all.size(), " values for an input of rank ", c.rank(c.in(0))));
    std::iota(all.begin(), all.end(), 0);
    axes = c.ints_constant(all);
  }
  std::vector<ValueId> inputs = {c.in(0), as_i64(c, starts), as_i64(c, ends)};
  if (axes != kNoValue) inputs.push_back(as_i64(c, axes));
  if (steps != kNoValue) inputs.push_back(as_i64(c, steps));
  c.out(0, c.emit(graph::DynamicSlice{}, inputs));
}

void import_pad(NodeContext& c) {
  const ValueId x = c.in(0);
  const auto mode = pad_mode(c);
  if (!mode) return;
  const bool by_attribute = c.since() < 11;
  ValueId value = c.in(2);
  if (by_attribute && c.attr_float("value", 0) != 0) value = c.scalar_like(x, c.attr_float("value", 0));
  if (*mode != graph::PadMode::kConstant) value = kNoValue;
  if (value != kNoValue) value = c.reshape(value, {});

  const auto pads = by_attribute ? std::optional<Ints>(c.attr_ints("pads")) : c.ints(c.in(1));
  const auto axes = c.has(3) ? c.ints(c.in(3)) : std::optional<Ints>(Ints());
  if (!pads || !axes) {
    std::vector<ValueId> inputs = {x, as_i64(c, c.in(1))};
    if (value != kNoValue || c.has(3)) inputs.push_back(value != kNoValue ? value : c.scalar_like(x, 0));
    if (c.has(3)) inputs.push_back(as_i64(c, c.in(3)));
    return c.out(0, c.emit(graph::DynamicPad{*mode}, inputs));
  }
  Ints where = *axes;
  if (!c.has(3)) {
    where.resize(static_cast<size_t>(c.rank(x)));
    std::iota(where.begin(), where.end(), 0);
  }
  if (pads->size() != 2 * where.size())
    return c.fail(text_of("pads has ", pads->size(), " values, expected ", 2 * where.size()));
  Ints before(static_cast<size_t>(c.rank(x)), 0), after = before;
  for (size_t i = 0; i < where.size(); ++i) {
    const auto a = static_cast<size_t>(c.axis(where[i], c.rank(x), "axes"));
    if (c.failed()) return;
    before[a] = (*pads)[i];
    after[a] = (*pads)[i + where.size()];
  }
  std::vector<ValueId> inputs = {x};
  if (value != kNoValue) inputs.push_back(value);
  c.out(0, c.emit(graph::Pad{*mode, before, after}, inputs));
}

void import_gather(NodeContext& c) {
  c.out(0, c.emit(graph::Gather{axis_attribute(c, c.in(0))}, {c.in(0), c.in(1)}));
}
void import_gather_elements(NodeContext& c) {
  c.out(0, c.emit(graph::GatherElements{axis_attribute(c, c.in(0))}, {c.in(0), c.in(1)}));
}
void import_gather_nd(NodeContext& c) {
  c.out(0, c.emit(graph::GatherND{c.attr_int("batch_dims", 0)}, {c.in(0), c.in(1)}));
}
void import_scatter_elements(NodeContext& c) {
  const graph::ScatterOp how = scatter_reduction(c);
  c.out(0, c.emit(graph::ScatterElements{axis_attribute(c, c.in(0)), how}, {c.in(0), c.in(1), c.in(2)}));
}
void import_scatter_nd(NodeContext& c) {
  const graph::ScatterOp how = scatter_reduction(c);
  c.out(0, c.emit(graph::ScatterND{how}, {c.in(0), c.in(1), c.in(2)}));
}

// Gather at the places where the condition holds.
void import_compress(NodeContext& c) {
  ValueId x = c.in(0);
  int64_t axis = 0;
  if (c.has_attr("axis")) {
    axis = axis_attribute(c, x);
  } else {
    x = c.reshape(x, {graph::element_count(c.shape(x))});
  }
  if (!c.expect_rank(c.in(1), 1, 1, "condition")) return;
  const ValueId places = c.emit(graph::NonZero{}, {c.in(1)});
  c.out(0, c.emit(graph::Gather{axis}, {x, c.squeeze(places, {0})}));
}

void import_non_zero(NodeContext& c) { c.out(0, c.emit(graph::NonZero{}, {c.in(0)})); }

// Keeps the elements with column - row >= k (upper) or <= k (lower).
void import_trilu(NodeContext& c) {
  const ValueId x = c.in(0);
  const int64_t rank = c.rank(x);
  if (!c.expect_rank(x, 2, INT64_MAX, "input")) return;
  const Dim rows = c.dim(x, rank - 2), columns = c.dim(x, rank - 1);
  const ValueId row = c.emit_as(graph::Iota{0}, {}, {DType::kI64, {rows, 1}, {}});
  const ValueId column = c.emit_as(graph::Iota{1}, {}, {DType::kI64, {1, columns}, {}});
  const ValueId k = c.has(1) ? c.reshape(c.in(1), {}) : c.scalar(DType::kI64, 0);
  const bool upper = c.attr_int("upper", 1) != 0;
  const ValueId keep = c.binary(upper ? BinaryOp::kGe : BinaryOp::kLe, c.sub(column, row), k);
  c.out(0, c.select(keep, x, c.scalar_like(x, 0)));
}

}  // namespace frit::onnx
