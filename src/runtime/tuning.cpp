#include "runtime/tuning.h"

#include <algorithm>
#include <utility>

#include "base/stop.h"
#include "base/try.h"
#include "exec/launch.h"

namespace frit::runtime {

namespace {

// The tuner wants a finite budget.
constexpr double kForEverS = 1e9;

// The callback is the application's code and may throw; nothing of that enters the library.
void tell(const ProgressCallback& callback, const tuner::TuneProgress& from) {
  Progress p;
  p.group = from.label;
  p.group_number = from.task;
  p.groups = from.tasks;
  p.trial = from.trial;
  p.trials = from.points;
  p.best_ms = from.best_ms;
  p.heuristic_ms = from.heuristic_ms;
  p.model_ms = from.model_ms;
  p.model_heuristic_ms = from.model_heuristic_ms;
  p.seconds_left = from.seconds_left;
  try {
    callback(p);
  } catch (...) {
  }
}

}  // namespace

tuner::TuneRequest tune_request(Runtime& runtime, const fusion::Plan& plan, const Setup& setup,
                                const std::vector<GroupChoice>& choices) {
  tuner::TuneRequest request;
  request.plan = &plan;
  for (const GroupChoice& choice : choices) {
    request.start.push_back(choice.match == Match::kExact ? choice.params : choice.seed);
  }
  request.build = setup.build;
  request.provider = &runtime.provider();
  request.clock = runtime.seams().clock;
  request.store = runtime.store();
  request.key = [parts = setup.parts, &runtime](const codegen::Group& group) {
    return tuner::decision_key(group.text(), parts, runtime.target_parts());
  };
  request.provenance = runtime.provenance();
  request.budget_s = std::min(setup.budget_s, kForEverS);
  request.log = runtime.log();
  if (setup.progress) {
    request.progress = [&setup](const tuner::TuneProgress& p) { tell(setup.progress, p); };
  }
  return request;
}

Result<int64_t> tune_misses(const Model::Impl& model, const fusion::Plan& plan, const Setup& setup,
                            std::vector<GroupChoice>& choices, const StopToken& stop) {
  Runtime& runtime = *model.runtime;
  std::vector<bool> only(choices.size(), false);
  for (size_t g = 0; g < choices.size(); ++g) {
    const bool unfinished = setup.continue_partial && choices[g].state != tuner::State::kTuned;
    only[g] = (choices[g].match != Match::kExact || unfinished) && !plan.groups[g].family.empty() && !plan.groups[g].load_time;
  }
  if (setup.budget_s == 0 || std::find(only.begin(), only.end(), true) == only.end()) return 0;
  tuner::TuneRequest request = tune_request(runtime, plan, setup, choices);
  request.only = only;
  request.stop = stop;
  // What is measured runs as the session will run it.
  FRIT_ASSIGN(base::PoolLease workers,
              runtime.pool().acquire(setup.build.threads,
                                     exec::worker_hooks(setup.build.numerics != Numerics::kStrict)));
  request.workers = &workers;
  FRIT_ASSIGN(const tuner::TuneOutcome outcome, tuner::tune(request, model.constants));
  for (size_t g = 0; g < choices.size(); ++g) {
    if (!only[g]) continue;
    choices[g].params = outcome.groups[g].params;
    choices[g].state = outcome.groups[g].state;
    choices[g].evidence = outcome.groups[g].evidence;
    choices[g].kept = !outcome.groups[g].params.items().empty();
  }
  FRIT_TRY(base::check_stop(stop));
  return outcome.trials;
}

}  // namespace frit::runtime
