// The thread pool: every piece once, leases that never wait, parking, joining, fork.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include "base/thread_pool.h"

#if defined(__SANITIZE_THREAD__)
constexpr bool kTsan = true;
#else
constexpr bool kTsan = false;
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

namespace frit::base {
namespace {

ThreadPool pool_of(int threads) {
  Result<ThreadPool> pool = ThreadPool::open();
  EXPECT_TRUE(pool.ok());
  EXPECT_TRUE(pool->reserve(threads).ok());
  return *std::move(pool);
}

PoolLease lease_of(const ThreadPool& pool, int threads, ThreadHooks hooks = {}) {
  Result<PoolLease> lease = pool.acquire(threads, hooks);
  EXPECT_TRUE(lease.ok());
  return *std::move(lease);
}

int process_threads() {
  int count = 0;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

// /proc drops a joined thread a moment after the join.
bool threads_become(int count) {
  for (int i = 0; i < 1000 && process_threads() != count; ++i) usleep(1000);
  return process_threads() == count;
}

int64_t cpu_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return t.tv_sec * int64_t{1000000000} + t.tv_nsec;
}

// Makes all workers of the lease take part: each piece waits until all have begun.
void run_together(PoolLease& lease, const std::function<void(int)>& body = {}) {
  std::atomic<int> begun{0};
  lease.run([&](int worker, int workers) {
    begun.fetch_add(1);
    while (begun.load() != workers) std::this_thread::yield();
    if (body) body(worker);
  });
}

TEST(ThreadPool, NoPoolIsTheCallerAlone) {
  const ThreadPool none;
  PoolLease lease = lease_of(none, 8);
  EXPECT_EQ(lease.workers(), 1);
  const auto self = std::this_thread::get_id();
  int calls = 0;
  lease.run([&](int worker, int workers) {
    ++calls;
    EXPECT_EQ(worker, 0);
    EXPECT_EQ(workers, 1);
    EXPECT_EQ(std::this_thread::get_id(), self);
  });
  EXPECT_EQ(calls, 1);
}

TEST(ThreadPool, EachPieceOnce) {
  const ThreadPool pool = pool_of(5);
  PoolLease lease = lease_of(pool, 5);
  ASSERT_EQ(lease.workers(), 5);
  for (int round = 0; round < 20000; ++round) {
    const int count = 1 + round % 5;
    int calls[5] = {};
    struct Context {
      int* calls;
      int count;
    } context{calls, count};
    lease.run(
        [](void* ctx, int worker, int workers) {
          auto& c = *static_cast<Context*>(ctx);
          c.calls[worker] += workers == c.count ? 1 : 100;
        },
        &context, count);
    for (int w = 0; w < 5; ++w) ASSERT_EQ(calls[w], w < count ? 1 : 0) << round << " worker " << w;
  }
}

TEST(ThreadPool, CountIsClamped) {
  const ThreadPool pool = pool_of(2);
  PoolLease lease = lease_of(pool, 2);
  std::atomic<int> calls{0};
  const WorkerFn count_call = [](void* ctx, int, int) { ++*static_cast<std::atomic<int>*>(ctx); };
  lease.run(count_call, &calls, 99);
  EXPECT_EQ(calls.exchange(0), 2);
  lease.run(count_call, &calls, 0);
  EXPECT_EQ(calls.exchange(0), 1);
}

TEST(ThreadPool, PiecesRunAtTheSameTimeOnDifferentThreads) {
  const ThreadPool pool = pool_of(4);
  PoolLease lease = lease_of(pool, 4);
  ASSERT_EQ(lease.workers(), 4);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread::id> ids(4);
    run_together(lease, [&](int worker) { ids[worker] = std::this_thread::get_id(); });
    EXPECT_EQ(ids[0], std::this_thread::get_id());
    for (int a = 0; a < 4; ++a) {
      for (int b = 0; b < a; ++b) EXPECT_NE(ids[a], ids[b]);
    }
  }
}

TEST(ThreadPool, AcquireTakesWhatIsFreeAndNeverWaits) {
  const ThreadPool pool = pool_of(4);
  PoolLease a = lease_of(pool, 3);
  EXPECT_EQ(a.workers(), 3);
  PoolLease b = lease_of(pool, 4);
  EXPECT_EQ(b.workers(), 2);
  PoolLease c = lease_of(pool, 2);
  EXPECT_EQ(c.workers(), 1);
  b.release();
  EXPECT_EQ(b.workers(), 1);
  c = lease_of(pool, 9);
  EXPECT_EQ(c.workers(), 2);
  a = PoolLease();
  EXPECT_EQ(lease_of(pool, 99).workers(), 3);

  // Also while another caller is inside its job.
  PoolLease taken = lease_of(pool, 99);
  c.release();
  std::atomic<bool> go_on{false};
  std::thread other([&] {
    run_together(taken, [&](int) {
      while (!go_on) std::this_thread::yield();
    });
  });
  EXPECT_EQ(lease_of(pool, 2).workers(), 2);
  EXPECT_EQ(lease_of(pool, 99).workers(), 2);
  go_on = true;
  other.join();
}

TEST(ThreadPool, NestedLeases) {
  const ThreadPool pool = pool_of(4);
  PoolLease outer = lease_of(pool, 2);
  std::atomic<int> calls{0};
  run_together(outer, [&](int) {
    PoolLease inner = lease_of(pool, 2);
    inner.run([&](int, int) { ++calls; });
    inner.run([&](int, int) { ++calls; });
  });
  // Two more workers for two inner leases: each may get up to one, or the first to ask both of none.
  EXPECT_GE(calls.load(), 4);
  EXPECT_LE(calls.load(), 8);
}

TEST(ThreadPool, ManyCallersShareIt) {
  const ThreadPool pool = pool_of(4);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int round = 0; round < 2000; ++round) {
        PoolLease lease = lease_of(pool, 3);
        std::vector<int> part(static_cast<size_t>(lease.workers()));  // unsynchronised on purpose
        for (int step = 1; step <= 3; ++step) {
          lease.run([&](int worker, int) { part[static_cast<size_t>(worker)] += step; });
        }
        for (const int p : part) wrong += p != 6;
      }
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(lease_of(pool, 99).workers(), 4);  // all came back
}

std::atomic<int> g_entered, g_left;
thread_local int t_inside = 0;

TEST(ThreadPool, HooksOnPoolThreadsOnly) {
  g_entered = g_left = 0;
  const ThreadHooks hooks{[] { ++t_inside, ++g_entered; }, [] { --t_inside, ++g_left; }};
  {
    const ThreadPool pool = pool_of(3);
    for (int round = 1; round <= 5; ++round) {
      PoolLease lease = lease_of(pool, 3, hooks);
      ASSERT_EQ(lease.workers(), 3);
      for (int i = 0; i < 10; ++i) {
        run_together(lease, [&](int worker) { EXPECT_EQ(t_inside, worker == 0 ? 0 : 1); });
      }
      EXPECT_GE(g_entered.load(), 2 * round);  // more when a worker parked in between
    }
    PoolLease plain = lease_of(pool, 3);
    run_together(plain, [&](int) { EXPECT_EQ(t_inside, 0); });
    EXPECT_EQ(g_left.load(), g_entered.load());
    plain = PoolLease();
    PoolLease last = lease_of(pool, 3, hooks);
    run_together(last);
    // A lease in which nothing happens for long lets its workers park, hence leave, and enter again.
    for (int i = 0; i < 5000 && g_left.load() != g_entered.load(); ++i) usleep(1000);
    EXPECT_EQ(g_left.load(), g_entered.load());
    run_together(last, [&](int worker) { EXPECT_EQ(t_inside, worker == 0 ? 0 : 1); });
    last.release();
    // Left when they park, not only when the pool ends.
    for (int i = 0; i < 5000 && g_left.load() != g_entered.load(); ++i) usleep(1000);
    EXPECT_EQ(g_left.load(), g_entered.load());
  }
  EXPECT_EQ(g_entered.load(), g_left.load());
}

TEST(ThreadPool, ParksAfterARun) {
  const ThreadPool pool = pool_of(4);
  for (int round = 0; round < 2; ++round) {
    {
      PoolLease lease = lease_of(pool, 4);
      const int64_t end = cpu_ns(CLOCK_MONOTONIC) + 20'000'000;
      while (cpu_ns(CLOCK_MONOTONIC) < end) run_together(lease);
    }
    const int64_t before = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    sleep(1);
    const int64_t spent = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - before;
    EXPECT_LT(spent, kSanitized ? 50'000'000 : 1'000'000);
  }
  // Parked workers still serve.
  PoolLease lease = lease_of(pool, 4);
  run_together(lease);
}

TEST(ThreadPool, ParksInsideALongLease) {
  const ThreadPool pool = pool_of(3);
  PoolLease lease = lease_of(pool, 3);
  run_together(lease);
  usleep(50'000);
  const int64_t before = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
  usleep(200'000);
  EXPECT_LT(cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - before, 20'000'000);
  run_together(lease);
}

TEST(ThreadPool, ThreadsStartAndEndWithTheHandles) {
  const int before = process_threads();
  {
    Result<ThreadPool> a = ThreadPool::open();
    ASSERT_TRUE(a.ok());
    EXPECT_EQ(process_threads(), before);
    ASSERT_TRUE(a->reserve(3).ok());
    EXPECT_EQ(a->started(), 2);
    ASSERT_TRUE(a->reserve(2).ok());  // less than before: they stay
    EXPECT_EQ(a->started(), 2);
    ThreadPool b = pool_of(3);
    EXPECT_EQ(b.started(), a->started());  // one pool
    ThreadPool moved = *std::move(a);
    moved = ThreadPool();
    EXPECT_GE(process_threads(), before + 2);
  }
  EXPECT_TRUE(threads_become(before));
}

TEST(ThreadPool, DemandsAddUpToTheNumberOfCpus) {
  const auto cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  const ThreadPool a = pool_of(2);
  EXPECT_EQ(a.started(), 1);
  std::vector<ThreadPool> more;
  for (int i = 0; i < cpus + 3; ++i) more.push_back(pool_of(2));
  EXPECT_EQ(a.started(), std::max(1, cpus - 1));
  const ThreadPool big = pool_of(cpus + 5);  // one that asks for more gets it
  EXPECT_EQ(a.started(), cpus + 4);
}

TEST(ThreadPool, ReserveRefusesNonsense) {
  Result<ThreadPool> pool = ThreadPool::open();
  ASSERT_TRUE(pool.ok());
  for (const int threads : {0, -1, std::numeric_limits<int>::min()}) {
    const Status status = pool->reserve(threads);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, Code::kInvalidArgument);
  }
  EXPECT_EQ(lease_of(*pool, 0).workers(), 1);
  EXPECT_EQ(lease_of(*pool, -5).workers(), 1);
}

TEST(ThreadPool, FailedPinIsNoError) {
  Result<ThreadPool> pool = ThreadPool::open();
  ASSERT_TRUE(pool.ok());
  const std::vector<int> cpus = {0, 1023, -1, 1 << 20};
  ASSERT_TRUE(pool->reserve(5, cpus).ok());
  PoolLease lease = lease_of(*pool, 5);
  EXPECT_EQ(lease.workers(), 5);
  run_together(lease);
}

TEST(ThreadPool, OpensAndClosesAgainAndAgain) {
  const int before = process_threads();
  std::vector<std::thread> users;
  for (int t = 0; t < 3; ++t) {
    users.emplace_back([] {
      for (int i = 0; i < 100; ++i) {
        const ThreadPool pool = pool_of(3);
        PoolLease lease = lease_of(pool, 3);
        std::atomic<int> calls{0};
        lease.run([&](int, int) { ++calls; });
        EXPECT_EQ(calls.load(), lease.workers());
      }
    });
  }
  for (auto& user : users) user.join();
  EXPECT_TRUE(threads_become(before));
}

int exit_of_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

TEST(ThreadPoolFork, ChildGetsAnErrorAndDestroysSafely) {
  ThreadPool pool = pool_of(3);
  {
    PoolLease lease = lease_of(pool, 3);
    run_together(lease);
  }
  const int status = exit_of_child([&] {
    const Result<PoolLease> lease = pool.acquire(3);
    if (lease.ok()) return 1;
    if (lease.error().text().find("fork") == std::string::npos || lease.error().hint.empty()) return 2;
    if (pool.reserve(4).ok()) return 3;
    if (!pool.acquire(1).ok()) return 4;  // one thread needs no pool
    pool = ThreadPool();
    return 0;
  });
  EXPECT_EQ(status, 0);
  PoolLease lease = lease_of(pool, 3);  // the parent's is untouched
  EXPECT_EQ(lease.workers(), 3);
  run_together(lease);
}

TEST(ThreadPoolFork, ChildMayHaveItsOwnPool) {
  if (kTsan) GTEST_SKIP() << "the thread sanitizer cannot start threads in a forked child";
  ThreadPool pool = pool_of(3);
  const int status = exit_of_child([&] {
    ThreadPool own = pool_of(3);
    if (own.started() != 2) return 1;
    PoolLease lease = lease_of(own, 3);
    run_together(lease);
    lease.release();
    pool = ThreadPool();
    own = ThreadPool();
    return process_threads() == 1 || threads_become(1) ? 0 : 2;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(lease_of(pool, 3).workers(), 3);
}

TEST(ThreadPoolFork, ForkWhileOthersOpenAndClose) {
  if (kTsan) GTEST_SKIP() << "the thread sanitizer cannot start threads in a forked child";
  std::atomic<bool> end{false};
  std::thread churn([&] {
    while (!end) (void)ThreadPool::open();
  });
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(exit_of_child([] {
                const ThreadPool own = pool_of(2);
                return own.started() == 1 ? 0 : 1;
              }),
              0);
  }
  end = true;
  churn.join();
}

TEST(ThreadPoolLimits, ThreadThatCannotStartIsNoError) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers' shadow memory does not fit a limited address space";
  const int status = exit_of_child([] {
    // No room for more stacks than those that ended threads left behind.
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = 1 << 20;
    if (setrlimit(RLIMIT_AS, &limit) != 0) return 1;
    Result<ThreadPool> pool = ThreadPool::open();
    if (!pool.ok() || !pool->reserve(300).ok()) return 2;
    if (pool->started() >= 299) return 3;
    Result<PoolLease> lease = pool->acquire(300);
    if (!lease.ok() || lease->workers() != 1 + pool->started()) return 4;
    std::atomic<int> calls{0};
    lease->run([&](int, int) { ++calls; });
    return calls == lease->workers() ? 0 : 5;
  });
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace frit::base
