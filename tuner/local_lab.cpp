#include "tuner/local_lab.h"

#include <utility>

#include "base/try.h"
#include "tuner/workbench.h"

namespace frit::tuner {

LocalLab::LocalLab(const Options& options, exec::ConstantStore& constants)
    : options_(options),
      constants_(constants),
      thread_clock_(*options.clock),
      kernel_clock_(options.build.threads == 1 ? static_cast<base::Clock*>(&thread_clock_) : options.clock) {
  double weights = 0;
  for (const auto& value : options.plan->graph.values)
    if (value.is_constant()) weights += static_cast<double>(value.constant->size_bytes);
  const int64_t l3 = options.build.target->caches.l3_bytes;
  cold_weights_ = weights > static_cast<double>(l3 > 0 ? l3 : 16 << 20);
}

Result<std::unique_ptr<Bench>> LocalLab::bench(const fusion::PlanGroup& group) {
  Workbench::Options options;
  options.build = options_.build;
  options.provider = options_.provider;
  options.clock = kernel_clock_;
  options.workers = options_.workers;
  options.cold_weights = cold_weights_;
  options.seed = options_.seed;
  FRIT_ASSIGN(auto bench, Workbench::make(group, options));
  return std::unique_ptr<Bench>(std::move(bench));
}

Result<CompareOutcome> LocalLab::compare(const std::vector<codegen::Params>& before,
                                         const std::vector<codegen::Params>& after, double seconds) {
  const CompareRequest request{options_.plan,  options_.build, options_.provider, options_.workers,
                               options_.clock, kernel_clock_,  options_.stop,     seconds};
  return compare_choices(request, before, after, constants_);
}

}  // namespace frit::tuner
