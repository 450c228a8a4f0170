#include <algorithm>
#include <map>

#include "base/text.h"
#include "base/try.h"
#include "codegen/families/phase.h"
#include "fusion/layouts.h"
#include "fusion/node_kinds.h"
#include "fusion/partition.h"
#include "fusion/plan.h"

namespace frit::fusion {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

namespace {

Status check_static(const Graph& g) {
  for (const auto& node : g.nodes) {
    if (graph::is_composite(node.op))
      return make_error(Code::kInternal, base::text_of("node \"", node.name, "\" (", graph::op_name(node.op), ") was not taken apart before fusion"));
    for (ValueId v : node.outputs)
      if (!graph::constant_shape(g.value(v).type.shape))
        return make_error(Code::kUnsupported, base::text_of("node \"", node.name, "\" (", node.source_op.empty() ? graph::op_name(node.op) : node.source_op,
                                                            "): output shape ", graph::shape_text(g.value(v).type.shape), " depends on data"));
  }
  return {};
}

// Groups in order from clusters, with family names and totals.
Plan assemble(Graph graph, const std::vector<std::vector<NodeId>>& clusters, const std::vector<bool>& materialized, const FusionOptions& options) {
  Plan plan;
  plan.graph = std::move(graph);
  const Graph& g = plan.graph;
  const Extractor extractor(g, materialized);
  std::vector<int32_t> times(g.nodes.size(), 0);
  std::vector<bool> made_at_load(g.values.size(), false);  // a constant for those who read it
  for (const auto& nodes : clusters) {
    PlanGroup group = extractor.extract(nodes);
    const bool host = nodes.size() == 1 && is_host_op(g, g.node(nodes[0]));
    if (!host) {
      const codegen::Family* family = codegen::find_family(group.group, options.build, nullptr);
      if (family) group.family = family->name;
    }
    group.load_time = !group.inputs.empty();
    for (size_t k = 0; k < group.inputs.size(); ++k) {
      const auto v = static_cast<size_t>(group.inputs[k]);
      group.load_time = group.load_time && (g.values[v].is_constant() || made_at_load[v]);
      if (made_at_load[v]) group.group.inputs[k].constant = true;
    }
    if (group.load_time)
      for (ValueId v : group.outputs) made_at_load[static_cast<size_t>(v)] = true;
    for (NodeId id : group.nodes) {
      if (++times[static_cast<size_t>(id)] < 2) continue;
      ++plan.summary.duplicated_nodes;
      plan.summary.duplicated_flops += graph::node_cost(g, g.node(id)).flops;
    }
    if (!group.load_time) {
      ++plan.summary.launches;
      for (ValueId v : group.inputs) plan.summary.bytes += codegen::value_bytes(g, v);
      for (ValueId v : group.outputs) plan.summary.bytes += codegen::value_bytes(g, v);
    }
    plan.groups.push_back(std::move(group));
  }
  for (const auto& node : g.nodes) {
    ++plan.summary.launches_unfused;
    for (ValueId v : node.inputs)
      if (v != graph::kNoValue) plan.summary.bytes_unfused += codegen::value_bytes(g, v);
    for (ValueId v : node.outputs) plan.summary.bytes_unfused += codegen::value_bytes(g, v);
  }
  return plan;
}

Status check_families(const Plan& plan, const FusionOptions& options) {
  if (options.build.target->is_gpu()) return {};  // where not every family has a schedule yet
  for (const PlanGroup& group : plan.groups) {
    if (!group.family.empty() || (group.nodes.size() == 1)) continue;
    // A host op with views before it: the views were materialized, so the group is one node.
    return make_error(Code::kInternal, base::text_of("no family takes the group of node \"", group.group.node_names.empty() ? "" : group.group.node_names[0], "\""));
  }
  return {};
}

}  // namespace

Result<Plan> make_plan(Graph graph, const FusionOptions& options) {
  FRIT_TRY(check_static(graph));
  assign_layouts(graph);
  Partition cut = partition(graph, options);
  Plan plan = assemble(std::move(graph), cut.clusters, cut.materialized, options);
  FRIT_TRY(check_families(plan, options));
  std::map<NodeId, int32_t> group_of;
  for (size_t k = 0; k < cut.clusters.size(); ++k)
    for (NodeId id : cut.clusters[k]) group_of[id] = static_cast<int32_t>(k);
  for (EdgeDecision& edge : cut.edges) {
    edge.producer = group_of[edge.producer];
    edge.consumer = group_of[edge.consumer];
    // An edge that was refused first and closed by a later merge is inside of a group after all.
    if (!edge.fused && edge.producer == edge.consumer) continue;
    plan.edges.push_back(std::move(edge));
  }
  return plan;
}

std::string Plan::record() const {
  std::string out = "frit-plan 1\n";
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const auto& node = graph.nodes[id];
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const auto& order = graph.value(node.outputs[k]).type.layout.order;
      if (order.empty()) continue;
      out += base::text_of("layout ", id, " ", k, " ");
      for (int64_t axis : order) out += std::to_string(axis);
      out += '\n';
    }
  }
  std::map<NodeId, int> owner;
  for (const PlanGroup& group : groups) {
    out += "group";
    out += group.family.empty() ? " host" : " " + group.family;
    for (NodeId id : group.nodes) {
      const auto& node = graph.node(id);
      // Views that only this group repeats are found again from what reads them.
      const bool computed = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) { return std::find(group.outputs.begin(), group.outputs.end(), v) != group.outputs.end(); });
      if (is_free(node) && !computed) continue;
      out += " " + std::to_string(id);
    }
    out += '\n';
  }
  return out;
}

Result<Plan> plan_from_record(Graph graph, std::string_view record, const FusionOptions& options) {
  auto bad = [](std::string what) { return make_error(Code::kCorrupt, "plan record: " + std::move(what)); };
  FRIT_TRY(check_static(graph));
  std::vector<std::vector<NodeId>> clusters;
  std::vector<std::string> families;
  std::vector<bool> materialized(graph.nodes.size(), false), seen(graph.nodes.size(), false);
  bool first = true;
  while (!record.empty()) {
    const size_t end = record.find('\n');
    std::string_view line = record.substr(0, end);
    record = end == std::string_view::npos ? std::string_view{} : record.substr(end + 1);
    std::vector<std::string_view> words;
    while (!line.empty()) {
      const size_t space = line.find(' ');
      if (space != 0) words.push_back(line.substr(0, space));
      line = space == std::string_view::npos ? std::string_view{} : line.substr(space + 1);
    }
    if (words.empty()) continue;
    if (first) {
      if (words.size() != 2 || words[0] != "frit-plan" || words[1] != "1") return bad("unknown version");
      first = false;
      continue;
    }
    auto number = [&](std::string_view word, size_t limit) -> std::optional<size_t> {
      const auto n = base::parse_number<uint64_t>(word);
      if (!n || *n >= limit) return std::nullopt;
      return static_cast<size_t>(*n);
    };
    if (words[0] == "layout" && words.size() == 4) {
      const auto id = number(words[1], graph.nodes.size());
      if (!id) return bad("a layout of a node that is not there");
      const auto k = number(words[2], graph.nodes[*id].outputs.size());
      if (!k) return bad("a layout of an output that is not there");
      graph::TensorType& type = graph.value(graph.nodes[*id].outputs[*k]).type;
      graph::Layout layout;
      for (char c : words[3]) layout.order.push_back(c - '0');
      auto sorted = layout.order;
      std::sort(sorted.begin(), sorted.end());
      for (size_t a = 0; a < sorted.size(); ++a)
        if (sorted[a] != static_cast<int64_t>(a)) return bad("a layout that is no permutation");
      if (sorted.size() != type.shape.size()) return bad("a layout of another rank");
      type.layout = std::move(layout);
    } else if (words[0] == "group" && words.size() >= 3) {
      std::vector<NodeId> nodes;
      for (size_t w = 2; w < words.size(); ++w) {
        const auto id = number(words[w], graph.nodes.size());
        if (!id || seen[*id]) return bad("a group of a node that is not there, or that is in another group");
        seen[*id] = true;
        if (is_free(graph.nodes[*id])) materialized[*id] = true;
        nodes.push_back(static_cast<NodeId>(*id));
      }
      families.emplace_back(words[1]);
      clusters.push_back(std::move(nodes));
    } else {
      return bad("unknown line '" + std::string(words[0]) + "'");
    }
  }
  for (size_t id = 0; id < graph.nodes.size(); ++id)
    if (!seen[id] && !is_free(graph.nodes[id])) return bad("a node is in no group");
  Plan plan = assemble(std::move(graph), clusters, materialized, options);
  FRIT_TRY(check_families(plan, options));
  // Data flow: what a group reads must be there before it.
  std::vector<bool> made(plan.graph.values.size(), false);
  for (size_t v = 0; v < plan.graph.values.size(); ++v) made[v] = plan.graph.values[v].producer == graph::kNoNode;
  for (size_t k = 0; k < plan.groups.size(); ++k) {
    const PlanGroup& group = plan.groups[k];
    if ((group.family.empty() ? "host" : group.family) != families[k]) return bad("family '" + families[k] + "' does not take its group");
    for (ValueId v : group.inputs)
      if (!made[static_cast<size_t>(v)]) return bad("groups are not in the order of the data");
    for (ValueId v : group.outputs) made[static_cast<size_t>(v)] = true;
  }
  return plan;
}

}  // namespace frit::fusion
