// Executor: runs an ExecPlan: binds the caller's memory, launches step after step, says what went wrong.
//
// One thread alone spends at most some ten nanoseconds per kernel beside it; in steady state (a context that
// has run with memory of the same alignment before) nothing is allocated and no lock is held. Which workers
// are free never changes results. It must not know where plans come from.
#pragma once

#include <cstdint>
#include <span>

#include "base/seams.h"
#include "base/thread_pool.h"
#include "base/trace.h"
#include "exec/context.h"
#include "frit/stop.h"

namespace frit::exec {

struct RunOptions {
  base::PoolLease* workers =
      nullptr;     // acquired with worker_hooks(plan.flush_denormals()); null: the calling thread alone
  StopToken stop;  // looked at between kernels
  base::TraceRecorder* trace = nullptr;  // a span per kernel; allocates
  // For profiles: adds to kernel_ns[k] what dispatch k took. Empty: off. Kernels of one step that run side by
  // side are timed as one, under the first of them.
  std::span<int64_t> kernel_ns;
  base::Clock* clock = nullptr;  // set where kernel_ns is
};

class Executor {
 public:
  // inputs and outputs: one pointer per graph input and output, row-major; memory of any alignment, which
  // must be as large as the plan says and not overlap (kInvalidArgument). An output that is null is left in
  // the context (ExecContext::output). On an error the outputs are undefined. Errors: kInvalidArgument for
  // bad data (names the node), kCancelled, kOutOfMemory.
  static Status run(ExecContext& context, std::span<const void* const> inputs, std::span<void* const> outputs,
                    const RunOptions& options = {});

 private:
  static Status bind(ExecContext& context, std::span<const void* const> inputs,
                     std::span<void* const> outputs);
  static Status check_overlap(ExecContext& context);
  static Status stage(ExecContext::Binding& binding, const BindingInfo& info);
  static Status run_step(ExecContext& context, const Step& step, const RunOptions& options);
  static Status run_side_by_side(ExecContext& context, const Step& step, base::PoolLease& workers, int count);
  static Status run_host_op(ExecContext& context, const Dispatch& dispatch, const RunOptions& options);
  static Status run_timed(ExecContext& context, const Step& step, const RunOptions& options);
  static void finish(ExecContext& context);
  static const std::byte* address(const ExecContext& context, const PointerSource& from);
};

}  // namespace frit::exec
