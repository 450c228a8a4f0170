#include "exec/constants.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "loop/verify.h"
#include "support/exec_run.h"

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

// x + w, where w is doubled by a prepare phase first: y = x + 2w. With `weight` as input 1 of each sum.
struct Packing {
  std::atomic<int> packs{0};
  CompiledPlan compiled;

  void make(std::shared_ptr<const fusion::Plan> plan) {
    compiled.plan = plan;
    for (const fusion::PlanGroup& group : plan->groups) compiled.groups.push_back(built(group));
  }

  std::shared_ptr<const BuiltGroup> built(const fusion::PlanGroup& group) {
    auto out = std::make_shared<BuiltGroup>();
    out->program = *testing::elementwise_program(group.group);
    loop::Program& p = out->program;
    const int64_t n = testing::elements_of(p.phases[0].fn.buffers[0]);
    loop::Phase pack;
    pack.fn =
        testing::elementwise_fn("add", n, {loop::Access::kRead, loop::Access::kRead, loop::Access::kWrite});
    p.buffers.push_back({loop::BufferRole::kPrepared, 0, n * 4});
    const auto prepared = static_cast<int32_t>(p.buffers.size() - 1);
    pack.args = {1, 1, prepared};
    p.phases[0].args[1] = prepared;
    out->prepare = {kernel(pack.fn, [this](const device::KernelArgs& a) { packs += a.first_tile == 0; })};
    p.prepare.push_back(std::move(pack));
    out->phases = {kernel(p.phases[0].fn, {})};
    EXPECT_TRUE(loop::verify(p).ok());
    return out;
  }

  static std::shared_ptr<const device::Kernel> kernel(const loop::LoopFn& fn, testing::LaunchHook hook) {
    return device::Kernel::from_function(
        testing::Trampolines::install(testing::elementwise_body(fn, std::move(hook))), "frit_k",
        kernel_shape(fn));
  }
};

std::shared_ptr<fusion::Plan> sums(const std::vector<std::vector<float>>& weights,
                                   const std::vector<int>& uses) {
  Graph g;
  std::vector<ValueId> ws;
  for (const auto& w : weights) ws.push_back(constant(g, w));
  const ValueId x = g.add_input(f32({static_cast<int64_t>(weights[0].size())}));
  for (const int u : uses) g.outputs.push_back(add(g, x, ws[static_cast<size_t>(u)]));
  return testing::plan_of(g);
}

void run_sums(const std::shared_ptr<const ExecPlan>& plan, const std::vector<std::vector<float>>& weights,
              const std::vector<int>& uses) {
  const size_t n = weights[0].size();
  auto context = ExecContext::make(plan);
  ASSERT_TRUE(context.ok());
  Floats out(uses.size(), std::vector<float>(n));
  ASSERT_TRUE(testing::run(**context, {ramp(n)}, out).ok());
  for (size_t k = 0; k < uses.size(); ++k) {
    for (size_t i = 0; i < n; ++i)
      EXPECT_EQ(out[k][i], static_cast<float>(i) + 2 * weights[static_cast<size_t>(uses[k])][i]);
  }
}

TEST(Constants, EqualPackingOfOneConstantHappensOnce) {
  const std::vector<std::vector<float>> weights = {ramp(100, 5), ramp(100, 9), ramp(100, 5)};
  const std::vector<int> uses = {0, 0, 1, 2};
  Packing packing;
  packing.make(sums(weights, uses));
  ConstantStore store;
  auto plan = ExecPlan::make(packing.compiled, store, {});
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  // Constants 0 and 2 have the same contents.
  EXPECT_EQ(packing.packs, 2);
  EXPECT_EQ((*plan)->load_launches(), 2);
  run_sums(*plan, weights, uses);
  EXPECT_EQ((*plan)->original_constant_bytes(), 0);

  // Another plan of the same model finds everything.
  Packing again;
  again.make(sums(weights, {1, 2}));
  auto second = ExecPlan::make(again.compiled, store, {});
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(again.packs, 0);
  run_sums(*second, weights, {1, 2});

  const int64_t both = store.size_bytes();
  second = make_error(Code::kCancelled, "dropped");
  plan = make_error(Code::kCancelled, "dropped");
  EXPECT_EQ(store.size_bytes(), both);  // pinned for the model's life
  store.trim();
  EXPECT_EQ(store.size_bytes(), 0);
}

TEST(Constants, PackingIsSplitOverWorkers) {
  const std::vector<std::vector<float>> weights = {ramp(10'000, 5)};
  Packing packing;
  packing.make(sums(weights, {0}));
  auto pool = base::ThreadPool::open();
  ASSERT_TRUE(pool->reserve(3).ok());
  auto lease = pool->acquire(3);
  ASSERT_TRUE(lease.ok());
  ConstantStore store;
  ExecOptions options;
  options.workers = &*lease;
  auto plan = ExecPlan::make(packing.compiled, store, options);
  ASSERT_TRUE(plan.ok());
  run_sums(*plan, weights, {0});
}

TEST(Constants, TwoThreadsThatPackAtOnceShareTheResult) {
  const std::vector<std::vector<float>> weights = {ramp(1000, 5)};
  Packing packing;
  packing.make(sums(weights, {0}));
  ConstantStore store;
  std::vector<std::shared_ptr<const ExecPlan>> plans(4);
  std::vector<std::thread> threads;
  for (auto& plan : plans) {
    threads.emplace_back([&] {
      auto made = ExecPlan::make(packing.compiled, store, {});
      if (made.ok()) plan = *made;
    });
  }
  for (auto& t : threads) t.join();
  for (const auto& plan : plans) {
    ASSERT_NE(plan, nullptr);
    run_sums(plan, weights, {0});
  }
  Packing once;
  once.make(sums(weights, {0}));
  ConstantStore fresh;
  ASSERT_TRUE(ExecPlan::make(once.compiled, fresh, {}).ok());
  EXPECT_EQ(store.size_bytes(), fresh.size_bytes());
}

// A constant that is bytes [1, ...) of an array, as in a mapped file.
ValueId unaligned_constant(Graph& g, const std::vector<float>& values, size_t shift, size_t cut = 0) {
  auto memory = std::make_shared<std::vector<std::byte>>(values.size() * 4 + shift + 16);
  std::byte* base = memory->data();
  while (reinterpret_cast<uintptr_t>(base) % 4 != 0) ++base;
  std::memcpy(base + shift, values.data(), values.size() * 4);
  auto data = std::make_shared<graph::ConstantData>();
  data->bytes = base + shift;
  data->size_bytes = values.size() * 4 - cut;
  data->owner = memory;
  data->name = "w";
  return g.add_constant(f32({static_cast<int64_t>(values.size())}), data);
}

TEST(Constants, AlignedOnesAreReadInPlaceAndOthersAreCopied) {
  for (const size_t shift : {0, 1, 2, 4}) {
    Graph g;
    const ValueId x = g.add_input(f32({5}));
    const ValueId w = unaligned_constant(g, {1, 2, 3, 4, 5}, shift);
    g.outputs = {add(g, x, w)};
    const std::byte* original = g.value(w).constant->bytes;
    Ready ready;
    const std::byte* seen = nullptr;
    ASSERT_TRUE(ready
                    .make(testing::plan_of(g), {}, 0,
                          [&](const device::KernelArgs& args) {
                            seen = static_cast<const std::byte*>(args.buffers[1]);
                          })
                    .ok());
    Floats out = {ramp(5)};
    ASSERT_TRUE(testing::run(*ready.context, {ramp(5)}, out).ok());
    EXPECT_EQ(out[0], (std::vector<float>{1, 3, 5, 7, 9}));
    EXPECT_EQ(seen == original, shift % 4 == 0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(seen) % 4, 0u);
    EXPECT_EQ(ready.plan->original_constant_bytes(), shift % 4 == 0 ? 20 : 0);
  }
}

TEST(Constants, AConstantThatIsReadPastItsEndIsCopied) {
  Graph g;
  const ValueId x = g.add_input(f32({5}));
  g.outputs = {add(g, x, constant(g, ramp(5, 1)))};
  Ready ready;
  ASSERT_TRUE(ready.make(testing::plan_of(g)).ok());
  auto group = std::make_shared<BuiltGroup>(*ready.compiled.groups[0]);
  group->program.phases[0].fn.buffers[1].over_read = true;
  ready.compiled.groups[0] = group;
  auto plan = ExecPlan::make(ready.compiled, ready.store, {});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ((*plan)->original_constant_bytes(), 0);
}

TEST(Constants, ShortOnesAreABadModel) {
  Graph g;
  const ValueId x = g.add_input(f32({5}));
  g.outputs = {add(g, x, unaligned_constant(g, {1, 2, 3, 4, 5}, 0, 1))};
  Ready ready;
  const Status s = ready.make(testing::plan_of(g));
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().code, Code::kBadModel);
  EXPECT_EQ(s.error().message, "constant \"w\" has 19 bytes, expected 20");
}

// y = x + relu(relu(c) + relu(d)): three groups run at load.
Graph load_time_graph() {
  Graph g;
  const ValueId c = constant(g, ramp(50, -20)), d = constant(g, ramp(50, 3));
  const ValueId folded = relu(g, add(g, relu(g, c), relu(g, d)));
  const ValueId x = g.add_input(f32({50}));
  g.outputs = {add(g, x, folded), folded};
  return g;
}

TEST(Constants, GroupsOfConstantsRunOncePerModel) {
  const Graph g = load_time_graph();
  const auto plan = testing::plan_of(g);
  Ready ready;
  std::atomic<int> launches{0};
  ASSERT_TRUE(ready.make(plan, {}, 0, [&](const device::KernelArgs&) { ++launches; }).ok());
  EXPECT_EQ(launches, 4);
  EXPECT_EQ(ready.plan->kernels(), 1);
  Floats out = {ramp(50), ramp(50)};
  ASSERT_TRUE(testing::run(*ready.context, {ramp(50)}, out).ok());
  EXPECT_EQ(out, testing::expected(g, {ramp(50)}));
  EXPECT_EQ(launches, 5);
  // Only the last result is kept.
  EXPECT_EQ(ready.store.size_bytes(), (200 + kOverReadBytes + 63) / 64 * 64);

  auto again = ExecPlan::make(ready.compiled, ready.store, {});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(launches, 5);
  EXPECT_EQ((*again)->load_launches(), 0);
}

TEST(Constants, HostOpsRunAtLoadToo) {
  const Graph g = load_time_graph();
  auto plan = testing::plan_of(g);
  plan->groups[1].family.clear();
  plan->groups[2].family.clear();
  Ready ready;
  ASSERT_TRUE(ready.make(plan).ok());
  EXPECT_EQ(ready.plan->host_kernels(), 0);  // none in a run
  Floats out = {ramp(50), ramp(50)};
  ASSERT_TRUE(testing::run(*ready.context, {ramp(50)}, out).ok());
  EXPECT_EQ(out, testing::expected(g, {ramp(50)}));
}

TEST(Constants, BadDataAtLoadIsAnErrorThatNamesTheGroup) {
  Ready ready;
  ready.provider->make_body = [](const loop::LoopFn&) {
    return [](const device::KernelArgs& args) {
      args.error[device::kErrorValue] = 4;
      return 3;
    };
  };
  const Status s = ready.make(testing::plan_of(load_time_graph()));
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().code, Code::kInvalidArgument);
  EXPECT_NE(s.error().text().find("unary.relu (ew): value 4"), std::string::npos) << s.error().text();
}

TEST(Constants, StopsOnRequest) {
  StopSource source;
  source.request_stop();
  ExecOptions options;
  options.stop = source.token();
  Ready ready;
  const Status s = ready.make(testing::plan_of(load_time_graph()), options);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().code, Code::kCancelled);
}

TEST(Constants, AGroupMarkedLoadTimeThatReadsAnInputIsRefused) {
  Graph g;
  g.outputs = {relu(g, g.add_input(f32({5})))};
  auto plan = testing::plan_of(g);
  plan->groups[0].load_time = true;
  Ready ready;
  const Status s = ready.make(plan);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().code, Code::kInternal);
}

}  // namespace
}  // namespace frit::exec
