// frit run: loads a model, tunes what the cache does not know unless told otherwise, runs it.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include <CLI/CLI.hpp>

#include "base/seams.h"
#include "interrupt.h"
#include "kept.h"
#include "loaded.h"
#include "profile.h"
#include "progress.h"
#include "report.h"
#include "verbs.h"

namespace frit::tools {

namespace {

struct RunArgs {
  std::string model;
  CommonOptions common;
  InputOptions inputs;
  std::string on_miss = "tune", budget = "20s", outputs, format = "npy", trace;
  int64_t repeat = 1;
};

int run(const RunArgs& args) {
  auto session = session_options(args.common);
  if (!session.ok()) return fail(session.error());
  auto on_miss = parse_on_miss(args.on_miss);
  if (!on_miss.ok()) return fail(on_miss.error());
  auto budget = parse_duration(args.budget);
  if (!budget.ok()) return fail(Error(budget.error()).with("--budget"));
  auto format = parse_format(args.format);
  if (!format.ok()) return fail(format.error());
  session->on_miss = *on_miss;
  session->budget_s = *budget;
  if (*on_miss == OnMiss::kTune) {
    session->progress = make_progress();
    std::fprintf(stderr,
                 "frit: kernels that the cache does not know are tuned for at most %s (--on-miss heuristic "
                 "does not)\n",
                 args.budget.c_str());
  }
  base::SystemClock clock;
  base::TraceRecorder trace(clock);
  auto loaded = load(args.model, args.common, *session, args.inputs, args.trace.empty() ? nullptr : &trace);
  if (!loaded.ok()) return fail(loaded.error());
  std::optional<Kept> kept;
  if (*on_miss == OnMiss::kTune) kept.emplace(*loaded->model);
  Status done = loaded->run(args.repeat, 0, session->stop);
  end_progress();
  if (!done.ok()) return interrupted() && kept ? kept->report() : fail(done.error());
  if (!args.outputs.empty()) {
    base::SystemFileSystem files;
    if (Status s = write_outputs(files, args.outputs, *format, *loaded->model, loaded->outputs); !s.ok())
      return fail(s.error());
  }
  if (!args.trace.empty())
    if (const int code = write_trace(*loaded, trace, args.trace, session->stop); code != kDone) return code;
  const SessionStats stats = loaded->session->stats();
  report_session(stats);
  char then[80] = "";  // the only run is the first, which prepared everything: no latency
  if (args.repeat > 1)
    std::snprintf(then, sizeof then, ", then %.3f ms per run (median of %lld)", loaded->latency.median_ms,
                  static_cast<long long>(loaded->latency.runs));
  std::fprintf(
      stderr, "frit: ready after %.1f ms (load %.1f, first run %.1f)%s; %lld trials, %lld compiles\n",
      loaded->load_ms + loaded->first_run_ms, loaded->load_ms, loaded->first_run_ms, then,
      static_cast<long long>(stats.counters.trials), static_cast<long long>(stats.counters.compiles));
  if (args.common.json) std::printf("%s\n", result_json(args.model, *loaded).dump(2).c_str());
  return interrupted() ? interrupted() : kDone;
}

}  // namespace

void add_run(CLI::App& app, Invocation& invocation) {
  auto args = std::make_shared<RunArgs>();
  CLI::App* verb =
      app.add_subcommand("run", "run a model, tuning what the cache does not know")->group("Run");
  verb->add_option("MODEL", args->model, "an ONNX file")->required()->type_name("");
  add_common(*verb, args->common);
  add_inputs(*verb, args->inputs);
  verb->add_option("--on-miss", args->on_miss, "heuristic, background, tune (default) or error")
      ->type_name("POLICY");
  verb->add_option("--budget", args->budget, "for tuning, default 20s")->type_name("TIME");
  verb->add_option("--repeat", args->repeat, "runs, default 1")->type_name("N")->check(CLI::PositiveNumber);
  verb->add_option("--outputs", args->outputs, "folder for one file per output, made if missing")
      ->type_name("FOLDER");
  verb->add_option("--format", args->format, "of --outputs: npy, or pb (TensorProto, any type)")
      ->type_name("FORMAT");
  verb->add_option("--trace", args->trace, "write what took how long, for chrome://tracing or Perfetto")
      ->type_name("FILE");
  verb->footer(
      "examples:\n  frit run resnet50.onnx\n"
      "  frit run resnet50.onnx --on-miss heuristic --input x=random:7 --outputs out --json");
  verb->callback([args, &invocation] { invocation.action = [args] { return run(*args); }; });
}

}  // namespace frit::tools
