// The canonical text of Graph: exact examples, exact bits, and what the parser refuses.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>

#include "graph/text.h"

namespace frit::graph {
namespace {

// Every op with attributes that are all different from their defaults.
constexpr const char* kAllOps = R"(graph(%0: f32[1,64,56,56], %1: i64[n], %2: bool[]) {
  %3 = unary.exp(%0) : f32[1,64,56,56]
  %4 = unary.relu(%3) : f32[1,64,56,56]
  %5 = binary.modtrunc(%3, %4) : f32[1,64,56,56]
  %6 = binary.ge(%3, %4) : bool[1,64,56,56]
  %7 = select(%6, %5, %4) : f32[1,64,56,56]
  %8 = cast(%7) {to=bf16} : bf16[1,64,56,56]
  %9 = reduce.prod(%8) {axes=[1,3] keepdims=true} : bf16[1,1,56,1]
  %10 = arg_reduce(%8) {max=true axis=2 keepdims=false select_last=true} : i64[1,64,56]
  %11 = cumsum(%8) {axis=1 exclusive=true reverse=false} : bf16[1,64,56,56]
  %12 = const i64[1] [5]
  %13, %14 = topk(%8, %12) {axis=1 largest=false sorted=true} : bf16[1,5,56,56], i64[1,5,56,56]
  %15 = matmul(%0, %0) : f32[1,64,56,56]
  %16 = const f32[128,32,3,3]
  %17 = conv(%0, %16, _) {strides=[2,1] pads=[1,2,3,4] dilations=[1,1] groups=2} : f32[1,128,29,59]
  %18 = conv_transpose(%17, %16) {strides=[2,1] pads=[1,2,3,4] dilations=[1,1] output_padding=[1,0] groups=2} : f32[1,64,5,5]
  %19 = pool.avg(%0) {kernel=[3,3] strides=[2,2] pads=[0,0,1,1] dilations=[1,1] ceil_mode=true count_include_pad=false} : f32[1,64,28,28]
  %20 = reshape(%0, %1) {allowzero=true} : f32[?3,?4]
  %21 = transpose(%0) {perm=[0,2,3,1]} : f32[1,56,56,64]
  %22 = expand(%2, %1) : bool[1,7]
  %23 = slice(%0) {starts=[0,(n-1),min(3,n),"odd, ] name"/2] steps=[1,-1,2,1]} : f32[1,n,2,4]
  %24 = dynamic_slice(%0, %1, %1, _, %1) : f32[?5,?6,?7,?8]
  %25 = concat(%0, %0, %0) {axis=1} : f32[1,192,56,56]
  %26 = pad(%0) {mode=reflect before=[0,0,1,-1] after=[0,0,2,0]} : f32[1,64,59,55]
  %27 = dynamic_pad(%0, %1, _, %1) {mode=wrap} : f32[1,64,?9,?10]
  %28 = tile(%0, %1) : f32[2,64,56,56]
  %29 = gather(%0, %1) {axis=1} : f32[1,n,56,56]
  %30 = gather_elements(%0, %1) {axis=3} : f32[n]
  %31 = gather_nd(%0, %1) {batch_dims=1} : f32[n]
  %32 = scatter_elements(%0, %1, %0) {axis=2 reduction=mul} : f32[1,64,56,56]
  %33 = scatter_nd(%0, %1, %0) {reduction=min} : f32[1,64,56,56]
  %34 = resize(%0) {mode=cubic coord=tf_crop_and_resize nearest=ceil cubic_a=-0.75 exclude_outside=true by_scales=false scales=[1,1,2.5,0.1]} : f32[1,64,140,5]
  %35 = range(%1, %1, %1) : i64[?11]
  %36 = iota() {axis=1} : i64[3,4]
  %37 = shape_of(%0) {start=1 end=3} : i64[2]
  %38 = fill(%37) {bits=0xffffffffffffffff} : i64[64,56]
  %39 = nonzero(%38) : i64[2,?12]
  %40 = const f32[64]
  %41 = batch_norm(%0, %40, %40, %40, %40) {epsilon=1e-05} : f32[1,64,56,56]
  %42, %43, %44 = layer_norm(%0, %40) {axis=3 epsilon=nan:0x7fc00001} : f32[1,64,56,56], f32[1,64,56,1], f32[1,64,56,1]
  %45 = softmax(%0) {axis=3 log=true} : f32[1,64,56,56]
  %46 = gelu(%0) {tanh=true} : f32[1,64,56,56]
  %47 = gemm(%16, %16) {alpha=0.5 beta=-0 trans_a=true trans_b=false} : f32[3,3]
  %48 = hard_sigmoid(%0) {alpha=0.16666667 beta=0.5} : f32[1,64,56,56]
  %49 = hard_swish(%0) : f32[1,64,56,56]
  %50 = leaky_relu(%0) {alpha=0.01} : f32[1,64,56,56]
  %51 = const f32[] [inf]
  %52 = clip(%0, _, %51) : f32[1,64,56,56]
  %53, %54 = split(%0) {axis=1} : f32[1,32,56,56]@0231, f32[1,32,56,56]
  %55 = lstm(%0, %0, %0, _, _, %0) {hidden=128 direction=bidirectional input_forget=true clip=3.5} : f32[s,2,b,128]
  %56 = const bool[2,0] []
  return %55, %56, %0
}
)";

TEST(GraphText, EveryOpRoundTrips) {
  auto g = parse(kAllOps);
  ASSERT_TRUE(g.ok()) << g.error().text();
  EXPECT_EQ(print(*g), kAllOps);
  std::vector<bool> seen(std::variant_size_v<Op>, false);
  for (const Node& node : g->nodes) seen[node.op.index()] = true;
  for (size_t i = 0; i < seen.size(); ++i)
    EXPECT_TRUE(seen[i]) << "alternative " << i << " of Op is not covered";
}

TEST(GraphText, OpsKeepTheirFields) {
  auto g = parse(kAllOps);
  ASSERT_TRUE(g.ok());
  auto again = parse(print(*g));
  ASSERT_TRUE(again.ok());
  ASSERT_EQ(g->nodes.size(), again->nodes.size());
  for (size_t n = 0; n < g->nodes.size(); ++n) {
    if (std::holds_alternative<LayerNorm>(g->nodes[n].op)) continue;  // its epsilon is a NaN here
    EXPECT_EQ(g->nodes[n].op, again->nodes[n].op) << print_node(*g, g->nodes[n]);
  }
  const auto& conv = std::get<Conv>(g->nodes[11].op);
  EXPECT_EQ(conv.pads, (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(conv.groups, 2);
  EXPECT_EQ(std::get<Slice>(g->nodes[17].op).starts[3], floor_div(Dim::symbol("odd, ] name"), Dim(2)));
}

TEST(GraphText, FloatsKeepTheirBits) {
  Graph g;
  const std::vector<uint32_t> bits = {0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000,
                                      0x7f800001, 0x7fc12345, 0x00000001, 0x807fffff, 0x7f7fffff, 0x3dcccccd};
  std::vector<float> values(bits.size());
  std::memcpy(values.data(), bits.data(), bits.size() * sizeof(float));
  g.outputs.push_back(g.add_constant({DType::kF32, {12}, {}}, make_constant_of(values)));
  g.outputs.push_back(g.add_constant(
      {DType::kF64, {4}, {}}, make_constant_of<double>({-0.0, 0.1, std::bit_cast<double>(0x7ff0000000000001u),
                                                        std::numeric_limits<double>::denorm_min()})));
  g.outputs.push_back(g.add_constant(
      {DType::kF16, {6}, {}}, make_constant_of<uint16_t>({0x8000, 0x0001, 0x7bff, 0x7e00, 0xfc01, 0x2e66})));
  g.outputs.push_back(g.add_constant(
      {DType::kBF16, {6}, {}}, make_constant_of<uint16_t>({0x8000, 0x0001, 0x7f7f, 0x7fc0, 0xff81, 0x3dcd})));
  g.outputs.push_back(
      g.add_constant({DType::kI64, {2}, {}}, make_constant_of<int64_t>({INT64_MIN, INT64_MAX})));
  g.outputs.push_back(g.add_constant({DType::kU64, {1}, {}}, make_constant_of<uint64_t>({UINT64_MAX})));
  g.outputs.push_back(g.add_constant({DType::kI8, {2}, {}}, make_constant_of<int8_t>({-128, 127})));
  g.outputs.push_back(g.add_constant({DType::kBool, {2}, {}}, make_constant_of<uint8_t>({0, 1})));
  const std::string text = print(g);
  EXPECT_NE(
      text.find(
          "const f32[12] [0, -0, inf, -inf, nan, nan:0xffc00000, nan:0x7f800001, nan:0x7fc12345, 1e-45,"),
      std::string::npos)
      << text;
  auto parsed = parse(text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(print(*parsed), text);
  for (size_t i = 0; i < g.outputs.size(); ++i) {
    const ConstantData &a = *g.value(g.outputs[i]).constant, &b = *parsed->value(parsed->outputs[i]).constant;
    ASSERT_EQ(a.size_bytes, b.size_bytes);
    EXPECT_EQ(std::memcmp(a.bytes, b.bytes, a.size_bytes), 0) << "constant " << i;
  }
}

TEST(GraphText, NamesIdsAndConstantOrderDoNotMatter) {
  const TensorType t{DType::kF32, {2}, {}};
  Graph a;
  const ValueId ax = a.add_input(t, "x");
  const ValueId ac = a.add_constant(t, make_constant_of<float>({1, 2}), "c");
  const ValueId ad = a.add_constant(t, make_constant_of<float>({3, 4}), "d");
  a.outputs = {
      a.add(Binary{BinaryOp::kAdd}, {a.add(Binary{BinaryOp::kMul}, {ax, ac}, t, "first"), ad}, t, "second")};
  a.name = "model";

  Graph b;
  const ValueId bd = b.add_constant(t, make_constant_of<float>({3, 4}));
  b.add_constant(t, make_constant_of<float>({9, 9}));  // used by nobody
  const ValueId bc = b.add_constant(t, make_constant_of<float>({1, 2}));
  const ValueId bx = b.add_input(t);
  const ValueId product = b.add(Binary{BinaryOp::kMul}, {bx, bc}, t);
  b.add_node(Unary{UnaryOp::kExp}, {bx}, {t});
  b.node(1).dead = true;
  b.outputs = {b.add(Binary{BinaryOp::kAdd}, {product, bd}, t)};
  EXPECT_EQ(print(a), print(b));
  EXPECT_EQ(print(a), R"(graph(%0: f32[2]) {
  %1 = const f32[2] [1, 2]
  %2 = binary.mul(%0, %1) : f32[2]
  %3 = const f32[2] [3, 4]
  %4 = binary.add(%2, %3) : f32[2]
  return %4
}
)");
  compact(b);
  EXPECT_EQ(print(a), print(b));
}

TEST(GraphText, LargeConstantsAreFilledFromTheSeed) {
  const char* text =
      "graph() { %a = const f32[17] %b = const f32[17] hash=00ff %c = const i64[4,5] return %a, %b, %c }";
  auto g = parse(text), same = parse(text), other = parse(text, {.seed = 1});
  ASSERT_TRUE(g.ok() && same.ok() && other.ok()) << g.error().text();
  auto bytes = [](const Graph& graph, size_t i) {
    const ConstantData& data = *graph.value(graph.outputs[i]).constant;
    return std::vector<std::byte>(data.bytes, data.bytes + data.size_bytes);
  };
  EXPECT_EQ(bytes(*g, 0), bytes(*same, 0));
  EXPECT_NE(bytes(*g, 0), bytes(*other, 0));
  EXPECT_NE(bytes(*g, 0), bytes(*g, 1));
  float first = 0;
  std::memcpy(&first, g->value(g->outputs[0]).constant->bytes, sizeof first);
  EXPECT_GE(first, -1);
  EXPECT_LT(first, 1);
  for (std::byte b : bytes(*g, 2)) EXPECT_LE(static_cast<int>(b), 1);
  EXPECT_EQ(print(*g).find("hash="), std::string::npos);
  EXPECT_NE(print(*g, {.content_hashes = true}).find("const f32[17] hash="), std::string::npos);
  EXPECT_NE(print(*g, {.content_hashes = true}), print(*other, {.content_hashes = true}));
}

TEST(GraphText, CommentsSpaceAndWordsAreAccepted) {
  auto g =
      parse("# a graph\ngraph ( %x : f32 [ 2 , s ] ){%y=unary.neg( %x ):f32[2,s] # minus\nreturn %y}\n# end");
  ASSERT_TRUE(g.ok()) << g.error().text();
  EXPECT_EQ(g->value(0).name, "x");
  EXPECT_EQ(print(*g), "graph(%0: f32[2,s]) {\n  %1 = unary.neg(%0) : f32[2,s]\n  return %1\n}\n");
}

TEST(GraphText, HighRankLayouts) {
  Graph g;
  TensorType t{DType::kI8, Shape(12, Dim(1)), {}};
  t.layout.order = {11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  g.outputs = {g.add_input(t)};
  auto parsed = parse(print(g));
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(parsed->value(0).type, t);
}

TEST(GraphText, Refusals) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "line 1: expected 'graph'"},
      {"graph", "unexpected end, expected '('"},
      {"graph(%0: f32[2)", "unexpected end, expected ']'"},
      {"graph(%0: f31[2]) {}", "unknown type \"f31\""},
      {"graph(%0: f32[2+]) {}", "expected a size"},
      {"graph(%0: f32[2], %0: f32[2]) {}", "%0 is defined twice"},
      {"graph() {", "expected a value or 'return'"},
      {"graph() {\n  %0 = unary.foo() : f32[]\n}", "line 2: expected a known name after \"unary\""},
      {"graph() {\n  %0 = foo() : f32[]\n}", "line 2: unknown op \"foo\""},
      {"graph() { %0 = unary.neg(%9) : f32[] }", "%9 is used before it is defined"},
      {"graph() { %0 = gather() : f32[] }", "attribute axis is missing"},
      {"graph() { %0 = gather() {axis=x} : f32[] }",
       "attribute axis has the value \"x\", which is not of its type"},
      {"graph() { %0 = gather() {axis=1 axis=1} : f32[] }", "attribute axis is given twice"},
      {"graph() { %0 = gather() {axis=1 foo=1} : f32[] }", "unknown attribute foo"},
      {"graph() { %0, %1 = tile() : f32[] }", "2 values are defined, but 1 types are given"},
      {"graph() { %0 = const f32[2] [1] }", "a constant of shape [2] has 1 values, expected 2"},
      {"graph() { %0 = const f32[2] [1, x] }", "\"x\" is not of type f32"},
      {"graph() { %0 = const i8[1] [128] }", "\"128\" is not of type i8"},
      {"graph() { %0 = const f32[1] [nan:0x3f800000] }", "is not of type f32"},
      {"graph() { %0 = const f32[2] }", "expected the values of a small constant"},
      {"graph() { %0 = const f32[s] [1] }", "expected constant dimensions"},
      {"graph() { %0 = const f32[-1] [1] }", "negative dimension"},
      {"graph() { %0 = const f32[4000000000,4000000000] }", "constants are larger than"},
      {"graph() { %0 = const f32[200000] %1 = const f32[100000] }", "constants are larger than"},
      {"graph() { return _ }", "a graph output cannot be absent"},
      {"graph() { return } x", "unexpected text after the graph"},
      {"graph(%0: f32[2]@0", ""},
      {"graph(%0: f32[]@) { return }", "a scalar has no layout"},
  };
  for (const auto& [text, message] : cases) {
    auto g = parse(text, {.max_constant_bytes = 1 << 20});
    ASSERT_FALSE(g.ok()) << text;
    EXPECT_EQ(g.error().code, Code::kInvalidArgument);
    EXPECT_NE(g.error().message.find(message), std::string::npos) << text << ": " << g.error().message;
  }
  EXPECT_FALSE(parse(std::string_view("graph() { return }\0", 19)).ok());
}

TEST(GraphText, EveryPrefixIsRefusedQuietly) {
  const std::string text = kAllOps;
  for (size_t n = 0; n + 2 < text.size(); n += 7) ASSERT_FALSE(parse(text.substr(0, n)).ok()) << n;
}

TEST(GraphText, BrokenGraphsPrint) {
  Graph g;
  const ValueId free = g.add_value({DType::kF32, {1}, {}});
  g.add_constant({DType::kF32, {3}, {}}, make_constant_of<float>({1}));
  g.add(Binary{static_cast<BinaryOp>(200)}, {free, 77}, {DType::kF32, {Dim(-1)}, {}});
  g.node(0).outputs.push_back(-5);
  g.outputs = {99, 1};
  EXPECT_EQ(print(g), R"(graph() {
  %0, %1 = binary.invalid(%?0, %?77) : f32[-1], ?
  %2 = const f32[3]
  return %?99, %2
}
)");
  EXPECT_EQ(print_node(g, g.node(0)), "%2, %-5 = binary.invalid(%0: f32[1], %77: ?) : f32[-1], ?");
}

}  // namespace
}  // namespace frit::graph
