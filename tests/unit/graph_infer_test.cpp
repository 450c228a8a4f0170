// Shape rules: result shapes, symbolic dimensions, and what is refused with which words.
#include <gtest/gtest.h>

#include <limits>

#include "graph/infer.h"

namespace frit::graph {
namespace {

constexpr int64_t kMaxInt = std::numeric_limits<int64_t>::max();
const Dim b = Dim::symbol("b"), s = Dim::symbol("s"), p = Dim::symbol("p");

TensorType f32(Shape shape) { return {DType::kF32, std::move(shape), {}}; }
TensorType i64(Shape shape) { return {DType::kI64, std::move(shape), {}}; }
TensorType boolean(Shape shape) { return {DType::kBool, std::move(shape), {}}; }

// A graph of inputs and one node, to ask for the node's output types.
class One {
 public:
  ValueId in(TensorType type) { return g.add_input(std::move(type)); }
  ValueId ints(std::vector<int64_t> values) {
    const auto n = static_cast<int64_t>(values.size());
    return g.add_constant(i64({n}), make_constant_of(values));
  }
  ValueId scalar(int64_t v) { return g.add_constant(i64({}), make_constant_of<int64_t>({v})); }
  ValueId floats(std::vector<float> values) {
    const auto n = static_cast<int64_t>(values.size());
    return g.add_constant(f32({n}), make_constant_of(values));
  }
  ValueId put(Op op, std::vector<ValueId> inputs, TensorType declared = {}) {
    auto id = add_inferred(g, std::move(op), std::move(inputs), {std::move(declared)});
    EXPECT_TRUE(id.ok()) << id.error().message;
    return id.ok() ? g.node(*id).outputs[0] : 0;
  }
  std::string type(Op op, std::vector<ValueId> inputs, TensorType declared = {}, size_t outputs = 1) {
    const size_t nodes = g.nodes.size(), values = g.values.size();
    auto id = add_inferred(g, std::move(op), std::move(inputs), std::vector<TensorType>(outputs, declared));
    if (!id.ok()) {
      EXPECT_EQ(g.nodes.size(), nodes);
      EXPECT_EQ(g.values.size(), values);
      return id.error().message;
    }
    std::string out;
    for (ValueId v : g.node(*id).outputs) out += (out.empty() ? "" : " ") + type_text(g.value(v).type);
    return out;
  }
  std::string known(ValueId v) { return g.value(v).known ? shape_text(*g.value(v).known) : "none"; }
  Graph g;
};

TEST(Infer, PointwiseBroadcasts) {
  One o;
  const ValueId x = o.in(f32({b, s, 768})), bias = o.in(f32({768})), one = o.in(f32({b, 1, 1}));
  const ValueId fixed = o.in(f32({2, 5, 768})), seven = o.in(f32({7})), empty = o.in(f32({b, 0, 768}));
  const Binary add{BinaryOp::kAdd};
  EXPECT_EQ(o.type(add, {x, bias}), "f32[b,s,768]");
  EXPECT_EQ(o.type(add, {one, x}), "f32[b,s,768]");
  EXPECT_EQ(o.type(add, {x, fixed}), "f32[2,5,768]");
  EXPECT_EQ(o.type(add, {one, empty}), "f32[b,0,768]");
  EXPECT_EQ(o.type(Binary{BinaryOp::kLt}, {x, x}), "bool[b,s,768]");
  EXPECT_EQ(o.type(add, {x, seven}), "shapes [b,s,768] and [7] do not broadcast: axis 2 has 768 and 7");
  EXPECT_EQ(o.type(add, {o.in(f32({s})), o.in(f32({p}))}), "f32[max(p,s)]");
  EXPECT_EQ(o.type(add, {x, o.ints({1})}), "inputs 0 and 1 have types f32 and i64, expected the same");
  EXPECT_EQ(o.type(Binary{BinaryOp::kAnd}, {x, x}), "input 0 has type f32, expected bool");
  EXPECT_EQ(o.type(Unary{UnaryOp::kIsNan}, {x}), "bool[b,s,768]");
  EXPECT_EQ(o.type(Unary{UnaryOp::kExp}, {o.ints({1})}), "input 0 has type i64, expected a float type");
  EXPECT_EQ(o.type(Select{}, {o.in(boolean({s, 1})), one, bias}), "f32[b,s,768]");
  EXPECT_EQ(o.type(Cast{DType::kF16}, {x}), "f16[b,s,768]");
  EXPECT_EQ(o.type(Clip{}, {x, kNoValue, bias}), "input 2 (max) has shape [768], expected a scalar");
  EXPECT_EQ(o.type(add, {x}), "has 1 inputs, expected 2");
  EXPECT_EQ(o.type(add, {x, kNoValue}), "input 1 is missing");
  EXPECT_EQ(o.type(add, {x, 999}), "input 1 is value 999, which does not exist");
}

TEST(Infer, Reductions) {
  One o;
  const ValueId x = o.in(f32({b, s, 768}));
  EXPECT_EQ(o.type(Reduce{ReduceOp::kMean, {2}, true}, {x}), "f32[b,s,1]");
  EXPECT_EQ(o.type(Reduce{ReduceOp::kMax, {0, 2}, false}, {x}), "f32[s]");
  EXPECT_EQ(o.type(Reduce{ReduceOp::kMax, {}, false}, {x}), "axes is empty, expected at least one axis");
  EXPECT_EQ(o.type(Reduce{ReduceOp::kMax, {1, 0}, false}, {x}), "axes [1, 0] are not sorted and unique");
  EXPECT_EQ(o.type(Reduce{ReduceOp::kMax, {3}, false}, {x}),
            "axis 3 is out of range, expected 0 to 2 for rank-3 input");
  EXPECT_EQ(o.type(ArgReduce{true, 1, false, false}, {x}), "i64[b,768]");
  EXPECT_EQ(o.type(ArgReduce{true, 1, true, false}, {x}), "i64[b,1,768]");
  EXPECT_EQ(o.type(CumSum{1, false, false}, {x}), "f32[b,s,768]");
  EXPECT_EQ(o.type(TopK{2, true, true}, {x, o.ints({5})}, {}, 2), "f32[b,s,5] i64[b,s,5]");
  EXPECT_EQ(o.type(TopK{2, true, true}, {x, o.ints({800})}, {}, 2), "k is 800, but axis 2 has 768 elements");
  EXPECT_EQ(o.type(TopK{2, true, true}, {x, o.in(i64({1}))}, {}, 2), "f32[b,s,?0] i64[b,s,?0]");
  EXPECT_EQ(o.type(Softmax{2, false}, {x}), "f32[b,s,768]");
  EXPECT_EQ(o.type(LayerNorm{2, 1e-5f}, {x, o.in(f32({768})), o.in(f32({768}))}, {}, 3),
            "f32[b,s,768] f32[b,s,1] f32[b,s,1]");
  EXPECT_NE(o.type(LayerNorm{2, 1e-5f}, {x, o.in(f32({767}))}).find("do not broadcast"), std::string::npos);
}

TEST(Infer, Contractions) {
  One o;
  const ValueId x = o.in(f32({b, 12, s, 64})), y = o.in(f32({b, 12, 64, p})), w = o.in(f32({64, 30}));
  EXPECT_EQ(o.type(MatMul{}, {x, y}), "f32[b,12,s,p]");
  EXPECT_EQ(o.type(MatMul{}, {x, w}), "f32[b,12,s,30]");
  EXPECT_EQ(o.type(MatMul{}, {w, w}),
            "shapes [64,30] and [64,30] do not multiply: inner dimensions are 30 and 64");
  EXPECT_EQ(o.type(MatMul{}, {x, o.in(f32({64}))}), "input 1 has shape [64], expected rank 2 or more");
  EXPECT_EQ(o.type(Gemm{1, 1, true, false}, {w, o.in(f32({64, 7})), o.in(f32({7}))}), "f32[30,7]");
  EXPECT_EQ(o.type(Gemm{1, 1, true, false}, {w, o.in(f32({64, 7})), o.in(f32({2, 30, 7}))}),
            "input 2 has shape [2,30,7], which does not broadcast to [30,7]");

  const ValueId image = o.in(f32({b, 64, 56, s})), k3 = o.in(f32({128, 64, 3, 3})),
                depthwise = o.in(f32({64, 1, 3, 3}));
  EXPECT_EQ(o.type(Conv{{1, 1}, {1, 1, 1, 1}, {1, 1}, 1}, {image, k3}), "f32[b,128,56,s]");
  EXPECT_EQ(o.type(Conv{{2, 2}, {1, 1, 1, 1}, {1, 1}, 1}, {image, k3, o.in(f32({128}))}),
            "f32[b,128,28,(s+1)/2]");
  EXPECT_EQ(o.type(Conv{{1, 1}, {0, 0, 0, 0}, {2, 2}, 64}, {image, depthwise}), "f32[b,64,52,(s-4)]");
  EXPECT_EQ(o.type(Conv{{1, 1}, {1, 1, 1, 1}, {1, 1, 1}, 1}, {image, k3}),
            "dilations has 3 values, expected 2 for rank-4 input");
  EXPECT_EQ(o.type(Conv{{1, 0}, {1, 1, 1, 1}, {1, 1}, 1}, {image, k3}),
            "strides has the value 0, expected at least 1");
  EXPECT_EQ(o.type(Conv{{1, 1}, {1, 1, 1, 1}, {1, 1}, 3}, {image, k3}),
            "the number of output channels is 128, expected a multiple of groups = 3");
  EXPECT_EQ(o.type(Conv{{1, 1}, {1, 1, 1, 1}, {1, 1}, 2}, {image, k3}),
            "input channels and weight channels times groups: 64 and 128 differ");
  EXPECT_EQ(o.type(Conv{{1, 1}, {0, 0, 0, 0}, {1, 1}, 1}, {o.in(f32({1, 64, 2, 9})), k3}),
            "the window covers 3 elements of spatial axis 0, which has 2 with padding");
  EXPECT_EQ(o.type(Conv{{1, 1}, {0, 0, 0, 0}, {1, 1}, 1}, {o.in(f32({1, 4, 0, 9})), o.in(f32({8, 4, 1, 1}))}),
            "f32[1,8,0,9]");
  EXPECT_EQ(
      o.type(ConvTranspose{{2, 2}, {0, 0, 0, 0}, {1, 1}, {0, 0}, 1}, {image, o.in(f32({64, 32, 2, 2}))}),
      "f32[b,32,112,2*s]");
  EXPECT_EQ(o.type(Pool{PoolOp::kMax, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, false, false}, {image}),
            "f32[b,64,28,(s+1)/2]");
  EXPECT_EQ(o.type(Pool{PoolOp::kMax, {2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}, true, false},
                   {o.in(f32({1, 1, 5, 4}))}),
            "f32[1,1,3,2]");
  // The third window would start in the padding at the end.
  EXPECT_EQ(o.type(Pool{PoolOp::kAvg, {1}, {2}, {0, 1}, {1}, true, false}, {o.in(f32({1, 1, 4}))}),
            "f32[1,1,2]");
  EXPECT_EQ(
      o.type(BatchNorm{1e-5f}, {image, o.in(f32({64})), o.in(f32({64})), o.in(f32({64})), o.in(f32({63}))}),
      "channels of inputs 0 and 4: 64 and 63 differ");
}

TEST(Infer, Lstm) {
  One o;
  const ValueId x = o.in(f32({s, b, 40})), w = o.in(f32({2, 512, 40})), r = o.in(f32({2, 512, 128})),
                h0 = o.in(f32({2, b, 128}));
  const Lstm op{128, Direction::kBidirectional, false, 0};
  EXPECT_EQ(o.type(op, {x, w, r, kNoValue, kNoValue, h0, h0}, {}, 3),
            "f32[s,2,b,128] f32[2,b,128] f32[2,b,128]");
  EXPECT_EQ(o.type(Lstm{128, Direction::kForward, false, 0}, {x, w, r}),
            "axis 0 of input 1 (actual and expected): 2 and 1 differ");
}

TEST(Infer, Movement) {
  One o;
  const ValueId x = o.in(f32({b, s, 768}));
  EXPECT_EQ(o.type(Transpose{{2, 0, 1}}, {x}), "f32[768,b,s]");
  EXPECT_EQ(o.type(Transpose{{2, 0}}, {x}), "perm has 2 values, expected 3 for rank-3 input");
  EXPECT_EQ(o.type(Transpose{{2, 0, 2}}, {x}), "perm [2, 0, 2] names axis 2 twice");
  EXPECT_EQ(o.type(Concat{1}, {x, o.in(f32({b, p, 768})), o.in(f32({2, 1, 768}))}), "f32[2,(p+s+1),768]");
  EXPECT_EQ(o.type(Concat{1}, {x, o.in(f32({b, p, 767}))}), "axis 2 of inputs 0 and 1: 768 and 767 differ");
  EXPECT_EQ(o.type(Pad{PadMode::kConstant, {0, 1, -2}, {0, 2, 0}}, {x}), "f32[b,(s+3),766]");
  EXPECT_EQ(o.type(Pad{PadMode::kReflect, {3}, {0}}, {o.in(f32({3}))}),
            "pads axis 0 by 3 with mode reflect, but it has only 3 elements");
  EXPECT_EQ(o.type(DynamicPad{PadMode::kConstant}, {x, o.ints({1, 2}), kNoValue, o.ints({-1})}),
            "f32[b,s,771]");
  EXPECT_EQ(o.type(DynamicPad{PadMode::kConstant}, {x, o.ints({1, 2})}),
            "pads has 2 values, expected 6 for rank-3 input");
  EXPECT_EQ(o.type(Tile{}, {x, o.ints({1, 3, 2})}), "f32[b,3*s,1536]");
  EXPECT_EQ(o.type(Split{2}, {x, kNoValue}, {}, 3), "f32[b,s,256] f32[b,s,256] f32[b,s,256]");
  EXPECT_EQ(o.type(Split{2}, {x}, {}, 5), "f32[b,s,154] f32[b,s,154] f32[b,s,154] f32[b,s,154] f32[b,s,152]");
  EXPECT_EQ(o.type(Split{2}, {x, o.ints({700, 69})}, {}, 2),
            "the parts sum to 769, but axis 2 has 768 elements");
  EXPECT_EQ(o.type(Expand{}, {o.in(f32({b, 1, 768})), o.ints({2, 1, 5, 1})}), "f32[2,b,5,768]");
  EXPECT_EQ(o.type(Expand{}, {o.in(f32({3}))}, f32({2, 3})), "f32[2,3]");
  EXPECT_EQ(o.type(Expand{}, {o.in(f32({3}))}, f32({1})), "cannot expand [3] to [1]");
  EXPECT_EQ(o.type(Slice{{0, 0, 4}, {1, 1, 2}}, {x}, f32({b, s, 8})), "f32[b,s,8]");
  EXPECT_EQ(o.type(Slice{{0, 0, 760}, {1, 1, 2}}, {x}, f32({b, s, 8})),
            "slice of axis 2 takes 8 elements from 760 in steps of 2, but the axis has 768");
  EXPECT_EQ(o.type(Slice{{0, 0, 6}, {1, 1, -1}}, {x}, f32({b, s, 8})),
            "slice of axis 2 takes 8 elements from 6 in steps of -1, but the axis has 768");
}

TEST(Infer, Reshape) {
  One o;
  const ValueId x = o.in(f32({b, s, 768}));
  EXPECT_EQ(o.type(Reshape{}, {x, o.ints({0, -1, 12, 64})}), "f32[b,s,12,64]");
  EXPECT_EQ(o.type(Reshape{}, {x, o.ints({-1, 768})}), "f32[b*s,768]");
  EXPECT_EQ(o.type(Reshape{}, {x, o.ints({0, 0, -1})}), "f32[b,s,768]");
  EXPECT_EQ(o.type(Reshape{}, {o.in(f32({2, 3})), o.ints({4})}), "cannot reshape [2,3] to [4]");
  EXPECT_EQ(o.type(Reshape{}, {o.in(f32({2, 3})), o.ints({4, -1})}), "cannot reshape [2,3] to [4,-1]");
  EXPECT_EQ(o.type(Reshape{}, {x, o.ints({-1, -1})}), "shape [-1,-1] has more than one -1");
  EXPECT_EQ(o.type(Reshape{}, {x, o.ints({1, 1, 1, 0})}), "shape [1,1,1,0] copies axis 3 of [b,s,768]");
  EXPECT_EQ(o.type(Reshape{}, {x, o.ints({-2})}), "shape [-2] has the value -2");
  EXPECT_EQ(o.type(Reshape{}, {o.in(f32({1, 0, 12, 64})), o.ints({0, 0, -1})}), "f32[1,0,768]");
  EXPECT_EQ(o.type(Reshape{true}, {o.in(f32({0, 5})), o.ints({5, 0})}), "f32[5,0]");
  EXPECT_EQ(o.type(Reshape{}, {o.in(f32({6})), o.in(i64({2}))}), "f32[?0,?1]");
  EXPECT_EQ(o.type(Reshape{}, {o.in(f32({6})), o.in(i64({s}))}), "the rank of the output depends on data");
  EXPECT_EQ(o.type(Reshape{}, {o.in(f32({6}))}, f32({5})), "cannot reshape [6] to [5]");
}

TEST(Infer, DynamicSlice) {
  One o;
  const ValueId x = o.in(f32({b, s, 768}));
  auto slice = [&](std::vector<int64_t> starts, std::vector<int64_t> ends, std::vector<int64_t> axes,
                   std::vector<int64_t> steps) {
    return o.type(DynamicSlice{}, {x, o.ints(starts), o.ints(ends), o.ints(axes), o.ints(steps)});
  };
  EXPECT_EQ(slice({0}, {kMaxInt}, {1}, {1}), "f32[b,s,768]");
  EXPECT_EQ(slice({1}, {kMaxInt}, {1}, {1}), "f32[b,(s-min(1,s)),768]");
  EXPECT_EQ(slice({0}, {-1}, {1}, {1}), "f32[b,max(0,(s-1)),768]");
  EXPECT_EQ(slice({-1}, {kMaxInt}, {2}, {1}), "f32[b,s,1]");
  EXPECT_EQ(slice({10}, {20}, {-1}, {3}), "f32[b,s,4]");
  EXPECT_EQ(slice({-1}, {-kMaxInt}, {1}, {-1}), "f32[b,s,768]");
  EXPECT_EQ(slice({700}, {-kMaxInt - 1}, {2}, {-100}), "f32[b,s,8]");
  EXPECT_EQ(slice({5}, {2}, {2}, {1}), "f32[b,s,0]");
  EXPECT_EQ(slice({0, 0}, {5, 5}, {2, 2}, {1, 1}), "axes names axis 2 twice");
  EXPECT_EQ(slice({0}, {5}, {3}, {1}), "axis 3 is out of range, expected 0 to 2 for rank-3 input");
  EXPECT_EQ(slice({0}, {5}, {2}, {0}), "the step of axis 2 is 0");
  EXPECT_EQ(o.type(DynamicSlice{}, {x, o.in(i64({1})), o.ints({9}), o.ints({1})}), "f32[b,?0,768]");
  EXPECT_EQ(o.type(DynamicSlice{}, {x, o.ints({0}), o.ints({9, 9})}),
            "starts has 1 values and ends has 2, expected the same");

  // The causal mask of decoders: rows past to past+s of a square table.
  const ValueId table = o.in(f32({1024, 1024})), kv = o.in(f32({b, p, 64}));
  const ValueId past = o.put(ShapeOf{1, 2}, {kv}), now = o.put(ShapeOf{1, 2}, {x});
  const ValueId total = o.put(Binary{BinaryOp::kAdd}, {past, now});
  EXPECT_EQ(o.known(total), "[(p+s)]");
  EXPECT_EQ(o.type(DynamicSlice{}, {table, past, total, o.ints({0})}),
            "f32[(-min(1024,p)+min(1024,(p+s))),1024]");
}

TEST(Infer, Indexing) {
  One o;
  const ValueId table = o.in(f32({30522, 768})), ids = o.in(i64({b, s}));
  EXPECT_EQ(o.type(Gather{0}, {table, ids}), "f32[b,s,768]");
  EXPECT_EQ(o.type(Gather{1}, {table, o.scalar(0)}), "f32[30522]");
  EXPECT_EQ(o.type(Gather{2}, {table, ids}), "axis 2 is out of range, expected 0 to 1 for rank-2 input");
  EXPECT_EQ(o.type(Gather{0}, {table, table}), "input 1 has type f32, expected i32 or i64");
  EXPECT_EQ(o.type(GatherElements{1}, {table, ids}), "f32[b,s]");
  EXPECT_EQ(o.type(GatherND{0}, {table, o.in(i64({b, 5, 1}))}), "f32[b,5,768]");
  EXPECT_EQ(o.type(GatherND{1}, {o.in(f32({b, 4, 6})), o.in(i64({b, 5, 2}))}), "f32[b,5]");
  EXPECT_EQ(o.type(GatherND{0}, {table, o.in(i64({3}))}),
            "indices has shape [3], whose last axis does not fit data [30522,768]");
  EXPECT_EQ(o.type(ScatterND{ScatterOp::kNone}, {table, o.in(i64({b, 1})), o.in(f32({b, 768}))}),
            "f32[30522,768]");
  EXPECT_EQ(o.type(ScatterND{ScatterOp::kNone}, {table, o.in(i64({b, 1})), o.in(f32({b, 7}))}),
            "updates have shape [b,7], expected [b,768]");
  EXPECT_EQ(o.type(ScatterElements{0, ScatterOp::kAdd}, {table, ids, o.in(f32({b, s}))}), "f32[30522,768]");
  EXPECT_EQ(o.type(NonZero{}, {table}), "i64[2,?0]");
}

TEST(Infer, ResizeAndGenerators) {
  One o;
  const ValueId x = o.in(f32({b, 3, 10, s}));
  Resize r{ResizeMode::kNearest, ResizeCoord::kAsymmetric, ResizeNearest::kFloor, -0.75f, false, false, {}};
  EXPECT_EQ(o.type(r, {x, o.ints({1, 3, 20, 30})}), "f32[1,3,20,30]");
  EXPECT_EQ(o.type(r, {o.in(f32({1, 3, 0, 5})), o.ints({1, 3, 2, 5})}),
            "axis 2 is empty and cannot be resized to 2 elements");
  r.by_scales = true;
  EXPECT_EQ(o.type(r, {x, o.floats({1, 1, 2, 2})}), "f32[b,3,20,2*s]");
  EXPECT_EQ(o.type(r, {x, o.floats({1, 1, 0.75f, 0.5f})}), "f32[b,3,7,s/2]");
  EXPECT_EQ(o.type(r, {x, o.floats({1, 1, 0.75f})}), "scales has 3 values, expected 4 for rank-4 input");
  EXPECT_EQ(o.type(r, {x, o.floats({1, 1, -1, 1})}), "the scale of axis 2 is -1, expected a positive number");
  r.scales = {1, 1, 2, 2};
  EXPECT_EQ(o.type(r, {x}), "f32[b,3,20,2*s]");
  r.scales = {};
  EXPECT_EQ(o.type(r, {x}, f32({b, 3, 7, 7})), "f32[b,3,7,7]");

  EXPECT_EQ(o.type(Range{}, {o.scalar(0), o.scalar(10), o.scalar(3)}), "i64[4]");
  EXPECT_EQ(o.type(Range{}, {o.scalar(10), o.scalar(0), o.scalar(-3)}), "i64[4]");
  EXPECT_EQ(o.type(Range{}, {o.scalar(0), o.scalar(10), o.scalar(0)}), "delta is 0");
  const ValueId length = o.put(Gather{0}, {o.put(ShapeOf{0, 4}, {x}), o.scalar(3)});
  EXPECT_EQ(o.type(Range{}, {o.scalar(0), length, o.scalar(1)}), "i64[s]");
  EXPECT_EQ(o.type(Range{}, {o.scalar(0), o.in(i64({})), o.scalar(1)}), "i64[?0]");
  EXPECT_EQ(o.type(Iota{1}, {}, i64({2, s})), "i64[2,s]");
  EXPECT_EQ(o.type(ShapeOf{1, 3}, {x}), "i64[2]");
  EXPECT_EQ(o.type(ShapeOf{1, 5}, {x}), "dimensions 1 to 5 are taken, expected a part of 0 to 4");
  EXPECT_EQ(o.type(Fill{0}, {o.put(ShapeOf{0, 4}, {x})}, {DType::kBool, {}, {}}), "bool[b,3,10,s]");
}

TEST(Infer, HugeAndNegativeSizesAreRefused) {
  One o;
  const ValueId x = o.in(f32({1, 1}));
  EXPECT_EQ(o.type(Expand{}, {x, o.ints({int64_t{1} << 40, int64_t{1} << 40})}),
            "output 0 would have shape [1099511627776,1099511627776], which is too large");
  EXPECT_EQ(o.type(Pad{PadMode::kConstant, {-2, 0}, {0, 0}}, {x}),
            "output 0 would have shape [-1,1]: axis 0 is negative");
}

TEST(Infer, KnownContents) {
  One o;
  const ValueId x = o.in(f32({b, s, 768}));
  const ValueId shape = o.put(ShapeOf{0, 3}, {x});
  EXPECT_EQ(o.known(shape), "[b,s,768]");
  const ValueId batch = o.put(Gather{0}, {shape, o.scalar(0)});
  EXPECT_EQ(o.known(batch), "[b]");
  const ValueId batch1 = o.put(Reshape{}, {batch, o.ints({1})});
  const ValueId target = o.put(
      Concat{0}, {batch1, o.ints({-1, 12}), o.put(Binary{BinaryOp::kDiv}, {o.ints({768}), o.ints({12})})});
  EXPECT_EQ(o.known(target), "[b,-1,12,64]");
  EXPECT_EQ(o.type(Reshape{}, {x, target}), "f32[b,s,12,64]");

  // Expand as PyTorch exports it: where(shape == -1, ones, shape).
  const ValueId ones = o.put(Fill{1}, {o.ints({4})}, i64({}));
  const ValueId is_minus =
      o.put(Binary{BinaryOp::kEq}, {target, o.put(Binary{BinaryOp::kMul}, {ones, o.ints({-1})})});
  EXPECT_EQ(o.known(is_minus), "[0,1,0,0]");
  EXPECT_EQ(o.known(o.put(Select{}, {is_minus, ones, target})), "[b,1,12,64]");

  EXPECT_EQ(o.known(o.put(Reduce{ReduceOp::kProd, {0}, false}, {shape})), "[768*b*s]");
  const ValueId half =
      o.put(Unary{UnaryOp::kFloor},
            {o.put(Binary{BinaryOp::kMul}, {o.put(Cast{DType::kF32}, {shape}), o.floats({2})})});
  EXPECT_EQ(o.known(o.put(Cast{DType::kI64}, {half})), "[2*b,2*s,1536]");
  EXPECT_EQ(o.known(o.put(Binary{BinaryOp::kMul}, {o.put(Cast{DType::kF32}, {shape}), o.floats({0.5f})})),
            "none");
  EXPECT_EQ(o.known(o.put(Binary{BinaryOp::kDiv}, {shape, o.ints({2})})), "[b/2,s/2,384]");
  EXPECT_EQ(o.known(o.put(Binary{BinaryOp::kDiv}, {o.ints({-7, 7}), o.ints({2, 0})})), "none");
  EXPECT_EQ(o.known(o.put(Binary{BinaryOp::kDiv}, {o.ints({-7}), o.ints({2})})), "[-3]");
  EXPECT_EQ(o.known(o.put(Binary{BinaryOp::kModFloor}, {o.ints({-7}), o.ints({2})})), "[1]");
  EXPECT_EQ(o.known(o.put(Binary{BinaryOp::kMax}, {shape, o.ints({1})})), "[max(1,b),max(1,s),768]");
  EXPECT_EQ(o.known(o.put(Range{}, {o.scalar(2), o.scalar(9), o.scalar(3)})), "[2,5,8]");
  EXPECT_EQ(o.known(o.put(Slice{{2}, {-1}}, {shape}, i64({3}))), "[768,s,b]");
  EXPECT_EQ(o.known(o.put(DynamicSlice{},
                          {shape, o.ints({-1}), o.ints({-kMaxInt - 1}), o.ints({0}), o.ints({-2})})),
            "[768,b]");
  EXPECT_EQ(o.known(o.put(Tile{}, {o.ints({1, 2}), o.ints({2})})), "[1,2,1,2]");
  EXPECT_EQ(o.known(o.put(CumSum{0, true, false}, {o.ints({1, 2, 3})})), "[0,1,3]");
  EXPECT_EQ(o.known(o.put(CumSum{0, false, true}, {o.ints({1, 2, 3})})), "[6,5,3]");
  EXPECT_EQ(o.known(o.put(Gather{0}, {shape, o.ints({-1, 3})})),
            "none");  // 3 is out of range: a run-time error
  EXPECT_EQ(o.known(o.put(Cast{DType::kI8}, {o.ints({300})})), "none");
  const auto parts = add_inferred(o.g, Split{0}, {shape, o.ints({1, 2})}, {TensorType{}, TensorType{}});
  ASSERT_TRUE(parts.ok());
  EXPECT_EQ(o.known(o.g.node(*parts).outputs[1]), "[s,768]");
}

TEST(Infer, KnownContentsOfEmptyAndLargeTensors) {
  One o;
  const ValueId scalar = o.in(f32({}));
  const ValueId none = o.put(ShapeOf{0, 0}, {scalar});
  EXPECT_EQ(o.known(none), "[]");
  EXPECT_EQ(o.type(Reshape{}, {o.in(f32({1, 1})), none}), "f32[]");
  EXPECT_EQ(o.known(o.put(Fill{0}, {o.ints({100000})}, i64({}))), "none");
  EXPECT_EQ(o.known(o.put(Fill{0}, {o.ints({0, int64_t{1} << 40})}, i64({}))), "none");
}

TEST(Infer, BindSizesReplacesSymbolsEverywhere) {
  One o;
  const ValueId x = o.in(f32({b, s, 768})), mask = o.in(f32({b, p}));
  const ValueId shape = o.put(ShapeOf{0, 3}, {x});
  const ValueId y = o.put(Slice{{0, s - 1, 0}, {1, -1, 1}}, {x}, f32({b, s, 768}));
  const ValueId z = o.put(Expand{}, {mask}, f32({p, b, p}));
  o.g.value(y).type.layout.order = {0, 2, 1};
  ASSERT_TRUE(bind_sizes(o.g, {{"b", 2}, {"s", 7}, {"unused", 3}}).ok());
  EXPECT_EQ(type_text(o.g.value(x).type), "f32[2,7,768]");
  EXPECT_EQ(type_text(o.g.value(y).type), "f32[2,7,768]@021");
  EXPECT_EQ(type_text(o.g.value(z).type), "f32[p,2,p]");
  EXPECT_EQ(o.known(shape), "[2,7,768]");
  EXPECT_EQ(std::get<Slice>(o.g.node(1).op).starts[1], Dim(6));
  const Status negative = bind_sizes(o.g, {{"p", -1}});
  ASSERT_FALSE(negative.ok());
  EXPECT_EQ(negative.error().message, "dimension p is -1, expected 0 or more");
}

TEST(Infer, AWrongBindingNamesTheNode) {
  One o;
  const ValueId x = o.in(f32({b, s})), y = o.in(f32({b, 5}));
  auto id = add_inferred(o.g, Binary{BinaryOp::kAdd}, {x, y}, {TensorType{}}, "Add_7", "Add");
  ASSERT_TRUE(id.ok());
  EXPECT_EQ(type_text(o.g.value(o.g.node(*id).outputs[0]).type), "f32[b,5]");
  EXPECT_TRUE(bind_sizes(o.g, {{"b", 3}}).ok());
  const Status bad = bind_sizes(o.g, {{"s", 4}});
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().text(),
            "node \"Add_7\" (Add): shapes [3,4] and [3,5] do not broadcast: axis 1 has 4 and 5");
}

TEST(Infer, InferAllIsStableForDataDependentDimensions) {
  One o;
  const ValueId x = o.in(f32({b, 4}));
  const ValueId where = o.put(NonZero{}, {x});
  const ValueId again = o.put(NonZero{}, {where});
  EXPECT_EQ(type_text(o.g.value(where).type), "i64[2,?0]");
  EXPECT_EQ(type_text(o.g.value(again).type), "i64[2,?1]");
  ASSERT_TRUE(infer_all(o.g).ok());
  EXPECT_EQ(type_text(o.g.value(where).type), "i64[2,?0]");
  EXPECT_EQ(type_text(o.g.value(again).type), "i64[2,?1]");
  ASSERT_TRUE(bind_sizes(o.g, {{"?0", 3}}).ok());
  EXPECT_EQ(type_text(o.g.value(where).type), "i64[2,3]");
}

}  // namespace
}  // namespace frit::graph
