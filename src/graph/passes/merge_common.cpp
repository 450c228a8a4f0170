// Nodes that compute the same thing from the same operands become one; so do equal constants.
#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "base/hash.h"
#include "graph/passes/match.h"
#include "graph/passes/pass_functions.h"

namespace frit::graph {
namespace {

// Larger constants are equal only when they are the same bytes in memory: reading weights to compare them
// would cost more than it saves.
constexpr size_t kMaxComparedBytes = 4096;

uint64_t hash_type(const TensorType& type) {
  base::Hasher h;
  h.add(type.dtype).add(static_cast<uint64_t>(type.shape.size()));
  for (const Dim& d : type.shape) {
    if (d.is_constant())
      h.add(d.value());
    else
      h.add(d.text());
  }
  return h.finish().lo;
}

bool equal_constants(const Value& a, const Value& b) {
  if (!(a.type == b.type) || a.constant->size_bytes != b.constant->size_bytes) return false;
  if (a.constant->bytes == b.constant->bytes) return a.constant->bytes != nullptr || a.constant == b.constant;
  if (a.constant->bytes == nullptr || b.constant->bytes == nullptr ||
      a.constant->size_bytes > kMaxComparedBytes)
    return false;
  return std::memcmp(a.constant->bytes, b.constant->bytes, a.constant->size_bytes) == 0;
}

uint64_t hash_constant(const Value& v) {
  base::Hasher h;
  h.add(hash_type(v.type));
  const ConstantData& data = *v.constant;
  if (data.bytes != nullptr && data.size_bytes <= kMaxComparedBytes)
    h.update(data.bytes, data.size_bytes);
  else
    h.add(static_cast<uint64_t>(data.size_bytes));  // buckets of large ones are short
  return h.finish().lo;
}

bool merge_constants(Graph& graph) {
  std::unordered_map<uint64_t, std::vector<ValueId>> seen;
  std::vector<ValueId> target(graph.values.size(), kNoValue);
  auto canonical = [&](ValueId id) {
    if (id == kNoValue || !graph.value(id).is_constant()) return id;
    ValueId& to = target[static_cast<size_t>(id)];
    if (to != kNoValue) return to;
    auto& bucket = seen[hash_constant(graph.value(id))];
    for (ValueId other : bucket) {
      if (equal_constants(graph.value(id), graph.value(other))) return to = other;
    }
    bucket.push_back(id);
    return to = id;
  };
  bool changed = false;
  auto redirect = [&](ValueId& id) {
    const ValueId to = canonical(id);
    changed = changed || to != id;
    id = to;
  };
  for (Node& node : graph.nodes) std::for_each(node.inputs.begin(), node.inputs.end(), redirect);
  std::for_each(graph.outputs.begin(), graph.outputs.end(), redirect);
  if (changed) compact(graph);
  return changed;
}

// For finding only; the nodes keep their operands' order.
std::vector<ValueId> sorted_operands(const Node& node) {
  std::vector<ValueId> inputs = node.inputs;
  if (commutes(node.op)) std::sort(inputs.begin(), inputs.end());
  return inputs;
}

struct NodeHash {
  uint64_t operator()(const Rewriter& r, NodeId id, const std::vector<ValueId>& inputs) const {
    base::Hasher h;
    h.add(static_cast<uint64_t>(r.node(id).op.index()));
    if (const auto* unary = std::get_if<Unary>(&r.node(id).op)) h.add(unary->op);
    if (const auto* binary = std::get_if<Binary>(&r.node(id).op)) h.add(binary->op);
    for (ValueId v : inputs) h.add(v);
    for (ValueId v : r.node(id).outputs) h.add(v == kNoValue ? 0 : hash_type(r.type(v)));
    return h.finish().lo;
  }
};

}  // namespace

Result<bool> merge_common(Graph& graph, const PassContext&) {
  const bool constants_merged = merge_constants(graph);
  std::unordered_map<uint64_t, std::vector<NodeId>> seen;
  Result<bool> merged = Rewriter(graph).sweep([&](Rewriter& r, NodeId id) -> Result<bool> {
    const std::vector<ValueId> inputs = sorted_operands(r.node(id));
    auto& bucket = seen[NodeHash{}(r, id, inputs)];
    const std::vector<ValueId> outputs = r.node(id).outputs;
    for (NodeId other : bucket) {
      const Node& first = r.node(other);
      if (first.dead || !(first.op == r.node(id).op) || first.outputs.size() != outputs.size()) continue;
      if (sorted_operands(first) != inputs) continue;
      bool same = true;
      for (size_t i = 0; i < outputs.size(); ++i) {
        const ValueId a = first.outputs[i], b = outputs[i];
        same = same && (b == kNoValue || (a != kNoValue && r.type(a) == r.type(b)));
      }
      if (!same) continue;
      const std::vector<ValueId> to = first.outputs;
      for (size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i] != kNoValue) r.replace(outputs[i], to[i]);
      }
      return true;
    }
    bucket.push_back(id);
    return false;
  });
  if (!merged.ok()) return merged;
  return constants_merged || *merged;
}

}  // namespace frit::graph
