// exec with the real families and machine code: what neither fake kernels nor comparisons of whole networks
// show.
#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <random>
#include <regex>
#include <thread>

#include "base/seams.h"
#include "exec/compile.h"
#include "exec/executor.h"
#include "graph/eval.h"
#include "support/exec_fakes.h"

// What libgcc finds for an address, as declared in its unwind-dw2-fde.h.
struct dwarf_eh_bases {
  void* tbase;
  void* dbase;
  void* func;
};
extern "C" const void* _Unwind_Find_FDE(void* pc, dwarf_eh_bases* bases);

// GDB's view of a process that generates code, as its manual lays it out.
struct GdbCodeEntry {
  GdbCodeEntry *next, *previous;
  const char* bytes;
  uint64_t size;
};
struct GdbDescriptor {
  uint32_t version, action;
  GdbCodeEntry *relevant, *first;
};
extern "C" GdbDescriptor __jit_debug_descriptor;

namespace frit::exec {
namespace {

using graph::Graph;
using graph::HostTensor;
using graph::ValueId;
using testing::f32;

constexpr int64_t kWords = 40, kWidth = 24, kOut = 33;

std::vector<float> noise(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> out(n);
  for (float& x : out) x = static_cast<float>(static_cast<int64_t>(random() % 2001) - 1000) / 1000;
  return out;
}

// softmax-like rows of relu(table[index] * w + bias), and the sums of the rows.
Graph network(int64_t tokens) {
  Graph g;
  const ValueId index = g.add_input({DType::kI64, {graph::Dim(tokens)}, {}});
  const auto weight = [&](std::vector<int64_t> shape, uint64_t seed) {
    size_t n = 1;
    for (const int64_t extent : shape) n *= static_cast<size_t>(extent);
    return g.add_constant(f32(shape), graph::make_constant_of(noise(n, seed)));
  };
  const ValueId x = g.add(graph::Gather{0}, {weight({kWords, kWidth}, 1), index}, f32({tokens, kWidth}));
  g.nodes.back().name = "emb";
  g.nodes.back().source_op = "Gather";
  const ValueId product = g.add(graph::MatMul{}, {x, weight({kWidth, kOut}, 2)}, f32({tokens, kOut}));
  const ValueId biased =
      g.add(graph::Binary{graph::BinaryOp::kAdd}, {product, weight({kOut}, 3)}, f32({tokens, kOut}));
  const ValueId y = g.add(graph::Unary{graph::UnaryOp::kRelu}, {biased}, f32({tokens, kOut}));
  const ValueId sum = g.add(graph::Reduce{graph::ReduceOp::kSum, {1}, true}, {y}, f32({tokens, 1}));
  const ValueId share = g.add(graph::Binary{graph::BinaryOp::kDiv}, {y, sum}, f32({tokens, kOut}));
  g.outputs = {share, sum};
  return g;
}

class MemoryCache final : public ObjectCache {
 public:
  std::optional<std::string> get(const ObjectRequest& request) override {
    const std::lock_guard lock(mutex);
    const auto it = objects.find(request.key);
    return it == objects.end() ? std::nullopt : std::optional(it->second);
  }
  void put(const ObjectRequest& request, std::string_view object, std::string_view) override {
    const std::lock_guard lock(mutex);
    objects[request.key] = std::string(object);
  }
  std::mutex mutex;
  std::map<base::Hash128, std::string> objects;
};

class Compiled : public ::testing::Test {
 protected:
  std::unique_ptr<CodegenProvider> provider(bool with_compiler) {
    CodegenProvider::Options options;
    options.target = target;
    options.cache = &cache;
    if (with_compiler) {
      options.open_library = [] {
        base::SystemEnvironment environment;
        return device::CodegenLibrary::open(FRIT_TEST_CODEGEN, environment);
      };
    }
    return *CodegenProvider::make(std::move(options));
  }

  Result<std::shared_ptr<const ExecPlan>> make(const Graph& graph, KernelProvider& kernels, int threads,
                                               base::PoolLease* workers = nullptr) {
    fusion::FusionOptions fusion_options;
    fusion_options.build = {&target, Numerics::kDefault, threads};
    FRIT_ASSIGN(fusion::Plan plan, fusion::make_plan(graph, fusion_options));
    BuildOptions build;
    build.context = fusion_options.build;
    build.workers = workers;
    FRIT_ASSIGN(const CompiledPlan compiled,
                build_plan(std::make_shared<const fusion::Plan>(std::move(plan)), {}, &kernels, build));
    ExecOptions options;
    options.threads = threads;
    options.workers = workers;
    return ExecPlan::make(compiled, store, options);
  }

  static std::vector<std::vector<float>> run(ExecContext& context, const std::vector<int64_t>& index,
                                             base::PoolLease* workers = nullptr) {
    std::vector<std::vector<float>> out = {std::vector<float>(index.size() * kOut),
                                           std::vector<float>(index.size())};
    const void* inputs[] = {index.data()};
    void* outputs[] = {out[0].data(), out[1].data()};
    RunOptions options;
    options.workers = workers;
    const Status s = Executor::run(context, inputs, outputs, options);
    EXPECT_TRUE(s.ok()) << s.error().text();
    return out;
  }

  static std::vector<int64_t> tokens(int64_t n) {
    std::vector<int64_t> out;
    for (int64_t k = 0; k < n; ++k) out.push_back((k * 7) % kWords - (k % 3 == 0 ? kWords : 0));
    return out;
  }

  device::Target target = device::host_target();
  MemoryCache cache;
  ConstantStore store;
};

TEST_F(Compiled, AgreesWithTheEvaluatorWithoutHostOps) {
  const Graph g = network(50);
  auto kernels = provider(true);
  auto plan = make(g, *kernels, 1);
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  EXPECT_EQ((*plan)->host_kernels(), 0);
  auto context = ExecContext::make(*plan);
  const auto index = tokens(50);
  const auto got = run(**context, index);
  const auto input = HostTensor::of(DType::kI64, {50}, index);
  const auto want = graph::evaluate(g, {&*input, 1});
  ASSERT_TRUE(want.ok());
  for (size_t o = 0; o < 2; ++o) {
    const auto values = (*want)[o].values<float>();
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_NEAR(got[o][i], values[i], 1e-4) << "output " << o << ", element " << i;
  }
}

TEST_F(Compiled, WorkersThreadsAndContextsDoNotChangeABit) {
  auto kernels = provider(true);
  auto pool = base::ThreadPool::open();
  ASSERT_TRUE(pool->reserve(3).ok());
  auto lease = pool->acquire(3);
  auto plan = make(network(50), *kernels, 2, &*lease);
  lease->release();
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  ContextPool contexts(*plan, 2);
  const auto index = tokens(50);
  std::vector<std::vector<float>> first;
  {
    auto context = contexts.acquire();
    first = run(**context, index);
    for (const int workers : {1, 2, 3}) {
      auto some = pool->acquire(workers, worker_hooks(true));
      EXPECT_EQ(run(**context, index, &*some), first) << workers << " workers";
    }
  }
  std::atomic<int> different{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int k = 0; k < 30; ++k) {
        auto context = contexts.acquire();
        auto some = pool->acquire(2, worker_hooks(true));
        different += run(**context, index, &*some) != first;
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(different, 0);
}

TEST_F(Compiled, AWarmProcessNeedsNoCompiler) {
  const Graph g = network(17);
  std::vector<std::vector<float>> cold;
  {
    auto kernels = provider(true);
    auto plan = make(g, *kernels, 1);
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    EXPECT_GT(kernels->counters().compiles, 0);
    EXPECT_EQ(kernels->counters().compiles, kernels->counters().object_loads);
    cold = run(**ExecContext::make(*plan), tokens(17));
  }
  store.trim();
  auto kernels = provider(false);
  auto plan = make(g, *kernels, 1);
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  EXPECT_EQ(kernels->counters().compiles, 0);
  EXPECT_GT(kernels->counters().object_loads, 0);
  EXPECT_GT((*plan)->load_launches(), 0);
  EXPECT_EQ(run(**ExecContext::make(*plan), tokens(17)), cold);

  // Another session of the same model: nothing is packed again.
  auto second = make(g, *kernels, 1);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ((*second)->load_launches(), 0);
}

TEST_F(Compiled, BadIndicesNameTheNode) {
  auto kernels = provider(true);
  auto plan = make(network(50), *kernels, 2);
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  auto context = ExecContext::make(*plan);
  auto index = tokens(50);
  std::vector<float> share(50 * kOut), sum(50);
  const void* inputs[] = {index.data()};
  void* outputs[] = {share.data(), sum.data()};
  for (const int64_t bad : {kWords, -kWords - 1, INT64_MAX, INT64_MIN}) {
    index[31] = bad;
    const Status s = Executor::run(**context, inputs, outputs);
    ASSERT_FALSE(s.ok()) << bad;
    EXPECT_EQ(s.error().code, Code::kInvalidArgument);
    EXPECT_EQ(s.error().text(),
              "Gather \"emb\": index " + std::to_string(bad) + " is out of range [-40, 40)");
  }
  index[31] = -kWords;
  EXPECT_TRUE(Executor::run(**context, inputs, outputs).ok());
}

TEST_F(Compiled, MisalignedMemoryGivesTheSameBits) {
  auto kernels = provider(true);
  auto plan = make(network(9), *kernels, 1);
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  auto context = ExecContext::make(*plan);
  const auto index = tokens(9);
  const auto want = run(**context, index);
  std::vector<std::byte> in(9 * 8 + 8), out(9 * kOut * 4 + 8), sum(9 * 4 + 8);
  std::memcpy(in.data() + 3, index.data(), 72);
  const void* inputs[] = {in.data() + 3};
  void* outputs[] = {out.data() + 1, sum.data() + 2};
  ASSERT_TRUE(Executor::run(**context, inputs, outputs).ok());
  EXPECT_EQ(std::memcmp(out.data() + 1, want[0].data(), want[0].size() * 4), 0);
  EXPECT_EQ(std::memcmp(sum.data() + 2, want[1].data(), want[1].size() * 4), 0);
}

// Whatever the families emit can be named, walked through and looked at.
TEST_F(Compiled, DebuggersProfilersAndUnwindersKnowEveryKernel) {
  const std::string folder = ::testing::TempDir() + "frit_kernels_" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  std::vector<std::shared_ptr<const device::Kernel>> kernels;
  {
    CodegenProvider::Options options;
    options.target = target;
    options.loader.gdb = true;
    options.loader.perf_dump_folder = folder;
    options.open_library = [] {
      base::SystemEnvironment environment;
      return device::CodegenLibrary::open(FRIT_TEST_CODEGEN, environment);
    };
    auto provider = CodegenProvider::make(std::move(options)).value_or_throw();
    fusion::FusionOptions fusion_options;
    fusion_options.build = {&target, Numerics::kDefault, 1};
    const auto plan =
        std::make_shared<const fusion::Plan>(fusion::make_plan(network(50), fusion_options).value_or_throw());
    BuildOptions build;
    build.context = fusion_options.build;
    const CompiledPlan compiled = build_plan(plan, {}, provider.get(), build).value_or_throw();
    for (const auto& group : compiled.groups) {
      ASSERT_TRUE(group);
      for (const auto& list : {group->prepare, group->phases})
        kernels.insert(kernels.end(), list.begin(), list.end());
    }
  }
  ASSERT_GE(kernels.size(), 3u);
  std::ifstream file(folder + "/jit-" + std::to_string(getpid()) + ".dump", std::ios::binary);
  const std::string dump((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::string debugger;
  for (const GdbCodeEntry* e = __jit_debug_descriptor.first; e; e = e->next)
    debugger.append(e->bytes, e->size);
  for (const auto& kernel : kernels) {
    const std::string& name = kernel->name();
    EXPECT_TRUE(std::regex_match(name, std::regex("frit_[a-z][a-z0-9_]*_[0-9a-f]{16}"))) << name;
    EXPECT_NE(dump.find(name), std::string::npos) << name;
    EXPECT_NE(debugger.find(name), std::string::npos) << name;
    // From anywhere inside the function, not just where it begins.
    char* const place = reinterpret_cast<char*>(kernel->entry());
    size_t bytes = 0;
    for (const auto& symbol : kernel->object()->symbols())
      if (symbol.name == name) bytes = symbol.size_bytes;
    ASSERT_GT(bytes, 16u) << name;
    for (const size_t at : {size_t{1}, bytes / 2, bytes - 1}) {
      dwarf_eh_bases bases{};
      ASSERT_NE(_Unwind_Find_FDE(place + at, &bases), nullptr) << name;
      EXPECT_EQ(bases.func, place) << name;
    }
  }
  kernels.clear();
  EXPECT_EQ(__jit_debug_descriptor.first, nullptr);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace frit::exec
