// The evaluation of whole graphs: binding of sizes, lifetimes, checks, observation, and what errors name.
#include <map>

#include "unit/eval_testing.h"

namespace frit::graph {
namespace {

using namespace testing;

TensorType symbolic(std::vector<Dim> shape, DType dtype = DType::kF32) {
  return TensorType{dtype, std::move(shape), {}};
}

std::vector<HostTensor> evaluate_all(const Graph& graph, const std::vector<HostTensor>& inputs,
                                     const EvalOptions& options = {}) {
  auto out = evaluate(graph, inputs, options);
  EXPECT_TRUE(out.ok()) << out.error().text();
  return out.ok() ? *std::move(out) : std::vector<HostTensor>();
}

Error evaluate_error(const Graph& graph, const std::vector<HostTensor>& inputs,
                     const EvalOptions& options = {}) {
  auto out = evaluate(graph, inputs, options);
  EXPECT_FALSE(out.ok());
  return out.ok() ? Error{} : out.error();
}

// y = relu(x + 1), z = y * y
Graph small_graph() {
  Graph g;
  const Dim n = Dim::symbol("n");
  const ValueId x = g.add_input(symbolic({n, 2}), "x");
  const ValueId one = g.add_constant(type_of(DType::kF32, {1}), make_constant_of<float>({1}));
  const ValueId sum = g.add(Binary{BinaryOp::kAdd}, {x, one}, symbolic({n, 2}), "sum");
  const ValueId y = g.add(Unary{UnaryOp::kRelu}, {sum}, symbolic({n, 2}), "y");
  const ValueId z = g.add(Binary{BinaryOp::kMul}, {y, y}, symbolic({n, 2}), "z");
  g.outputs = {z, y};
  return g;
}

TEST(Evaluate, BindsNamedSizesAndOrdersOutputs) {
  const Graph g = small_graph();
  for (int64_t n : {0, 1, 3}) {
    const auto out = evaluate_all(g, {ramp({n, 2}, 1, -2)});
    ASSERT_EQ(out.size(), 2u);
    EXPECT_EQ(out[0].shape(), (Extents{n, 2}));
    for (int64_t i = 0; i < 2 * n; ++i) {
      const double y = std::max<double>(0, static_cast<double>(i) - 1);
      EXPECT_EQ(out[1].as_double(i), y);
      EXPECT_EQ(out[0].as_double(i), y * y);
    }
  }
}

TEST(Evaluate, ObservesEveryValueOnce) {
  const Graph g = small_graph();
  std::map<ValueId, int> seen;
  EvalOptions options;
  options.observe = [&](ValueId id, const HostTensor& tensor) {
    ++seen[id];
    EXPECT_GT(tensor.elements(), 0);
  };
  evaluate_all(g, {ramp({1, 2})}, options);
  ASSERT_EQ(seen.size(), g.values.size());
  for (const auto& [id, count] : seen) EXPECT_EQ(count, 1) << id;
}

// Each value of a chain holds its bytes alone; a weak pointer sees when they go.
TEST(Evaluate, FreesValuesAfterTheirLastUse) {
  Graph g;
  ValueId v = g.add_input(type_of(DType::kF32, {4}), "x");
  for (int i = 0; i < 5; ++i) v = g.add(Unary{UnaryOp::kNeg}, {v}, type_of(DType::kF32, {4}));
  g.outputs = {v};
  std::vector<std::weak_ptr<const void>> bytes;
  EvalOptions options;
  size_t most_alive = 0;
  options.observe = [&](ValueId, const HostTensor& tensor) {
    bytes.push_back(tensor.owner());
    size_t alive = 0;
    for (size_t i = 1; i < bytes.size(); ++i) alive += !bytes[i].expired();  // the input is the caller's
    most_alive = std::max(most_alive, alive);
  };
  evaluate_all(g, {ramp({4})}, options);
  EXPECT_EQ(bytes.size(), 6u);
  EXPECT_EQ(most_alive, 2u);
}

TEST(Evaluate, DataDependentShapesNeedNoInference) {
  Graph g;
  const ValueId x = g.add_input(symbolic({Dim::symbol("n")}), "x");
  const ValueId where = g.add(NonZero{}, {x}, symbolic({Dim(1), Dim::symbol("found")}, DType::kI64));
  const ValueId shape = g.add(ShapeOf{0, 2}, {where}, type_of(DType::kI64, {2}));
  const ValueId filled = g.add(Fill{7}, {shape}, symbolic({Dim(1), Dim::symbol("found")}, DType::kI64));
  const ValueId sum =
      g.add(Binary{BinaryOp::kAdd}, {where, filled}, symbolic({Dim(1), Dim::symbol("found")}, DType::kI64));
  g.outputs = {sum};
  auto out = evaluate_all(g, {f32({4}, {0, 5, 0, 6})});
  ASSERT_EQ(out.size(), 1u);
  expect_i64(out[0], {1, 2}, {8, 10});
  out = evaluate_all(g, {f32({1}, {0})});
  expect_i64(out[0], {1, 0}, {});
}

// Slice takes its extents from its type and its starts from expressions over named sizes.
TEST(Evaluate, TypesAndStartsAreBoundToSizes) {
  Graph g;
  const Dim n = Dim::symbol("n");
  const ValueId x = g.add_input(symbolic({n}), "x");
  const ValueId last = g.add(Slice{{n - Dim(2)}, {1}}, {x}, symbolic({Dim(2)}), "last");
  const ValueId index = g.add(Iota{0}, {}, symbolic({n}, DType::kI64), "index");
  g.outputs = {last, index};
  const auto out = evaluate_all(g, {ramp({5})});
  ASSERT_EQ(out.size(), 2u);
  expect_f32(out[0], {2}, {3, 4});
  expect_i64(out[1], {5}, {0, 1, 2, 3, 4});
}

TEST(Evaluate, UnalignedConstants) {
  // A constant inside a mapped file may start at any byte.
  std::vector<std::byte> raw(1 + 3 * sizeof(float));
  const float values[] = {1.5f, -2, 4};
  std::memcpy(raw.data() + 1, values, sizeof values);
  auto data = std::make_shared<ConstantData>();
  data->bytes = raw.data() + 1;
  data->size_bytes = sizeof values;
  Graph g;
  const ValueId c = g.add_constant(type_of(DType::kF32, {3}), data);
  const ValueId square = g.add(Binary{BinaryOp::kMul}, {c, c}, type_of(DType::kF32, {3}));
  const ValueId product = g.add(MatMul{},
                                {g.add(Reshape{}, {c}, type_of(DType::kF32, {1, 3})),
                                 g.add(Reshape{}, {c}, type_of(DType::kF32, {3, 1}))},
                                type_of(DType::kF32, {1, 1}));
  g.outputs = {square, product};
  const auto out = evaluate_all(g, {});
  ASSERT_EQ(out.size(), 2u);
  expect_f32(out[0], {3}, {2.25, 4, 16});
  expect_f32(out[1], {1, 1}, {22.25});
}

TEST(Evaluate, ErrorsNameTheNode) {
  Graph g;
  const ValueId x = g.add_input(symbolic({Dim::symbol("n")}), "x");
  const ValueId at = g.add_input(type_of(DType::kI64, {1}), "at");
  const ValueId picked = g.add(Gather{0}, {x, at}, type_of(DType::kF32, {1}));
  g.nodes.back().name = "Gather_7";
  g.nodes.back().source_op = "Gather";
  g.outputs = {picked};
  const Error error = evaluate_error(g, {ramp({3}), i64({1}, {3})});
  EXPECT_EQ(error.code, Code::kInvalidArgument);
  EXPECT_EQ(error.text(),
            "node \"Gather_7\" (Gather): index 3 at element 0 is out of range for axis 0 with 3 elements");
}

TEST(Evaluate, RefusesWrongInputs) {
  const Graph g = small_graph();
  Error error = evaluate_error(g, {});
  EXPECT_EQ(error.text(), "got 0 inputs, the graph has 1");
  error = evaluate_error(g, {ramp({3})});
  EXPECT_EQ(error.text(), "input \"x\" is f32[3], expected f32[n,2]");
  error = evaluate_error(g, {ramp({3, 3})});
  EXPECT_EQ(error.code, Code::kInvalidArgument);
  error = evaluate_error(g, {i64({1, 2}, {1, 2})});
  EXPECT_EQ(error.text(), "input \"x\" is i64[1,2], expected f32[n,2]");
}

TEST(Evaluate, OneNameOneSize) {
  Graph g;
  const Dim n = Dim::symbol("n");
  const ValueId a = g.add_input(symbolic({n + Dim(1)}), "a");  // before the input that names n
  const ValueId b = g.add_input(symbolic({n}), "b");
  const ValueId c = g.add_input(symbolic({n}), "c");
  g.outputs = {a, b, c};
  EXPECT_EQ(evaluate_all(g, {ramp({3}), ramp({2}), ramp({2})}).size(), 3u);
  EXPECT_NE(evaluate_error(g, {ramp({4}), ramp({2}), ramp({2})}).text().find("input \"a\""),
            std::string::npos);
  EXPECT_NE(evaluate_error(g, {ramp({3}), ramp({2}), ramp({3})}).text().find("input \"c\""),
            std::string::npos);
}

TEST(Evaluate, ChecksTypesUnlessTold) {
  Graph g;
  const ValueId x = g.add_input(type_of(DType::kF32, {2}), "x");
  const ValueId y = g.add(Unary{UnaryOp::kNeg}, {x}, type_of(DType::kF32, {3}), "y");
  g.outputs = {y};
  const Error error = evaluate_error(g, {ramp({2})});
  EXPECT_EQ(error.code, Code::kInternal);
  EXPECT_NE(error.message.find("output 0 is f32[2], but its type says f32[3]"), std::string::npos)
      << error.message;
  EvalOptions lax;
  lax.check_types = false;
  const auto out = evaluate_all(g, {ramp({2})}, lax);
  ASSERT_EQ(out.size(), 1u);
  expect_f32(out[0], {2}, {-0.0, -1});
}

TEST(Evaluate, MalformedGraphsAreErrors) {
  Graph g = small_graph();
  std::swap(g.nodes[0], g.nodes[1]);
  EXPECT_NE(evaluate_error(g, {ramp({1, 2})}).text().find("is not computed yet"), std::string::npos);
  g = small_graph();
  g.nodes[0].inputs[0] = 99;
  EXPECT_EQ(evaluate_error(g, {ramp({1, 2})}).code, Code::kInternal);
  g = small_graph();
  g.outputs = {-7};
  EXPECT_EQ(evaluate_error(g, {ramp({1, 2})}).code, Code::kInternal);
  g = small_graph();
  g.value(1).type = type_of(DType::kF32, {2});  // the constant has 4 bytes
  EXPECT_NE(evaluate_error(g, {ramp({1, 2})}).text().find("has 4 bytes, expected 8"), std::string::npos);
}

TEST(Evaluate, LimitsAndStops) {
  const Graph g = small_graph();
  EvalOptions options;
  options.max_value_bytes = 8;
  EXPECT_EQ(evaluate_all(g, {ramp({1, 2})}, options).size(), 2u);
  EXPECT_EQ(evaluate_error(g, {ramp({2, 2})}, options).code, Code::kOutOfMemory);
  StopSource source;
  source.request_stop();
  options.stop = source.token();
  EXPECT_EQ(evaluate_error(g, {ramp({1, 2})}, options).code, Code::kCancelled);
}

TEST(HostTensor, ConstructionIsChecked) {
  EXPECT_FALSE(HostTensor::allocate(DType::kF32, {-1}).ok());
  EXPECT_FALSE(HostTensor::allocate(DType::kF32, {int64_t{1} << 40, int64_t{1} << 40, 0}).ok());
  EXPECT_FALSE(HostTensor::of<float>(DType::kF32, {3}, {1, 2}).ok());
  EXPECT_FALSE(HostTensor::of<double>(DType::kF32, {1}, {1}).ok());
  EXPECT_EQ(HostTensor().elements(), 0);
  EXPECT_EQ(ramp({2, 0}).size_bytes(), 0u);
  EXPECT_EQ(f32({}, {1}).type_text(), "f32[]");
}

}  // namespace
}  // namespace frit::graph
