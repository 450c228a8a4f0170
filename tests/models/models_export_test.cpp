// Networks imported and written again: ONNX Runtime, where it is installed, computes what the evaluator does
// from the original. Arguments: --networks=a,b,... (none: all of them).
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "graph/eval.h"
#include "onnx/export.h"
#include "support/fill_models.h"
#include "support/networks.h"

namespace frit::test {
namespace {

void write_tensor(const std::string& path, const graph::HostTensor& t) {
  const graph::TensorType type{t.dtype(), graph::Shape(t.shape().begin(), t.shape().end()), {}};
  const std::string bytes =
      onnx::export_tensor(type, {reinterpret_cast<const char*>(t.bytes()), t.size_bytes()}, "t");
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

class ExportTest : public testing::Test {
 public:
  explicit ExportTest(std::string name) : name_(std::move(name)) {}

  void TestBody() override {
    base::SystemFileSystem files;
    const TestModel model = load_test_model(files, FRIT_TEST_DATA "/models", name_).value_or_throw();
    const graph::Graph graph = import_filled(files, model).value_or_throw();
    const std::string folder = testing::TempDir() + "frit_export_" + name_ + "_" + std::to_string(getpid());
    ASSERT_TRUE(files.make_folders(folder, 0755).ok());
    onnx::ExportOptions options;
    options.external_from_bytes = 1 << 16;
    const Status written = onnx::export_model(files, graph, folder + "/model.onnx", options);
    ASSERT_TRUE(written.ok()) << written.error().text();
    EXPECT_TRUE(files.exists(folder + "/model.data"));
    // The last case: where sizes are dynamic they differ from those that an exporter might have baked in.
    const size_t index = model.cases.size() - 1;
    const auto inputs = make_case_inputs(model, index, graph).value_or_throw();
    graph::EvalOptions eval;
    eval.parallel_for = run_parallel;
    const auto outputs = graph::evaluate(graph, inputs, eval).value_or_throw();
    for (size_t i = 0; i < inputs.size(); ++i)
      write_tensor(folder + "/input_" + std::to_string(i) + ".pb", inputs[i]);
    for (size_t i = 0; i < outputs.size(); ++i)
      write_tensor(folder + "/output_" + std::to_string(i) + ".pb", outputs[i]);
    const char* python = std::getenv("FRIT_PYTHON");
    const std::string command = std::string(python != nullptr ? python : "python3") +
                                " " FRIT_TEST_DATA "/support/onnx_peer.py " + folder;
    const int status = std::system(command.c_str());
    std::filesystem::remove_all(folder);
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127))
      GTEST_SKIP() << "no Python with onnx and onnxruntime (FRIT_PYTHON names one)";
    EXPECT_EQ(status, 0);
  }

 private:
  std::string name_;
};

}  // namespace
}  // namespace frit::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (const std::string& name : frit::test::chosen_networks(argc, argv))
    testing::RegisterTest("ModelsExport", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [name]() -> testing::Test* { return new frit::test::ExportTest(name); });
  return RUN_ALL_TESTS();
}
