// Computes what depends on constants only, if it is small; and turns contents that shape rules found out into
// constants.
//
// The work is done by the evaluator, so folding cannot disagree with the oracle. Large results are left to
// the kernels that run once at load: a node all of whose inputs are constant is the mark.
#include <cstring>
#include <optional>
#include <vector>

#include "base/try.h"
#include "graph/eval.h"
#include "graph/eval/element.h"
#include "graph/passes/match.h"
#include "graph/passes/pass_functions.h"

namespace frit::graph {
namespace {

// Results that only repeat or count stay nodes above this size, since consumers can read them without memory.
constexpr int64_t kGeneratedElems = 64;
constexpr double kMaxFlops = 1 << 24;
// Reading a large operand element by element costs time even where the result is small.
constexpr int64_t kMaxReadElems = 1 << 20;

bool is_generator(const Op& op) {
  return std::holds_alternative<Expand>(op) || std::holds_alternative<Iota>(op) ||
         std::holds_alternative<Fill>(op);
}

// These read only as many elements of their first operand as they produce.
bool reads_sparsely(const Op& op) {
  return std::holds_alternative<Gather>(op) || std::holds_alternative<GatherND>(op) ||
         std::holds_alternative<GatherElements>(op) || std::holds_alternative<Slice>(op) ||
         std::holds_alternative<DynamicSlice>(op) || std::holds_alternative<ShapeOf>(op);
}

class Folder {
 public:
  Folder(Rewriter& r, const PassContext& context) : r_(r), limit_(context.fold_limit_elems) {}

  Result<bool> visit(NodeId id) {
    if (materialise_known(id)) return true;
    if (share_reshaped_constant(id)) return true;
    const Op& op = r_.node(id).op;
    const bool generator = is_generator(op);
    const auto elements = output_elements(id);
    if (elements && (*elements > limit_ || (generator && *elements > kGeneratedElems))) return false;
    const auto results = evaluate(id);
    if (!results) return false;
    replace_outputs(id, *results);
    return true;
  }

 private:
  void replace_outputs(NodeId id, const std::vector<HostTensor>& results) {
    const std::vector<ValueId> outputs = r_.node(id).outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] != kNoValue) r_.replace(outputs[i], constant(r_.type(outputs[i]), results[i]));
    }
  }

  // Contents that shape rules found; integers only, since for floats they do not tell -0 from +0.
  bool materialise_known(NodeId id) {
    std::vector<HostTensor> results;
    for (ValueId v : r_.node(id).outputs) {
      if (v == kNoValue) return false;
      const TensorType& type = r_.type(v);
      const auto extents = constant_shape(type.shape);
      const auto ints = is_float(type.dtype) ? std::nullopt : constant_ints(r_.graph(), v);
      if (!extents || !ints) return false;
      auto tensor = HostTensor::allocate(type.dtype, *extents);
      if (!tensor.ok() || tensor->elements() != static_cast<int64_t>(ints->size())) return false;
      eval::store(*tensor, 0, tensor->elements(), ints->data());
      results.push_back(*std::move(tensor));
    }
    replace_outputs(id, results);
    return true;
  }

  // A reshaped constant is the same bytes, however large.
  bool share_reshaped_constant(NodeId id) {
    const Node& node = r_.node(id);
    if (!std::holds_alternative<Reshape>(node.op) || !r_.value(node.inputs[0]).is_constant()) return false;
    const Shape shape = r_.shape(node.outputs[0]);
    if (!constant_shape(shape) || !r_.type(node.inputs[0]).layout.is_plain()) return false;
    const ValueId out = node.outputs[0];
    r_.replace(out, reshape_constant(r_, node.inputs[0], shape));
    return true;
  }

  std::optional<int64_t> output_elements(NodeId id) const {
    int64_t sum = 0;
    for (ValueId v : r_.node(id).outputs) {
      const auto n = v == kNoValue ? 0 : constant_elements(r_.shape(v));
      if (!n) return std::nullopt;
      sum += *n;
    }
    return sum;
  }

  // The value as a tensor, where it is a constant or generated from constants.
  std::optional<HostTensor> tensor_of(ValueId v) {
    if (auto tensor = constant_tensor(r_.graph(), v)) return tensor;
    const NodeId producer = r_.value(v).producer;
    if (producer == kNoNode || !is_generator(r_.node(producer).op)) return std::nullopt;
    const auto elements = output_elements(producer);
    if (!elements || *elements > limit_) return std::nullopt;
    const auto results = evaluate(producer);
    if (!results) return std::nullopt;
    return results->front();
  }

  std::optional<std::vector<HostTensor>> evaluate(NodeId id) {
    const Node& node = r_.node(id);
    if (node_cost(r_.graph(), node).flops > kMaxFlops) return std::nullopt;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId v = node.inputs[i];
      if (v == kNoValue) continue;
      const Value& value = r_.value(v);
      const bool generated = value.producer != kNoNode && is_generator(r_.node(value.producer).op);
      if (!value.is_constant() && !generated) return std::nullopt;
      const bool sparse = i == 0 && reads_sparsely(node.op);
      const auto elements = constant_elements(value.type.shape);
      if (!sparse && (!elements || *elements > kMaxReadElems)) return std::nullopt;
    }
    std::vector<HostTensor> tensors(node.inputs.size());
    std::vector<const HostTensor*> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoValue) {
        inputs.push_back(nullptr);
        continue;
      }
      auto tensor = tensor_of(node.inputs[i]);
      if (!tensor) return std::nullopt;
      tensors[i] = *std::move(tensor);
      inputs.push_back(&tensors[i]);
    }
    std::vector<TensorType> types;
    for (ValueId v : node.outputs) types.push_back(v == kNoValue ? TensorType{} : r_.type(v));
    EvalOptions options;
    options.max_value_bytes = limit_ * 8;
    // An error (an index out of range, division by zero) is the run's to report, if the node ever runs.
    auto results = evaluate_node(node.op, inputs, types, options);
    if (!results.ok()) return std::nullopt;
    for (const HostTensor& t : *results) {
      if (t.elements() > limit_) return std::nullopt;
    }
    return *std::move(results);
  }

  ValueId constant(const TensorType& declared, const HostTensor& tensor) {
    TensorType type{declared.dtype, {}, {}};
    for (int64_t extent : tensor.shape()) type.shape.emplace_back(extent);
    const std::byte* bytes = tensor.bytes();
    const size_t width = dtype_bytes(type.dtype);
    bool uniform = tensor.elements() > kGeneratedElems;
    for (size_t at = width; uniform && at < tensor.size_bytes(); at += width) {
      uniform = std::memcmp(bytes, bytes + at, width) == 0;
    }
    if (uniform) {
      const ValueId scalar = r_.add_constant({type.dtype, {}, {}}, make_constant({bytes, bytes + width}));
      return r_.add_typed(Expand{}, {scalar}, type);
    }
    return r_.add_constant(type, make_constant({bytes, bytes + tensor.size_bytes()}));
  }

  Rewriter& r_;
  int64_t limit_;
};

}  // namespace

Result<bool> fold_constants(Graph& graph, const PassContext& context) {
  return Rewriter(graph).sweep(
      [&](Rewriter& r, NodeId id) -> Result<bool> { return Folder(r, context).visit(id); });
}

}  // namespace frit::graph
