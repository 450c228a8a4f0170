// What the tests of the tuning cache share: a temporary folder, a sink that remembers, files whose properties
// can be bent, and records to fill a cache with.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/seams.h"
#include "support/fake_seams.h"
#include "tuner/store.h"

namespace frit::tuner {

class TempFolder {
 public:
  TempFolder() {
    // In memory where there is some: these tests sync thousands of times.
    for (const std::string& parent :
         {std::string("/dev/shm"), std::filesystem::temp_directory_path().string()}) {
      std::string pattern = parent + "/frit-store-XXXXXX";
      std::error_code error;
      const auto space = std::filesystem::space(parent, error);
      if (error || space.available < (64u << 20) || mkdtemp(pattern.data()) == nullptr) continue;
      path_ = pattern;
      break;
    }
    EXPECT_NE(path_, "") << "no temporary folder";
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

class MemorySink final : public LogSink {
 public:
  bool wants(LogLevel level, std::string_view) const override { return level <= LogLevel::kInfo; }
  void write(LogLevel level, std::string_view, std::string_view message) override {
    const std::lock_guard lock(mutex_);
    (level == LogLevel::kWarn ? warnings_ : others_).emplace_back(message);
  }
  std::vector<std::string> warnings() const {
    const std::lock_guard lock(mutex_);
    return warnings_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> warnings_, others_;
};

// The real file system, except for what a test bends.
class BentFiles final : public base::FileSystem {
 public:
  std::optional<bool> local, read_only_mount;
  std::optional<uint32_t> owner, mode;  // of regular files
  std::optional<uint32_t> folder_mode;

  Result<std::string> read(const std::string& path) override { return real_.read(path); }
  Result<base::MappedFile> map(const std::string& path) override { return real_.map(path); }
  Status write_pieces(const std::string& path, std::span<const std::string_view> pieces,
                      uint32_t m) override {
    return real_.write_pieces(path, pieces, m);
  }
  Result<bool> create_new(const std::string& path, uint32_t m) override { return real_.create_new(path, m); }
  bool exists(const std::string& path) override { return real_.exists(path); }
  Result<base::FileStat> stat(const std::string& path) override {
    auto out = real_.stat(path);
    if (!out.ok()) return out;
    if (out->is_file && owner) out->owner = *owner;
    if (out->is_file && mode) out->mode = *mode;
    if (out->is_folder && folder_mode) out->mode = *folder_mode;
    return out;
  }
  Status make_folders(const std::string& path, uint32_t m) override { return real_.make_folders(path, m); }
  Status remove(const std::string& path) override { return real_.remove(path); }
  Status rename(const std::string& from, const std::string& to) override { return real_.rename(from, to); }
  Result<std::vector<std::string>> list(const std::string& folder) override { return real_.list(folder); }
  Result<std::string> canonical(const std::string& path) override { return real_.canonical(path); }
  Result<bool> is_local(const std::string& path) override { return local ? *local : real_.is_local(path); }
  Result<bool> is_read_only_mount(const std::string& path) override {
    return read_only_mount ? *read_only_mount : real_.is_read_only_mount(path);
  }

 private:
  base::SystemFileSystem real_;
};

// Opens stores on the real system with a clock that the test moves.
struct World {
  fakes::FakeClock clock;
  BentFiles files;
  base::SystemProcess process;
  std::shared_ptr<MemorySink> sink = std::make_shared<MemorySink>();

  StoreSeams seams() { return {clock, files, process, base::Logger(sink)}; }
  std::unique_ptr<Store> open(StoreOptions options) { return Store::open(std::move(options), seams()); }
  std::unique_ptr<Store> open(const std::string& path) { return open(options(path)); }
  static StoreOptions options(const std::string& path) {
    StoreOptions out;
    out.path = path;
    out.busy_ms = 2000;
    return out;
  }
};

inline TargetParts zen4() {
  TargetParts out;
  out.arch = "x86_64";
  out.features = "avx2 avx512f fma";
  out.cpu_vendor = "AuthenticAMD";
  out.cpu_family = "25";
  out.cpu_model = "17";
  return out;
}

inline std::string matmul_text(int64_t m, int64_t n, int64_t k) {
  return base::text_of("group\n%0 = input f32[", m, "x", k, "]\n%1 = const f32[", k, "x", n,
                       "]\n%2 = matmul %0 %1 : f32[", m, "x", n, "]\n");
}

inline Key key_of(std::string group, const SessionParts& session = {}, const TargetParts& target = zen4()) {
  auto key = decision_key(std::move(group), session, target);
  EXPECT_TRUE(key.ok()) << key.error().text();
  return *std::move(key);
}
inline Key matmul_key(int64_t m, int64_t n = 64, int64_t k = 64) { return key_of(matmul_text(m, n, k)); }

inline Key object_key(const std::string& code) { return *binary_key(code, 1, "O1", zen4()); }
inline Key graph_key(const std::string& graph, const SessionParts& session = {}) {
  return *plan_key(graph, session, zen4());
}

inline Decision decision_of(State state, const std::string& params = "mr=6 nv=4", int64_t samples = 30) {
  Decision out;
  out.state = state;
  out.family = "matmul";
  out.family_version = 3;
  out.params = params;
  if (state != State::kHeuristic) {
    out.evidence.time_ns = 840000.5;
    out.evidence.spread_ns = 1200;
    out.evidence.heuristic_ns = 1310000;
    out.evidence.runner_up_ns = 850000;
    out.evidence.runner_up = "mr=8 nv=3";
    out.evidence.samples = samples;
    out.evidence.trials = 480;
    out.evidence.failures = 2;
    out.evidence.strategy = "exhaustive";
    out.evidence.machine = "quiet";
    out.evidence.notes = {{"clock_mhz", "3700"}};
  }
  out.provenance = {{"host", "a"}, {"l2_bytes", "1048576"}, {"frit", "0.1.0"}};
  return out;
}

inline Trial trial_of(int i, Outcome outcome = Outcome::kMeasured) {
  Trial out;
  out.family = "matmul";
  out.family_version = 3;
  out.params = base::text_of("mr=", i, " nv=4");
  out.outcome = outcome;
  if (outcome != Outcome::kMeasured) out.reason = "signal 11 at 0x10";
  out.time_ns = 1000.25 + i;
  out.spread_ns = 3;
  out.samples = 10;
  out.provenance = {{"host", "a"}};
  return out;
}

inline Object object_of(const std::string& bytes) {
  Object out;
  out.bytes = bytes;
  out.emitter = "1";
  out.compiler = "LLVM 19.1.7";
  return out;
}

inline std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}
inline void put_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Runs body in a child process (made by fork, so while this process has no other thread) and returns how it
// ended.
inline pid_t in_child(const std::function<int()>& body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  EXPECT_GT(pid, 0);
  return pid;
}
inline int exit_code(pid_t pid) {
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace frit::tuner
