// The reader of the protobuf wire format: every field form, and everything that can be wrong with one.
#include "onnx/wire.h"

#include <gtest/gtest.h>

#include <string>

#include "onnx/writer.h"
#include "support/onnx_builder.h"

namespace frit::onnx {
namespace {

using test::OnnxBuilder;

std::string bytes_of(std::initializer_list<int> values) {
  std::string out;
  for (int v : values) out += static_cast<char>(v);
  return out;
}

TEST(OnnxWire, ReadsModelGraphNodesAndAttributes) {
  const std::string bytes = OnnxBuilder(19)
                                .input("x", test::kFloat, {"batch", "3", "?"})
                                .node("Foo", {"x", "", "w"}, {"y"},
                                      {{"i", int64_t{-5}},
                                       {"f", 2.5f},
                                       {"s", std::string("abc")},
                                       {"list", std::vector<int64_t>{1, -2, int64_t{1} << 40}}},
                                      "foo")
                                .floats("w", {2}, {1, 2})
                                .output("y", test::kFloat, {})
                                .bytes();
  const auto model = parse_model(bytes);
  ASSERT_TRUE(model.ok()) << model.error().text();
  EXPECT_EQ(model->ir_version, 8);
  ASSERT_EQ(model->opsets.size(), 1u);
  EXPECT_EQ(model->opsets[0].version, 19);
  const GraphView& graph = model->graph;
  ASSERT_EQ(graph.inputs.size(), 1u);
  EXPECT_EQ(graph.inputs[0].name, "x");
  EXPECT_EQ(graph.inputs[0].type.kind, TypeView::Kind::kTensor);
  ASSERT_EQ(graph.inputs[0].type.dims.size(), 3u);
  EXPECT_EQ(graph.inputs[0].type.dims[0].param, "batch");
  EXPECT_TRUE(graph.inputs[0].type.dims[1].has_value);
  EXPECT_EQ(graph.inputs[0].type.dims[1].value, 3);
  EXPECT_FALSE(graph.inputs[0].type.dims[2].has_value);
  EXPECT_TRUE(graph.outputs[0].type.has_shape);
  ASSERT_EQ(graph.nodes.size(), 1u);
  const NodeView& node = graph.nodes[0];
  EXPECT_EQ(node.inputs, (std::vector<Bytes>{"x", "", "w"}));
  EXPECT_EQ(node.name, "foo");
  ASSERT_EQ(node.attributes.size(), 4u);
  EXPECT_EQ(node.attributes[0].i, -5);
  EXPECT_EQ(node.attributes[1].f, 2.5f);
  EXPECT_EQ(node.attributes[2].s, "abc");
  EXPECT_EQ(node.attributes[3].ints, (std::vector<int64_t>{1, -2, int64_t{1} << 40}));
  ASSERT_EQ(graph.initializers.size(), 1u);
  EXPECT_EQ(graph.initializers[0].raw.size(), 8u);
  // In place: the payload lies inside the bytes that were parsed.
  EXPECT_GE(graph.initializers[0].raw.data(), bytes.data());
  EXPECT_LT(graph.initializers[0].raw.data(), bytes.data() + bytes.size());
}

TEST(OnnxWire, ListsMayBePackedOrNot) {
  MessageWriter plain, packed;
  for (int64_t v : {3, 300, 70000}) plain.integer(1, v);
  packed.packed_integers(1, {3, 300, 70000});
  for (const std::string& bytes : {plain.joined(), packed.joined()}) {
    const auto tensor = parse_tensor(bytes);
    ASSERT_TRUE(tensor.ok());
    EXPECT_EQ(tensor->dims, (std::vector<int64_t>{3, 300, 70000}));
  }
}

TEST(OnnxWire, TypeOfAttributeIsReadFromItsFieldWhenTheFileHasNone) {
  MessageWriter attribute, node, graph;
  attribute.text(1, "axis");
  attribute.integer(3, 2);
  node.message(5, std::move(attribute));
  graph.message(1, std::move(node));
  const std::string bytes = graph.joined();
  const auto parsed = parse_graph(bytes);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->nodes[0].attributes[0].type, AttributeType::kInt);
}

TEST(OnnxWire, UnknownFieldsAndKnownFieldsOfAnotherWireTypeAreSkipped) {
  MessageWriter m;
  m.integer(1, 4);
  m.integer(999, 7);         // unknown varint
  m.text(1000, "whatever");  // unknown bytes
  m.float32(1001, 1);        // unknown fixed32
  m.integer(9, 5);           // raw_data as a varint
  m.float32(2, 1);           // data_type as fixed32
  m.text(8, "w");
  const std::string bytes =
      m.joined() + bytes_of({0xF9, 0x3F, 1, 2, 3, 4, 5, 6, 7, 8});  // field 1023, fixed64
  const auto tensor = parse_tensor(bytes);
  ASSERT_TRUE(tensor.ok()) << tensor.error().text();
  EXPECT_EQ(tensor->dims, std::vector<int64_t>{4});
  EXPECT_EQ(tensor->name, "w");
  EXPECT_FALSE(tensor->has_raw);
  EXPECT_EQ(tensor->data_type, 0);
}

TEST(OnnxWire, EveryTruncationIsAnErrorOrAShorterModel) {
  const std::string bytes =
      OnnxBuilder().input("x", test::kFloat, {"2"}).node("Relu", {"x"}, {"y"}).output("y").bytes();
  ASSERT_TRUE(parse_model(bytes).ok());
  size_t errors = 0;
  for (size_t n = 0; n < bytes.size(); ++n) {
    const std::string cut(bytes.data(), n);  // its own allocation, so that sanitizers see a read past the end
    errors += !parse_model(cut).ok();
  }
  // Only cuts between top-level fields parse: after nothing, ir_version, graph.
  EXPECT_EQ(errors, bytes.size() - 3);
}

struct BadBytes {
  const char* what;
  std::string bytes;
  const char* message;
};

TEST(OnnxWire, MalformedBytesAreErrorsThatSayWhere) {
  const BadBytes cases[] = {
      {"field number 0", bytes_of({0x00, 0x00}), "invalid field number at byte 0"},
      {"group", bytes_of({0x0B}), "invalid wire type at byte 0"},
      {"wire type 7", bytes_of({0x0F}), "invalid wire type at byte 0"},
      {"varint of 11 bytes",
       bytes_of({0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 0x00, 0x00}),
       "varint too long at byte 1"},
      {"varint cut off", bytes_of({0x08, 0x80}), "truncated at byte 1"},
      {"length beyond the end", bytes_of({0x3A, 0x05, 0x00}), "truncated at byte 0"},
      {"length of 2^63", bytes_of({0x3A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01}),
       "truncated at byte 0"},
      {"length of 2^32 + 1", bytes_of({0x3A, 0x81, 0x80, 0x80, 0x80, 0x10, 0x00}), "truncated at byte 0"},
      {"inside a node", bytes_of({0x3A, 0x04, 0x0A, 0x02, 0x0A, 0x09}),
       "truncated in graph.node[0] at byte 4"},
      {"inside an attribute", bytes_of({0x3A, 0x06, 0x0A, 0x04, 0x2A, 0x02, 0x0D, 0x01}),
       "truncated in graph.node[0].attribute[0] at byte 6"},
      {"floats of 5 bytes", bytes_of({0x3A, 0x0B, 0x0A, 0x09, 0x2A, 0x07, 0x3A, 0x05, 1, 2, 3, 4, 5}),
       "packed floats are cut off in graph.node[0].attribute[0] at byte 8"},
      {"name is not text", bytes_of({0x3A, 0x04, 0x12, 0x02, 0xC0, 0x80}),
       "not valid UTF-8 in graph at byte 4"},
      {"name is cut UTF-8", bytes_of({0x3A, 0x03, 0x12, 0x01, 0xE2}), "not valid UTF-8"},
      {"name is a surrogate", bytes_of({0x3A, 0x05, 0x12, 0x03, 0xED, 0xA0, 0x80}), "not valid UTF-8"},
      {"text file", "hello world, I am not a model", "not a valid ONNX model"},
  };
  for (const BadBytes& c : cases) {
    const auto model = parse_model(c.bytes);
    ASSERT_FALSE(model.ok()) << c.what;
    EXPECT_EQ(model.error().code, Code::kBadModel) << c.what;
    EXPECT_NE(model.error().message.find(c.message), std::string::npos)
        << c.what << ": " << model.error().message;
  }
}

TEST(OnnxWire, NamesInUtf8AreKept) {
  const std::string name = "\xC3\xA4/\xE2\x82\xAC/\xF0\x9F\x98\x80";
  MessageWriter graph, model;
  graph.text(2, name);
  model.message(7, std::move(graph));
  const std::string bytes = model.joined();
  const auto parsed = parse_model(bytes);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->graph.name, name);
}

TEST(OnnxWire, VarintsAreDecodedUpToTheLimit) {
  MessageWriter m;
  m.packed_integers(7, {1, -1, 300});
  const std::string bytes = m.joined();
  const auto tensor = parse_tensor(bytes);
  ASSERT_TRUE(tensor.ok());
  const auto all = decode_varints(tensor->int64_data, 3);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(*all, (std::vector<uint64_t>{1, UINT64_MAX, 300}));
  EXPECT_EQ(decode_varints(tensor->int64_data, 1)->size(), 2u);  // one more than asked: too many
  EXPECT_FALSE(decode_varints({Bytes("\x80", 1)}, 5).ok());
}

TEST(OnnxWriter, PayloadsAreNotCopiedAndLengthsNest) {
  const std::string weights(1000, 'w');
  MessageWriter tensor, graph, model;
  tensor.text(8, "w");
  tensor.payload(9, weights);
  tensor.payload(9, {});
  graph.message(5, std::move(tensor));
  model.message(7, std::move(graph));
  size_t total = 0;
  bool in_place = false;
  for (const std::string_view piece : model.pieces()) {
    total += piece.size();
    in_place |= piece.data() == weights.data();
  }
  EXPECT_TRUE(in_place);
  EXPECT_EQ(total, model.size_bytes());
  const std::string bytes = model.joined();
  const auto parsed = parse_model(bytes);
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(parsed->graph.initializers[0].name, "w");
  EXPECT_TRUE(parsed->graph.initializers[0].raw.empty());  // the last field wins
}

}  // namespace
}  // namespace frit::onnx
