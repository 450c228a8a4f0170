// A choice of params per group of a plan: looked up in the cache, taken from a near record, or left to the
// heuristic, as the session's policy says; and the rows that make all of them exact hits next time.
//
// The middle of a prepare. It must not know kernels.
#pragma once

#include <optional>
#include <vector>

#include "codegen/families/params.h"
#include "exec/build.h"
#include "frit/stats.h"
#include "fusion/plan.h"
#include "runtime/runtime.h"
#include "runtime/setup.h"
#include "tuner/key.h"
#include "tuner/records.h"

namespace frit::runtime {

struct GroupChoice {
  codegen::Params params;         // empty: a host op, or the heuristic
  codegen::Params seed;           // where a search may start: a near record's
  std::optional<tuner::Key> key;  // none for a host op, or without a cache
  Match match = Match::kMiss;
  tuner::State state = tuner::State::kHeuristic;
  tuner::Evidence evidence;  // of an exact record, or of the search
  bool kept = false;         // the search has put the row
};

// Parallel to plan.groups. Notes misses where the policy is kBackground. Errors: kNotFound under kError.
Result<std::vector<GroupChoice>> choose(Runtime& runtime, const fusion::Plan& plan, const Setup& setup);

// Puts a row of state heuristic for every kernel that has none yet, with the params that were built.
void record(Runtime& runtime, const exec::CompiledPlan& compiled, const std::vector<GroupChoice>& choices);

}  // namespace frit::runtime
