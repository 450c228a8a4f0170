// frit bench: times a model as it is, never tuning, and says how much of it is tuned.
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "interrupt.h"
#include "loaded.h"
#include "report.h"
#include "verbs.h"

namespace frit::tools {

namespace {

struct BenchArgs {
  std::string model;
  CommonOptions common;
  InputOptions inputs;
  std::string time = "3s";
  int64_t repeat = 10;
};

int bench(const BenchArgs& args) {
  SessionOptions session;
  session.threads = args.common.threads;
  auto numerics = parse_numerics(args.common.numerics);
  if (!numerics.ok()) return fail(numerics.error());
  auto seconds = parse_duration(args.time);
  if (!seconds.ok()) return fail(Error(seconds.error()).with("--time"));
  session.numerics = *numerics;
  session.stop = stop_on_signals();
  auto loaded = load(args.model, args.common, session, args.inputs);
  if (!loaded.ok()) return fail(loaded.error());
  if (Status done = loaded->run(args.repeat, *seconds, session.stop); !done.ok()) return fail(done.error());
  const SessionStats stats = loaded->session->stats();
  std::fprintf(stderr, "frit: %s, %d thread%s; %s\n", stats.target.c_str(), stats.threads, stats.threads == 1 ? "" : "s", tuned_summary(stats).c_str());
  if (args.common.json) {
    std::printf("%s\n", result_json(args.model, *loaded).c_str());
  } else {
    std::printf("%-12s %10s %10s %10s %8s\n", "", "median", "min", "p95", "runs");
    std::printf("%-12s %7.3f ms %7.3f ms %7.3f ms %8lld\n", "latency", loaded->latency.median_ms, loaded->latency.min_ms, loaded->latency.p95_ms,
                static_cast<long long>(loaded->latency.runs));
    std::printf("%-12s %7.1f ms\n%-12s %7.1f ms\n", "load", loaded->load_ms, "first run", loaded->first_run_ms);
  }
  return kDone;
}

}  // namespace

void add_bench(CLI::App& app, Invocation& invocation) {
  auto args = std::make_shared<BenchArgs>();
  CLI::App* verb = app.add_subcommand("bench", "time a model; never tunes");
  verb->add_option("MODEL", args->model, "an ONNX file")->required();
  add_common(*verb, args->common);
  add_inputs(*verb, args->inputs);
  verb->add_option("--time", args->time, "how long to measure");
  verb->add_option("--repeat", args->repeat, "runs at least")->check(CLI::PositiveNumber);
  verb->footer("examples:\n  frit bench resnet50.onnx --threads 1\n  frit bench bert.onnx --shape batch=1 --shape seq=128 --json");
  verb->callback([args, &invocation] { invocation.action = [args] { return bench(*args); }; });
}

}  // namespace frit::tools
