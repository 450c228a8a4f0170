// The verifier: each kind of damage is found, and named by the printed node.
#include <gtest/gtest.h>

#include <functional>

#include "graph/infer.h"
#include "graph/text.h"
#include "graph/verify.h"

namespace frit::graph {
namespace {

Graph sound() {
  auto g = parse(R"(graph(%0: f32[2,s], %1: f32[4]) {
  %2 = const f32[1] [3]
  %3 = binary.add(%0, %2) : f32[2,s]
  %4 = const i64[1] [1]
  %5, %6 = topk(%3, %4) {axis=1 largest=true sorted=true} : f32[2,1], i64[2,1]
  %7 = reduce.sum(%3) {axes=[1] keepdims=false} : f32[2]
  return %7, %5, %0, %2
})");
  EXPECT_TRUE(g.ok()) << g.error().text();
  return *std::move(g);
}

TEST(Verify, SoundGraphsPass) {
  EXPECT_TRUE(verify(Graph{}).ok());
  const Status status = verify(sound());
  EXPECT_TRUE(status.ok()) << status.error().text();
  Graph bound = sound();
  ASSERT_TRUE(bind_sizes(bound, {{"s", 5}}).ok());
  EXPECT_TRUE(verify(bound).ok());
}

TEST(Verify, DamageIsFound) {
  const std::pair<std::function<void(Graph&)>, const char*> cases[] = {
      {[](Graph& g) { g.inputs[0] = 99; }, "graph input 0: value %99 does not exist, there are 8"},
      {[](Graph& g) { g.inputs[1] = 0; }, "graph input 1: %0 is defined twice"},
      {[](Graph& g) { g.inputs[1] = 2; }, "graph input 1: %2 is a constant too"},
      {[](Graph& g) { g.inputs[1] = 3; }, "graph input 1: %3 has node 0 as its producer, expected none"},
      {[](Graph& g) { g.outputs[0] = -7; }, "graph output 0: value %-7 does not exist, there are 8"},
      {[](Graph& g) { g.outputs[0] = kNoValue; }, "graph output 0: value %-1 does not exist, there are 8"},
      {[](Graph& g) {
         g.inputs.pop_back();
         g.outputs[0] = 1;
       },
       "graph output 0: %1 is used before it is defined"},
      {[](Graph& g) { std::swap(g.nodes[0], g.nodes[2]); },
       "%7 = reduce.sum(%3: f32[2,s]) {axes=[1] keepdims=false} : f32[2]: %3 is used before it is defined"},
      {[](Graph& g) { g.nodes[0].dead = true; }, "%3 is used before it is defined"},
      {[](Graph& g) { g.nodes[0].inputs[1] = 50; },
       "%3 = binary.add(%0: f32[2,s], %50: ?) : f32[2,s]: value %50 does not exist"},
      {[](Graph& g) { g.nodes[0].inputs[1] = kNoValue; }, "input 1 is missing"},
      {[](Graph& g) { g.nodes[0].inputs.pop_back(); },
       "%3 = binary.add(%0: f32[2,s]) : f32[2,s]: has 1 inputs, expected 2"},
      {[](Graph& g) { g.nodes[0].outputs.clear(); }, "has 0 outputs, expected 1"},
      {[](Graph& g) { g.nodes[1].outputs[1] = 5; },
       "%5 names output 0 of node 1 as its producer, expected output 1 of node 1"},
      {[](Graph& g) { g.values[3].producer = 2; },
       "%3 names output 0 of node 2 as its producer, expected output 0 of node 0"},
      {[](Graph& g) { g.values[2].producer = 0; }, "constant %2 has node 0 as its producer, expected none"},
      {[](Graph& g) { g.values[3].constant = g.values[2].constant; }, "output %3 is a constant"},
      {[](Graph& g) { g.values[2].constant = make_constant({}); }, "constant %2 of type f32[1] has 0 bytes"},
      {[](Graph& g) { g.values[2].type.shape = {Dim::symbol("q")}; },
       "constant %2 has the shape [q], expected constant dimensions"},
      {[](Graph& g) {
         g.values[2].type.shape = {int64_t{1} << 62, 16};
       },
       "constant %2 of type f32[4611686018427387904,16] has 4 bytes"},
      {[](Graph& g) { g.values[0].type.shape[0] = -2; }, "graph input 0: %0 has the shape [-2,s]"},
      {[](Graph& g) {
         g.values[3].type.layout.order = {1, 1};
       },
       "%3 has the layout [1, 1], expected a permutation of 2 axes"},
      {[](Graph& g) { g.values[7].type.dtype = DType::kF16; }, "%7 has the type f16[2], expected f32[2]"},
      {[](Graph& g) { g.values[7].type.shape = {3}; }, "%7 has the type f32[3], expected f32[2]"},
      {[](Graph& g) {
         g.values[7].type.shape = {2, 1};
       },
       "%7 has the type f32[2,1], expected f32[2]"},
      {[](Graph& g) {
         g.values[4].known = {Dim(1), Dim(2)};
       },
       "%4 has 2 known elements, expected 1"},
      {[](Graph& g) { std::get<Reduce>(g.nodes[2].op).axes = {2}; },
       "axis 2 is out of range, expected 0 to 1 for rank-2 input"},
  };
  for (const auto& [damage, message] : cases) {
    Graph g = sound();
    damage(g);
    const Status status = verify(g);
    ASSERT_FALSE(status.ok()) << message;
    EXPECT_EQ(status.error().code, Code::kInternal);
    EXPECT_NE(status.error().text().find(message), std::string::npos)
        << "got: " << status.error().text() << "\nexpected: " << message;
  }
}

TEST(Verify, SymbolsMayBeSpelledDifferently) {
  Graph g = sound();
  g.values[3].type.shape[1] = Dim::symbol("t");
  g.values[7].type.shape[0] = Dim::symbol("two");
  EXPECT_TRUE(verify(g).ok());
}

}  // namespace
}  // namespace frit::graph
