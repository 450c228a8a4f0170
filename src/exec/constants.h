// What a plan needs of the Model's constants, made once at load: packed weights, aligned copies, and the
// results of groups that read constants only.
//
// Runs prepare phases and load-time groups by the ordinary kernels, split over the workers. It is the only
// place that reads the original constants, which may be pages of a mapped model file; a run reads them
// directly only where a kernel takes them as they are. What the store has already is not made again, nor is
// anything that only leads there.
#pragma once

#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "base/trace.h"
#include "exec/build.h"
#include "exec/constant_store.h"
#include "exec/memory_plan.h"
#include "frit/stop.h"

namespace frit::exec {

struct PreparedConstants {
  std::vector<const std::byte*>
      values;  // per value of the plan's graph: where run-time groups and outputs read it, else null
  std::vector<std::vector<std::byte*>> prepared;  // per group and program buffer, else null
  std::vector<SharedBlock> blocks;                // keep what the addresses point to alive
  std::vector<std::shared_ptr<const graph::ConstantData>> originals;  // read in place
  int64_t original_bytes = 0;
  int32_t launches = 0;  // phases that had to be run; 0 when the store had everything
};

struct PrepareOptions {
  base::PoolLease* workers = nullptr;  // null: the calling thread alone
  bool flush_denormals = true;
  StopToken stop;
  base::TraceRecorder* trace = nullptr;
};

// Pins the blocks in the store. Errors: bad data met by a load-time group (a gather index out of range),
// kCancelled, kOutOfMemory, kBadModel (a constant has fewer bytes than its type says).
Result<PreparedConstants> prepare_constants(const CompiledPlan& compiled, const MemoryPlan& memory,
                                            ConstantStore& store, const PrepareOptions& options);

}  // namespace frit::exec
