// The networks of this folder through importer and evaluator, compared with the values that ONNX Runtime
// gave.
//
// Arguments: --networks=a,b,... (none: all of them); whatever else is GoogleTest's.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "graph/eval.h"
#include "support/fill_models.h"

namespace frit::test {
namespace {

// The evaluator's own errors are about 1e-6; other engines agree among themselves to that too.
constexpr double kBound = 1e-4;

// Static shares of the work, one thread per core.
void run_parallel(int64_t count, const std::function<void(int64_t)>& task) {
  const auto threads = static_cast<int64_t>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> pool;
  for (int64_t t = 1; t < std::min(threads, count); ++t)
    pool.emplace_back([=, &task] {
      for (int64_t i = t; i < count; i += threads) task(i);
    });
  for (int64_t i = 0; i < count; i += threads) task(i);
  for (std::thread& t : pool) t.join();
}

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
    const ModelCase& c = model.cases[index];
    std::vector<graph::HostTensor> inputs;
    for (graph::ValueId id : graph.inputs) {
      const CaseInput* spec = nullptr;
      for (const CaseInput& i : c.inputs)
        if (i.name == graph.value(id).name) spec = &i;
      ASSERT_NE(spec, nullptr) << "no input " << graph.value(id).name;
      auto input = make_case_input(model, index, *spec);
      ASSERT_TRUE(input.ok()) << input.error().text();
      inputs.push_back(*std::move(input));
    }
    const auto start = std::chrono::steady_clock::now();
    graph::EvalOptions options;
    options.parallel_for = run_parallel;
    const auto outputs = graph::evaluate(graph, inputs, options);
    ASSERT_TRUE(outputs.ok()) << outputs.error().text();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    double worst = 0;
    for (const CaseOutput& want : c.outputs) {
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

std::vector<std::string> chosen_networks(int argc, char** argv) {
  std::vector<std::string> names;
  const std::string flag = "--networks=";
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg.rfind(flag, 0) != 0) continue;
    for (size_t begin = flag.size(); begin <= arg.size();) {
      const size_t end = std::min(arg.find(',', begin), arg.size());
      names.push_back(arg.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  if (!names.empty()) return names;
  base::SystemFileSystem files;
  return list_models(files, FRIT_TEST_DATA "/models").value_or_throw();
}

}  // namespace
}  // namespace frit::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (const std::string& name : frit::test::chosen_networks(argc, argv))
    testing::RegisterTest("ModelsEval", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [name]() -> testing::Test* { return new frit::test::NetworkTest(name); });
  return RUN_ALL_TESTS();
}
