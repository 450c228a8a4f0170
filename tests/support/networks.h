// What the tests over the networks share: which of them to run, their inputs in graph order, all cores for
// the evaluator.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "base/try.h"
#include "support/fill_models.h"

namespace frit::test {

// The names of --networks=a,b,...; all networks without it.
inline std::vector<std::string> chosen_networks(int argc, char** argv) {
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

inline Result<std::vector<graph::HostTensor>> make_case_inputs(const TestModel& model, size_t index,
                                                               const graph::Graph& graph) {
  std::vector<graph::HostTensor> inputs;
  for (graph::ValueId id : graph.inputs) {
    const CaseInput* spec = nullptr;
    for (const CaseInput& i : model.cases[index].inputs)
      if (i.name == graph.value(id).name) spec = &i;
    if (spec == nullptr)
      return make_error(Code::kNotFound, "the case has no input " + base::quoted(graph.value(id).name));
    FRIT_ASSIGN(graph::HostTensor input, make_case_input(model, index, *spec));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

// Static shares of the work, one thread per core.
inline void run_parallel(int64_t count, const std::function<void(int64_t)>& task) {
  const auto threads = static_cast<int64_t>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> pool;
  for (int64_t t = 1; t < std::min(threads, count); ++t)
    pool.emplace_back([=, &task] {
      for (int64_t i = t; i < count; i += threads) task(i);
    });
  for (int64_t i = 0; i < count; i += threads) task(i);
  for (std::thread& t : pool) t.join();
}

}  // namespace frit::test
