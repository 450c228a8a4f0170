// The inside of ThreadPool: one worker's mailbox and its thread. Included by the pool's .cpp files and
// nothing else.
//
// A worker and the holder of its lease meet in one atomic word, `state`:
//   kIdle     the worker polls            holder: kIdle -> kPosted, after filling the job
//   kParked   the worker sleeps on it     holder: kParked -> kPosted or kIdle, then wakes it
//   kPosted   a job is there              worker: kPosted -> kRunning, or the holder takes it back: kPosted
//   -> kIdle kRunning  the worker is in the job    worker: kRunning -> kIdle when done kExit     the pool is
//   closing
// kPosted is left by a compare-exchange on both sides, so that exactly one of them does the job.
#pragma once

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "base/memory.h"
#include "base/thread_pool.h"

namespace frit::base::pool_detail {

enum State : uint32_t { kIdle, kParked, kPosted, kRunning, kExit };

struct alignas(kCacheLineBytes) Worker {
  // The line that goes back and forth in a hand-off. The job is written by the holder of the lease before
  // kPosted.
  std::atomic<uint32_t> state{kIdle};
  int index = 0;
  int count = 0;
  uint32_t lease_number = 0;  // tells the worker that its job is of another lease
  WorkerFn fn = nullptr;
  void* ctx = nullptr;
  ThreadHooks hooks;

  alignas(kCacheLineBytes) std::atomic<bool> leased{false};
  Worker* next = nullptr;  // in the lease's list
  int64_t linger_ns = 0;   // how long to spin after a lease
  pthread_t thread{};
  clockid_t cpu_clock{};
};

int64_t monotonic_ns();

// Starts the thread; false when the system has none left.
bool start(Worker& worker);

// Wakes a parked worker, so that it polls by the time the first job comes.
void rouse(Worker& worker);

// The holder's side of a job.
void post(Worker& worker, WorkerFn fn, void* ctx, int index, int count);
// Takes the job back if its worker has not begun; the caller does it then.
bool take_back(Worker& worker);
void wait_done(Worker& worker);

// Brings the CPU time that the process is charged for this worker up to date.
void settle_cpu_time(const Worker& worker);

// Ends the thread of a worker that nobody holds, and waits for it.
void stop(Worker& worker);

}  // namespace frit::base::pool_detail
