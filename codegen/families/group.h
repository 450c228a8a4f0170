// Group: the part of a graph that becomes one Program; and its canonical text, which keys the tuning cache.
//
// Made by src/fusion, taken by families. A Group is a Graph of primitives with constant shapes. Constants of at most 16
// elements are inside it by value; larger ones are inputs that are marked constant, so that a family may repack them.
#pragma once

#include <string>
#include <vector>

#include "graph/ir.h"

namespace frit::codegen {

struct GroupInput {
  bool constant = false;    // a weight: prepare phases may read it, and its bytes never change
  bool caller = false;      // bound by the caller (a network input): element alignment, never overwritten
};

struct Group {
  graph::Graph graph;
  std::vector<GroupInput> inputs;         // parallel to graph.inputs
  graph::NodeId anchor = graph::kNoNode;  // the node that decides the family; none for pointwise groups
  std::vector<std::string> node_names;    // ONNX nodes that went into it; debug data

  // Canonical: graph text, layouts, constant marks. Names do not enter.
  std::string text() const;
};

}  // namespace frit::codegen
