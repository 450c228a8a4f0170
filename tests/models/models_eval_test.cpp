// The networks of this folder through importer and evaluator, compared with the values that ONNX Runtime
// gave.
//
// Arguments: --networks=a,b,... (none: all of them); whatever else is GoogleTest's.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "graph/eval.h"
#include "support/fill_models.h"
#include "support/networks.h"

namespace frit::test {
namespace {

// The evaluator's own errors are about 1e-6; other engines agree among themselves to that too.
constexpr double kBound = 1e-4;

class NetworkTest : public testing::Test {
 public:
  explicit NetworkTest(std::string name) : name_(std::move(name)) {}

  void TestBody() override {
    base::SystemFileSystem files;
    const auto model = load_test_model(files, FRIT_TEST_DATA "/models", name_);
    ASSERT_TRUE(model.ok()) << model.error().text();
    const auto graph = import_filled(files, *model);
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    ASSERT_EQ(graph->output_names.size(), graph->outputs.size());
    for (size_t index = 0; index < model->cases.size(); ++index) run_case(*model, *graph, index);
  }

 private:
  void run_case(const TestModel& model, const graph::Graph& graph, size_t index) {
    SCOPED_TRACE("case " + std::to_string(index));
    const auto inputs = make_case_inputs(model, index, graph);
    ASSERT_TRUE(inputs.ok()) << inputs.error().text();
    const auto start = std::chrono::steady_clock::now();
    graph::EvalOptions options;
    options.parallel_for = run_parallel;
    const auto outputs = graph::evaluate(graph, *inputs, options);
    ASSERT_TRUE(outputs.ok()) << outputs.error().text();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    double worst = 0;
    for (const CaseOutput& want : model.cases[index].outputs) {
      size_t at = 0;
      while (at < graph.output_names.size() && graph.output_names[at] != want.name) ++at;
      ASSERT_LT(at, graph.outputs.size()) << "no output " << want.name;
      const auto error = compare_output(want, (*outputs)[at]);
      ASSERT_TRUE(error.ok()) << error.error().text();
      worst = std::max(worst, *error);
      EXPECT_LE(*error, kBound) << want.name;
    }
    std::printf("%-22s case %zu  error %.1e  %.1f s\n", model.name.c_str(), index, worst, seconds.count());
    std::fflush(stdout);
  }

  std::string name_;
};

}  // namespace
}  // namespace frit::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (const std::string& name : frit::test::chosen_networks(argc, argv))
    testing::RegisterTest("ModelsEval", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [name]() -> testing::Test* { return new frit::test::NetworkTest(name); });
  return RUN_ALL_TESTS();
}
