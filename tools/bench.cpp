// frit bench: times a model as it is, never tuning, and says how much of it is tuned.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include <CLI/CLI.hpp>

#include "base/seams.h"
#include "loaded.h"
#include "profile.h"
#include "report.h"
#include "verbs.h"

namespace frit::tools {

namespace {

struct BenchArgs {
  std::string model;
  CommonOptions common;
  InputOptions inputs;
  std::string time = "3s", trace;
  bool profile = false;
  int64_t repeat = 10;
};

int bench(const BenchArgs& args) {
  auto session = session_options(args.common);
  if (!session.ok()) return fail(session.error());
  auto seconds = parse_duration(args.time);
  if (!seconds.ok()) return fail(Error(seconds.error()).with("--time"));
  base::SystemClock clock;
  base::TraceRecorder trace(clock);
  auto loaded = load(args.model, args.common, *session, args.inputs, args.trace.empty() ? nullptr : &trace);
  if (!loaded.ok()) return fail(loaded.error());
  if (Status done = loaded->run(args.repeat, *seconds, session->stop); !done.ok()) return fail(done.error());
  report_session(loaded->session->stats());
  std::optional<Profile> profiled;
  if (args.profile) {
    auto made = profile(*loaded, *seconds, session->stop);
    if (!made.ok()) return fail(made.error());
    profiled = *std::move(made);
  }
  if (!args.trace.empty())
    if (const int code = write_trace(*loaded, trace, args.trace, session->stop); code != kDone) return code;
  if (args.common.json) {
    nlohmann::ordered_json json = result_json(args.model, *loaded);
    if (profiled) json["profile"] = profile_json(*profiled);
    std::printf("%s\n", json.dump(2).c_str());
    return kDone;
  }
  if (profiled) {
    print_profile(*profiled);
    std::printf("\n");
  }
  const Latency& l = loaded->latency;
  std::printf("%-12s %10s %10s %10s %8s\n", "", "median", "min", "p95", "runs");
  std::printf("%-12s %7.3f ms %7.3f ms %7.3f ms %8lld\n", "latency", l.median_ms, l.min_ms, l.p95_ms,
              static_cast<long long>(l.runs));
  std::printf("%-12s %7.1f ms\n%-12s %7.1f ms\n", "load", loaded->load_ms, "first run", loaded->first_run_ms);
  return kDone;
}

}  // namespace

void add_bench(CLI::App& app, Invocation& invocation) {
  auto args = std::make_shared<BenchArgs>();
  CLI::App* verb = app.add_subcommand("bench", "time a model; never tunes")->group("Run");
  verb->add_option("MODEL", args->model, "an ONNX file")->required()->type_name("");
  add_common(*verb, args->common);
  add_inputs(*verb, args->inputs);
  verb->add_option("--time", args->time, "how long to measure, default 3s")->type_name("TIME");
  verb->add_option("--repeat", args->repeat, "runs at least, default 10")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  verb->add_flag("--profile", args->profile,
                 "time, share, GFLOP/s and GB/s of each group, the slowest first");
  verb->add_option("--trace", args->trace, "write what took how long, for chrome://tracing or Perfetto")
      ->type_name("FILE");
  verb->footer(
      "examples:\n  frit bench resnet50.onnx --threads 1 --profile\n"
      "  frit bench resnet50.onnx --shape x=1x3x224x224 --json");
  verb->callback([args, &invocation] { invocation.action = [args] { return bench(*args); }; });
}

}  // namespace frit::tools
