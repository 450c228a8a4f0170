// A model and a session as run and bench use them: loaded, prepared, run N times, with the numbers that
// --json prints.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/trace.h"
#include "common.h"
#include "frit/model.h"
#include "frit/session.h"
#include "inputs.h"

namespace frit::tools {

struct Latency {
  double median_ms = 0, min_ms = 0, p95_ms = 0;
  int64_t runs = 0;
};

struct Loaded {
  std::optional<Model> model;
  std::optional<Session> session;
  std::vector<Tensor> inputs, outputs;
  double load_ms = 0;       // of the file
  double first_run_ms = 0;  // preparing included
  Latency latency;          // of the runs after the first; of the first where it was the only one

  // Runs until `repeat` runs and `seconds` are over.
  Status run(int64_t repeat, double seconds, const StopToken& stop);
};

// trace outlives the result; null: no spans.
Result<Loaded> load(const std::string& path, const CommonOptions& common, const SessionOptions& session,
                    const InputOptions& inputs, base::TraceRecorder* trace = nullptr);

// The object that --json prints. device: the part of the target before its colon.
nlohmann::ordered_json result_json(const std::string& path, const Loaded& loaded);
// "frit: cpu:..., 2 threads; 56 kernels: ..." on stderr.
void report_session(const SessionStats& stats);
// "56 kernels: 50 tuned, 0 near, 6 heuristic"
std::string tuned_summary(const SessionStats& stats);

}  // namespace frit::tools
