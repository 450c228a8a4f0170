#include "exec/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "base/half.h"
#include "support/exec_run.h"
#include "support/fake_seams.h"

namespace frit::exec {
namespace {

using graph::Graph;
using graph::ValueId;
using testing::add;
using testing::constant;
using testing::f32;
using testing::ramp;
using testing::Ready;
using testing::relu;
using Floats = std::vector<std::vector<float>>;

// y = relu(relu(x) + c), and d = relu(x) as a second output.
Graph small_graph(int64_t n) {
  Graph g;
  const ValueId x = g.add_input(f32({n}));
  const ValueId a = relu(g, x);
  const ValueId y = relu(g, add(g, a, constant(g, ramp(static_cast<size_t>(n), 1))));
  g.outputs = {y, a};
  return g;
}

base::PoolLease workers(base::ThreadPool& pool, int count) {
  EXPECT_TRUE(pool.reserve(count).ok());
  for (;;) {
    auto lease = pool.acquire(count, worker_hooks(true));
    EXPECT_TRUE(lease.ok());
    if (lease->workers() == count) return *std::move(lease);
  }
}

TEST(Executor, GivesTheEvaluatorsResults) {
  const Graph g = small_graph(100);
  Ready ready;
  ASSERT_TRUE(ready.make(testing::plan_of(g)).ok());
  EXPECT_EQ(ready.plan->kernels(), 3);
  EXPECT_EQ(ready.plan->host_kernels(), 0);
  const Floats in = {ramp(100, -50, 0.5f)};
  Floats out = {ramp(100), ramp(100)};
  const Status s = testing::run(*ready.context, in, out);
  ASSERT_TRUE(s.ok()) << s.error().text();
  EXPECT_EQ(out, testing::expected(g, in));
}

TEST(Executor, EveryTileRunsOnceInWholeGrains) {
  for (const int threads : {1, 2, 3, 5}) {
    for (const int64_t n : {1, 16, 17, 100, 1000}) {
      for (const int64_t grain : {1, 3, 7}) {
        Graph g;
        g.outputs = {relu(g, g.add_input(f32({n})))};
        Ready ready;
        std::mutex mutex;
        std::vector<int> seen(static_cast<size_t>(testing::tiles_of(n)), 0);
        bool whole = true;
        ready.provider->make_body = [&](const loop::LoopFn& fn) {
          return testing::elementwise_body(fn, [&](const device::KernelArgs& args) {
            const std::lock_guard lock(mutex);
            for (int64_t t = args.first_tile; t < args.last_tile; ++t) ++seen[static_cast<size_t>(t)];
            whole = whole && args.first_tile % grain == 0 && args.first_tile < args.last_tile;
          });
        };
        auto plan = testing::plan_of(g);
        ASSERT_TRUE(ready.make(plan, testing::with_threads(threads)).ok());
        auto group = std::make_shared<BuiltGroup>(*ready.compiled.groups[0]);
        group->program.phases[0].grain = grain;
        ready.compiled.groups[0] = group;
        auto exec_plan = ExecPlan::make(ready.compiled, ready.store, testing::with_threads(threads));
        ASSERT_TRUE(exec_plan.ok());
        auto context = ExecContext::make(*exec_plan);
        ASSERT_TRUE(context.ok());
        auto pool = base::ThreadPool::open();
        base::PoolLease lease = workers(*pool, threads);
        const Floats in = {ramp(static_cast<size_t>(n), -3)};
        Floats out = {ramp(static_cast<size_t>(n))};
        RunOptions options;
        options.workers = &lease;
        ASSERT_TRUE(testing::run(**context, in, out, options).ok());
        EXPECT_EQ(out, testing::expected(g, in));
        EXPECT_TRUE(whole);
        EXPECT_EQ(seen, std::vector<int>(seen.size(), 1))
            << threads << " threads, " << n << " elements, grain " << grain;
      }
    }
  }
}

TEST(Executor, ALeaseMayBeSmallerOrLargerThanPlanned) {
  const Graph g = small_graph(200);
  Ready ready;
  ASSERT_TRUE(ready.make(testing::plan_of(g), testing::with_threads(2)).ok());
  auto pool = base::ThreadPool::open();
  const Floats in = {ramp(200, -50, 0.5f)};
  for (const int count : {1, 2, 4}) {
    base::PoolLease lease = workers(*pool, count);
    RunOptions options;
    options.workers = &lease;
    Floats out = {ramp(200), ramp(200)};
    ASSERT_TRUE(testing::run(*ready.context, in, out, options).ok());
    EXPECT_EQ(out, testing::expected(g, in));
  }
}

TEST(Executor, SerialKernelsOfOneStepRunSideBySide) {
  Graph g;
  const ValueId x = g.add_input(f32({64}));
  const ValueId a = relu(g, x), b = g.add(graph::Unary{graph::UnaryOp::kNeg}, {x}, f32({64}));
  g.outputs = {add(g, a, b)};
  Ready ready;
  // Each of the first two kernels waits until the other has begun.
  std::atomic<int> begun{0};
  std::atomic<bool> met{false};
  const auto hook = [&](const device::KernelArgs&) {
    const int k = ++begun;
    for (int spin = 0; k <= 2 && spin < 2'000'000'000 && begun < 2; ++spin) std::this_thread::yield();
    if (k == 2) met = true;
  };
  ASSERT_TRUE(ready.make(testing::plan_of(g), testing::with_threads(2), 3, hook).ok());
  ASSERT_EQ(ready.plan->steps().size(), 2u);
  EXPECT_EQ(ready.plan->steps()[0].count, 2);
  auto pool = base::ThreadPool::open();
  base::PoolLease lease = workers(*pool, 2);
  RunOptions options;
  options.workers = &lease;
  const Floats in = {ramp(64, -32)};
  Floats out = {ramp(64)};
  ASSERT_TRUE(testing::run(*ready.context, in, out, options).ok());
  EXPECT_EQ(out, testing::expected(g, in));
  // One worker runs them one after the other.
  begun = 10;
  ASSERT_TRUE(testing::run(*ready.context, in, out).ok());
  EXPECT_EQ(out, testing::expected(g, in));
}

TEST(Executor, OutputsCanStayInTheContext) {
  const Graph g = small_graph(33);
  Ready ready;
  ASSERT_TRUE(ready.make(testing::plan_of(g)).ok());
  const std::vector<float> in = ramp(33, -7);
  std::vector<float> second(33);
  const void* inputs[] = {in.data()};
  void* outputs[] = {nullptr, second.data()};
  for (int repeat = 0; repeat < 2; ++repeat) {
    ASSERT_TRUE(Executor::run(*ready.context, inputs, outputs).ok());
    const auto want = testing::expected(g, {in});
    ASSERT_NE(ready.context->output(0), nullptr);
    EXPECT_EQ(std::memcmp(ready.context->output(0), want[0].data(), 33 * 4), 0);
    EXPECT_EQ(ready.context->output(1), reinterpret_cast<const std::byte*>(second.data()));
    EXPECT_EQ(second, want[1]);
  }
}

TEST(Executor, MisalignedMemoryIsStaged) {
  const Graph g = small_graph(40);
  Ready ready;
  ASSERT_TRUE(ready
                  .make(testing::plan_of(g), {}, 0,
                        [](const device::KernelArgs& args) {
                          for (int k = 0; k < 2; ++k)
                            EXPECT_EQ(reinterpret_cast<uintptr_t>(args.buffers[k]) % 4, 0u);
                        })
                  .ok());
  const std::vector<float> in = ramp(40, -7);
  std::vector<std::byte> x(41 * 4), y(41 * 4), a(41 * 4);
  for (const size_t shift : {1, 0, 3}) {
    std::memcpy(x.data() + shift, in.data(), 160);
    const void* inputs[] = {x.data() + shift};
    void* outputs[] = {y.data() + shift, a.data() + shift};
    ASSERT_TRUE(Executor::run(*ready.context, inputs, outputs).ok());
    const auto want = testing::expected(g, {in});
    EXPECT_EQ(std::memcmp(y.data() + shift, want[0].data(), 160), 0) << shift;
    EXPECT_EQ(std::memcmp(a.data() + shift, want[1].data(), 160), 0) << shift;
  }
}

TEST(Executor, StagedInputsAreReadAnewInEachRun) {
  Graph g;
  g.outputs = {relu(g, g.add_input(f32({2})))};
  Ready ready;
  ASSERT_TRUE(ready.make(testing::plan_of(g)).ok());
  alignas(4) std::byte memory[12];
  float out[2];
  const void* inputs[] = {memory + 1};
  void* outputs[] = {out};
  for (const float value : {1.0f, 2.0f, 3.0f}) {
    const float in[2] = {value, -value};
    std::memcpy(memory + 1, in, 8);
    ASSERT_TRUE(Executor::run(*ready.context, inputs, outputs).ok());
    EXPECT_EQ(out[0], value);
    EXPECT_EQ(out[1], 0);
  }
}

TEST(Executor, InputsConstantsAndDuplicatesMayBeOutputs) {
  Graph g;
  const ValueId x = g.add_input(f32({3}));
  const ValueId k = constant(g, {7, 8, 9});
  const ValueId y = relu(g, x);
  g.outputs = {x, y, k, y};
  Ready ready;
  ASSERT_TRUE(ready.make(testing::plan_of(g)).ok());
  Floats out(4, std::vector<float>(3, -1));
  ASSERT_TRUE(testing::run(*ready.context, {{-1, 2, 3}}, out).ok());
  EXPECT_EQ(out, (Floats{{-1, 2, 3}, {0, 2, 3}, {7, 8, 9}, {0, 2, 3}}));
  const std::vector<float> in = {4, -5, 6};
  const void* inputs[] = {in.data()};
  void* outputs[] = {nullptr, nullptr, nullptr, nullptr};
  ASSERT_TRUE(Executor::run(*ready.context, inputs, outputs).ok());
  EXPECT_EQ(ready.context->output(0), static_cast<const void*>(in.data()));
  EXPECT_EQ(reinterpret_cast<const float*>(ready.context->output(2))[1], 8);
  EXPECT_EQ(reinterpret_cast<const float*>(ready.context->output(3))[2], 6);
}

TEST(Executor, EmptyTensorsLaunchNothing) {
  Graph g;
  const ValueId x = g.add_input(f32({0}));
  g.outputs = {relu(g, relu(g, x))};
  Ready ready;
  ASSERT_TRUE(
      ready.make(testing::plan_of(g), {}, 0, [](const device::KernelArgs&) { ADD_FAILURE() << "a launch"; })
          .ok());
  const void* inputs[] = {nullptr};
  void* outputs[] = {nullptr};
  EXPECT_TRUE(Executor::run(*ready.context, inputs, outputs).ok());
}

TEST(Executor, WrongBindingsAreRefused) {
  Graph g = small_graph(8);
  Ready ready;
  ASSERT_TRUE(ready.make(testing::plan_of(g)).ok());
  std::vector<float> memory(64);
  const void* in[] = {memory.data(), nullptr};
  void* out[] = {memory.data() + 16, memory.data() + 32};
  const auto message = [&](size_t inputs, size_t outputs) {
    const Status s = Executor::run(*ready.context, {in, inputs}, {out, outputs});
    EXPECT_TRUE(s.ok() || s.error().code == Code::kInvalidArgument);
    return s.ok() ? std::string() : s.error().message;
  };
  EXPECT_EQ(message(1, 2), "");
  EXPECT_EQ(message(2, 2), "run with 2 inputs and 2 outputs, expected 1 and 2");
  EXPECT_EQ(message(1, 1), "run with 1 inputs and 1 outputs, expected 1 and 2");
  in[0] = nullptr;
  EXPECT_EQ(message(1, 2), "input 0 has no memory");
  in[0] = memory.data() + 18;
  for (int repeat = 0; repeat < 2; ++repeat)
    EXPECT_EQ(message(1, 2), "the memory of output 0 overlaps that of input 0");
  in[0] = memory.data();
  out[1] = memory.data() + 23;
  for (int repeat = 0; repeat < 2; ++repeat)
    EXPECT_EQ(message(1, 2), "the memory of output 1 overlaps that of output 0");
  out[1] = memory.data() + 24;
  EXPECT_EQ(message(1, 2), "");
}

TEST(Executor, StopsBetweenKernels) {
  const Graph g = small_graph(100);
  StopSource source;
  int launches = 0;
  Ready ready;
  ASSERT_TRUE(ready
                  .make(testing::plan_of(g), {}, 0,
                        [&](const device::KernelArgs&) {
                          ++launches;
                          source.request_stop();
                        })
                  .ok());
  RunOptions options;
  options.stop = source.token();
  Floats out = {ramp(100), ramp(100)};
  const Status s = testing::run(*ready.context, {ramp(100)}, out, options);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().code, Code::kCancelled);
  EXPECT_EQ(launches, 1);
  EXPECT_TRUE(testing::run(*ready.context, {ramp(100)}, out).ok());
  EXPECT_EQ(out, testing::expected(g, {ramp(100)}));
}

TEST(Executor, BadDataNamesTheNode) {
  Graph g;
  const ValueId data = g.add_input(f32({50257, 1}));
  const ValueId indices = g.add_input({DType::kI64, {graph::Dim(64)}, {}});
  g.outputs = {g.add(graph::Gather{0}, {data, indices}, f32({64, 1}))};
  g.nodes[0].name = "emb";
  g.nodes[0].source_op = "Gather";
  auto plan = testing::plan_of(g);
  loop::Program program;
  program.buffers = {
      {loop::BufferRole::kInput, 0, 0}, {loop::BufferRole::kInput, 1, 0}, {loop::BufferRole::kOutput, 0, 0}};
  loop::Phase phase;
  phase.fn.context = std::make_shared<loop::Context>();
  phase.fn.family = "gather";
  loop::Builder b(phase.fn);
  b.arg(DType::kF32, loop::Access::kRead, b.integer(50257), 4);
  b.arg(DType::kI64, loop::Access::kRead, b.integer(64), 8);
  const loop::Buffer out = b.arg(DType::kF32, loop::Access::kWrite, b.integer(64), 4);
  b.store(out, b.tile(64), b.number(0));
  b.finish();
  phase.args = {0, 1, 2};
  program.phases.push_back(std::move(phase));

  const auto body = [](const device::KernelArgs& args) -> int32_t {
    const auto* in = static_cast<const int64_t*>(args.buffers[1]);
    for (int64_t t = args.first_tile; t < args.last_tile; ++t) {
      if (in[t] >= -50257 && in[t] < 50257) continue;
      args.error[device::kErrorCode] = 1;
      args.error[device::kErrorValue] = in[t];
      args.error[device::kErrorBound] = 50257;
      return 1;
    }
    return 0;
  };
  auto built = std::make_shared<BuiltGroup>();
  built->program = program;
  built->phases = {device::Kernel::from_function(testing::Trampolines::install(body), "frit_gather",
                                                 kernel_shape(program.phases[0].fn))};
  ConstantStore store;
  auto exec_plan = ExecPlan::make({plan, {built}}, store, testing::with_threads(2));
  ASSERT_TRUE(exec_plan.ok()) << exec_plan.error().text();
  auto context = ExecContext::make(*exec_plan);
  ASSERT_TRUE(context.ok());

  auto pool = base::ThreadPool::open();
  base::PoolLease lease = workers(*pool, 2);
  std::vector<float> table(50257);
  std::vector<int64_t> index(64, -50257);
  std::vector<float> result(64);
  const void* inputs[] = {table.data(), index.data()};
  void* outputs[] = {result.data()};
  for (base::PoolLease* with : {static_cast<base::PoolLease*>(nullptr), &lease}) {
    RunOptions options;
    options.workers = with;
    index[10] = 50300;
    index[60] = -60000;
    Status s = Executor::run(**context, inputs, outputs, options);
    ASSERT_FALSE(s.ok());
    EXPECT_EQ(s.error().code, Code::kInvalidArgument);
    EXPECT_EQ(s.error().text(), "Gather \"emb\": index 50300 is out of range [-50257, 50257)");
    index[10] = 3;
    s = Executor::run(**context, inputs, outputs, options);
    ASSERT_FALSE(s.ok());
    EXPECT_EQ(s.error().text(), "Gather \"emb\": index -60000 is out of range [-50257, 50257)");
    index[60] = 3;
    EXPECT_TRUE(Executor::run(**context, inputs, outputs, options).ok());
  }
}

TEST(Executor, TheFirstKernelThatFailsIsReportedWhereSeveralDo) {
  Graph g;
  const ValueId x = g.add_input(f32({64}));
  for (int k = 0; k < 6; ++k) {
    g.outputs.push_back(relu(g, x));
    g.nodes.back().name = "n" + std::to_string(k);
  }
  Ready ready;
  ready.provider->make_body = [](const loop::LoopFn&) {
    return [](const device::KernelArgs& args) {
      args.error[device::kErrorValue] = 5;
      return 3;
    };
  };
  ASSERT_TRUE(ready.make(testing::plan_of(g), testing::with_threads(4), 3).ok());
  EXPECT_EQ(ready.plan->steps().size(), 2u);
  auto pool = base::ThreadPool::open();
  for (const int count : {1, 2, 3, 4}) {
    base::PoolLease lease = workers(*pool, count);
    RunOptions options;
    options.workers = &lease;
    Floats out(6, std::vector<float>(64));
    const Status s = testing::run(*ready.context, {ramp(64)}, out, options);
    ASSERT_FALSE(s.ok());
    EXPECT_EQ(s.error().text(), "unary.relu \"n0\" (ew): value 5 is outside of the operator's domain");
  }
}

// What a denormal number times one gives under the mode of the calling thread.
bool flushes() {
  volatile float tiny = 1e-40f;
  volatile float one = 1.0f;
  return tiny * one == 0.0f;
}

TEST(Executor, DenormalsAreFlushedUnlessStrictAndTheCallersModeComesBack) {
  for (const Numerics numerics : {Numerics::kDefault, Numerics::kStrict}) {
    for (const bool caller : {false, true}) {
      const Graph g = small_graph(1000);
      std::atomic<int> flushed{0}, kept{0};
      Ready ready;
      ExecOptions exec_options;
      exec_options.threads = 2;
      exec_options.numerics = numerics;
      ASSERT_TRUE(ready
                      .make(testing::plan_of(g), exec_options, 0,
                            [&](const device::KernelArgs&) { ++(flushes() ? flushed : kept); })
                      .ok());
      auto pool = base::ThreadPool::open();
      ASSERT_TRUE(pool->reserve(2).ok());
      const device::FlushDenormals mode(caller);
      for (const bool with_hooks : {true, false}) {
        auto lease =
            pool->acquire(2, with_hooks ? worker_hooks(ready.plan->flush_denormals()) : base::ThreadHooks{});
        ASSERT_TRUE(lease.ok());
        RunOptions options;
        options.workers = &*lease;
        Floats out = {ramp(1000), ramp(1000)};
        ASSERT_TRUE(testing::run(*ready.context, {ramp(1000)}, out, options).ok());
        EXPECT_EQ(flushes(), caller);
      }
      EXPECT_EQ(numerics == Numerics::kStrict ? flushed : kept, 0);
      EXPECT_GE(numerics == Numerics::kStrict ? kept : flushed, 6);
    }
  }
}

TEST(Executor, TracesAndTimesKernels) {
  const Graph g = small_graph(10);
  Ready ready;
  fakes::FakeClock clock;
  ASSERT_TRUE(
      ready.make(testing::plan_of(g), {}, 0, [&](const device::KernelArgs&) { clock.advance_ns(1000); })
          .ok());
  base::TraceRecorder trace(clock);
  std::vector<int64_t> kernel_ns(ready.plan->dispatches().size(), 5);
  RunOptions options;
  options.trace = &trace;
  options.kernel_ns = kernel_ns;
  options.clock = &clock;
  Floats out = {ramp(10), ramp(10)};
  ASSERT_TRUE(testing::run(*ready.context, {ramp(10)}, out, options).ok());
  EXPECT_EQ(trace.spans(), 3u);
  EXPECT_NE(trace.json().find("unary.relu (ew)"), std::string::npos);
  EXPECT_EQ(kernel_ns, (std::vector<int64_t>{1005, 1005, 1005}));
  options.trace = nullptr;
  ASSERT_TRUE(testing::run(*ready.context, {ramp(10)}, out, options).ok());
  EXPECT_EQ(kernel_ns, (std::vector<int64_t>{2005, 2005, 2005}));
}

TEST(Executor, SeveralThreadsRunOnePlan) {
  const Graph g = small_graph(500);
  Ready ready;
  ASSERT_TRUE(ready.make(testing::plan_of(g), testing::with_threads(2)).ok());
  ContextPool contexts(ready.plan, 2);
  ASSERT_TRUE(contexts.warm().ok());
  auto pool = base::ThreadPool::open();
  ASSERT_TRUE(pool->reserve(2).ok());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const Floats in = {ramp(500, static_cast<float>(-100 * t))};
      const Floats want = testing::expected(g, in);
      for (int k = 0; k < 50; ++k) {
        auto context = contexts.acquire();
        auto lease = pool->acquire(2, worker_hooks(true));
        RunOptions options;
        options.workers = &*lease;
        Floats out = {ramp(500), ramp(500)};
        if (!context.ok() || !testing::run(**context, in, out, options).ok() || out != want) ++wrong;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ContextPool, IsBoundedAndWaitsAreCancelled) {
  const Graph g = small_graph(10);
  Ready ready;
  ASSERT_TRUE(ready.make(testing::plan_of(g)).ok());
  ContextPool contexts(ready.plan, 1);
  EXPECT_EQ(contexts.size_bytes(), 0);
  StopSource source;
  {
    auto first = contexts.acquire();
    ASSERT_TRUE(first.ok());
    EXPECT_GT(contexts.size_bytes(), 0);
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      source.request_stop();
    });
    auto second = contexts.acquire(source.token());
    stopper.join();
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, Code::kCancelled);
  }
  ExecContext* used = nullptr;
  {
    auto first = contexts.acquire();
    ASSERT_TRUE(first.ok());
    used = &**first;
    std::atomic<bool> got{false};
    std::thread waiter([&] {
      auto second = contexts.acquire();
      got = second.ok() && &**second == used;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(got);
    { auto moved = *std::move(first); }
    waiter.join();
    EXPECT_TRUE(got);
  }
  contexts.trim();
  EXPECT_EQ(contexts.size_bytes(), 0);
  EXPECT_TRUE(contexts.acquire().ok());
}

// Random graphs, in every way of running them: whatever shares memory must not show.
TEST(Executor, RandomGraphsGiveTheEvaluatorsBits) {
  const char* given = std::getenv("FRIT_TEST_SEED");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device()();
  SCOPED_TRACE("FRIT_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  auto pool = base::ThreadPool::open();
  for (int round = 0; round < 100; ++round) {
    const int64_t n = 1 + static_cast<int64_t>(random() % 70);
    Graph g;
    std::vector<ValueId> values;
    const size_t inputs = 1 + random() % 3;
    for (size_t k = 0; k < inputs; ++k) values.push_back(g.add_input(f32({n})));
    values.push_back(constant(g, ramp(static_cast<size_t>(n), -2, 0.25f)));
    const size_t nodes = 1 + random() % 20;
    for (size_t k = 0; k < nodes; ++k) {
      // Mostly recent values, so that there are chains.
      const auto pick = [&] {
        return values[values.size() - 1 - random() % std::min<size_t>(values.size(), random() % 3 ? 3 : 100)];
      };
      switch (random() % 4) {
        case 0:
          values.push_back(relu(g, pick()));
          break;
        case 1:
          values.push_back(g.add(graph::Unary{graph::UnaryOp::kNeg}, {pick()}, f32({n})));
          break;
        case 2:
          values.push_back(add(g, pick(), pick()));
          break;
        default:
          values.push_back(g.add(graph::Binary{graph::BinaryOp::kSub}, {pick(), pick()}, f32({n})));
          break;
      }
    }
    g.outputs = {values.back()};
    for (size_t k = random() % 4; k > 0; --k) g.outputs.push_back(values[random() % values.size()]);
    Floats in;
    for (size_t k = 0; k < inputs; ++k) {
      in.emplace_back();
      for (int64_t i = 0; i < n; ++i)
        in.back().push_back(static_cast<float>(static_cast<int64_t>(random() % 2001) - 1000) / 8);
    }
    const Floats before = in, want = testing::expected(g, in);
    const auto plan = testing::plan_of(g);
    for (const int64_t kind : {0, 3}) {
      const int threads = 1 + static_cast<int>(random() % 3);
      Ready ready;
      const Status made = ready.make(plan, testing::with_threads(threads), kind);
      ASSERT_TRUE(made.ok()) << made.error().text();
      base::PoolLease lease = workers(*pool, threads);
      RunOptions options;
      options.workers = &lease;
      for (int repeat = 0; repeat < 2; ++repeat) {
        Floats out(g.outputs.size(), std::vector<float>(static_cast<size_t>(n), 77));
        const Status s = testing::run(*ready.context, in, out, options);
        ASSERT_TRUE(s.ok()) << s.error().text();
        ASSERT_EQ(out, want) << "round " << round << ", kind " << kind << ", " << threads << " threads";
        ASSERT_EQ(in, before);
      }
    }
  }
}

}  // namespace
}  // namespace frit::exec
