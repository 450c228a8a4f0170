#include "graph/eval.h"

#include "base/stop.h"
#include "graph/eval/call.h"

namespace frit::graph {
namespace {

using base::text_of;

// Runs a graph's nodes in order and keeps each value until its last use.
class Evaluation {
 public:
  Evaluation(const Graph& graph, const EvalOptions& options)
      : graph_(graph), options_(options), values_(graph.values.size()), uses_left_(graph.values.size(), 0) {}

  Result<std::vector<HostTensor>> run(std::span<const HostTensor> inputs) {
    FRIT_TRY(bind_inputs(inputs));
    FRIT_TRY(bind_constants());
    count_uses();
    for (const Node& node : graph_.nodes) {
      if (node.dead) continue;
      FRIT_TRY(base::check_stop(options_.stop));
      FRIT_TRY(run_one(node).with(describe(node)));
    }
    std::vector<HostTensor> outputs;
    for (ValueId id : graph_.outputs) {
      if (!is_value(id) || !value(id))
        return make_error(Code::kInternal, text_of("output %", id, " is never computed"));
      outputs.push_back(*value(id));
    }
    return outputs;
  }

 private:
  bool is_value(ValueId id) const { return id >= 0 && static_cast<size_t>(id) < values_.size(); }
  std::optional<HostTensor>& value(ValueId id) { return values_[static_cast<size_t>(id)]; }

  static std::string describe(const Node& node) {
    const std::string& kind = node.source_op.empty() ? op_name(node.op) : node.source_op;
    return node.name.empty() ? text_of("node ", kind) : text_of("node \"", node.name, "\" (", kind, ")");
  }
  std::string describe(ValueId id) const {
    const std::string& name = graph_.value(id).name;
    return name.empty() ? text_of("%", id) : text_of("\"", name, "\"");
  }

  // Names sizes by what the tensor has, and compares the rest of its type: false where that differs.
  bool unify(const TensorType& type, const HostTensor& tensor) {
    if (type.dtype != tensor.dtype() || type.shape.size() != tensor.shape().size()) return false;
    for (size_t axis = 0; axis < type.shape.size(); ++axis) {
      const Dim& dim = type.shape[axis];
      std::vector<std::string> symbols;
      dim.collect_symbols(symbols);
      if (symbols.size() == 1 && dim == Dim::symbol(symbols[0]))
        sizes_.emplace(symbols[0], tensor.shape()[axis]);
    }
    for (size_t axis = 0; axis < type.shape.size(); ++axis) {
      const auto extent = type.shape[axis].bind(sizes_).constant();
      if (extent && *extent != tensor.shape()[axis]) return false;
    }
    return true;
  }

  Status bind_inputs(std::span<const HostTensor> inputs) {
    if (inputs.size() != graph_.inputs.size()) {
      return make_error(Code::kInvalidArgument,
                        text_of("got ", inputs.size(), " inputs, the graph has ", graph_.inputs.size()));
    }
    // Twice: an expression over a size may stand before the input that names the size.
    for (int round = 0; round < 2; ++round) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        const ValueId id = graph_.inputs[i];
        if (!is_value(id)) return make_error(Code::kInternal, text_of("graph input ", i, " is not a value"));
        if (!unify(graph_.value(id).type, inputs[i])) {
          return make_error(Code::kInvalidArgument,
                            text_of("input ", describe(id), " is ", inputs[i].type_text(), ", expected ",
                                    type_text(graph_.value(id).type)));
        }
        if (round == 0) define(id, inputs[i]);
      }
    }
    return {};
  }

  Status bind_constants() {
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const Value& v = graph_.values[i];
      if (!v.is_constant()) continue;
      const ValueId id = static_cast<ValueId>(i);
      const auto shape = constant_shape(v.type.shape);
      if (!shape)
        return make_error(Code::kInternal, text_of("constant ", describe(id), " has no constant shape"));
      FRIT_ASSIGN(const int64_t count, checked_element_count(*shape));
      const size_t expected = static_cast<size_t>(count) * dtype_bytes(v.type.dtype);
      if (v.constant->size_bytes != expected) {
        return make_error(Code::kBadModel,
                          text_of("constant ", describe(id), " of type ", type_text(v.type), " has ",
                                  v.constant->size_bytes, " bytes, expected ", expected));
      }
      define(id, HostTensor::view(v.type.dtype, *shape, v.constant->bytes, v.constant));
    }
    return {};
  }

  void count_uses() {
    for (const Node& node : graph_.nodes) {
      if (node.dead) continue;
      for (ValueId id : node.inputs) {
        if (is_value(id)) ++uses_left_[static_cast<size_t>(id)];
      }
    }
    for (ValueId id : graph_.outputs) {
      if (is_value(id)) ++uses_left_[static_cast<size_t>(id)];
    }
  }

  void define(ValueId id, HostTensor tensor) {
    if (options_.observe) options_.observe(id, tensor);
    value(id) = std::move(tensor);
  }

  Status run_one(const Node& node) {
    std::vector<const HostTensor*> inputs;
    for (ValueId id : node.inputs) {
      if (id == kNoValue) {
        inputs.push_back(nullptr);
        continue;
      }
      if (!is_value(id) || !value(id))
        return make_error(Code::kInternal, text_of("input %", id, " is not computed yet"));
      inputs.push_back(&*value(id));
    }
    std::vector<TensorType> types;
    for (ValueId id : node.outputs) {
      if (id != kNoValue && !is_value(id))
        return make_error(Code::kInternal, text_of("output %", id, " is not a value"));
      types.push_back(id == kNoValue ? TensorType{} : graph_.value(id).type);
    }
    FRIT_ASSIGN(eval::Outputs results, eval::run_node(node.op, eval::Call{inputs, types, sizes_, options_}));
    if (results.size() < node.outputs.size()) {
      return make_error(Code::kInternal,
                        text_of("has ", node.outputs.size(), " outputs, but gives ", results.size()));
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      if (id == kNoValue) continue;
      if (!unify(types[i], results[i]) && options_.check_types) {
        return make_error(Code::kInternal, text_of("output ", i, " is ", results[i].type_text(),
                                                   ", but its type says ", type_text(types[i])));
      }
      define(id, std::move(results[i]));
      if (uses_left_[static_cast<size_t>(id)] == 0) value(id).reset();
    }
    for (ValueId id : node.inputs) {
      if (id != kNoValue && --uses_left_[static_cast<size_t>(id)] == 0) value(id).reset();
    }
    return {};
  }

  const Graph& graph_;
  const EvalOptions& options_;
  std::map<std::string, int64_t> sizes_;
  std::vector<std::optional<HostTensor>> values_;
  std::vector<int32_t> uses_left_;
};

}  // namespace

Result<std::vector<HostTensor>> evaluate(const Graph& graph, std::span<const HostTensor> inputs,
                                         const EvalOptions& options) {
  return Evaluation(graph, options).run(inputs);
}

}  // namespace frit::graph
