// The writer: external data, names, and what it refuses.
#include "onnx/export.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/try.h"
#include "onnx/import.h"
#include "onnx/wire.h"
#include "support/fake_seams.h"
#include "support/onnx_run.h"

namespace frit::onnx {
namespace {

using graph::Dim;
using graph::Graph;
using graph::TensorType;
using graph::ValueId;

TensorType f32(graph::Shape shape) { return {DType::kF32, std::move(shape), {}}; }

// y = x + w, with w of 1024 elements; z = y + v, with v of one.
Graph add_graph() {
  Graph g;
  const ValueId x = g.add_input(f32({1024}), "x");
  const ValueId w = g.add_constant(f32({1024}), graph::make_constant_of(std::vector<float>(1024, 2.0f)), "w");
  const ValueId v = g.add_constant(f32({1}), graph::make_constant_of(std::vector<float>{1.0f}), "v");
  const ValueId y = g.add(graph::Binary{graph::BinaryOp::kAdd}, {x, w}, f32({1024}));
  g.outputs = {g.add(graph::Binary{graph::BinaryOp::kAdd}, {y, v}, f32({1024}))};
  g.output_names = {"z"};
  return g;
}

Result<Graph> read_back(const Graph& g) {
  FRIT_ASSIGN(const std::string bytes, export_bytes(g));
  return test::import_text(bytes);
}

TEST(OnnxExport, LargeConstantsGoToADataFileBesideTheModel) {
  fakes::MemoryFiles files;
  ASSERT_TRUE(files.make_folders("/out", 0755).ok());
  ExportOptions options;
  options.external_from_bytes = 1;  // still nothing below 1024 bytes
  ASSERT_TRUE(export_model(files, add_graph(), "/out/net.onnx", options).ok());
  const std::string data = files.read("/out/net.data").value_or_throw();
  EXPECT_EQ(data.size(), 4096u);
  const std::string model = files.read("/out/net.onnx").value_or_throw();
  const auto view = parse_model(model);
  ASSERT_TRUE(view.ok());
  ASSERT_EQ(view->graph.initializers.size(), 2u);
  EXPECT_TRUE(view->graph.initializers[0].external);
  EXPECT_FALSE(view->graph.initializers[1].external);
  const auto resolver = [&](const std::string& location) -> Result<Buffer> {
    EXPECT_EQ(location, "net.data");
    return Buffer{reinterpret_cast<const std::byte*>(data.data()), data.size(), nullptr};
  };
  const auto again = test::import_text(model, resolver);
  ASSERT_TRUE(again.ok()) << again.error().text();
  const auto z = graph::evaluate(*again, std::vector{test::floats({1024}, std::vector<float>(1024, 4.0f))});
  ASSERT_TRUE(z.ok());
  EXPECT_EQ((*z)[0].values<float>(), std::vector<float>(1024, 7.0f));
}

TEST(OnnxExport, ExternalDataIsAligned) {
  Graph g;
  for (int i = 0; i < 3; ++i) {
    const std::vector<uint8_t> bytes(1025, static_cast<uint8_t>(i));
    g.outputs.push_back(g.add_constant({DType::kU8, {1025}, {}}, graph::make_constant_of(bytes)));
  }
  fakes::MemoryFiles files;
  ASSERT_TRUE(files.make_folders("/out", 0755).ok());
  ExportOptions options;
  options.external_from_bytes = 1024;
  ASSERT_TRUE(export_model(files, g, "/out/net", options).ok());
  const std::string model = files.read("/out/net").value_or_throw();
  const auto view = parse_model(model);
  ASSERT_TRUE(view.ok());
  for (const TensorView& t : view->graph.initializers)
    for (const KeyValue& entry : t.external_data)
      if (entry.key == "offset") {
        EXPECT_EQ(std::stoll(std::string(entry.value)) % 64, 0) << entry.value;
      }
  EXPECT_EQ(files.read("/out/net.data").value_or_throw().size(), 2 * 1088u + 1025u);
}

TEST(OnnxExport, OutputsKeepTheirNamesWhereValuesAreShared) {
  Graph g;
  const ValueId x = g.add_input(f32({Dim::symbol("n")}), "x");
  const ValueId y = g.add(graph::Unary{graph::UnaryOp::kNeg}, {x}, f32({Dim::symbol("n")}));
  const ValueId c =
      g.add_constant(f32({}), graph::make_constant_of(std::vector<float>{5}), "x");  // a name that is taken
  g.outputs = {x, y, y, c};
  g.output_names = {"same", "a", "b", "five"};
  const auto again = read_back(g);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->output_names, g.output_names);
  const auto out = graph::evaluate(*again, std::vector{test::floats({2}, {1, 2})});
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[0].values<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ((*out)[1].values<float>(), (std::vector<float>{-1, -2}));
  EXPECT_EQ((*out)[2].values<float>(), (std::vector<float>{-1, -2}));
  EXPECT_EQ((*out)[3].values<float>(), (std::vector<float>{5}));
  EXPECT_EQ(again->value(again->inputs[0]).type.shape[0], Dim::symbol("n"));
}

TEST(OnnxExport, WhatCannotBeWrittenIsRefused) {
  Graph blocked = add_graph();
  blocked.value(blocked.inputs[0]).type.layout.order = {0};
  EXPECT_EQ(export_bytes(blocked).error().code, Code::kUnsupported);

  Graph expression;
  const Dim n = Dim::symbol("n");
  const ValueId x = expression.add_input(f32({n}), "x");
  expression.outputs = {expression.add(graph::Expand{}, {x}, f32({n + 1, n}), "grow")};
  const auto refused = export_bytes(expression);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUnsupported);
  EXPECT_NE(refused.error().text().find("node \"grow\" (expand): size (n+1) cannot be written"),
            std::string::npos)
      << refused.error().text();
}

TEST(OnnxExport, FilesThatCannotBeWrittenAreErrors) {
  fakes::MemoryFiles files;  // no folder /missing
  const Status done = export_model(files, add_graph(), "/missing/net.onnx");
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::kIo);
  EXPECT_NE(done.error().text().find("/missing/net.onnx"), std::string::npos);
}

}  // namespace
}  // namespace frit::onnx
