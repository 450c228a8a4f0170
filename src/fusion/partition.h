// Cuts a graph into clusters of nodes, each of which a family takes as one group: greedy contraction of edges, in
// topological order, where the families agree and the roofline model says that fusing does not lose.
#pragma once

#include <vector>

#include "fusion/plan.h"

namespace frit::fusion {

struct Partition {
  std::vector<std::vector<graph::NodeId>> clusters;  // in an order that respects data flow; without repeated views
  std::vector<bool> materialized;                    // per node: a view that a cluster computes
  std::vector<EdgeDecision> edges;                   // producer and consumer are node ids until make_plan renumbers them
};

Partition partition(const graph::Graph& graph, const FusionOptions& options);

}  // namespace frit::fusion
