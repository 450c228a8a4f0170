#include "fusion/partition.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "codegen/families/machine.h"
#include "codegen/families/phase.h"
#include "fusion/node_kinds.h"

namespace frit::fusion {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

// Element operations that a broadcast would repeat: at most this many per element are worth repeating.
constexpr double kFreeRepeatFlops = 2;

double elements(const Graph& g, ValueId v) { return static_cast<double>(codegen::value_elements(g, v)); }

class Partitioner {
 public:
  Partitioner(const Graph& g, const FusionOptions& options) : g_(g), options_(options), cluster_(g.nodes.size(), -1) {
    find_materialized();
    extractor_.emplace(g_, out_.materialized);
    find_sources();
  }

  Partition run() {
    for (size_t id = 0; id < g_.nodes.size(); ++id) {
      if (free_[id]) continue;
      cluster_[id] = static_cast<int32_t>(members_.size());
      members_.push_back({static_cast<NodeId>(id)});
      seconds_.push_back(estimate({static_cast<NodeId>(id)}).value_or(-1));
    }
    if (options_.fuse)
      for (size_t id = 0; id < g_.nodes.size(); ++id)
        if (!free_[id] && !host_[id]) fuse_with_producers(static_cast<NodeId>(id));
    order_clusters();
    return std::move(out_);
  }

 private:
  struct Source {
    NodeId node;    // not free
    ValueId value;  // what it gives
  };

  void find_materialized() {
    out_.materialized.assign(g_.nodes.size(), false);
    host_.assign(g_.nodes.size(), false);
    for (size_t id = 0; id < g_.nodes.size(); ++id) host_[id] = is_host_op(g_, g_.nodes[id]);
    auto need = [&](ValueId v) {
      if (v == graph::kNoValue) return;
      const NodeId p = g_.value(v).producer;
      if (p != graph::kNoNode && is_free(g_.node(p))) out_.materialized[static_cast<size_t>(p)] = true;
    };
    for (ValueId v : g_.outputs) need(v);
    for (size_t id = 0; id < g_.nodes.size(); ++id)
      if (host_[id])
        for (ValueId v : g_.nodes[id].inputs) need(v);
    for (size_t id = 0; id < g_.nodes.size(); ++id) free_.push_back(is_free(g_.nodes[id]) && !out_.materialized[id]);
  }

  // For each node: the nodes that it reads from, through views.
  void find_sources() {
    sources_.resize(g_.nodes.size());
    load_time_.assign(g_.nodes.size(), true);
    for (size_t id = 0; id < g_.nodes.size(); ++id) {
      auto& list = sources_[id];
      for (ValueId v : g_.nodes[id].inputs) {
        if (v == graph::kNoValue) continue;
        const NodeId p = g_.value(v).producer;
        if (p == graph::kNoNode) {
          load_time_[id] = load_time_[id] && g_.value(v).is_constant();
          continue;
        }
        load_time_[id] = load_time_[id] && load_time_[static_cast<size_t>(p)];
        if (free_[static_cast<size_t>(p)]) list.insert(list.end(), sources_[static_cast<size_t>(p)].begin(), sources_[static_cast<size_t>(p)].end());
        else list.push_back({p, v});
      }
    }
  }

  std::optional<double> estimate(const std::vector<NodeId>& nodes, std::string* why = nullptr) const {
    const PlanGroup group = extractor_->extract(nodes);
    const codegen::Family* family = codegen::find_family(group.group, options_.build, why);
    if (!family) return std::nullopt;
    return family->cost(group.group, family->heuristic(group.group, options_.build), options_.build).seconds + repeated_seconds(nodes);
  }

  // Work that is done more often in the group than alone: a value that is broadcast after it was computed.
  double repeated_flops(const std::vector<NodeId>& nodes) const {
    std::set<NodeId> inside(nodes.begin(), nodes.end());
    double flops = 0;
    for (NodeId id : nodes)
      for (const Source& s : sources_[static_cast<size_t>(id)]) {
        if (!inside.count(s.node) || std::get_if<graph::Reduce>(&g_.node(s.node).op) || is_row_value(s.node, inside)) continue;
        const double growth = elements(g_, g_.node(id).outputs[0]) / std::max(1.0, elements(g_, s.value));
        if (growth > 1 && graph::is_pointwise(g_.node(id).op)) flops += (growth - 1) * chain_flops(s.node, inside) * elements(g_, s.value);
      }
    return flops;
  }
  double repeated_seconds(const std::vector<NodeId>& nodes) const {
    return repeated_flops(nodes) / (codegen::machine_of(*options_.build.target, 1).flops / 4);
  }
  // Values that depend on a reduction of the group are computed once per row, not once per element.
  bool is_row_value(NodeId id, const std::set<NodeId>& inside) const {
    for (const Source& s : sources_[static_cast<size_t>(id)])
      if (inside.count(s.node) && (std::get_if<graph::Reduce>(&g_.node(s.node).op) || is_row_value(s.node, inside))) return true;
    return false;
  }
  double chain_flops(NodeId id, const std::set<NodeId>& inside) const {
    double flops = 1;
    if (const auto* u = std::get_if<graph::Unary>(&g_.node(id).op))
      if (u->op == graph::UnaryOp::kExp || u->op == graph::UnaryOp::kErf || u->op == graph::UnaryOp::kTanh || u->op == graph::UnaryOp::kSigmoid ||
          u->op == graph::UnaryOp::kSin || u->op == graph::UnaryOp::kCos || u->op == graph::UnaryOp::kLog)
        flops = 15;
    for (const Source& s : sources_[static_cast<size_t>(id)])
      if (inside.count(s.node)) flops += chain_flops(s.node, inside);
    return flops;
  }

  void fuse_with_producers(NodeId id) {
    // The producer whose result saves the most traffic first.
    std::vector<Source> order = sources_[static_cast<size_t>(id)];
    std::stable_sort(order.begin(), order.end(), [&](const Source& a, const Source& b) { return codegen::value_bytes(g_, a.value) > codegen::value_bytes(g_, b.value); });
    for (const Source& s : order) try_edge(s, id);
  }

  void try_edge(const Source& s, NodeId consumer) {
    const int32_t a = cluster_[static_cast<size_t>(s.node)], b = cluster_[static_cast<size_t>(consumer)];
    if (a == b) return;
    EdgeDecision edge;
    edge.value = s.value;
    edge.producer = s.node;
    edge.consumer = consumer;
    edge.bytes_saved = 2 * codegen::value_bytes(g_, s.value);
    edge.reason = refuse(s, consumer, a, b, edge);
    edge.fused = edge.reason.empty();
    if (edge.fused) {
      merge(a, b, edge.seconds_fused);
      edge.reason = "saves a store and a load";
    }
    out_.edges.push_back(std::move(edge));
  }

  // Why the clusters stay apart; empty when they may be merged.
  std::string refuse(const Source& s, NodeId consumer, int32_t a, int32_t b, EdgeDecision& edge) {
    if (host_[static_cast<size_t>(s.node)]) return "the producer is a host op";
    if (load_time_[static_cast<size_t>(s.node)] != load_time_[static_cast<size_t>(consumer)]) return "computed once at load";
    std::vector<NodeId> both = members_[static_cast<size_t>(a)];
    both.insert(both.end(), members_[static_cast<size_t>(b)].begin(), members_[static_cast<size_t>(b)].end());
    std::sort(both.begin(), both.end());
    int heavy = 0;
    for (NodeId id : both) heavy += is_heavy_anchor(g_.node(id));
    if (heavy > 1) return "two anchors";
    std::string why;
    const auto fused = estimate(both, &why);
    if (!fused) return "no family takes both: " + why;
    edge.seconds_fused = *fused;
    edge.seconds_cut = seconds_[static_cast<size_t>(a)] + seconds_[static_cast<size_t>(b)];
    if (repeated_flops(both) > kFreeRepeatFlops * elements(g_, g_.node(consumer).outputs[0])) return "would compute a broadcast value again for each element";
    if (edge.seconds_fused > edge.seconds_cut) return "the model expects a loss";
    if (makes_cycle(a, b)) return "another group lies between";
    return {};
  }

  // A path from a to b that leaves both: then neither could run before the other. Walks backwards from b, as far as
  // clusters that reach past a's first node.
  bool makes_cycle(int32_t a, int32_t b) const {
    const NodeId first = members_[static_cast<size_t>(a)].front();
    std::vector<int32_t> open;
    std::set<int32_t> seen{b};
    auto push_producers = [&](int32_t c) {
      for (NodeId id : members_[static_cast<size_t>(c)])
        for (const Source& s : sources_[static_cast<size_t>(id)]) {
          const int32_t from = cluster_[static_cast<size_t>(s.node)];
          if (from == c || (c == b && from == a)) continue;
          if (members_[static_cast<size_t>(from)].back() < first || !seen.insert(from).second) continue;
          open.push_back(from);
        }
    };
    push_producers(b);
    while (!open.empty()) {
      const int32_t c = open.back();
      open.pop_back();
      if (c == a) return true;
      push_producers(c);
    }
    return false;
  }

  void merge(int32_t a, int32_t b, double seconds) {
    auto& into = members_[static_cast<size_t>(a)];
    auto& from = members_[static_cast<size_t>(b)];
    for (NodeId id : from) cluster_[static_cast<size_t>(id)] = a;
    into.insert(into.end(), from.begin(), from.end());
    std::sort(into.begin(), into.end());
    from.clear();
    seconds_[static_cast<size_t>(a)] = seconds;
  }

  void order_clusters() {
    std::map<int32_t, std::set<int32_t>> before;
    std::vector<int32_t> left;
    for (size_t c = 0; c < members_.size(); ++c)
      if (!members_[c].empty()) left.push_back(static_cast<int32_t>(c));
    for (int32_t c : left)
      for (NodeId id : members_[static_cast<size_t>(c)])
        for (const Source& s : sources_[static_cast<size_t>(id)])
          if (cluster_[static_cast<size_t>(s.node)] != c) before[c].insert(cluster_[static_cast<size_t>(s.node)]);
    std::sort(left.begin(), left.end(), [&](int32_t x, int32_t y) { return members_[static_cast<size_t>(x)].front() < members_[static_cast<size_t>(y)].front(); });
    std::set<int32_t> done;
    while (!left.empty()) {
      const size_t count = left.size();
      std::vector<int32_t> rest;
      for (int32_t c : left) {
        const bool ready = std::all_of(before[c].begin(), before[c].end(), [&](int32_t p) { return done.count(p) > 0; });
        if (!ready) {
          rest.push_back(c);
          continue;
        }
        done.insert(c);
        out_.clusters.push_back(members_[static_cast<size_t>(c)]);
      }
      left = std::move(rest);
      if (left.size() == count) break;  // unreachable: merges keep the clusters acyclic
    }
  }

  const Graph& g_;
  const FusionOptions& options_;
  Partition out_;
  std::optional<Extractor> extractor_;
  std::vector<bool> free_, host_, load_time_;
  std::vector<std::vector<Source>> sources_;
  std::vector<int32_t> cluster_;
  std::vector<std::vector<NodeId>> members_;
  std::vector<double> seconds_;
};

}  // namespace

Partition partition(const Graph& graph, const FusionOptions& options) { return Partitioner(graph, options).run(); }

}  // namespace frit::fusion
