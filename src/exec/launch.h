// One kernel over its tile range: on the calling thread, or cut into equal contiguous parts over the workers
// of a lease.
//
// The innermost part of a run, also used at load for packing: no allocation, no lock. It must not know plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/thread_pool.h"
#include "device/kernel_abi.h"
#include "device/mxcsr.h"

namespace frit::exec {

// What a worker reports; a cache line of its own.
struct alignas(64) WorkerState {
  int64_t error[device::kErrorWords] = {};
  int32_t status = 0;    // KernelStatus
  int32_t dispatch = 0;  // where kernels run side by side: which one it was
};

struct Launch {
  device::KernelEntry entry = nullptr;
  void* const* buffers = nullptr;
  int64_t tiles = 1;
  int64_t grain = 1;
  std::byte* scratch = nullptr;  // worker w's is scratch + w * scratch_bytes
  int64_t scratch_bytes = 0;
  WorkerState* workers = nullptr;  // of at least as many as take part
  bool flush_denormals = true;
};

// All tiles, as worker `worker`; the caller has set the denormal mode.
inline int32_t launch_whole(const Launch& l, int worker) {
  const device::KernelArgs args{
      l.buffers, nullptr, 0, l.tiles, l.scratch + worker * l.scratch_bytes, l.workers[worker].error};
  return l.entry(&args);
}

// Worker w of n: its share of the units of `grain` tiles.
inline int32_t launch_part(const Launch& l, int worker, int workers) {
  const int64_t units = (l.tiles + l.grain - 1) / l.grain;
  const int64_t first = units * worker / workers * l.grain;
  int64_t last = units * (worker + 1) / workers * l.grain;
  if (last > l.tiles) last = l.tiles;
  if (first >= last) return 0;
  const device::KernelArgs args{
      l.buffers, nullptr, first, last, l.scratch + worker * l.scratch_bytes, l.workers[worker].error};
  return l.entry(&args);
}

// Over `count` workers of the lease; their states say how it went.
inline void launch_split(base::PoolLease& lease, const Launch& launch, int count) {
  lease.run(
      [](void* ctx, int worker, int workers) {
        const Launch& l = *static_cast<const Launch*>(ctx);
        const device::FlushDenormals mode(l.flush_denormals);
        l.workers[worker].status = launch_part(l, worker, workers);
      },
      const_cast<Launch*>(&launch), count);
}

// The worker with the lowest tiles that failed, or null. Clears the states.
inline const WorkerState* take_failure(WorkerState* workers, int count) {
  const WorkerState* failed = nullptr;
  for (int w = count; w-- > 0;) {
    if (workers[w].status == 0) continue;
    workers[w].error[device::kErrorCode] = workers[w].status;
    workers[w].status = 0;
    failed = &workers[w];
  }
  return failed;
}

// For pool threads that work for runs with this numerics policy: the mode is set once per run and thread.
inline base::ThreadHooks worker_hooks(bool flush_denormals) {
  if (!flush_denormals) return {};
  return {&device::FlushDenormals::begin_on_thread, &device::FlushDenormals::end_on_thread};
}

}  // namespace frit::exec
