#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "device/object_loader.h"
#include "unit/device_objects.h"

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

namespace frit::device {
namespace {

ObjectLoader make_loader(const LoaderOptions& options = {}) {
  Result<ObjectLoader> loader = ObjectLoader::make(options);
  EXPECT_TRUE(loader.ok());
  return *std::move(loader);
}

std::shared_ptr<const LoadedObject> load(const ObjectLoader& loader, const std::string& name) {
  Result<std::shared_ptr<const LoadedObject>> loaded = loader.load(read_object("host", name));
  if (!loaded.ok()) ADD_FAILURE() << loaded.error().text();
  return loaded.ok() ? *loaded : nullptr;
}

KernelEntry entry(const LoadedObject& object, const char* name) {
  return reinterpret_cast<KernelEntry>(const_cast<void*>(object.symbol(name)));
}

// Empty when the kernel of objects/kernel.c computes what it should, over several splits of its tiles.
std::string check_kernel(const LoadedObject& object) {
  constexpr int64_t kCount = 103;
  std::vector<float> x(kCount), y(kCount, -1);
  for (int64_t i = 0; i < kCount; ++i) x[i] = static_cast<float>(i) * 0.25f - 3;
  void* buffers[] = {x.data(), y.data()};
  int64_t error[kErrorWords] = {-7, -7, -7};
  for (const char* name : {"frit_test_kernel", "frit_test_forward"}) {
    const KernelEntry kernel = entry(object, name);
    if (!kernel) return std::string("no symbol ") + name;
    std::fill(y.begin(), y.end(), -1.0f);
    for (auto [first, last] : {std::pair<int64_t, int64_t>{50, kCount}, {0, 7}, {7, 7}, {7, 50}}) {
      KernelArgs args{buffers, nullptr, first, last, nullptr, error};
      if (kernel(&args) != 0) return "the kernel failed";
    }
    for (int64_t i = 0; i < kCount; ++i) {
      if (y[i] != expected_element(x[i], i)) {
        return "element " + std::to_string(i) + " is " + std::to_string(y[i]) + ", expected " +
               std::to_string(expected_element(x[i], i));
      }
    }
  }
  if (error[kErrorCode] != -7) return "error words were written";
  return "";
}

TEST(ObjectLoader, LoadsAndRuns) {
  const ObjectLoader loader = make_loader();
  const auto object = load(loader, "kernel");
  ASSERT_TRUE(object);
  EXPECT_EQ(check_kernel(*object), "");
  const KernelEntry choose = entry(*object, "frit_test_choose");
  ASSERT_TRUE(choose);
  for (int64_t which = 0; which < 9; ++which) {
    KernelArgs args{nullptr, nullptr, which, 13, nullptr, nullptr};
    EXPECT_EQ(choose(&args), expected_choice(which, 13)) << which;
  }
  EXPECT_EQ(object->symbol("frit_test_kerne"), nullptr);
  EXPECT_EQ(object->symbol("frit_test_kernel2"), nullptr);
  EXPECT_EQ(object->symbol(""), nullptr);
  EXPECT_EQ(object->symbol("weight"), nullptr) << "local symbols stay inside";
}

TEST(ObjectLoader, ErrorWordsComeBack) {
  const ObjectLoader loader = make_loader();
  const auto object = load(loader, "kernel");
  ASSERT_TRUE(object);
  float x[3] = {1, std::numeric_limits<float>::quiet_NaN(), 2}, y[3] = {};
  void* buffers[] = {x, y};
  int64_t error[kErrorWords] = {};
  const KernelArgs args{buffers, nullptr, 0, 3, nullptr, error};
  EXPECT_EQ(entry(*object, "frit_test_kernel")(&args), 3);
  EXPECT_EQ(error[kErrorCode], 3);
  EXPECT_EQ(error[kErrorValue], 1);
}

TEST(ObjectLoader, ObjectsOutliveTheLoader) {
  std::shared_ptr<const LoadedObject> object;
  {
    const ObjectLoader loader = make_loader();
    object = load(loader, "kernel");
  }
  ASSERT_TRUE(object);
  EXPECT_EQ(check_kernel(*object), "");
}

TEST(ObjectLoader, NothingIsWritableAndExecutable) {
  const ObjectLoader loader = make_loader();
  const auto object = load(loader, "kernel");
  ASSERT_TRUE(object);
  const auto address = reinterpret_cast<uintptr_t>(object->symbol("frit_test_kernel"));
  std::ifstream maps("/proc/self/maps");
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    char mode[5] = {};
    ASSERT_EQ(std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, mode), 3);
    EXPECT_FALSE(mode[1] == 'w' && mode[2] == 'x') << line;
    if (address >= begin && address < end) {
      found = true;
      EXPECT_STREQ(mode, "r-xp") << line;
    }
  }
  EXPECT_TRUE(found);
}

TEST(ObjectLoader, MemoryIsSharedAndReused) {
  const ObjectLoader loader = make_loader();
  const std::vector<std::byte> bytes = read_object("host", "kernel");
  std::vector<std::shared_ptr<const LoadedObject>> objects;
  for (int i = 0; i < 200; ++i) {
    auto loaded = loader.load(bytes);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    objects.push_back(*loaded);
  }
  const ExecutableMemory::Stats full = loader.memory_stats();
  EXPECT_EQ(full.chunks, 1u) << "200 kernels of one page fit one mapping";
  EXPECT_GE(full.used_bytes, 200 * objects[0]->image().size());
  for (size_t i = 0; i < objects.size(); i += 17) EXPECT_EQ(check_kernel(*objects[i]), "") << i;

  // Free every other one, then the rest of the first half: holes of all kinds, and neighbours survive.
  for (size_t i = 0; i < objects.size(); i += 2) objects[i].reset();
  for (size_t i = 1; i < objects.size(); i += 34) EXPECT_EQ(check_kernel(*objects[i]), "") << i;
  for (size_t i = 1; i < 100; i += 2) objects[i].reset();
  for (int round = 0; round < 3; ++round) {
    for (auto& object : objects) {
      if (object) continue;
      auto loaded = loader.load(bytes);
      ASSERT_TRUE(loaded.ok());
      object = *loaded;
    }
    EXPECT_EQ(loader.memory_stats().chunks, 1u);
    EXPECT_EQ(loader.memory_stats().used_bytes, full.used_bytes);
    for (size_t i = 0; i < objects.size(); i += 13) EXPECT_EQ(check_kernel(*objects[i]), "") << i;
    for (size_t i = static_cast<size_t>(round); i < objects.size(); i += 3) objects[i].reset();
  }
  objects.clear();
  EXPECT_EQ(loader.memory_stats().used_bytes, 0u);
}

TEST(ObjectLoader, LoadsFromManyThreads) {
  const ObjectLoader loader = make_loader();
  const std::vector<std::byte> bytes = read_object("host", "kernel");
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      std::vector<std::shared_ptr<const LoadedObject>> mine;
      for (int i = 0; i < 100; ++i) {
        auto loaded = loader.load(bytes);
        if (!loaded.ok() || !check_kernel(**loaded).empty()) ++wrong;
        if (loaded.ok()) mine.push_back(*loaded);
        if (i % 3 == 2) mine.erase(mine.begin());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(loader.memory_stats().used_bytes, 0u);
}

// ---- unwinding

void throw_seven() { throw std::runtime_error("seven"); }

TEST(ObjectLoader, ExceptionsPassThroughAKernel) {
  const ObjectLoader loader = make_loader();
  const auto object = load(loader, "callback");
  ASSERT_TRUE(object);
  void* buffers[] = {reinterpret_cast<void*>(&throw_seven)};
  const KernelArgs args{buffers, nullptr, 2, 5, nullptr, nullptr};
  bool caught = false;
  try {
    entry(*object, "frit_test_callback")(&args);
  } catch (const std::runtime_error& error) {
    caught = std::string(error.what()) == "seven";
  }
  EXPECT_TRUE(caught);
}

TEST(ObjectLoader, UnwindTablesComeAndGo) {
  const ObjectLoader loader = make_loader();
  dwarf_eh_bases bases{};
  auto object = load(loader, "kernel");
  ASSERT_TRUE(object);
  std::vector<char*> places;
  for (const char* name : {"frit_test_kernel", "frit_test_choose", "frit_test_constants"}) {
    places.push_back(static_cast<char*>(const_cast<void*>(object->symbol(name))));
  }
  for (char* place : places) {
    ASSERT_NE(_Unwind_Find_FDE(place + 1, &bases), nullptr);
    EXPECT_EQ(bases.func, place);
  }
  object.reset();
  for (char* place : places) EXPECT_EQ(_Unwind_Find_FDE(place + 1, &bases), nullptr);

  LoaderOptions options;
  options.unwind = false;
  const ObjectLoader silent = make_loader(options);
  object = load(silent, "kernel");
  ASSERT_TRUE(object);
  char* place = static_cast<char*>(const_cast<void*>(object->symbol("frit_test_kernel")));
  EXPECT_EQ(_Unwind_Find_FDE(place + 1, &bases), nullptr);
}

// ---- what is refused

TEST(ObjectLoader, RefusesWhatAKernelMustNotHave) {
  struct Case {
    const char* object;
    Code code;
    const char* fragment;
  };
  const Case cases[] = {
      {"external", Code::kUnsupported, "object: undefined symbol \"expf\""},
      {"writable", Code::kUnsupported, "is writable, kernels hold no state"},
      {"zeroed", Code::kUnsupported, "is writable, kernels hold no state"},
      {"thread_local", Code::kUnsupported, "is thread local"},
#if defined(__x86_64__)
      {"got", Code::kUnsupported, "undefined symbol \"_GLOBAL_OFFSET_TABLE_\""},
#else
      {"got", Code::kUnsupported, "needs a global offset table"},
#endif
      {"constructor", Code::kUnsupported, "section \".init_array\""},
      {"empty", Code::kUnsupported, "no code"},
  };
  const ObjectLoader loader = make_loader();
  for (const Case& c : cases) {
    const std::vector<std::byte> bytes = read_object("host", c.object);
    const auto loaded = loader.load(bytes);
    ASSERT_FALSE(loaded.ok()) << c.object;
    EXPECT_EQ(loaded.error().code, c.code) << c.object;
    EXPECT_NE(loaded.error().text().find(c.fragment), std::string::npos) << loaded.error().text();
    const Status checked = check_object(bytes);
    ASSERT_FALSE(checked.ok()) << c.object;
    EXPECT_EQ(checked.error().text(), loaded.error().text()) << c.object;
  }
  EXPECT_EQ(loader.memory_stats().used_bytes, 0u) << "what is refused leaves nothing behind";
  for (const char* good : {"kernel", "callback"})
    EXPECT_TRUE(check_object(read_object("host", good)).ok()) << good;
}

#if defined(FRIT_TEST_AARCH64_OBJECTS) && defined(__x86_64__)
TEST(ObjectLoader, RefusesTheOtherArchitecture) {
  const ObjectLoader loader = make_loader();
  const auto loaded = loader.load(read_object("aarch64", "kernel"));
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, Code::kDevice);
  EXPECT_EQ(loaded.error().message, "object: is for aarch64, this machine is x86_64");
  EXPECT_TRUE(check_object(read_object("aarch64", "kernel")).ok());
  const Status external = check_object(read_object("aarch64", "external"));
  ASSERT_FALSE(external.ok());
  EXPECT_EQ(external.error().message, "object: undefined symbol \"expf\"");
  const Status got = check_object(read_object("aarch64", "got"));
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().text(),
            "object: section \".text.frit_test_got\" + 4: relocation against \"frit_test_constant\": type 311 needs a "
            "global offset table");
}
#endif

TEST(ObjectLoader, EveryTruncationIsAnError) {
  const ObjectLoader loader = make_loader();
  const std::vector<std::byte> bytes = read_object("host", "kernel");
  for (size_t size = 0; size < bytes.size(); ++size) {
    // A copy of exactly that size, so that a sanitizer sees any read past it.
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    ASSERT_FALSE(loader.load(cut).ok()) << size;
  }
}

// ---- memory policies

TEST(ExecutableMemory, DualMappingRunsAndIsReused) {
  LoaderOptions options;
  options.memory = ExecutablePolicy::kDual;
  const ObjectLoader loader = make_loader(options);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::shared_ptr<const LoadedObject>> objects;
    for (int i = 0; i < 20; ++i) objects.push_back(load(loader, "kernel"));
    for (const auto& object : objects) {
      ASSERT_TRUE(object);
      EXPECT_EQ(check_kernel(*object), "");
    }
    EXPECT_EQ(loader.memory_stats().chunks, 1u);
  }
  EXPECT_TRUE(loader.memory_stats().dual);
  EXPECT_EQ(loader.memory_stats().used_bytes, 0u);
}

TEST(ExecutableMemory, BlocksAreZeroedAndErrorsPassThrough) {
  for (ExecutablePolicy policy : {ExecutablePolicy::kProtect, ExecutablePolicy::kDual}) {
    const auto memory = ExecutableMemory::make(policy);
    for (int round = 0; round < 3; ++round) {
      const auto block = memory->write(5000, [&](std::span<std::byte> out, uint64_t address) -> Status {
        EXPECT_EQ(out.size(), 5000u);
        EXPECT_EQ(address % 4096, 0u);
        for (std::byte b : out) {
          if (b != std::byte{0}) ADD_FAILURE() << "round " << round << ": not zeroed";
        }
        std::memset(out.data(), 0xcc, out.size());
        return {};
      });
      ASSERT_TRUE(block.ok()) << block.error().text();
      EXPECT_EQ(block->data()[4999], std::byte{0xcc});
    }
    const auto failed = memory->write(
        10, [](std::span<std::byte>, uint64_t) -> Status { return make_error(Code::kCorrupt, "no good"); });
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().message, "no good");
    EXPECT_EQ(failed.error().code, Code::kCorrupt);
    EXPECT_EQ(memory->stats().used_bytes, 0u);
    EXPECT_EQ(memory->stats().dual, policy == ExecutablePolicy::kDual);

    const auto fill = [](std::span<std::byte> out, uint64_t) -> Status {
      out.back() = std::byte{1};
      return {};
    };
    EXPECT_EQ(memory->write(0, fill).error().code, Code::kInvalidArgument);
    EXPECT_EQ(memory->write(~size_t{0} / 2, fill).error().code, Code::kOutOfMemory);
    const auto large = memory->write(size_t{3} << 20, fill);
    ASSERT_TRUE(large.ok()) << large.error().text();
    EXPECT_EQ(large->data()[large->size_bytes() - 1], std::byte{1});
    EXPECT_EQ(memory->stats().chunks, 2u);
  }
}

// Runs `body` in a child process under a policy; its text must be empty.
template <class Policy, class Body>
void in_child(Policy policy, Body body) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::string text = policy();
    if (text.empty()) text = body();
    [[maybe_unused]] const ssize_t n = write(pipe_ends[1], text.data(), text.size());
    _exit(0);
  }
  close(pipe_ends[1]);
  std::string text;
  char chunk[512];
  for (ssize_t got; (got = read(pipe_ends[0], chunk, sizeof chunk)) > 0;)
    text.append(chunk, static_cast<size_t>(got));
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  if (text.rfind("skip: ", 0) == 0) GTEST_SKIP() << text.substr(6);
  EXPECT_EQ(text, "");
}

// Refuses system calls that make memory executable: mprotect, and where asked mmap too.
std::string forbid_execution(bool mmap_too) {
  constexpr auto arg2 = static_cast<uint32_t>(offsetof(seccomp_data, args[2]));
  const uint32_t mmap_number = mmap_too ? SYS_mmap : SYS_mprotect;
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offsetof(seccomp_data, nr))),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, mmap_number, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, arg2),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "skip: no_new_privs is refused";
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return "skip: seccomp is refused";
  return "";
}

TEST(ExecutableMemory, RefusedProtectionIsWorkedAround) {
  in_child([] { return forbid_execution(false); },
           []() -> std::string {
             Result<ObjectLoader> loader = ObjectLoader::make();
             auto object = loader->load(read_object("host", "kernel"));
             if (!object.ok()) return object.error().text();
             if (!loader->memory_stats().dual) return "the policy had no effect";
             return check_kernel(**object);
           });
}

TEST(ExecutableMemory, MemoryDenyWriteExecuteIsWorkedAround) {
  in_child(
      []() -> std::string {
        constexpr int kSetMdwe = 65, kRefuseExecGain = 1;  // PR_SET_MDWE, Linux 6.3
        return prctl(kSetMdwe, kRefuseExecGain, 0, 0, 0) == 0 ? "" : "skip: this kernel has no PR_SET_MDWE";
      },
      []() -> std::string {
        Result<ObjectLoader> loader = ObjectLoader::make();
        auto object = loader->load(read_object("host", "kernel"));
        if (!object.ok()) return object.error().text();
        if (!loader->memory_stats().dual) return "the policy had no effect";
        return check_kernel(**object);
      });
}

TEST(ExecutableMemory, RefusedExecutionIsOneClearError) {
  in_child([] { return forbid_execution(true); },
           []() -> std::string {
             Result<ObjectLoader> loader = ObjectLoader::make();
             for (int i = 0; i < 2; ++i) {
               auto object = loader->load(read_object("host", "kernel"));
               if (object.ok()) return "it loaded";
               if (object.error().code != Code::kDevice) return "code " + object.error().text();
               if (object.error().message.find("executable memory: ") != 0) return object.error().text();
               if (object.error().message.find("ermission denied") == std::string::npos) {
                 return object.error().text();
               }
               if (object.error().hint.empty()) return "no hint";
             }
             return "";
           });
}

// ---- debuggers and profilers

TEST(ObjectLoader, GdbSeesLoadedObjects) {
  LoaderOptions options;
  options.gdb = true;
  const ObjectLoader loader = make_loader(options);
  EXPECT_EQ(__jit_debug_descriptor.version, 1u);
  ASSERT_EQ(__jit_debug_descriptor.first, nullptr);
  auto first = load(loader, "kernel"), second = load(loader, "callback"), third = load(loader, "kernel");
  EXPECT_EQ(__jit_debug_descriptor.action, 1u);
  ASSERT_TRUE(__jit_debug_descriptor.first && __jit_debug_descriptor.first->next &&
              __jit_debug_descriptor.first->next->next);
  EXPECT_EQ(__jit_debug_descriptor.first->size, read_object("host", "kernel").size());
  EXPECT_EQ(std::memcmp(__jit_debug_descriptor.first->bytes, "\177ELF", 4), 0);
  second.reset();
  EXPECT_EQ(__jit_debug_descriptor.action, 2u);
  EXPECT_EQ(__jit_debug_descriptor.first->next->previous, __jit_debug_descriptor.first);
  EXPECT_EQ(__jit_debug_descriptor.first->next->next, nullptr);
  third.reset();
  EXPECT_EQ(__jit_debug_descriptor.first->next, nullptr);
  first.reset();
  EXPECT_EQ(__jit_debug_descriptor.first, nullptr);
}

TEST(ObjectLoader, PerfDumpHasEveryFunction) {
  const std::string folder = testing::TempDir() + "frit_perf_" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  LoaderOptions options;
  options.perf_dump_folder = folder;
  std::shared_ptr<const LoadedObject> object;
  {
    const ObjectLoader loader = make_loader(options);
    object = load(loader, "kernel");
  }
  ASSERT_TRUE(object);
  std::ifstream file(folder + "/jit-" + std::to_string(getpid()) + ".dump", std::ios::binary);
  const std::string dump((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ASSERT_GE(dump.size(), 40u);
  EXPECT_EQ(dump.substr(0, 4), "DTiJ");
  const auto word = [&](size_t at) {
    uint64_t value = 0;
    std::memcpy(&value, dump.data() + at, 8);
    return value;
  };
  size_t at = 40, functions = 0;
  while (at < dump.size()) {
    ASSERT_LE(at + 56, dump.size());
    const uint64_t kind_and_size = word(at);
    EXPECT_EQ(kind_and_size & 0xffffffffu, 0u);
    const size_t size = kind_and_size >> 32;
    const std::string name = dump.c_str() + at + 56;
    const void* address = object->symbol(name);
    ASSERT_NE(address, nullptr) << name;
    EXPECT_EQ(word(at + 24), reinterpret_cast<uint64_t>(address));
    const size_t code_bytes = word(at + 40);
    EXPECT_EQ(size, 56 + name.size() + 1 + code_bytes);
    EXPECT_EQ(std::memcmp(dump.data() + at + 56 + name.size() + 1, address, code_bytes), 0);
    EXPECT_EQ(word(at + 48), functions);
    ++functions;
    at += size;
  }
  EXPECT_EQ(functions, 4u);
  std::filesystem::remove_all(folder);

  options.perf_dump_folder = folder + "/missing";
  const auto failed = ObjectLoader::make(options);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Code::kIo);
}

}  // namespace
}  // namespace frit::device
