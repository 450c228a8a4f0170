// A clock that stands still while other processes have the core: what a kernel on one thread is measured by, so that a
// loaded machine costs samples their cache contents but not their order. With several threads only wall time means
// anything, since a worker that waits costs the caller nothing.
#pragma once

#include "base/seams.h"

namespace frit::tuner {

class ThreadClock final : public base::Clock {
 public:
  explicit ThreadClock(base::Clock& clock) : clock_(clock) {}
  int64_t now_ns() override { return clock_.thread_ns(); }
  int64_t wall_ns() override { return clock_.wall_ns(); }
  void sleep_ns(int64_t duration_ns) override { clock_.sleep_ns(duration_ns); }

 private:
  base::Clock& clock_;
};

}  // namespace frit::tuner
