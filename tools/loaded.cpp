#include "loaded.h"

#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "base/seams.h"
#include "base/text.h"
#include "base/try.h"
#include "runtime/model_impl.h"

namespace frit::tools {

Result<Loaded> load(const std::string& path, const CommonOptions& common, const SessionOptions& session,
                    const InputOptions& inputs, base::TraceRecorder* trace) {
  base::SystemClock clock;
  Loaded out;
  FRIT_ASSIGN(ModelOptions options, model_options(common));
  options.stop = session.stop;
  const int64_t begin = clock.now_ns();
  FRIT_ASSIGN(Model model, runtime::load_model(path, options, trace));
  out.load_ms = static_cast<double>(clock.now_ns() - begin) * 1e-6;
  FRIT_ASSIGN(out.inputs, make_inputs(model, inputs));
  FRIT_ASSIGN(Session made, Session::create(model, session));
  out.session.emplace(std::move(made));
  out.model.emplace(std::move(model));
  return out;
}

namespace {

// Once shapes are prepared, what a run refuses is what the inputs hold: bad data, not wrong use.
Error of_data(Error error) {
  if (error.code == Code::kInvalidArgument) error.code = Code::kIo;
  return error;
}

}  // namespace

Status Loaded::run(int64_t repeat, double seconds, const StopToken& stop) {
  base::SystemClock clock;
  std::vector<TensorView> in;
  std::vector<NamedShape> shapes;
  for (size_t k = 0; k < inputs.size(); ++k) {
    in.push_back(inputs[k].view());
    shapes.push_back({model->inputs()[k].name, inputs[k].shape()});
  }
  const int64_t begin = clock.now_ns();
  FRIT_TRY(session->prepare(shapes));
  auto first = session->run(in, {.stop = stop});
  if (!first.ok()) return of_data(std::move(first).error());
  outputs = *std::move(first);
  first_run_ms = static_cast<double>(clock.now_ns() - begin) * 1e-6;
  std::vector<TensorView> out;
  for (Tensor& t : outputs) out.push_back(t.view());
  std::vector<double> ms;
  const int64_t start = clock.now_ns();
  while (static_cast<int64_t>(ms.size()) + 1 < repeat ||
         static_cast<double>(clock.now_ns() - start) * 1e-9 < seconds) {
    const int64_t t = clock.now_ns();
    FRIT_TRY(session->run(in, out, {.stop = stop}));
    ms.push_back(static_cast<double>(clock.now_ns() - t) * 1e-6);
  }
  if (ms.empty()) ms.push_back(first_run_ms);
  std::sort(ms.begin(), ms.end());
  latency.runs = static_cast<int64_t>(ms.size());
  latency.min_ms = ms.front();
  latency.median_ms = ms[ms.size() / 2];
  latency.p95_ms = ms[std::min(ms.size() - 1, ms.size() * 95 / 100)];
  return {};
}

nlohmann::ordered_json result_json(const std::string& path, const Loaded& l) {
  base::SystemProcess process;
  const SessionStats s = l.session->stats();
  nlohmann::ordered_json j;
  j["schema"] = "frit/run/1";
  j["model"] = path;
  j["device"] = s.target.substr(0, s.target.find(':'));
  j["target"] = s.target;
  j["threads"] = s.threads;
  j["load_ms"] = l.load_ms;
  j["first_run_ms"] = l.first_run_ms;
  j["latency_ms"] = {{"median", l.latency.median_ms},
                     {"min", l.latency.min_ms},
                     {"p95", l.latency.p95_ms},
                     {"runs", l.latency.runs}};
  const Counters& c = s.counters;
  j["counters"] = {{"groups", c.groups},         {"kernels", c.kernels},     {"host_kernels", c.host_kernels},
                   {"trials", c.trials},         {"compiles", c.compiles},   {"object_loads", c.object_loads},
                   {"exact_hits", c.exact_hits}, {"near_hits", c.near_hits}, {"misses", c.misses}};
  const auto peak = process.peak_rss_bytes();
  j["memory"] = {{"weights", s.memory.weights_bytes + s.memory.packed_bytes},
                 {"arena", s.memory.arena_bytes},
                 {"peak_rss", peak.ok() ? *peak : 0}};
  return j;
}

void report_session(const SessionStats& stats) {
  // Without the list of instruction-set features, which `frit devices` and --json have.
  std::string target = stats.target;
  if (const size_t features = target.find('/'); features != std::string::npos)
    target.erase(features, std::min(target.find('/', features + 1), target.size()) - features);
  std::fprintf(stderr, "frit: %s, %d thread%s; %s\n", target.c_str(), stats.threads,
               stats.threads == 1 ? "" : "s", tuned_summary(stats).c_str());
}

std::string tuned_summary(const SessionStats& stats) {
  int tuned = 0, near = 0, heuristic = 0, partial = 0;
  for (const GroupInfo& g : stats.groups) {
    if (g.family.empty()) continue;
    if (g.match == Match::kNear)
      ++near;
    else if (g.tuned == Tuned::kFull)
      ++tuned;
    else if (g.tuned == Tuned::kPartial)
      ++partial;
    else
      ++heuristic;
  }
  return base::text_of(tuned + near + heuristic + partial, " kernels: ", tuned, " tuned, ", partial,
                       " partly tuned, ", near, " near, ", heuristic, " heuristic");
}

}  // namespace frit::tools
