// Random graphs: every pass and the whole pipeline keep what a graph computes, settle, tell the truth about
// changes, and give a text that does not depend on how the graph was built.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>

#include "graph/infer.h"
#include "graph/passes.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "support/agree.h"
#include "support/random_graph.h"

namespace frit::graph {
namespace {

using testing::Agreement;
using testing::disagreement;
using testing::random_graph;
using testing::random_inputs;
using testing::random_sizes;
using testing::RandomGraphOptions;

constexpr uint64_t kFirstSeed = 1;

// In f64, what rounds differently does so by 1e-16: no comparison or floor flips by accident.
RandomGraphOptions options_of(uint64_t seed) {
  RandomGraphOptions options;
  options.nodes = 4 + static_cast<int>(seed % 17);
  options.floats = {DType::kF64};
  options.symbols = seed % 2 == 0;
  return options;
}

std::optional<Graph> bound_graph(const Graph& symbolic, uint64_t seed) {
  Graph g = symbolic;
  if (!bind_sizes(g, random_sizes(symbolic, seed)).ok())
    return std::nullopt;  // a window larger than its input
  return g;
}

PassOptions checked() {
  PassOptions options;
  options.check_reports = true;
  return options;
}

TEST(PassesProperty, EachPassKeepsValues) {
  std::cout << "seeds from " << kFirstSeed << "\n";
  int compared = 0;
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 600; ++seed) {
    const auto g = bound_graph(random_graph(seed, options_of(seed)), seed);
    if (!g) continue;
    const auto inputs = random_inputs(*g, seed);
    for (const PassRow& row : pass_table()) {
      Graph after = *g;
      auto changed = row.run(after, {});
      ASSERT_TRUE(changed.ok()) << row.name << ", seed " << seed << ": " << changed.error().text() << "\n"
                                << print(*g);
      ASSERT_TRUE(verify(after).ok())
          << row.name << ", seed " << seed << ": " << verify(after).error().text();
      if (!*changed) {
        ASSERT_EQ(print(after), print(*g)) << row.name << " lies, seed " << seed;
        continue;
      }
      ASSERT_EQ(disagreement(*g, after, inputs, Agreement{.tolerance = 1e-9}), "")
          << row.name << ", seed " << seed << "\n"
          << print(*g) << print(after);
      ++compared;
    }
  }
  EXPECT_GT(compared, 1000);
}

TEST(PassesProperty, PipelineKeepsValuesAndSettles) {
  std::cout << "seeds from " << kFirstSeed << "\n";
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 1000; ++seed) {
    const auto g = bound_graph(random_graph(seed, options_of(seed)), seed);
    if (!g) continue;
    Graph after = *g;
    auto reports = run_passes(after, {}, checked());
    ASSERT_TRUE(reports.ok()) << "seed " << seed << ": " << reports.error().text() << "\n" << print(*g);
    ASSERT_EQ(disagreement(*g, after, random_inputs(*g, seed), Agreement{.tolerance = 1e-9}), "")
        << "seed " << seed << "\n"
        << print(*g) << print(after);
    for (const Node& node : after.nodes) ASSERT_FALSE(is_composite(node.op)) << print_node(after, node);
    const std::string once = print(after);
    ASSERT_TRUE(run_passes(after, {}, checked()).ok());
    ASSERT_EQ(print(after), once) << "seed " << seed;
  }
}

// Sizes may be bound before or after the passes.
TEST(PassesProperty, SymbolsMayBeBoundLater) {
  std::cout << "seeds from " << kFirstSeed << "\n";
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 600; ++seed) {
    RandomGraphOptions options = options_of(seed);
    options.symbols = true;
    const Graph symbolic = random_graph(seed, options);
    const auto g = bound_graph(symbolic, seed);
    if (!g) continue;
    Graph after = symbolic;
    auto reports = run_passes(after, {}, checked());
    ASSERT_TRUE(reports.ok()) << "seed " << seed << ": " << reports.error().text() << "\n" << print(symbolic);
    const Status bound = bind_sizes(after, random_sizes(symbolic, seed));
    ASSERT_TRUE(bound.ok()) << "seed " << seed << ": " << bound.error().text() << "\n"
                            << print(symbolic) << print(after);
    ASSERT_EQ(disagreement(*g, after, random_inputs(*g, seed), Agreement{.tolerance = 1e-9}), "")
        << "seed " << seed << "\n"
        << print(symbolic) << print(after);
  }
}

// Under strict, primitives keep every bit, NaN, infinities and both zeros included.
TEST(PassesProperty, StrictKeepsBits) {
  std::cout << "seeds from " << kFirstSeed << "\n";
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 600; ++seed) {
    RandomGraphOptions options = options_of(seed);
    options.floats = {DType::kF32};
    options.composites = false;
    options.tame = false;
    const auto g = bound_graph(random_graph(seed, options), seed);
    if (!g) continue;
    Graph after = *g;
    PassContext strict;
    strict.numerics = Numerics::kStrict;
    PassOptions passes = checked();
    // These round in other places, by design, the same on every machine.
    passes.disabled = {"fold_into_weights", "decompose"};
    auto reports = run_passes(after, strict, passes);
    ASSERT_TRUE(reports.ok()) << "seed " << seed << ": " << reports.error().text();
    ASSERT_EQ(
        disagreement(*g, after, random_inputs(*g, seed, true), Agreement{.exact = true, .may_fail = true}),
        "")
        << "seed " << seed << "\n"
        << print(*g) << print(after);
  }
}

// The same graph with its nodes in another topological order, values renumbered and everything renamed.
Graph rebuilt(const Graph& g, uint64_t seed) {
  std::mt19937_64 random(seed);
  Graph out;
  std::vector<ValueId> map(g.values.size(), kNoValue);
  for (ValueId v : g.inputs)
    map[static_cast<size_t>(v)] = out.add_input(g.value(v).type, "in" + std::to_string(random() % 97));
  std::vector<ValueId> constants;
  for (size_t v = 0; v < g.values.size(); ++v) {
    if (g.values[v].is_constant()) constants.push_back(static_cast<ValueId>(v));
  }
  std::shuffle(constants.begin(), constants.end(), random);
  for (ValueId v : constants)
    map[static_cast<size_t>(v)] = out.add_constant(g.value(v).type, g.value(v).constant, "w");
  std::vector<size_t> left(g.nodes.size());
  for (size_t i = 0; i < left.size(); ++i) left[i] = i;
  while (!left.empty()) {
    std::shuffle(left.begin(), left.end(), random);
    const auto ready = std::find_if(left.begin(), left.end(), [&](size_t n) {
      const auto& in = g.nodes[n].inputs;
      return std::all_of(in.begin(), in.end(),
                         [&](ValueId v) { return v == kNoValue || map[static_cast<size_t>(v)] != kNoValue; });
    });
    const Node& node = g.nodes[*ready];
    std::vector<ValueId> inputs;
    for (ValueId v : node.inputs) inputs.push_back(v == kNoValue ? kNoValue : map[static_cast<size_t>(v)]);
    std::vector<TensorType> types;
    for (ValueId v : node.outputs) types.push_back(v == kNoValue ? TensorType{} : g.value(v).type);
    const NodeId id =
        out.add_node(node.op, std::move(inputs), std::move(types), "n" + std::to_string(random() % 97));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue) continue;
      map[static_cast<size_t>(node.outputs[i])] = out.node(id).outputs[i];
    }
    left.erase(ready);
  }
  for (ValueId v : g.outputs) out.outputs.push_back(map[static_cast<size_t>(v)]);
  return out;
}

TEST(PassesProperty, TextDoesNotDependOnHowTheGraphWasBuilt) {
  std::cout << "seeds from " << kFirstSeed << "\n";
  int compared = 0;
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 400; ++seed) {
    const auto g = bound_graph(random_graph(seed, options_of(seed)), seed);
    if (!g) continue;
    Graph a = *g, b = rebuilt(*g, seed);
    ASSERT_TRUE(infer_all(b).ok()) << "seed " << seed;
    ASSERT_TRUE(run_passes(a, {}).ok() && run_passes(b, {}).ok());
    ASSERT_EQ(print(a), print(b)) << "seed " << seed << "\n" << print(*g);
    ++compared;
  }
  EXPECT_GT(compared, 200);
}

// Any prefix of the changes, as bisection makes them, is a sound graph with the same results.
TEST(PassesProperty, BisectionStopsAnywhere) {
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 60; ++seed) {
    const auto g = bound_graph(random_graph(seed, options_of(seed)), seed);
    if (!g) continue;
    for (int limit = 0; limit < 12; ++limit) {
      Graph after = *g;
      PassOptions options = checked();
      options.limit = limit;
      int changes = 0;
      options.after_change = [&](const PassRow&, const Graph&) { ++changes; };
      ASSERT_TRUE(run_passes(after, {}, options).ok());
      ASSERT_LE(changes, limit);
      ASSERT_TRUE(verify(after).ok());
      ASSERT_EQ(disagreement(*g, after, random_inputs(*g, seed), Agreement{.tolerance = 1e-9}), "")
          << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace frit::graph
