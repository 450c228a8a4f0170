// frit tune: searches for faster kernels of models, for all combinations of threads and shapes that are asked
// for.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/seams.h"
#include "base/text.h"
#include "base/try.h"
#include "compare.h"
#include "inputs.h"
#include "interrupt.h"
#include "kept.h"
#include "loaded.h"
#include "progress.h"
#include "report.h"
#include "verbs.h"

namespace frit::tools {

namespace {

constexpr double kCompareSeconds = 5;
constexpr double kLeastShare = 0.1;  // seconds: enough for one look at each group

struct TuneArgs {
  std::vector<std::string> models;
  CommonOptions common;
  std::string threads, budget = "60s";
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
    auto [it, fresh] = rows.emplace(g.work + "\n" + g.params + "\n" + std::to_string(g.time_ms), Row{&g, 0});
    ++it->second.count;
  }
  std::vector<Row> order;
  for (const auto& [key, row] : rows) order.push_back(row);
  std::stable_sort(order.begin(), order.end(), [](const Row& a, const Row& b) {
    return a.group->heuristic_ms * a.count > b.group->heuristic_ms * b.count;
  });
  std::printf("%5s  %-48s %12s %12s %7s  %s\n", "times", "group", "heuristic", "tuned", "won",
              "winning parameters");
  int untouched = 0, unfinished = 0, all = 0;
  for (const Row& row : order) {
    const GroupInfo& g = *row.group;
    ++all;
    if (g.tuned != Tuned::kFull) ++unfinished;
    if (g.heuristic_ms <= 0) {
      untouched += row.count;
      continue;
    }
    std::printf("%5d  %-48.48s %9.3f ms %9.3f ms %6.1f%%  %s\n", row.count, g.work.c_str(), g.heuristic_ms,
                g.time_ms, 100 * (1 - g.time_ms / g.heuristic_ms), g.params.c_str());
  }
  if (untouched > 0)
    std::printf("%5d  groups were not measured before the budget ended and run with the heuristic's choice\n",
                untouched);
  if (unfinished > 0)
    std::printf(
        "\n%d of %d searches stopped at the end of the budget; the same command again continues them\n",
        unfinished, all);
}

// With the heuristic's choices: a cache of its own, so that nothing is taken from earlier tuning.
Result<Comparison> against_heuristic(const TuneArgs& args, const std::string& model,
                                     const SessionOptions& session, const InputOptions& inputs,
                                     Loaded& tuned) {
  CommonOptions untuned = args.common;
  untuned.cache = "off";
  SessionOptions options = session;
  options.on_miss = OnMiss::kHeuristic;
  options.progress = {};
  FRIT_ASSIGN(Loaded heuristic, load(model, untuned, options, inputs));
  return compare(heuristic, tuned, kCompareSeconds, session.stop);
}

void print_comparison(const std::string& what, const Comparison& c) {
  std::printf("\n%s: %.2f -> %.2f ms, %.2fx (95 %% interval %.2f-%.2f, from %lld pairs of runs in turns)\n",
              what.c_str(), c.before_ms, c.after_ms, c.ratio, c.low, c.high, static_cast<long long>(c.pairs));
  if (c.low <= 1 && c.high >= 1) std::printf("the difference is within the noise of this measurement\n");
}

int tune_one(const TuneArgs& args, const std::string& model, int threads,
             const std::vector<std::string>& shapes, nlohmann::ordered_json& report, double budget,
             double& used_s) {
  auto session = session_options(args.common);
  if (!session.ok()) return fail(session.error());
  session->threads = threads;
  session->on_miss = OnMiss::kTune;
  session->continue_partial = true;
  session->budget_s = budget;
  session->progress = make_progress();
  InputOptions inputs;
  inputs.shapes = shapes;

  auto loaded = load(model, args.common, *session, inputs);
  if (!loaded.ok()) return fail(loaded.error());
  const int used_threads = loaded->session->stats().threads;
  std::string what =
      model + ", " + std::to_string(used_threads) + (used_threads == 1 ? " thread" : " threads");
  for (const std::string& s : shapes) what += ", " + s;
  const Kept kept(*loaded->model);
  std::fprintf(stderr, "frit: tuning %s for at most %.0f s; Ctrl-C keeps what is found\n", what.c_str(),
               budget);
  base::SystemClock clock;
  const int64_t begin = clock.now_ns();
  Status done = loaded->run(1, 0, session->stop);
  used_s += static_cast<double>(clock.now_ns() - begin) * 1e-9;
  end_progress();
  if (interrupted()) return kept.report();
  if (!done.ok()) return fail(done.error());
  auto won = against_heuristic(args, model, *session, inputs, *loaded);
  if (!won.ok()) return interrupted() ? kept.report() : fail(won.error());

  const SessionStats stats = loaded->session->stats();
  if (!args.common.json) {
    print_table(stats);
    print_comparison(what, *won);
    std::printf("%lld trials measured now; %s\n", static_cast<long long>(stats.counters.trials),
                tuned_summary(stats).c_str());
  }
  nlohmann::ordered_json row;
  row["model"] = model;
  row["target"] = stats.target;
  row["threads"] = stats.threads;
  row["shapes"] = shapes;
  row["before_ms"] = won->before_ms;
  row["after_ms"] = won->after_ms;
  row["speedup"] = {{"median", won->ratio}, {"low", won->low}, {"high", won->high}, {"pairs", won->pairs}};
  row["trials"] = stats.counters.trials;
  row["groups"] = nlohmann::ordered_json::array();
  for (const GroupInfo& g : stats.groups)
    if (!g.family.empty())
      row["groups"].push_back({{"label", g.label},
                               {"work", g.work},
                               {"family", g.family},
                               {"params", g.params},
                               {"state", tuned_name(g.tuned)},
                               {"load_time", g.load_time},
                               {"heuristic_ms", g.heuristic_ms},
                               {"tuned_ms", g.time_ms}});
  report.push_back(std::move(row));
  return kDone;
}

Result<std::vector<int64_t>> numbers(const std::string& text, const char* flag) {
  std::vector<int64_t> out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const auto n = base::parse_number<int64_t>(std::string_view(text).substr(begin, end - begin));
    if (!n || *n < 1)
      return make_error(Code::kInvalidArgument,
                        base::text_of(flag, " '", text, "' is not a list of numbers above 0"));
    out.push_back(*n);
    begin = end + 1;
  }
  return out;
}

int tune(const TuneArgs& args) {
  auto budget = parse_duration(args.budget);
  if (!budget.ok()) return fail(Error(budget.error()).with("--budget"));
  // As many as a run takes by default, so that a plain run finds what a plain tune won.
  Result<std::vector<int64_t>> threads = std::vector<int64_t>{0};
  if (!args.threads.empty()) threads = numbers(args.threads, "--threads");
  if (!threads.ok()) return fail(threads.error());
  std::vector<std::vector<std::string>> combinations{{}};
  for (const std::string& text : args.shapes) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return wrong_use("--shape '" + text + "' is not of the form NAME=64,128");
    std::vector<std::vector<std::string>> next;
    for (size_t begin = equals + 1; begin <= text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      if (end == begin) return wrong_use("--shape '" + text + "' has an empty size in its list");
      for (auto c : combinations) {
        c.push_back(text.substr(0, equals + 1) + text.substr(begin, end - begin));
        next.push_back(std::move(c));
      }
      begin = end + 1;
    }
    combinations = std::move(next);
  }
  // Nothing is searched before all models are known to be there.
  auto options = model_options(args.common);
  if (!options.ok()) return fail(options.error());
  options->cache = "off";
  if (args.models.size() > 1)
    for (const std::string& model : args.models)
      if (auto loaded = Model::load(model, *options); !loaded.ok()) return fail(loaded.error());
  // What one combination leaves goes to those after it.
  size_t left = args.models.size() * threads->size() * combinations.size();
  double used_s = 0;
  nlohmann::ordered_json report = nlohmann::ordered_json::array();
  int code = kDone;
  for (const std::string& model : args.models)
    for (int64_t n : *threads)
      for (const auto& shapes : combinations)
        if (code == kDone) {
          const double share = std::max(kLeastShare, (*budget - used_s) / static_cast<double>(left--));
          code = tune_one(args, model, static_cast<int>(n), shapes, report, share, used_s);
        }
  if (args.common.json)
    std::printf("%s\n",
                nlohmann::ordered_json{{"schema", "frit/tune/1"}, {"results", report}}.dump(2).c_str());
  return code;
}

}  // namespace

void add_tune(CLI::App& app, Invocation& invocation) {
  auto args = std::make_shared<TuneArgs>();
  CLI::App* verb = app.add_subcommand("tune", "search for faster kernels and keep them")->group("Tune");
  verb->add_option("MODEL", args->models, "ONNX files")->required()->type_name("");
  add_common(*verb, args->common, false);
  verb->add_option("--threads", args->threads,
                   "of one run: 1,2 tunes for both; default: as many as this process may run")
      ->type_name("N,..");
  verb->add_option("--shape", args->shapes, "NAME=64,128: for each size of a dimension")
      ->type_name("SHAPES")
      ->allow_extra_args(false);
  verb->add_option("--budget", args->budget, "for all of it, default 60s")->type_name("TIME");
  verb->footer(
      "examples:\n  frit tune resnet50.onnx --budget 2m\n"
      "  frit tune resnet50.onnx mlp.onnx --threads 1,2 --budget 10m --json");
  verb->callback([args, &invocation] { invocation.action = [args] { return tune(*args); }; });
}

}  // namespace frit::tools
