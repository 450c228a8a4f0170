#include "base/thread_pool.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>

#include "base/pool_worker.h"
#include "base/text.h"

namespace frit::base {
namespace pool_detail {

constexpr int kMostWorkers = 1023;

struct Core {
  pid_t pid = getpid();
  int users = 0;  // handles; under the slot's lock
  std::mutex growing;
  int demand = 0;  // workers that all handles together want; under `growing`
  std::atomic<int> count{0};
  // Workers are never moved or removed while the pool lives, so acquire() reads without a lock.
  std::unique_ptr<Worker> workers[kMostWorkers];
};

// Where the process's pool is found. It has no destructor, so that nothing of it runs at exit or dlclose. It
// is locked by process id: a lock, or a pool, that a child inherited over fork() belongs to threads that do
// not exist there, and is simply replaced.
struct Slot {
  std::atomic<pid_t> holder{0};
  Core* core = nullptr;
};
constinit Slot g_slot;

class SlotLock {
 public:
  SlotLock() {
    const pid_t self = getpid();
    for (;;) {
      pid_t seen = 0;
      if (g_slot.holder.compare_exchange_weak(seen, self, std::memory_order_acquire)) break;
      if (seen == self || seen == 0) {
        sched_yield();  // held for the length of an allocation at most
      } else if (g_slot.holder.compare_exchange_strong(seen, self, std::memory_order_acquire)) {
        g_slot.core = nullptr;  // as the fork caught it, perhaps half written
        break;
      }
    }
    if (g_slot.core && g_slot.core->pid != self) g_slot.core = nullptr;
  }
  ~SlotLock() { g_slot.holder.store(0, std::memory_order_release); }
  SlotLock(const SlotLock&) = delete;
  SlotLock& operator=(const SlotLock&) = delete;
};

namespace {

// Spinning after a lease costs at most this much CPU time, over all workers.
constexpr int64_t kLingerTotalNs = 400'000;
constexpr int64_t kLingerMostNs = 50'000;

// A lease at least this long ends with the books closed: who measures CPU time after a run then measures the
// time after the run. Shorter ones are not worth the system calls.
constexpr int64_t kSettledLeaseNs = 200'000;

Error forked() {
  return make_error(Code::kInvalidArgument,
                    "this session was made before fork() and cannot run in the child process")
      .hinted("load the model again in the child, or fork before loading it");
}

void bind_to(const Worker& worker, int cpu) {
  if (cpu < 0 || cpu >= CPU_SETSIZE) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  // A container or cpuset may refuse; the worker then runs wherever the system puts it.
  pthread_setaffinity_np(worker.thread, sizeof set, &set);
}

// Under core.growing.
void grow(Core& core, int target, std::span<const int> cpus) {
  target = std::min(target, kMostWorkers);
  for (int i = core.count.load(std::memory_order_relaxed); i < target; ++i) {
    std::unique_ptr<Worker> worker(new (std::nothrow) Worker);
    if (!worker) return;
    worker->linger_ns = std::min(kLingerMostNs, kLingerTotalNs / std::max(target, 1));
    if (!start(*worker)) return;
    if (!cpus.empty()) bind_to(*worker, cpus[static_cast<size_t>(i) % cpus.size()]);
    core.workers[i] = std::move(worker);
    core.count.store(i + 1, std::memory_order_release);
  }
}

}  // namespace
}  // namespace pool_detail

using pool_detail::Core;
using pool_detail::Worker;

Result<ThreadPool> ThreadPool::open() {
  ThreadPool pool;
  const pool_detail::SlotLock lock;
  Core*& core = pool_detail::g_slot.core;
  if (!core) core = new (std::nothrow) Core;
  if (!core) return make_error(Code::kOutOfMemory, "no memory for the thread pool");
  ++core->users;
  pool.core_ = core;
  return pool;
}

ThreadPool& ThreadPool::operator=(ThreadPool&& other) noexcept {
  if (this == &other) return *this;
  close();
  core_ = std::exchange(other.core_, nullptr);
  reserved_ = std::exchange(other.reserved_, 1);
  return *this;
}

void ThreadPool::close() {
  Core* core = std::exchange(core_, nullptr);
  const int reserved = std::exchange(reserved_, 1);
  if (!core || core->pid != getpid()) return;
  {
    const std::lock_guard growing(core->growing);
    core->demand -= reserved - 1;
  }
  {
    const pool_detail::SlotLock lock;
    if (--core->users != 0) return;
    if (pool_detail::g_slot.core == core) pool_detail::g_slot.core = nullptr;
  }
  const int count = core->count.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) stop(*core->workers[i]);
  delete core;
}

Status ThreadPool::reserve(int threads, std::span<const int> cpus) {
  if (threads < 1) {
    return make_error(Code::kInvalidArgument,
                      text_of("number of threads is ", threads, ", expected 1 or more"));
  }
  if (!core_) return {};
  if (core_->pid != getpid()) return pool_detail::forked();
  threads = std::min(threads, pool_detail::kMostWorkers + 1);
  const std::lock_guard growing(core_->growing);
  core_->demand += threads - reserved_;
  reserved_ = threads;
  const int cpu_workers = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)) - 1;
  pool_detail::grow(*core_, std::max(threads - 1, std::min(core_->demand, cpu_workers)), cpus);
  return {};
}

Result<PoolLease> ThreadPool::acquire(int threads, ThreadHooks hooks) const {
  PoolLease lease;
  if (!core_ || threads <= 1) return lease;
  if (core_->pid != getpid()) return pool_detail::forked();
  const int count = core_->count.load(std::memory_order_acquire);
  Worker** end = &lease.first_;
  for (int i = 0; i < count && lease.workers_ < threads; ++i) {
    Worker& worker = *core_->workers[i];
    if (worker.leased.load(std::memory_order_relaxed) ||
        worker.leased.exchange(true, std::memory_order_acquire)) {
      continue;
    }
    worker.hooks = hooks;
    if (++worker.lease_number == 0) worker.lease_number = 1;  // 0 is no lease
    worker.next = nullptr;
    *end = &worker;
    end = &worker.next;
    ++lease.workers_;
    rouse(worker);
  }
  if (lease.first_) lease.since_ns_ = pool_detail::monotonic_ns();
  return lease;
}

int ThreadPool::started() const { return core_ ? core_->count.load(std::memory_order_acquire) : 0; }

PoolLease& PoolLease::operator=(PoolLease&& other) noexcept {
  if (this == &other) return *this;
  release();
  first_ = std::exchange(other.first_, nullptr);
  workers_ = std::exchange(other.workers_, 1);
  since_ns_ = other.since_ns_;
  return *this;
}

void PoolLease::release() {
  if (!first_) return;
  const bool settle = pool_detail::monotonic_ns() - since_ns_ >= pool_detail::kSettledLeaseNs;
  for (Worker* worker = first_; worker;) {
    if (settle) settle_cpu_time(*worker);
    Worker* next = worker->next;  // not ours any more once it is free
    worker->leased.store(false, std::memory_order_release);
    worker = next;
  }
  first_ = nullptr;
  workers_ = 1;
}

void PoolLease::run(WorkerFn fn, void* ctx, int count) {
  count = std::clamp(count, 1, workers_);
  int index = 1;
  for (Worker* worker = first_; index < count; worker = worker->next) post(*worker, fn, ctx, index++, count);
  fn(ctx, 0, count);
  // All that has not begun first, then the waiting: the others work on meanwhile.
  index = 1;
  for (Worker* worker = first_; index < count; worker = worker->next, ++index) {
    if (take_back(*worker)) fn(ctx, index, count);
  }
  index = 1;
  for (Worker* worker = first_; index < count; worker = worker->next, ++index) wait_done(*worker);
}

}  // namespace frit::base
