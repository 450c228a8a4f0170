#include <gtest/gtest.h>

#include "graph/ir.h"
#include "runtime/shapes.h"

namespace frit::runtime {
namespace {

using graph::Dim;

// ids [batch, seq], mask [batch, seq], past [batch, past+1, 4], fixed [3]
graph::Graph inputs() {
  graph::Graph g;
  const Dim batch = Dim::symbol("batch"), seq = Dim::symbol("seq"), past = Dim::symbol("past");
  g.add_input({DType::kI64, {batch, seq}, {}}, "ids");
  g.add_input({DType::kI64, {batch, seq}, {}}, "mask");
  g.add_input({DType::kF32, {batch, past + 1, 4}, {}}, "past");
  g.add_input({DType::kF32, {3}, {}}, "fixed");
  return g;
}

TEST(ShapesTest, FollowFromOtherInputsAndFromDimensions) {
  const graph::Graph g = inputs();
  const NamedShape named[] = {{"past", {7}}, {"ids", {2, 5}}};
  // "past" is an input before it is a dimension.
  EXPECT_EQ(input_shapes(g, named).error().message,
            "input \"past\" has shape [7], expected rank 3 as in [batch,(past+1),4]");
  const NamedShape good[] = {{"ids", {2, 5}}, {"past", {2, 8, 4}}};
  const auto shapes = input_shapes(g, good);
  ASSERT_TRUE(shapes.ok()) << shapes.error().text();
  EXPECT_EQ(*shapes, (InputShapes{{2, 5}, {2, 5}, {2, 8, 4}, {3}}));
}

TEST(ShapesTest, MistakesNameTheInput) {
  const graph::Graph g = inputs();
  const auto message = [&](std::vector<NamedShape> named) {
    const auto r = input_shapes(g, named);
    EXPECT_FALSE(r.ok());
    EXPECT_EQ(r.ok() ? Code::kInternal : r.error().code, Code::kInvalidArgument);
    return r.ok() ? std::string() : r.error().message;
  };
  EXPECT_EQ(message({{"ids", {2, 5}}, {"mask", {2, 6}}}),
            "input \"mask\" has 6 as dimension seq, but input \"ids\" has 5");
  EXPECT_EQ(message({{"ids", {2, 5}}}),
            "input \"past\" has shape [batch,(past+1),4]: the size of (past+1) is not given");
  EXPECT_EQ(message({{"fixed", {4}}}), "input \"fixed\" has shape [4], expected [3]");
  EXPECT_EQ(message({{"ids", {2, -5}}}), "negative extent in shape [2,-5]");
  EXPECT_EQ(
      message({{"idx", {2, 5}}}),
      "there is no input or dimension \"idx\"; the model has input \"ids\", input \"mask\", input \"past\", "
      "input \"fixed\", dimension batch, dimension past, dimension seq");
  EXPECT_EQ(message({{"seq", {5, 5}}}), "dimension seq is given as [5,5], expected one number");
  EXPECT_EQ(message({{"seq", {-1}}}), "the caller: dimension seq is -1, expected 0 or more");
  EXPECT_EQ(message({{"ids", {2, 5}}, {"ids", {2, 5}}}), "input \"ids\" is given twice");
  EXPECT_EQ(message({{"seq", {6}}, {"ids", {2, 5}}}),
            "input \"ids\" has 5 as dimension seq, but the caller has 6");
}

TEST(ShapesTest, BindGivesTheSizesOfDimensions) {
  graph::Graph g;
  const Dim n = Dim::symbol("n");
  g.add_input({DType::kF32, {n}, {}}, "a");
  g.add_input({DType::kF32, {n * 2}, {}}, "b");
  const auto sizes = bind_inputs(g, {{3}, {6}});
  ASSERT_TRUE(sizes.ok()) << sizes.error().text();
  EXPECT_EQ(*sizes, (std::map<std::string, int64_t>{{"n", 3}}));
  EXPECT_EQ(bind_inputs(g, {{3}, {7}}).error().message,
            "input \"b\" has shape [7], expected [2*n], which is [6]");
  EXPECT_EQ(bind_inputs(g, {{3}}).error().message, "1 inputs, expected 2");
  EXPECT_TRUE(bind_inputs(g, {{0}, {0}}).ok());
}

}  // namespace
}  // namespace frit::runtime
