// ThreadPool: the process's one pool of kernel threads. Whoever runs kernels holds a ThreadPool handle; the
// threads are shared by all handles, start when a handle first reserves them and are joined when the last
// handle goes.
//
// A run takes a PoolLease of free workers: it never waits for busy ones, so it may get fewer than asked, and
// the arithmetic must not depend on how many it gets. The calling thread is worker 0. Workers spin only while
// leased and for a short quantum after, then they park and cost nothing.
//
// After fork() the child has none of these threads: acquire() and reserve() on an inherited handle answer an
// error, and destroying it does nothing. A handle opened in the child has a pool of its own.
//
// Knows nothing of kernels, plans or devices.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "frit/result.h"

namespace frit::base {

namespace pool_detail {
struct Core;
struct Worker;
}  // namespace pool_detail

// ctx is the caller's; 0 <= worker < workers. It must not throw.
using WorkerFn = void (*)(void* ctx, int worker, int workers);

// What a pool thread does around the work of one lease (floating-point modes, tile state); never called on
// the caller's thread. enter: before its first piece of the lease, and again after it parked in a quiet
// stretch of it. leave: before it parks or enters another lease.
struct ThreadHooks {
  void (*enter)() = nullptr;
  void (*leave)() = nullptr;
};

// Free workers, for the length of one run. Not thread safe; belongs to the thread that acquired it.
class PoolLease {
 public:
  PoolLease() = default;  // the caller alone
  PoolLease(PoolLease&& other) noexcept { *this = std::move(other); }
  PoolLease& operator=(PoolLease&& other) noexcept;
  PoolLease(const PoolLease&) = delete;
  PoolLease& operator=(const PoolLease&) = delete;
  ~PoolLease() { release(); }

  int workers() const { return workers_; }  // the caller included

  // Calls fn(ctx, w, count) once for each w < count and returns when all have returned; count <= workers(),
  // by default all. What the caller wrote before is seen by all, what they wrote is seen by the caller after.
  // A piece whose thread has not begun when the caller is done with its own is done by the caller: two pieces
  // may run one after the other on one thread.
  void run(WorkerFn fn, void* ctx, int count);
  void run(WorkerFn fn, void* ctx) { run(fn, ctx, workers_); }

  // The same for a callable f(worker, workers).
  template <class F>
  requires std::is_invocable_v<F&, int, int>
  void run(F&& f) {
    using Body = std::remove_reference_t<F>;
    run([](void* ctx, int worker, int workers) { (*static_cast<Body*>(ctx))(worker, workers); },
        const_cast<std::remove_const_t<Body>*>(&f), workers_);
  }

  void release();  // ends the lease early

 private:
  friend class ThreadPool;
  pool_detail::Worker* first_ = nullptr;  // a list; outlived by the ThreadPool it came from
  int workers_ = 1;
  int64_t since_ns_ = 0;
};

// Move-only. Const members may be called from any thread at once.
class ThreadPool {
 public:
  ThreadPool() = default;  // no pool: acquire() gives the caller alone
  ThreadPool(ThreadPool&& other) noexcept { *this = std::move(other); }
  ThreadPool& operator=(ThreadPool&& other) noexcept;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() { close(); }

  // A handle to the process's pool. Starts no thread.
  static Result<ThreadPool> open();

  // Announces that runs through this handle use up to `threads` at a time, the caller included; the demands
  // of several handles add up to at most the number of CPUs, one handle's alone to at most 1024 threads.
  // Starts what is missing; a thread that cannot be started is no error, runs then get fewer. With cpus
  // given, new worker number k is bound to cpus[k % size], where the system lets it.
  Status reserve(int threads, std::span<const int> cpus = {});

  // A lease of up to `threads` workers, the caller included. Never blocks, never allocates.
  Result<PoolLease> acquire(int threads, ThreadHooks hooks = {}) const;

  int started() const;  // threads in the pool, the callers not among them

 private:
  void close();

  pool_detail::Core* core_ = nullptr;
  int reserved_ = 1;
};

}  // namespace frit::base
