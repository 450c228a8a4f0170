// Shapes that are known leave the graph as data: operands that only carried them are dropped, and operators
// that read their geometry from tensors become the static ones.
//
// A shape is settled when it is made of numbers and of sizes that the graph's inputs name; sizes that a node
// defines at run time (NonZero ...) keep their operands.
#include <algorithm>
#include <set>
#include <string>

#include "base/try.h"
#include "graph/infer.h"
#include "graph/passes/match.h"
#include "graph/passes/pass_functions.h"

namespace frit::graph {
namespace {

class Resolver {
 public:
  Resolver(Rewriter& r, const std::set<std::string>& bindable) : r_(r), bindable_(bindable) {}

  Result<bool> visit(NodeId id) {
    const Node node = r_.node(id);
    out_ = node.outputs[0];
    if (out_ == kNoValue) return false;
    if (!settled(r_.shape(out_))) return false;
    if (std::holds_alternative<Reshape>(node.op) && node.inputs.size() == 2)
      return finish(Reshape{}, {node.inputs[0]});
    if (std::holds_alternative<Expand>(node.op) && node.inputs.size() == 2)
      return finish(Expand{}, {node.inputs[0]});
    if (const auto* fill = std::get_if<Fill>(&node.op)) return expand_fill(*fill);
    if (std::holds_alternative<Range>(node.op)) return count_range(node);
    if (const auto* resize = std::get_if<Resize>(&node.op)) return settle_resize(node, *resize);
    if (std::holds_alternative<DynamicSlice>(node.op)) return settle_slice(node);
    if (const auto* pad = std::get_if<DynamicPad>(&node.op)) return settle_pad(node, *pad);
    return false;
  }

 private:
  bool settled(const Shape& shape) const {
    std::vector<std::string> symbols;
    for (const Dim& d : shape) d.collect_symbols(symbols);
    return std::all_of(symbols.begin(), symbols.end(),
                       [&](const std::string& s) { return bindable_.count(s) > 0; });
  }

  Result<bool> finish(Op op, std::vector<ValueId> inputs) {
    r_.replace(out_, r_.add_typed(std::move(op), std::move(inputs), r_.type(out_)));
    return true;
  }

  // Fill(shape) = Expand(number)
  Result<bool> expand_fill(const Fill& fill) {
    const DType dtype = r_.type(out_).dtype;
    const auto* first =
        reinterpret_cast<const std::byte*>(&fill.bits);  // little-endian: the low bytes come first
    const ValueId scalar =
        r_.add_constant({dtype, {}, {}}, make_constant({first, first + dtype_bytes(dtype)}));
    return finish(Expand{}, {scalar});
  }

  // start, start + delta ... = iota * delta + start, for integers
  Result<bool> count_range(const Node& node) {
    const DType dtype = r_.type(out_).dtype;
    const auto start = constant_ints(r_.graph(), node.inputs[0]),
               delta = constant_ints(r_.graph(), node.inputs[2]);
    if (!start || !delta || start->size() != 1 || delta->size() != 1) return false;
    if (dtype != DType::kI64 && dtype != DType::kI32) return false;
    TensorType type = r_.type(out_);
    type.dtype = DType::kI64;
    ValueId y = r_.add_typed(Iota{0}, {}, type);
    if (dtype != DType::kI64) {
      FRIT_ASSIGN(y, r_.add(Cast{dtype}, {y}));
    }
    if ((*delta)[0] != 1) {
      FRIT_ASSIGN(
          y, r_.add(Binary{BinaryOp::kMul}, {y, add_scalar(r_, dtype, static_cast<double>((*delta)[0]))}));
    }
    if ((*start)[0] != 0) {
      FRIT_ASSIGN(
          y, r_.add(Binary{BinaryOp::kAdd}, {y, add_scalar(r_, dtype, static_cast<double>((*start)[0]))}));
    }
    r_.replace(out_, y);
    return true;
  }

  // The sizes are in the type. Scales stay, as an attribute, where they are not just out / in.
  Result<bool> settle_resize(const Node& node, const Resize& resize) {
    if (node.inputs.size() < 2 || node.inputs[1] == kNoValue) return false;
    Resize settled_resize = resize;
    settled_resize.by_scales = false;
    if (resize.by_scales) {
      const auto scales = constant_tensor(r_.graph(), node.inputs[1]);
      const auto in = constant_shape(r_.shape(node.inputs[0])), out = constant_shape(r_.shape(out_));
      if (!scales || !in || !out || scales->elements() != static_cast<int64_t>(in->size())) return false;
      bool plain = true;
      for (size_t i = 0; i < in->size(); ++i) {
        const auto scale = static_cast<float>(scales->as_double(static_cast<int64_t>(i)));
        settled_resize.scales.push_back(scale);
        plain = plain &&
                static_cast<double>(scale) * static_cast<double>((*in)[i]) == static_cast<double>((*out)[i]);
      }
      if (plain) settled_resize.scales.clear();
    }
    return finish(settled_resize, {node.inputs[0]});
  }

  // Bounds as ONNX clamps them: negative ones count from the end, then they are cut to the axis.
  Result<bool> settle_slice(const Node& node) {
    const Shape& in = r_.shape(node.inputs[0]);
    const auto operand = [&](size_t i) { return i < node.inputs.size() ? node.inputs[i] : kNoValue; };
    const auto starts = known_contents(r_.graph(), operand(1)), ends = known_contents(r_.graph(), operand(2));
    if (!starts || !ends || starts->size() != ends->size()) return false;
    std::vector<int64_t> axes, steps(starts->size(), 1);
    for (size_t i = 0; i < starts->size(); ++i) axes.push_back(static_cast<int64_t>(i));
    if (operand(3) != kNoValue) {
      const auto given = constant_ints(r_.graph(), operand(3));
      if (!given || given->size() != starts->size()) return false;
      axes = *given;
    }
    if (operand(4) != kNoValue) {
      const auto given = constant_ints(r_.graph(), operand(4));
      if (!given || given->size() != starts->size()) return false;
      steps = *given;
    }
    Slice slice{std::vector<Dim>(in.size()), std::vector<int64_t>(in.size(), 1)};
    for (size_t i = 0; i < starts->size(); ++i) {
      const int64_t axis = axes[i] < 0 ? axes[i] + static_cast<int64_t>(in.size()) : axes[i];
      if (axis < 0 || axis >= static_cast<int64_t>(in.size())) return false;
      const auto at = static_cast<size_t>(axis);
      const auto bounds = slice_bounds(in[at], (*starts)[i], (*ends)[i], steps[i]);
      if (!bounds) return false;
      slice.starts[at] = bounds->start;
      slice.steps[at] = steps[i];
    }
    if (!settled(slice.starts)) return false;
    return finish(slice, {node.inputs[0]});
  }

  Result<bool> settle_pad(const Node& node, const DynamicPad& pad) {
    const size_t rank = r_.shape(node.inputs[0]).size();
    const auto amounts = constant_ints(r_.graph(), node.inputs[1]);
    if (!amounts) return false;
    std::vector<int64_t> axes;
    for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
    if (node.inputs.size() > 3 && node.inputs[3] != kNoValue) {
      const auto given = constant_ints(r_.graph(), node.inputs[3]);
      if (!given) return false;
      axes = *given;
    }
    if (amounts->size() != 2 * axes.size()) return false;
    Pad settled_pad{pad.mode, std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 0)};
    for (size_t i = 0; i < axes.size(); ++i) {
      const int64_t axis = axes[i] < 0 ? axes[i] + static_cast<int64_t>(rank) : axes[i];
      if (axis < 0 || axis >= static_cast<int64_t>(rank)) return false;
      settled_pad.before[static_cast<size_t>(axis)] = (*amounts)[i];
      settled_pad.after[static_cast<size_t>(axis)] = (*amounts)[axes.size() + i];
    }
    std::vector<ValueId> inputs = {node.inputs[0]};
    if (node.inputs.size() > 2 && node.inputs[2] != kNoValue) inputs.push_back(node.inputs[2]);
    return finish(settled_pad, std::move(inputs));
  }

  Rewriter& r_;
  const std::set<std::string>& bindable_;
  ValueId out_ = kNoValue;
};

}  // namespace

Result<bool> resolve_shapes(Graph& graph, const PassContext&) {
  std::vector<std::string> names;
  for (ValueId v : graph.inputs) {
    for (const Dim& d : graph.value(v).type.shape) d.collect_symbols(names);
  }
  const std::set<std::string> bindable(names.begin(), names.end());
  return Rewriter(graph).sweep(
      [&](Rewriter& r, NodeId id) -> Result<bool> { return Resolver(r, bindable).visit(id); });
}

}  // namespace frit::graph
