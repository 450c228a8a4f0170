// Graph's helpers: building, uses, compact, cost, and the names of ops.
#include <gtest/gtest.h>

#include "graph/ir.h"
#include "graph/op_fields.h"

namespace frit::graph {
namespace {

TensorType f32(Shape shape) { return {DType::kF32, std::move(shape), {}}; }

TEST(GraphIr, TypeText) {
  EXPECT_EQ(type_text(f32({1, Dim::symbol("seq"), 768})), "f32[1,seq,768]");
  EXPECT_EQ(type_text({DType::kBF16, {1, 2, 3, 4}, {{0, 2, 3, 1}}}), "bf16[1,2,3,4]@0231");
  EXPECT_EQ(type_text({DType::kBool, {}, {}}), "bool[]");
}

TEST(GraphIr, OpNames) {
  EXPECT_EQ(op_name(Unary{UnaryOp::kExp}), "unary.exp");
  EXPECT_EQ(op_name(Binary{BinaryOp::kGe}), "binary.ge");
  EXPECT_EQ(op_name(Unary{UnaryOp::kRelu}), "unary.relu");
  EXPECT_EQ(op_name(MatMul{}), "matmul");
  EXPECT_EQ(op_name(Pool{PoolOp::kAvg, {}, {}, {}, {}, false, false}), "pool.avg");
  EXPECT_EQ(op_name(Reduce{ReduceOp::kProd, {0}, false}), "reduce.prod");
  EXPECT_EQ(op_name(Lstm{4, Direction::kForward, false, 0}), "lstm");
  EXPECT_EQ(op_name(NonZero{}), "nonzero");
  EXPECT_EQ(op_name(BatchNorm{1e-5f}), "batch_norm");
}

TEST(GraphIr, OpClasses) {
  EXPECT_TRUE(is_pointwise(Cast{DType::kF16}));
  EXPECT_FALSE(is_pointwise(Clip{}));
  EXPECT_TRUE(is_composite(Clip{}));
  EXPECT_FALSE(is_composite(MatMul{}));
  EXPECT_TRUE(is_view_like(Slice{{0}, {1}}));
  EXPECT_FALSE(is_view_like(Concat{0}));
}

TEST(GraphIr, SliceOrder) {
  const Slice a{{0, Dim::symbol("s")}, {1, 1}}, b{{0, Dim::symbol("s")}, {1, 2}};
  EXPECT_TRUE(a < b);
  EXPECT_FALSE(b < a);
  EXPECT_TRUE(Op(a) == Op(a));
  EXPECT_FALSE(Op(a) == Op(b));
}

TEST(GraphIr, ReplaceUsesReachesOutputs) {
  Graph g;
  const ValueId x = g.add_input(f32({4}), "x");
  const ValueId a = g.add(Unary{UnaryOp::kExp}, {x}, f32({4}));
  const ValueId b = g.add(Binary{BinaryOp::kAdd}, {a, a}, f32({4}));
  g.outputs = {b, a};
  EXPECT_EQ(collect_uses(g)[static_cast<size_t>(a)].size(), 2u);
  replace_uses(g, a, x);
  EXPECT_EQ(g.node(1).inputs, (std::vector<ValueId>{x, x}));
  EXPECT_EQ(g.outputs, (std::vector<ValueId>{b, x}));
}

TEST(GraphIr, CompactDropsSortsAndRenumbers) {
  Graph g;
  const ValueId unused = g.add_constant(f32({1}), make_constant_of<float>({1.f}));
  const ValueId x = g.add_input(f32({2}), "x");
  const ValueId idle = g.add_input(f32({3}), "idle");
  const ValueId c = g.add_constant(f32({2}), make_constant_of<float>({3.f, 4.f}), "c");
  // The consumer stands before its producer.
  const ValueId y = g.add_value(f32({2}), "y");
  const ValueId z = g.add(Binary{BinaryOp::kAdd}, {y, c, kNoValue}, f32({2}), "second");
  const NodeId dropped = g.add_node(Unary{UnaryOp::kExp}, {x}, {f32({2})}, "dropped");
  const NodeId producer = g.add_node(Unary{UnaryOp::kNeg}, {x}, {}, "first");
  g.node(producer).outputs = {y};
  g.value(y).producer = producer;
  g.node(dropped).dead = true;
  g.outputs = {z};
  (void)unused;
  (void)idle;

  compact(g);
  ASSERT_EQ(g.nodes.size(), 2u);
  EXPECT_EQ(g.nodes[0].name, "first");
  EXPECT_EQ(g.nodes[1].name, "second");
  ASSERT_EQ(g.values.size(), 5u);
  EXPECT_EQ(g.inputs, (std::vector<ValueId>{0, 1}));
  EXPECT_EQ(g.nodes[0].outputs, (std::vector<ValueId>{2}));
  EXPECT_EQ(g.nodes[1].inputs, (std::vector<ValueId>{2, 3, kNoValue}));
  EXPECT_EQ(g.outputs, (std::vector<ValueId>{4}));
  EXPECT_EQ(g.value(1).name, "idle");
  EXPECT_EQ(g.value(2).producer, 0);
  EXPECT_EQ(g.value(4).producer, 1);
  EXPECT_TRUE(g.value(3).is_constant());
  EXPECT_EQ(g.value(3).constant->size_bytes, 8u);
}

TEST(GraphIr, CompactKeepsNodesOfACycle) {
  Graph g;
  const ValueId a = g.add(Unary{UnaryOp::kNeg}, {kNoValue}, f32({1}));
  const ValueId b = g.add(Unary{UnaryOp::kNeg}, {a}, f32({1}));
  g.node(0).inputs = {b};
  g.outputs = {b};
  compact(g);
  EXPECT_EQ(g.nodes.size(), 2u);
}

TEST(GraphIr, Cost) {
  Graph g;
  const ValueId x = g.add_input(f32({1, 64, 56, 56}));
  const ValueId w = g.add_input(f32({128, 32, 3, 3}));
  g.add(Conv{{1, 1}, {1, 1, 1, 1}, {1, 1}, 2}, {x, w}, f32({1, 128, 56, 56}));
  const NodeCost conv = node_cost(g, g.node(0));
  EXPECT_DOUBLE_EQ(conv.flops, 2.0 * 128 * 56 * 56 * 32 * 9);
  EXPECT_DOUBLE_EQ(conv.bytes, 4.0 * (64 * 56 * 56 + 128 * 32 * 9 + 128 * 56 * 56));

  const ValueId a = g.add_input(f32({5, 7})), b = g.add_input(f32({7, 11}));
  g.add(MatMul{}, {a, b}, f32({5, 11}));
  EXPECT_DOUBLE_EQ(node_cost(g, g.node(1)).flops, 2.0 * 5 * 7 * 11);

  const ValueId v = g.add_input(f32({Dim::symbol("n"), 3}));
  g.add(Unary{UnaryOp::kExp}, {v}, f32({Dim::symbol("n"), 3}));
  EXPECT_EQ(node_cost(g, g.node(2)).flops, 0);
  EXPECT_EQ(node_cost(g, g.node(2)).bytes, 0);
}

}  // namespace
}  // namespace frit::graph
