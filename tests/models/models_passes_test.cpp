// The networks of this folder through the passes alone: nothing of shape arithmetic is left, graphs are as
// small as they were when this was written, the result is stable, and it takes milliseconds.
//
// Weights are a cheap pattern here: what they are matters only where constants fold.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "base/try.h"
#include "graph/infer.h"
#include "graph/passes.h"
#include "graph/text.h"
#include "onnx/import.h"
#include "support/fill_models.h"

namespace frit::test {
namespace {

using graph::Graph;

// Nodes after the passes; a change that makes one of these grow wants a reason.
const std::map<std::string, size_t> kLargest = {{"bert_base", 726},
                                                {"convnext_tiny", 494},
                                                {"deeplabv3_mnv3", 242},
                                                {"distilbert", 371},
                                                {"efficientnet_b0", 241},
                                                {"gpt2", 710},
                                                {"llama_mini_decode", 858},
                                                {"lstm_speech", 13},
                                                {"minilm_l6", 369},
                                                {"mobilenet_v2", 137},
                                                {"mobilenet_v3_large", 236},
                                                {"resnet18_bn", 51},
                                                {"resnet50", 124},
                                                {"swin_t", 870},
                                                {"unet", 74},
                                                {"vit_b_16", 776},
                                                {"whisper_tiny_encoder", 240},
                                                {"yolo_n", 234}};

Result<Graph> import_patterned(base::FileSystem& files, const TestModel& model) {
  uint64_t elements = 0;
  for (const WeightRow& row : model.weights)
    elements = std::max(elements, row.offset_bytes / 4 + row.elements);
  auto weights = std::make_shared<std::vector<float>>(elements);
  uint32_t state = 1;
  for (float& w : *weights) {
    state = state * 1664525u + 1013904223u;
    w = 0.5f + static_cast<float>(state >> 8) * 0x1p-24f;
  }
  FRIT_ASSIGN(const std::string bytes, files.read(model.folder + "/" + model.name + ".onnx"));
  const onnx::Buffer file{reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), {}};
  return onnx::import_bytes(file, model.name, [&](const std::string&) -> Result<onnx::Buffer> {
    return onnx::Buffer{reinterpret_cast<const std::byte*>(weights->data()), elements * sizeof(float),
                        weights};
  });
}

std::map<std::string, int64_t> sizes_of(const Graph& graph, const ModelCase& c) {
  std::map<std::string, int64_t> sizes;
  for (graph::ValueId id : graph.inputs) {
    const graph::Shape& shape = graph.value(id).type.shape;
    for (const CaseInput& input : c.inputs) {
      if (input.name != graph.value(id).name) continue;
      for (size_t k = 0; k < shape.size(); ++k) {
        std::vector<std::string> symbols;
        shape[k].collect_symbols(symbols);
        if (symbols.size() == 1) sizes[symbols[0]] = input.shape[k];
      }
    }
  }
  return sizes;
}

bool is_resolved(const graph::Op& op) {
  return !std::holds_alternative<graph::ShapeOf>(op) && !std::holds_alternative<graph::DynamicSlice>(op) &&
         !std::holds_alternative<graph::DynamicPad>(op) && !std::holds_alternative<graph::Range>(op) &&
         !std::holds_alternative<graph::Fill>(op) && !std::holds_alternative<graph::Tile>(op) &&
         !is_composite(op);
}

class NetworkPasses : public ::testing::TestWithParam<std::string> {};

TEST_P(NetworkPasses, NothingIsLeftOver) {
  base::SystemFileSystem files;
  const TestModel model = load_test_model(files, FRIT_TEST_DATA "/models", GetParam()).value_or_throw();
  Graph graph = import_patterned(files, model).value_or_throw();
  const size_t before = graph.nodes.size();
  graph::bind_sizes(graph, sizes_of(graph, model.cases[0])).value_or_throw();
  Graph strict = graph;
  const auto start = std::chrono::steady_clock::now();
  auto reports = graph::run_passes(graph, {});
  const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(reports.ok()) << reports.error().text();

  size_t constant_only = 0;
  for (const graph::Node& node : graph.nodes) {
    EXPECT_TRUE(is_resolved(node.op)) << print_node(graph, node);
    const bool is_view = std::holds_alternative<graph::Reshape>(node.op) ||
                         std::holds_alternative<graph::Expand>(node.op) ||
                         std::holds_alternative<graph::Resize>(node.op);
    if (is_view) {
      EXPECT_EQ(node.inputs.size(), 1u) << print_node(graph, node);
    }
    bool constant = true;
    for (graph::ValueId v : node.inputs)
      constant = constant && (v == graph::kNoValue || graph.value(v).is_constant());
    constant_only += constant;
  }
  std::printf("%-22s %5zu -> %4zu nodes, %2zu on constants only, %3zu passes, %6.1f ms\n", GetParam().c_str(),
              before, graph.nodes.size(), constant_only, reports->size(), ms.count());
  ASSERT_EQ(kLargest.count(GetParam()), 1u) << "a new network wants a row";
  EXPECT_LE(graph.nodes.size(), kLargest.at(GetParam()));
  const std::string once = print(graph);
  graph::PassOptions options;
  options.check_reports = true;
  auto again = graph::run_passes(graph, {}, options);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->size(), graph::pass_table().size()) << "a second run changes something";
  EXPECT_EQ(print(graph), once);

  graph::PassContext context;
  context.numerics = Numerics::kStrict;
  auto strictly = graph::run_passes(strict, context, options);
  ASSERT_TRUE(strictly.ok()) << strictly.error().text();
  for (const graph::Node& node : strict.nodes) EXPECT_TRUE(is_resolved(node.op)) << print_node(strict, node);
}

std::vector<std::string> all_networks() {
  base::SystemFileSystem files;
  return list_models(files, FRIT_TEST_DATA "/models").value_or_throw();
}

INSTANTIATE_TEST_SUITE_P(Models, NetworkPasses, ::testing::ValuesIn(all_networks()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace frit::test
