// frit tune: searches for faster kernels of models, for all combinations of threads and shapes that are asked for.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "inputs.h"
#include "interrupt.h"
#include "loaded.h"
#include "progress.h"
#include "report.h"
#include "verbs.h"

namespace frit::tools {

namespace {

struct TuneArgs {
  std::vector<std::string> models;
  CommonOptions common;
  std::string threads = "1", budget = "60s";
  std::vector<std::string> shapes;  // NAME=64,128
};

struct Row {
  const GroupInfo* group;
  int count;
};

// Equal groups on one line, the most time first.
void print_table(const SessionStats& stats) {
  std::map<std::string, Row> rows;
  for (const GroupInfo& g : stats.groups) {
    if (g.family.empty() || g.load_time) continue;
    auto [it, fresh] = rows.emplace(g.family + "\n" + g.params + "\n" + std::to_string(g.time_ms), Row{&g, 0});
    ++it->second.count;
  }
  std::vector<Row> order;
  for (const auto& [key, row] : rows) order.push_back(row);
  std::stable_sort(order.begin(), order.end(), [](const Row& a, const Row& b) { return a.group->heuristic_ms * a.count > b.group->heuristic_ms * b.count; });
  std::printf("%5s  %-11s %-44s %11s %10s %7s  %s\n", "times", "family", "first of them", "heuristic", "tuned", "won", "params");
  for (const Row& row : order) {
    const GroupInfo& g = *row.group;
    std::printf("%5d  %-11s %-44.44s %8.3f ms %7.3f ms %6.1f%%  %s%s\n", row.count, g.family.c_str(), g.label.c_str(), g.heuristic_ms, g.time_ms,
                g.heuristic_ms > 0 ? 100 * (1 - g.time_ms / g.heuristic_ms) : 0, g.params.c_str(), g.tuned == Tuned::kPartial ? "  (not finished)" : "");
  }
}

Result<double> median_ms(const std::string& model, const CommonOptions& common, const SessionOptions& session, const InputOptions& inputs) {
  auto loaded = load(model, common, session, inputs);
  if (!loaded.ok()) return loaded.error();
  if (Status s = loaded->run(5, 1.5, session.stop); !s.ok()) return s.error();
  return loaded->latency.median_ms;
}

int tune_one(const TuneArgs& args, const std::string& model, int threads, const std::vector<std::string>& shapes, nlohmann::ordered_json& report, double budget) {
  SessionOptions session;
  session.threads = threads;
  auto numerics = parse_numerics(args.common.numerics);
  if (!numerics.ok()) return fail(numerics.error());
  session.numerics = *numerics;
  session.stop = stop_on_signals();
  InputOptions inputs;
  inputs.shapes = shapes;
  std::string what = model + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  for (const std::string& s : shapes) what += ", " + s;
  std::fprintf(stderr, "frit: tuning %s for at most %.0f s\n", what.c_str(), budget);

  // Before: the heuristic, with a cache of its own so that nothing is taken from earlier tuning.
  CommonOptions untuned = args.common;
  untuned.cache = "off";
  auto before = median_ms(model, untuned, session, inputs);
  if (!before.ok()) return interrupted() ? interrupted() : fail(before.error());

  session.on_miss = OnMiss::kTune;
  session.continue_partial = true;
  session.budget_s = budget;
  session.progress = make_progress();
  auto loaded = load(model, args.common, session, inputs);
  if (!loaded.ok()) return fail(loaded.error());
  Status done = loaded->run(5, 1.5, interrupted() ? session.stop : StopToken());
  end_progress();
  if (!done.ok()) {
    if (interrupted()) {
      std::fprintf(stderr, "frit: stopped; every trial that was measured is kept. The same command continues from there.\n");
      return interrupted();
    }
    return fail(done.error());
  }
  const SessionStats stats = loaded->session->stats();
  if (!args.common.json) {
    print_table(stats);
    std::printf("\n%s: %.3f ms -> %.3f ms (%.2fx), %lld trials; %s\n", what.c_str(), *before, loaded->latency.median_ms, *before / loaded->latency.median_ms,
                static_cast<long long>(stats.counters.trials), tuned_summary(stats).c_str());
  }
  nlohmann::ordered_json row;
  row["model"] = model;
  row["threads"] = threads;
  row["shapes"] = shapes;
  row["before_ms"] = *before;
  row["after_ms"] = loaded->latency.median_ms;
  row["trials"] = stats.counters.trials;
  row["groups"] = nlohmann::ordered_json::array();
  for (const GroupInfo& g : stats.groups)
    if (!g.family.empty())
      row["groups"].push_back({{"label", g.label}, {"family", g.family}, {"params", g.params}, {"state", tuned_name(g.tuned)}, {"heuristic_ms", g.heuristic_ms}, {"tuned_ms", g.time_ms}});
  report.push_back(std::move(row));
  if (interrupted()) {
    std::fprintf(stderr, "frit: stopped; every trial that was measured is kept. The same command continues from there.\n");
    return interrupted();
  }
  return kDone;
}

Result<std::vector<int64_t>> numbers(const std::string& text, const char* flag) {
  std::vector<int64_t> out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const auto n = base::parse_number<int64_t>(std::string_view(text).substr(begin, end - begin));
    if (!n || *n < 1) return make_error(Code::kInvalidArgument, base::text_of(flag, " '", text, "' is not a list of numbers above 0"));
    out.push_back(*n);
    begin = end + 1;
  }
  return out;
}

int tune(const TuneArgs& args) {
  auto budget = parse_duration(args.budget);
  if (!budget.ok()) return fail(Error(budget.error()).with("--budget"));
  auto threads = numbers(args.threads, "--threads");
  if (!threads.ok()) return fail(threads.error());
  std::vector<std::vector<std::string>> combinations{{}};
  for (const std::string& text : args.shapes) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) return wrong_use("--shape '" + text + "' is not of the form NAME=64,128");
    std::vector<std::vector<std::string>> next;
    for (size_t begin = equals + 1; begin <= text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      for (auto c : combinations) {
        c.push_back(text.substr(0, equals + 1) + text.substr(begin, end - begin));
        next.push_back(std::move(c));
      }
      begin = end + 1;
    }
    combinations = std::move(next);
  }
  const double share = *budget / static_cast<double>(args.models.size() * threads->size() * combinations.size());
  nlohmann::ordered_json report = nlohmann::ordered_json::array();
  int code = kDone;
  for (const std::string& model : args.models)
    for (int64_t n : *threads)
      for (const auto& shapes : combinations)
        if (code == kDone) code = tune_one(args, model, static_cast<int>(n), shapes, report, share);
  if (args.common.json) std::printf("%s\n", nlohmann::ordered_json{{"schema", "frit/tune/1"}, {"results", report}}.dump(2).c_str());
  return code;
}

}  // namespace

void add_tune(CLI::App& app, Invocation& invocation) {
  auto args = std::make_shared<TuneArgs>();
  CLI::App* verb = app.add_subcommand("tune", "search for faster kernels and keep them");
  verb->add_option("MODEL", args->models, "ONNX files")->required();
  add_common(*verb, args->common, false);
  verb->add_option("--threads", args->threads, "threads of one run: 1,2");
  verb->add_option("--shape", args->shapes, "NAME=64,128: sizes of a dimension")->allow_extra_args(false);
  verb->add_option("--budget", args->budget, "for all of it: 60s, 10m");
  verb->footer("examples:\n  frit tune resnet50.onnx --budget 2m\n  frit tune bert.onnx --threads 1,2 --shape seq=64,128 --budget 10m");
  verb->callback([args, &invocation] { invocation.action = [args] { return tune(*args); }; });
}

}  // namespace frit::tools
