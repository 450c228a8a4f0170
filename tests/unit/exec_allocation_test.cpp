// What a run costs beside its kernels: no allocation, and nanoseconds per launch. A program of its own, since
// it replaces operator new.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>

#include "support/exec_run.h"

namespace {

std::atomic<int64_t> g_allocations{0};

void* counted(std::size_t size) {
  ++g_allocations;
  if (void* p = std::malloc(size ? size : 1)) return p;
  throw std::bad_alloc();
}
void* counted(std::size_t size, std::align_val_t alignment) {
  ++g_allocations;
  const auto a = static_cast<std::size_t>(alignment);
  if (void* p = std::aligned_alloc(a, (size + a - 1) / a * a)) return p;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void* operator new(std::size_t size, std::align_val_t alignment) { return counted(size, alignment); }
void* operator new[](std::size_t size, std::align_val_t alignment) { return counted(size, alignment); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++g_allocations;
  return std::malloc(size ? size : 1);
}
void* operator new[](std::size_t size, const std::nothrow_t& tag) noexcept { return operator new(size, tag); }
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  ++g_allocations;
  const auto a = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(a, (size + a - 1) / a * a);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace frit::exec {
namespace {

using graph::Graph;
using graph::ValueId;
using testing::f32;
using testing::Ready;

Graph chain(int64_t n, int length) {
  Graph g;
  ValueId x = g.add_input(f32({n}));
  const ValueId c = testing::constant(g, testing::ramp(static_cast<size_t>(n)));
  for (int k = 0; k < length; ++k) x = k % 2 ? testing::relu(g, x) : testing::add(g, x, c);
  g.outputs = {x};
  return g;
}

TEST(Allocation, NoneInSteadyState) {
  for (const int threads : {1, 2}) {
    for (const int64_t kind : {0, 3}) {
      Ready ready;
      ASSERT_TRUE(ready.make(testing::plan_of(chain(1000, 20)), testing::with_threads(threads), kind).ok());
      ContextPool contexts(ready.plan, 2);
      auto pool = base::ThreadPool::open();
      ASSERT_TRUE(pool->reserve(threads).ok());
      std::vector<float> in(1001, 1), out(1001);
      StopSource stop;
      RunOptions options;
      options.stop = stop.token();
      bool fine = true;
      // The second set of pointers needs staging, which is made once.
      const auto once = [&](size_t shift) {
        const void* inputs[] = {reinterpret_cast<const std::byte*>(in.data()) + shift};
        void* outputs[] = {reinterpret_cast<std::byte*>(out.data()) + shift};
        auto context = contexts.acquire();
        auto lease = pool->acquire(threads, worker_hooks(ready.plan->flush_denormals()));
        options.workers = &*lease;
        fine = fine && context.ok() && Executor::run(**context, inputs, outputs, options).ok();
      };
      once(0);
      once(1);
      const int64_t before = g_allocations;
      for (int k = 0; k < 20; ++k) once(static_cast<size_t>(k % 2));
      EXPECT_EQ(g_allocations - before, 0) << threads << " threads";
      EXPECT_TRUE(fine);
    }
  }
}

int32_t nothing(const device::KernelArgs*) { return 0; }

TEST(Allocation, ALaunchCostsNanoseconds) {
  constexpr int kLaunches = 1000;
  auto plan = testing::plan_of(chain(16, kLaunches));
  CompiledPlan compiled = *build_plan(plan, {}, nullptr, testing::fake_build_options());
  for (auto& group : compiled.groups) {
    auto built = std::make_shared<BuiltGroup>(*group);
    built->phases = {
        device::Kernel::from_function(&nothing, "frit_nothing", kernel_shape(built->program.phases[0].fn))};
    group = built;
  }
  ConstantStore store;
  auto exec_plan = ExecPlan::make(compiled, store, {});
  ASSERT_TRUE(exec_plan.ok()) << exec_plan.error().text();
  auto context = ExecContext::make(*exec_plan);
  std::vector<float> in(16), out(16);
  const void* inputs[] = {in.data()};
  void* outputs[] = {out.data()};
  double best_ns = 1e9;
  for (int k = 0; k < 200; ++k) {
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(Executor::run(**context, inputs, outputs).ok());
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    best_ns = std::min(best_ns, took.count() / kLaunches);
  }
  RecordProperty("ns_per_launch", std::to_string(best_ns));
}

}  // namespace
}  // namespace frit::exec
