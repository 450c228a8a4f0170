// Plan: a graph cut into groups, one kernel program each; what fusion hands to exec, explain and the tuner.
//
// The graph inside has constant shapes, is decomposed into primitives, and its values carry the chosen layouts. A plan
// is a value: `record()` is its text, which the store keeps and `from_record` replays, so that a warm start does not
// depend on the partitioner's code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/families/family.h"
#include "graph/ir.h"

namespace frit::fusion {

struct PlanGroup {
  codegen::Group group;                    // what the family gets and what keys the cache
  std::string family;                      // empty: a host op (one node, run by exec/host_ops)
  std::vector<graph::NodeId> nodes;        // of Plan::graph, in order; a view may appear in several groups
  std::vector<graph::ValueId> inputs;      // Plan::graph values, parallel to group.graph.inputs
  std::vector<graph::ValueId> outputs;     // parallel to group.graph.outputs
  bool load_time = false;                  // reads constants only: runs once per Model, not per run
};

// Why an edge between two groups was fused or cut, with the model's numbers; for `frit explain --groups`.
struct EdgeDecision {
  graph::ValueId value = graph::kNoValue;
  int32_t producer = -1, consumer = -1;    // group numbers in the final plan
  bool fused = false;
  double bytes_saved = 0;                  // traffic that fusing saves (or would save)
  double seconds_fused = 0, seconds_cut = 0;  // the roofline model's estimates
  std::string reason;
};

struct PlanSummary {
  int32_t launches_unfused = 0, launches = 0;
  double bytes_unfused = 0, bytes = 0;
  int32_t duplicated_nodes = 0;
  double duplicated_flops = 0;
};

struct Plan {
  graph::Graph graph;
  std::vector<PlanGroup> groups;           // in an order that respects data flow
  std::vector<EdgeDecision> edges;
  PlanSummary summary;

  // Layouts per value and node numbers per group; parses back through from_record with an equal graph.
  std::string record() const;
};

struct FusionOptions {
  codegen::BuildContext build;             // target, numerics, threads
  bool fuse = true;                        // false: one group per node, for comparisons
};

// anchors -> layouts -> groups. The graph must be verified, decomposed and of constant shapes.
Result<Plan> make_plan(graph::Graph graph, const FusionOptions& options);
// Rebuilds the plan that `record` describes; an error when it does not fit the graph (then make a plan anew).
Result<Plan> plan_from_record(graph::Graph graph, std::string_view record, const FusionOptions& options);

// Cuts node sets out of one graph as Groups. Free nodes (views) belong to whoever reads them and may be in several
// groups; those in `materialized` are computed by one group, which has their values as outputs.
class Extractor {
 public:
  Extractor(const graph::Graph& graph, std::vector<bool> materialized);
  // `nodes` without their free producers, which are added. Inputs are what is read from outside, outputs what is used
  // outside or by the graph.
  PlanGroup extract(const std::vector<graph::NodeId>& nodes) const;

 private:
  bool escapes(graph::ValueId value, const std::vector<bool>& inside) const;
  const graph::Graph& graph_;
  std::vector<bool> materialized_;
  std::vector<bool> free_;
  std::vector<bool> is_output_;
  std::vector<std::vector<graph::Use>> uses_;
};

}  // namespace frit::fusion
