// Setup: SessionOptions, checked and resolved for one model's machine.
#pragma once

#include "codegen/families/family.h"
#include "frit/options.h"
#include "frit/result.h"
#include "runtime/runtime.h"
#include "tuner/key.h"

namespace frit::runtime {

struct Setup {
  codegen::BuildContext build;  // points to the Runtime's target
  tuner::SessionParts parts;
  OnMiss on_miss = OnMiss::kHeuristic;
  bool accept_near = false;
  bool continue_partial = false;
  double budget_s = 0;
  int contexts = 1;
  int shape_sets = 1;
  ProgressCallback progress;
  StopToken stop;
};

// Errors: kInvalidArgument, naming the option.
Result<Setup> resolve(const SessionOptions& options, const Runtime& runtime);

}  // namespace frit::runtime
