#include "graph/verify.h"

#include <algorithm>

#include "base/text.h"
#include "base/try.h"
#include "graph/infer.h"
#include "graph/text.h"

namespace frit::graph {
namespace {

template <class... Ts>
Error broken(const Ts&... parts) {
  return make_error(Code::kInternal, base::text_of(parts...));
}

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), defined_(graph.values.size(), false) {}

  Status run() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const ValueId id = graph_.inputs[i];
      FRIT_TRY(check_exists(id).with(base::text_of("graph input ", i)));
      FRIT_TRY(check_input(id).with(base::text_of("graph input ", i)));
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (!node.dead) FRIT_TRY(check_node(static_cast<NodeId>(n), node).with(print_node(graph_, node)));
    }
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const ValueId id = graph_.outputs[i];
      FRIT_TRY(check_exists(id).with(base::text_of("graph output ", i)));
      FRIT_TRY(check_use(id).with(base::text_of("graph output ", i)));
    }
    return {};
  }

 private:
  Status check_exists(ValueId id) const {
    if (id >= 0 && static_cast<size_t>(id) < graph_.values.size()) return {};
    return broken("value %", id, " does not exist, there are ", graph_.values.size());
  }
  bool is_defined(ValueId id) const { return defined_[static_cast<size_t>(id)]; }

  Status define(ValueId id) {
    if (is_defined(id)) return broken("%", id, " is defined twice");
    defined_[static_cast<size_t>(id)] = true;
    return check_value(id);
  }

  Status check_input(ValueId id) {
    const Value& v = graph_.value(id);
    if (v.is_constant()) return broken("%", id, " is a constant too");
    if (v.producer != kNoNode)
      return broken("%", id, " has node ", v.producer, " as its producer, expected none");
    return define(id);
  }

  // A value that a node or an output mentions: defined before, or a constant, which is defined by its first
  // use.
  Status check_use(ValueId id) {
    if (is_defined(id)) return {};
    const Value& v = graph_.value(id);
    if (!v.is_constant()) return broken("%", id, " is used before it is defined");
    if (v.producer != kNoNode)
      return broken("constant %", id, " has node ", v.producer, " as its producer, expected none");
    FRIT_TRY(define(id));
    const auto shape = constant_shape(v.type.shape);
    if (!shape)
      return broken("constant %", id, " has the shape ", shape_text(v.type.shape),
                    ", expected constant dimensions");
    size_t bytes = dtype_bytes(v.type.dtype);
    bool overflow = false;
    const bool empty = std::find(shape->begin(), shape->end(), 0) != shape->end();
    for (int64_t d : *shape)
      overflow = __builtin_mul_overflow(bytes, empty ? 0 : static_cast<size_t>(d), &bytes) || overflow;
    if (overflow || v.constant->size_bytes != bytes || (bytes > 0 && v.constant->bytes == nullptr)) {
      return broken("constant %", id, " of type ", type_text(v.type), " has ", v.constant->size_bytes,
                    " bytes");
    }
    return {};
  }

  // What holds for every defined value.
  Status check_value(ValueId id) const {
    const Value& v = graph_.value(id);
    for (const Dim& d : v.type.shape) {
      if (d.constant().value_or(0) < 0) return broken("%", id, " has the shape ", shape_text(v.type.shape));
    }
    if (!v.type.layout.is_plain()) {
      std::vector<int64_t> axes = v.type.layout.order;
      std::sort(axes.begin(), axes.end());
      bool ok = axes.size() == v.type.shape.size();
      for (size_t k = 0; ok && k < axes.size(); ++k) ok = axes[k] == static_cast<int64_t>(k);
      if (!ok) {
        return broken("%", id, " has the layout [", base::join(v.type.layout.order),
                      "], expected a permutation of ", v.type.shape.size(), " axes");
      }
    }
    const auto count = element_count(v.type.shape).constant();
    if (v.known && count && v.known->size() != static_cast<size_t>(*count)) {
      return broken("%", id, " has ", v.known->size(), " known elements, expected ", *count);
    }
    return {};
  }

  Status check_node(NodeId n, const Node& node) {
    for (ValueId id : node.inputs) {
      if (id == kNoValue) continue;
      FRIT_TRY(check_exists(id));
      FRIT_TRY(check_use(id));
    }
    for (size_t j = 0; j < node.outputs.size(); ++j) {
      const ValueId id = node.outputs[j];
      FRIT_TRY(check_exists(id));
      const Value& v = graph_.value(id);
      if (v.is_constant()) return broken("output %", id, " is a constant");
      if (v.producer != n || v.output_index != static_cast<int32_t>(j)) {
        return broken("%", id, " names output ", v.output_index, " of node ", v.producer,
                      " as its producer, expected output ", j, " of node ", n);
      }
      FRIT_TRY(define(id));
    }
    auto types = infer_types(graph_, node);
    if (!types.ok()) return broken(types.error().text());
    for (size_t j = 0; j < node.outputs.size(); ++j) FRIT_TRY(check_type(node.outputs[j], (*types)[j]));
    return {};
  }

  Status check_type(ValueId id, const TensorType& inferred) const {
    const TensorType& declared = graph_.value(id).type;
    bool ok = declared.dtype == inferred.dtype && declared.shape.size() == inferred.shape.size();
    for (size_t k = 0; ok && k < declared.shape.size(); ++k) {
      const Dim &a = declared.shape[k], &b = inferred.shape[k];
      ok = !a.is_constant() || !b.is_constant() || a == b;
    }
    if (ok) return {};
    return broken("%", id, " has the type ", type_text(declared), ", expected ", type_text(inferred));
  }

  const Graph& graph_;
  std::vector<bool> defined_;
};

}  // namespace

Status verify(const Graph& graph) { return Verifier(graph).run(); }

}  // namespace frit::graph
