// frit run: loads a model, tunes what the cache does not know unless told otherwise, runs it.
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "interrupt.h"
#include "loaded.h"
#include "progress.h"
#include "report.h"
#include "verbs.h"

namespace frit::tools {

namespace {

struct RunArgs {
  std::string model;
  CommonOptions common;
  InputOptions inputs;
  std::string on_miss = "tune", budget = "20s", outputs;
  int64_t repeat = 1;
};

int run(const RunArgs& args) {
  SessionOptions session;
  session.threads = args.common.threads;
  auto numerics = parse_numerics(args.common.numerics);
  if (!numerics.ok()) return fail(numerics.error());
  auto on_miss = parse_on_miss(args.on_miss);
  if (!on_miss.ok()) return fail(on_miss.error());
  auto budget = parse_duration(args.budget);
  if (!budget.ok()) return fail(Error(budget.error()).with("--budget"));
  session.numerics = *numerics;
  session.on_miss = *on_miss;
  session.budget_s = *budget;
  session.stop = stop_on_signals();
  if (*on_miss == OnMiss::kTune) {
    session.progress = make_progress();
    std::fprintf(stderr, "frit: kernels that the cache does not know are tuned for at most %s (--on-miss heuristic does not)\n", args.budget.c_str());
  }
  if (*numerics == Numerics::kFast) std::fprintf(stderr, "frit: --numerics fast equals default on this device\n");
  auto loaded = load(args.model, args.common, session, args.inputs);
  if (!loaded.ok()) return fail(loaded.error());
  Status done = loaded->run(args.repeat, 0, session.stop);
  end_progress();
  if (!done.ok()) {
    const int code = fail(done.error());
    return interrupted() ? interrupted() : code;
  }
  if (!args.outputs.empty())
    if (Status s = write_outputs(args.outputs, *loaded->model, loaded->outputs); !s.ok()) return fail(s.error());
  const SessionStats stats = loaded->session->stats();
  std::fprintf(stderr, "frit: %s, %d thread%s; %s\n", stats.target.c_str(), stats.threads, stats.threads == 1 ? "" : "s", tuned_summary(stats).c_str());
  std::fprintf(stderr, "frit: load %.1f ms, first run %.1f ms, median of %lld: %.3f ms; %lld trials, %lld compiles\n", loaded->load_ms, loaded->first_run_ms,
               static_cast<long long>(loaded->latency.runs), loaded->latency.median_ms, static_cast<long long>(stats.counters.trials),
               static_cast<long long>(stats.counters.compiles));
  if (args.common.json) std::printf("%s\n", result_json(args.model, *loaded).c_str());
  return interrupted() ? interrupted() : kDone;
}

}  // namespace

void add_run(CLI::App& app, Invocation& invocation) {
  auto args = std::make_shared<RunArgs>();
  CLI::App* verb = app.add_subcommand("run", "run a model, tuning what the cache does not know");
  verb->add_option("MODEL", args->model, "an ONNX file")->required();
  add_common(*verb, args->common);
  add_inputs(*verb, args->inputs);
  verb->add_option("--on-miss", args->on_miss, "heuristic, background, tune or error");
  verb->add_option("--budget", args->budget, "for tuning: 20s, 5m");
  verb->add_option("--repeat", args->repeat, "runs")->check(CLI::PositiveNumber);
  verb->add_option("--outputs", args->outputs, "folder for OUTPUT.npy");
  verb->footer("examples:\n  frit run resnet50.onnx\n  frit run bert.onnx --shape seq=128 --input ids=ids.npy --outputs out --json");
  verb->callback([args, &invocation] { invocation.action = [args] { return run(*args); }; });
}

}  // namespace frit::tools
