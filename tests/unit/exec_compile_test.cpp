#include "exec/compile.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "base/seams.h"
#include "loop/text.h"
#include "support/exec_fakes.h"

namespace frit::exec {
namespace {

using testing::elementwise_fn;

std::string object_file(const std::string& name) {
  base::SystemFileSystem files;
  auto bytes = files.read(std::string(FRIT_TEST_OBJECTS) + "/host/" + name + ".o");
  EXPECT_TRUE(bytes.ok());
  return bytes.ok() ? *bytes : std::string();
}

// A compiler whose object depends on the function's name only.
std::atomic<int> g_compiles{0};

int32_t compile(const FritCodegenRequest* request, FritCodegenSink output, void* output_context,
                FritCodegenSink error, void* error_context) {
  ++g_compiles;
  const std::string text(request->program, request->program_size);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // so that others come to wait
  const auto refuse = [&](int32_t status) {
    error(error_context, "no code", 7);
    return status;
  };
  if (text.find("ew_unsupported") != std::string::npos) return refuse(kFritCodegenUnsupported);
  if (text.find("ew_failed") != std::string::npos) return refuse(kFritCodegenFailed);
  const std::string object = object_file(text.find("ew_two") != std::string::npos ? "kernel" : "single");
  output(output_context, object.data(), object.size());
  return kFritCodegenOk;
}

const char* version() { return "fake 7"; }
const FritCodegenApi kApi = {sizeof(FritCodegenApi), device::kCodegenApiVersion, device::kKernelAbiVersion,
                             version, compile};

class MemoryCache final : public ObjectCache {
 public:
  std::optional<std::string> get(const ObjectRequest& request) override {
    const std::lock_guard lock(mutex);
    ++gets;
    const auto it = objects.find(request.key);
    if (it == objects.end()) return std::nullopt;
    return it->second;
  }
  void put(const ObjectRequest& request, std::string_view object, std::string_view compiler) override {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(compiler, "fake 7");
    EXPECT_EQ(request.key, binary_key(request.program, request.flags, *request.target));
    objects[request.key] = std::string(object);
  }

  std::mutex mutex;
  std::map<base::Hash128, std::string> objects;
  int gets = 0;
};

class Compile : public ::testing::Test {
 protected:
  void SetUp() override { g_compiles = 0; }

  std::unique_ptr<CodegenProvider> provider(bool with_compiler = true) {
    CodegenProvider::Options options;
    options.target = *device::parse_target("cpu");
    options.cache = &cache;
    if (with_compiler) {
      options.open_library = [this] {
        ++opened;
        return device::CodegenLibrary::from_table(&kApi, "fake");
      };
    }
    auto made = CodegenProvider::make(std::move(options));
    EXPECT_TRUE(made.ok());
    return *std::move(made);
  }

  static loop::LoopFn fn(const std::string& op, int64_t n = 16) {
    return elementwise_fn(op, n, {loop::Access::kRead, loop::Access::kWrite});
  }

  MemoryCache cache;
  std::atomic<int> opened{0};
};

TEST_F(Compile, OncePerProcessAndThenFromTheCache) {
  {
    auto p = provider();
    auto kernel = p->kernel(fn("copy", 100));
    ASSERT_TRUE(kernel.ok()) << kernel.error().text();
    EXPECT_EQ((*kernel)->shape().buffers, 2);
    EXPECT_EQ((*kernel)->shape().tiles, 7);
    EXPECT_EQ((*kernel)->name(), "frit_test_single");
    device::KernelArgs args{};
    args.first_tile = 2;
    EXPECT_EQ((*kernel)->entry()(&args), 3);
    EXPECT_EQ(*p->kernel(fn("copy", 100)), *kernel);
    EXPECT_NE(*p->kernel(fn("copy", 101)), *kernel);
    EXPECT_EQ(p->counters().compiles, 2);
    EXPECT_EQ(p->counters().object_loads, 2);
    EXPECT_EQ(opened, 1);
  }
  auto p = provider(false);
  auto kernel = p->kernel(fn("copy", 100));
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  EXPECT_EQ(p->counters().compiles, 0);
  EXPECT_EQ(p->counters().object_loads, 1);
  EXPECT_EQ(g_compiles, 2);
}

TEST_F(Compile, AKernelThatNobodyHoldsIsLoadedAgain) {
  auto p = provider();
  ASSERT_TRUE(p->kernel(fn("copy")).ok());
  ASSERT_TRUE(p->kernel(fn("copy")).ok());
  EXPECT_EQ(p->counters().compiles, 1);
  EXPECT_EQ(p->counters().object_loads, 2);
}

TEST_F(Compile, ThreadsThatAskAtOnceShareOneCompile) {
  auto p = provider();
  std::vector<std::shared_ptr<const device::Kernel>> kernels(8);
  std::vector<std::thread> threads;
  for (size_t k = 0; k < kernels.size(); ++k) {
    threads.emplace_back([&, k] {
      auto made = p->kernel(fn("copy", k % 2 ? 16 : 32));
      if (made.ok()) kernels[k] = *made;
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(g_compiles, 2);
  EXPECT_EQ(opened, 1);
  for (size_t k = 0; k < kernels.size(); ++k) {
    ASSERT_NE(kernels[k], nullptr);
    EXPECT_EQ(kernels[k], kernels[k % 2]);
  }
}

TEST_F(Compile, ManyKernelsThatCameAndWentLeaveNothing) {
  auto p = provider(false);
  const std::string got = object_file("single");
  const device::Target target = *device::parse_target("cpu");
  for (int64_t n = 1; n <= 700; ++n) {
    cache.objects[binary_key(loop::print(fn("copy", n)), "emit=object", target)] = got;
    ASSERT_TRUE(p->kernel(fn("copy", n)).ok());
  }
  EXPECT_EQ(p->counters().object_loads, 700);
}

TEST_F(Compile, ACorruptObjectIsCompiledAnew) {
  auto p = provider();
  ASSERT_TRUE(p->kernel(fn("copy")).ok());
  for (auto& [key, object] : cache.objects) object.resize(object.size() / 2);
  auto again = provider();
  ASSERT_TRUE(again->kernel(fn("copy")).ok());
  EXPECT_EQ(again->counters().compiles, 1);
  EXPECT_EQ(cache.objects.begin()->second, object_file("single"));
  for (auto& [key, object] : cache.objects) object.clear();
  auto without = provider(false)->kernel(fn("copy"));
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.error().code, Code::kNotFound);
}

TEST_F(Compile, FailuresKeepTheirKind) {
  auto p = provider();
  EXPECT_EQ(p->kernel(fn("unsupported")).error().code, Code::kUnsupported);
  EXPECT_EQ(p->kernel(fn("failed")).error().code, Code::kInternal);
  auto two = p->kernel(fn("two"));
  ASSERT_FALSE(two.ok());
  EXPECT_EQ(two.error().code, Code::kCorrupt);
  EXPECT_NE(two.error().message.find("expected one kernel"), std::string::npos);
  EXPECT_TRUE(cache.objects.empty());
  EXPECT_EQ(p->counters().compiles, 1);
  auto none = provider(false)->kernel(fn("copy"));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, Code::kNotFound);
}

TEST_F(Compile, TheKeyHasEveryIngredient) {
  const device::Target v3 = *device::parse_target("cpu:x86-64-v3"),
                       v4 = *device::parse_target("cpu:x86-64-v4");
  const base::Hash128 key = binary_key("text", "flags", v3);
  EXPECT_EQ(binary_key("text", "flags", v3), key);
  EXPECT_NE(binary_key("texu", "flags", v3), key);
  EXPECT_NE(binary_key("text", "flagt", v3), key);
  EXPECT_NE(binary_key("text", "flags", v4), key);
  EXPECT_NE(binary_key("textf", "lags", v3), key);
  device::Target elsewhere = v3;
  elsewhere.vendor = "Other";
  elsewhere.family = 6;
  elsewhere.caches.l2_bytes = 1;
  EXPECT_EQ(binary_key("text", "flags", elsewhere), key);  // objects depend on features only
}

}  // namespace
}  // namespace frit::exec
