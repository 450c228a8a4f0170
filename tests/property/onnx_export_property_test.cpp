// Random graphs written as ONNX: read back they compute the same bits, and ONNX Runtime, where it is
// installed, agrees.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "graph/eval.h"
#include "graph/infer.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "onnx/export.h"
#include "onnx/import.h"
#include "support/random_graph.h"

namespace frit::onnx {
namespace {

using testing::random_graph;
using testing::random_inputs;
using testing::random_sizes;
using testing::RandomGraphOptions;

constexpr uint64_t kFirstSeed = 1;

RandomGraphOptions options_of(uint64_t seed) {
  RandomGraphOptions options;
  options.nodes = 3 + static_cast<int>(seed % 9);
  options.symbols = seed % 4 == 0;
  if (seed % 5 == 0) options.floats = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16};
  return options;
}

struct Case {
  graph::Graph graph;
  std::vector<graph::HostTensor> inputs, outputs;
};

// A random graph that evaluates, or nothing.
std::optional<Case> make_case(uint64_t seed, const RandomGraphOptions& options) {
  Case c;
  c.graph = random_graph(seed, options);
  graph::Graph bound = c.graph;
  if (!graph::bind_sizes(bound, random_sizes(bound, seed)).ok()) return std::nullopt;
  c.inputs = random_inputs(bound, seed);
  auto outputs = graph::evaluate(bound, c.inputs);
  if (!outputs.ok()) return std::nullopt;
  c.outputs = *std::move(outputs);
  return c;
}

bool same_bits(const graph::HostTensor& a, const graph::HostTensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  for (int64_t i = 0; i < a.elements(); ++i) {
    if (is_float(a.dtype()) && std::isnan(a.as_double(i)) && std::isnan(b.as_double(i))) continue;
    const size_t width = dtype_bytes(a.dtype());
    if (std::memcmp(a.bytes() + static_cast<size_t>(i) * width, b.bytes() + static_cast<size_t>(i) * width,
                    width) != 0)
      return false;
  }
  return true;
}

TEST(OnnxExport, RandomGraphsReadBackComputeTheSame) {
  std::cout << "seeds from " << kFirstSeed << "\n";
  int compared = 0, refused = 0;
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 1500; ++seed) {
    const auto c = make_case(seed, options_of(seed));
    if (!c) continue;
    const auto bytes = export_bytes(c->graph);
    if (!bytes.ok()) {  // shapes that only an expression gives
      ASSERT_EQ(bytes.error().code, Code::kUnsupported) << "seed " << seed << ": " << bytes.error().text();
      ++refused;
      continue;
    }
    const Buffer buffer{reinterpret_cast<const std::byte*>(bytes->data()), bytes->size(), nullptr};
    const auto again = import_bytes(buffer, "again.onnx");
    if (!again.ok() && again.error().code == Code::kUnsupported) {
      ++refused;
      continue;
    }
    ASSERT_TRUE(again.ok()) << "seed " << seed << ": " << again.error().text() << "\n"
                            << graph::print(c->graph);
    ASSERT_TRUE(graph::verify(*again).ok()) << "seed " << seed;
    const auto outputs = graph::evaluate(*again, c->inputs);
    ASSERT_TRUE(outputs.ok()) << "seed " << seed << ": " << outputs.error().text() << "\n"
                              << graph::print(*again);
    ASSERT_EQ(outputs->size(), c->outputs.size());
    for (size_t i = 0; i < outputs->size(); ++i)
      ASSERT_TRUE(same_bits((*outputs)[i], c->outputs[i])) << "seed " << seed << " output " << i << "\n"
                                                           << graph::print(c->graph) << "\n"
                                                           << graph::print(*again);
    ++compared;
  }
  std::cout << compared << " graphs compared, " << refused << " cannot be written\n";
  EXPECT_GT(compared, 800);
  EXPECT_LT(refused, compared / 4);
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}
void write_tensor(const std::string& path, const graph::HostTensor& t) {
  graph::TensorType type{t.dtype(), graph::Shape(t.shape().begin(), t.shape().end()), {}};
  write_file(path, export_tensor(type, {reinterpret_cast<const char*>(t.bytes()), t.size_bytes()}, "t"));
}

// ONNX's shape inference counts windows that start in the end padding, which its own text rules out.
bool has_ceil_mode(const graph::Graph& graph) {
  for (const graph::Node& node : graph.nodes)
    if (const auto* pool = std::get_if<graph::Pool>(&node.op); pool != nullptr && pool->ceil_mode)
      return true;
  return false;
}

TEST(OnnxExport, OnnxRuntimeAgreesWithTheEvaluator) {
  const char* python = std::getenv("FRIT_PYTHON");
  const std::string root = ::testing::TempDir() + "frit_onnx_peer_" + std::to_string(getpid());
  std::filesystem::remove_all(root);
  base::SystemFileSystem files;
  int count = 0;
  for (uint64_t seed = kFirstSeed; count < 150; ++seed) {
    RandomGraphOptions options;
    options.nodes = 3 + static_cast<int>(seed % 7);
    options.symbols = seed % 4 == 0;
    options.empty = false;  // other engines have their own ideas of empty reductions
    const auto c = make_case(seed, options);
    if (!c || has_ceil_mode(c->graph)) continue;
    const std::string folder = root + "/" + std::to_string(seed);
    ASSERT_TRUE(files.make_folders(folder, 0755).ok());
    ExportOptions export_options;
    if (seed % 2 == 0) export_options.external_from_bytes = 16;
    const Status written = export_model(files, c->graph, folder + "/model.onnx", export_options);
    if (!written.ok()) {
      std::filesystem::remove_all(folder);
      continue;
    }
    for (size_t i = 0; i < c->inputs.size(); ++i)
      write_tensor(folder + "/input_" + std::to_string(i) + ".pb", c->inputs[i]);
    for (size_t i = 0; i < c->outputs.size(); ++i)
      write_tensor(folder + "/output_" + std::to_string(i) + ".pb", c->outputs[i]);
    ++count;
  }
  const std::string command = std::string(python != nullptr ? python : "python3") +
                              " " FRIT_TEST_DATA "/support/onnx_peer.py " + root + "/*";
  const int status = std::system(command.c_str());
  if (std::getenv("FRIT_KEEP") == nullptr) std::filesystem::remove_all(root);
  if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127))
    GTEST_SKIP() << "no Python with onnx and onnxruntime (FRIT_PYTHON names one)";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace frit::onnx
