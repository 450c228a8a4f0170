// The whole model with two sets of choices, run interleaved in one process: the last word on whether tuning won.
#pragma once

#include <vector>

#include "base/seams.h"
#include "base/thread_pool.h"
#include "codegen/families/family.h"
#include "exec/constant_store.h"
#include "exec/kernel_source.h"
#include "frit/result.h"
#include "frit/stop.h"
#include "fusion/plan.h"

namespace frit::tuner {

struct CompareRequest {
  const fusion::Plan* plan;
  codegen::BuildContext build;
  exec::KernelProvider* provider;
  base::PoolLease* workers;  // null: one thread
  base::Clock* clock;         // for how long to go on
  base::Clock* kernel_clock;  // for what is measured
  StopToken stop;
  double seconds;            // how long to measure
};

struct CompareOutcome {
  double before_ms = 0, after_ms = 0;  // medians
  double spread_ms = 0;                // larger of the two median absolute deviations
  std::vector<double> group_before_ns, group_after_ns;  // medians in place, per group of the plan
};

// Inputs are random; `constants` gets the packed weights of both.
Result<CompareOutcome> compare_choices(const CompareRequest& request, const std::vector<codegen::Params>& before,
                                       const std::vector<codegen::Params>& after, exec::ConstantStore& constants);

}  // namespace frit::tuner
