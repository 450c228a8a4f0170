// BenchServer: the worker's side of an isolated bench: answers the questions of bench_protocol.h with a
// Workbench that checks between pages without access. One group at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/seams.h"
#include "base/thread_pool.h"
#include "device/target.h"
#include "exec/kernel_source.h"
#include "tuner/thread_clock.h"
#include "tuner/workbench.h"

namespace frit::tuner::worker {

class BenchServer {
 public:
  // Makes what compiles for a target: the compiler, or a test's stand-in.
  using MakeProvider = std::function<Result<std::unique_ptr<exec::KernelProvider>>(const device::Target&)>;
  BenchServer(MakeProvider make_provider, base::Clock& clock)
      : make_provider_(std::move(make_provider)), clock_(clock), thread_clock_(clock) {}

  std::string answer(std::string_view request);

 private:
  Status open(std::string_view request);

  MakeProvider make_provider_;
  base::Clock& clock_;
  ThreadClock thread_clock_;
  std::optional<device::Target> target_;
  std::unique_ptr<exec::KernelProvider> provider_;
  base::ThreadPool pool_;
  std::optional<base::PoolLease> workers_;
  std::unique_ptr<Workbench> bench_;
  std::map<int64_t, std::unique_ptr<Variant>> variants_;
};

}  // namespace frit::tuner::worker
