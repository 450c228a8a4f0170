// Sampler: the time of something that may be much shorter than what the clock can tell.
//
// A sample is so many runs in a row that the clock's grain and the cost of reading it are a small part of it;
// how many, is found at a variant's first sample and kept, so that its samples compare. It must not know
// kernels.
#pragma once

#include <cstdint>
#include <functional>

#include "base/seams.h"
#include "frit/result.h"

namespace frit::tuner {

class Sampler {
 public:
  // Reads the clock some hundred times to learn its floor.
  explicit Sampler(base::Clock& clock);

  // The larger of the clock's grain and of what a reading costs.
  double floor_ns() const { return floor_ns_; }

  // Nanoseconds of one run. runs: per sample; 0 before the first one, which sets it. before_each: called
  // before every run, outside of what is timed; then runs are timed one by one.
  Result<double> sample(int64_t& runs, const std::function<Status()>& run,
                        const std::function<void()>& before_each = {});

 private:
  Result<double> time(int64_t runs, const std::function<Status()>& run,
                      const std::function<void()>& before_each);

  base::Clock& clock_;
  double reading_ns_ = 0, floor_ns_ = 0;
};

}  // namespace frit::tuner
