// The passes of pass_table.cpp, one function per file. True: the graph changed.
//
// Each leaves a verified, compacted graph with inferred types, is deterministic, and keeps what the graph
// computes within the context's numerics. None keeps state between runs or knows what stands before or after
// it.
#pragma once

#include <span>

#include "frit/result.h"
#include "graph/ir.h"
#include "graph/passes.h"
#include "graph/passes/rewriter.h"

namespace frit::graph {

Result<bool> eliminate_dead(Graph& graph, const PassContext& context);
Result<bool> fold_constants(Graph& graph, const PassContext& context);
Result<bool> resolve_shapes(Graph& graph, const PassContext& context);
Result<bool> decompose(Graph& graph, const PassContext& context);
Result<bool> unify_spellings(Graph& graph, const PassContext& context);
Result<bool> simplify_algebra(Graph& graph, const PassContext& context);
Result<bool> simplify_views(Graph& graph, const PassContext& context);
Result<bool> fold_into_weights(Graph& graph, const PassContext& context);
Result<bool> cancel_views(Graph& graph, const PassContext& context);
Result<bool> merge_common(Graph& graph, const PassContext& context);
Result<bool> order_nodes(Graph& graph, const PassContext& context);

// The rule tables behind some of the passes, for the tests that want to see every rule fire.
struct RuleTable {
  const char* pass;
  std::span<const Rule> rules;
};
std::span<const Rule> spelling_rules();
std::span<const Rule> algebra_rules();
std::span<const Rule> view_rules();
std::span<const Rule> weight_rules();
std::vector<RuleTable> rule_tables();

}  // namespace frit::graph
