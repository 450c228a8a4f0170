// libfrit as a file: what it exports and needs, how it is loaded and unloaded, and what happens to runs when
// the process ends. This program does not link it.
#include <cxxabi.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/temp_folder.h"

namespace {

std::string output_of(const std::string& command) {
  std::string out;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return out;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  pclose(pipe);
  return out;
}

std::string demangled(const std::string& name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  const std::string out = text ? text : name;
  std::free(text);
  return out;
}

std::vector<std::string> dynamic_symbols(const char* which) {
  std::istringstream lines(output_of(std::string("nm -D ") + which + " --format=posix " FRIT_TEST_LIBRARY));
  std::vector<std::string> out;
  for (std::string line; std::getline(lines, line);) {
    std::string name = line.substr(0, line.find(' '));
    out.push_back(name.substr(0, name.find('@')));
  }
  return out;
}

bool is_mapped(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(name) != std::string::npos) return true;
  }
  return false;
}

int threads_of_process() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Threads:")) return std::atoi(line.c_str() + 8);
  }
  return -1;
}

TEST(LibraryTest, ExportsNothingButFrit) {
  const auto names = dynamic_symbols("--defined-only");
  EXPECT_GT(names.size(), 30u);
  for (const std::string& name : names) {
    const std::string text = demangled(name);
    const bool is_ours =
        text.starts_with("frit::") || text.starts_with("frit_") || text.starts_with("typeinfo for frit::") ||
        text.starts_with("typeinfo name for frit::") || text.starts_with("vtable for frit::");
    EXPECT_TRUE(is_ours) << text;
    // The layers below the public API are hidden.
    for (const char* inner :
         {"frit::base::", "frit::graph::", "frit::loop::", "frit::device::", "frit::codegen::",
          "frit::fusion::", "frit::exec::", "frit::tuner::", "frit::onnx::", "frit::runtime::"}) {
      EXPECT_FALSE(text.starts_with(inner)) << text;
    }
  }
}

TEST(LibraryTest, ContainsNoLlvmAndRegistersNothingForTheEnd) {
  const std::string all = output_of("nm -C " FRIT_TEST_LIBRARY);
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.find("llvm::"), std::string::npos);
  for (const std::string& name : dynamic_symbols("--undefined-only")) {
    EXPECT_NE(name, "__cxa_atexit") << "a static with a destructor";
    EXPECT_NE(name, "__cxa_thread_atexit") << "a thread_local with a destructor";
    EXPECT_NE(name, "atexit");
    EXPECT_NE(name, "exit");
    EXPECT_NE(name, "printf");
  }
  EXPECT_NE(output_of("readelf -d " FRIT_TEST_LIBRARY).find("[libfrit.so.0]"), std::string::npos);
}

// Before any test that opens the compiler here: a child inherits what its parent has mapped.
TEST(LibraryTest, AWarmProcessMapsNoCompiler) {
  const frit::testing::TempFolder folder;
  ASSERT_FALSE(is_mapped("libfrit-codegen"));
  for (const bool warm : {false, true}) {
    const pid_t child = fork();
    if (child == 0) {
      void* plugin = dlopen(FRIT_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
      if (!plugin) _exit(1);
      const auto run = reinterpret_cast<int (*)(const char*, long long*)>(dlsym(plugin, "plugin_run"));
      long long compiles = -1;
      if (run((folder / "cache.db").c_str(), &compiles) != 0) _exit(2);
      if ((compiles == 0) != warm) _exit(3);
      if (warm && (is_mapped("libfrit-codegen") || is_mapped("libLLVM"))) _exit(4);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_EQ(WEXITSTATUS(status), 0) << (warm ? "warm" : "cold");
  }
}

#if defined(__SANITIZE_THREAD__)
constexpr int kOwnThreads = 2;  // the sanitizer's, from the first thread on
#else
constexpr int kOwnThreads = 1;
#endif

TEST(LibraryTest, LoadsRunsAndUnloadsAHundredTimes) {
  const frit::testing::TempFolder folder;
  for (int round = 0; round < 100; ++round) {
    void* plugin = dlopen(FRIT_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(plugin, nullptr) << dlerror();
    const auto run = reinterpret_cast<int (*)(const char*, long long*)>(dlsym(plugin, "plugin_run"));
    ASSERT_NE(run, nullptr);
    long long compiles = -1;
    ASSERT_EQ(run((folder / "cache.db").c_str(), &compiles), 0) << "round " << round;
    if (round == 0) {
      EXPECT_GT(compiles, 0);
      EXPECT_TRUE(is_mapped("libfrit-codegen.so"));
    } else {
      EXPECT_EQ(compiles, 0) << "round " << round;
    }
    ASSERT_EQ(dlclose(plugin), 0);
    ASSERT_FALSE(is_mapped("libfrit.so")) << "round " << round;
    ASSERT_EQ(threads_of_process(), kOwnThreads) << "round " << round;
  }
}

// exit() while other threads run kernels, or compile them: the process ends with its own status, at once.
TEST(LibraryTest, TheProcessMayEndDuringARun) {
  const frit::testing::TempFolder folder;
  for (int round = 0; round < 12; ++round) {
    const std::string cache = round % 2 ? folder / "cache.db" : std::string("off");
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      void* plugin = dlopen(FRIT_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
      if (!plugin) _exit(1);
      const auto run = reinterpret_cast<void (*)(const char*, int)>(dlsym(plugin, "plugin_run_for_ever"));
      run(cache.c_str(), round < 6 ? 0 : 50);  // 0: while it still prepares
      if (round < 6) usleep(static_cast<useconds_t>(round) * 4000);
      std::exit(7);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "round " << round << ", signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 7);
  }
}

}  // namespace
