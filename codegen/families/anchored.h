// What the families with one anchor (matmul, conv, pool, reduce ...) ask about a group: what comes before the anchor,
// what after it, and how an index of the anchor's result becomes an index of each output.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/families/dag.h"
#include "codegen/families/group.h"

namespace frit::codegen {

struct Anchored {
  const graph::Node* anchor = nullptr;
  graph::ValueId result = graph::kNoValue;
  std::vector<bool> downstream;   // per value: depends on the anchor's result
  int64_t epilogue_flops = 0;     // per element; transcendental functions count as 15
};

// True when the nodes after the anchor form an epilogue: pointwise without growth, or reshapes and transposes, so that
// each element of the result is used for exactly one element of each output; and Dag can evaluate all of them.
bool analyze_anchored(const Group& group, Anchored* out, std::string* why_not);

// The nodes before `value` are index maps only (reshape, transpose, slice, expand): free to evaluate more than once.
bool only_views_before(const graph::Graph& graph, graph::ValueId value, std::string* why_not);

// Inputs of the group's graph that `value` depends on (positions), and whether all of them are constants.
std::vector<int32_t> inputs_before(const graph::Graph& graph, graph::ValueId value);
bool is_constant_value(const Group& group, graph::ValueId value);

// The index of output `to` where element `index` of `from` ends up.
Index push_index(Dag& dag, const graph::Graph& graph, graph::ValueId from, graph::ValueId to, const Index& index);

// Program::in_place for an epilogue or pointwise group: inputs with an output's type that are read at the same index
// only, and not by the anchor. -1 where there is none.
std::vector<int32_t> in_place_candidates(const Group& group);

}  // namespace frit::codegen
