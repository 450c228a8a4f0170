// Rewriter: one forward sweep over a graph, in which rules see each node after its operands are final for
// this sweep.
//
// Every rewriting pass is built on it. A rule never edits earlier nodes: it appends new ones after the node
// it looks at and redirects uses. Use counts stay exact, nodes that lose their last use die at once, new
// nodes are visited too, and types are inferred again where an operand's type was refined, so that long
// chains settle in a single sweep. It must not know what any rule does.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "frit/result.h"
#include "graph/ir.h"

namespace frit::graph {

struct InferredValue;

class Rewriter {
 public:
  // True when it changed something by replace(); it is then called again for the nodes that it added.
  using Visit = std::function<Result<bool>(Rewriter&, NodeId)>;

  // The graph must outlive the rewriter.
  explicit Rewriter(Graph& graph) : graph_(graph) {}

  // Visits all live nodes in order and compacts the graph if anything changed. True: something did.
  Result<bool> sweep(const Visit& visit);

  // ---- for rules, during the sweep ----
  const Graph& graph() const { return graph_; }
  const Node& node(NodeId id) const { return graph_.node(id); }
  const Value& value(ValueId id) const { return graph_.value(id); }
  const TensorType& type(ValueId id) const { return graph_.value(id).type; }
  const Shape& shape(ValueId id) const { return graph_.value(id).type.shape; }
  // How many node inputs and graph outputs read the value.
  int uses(ValueId id) const { return uses_[static_cast<size_t>(id)]; }
  bool single_use(ValueId id) const { return uses(id) == 1; }

  // The node that makes `id`, when its op is a T; else null. Valid until the next add().
  template <class T>
  const Node* producer(ValueId id) const {
    if (id == kNoValue) return nullptr;
    const NodeId made_by = graph_.value(id).producer;
    if (made_by == kNoNode) return nullptr;
    const Node& found = graph_.node(made_by);
    return std::holds_alternative<T>(found.op) ? &found : nullptr;
  }

  // Appends a node with one output of an inferred type. Errors: the operands do not fit the op.
  Result<ValueId> add(Op op, std::vector<ValueId> inputs);
  // For ops that take their shape from the output type: Reshape, Expand, Slice, Pad, Iota, Resize, Pool ...
  ValueId add_typed(Op op, std::vector<ValueId> inputs, TensorType type);
  ValueId add_constant(TensorType type, std::shared_ptr<const ConstantData> data);

  // All later uses of `from` read `to` instead. `to` must have the same contents and a type that is equal or
  // refined.
  void replace(ValueId from, ValueId to);

 private:
  ValueId resolve(ValueId id);
  void append(Node node);
  Status visit_batch(size_t first, const Visit& visit);
  Status refresh(NodeId id);
  Status refine_types(NodeId id);
  Result<std::vector<InferredValue>> infer_outputs(NodeId id) const;
  void drop_if_unused(NodeId id);

  Graph& graph_;
  std::vector<int> uses_;
  std::vector<ValueId> replaced_by_;
  std::vector<bool> refined_;  // the value's type or known contents changed in this sweep
  std::string current_name_, current_source_;
  bool changed_ = false;
};

// One equation. Rules are small, do one thing, and stand in a table per pass; tests/golden checks that each
// one fires.
enum class Exactness {
  kExact,       // the same bits, a NaN's sign and payload aside: always allowed
  kSignedZero,  // may turn -0 into +0 or back: not under strict
  kRounding,    // other roundings, as a reassociation gives: not under strict
  kFolded,      // one more rounding of a constant, the same on every machine: allowed under strict
};
struct Rule {
  const char* name;
  const char* equation;
  Exactness exactness;
  Result<bool> (*apply)(Rewriter&, NodeId);
};

struct PassContext;
// Sweeps the graph with those rules of the table that the context's numerics allow.
Result<bool> apply_rules(Graph& graph, const PassContext& context, std::span<const Rule> rules);
bool rule_allowed(const Rule& rule, const PassContext& context);

}  // namespace frit::graph
