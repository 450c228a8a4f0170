// on_miss = tune: a search for the groups that the cache has nothing for, within the session's budget.
//
// Between choosing and building in a prepare. Asks the tuner (tuner/tune.h), which measures on this machine and
// commits every trial; it must not know how.
#pragma once

#include <cstdint>
#include <vector>

#include "fusion/plan.h"
#include "runtime/choices.h"
#include "runtime/model_impl.h"
#include "runtime/setup.h"
#include "tuner/tune.h"

namespace frit::runtime {

// Replaces the choices of groups without an exact record by what the search found; gives the number of trials.
// Errors: kCancelled (what was measured until then is kept), those of the tuner.
Result<int64_t> tune_misses(const Model::Impl& model, const fusion::Plan& plan, const Setup& setup,
                            std::vector<GroupChoice>& choices, const StopToken& stop);

// What the tuner is asked: the session's part of a request, for all groups of the plan. Points to its arguments.
tuner::TuneRequest tune_request(Runtime& runtime, const fusion::Plan& plan, const Setup& setup,
                                const std::vector<GroupChoice>& choices);

}  // namespace frit::runtime
