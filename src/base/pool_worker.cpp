#include "base/pool_worker.h"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/spin.h"

namespace frit::base::pool_detail {
namespace {

// Between two looks at the clock.
constexpr int kPollsPerLook = 64;
// Spinning at full speed; after that the CPU is offered to others at each look, for machines with more work
// than cores.
constexpr int64_t kEagerNs = 20'000;
// A leased worker that gets no job for this long parks too: its lease is busy with something serial.
constexpr int64_t kLeasedSpinNs = 1'000'000;

void futex_wait(std::atomic<uint32_t>& word, uint32_t while_value) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, while_value, nullptr, nullptr,
          0);
}

void futex_wake(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// The lease whose hooks surround what the thread does.
struct Inside {
  uint32_t lease_number = 0;
  void (*leave)() = nullptr;

  void end() {
    if (leave) leave();
    *this = {};
  }
};

void do_job(Worker& w, Inside& inside) {
  if (inside.lease_number != w.lease_number) {
    inside.end();
    if (w.hooks.enter) w.hooks.enter();
    inside = {w.lease_number, w.hooks.leave};
  }
  w.fn(w.ctx, w.index, w.count);
  w.state.store(kIdle, std::memory_order_release);
}

void park(Worker& w) {
  uint32_t expected = kIdle;
  if (!w.state.compare_exchange_strong(expected, kParked, std::memory_order_acq_rel)) return;
  while (w.state.load(std::memory_order_acquire) == kParked) futex_wait(w.state, kParked);
}

void* worker_main(void* argument) {
  Worker& w = *static_cast<Worker*>(argument);
  Inside inside;
  int polls = 0;
  bool was_leased = true;
  int64_t since = monotonic_ns();  // of the last job, or of the end of the lease
  for (;;) {
    const uint32_t state = w.state.load(std::memory_order_acquire);
    if (state == kPosted) {
      uint32_t expected = kPosted;
      if (w.state.compare_exchange_strong(expected, kRunning, std::memory_order_acq_rel)) {
        do_job(w, inside);
        // The clock is read at the next look only: a stream of short jobs does not pay for it.
        polls = -kPollsPerLook;
        was_leased = true;
        since = -1;
      }
      continue;
    }
    if (state == kExit) break;
    cpu_relax();
    if (++polls < kPollsPerLook) continue;
    polls = 0;
    const int64_t now = monotonic_ns();
    const bool leased = w.leased.load(std::memory_order_relaxed);
    if (since < 0 || (was_leased && !leased)) since = now;
    was_leased = leased;
    if (now - since > (leased ? kLeasedSpinNs : w.linger_ns)) {
      inside.end();
      park(w);
      was_leased = true;
      since = -1;
    } else if (now - since > kEagerNs) {
      sched_yield();
    }
  }
  inside.end();
  return nullptr;
}

}  // namespace

int64_t monotonic_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * int64_t{1000000000} + t.tv_nsec;
}

bool start(Worker& worker) {
  // The application's signal handlers must not find themselves on our threads.
  sigset_t all, before;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return false;
  const bool started = pthread_create(&worker.thread, nullptr, worker_main, &worker) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started) return false;
  pthread_setname_np(worker.thread, "frit-worker");
  if (pthread_getcpuclockid(worker.thread, &worker.cpu_clock) != 0) worker.cpu_clock = CLOCK_MONOTONIC;
  return true;
}

void rouse(Worker& worker) {
  uint32_t expected = kParked;
  if (worker.state.load(std::memory_order_relaxed) == kParked &&
      worker.state.compare_exchange_strong(expected, kIdle, std::memory_order_acq_rel)) {
    futex_wake(worker.state);
  }
}

void post(Worker& worker, WorkerFn fn, void* ctx, int index, int count) {
  worker.fn = fn;
  worker.ctx = ctx;
  worker.index = index;
  worker.count = count;
  if (worker.state.exchange(kPosted, std::memory_order_acq_rel) == kParked) futex_wake(worker.state);
}

bool take_back(Worker& worker) {
  uint32_t expected = kPosted;
  return worker.state.compare_exchange_strong(expected, kIdle, std::memory_order_acq_rel);
}

void wait_done(Worker& worker) {
  int polls = 0;
  int64_t since = -1;
  while (worker.state.load(std::memory_order_acquire) == kRunning) {
    cpu_relax();
    if (++polls < kPollsPerLook) continue;
    polls = 0;
    const int64_t now = monotonic_ns();
    if (since < 0) since = now;
    if (now - since > kEagerNs) sched_yield();
  }
}

void settle_cpu_time(const Worker& worker) {
  // Linux adds a running thread's time to its process only at a tick, up to 10 ms late, but reading the
  // thread's own clock does it at once.
  timespec t{};
  clock_gettime(worker.cpu_clock, &t);
}

void stop(Worker& worker) {
  if (worker.state.exchange(kExit, std::memory_order_acq_rel) == kParked) futex_wake(worker.state);
  pthread_join(worker.thread, nullptr);
}

}  // namespace frit::base::pool_detail
