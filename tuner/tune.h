// Tunes the groups of a plan: searches each distinct group's space by measuring, commits every trial, and keeps the
// winners that hold up in the whole model.
//
// Called by runtime (on_miss = tune) and by `frit tune`. What runs variants stands behind Lab and Bench (bench.h): this
// process, or an isolated worker. It must not know models or sessions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/seams.h"
#include "base/thread_pool.h"
#include "codegen/families/family.h"
#include "exec/constant_store.h"
#include "exec/kernel_source.h"
#include "frit/result.h"
#include "frit/stop.h"
#include "fusion/plan.h"
#include "tuner/bench.h"
#include "tuner/key.h"
#include "tuner/records.h"
#include "tuner/store.h"

namespace frit::tuner {

enum class Strategy : uint8_t { kAuto, kExhaustive, kRandom };
const char* strategy_name(Strategy strategy);

struct TuneProgress {
  int task = 0, tasks = 0;               // distinct groups, from 1
  std::string label;                     // "conv 3x3 64->64 @56x56"
  int64_t trial = 0, points = 0;         // tried so far, in earlier runs too; legal points after pruning
  double best_ms = 0, heuristic_ms = 0;  // of this group
  double model_ms = 0, model_heuristic_ms = 0;  // sums over all occurrences
  double seconds_left = 0;               // infinity without a budget
};

struct TuneRequest {
  const fusion::Plan* plan = nullptr;
  // Per group of the plan: the choice to start from (an exact or near record's, or the heuristic's); empty for host ops.
  std::vector<codegen::Params> start;
  std::vector<bool> only;                // per group whether it is searched, equal groups alike; empty: all of them
  codegen::BuildContext build;
  exec::KernelProvider* provider = nullptr;
  base::PoolLease* workers = nullptr;    // where build.threads > 1
  base::Clock* clock = nullptr;
  Store* store = nullptr;                // null: nothing is kept
  std::function<Result<Key>(const codegen::Group&)> key;  // decision key of a group
  Provenance provenance;
  double budget_s = 20;                  // finite, > 0
  Strategy strategy = Strategy::kAuto;
  uint64_t seed = 1;
  bool fresh = false;                    // tunes groups anew that a tuned decision exists for
  StopToken stop;                        // finishes the trial in progress, keeps everything
  std::function<void(const TuneProgress&)> progress;
  base::Logger log;
};

struct GroupOutcome {
  codegen::Params params;     // the winner: what to run
  State state = State::kHeuristic;
  Evidence evidence;
  std::string label;
  int occurrences = 1;        // groups of the plan with the same text; reported with the first of them
  int64_t points = 0;         // legal points after pruning
  double start_ns = 0;        // of the choice to start from, measured in this search
  bool reverted = false;      // lost in the whole model; params are what it started from
};

struct TuneOutcome {
  std::vector<GroupOutcome> groups;  // parallel to the plan's groups
  int64_t trials = 0;                // tried now; earlier ones of the same keys were taken from the store
  int64_t failures = 0;
  double seconds = 0;
  bool stopped = false;              // by the stop token; a budget that ran out is not a stop
  // The whole model, interleaved: what it started with against the winners. 0 where it was not measured.
  double before_ms = 0, after_ms = 0, spread_ms = 0;
};

// Errors: kInvalidArgument (budget), kInternal (a plan that cannot be built). A variant that fails is a recorded trial.
Result<TuneOutcome> tune(const TuneRequest& request, Lab& lab);
// In this process. constants: where the whole-model comparison packs the real weights.
Result<TuneOutcome> tune(const TuneRequest& request, exec::ConstantStore& constants);

// "conv 3x3/2 64->128 @28x28 +add +relu": a group as people name it.
std::string group_label(const codegen::Group& group, std::string_view family);

}  // namespace frit::tuner
