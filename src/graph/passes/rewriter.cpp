#include "graph/passes/rewriter.h"

#include <utility>

#include "base/try.h"
#include "graph/infer.h"
#include "graph/passes.h"

namespace frit::graph {
namespace {

// A node that grows into more nodes than this is a pair of rules that undo each other.
constexpr size_t kMaxGrowth = 1 << 14;

}  // namespace

ValueId Rewriter::resolve(ValueId id) {
  while (id != kNoValue && replaced_by_[static_cast<size_t>(id)] != kNoValue)
    id = replaced_by_[static_cast<size_t>(id)];
  return id;
}

Result<bool> Rewriter::sweep(const Visit& visit) {
  std::vector<Node> pending = std::exchange(graph_.nodes, {});
  graph_.nodes.reserve(pending.size() + pending.size() / 2);
  uses_.assign(graph_.values.size(), 0);
  replaced_by_.assign(graph_.values.size(), kNoValue);
  refined_.assign(graph_.values.size(), false);
  changed_ = false;
  const size_t values_before = graph_.values.size();
  for (const Node& node : pending) {
    if (node.dead) continue;
    for (ValueId v : node.inputs) {
      if (v != kNoValue) ++uses_[static_cast<size_t>(v)];
    }
  }
  for (ValueId v : graph_.outputs) ++uses_[static_cast<size_t>(v)];

  Status failed;
  for (Node& node : pending) {
    if (node.dead) {
      changed_ = true;
      continue;
    }
    append(std::move(node));
    // After an error the rest is kept as it is, so that the caller's graph is whole.
    if (failed.ok()) failed = visit_batch(graph_.nodes.size() - 1, visit);
  }
  for (ValueId& v : graph_.outputs) v = resolve(v);
  // A rule that gave up may have left a constant behind.
  if (changed_ || !failed.ok() || graph_.values.size() != values_before) compact(graph_);
  if (!failed.ok()) return std::move(failed).error();
  return changed_;
}

// The node at `first`, and all that rules add after it.
Status Rewriter::visit_batch(size_t first, const Visit& visit) {
  for (size_t i = first; i < graph_.nodes.size(); ++i) {
    if (i > first + kMaxGrowth) {
      return make_error(Code::kInternal,
                        "rules do not settle at node '" + current_name_ + "' (" + current_source_ + ")");
    }
    const auto id = static_cast<NodeId>(i);
    drop_if_unused(id);
    if (graph_.nodes[i].dead) continue;
    FRIT_TRY(refresh(id));
    FRIT_ASSIGN(const bool done, visit(*this, id));
    if (!done) continue;
    changed_ = true;
    drop_if_unused(id);
  }
  // What was visited early in the batch may read a value that was replaced later in it.
  for (size_t i = first + 1; i < graph_.nodes.size(); ++i) {
    if (!graph_.nodes[i].dead) FRIT_TRY(refresh(static_cast<NodeId>(i)));
  }
  return {};
}

Status Rewriter::refresh(NodeId id) {
  for (ValueId& v : graph_.node(id).inputs) v = resolve(v);
  return refine_types(id);
}

void Rewriter::append(Node node) {
  const auto id = static_cast<NodeId>(graph_.nodes.size());
  for (ValueId& v : node.inputs) v = resolve(v);
  // f(x, absent) and f(x) are one spelling.
  while (!node.inputs.empty() && node.inputs.back() == kNoValue) {
    node.inputs.pop_back();
    changed_ = true;
  }
  for (ValueId v : node.outputs) {
    if (v != kNoValue) graph_.value(v).producer = id;
  }
  current_name_ = node.name;
  current_source_ = node.source_op;
  graph_.nodes.push_back(std::move(node));
}

Status Rewriter::refine_types(NodeId id) {
  bool stale = false;
  for (ValueId v : node(id).inputs) stale = stale || (v != kNoValue && refined_[static_cast<size_t>(v)]);
  if (!stale) return {};
  FRIT_ASSIGN(std::vector<InferredValue> inferred, infer_outputs(id));
  for (size_t i = 0; i < inferred.size(); ++i) {
    const ValueId out = node(id).outputs[i];
    if (out == kNoValue) continue;
    Value& v = graph_.value(out);
    if (v.type == inferred[i].type && v.known == inferred[i].known) continue;
    v.type = std::move(inferred[i].type);
    v.known = std::move(inferred[i].known);
    refined_[static_cast<size_t>(out)] = true;
    changed_ = true;
  }
  return {};
}

Result<std::vector<InferredValue>> Rewriter::infer_outputs(NodeId id) const {
  auto inferred = infer_node(graph_, node(id));
  if (!inferred.ok()) return std::move(inferred).with(node_label(node(id)));
  return inferred;
}

Result<ValueId> Rewriter::add(Op op, std::vector<ValueId> inputs) {
  const ValueId out = add_typed(std::move(op), std::move(inputs), {});
  FRIT_ASSIGN(std::vector<InferredValue> inferred, infer_outputs(value(out).producer));
  graph_.value(out).type = std::move(inferred[0].type);
  graph_.value(out).known = std::move(inferred[0].known);
  return out;
}

ValueId Rewriter::add_typed(Op op, std::vector<ValueId> inputs, TensorType type) {
  for (ValueId v : inputs) {
    if (v != kNoValue) ++uses_[static_cast<size_t>(v)];
  }
  const NodeId id = graph_.add_node(std::move(op), std::move(inputs), {std::move(type)}, current_name_);
  graph_.node(id).source_op = current_source_;
  uses_.push_back(0);
  replaced_by_.push_back(kNoValue);
  refined_.push_back(false);
  return graph_.node(id).outputs[0];
}

ValueId Rewriter::add_constant(TensorType type, std::shared_ptr<const ConstantData> data) {
  uses_.push_back(0);
  replaced_by_.push_back(kNoValue);
  refined_.push_back(false);
  std::string name = data->name;
  return graph_.add_constant(std::move(type), std::move(data), std::move(name));
}

void Rewriter::replace(ValueId from, ValueId to) {
  if (from == to) return;
  const auto f = static_cast<size_t>(from), t = static_cast<size_t>(to);
  replaced_by_[f] = to;
  uses_[t] += std::exchange(uses_[f], 0);
  // A finer type, or contents that are known now, may settle what follows.
  if (refined_[f] || !(value(from).type == value(to).type) || value(from).known != value(to).known ||
      value(to).is_constant()) {
    refined_[t] = true;
  }
  if (value(to).name.empty() && value(to).producer != kNoNode) graph_.value(to).name = value(from).name;
  changed_ = true;
}

void Rewriter::drop_if_unused(NodeId id) {
  std::vector<NodeId> stack = {id};
  while (!stack.empty()) {
    Node& candidate = graph_.node(stack.back());
    stack.pop_back();
    if (candidate.dead) continue;
    bool used = false;
    for (ValueId v : candidate.outputs) used = used || (v != kNoValue && uses(v) > 0);
    if (used) continue;
    candidate.dead = true;
    changed_ = true;
    for (ValueId v : candidate.inputs) {
      if (v == kNoValue) continue;
      if (--uses_[static_cast<size_t>(v)] == 0 && value(v).producer != kNoNode)
        stack.push_back(value(v).producer);
    }
  }
}

bool rule_allowed(const Rule& rule, const PassContext& context) {
  if (context.numerics != Numerics::kStrict) return true;
  return rule.exactness == Exactness::kExact || rule.exactness == Exactness::kFolded;
}

Result<bool> apply_rules(Graph& graph, const PassContext& context, std::span<const Rule> rules) {
  std::vector<const Rule*> allowed;
  for (const Rule& rule : rules) {
    if (rule_allowed(rule, context)) allowed.push_back(&rule);
  }
  return Rewriter(graph).sweep([&](Rewriter& r, NodeId id) -> Result<bool> {
    for (const Rule* rule : allowed) {
      Result<bool> done = rule->apply(r, id);
      if (!done.ok()) return std::move(done).with(std::string("rule ") + rule->name);
      if (*done) return true;
    }
    return false;
  });
}

}  // namespace frit::graph
