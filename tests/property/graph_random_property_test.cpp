// Random graphs: text round trips, the verifier is content, and the shape rules agree with what the evaluator
// makes.
#include <gtest/gtest.h>

#include <iostream>
#include <set>

#include "graph/eval.h"
#include "graph/infer.h"
#include "graph/op_fields.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "support/random_graph.h"

namespace frit::graph {
namespace {

using testing::random_graph;
using testing::random_inputs;
using testing::random_sizes;
using testing::RandomGraphOptions;

constexpr uint64_t kFirstSeed = 1;

RandomGraphOptions options_of(uint64_t seed) {
  RandomGraphOptions options;
  options.nodes = 4 + static_cast<int>(seed % 13);
  options.symbols = seed % 2 == 0;
  options.tame = seed % 3 != 0;
  if (seed % 5 == 0) options.floats = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16};
  return options;
}

TEST(RandomGraphs, TextRoundTrips) {
  std::cout << "seeds from " << kFirstSeed << "\n";
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 1000; ++seed) {
    const Graph g = random_graph(seed, options_of(seed));
    const std::string text = print(g);
    auto parsed = parse(text);
    ASSERT_TRUE(parsed.ok()) << "seed " << seed << ": " << parsed.error().text() << "\n" << text;
    ASSERT_EQ(print(*parsed), text) << "seed " << seed;
    ASSERT_EQ(parsed->nodes.size(), g.nodes.size()) << "seed " << seed;
    for (size_t n = 0; n < g.nodes.size(); ++n) {
      ASSERT_EQ(parsed->nodes[n].op, g.nodes[n].op) << "seed " << seed << ": " << print_node(g, g.nodes[n]);
      ASSERT_EQ(parsed->nodes[n].inputs, g.nodes[n].inputs)
          << "seed " << seed;  // compact() numbers as the text does
    }
    // The same seed gives the same graph.
    ASSERT_EQ(print(random_graph(seed, options_of(seed))), text) << "seed " << seed;
  }
}

TEST(RandomGraphs, VerifyAndInferAgain) {
  std::cout << "seeds from " << kFirstSeed << "\n";
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 1000; ++seed) {
    Graph g = random_graph(seed, options_of(seed));
    const Status status = verify(g);
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.error().text() << "\n" << print(g);
    const std::string before = print(g);
    const Status again = infer_all(g);
    ASSERT_TRUE(again.ok()) << "seed " << seed << ": " << again.error().text();
    ASSERT_EQ(print(g), before) << "seed " << seed;
  }
}

TEST(RandomGraphs, TypesAndKnownContentsAgreeWithTheEvaluator) {
  std::cout << "seeds from " << kFirstSeed << "\n";
  int evaluated = 0, known = 0;
  std::set<std::string_view> ops;
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 3000; ++seed) {
    const Graph symbolic = random_graph(seed, options_of(seed));
    Graph g = symbolic;
    const auto sizes = random_sizes(g, seed);
    // Some sizes do not fit (a window larger than the input); the message then names the node.
    if (const Status bound = bind_sizes(g, sizes); !bound.ok()) {
      ASSERT_NE(bound.error().text().find("node \"\" ("), std::string::npos) << bound.error().text();
      continue;
    }
    EvalOptions options;
    options.check_types = false;
    options.observe = [&](ValueId id, const HostTensor& tensor) {
      const Value& v = g.value(id);
      ASSERT_EQ(tensor.dtype(), v.type.dtype) << "seed " << seed << ", %" << id << "\n" << print(g);
      ASSERT_EQ(static_cast<size_t>(tensor.rank()), v.type.shape.size())
          << "seed " << seed << ", %" << id << "\n"
          << print(g);
      for (size_t k = 0; k < v.type.shape.size(); ++k) {
        if (!v.type.shape[k].is_constant()) continue;  // depends on data
        ASSERT_EQ(v.type.shape[k].value(), tensor.dim(static_cast<int64_t>(k)))
            << "seed " << seed << ", %" << id << "\n"
            << print(g);
      }
      // What was known with symbols must hold for these sizes too.
      for (const Graph* graph : {&symbolic, static_cast<const Graph*>(&g)}) {
        const auto& contents = graph->value(id).known;
        if (!contents) continue;
        ++known;
        ASSERT_EQ(static_cast<int64_t>(contents->size()), tensor.elements())
            << "seed " << seed << ", %" << id;
        for (size_t i = 0; i < contents->size(); ++i) {
          ASSERT_EQ((*contents)[i].bind(sizes), Dim(tensor.as_int64(static_cast<int64_t>(i))))
              << "seed " << seed << ", %" << id << "\n"
              << print(g);
        }
      }
    };
    const auto inputs = random_inputs(g, seed);
    auto outputs = evaluate(g, inputs, options);
    ASSERT_TRUE(outputs.ok()) << "seed " << seed << ": " << outputs.error().text() << "\n" << print(g);
    if (HasFatalFailure()) return;
    ++evaluated;
    for (const Node& node : g.nodes) ops.insert(kOpBaseNames[node.op.index()]);
  }
  EXPECT_GT(evaluated, 2000);
  EXPECT_GT(known, 1000);
  // The generator must reach every op.
  for (std::string_view name : kOpBaseNames) EXPECT_TRUE(ops.count(name)) << name;
}

TEST(RandomGraphs, DamagedTextIsRefusedOrParsesToAStableGraph) {
  std::cout << "seeds from " << kFirstSeed << "\n";
  int accepted = 0;
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 1500; ++seed) {
    std::string text = print(random_graph(seed, options_of(seed)));
    uint64_t state = seed * 6364136223846793005u + 1;
    auto below = [&state](size_t n) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      return static_cast<size_t>(state >> 33) % n;
    };
    for (size_t i = below(2) + 1; i > 0; --i) {
      const char other = text[below(text.size())];
      if (below(3) == 0) {
        text.erase(below(text.size()), 1 + below(3));
      } else {
        text[below(text.size())] = other;
      }
    }
    auto parsed = parse(text, {.max_constant_bytes = 1 << 20});
    if (!parsed.ok()) continue;
    ++accepted;
    const std::string printed = print(*parsed);
    auto again = parse(printed, {.max_constant_bytes = 1 << 20});
    ASSERT_TRUE(again.ok()) << again.error().text() << "\n" << printed;
    ASSERT_EQ(print(*again), printed);
    // Neither may crash, whatever the types have become.
    const bool sound = verify(*parsed).ok();
    const Status inferred = infer_all(*parsed);
    if (sound) {
      EXPECT_TRUE(inferred.ok()) << inferred.error().text() << "\n" << printed;
    }
  }
  EXPECT_GT(accepted, 50);
}

}  // namespace
}  // namespace frit::graph
