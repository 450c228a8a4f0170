// LocalLab: measures in this process, with its clock, provider and workers.
#pragma once

#include "base/log.h"
#include "base/seams.h"
#include "exec/constant_store.h"
#include "exec/kernel_source.h"
#include "frit/stop.h"
#include "tuner/bench.h"
#include "tuner/thread_clock.h"

namespace frit::tuner {

class LocalLab final : public Lab {
 public:
  struct Options {
    const fusion::Plan* plan = nullptr;
    codegen::BuildContext build;
    exec::KernelProvider* provider = nullptr;
    base::PoolLease* workers = nullptr;  // where build.threads > 1
    base::Clock* clock = nullptr;
    uint64_t seed = 1;
    StopToken stop;
  };
  // constants: where the whole-model comparison packs the real weights.
  LocalLab(const Options& options, exec::ConstantStore& constants);

  Result<std::unique_ptr<Bench>> bench(const fusion::PlanGroup& group) override;
  Result<CompareOutcome> compare(const std::vector<codegen::Params>& before,
                                 const std::vector<codegen::Params>& after, double seconds) override;

 private:
  Options options_;
  exec::ConstantStore& constants_;
  ThreadClock thread_clock_;
  base::Clock* const kernel_clock_;  // kernels on one thread are timed by the thread's own time
  bool cold_weights_ = false;
};

}  // namespace frit::tuner
