// The networks of this folder through passes, fusion, compiled kernels and the executor, compared with the values that
// ONNX Runtime gave: each case in one of the covering combinations of numerics, threads and vector width.
//
// Arguments: --networks=a,b,... (none: all of them), --all (every combination); whatever else is GoogleTest's.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/infer.h"
#include "graph/passes.h"
#include "support/compiled.h"
#include "support/fill_models.h"

namespace frit::test {
namespace {

struct Combination {
  Numerics numerics;
  int threads;
  const char* target;
  double bound() const { return numerics == Numerics::kStrict ? 1e-5 : 1e-4; }
};
constexpr Combination kCombinations[] = {
    {Numerics::kDefault, 1, "cpu"}, {Numerics::kDefault, 2, "cpu:x86-64-v3"}, {Numerics::kStrict, 2, "cpu"}, {Numerics::kStrict, 1, "cpu:x86-64-v3"}};

// Networks that must not need the evaluator at run time.
const std::set<std::string> kNoHostOps = {"resnet50", "resnet18_bn", "mobilenet_v2", "mobilenet_v3_large", "efficientnet_b0", "convnext_tiny",
                                          "unet",     "vit_b_16",    "bert_base",    "minilm_l6",          "distilbert"};

bool all_combinations = false;

class NetworkTest : public ::testing::Test {
 public:
  NetworkTest(std::string name, size_t number) : name_(std::move(name)), number_(number) {}

  void TestBody() override {
    base::SystemFileSystem files;
    const auto model = load_test_model(files, FRIT_TEST_DATA "/models", name_);
    ASSERT_TRUE(model.ok()) << model.error().text();
    const auto graph = import_filled(files, *model);
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    for (size_t index = 0; index < model->cases.size(); ++index) {
      if (all_combinations) {
        for (const Combination& c : kCombinations) run_case(*model, *graph, index, c);
      } else {
        run_case(*model, *graph, index, kCombinations[(number_ + index) % 4]);
      }
    }
  }

 private:
  void run_case(const TestModel& model, graph::Graph graph, size_t index, const Combination& combination) {
    SCOPED_TRACE("case " + std::to_string(index) + " " + numerics_name(combination.numerics) + " " + combination.target);
    const ModelCase& c = model.cases[index];
    std::vector<graph::HostTensor> inputs;
    std::map<std::string, int64_t> sizes;
    for (graph::ValueId id : graph.inputs) {
      const CaseInput* spec = nullptr;
      for (const CaseInput& i : c.inputs)
        if (i.name == graph.value(id).name) spec = &i;
      ASSERT_NE(spec, nullptr) << "no input " << graph.value(id).name;
      auto input = make_case_input(model, index, *spec);
      ASSERT_TRUE(input.ok()) << input.error().text();
      const auto& shape = graph.value(id).type.shape;
      for (size_t k = 0; k < shape.size(); ++k) {
        std::vector<std::string> symbols;
        shape[k].collect_symbols(symbols);
        if (symbols.size() == 1 && shape[k] == graph::Dim::symbol(symbols[0])) sizes[symbols[0]] = input->dim(static_cast<int64_t>(k));
      }
      inputs.push_back(*std::move(input));
    }
    const auto bound = graph::bind_sizes(graph, sizes);
    ASSERT_TRUE(bound.ok()) << bound.error().text();
    graph::PassContext context;
    context.numerics = combination.numerics;
    const auto reports = graph::run_passes(graph, context);
    ASSERT_TRUE(reports.ok()) << reports.error().text();

    testing_options(combination);
    size_t groups = 0, host = 0;
    options_.see_plan = [&](const fusion::Plan& plan) {
      for (const auto& group : plan.groups) {
        ++groups;
        if (!group.family.empty()) continue;
        ++host;
        host_names_ += " " + graph::op_name(plan.graph.node(group.nodes[0]).op);
      }
    };
    const auto names = graph.output_names;
    const auto start = std::chrono::steady_clock::now();
    const auto outputs = frit::testing::run_compiled(std::move(graph), inputs, options_);
    ASSERT_TRUE(outputs.ok()) << outputs.error().text();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    double worst = 0;
    for (const CaseOutput& want : c.outputs) {
      size_t at = 0;
      while (at < names.size() && names[at] != want.name) ++at;
      ASSERT_LT(at, outputs->size()) << "no output " << want.name;
      const auto error = compare_output(want, (*outputs)[at]);
      ASSERT_TRUE(error.ok()) << error.error().text();
      worst = std::max(worst, *error);
      EXPECT_LE(*error, combination.bound()) << want.name;
    }
    if (kNoHostOps.count(name_)) {
      EXPECT_EQ(host, 0u) << host_names_;
    }
    std::printf("%-22s case %zu  %-7s %-14s threads %d  %3zu groups %zu host%s  error %.1e  %.1f s\n", name_.c_str(), index,
                numerics_name(combination.numerics), combination.target, combination.threads, groups, host, host_names_.c_str(), worst, seconds.count());
    std::fflush(stdout);
  }

  void testing_options(const Combination& combination) {
    options_ = {};
    host_names_.clear();
    options_.target = device::parse_target(combination.target).value_or_throw();
    options_.numerics = combination.numerics;
    options_.threads = combination.threads;
  }

  std::string name_;
  size_t number_;
  frit::testing::CompiledOptions options_;
  std::string host_names_;
};

std::vector<std::string> chosen_networks(int argc, char** argv) {
  std::vector<std::string> names;
  const std::string flag = "--networks=";
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    all_combinations = all_combinations || arg == "--all";
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
  ::testing::InitGoogleTest(&argc, argv);
  size_t number = 0;
  for (const std::string& name : frit::test::chosen_networks(argc, argv)) {
    ::testing::RegisterTest("ModelsKernels", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [name, number]() -> ::testing::Test* { return new frit::test::NetworkTest(name, number); });
    ++number;
  }
  return RUN_ALL_TESTS();
}
