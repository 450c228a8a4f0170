// Fakes of the system seams (src/base/seams.h), for tests of every layer: a clock that tests move, files in
// memory, a file system that fails where it is told, an environment and a process that are what the test
// says.
//
// All of them may be used from several threads at once, except that a test sets them up before.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/seams.h"
#include "base/text.h"

namespace frit::fakes {

using base::FileStat;
using base::MappedFile;

// Stands still unless it is moved, or steps at each reading.
class FakeClock final : public base::Clock {
 public:
  int64_t now_ns() override { return monotonic_ns_ += step_ns_; }
  int64_t wall_ns() override { return wall_ns_; }
  void sleep_ns(int64_t duration_ns) override {
    slept_ns_ += duration_ns;
    advance_ns(duration_ns);
  }

  void advance_ns(int64_t duration_ns) {
    monotonic_ns_ += duration_ns;
    wall_ns_ += duration_ns;
  }
  void jump_wall_ns(int64_t by_ns) { wall_ns_ += by_ns; }  // someone sets the date; durations do not notice
  void step_ns(int64_t per_reading) { step_ns_ = per_reading; }
  int64_t slept_ns() const { return slept_ns_; }

 private:
  std::atomic<int64_t> monotonic_ns_{1'000'000'000};
  std::atomic<int64_t> wall_ns_{1'700'000'000'000'000'000};
  std::atomic<int64_t> step_ns_{0};
  std::atomic<int64_t> slept_ns_{0};
};

// Files and folders in memory, by their exact path. A folder is there when it was made or holds something.
class MemoryFiles final : public base::FileSystem {
 public:
  // Puts a file, whatever the folders.
  void put(const std::string& path, std::string bytes) {
    const std::lock_guard lock(mutex_);
    store(path, std::move(bytes), 0644);
  }
  void set_local(bool local) { local_ = local; }

  Result<std::string> read(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    const auto it = files_.find(path);
    if (it == files_.end()) return missing("open", path);
    return it->second.bytes;
  }
  Result<MappedFile> map(const std::string& path) override {
    Result<std::string> bytes = read(path);
    if (!bytes.ok()) return std::move(bytes).error();
    return MappedFile::from_bytes(*std::move(bytes));
  }
  Status write_pieces(const std::string& path, std::span<const std::string_view> pieces,
                      uint32_t mode) override {
    std::string bytes;
    for (const std::string_view piece : pieces) bytes += piece;
    const std::lock_guard lock(mutex_);
    const std::string folder = parent(path);
    if (!folder.empty() && !is_folder(folder)) return missing("create", path);
    if (is_folder(path))
      return make_error(Code::kIo, base::text_of("cannot replace ", path, ": is a directory"));
    store(path, std::move(bytes), mode);
    return {};
  }
  Result<bool> create_new(const std::string& path, uint32_t mode) override {
    const std::lock_guard lock(mutex_);
    const std::string folder = parent(path);
    if (!folder.empty() && !is_folder(folder)) return missing("create", path);
    if (files_.count(path) != 0 || is_folder(path)) return false;
    store(path, "", mode);
    return true;
  }
  bool exists(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    return files_.count(path) != 0 || is_folder(path);
  }
  Result<FileStat> stat(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    FileStat out;
    if (const auto it = files_.find(path); it != files_.end()) {
      out = it->second.stat;
      out.size_bytes = it->second.bytes.size();
      out.is_file = true;
    } else if (is_folder(path)) {
      out.is_folder = true;
      out.mode = 0755;
    } else {
      return missing("stat", path);
    }
    return out;
  }
  // For tests of what a changed time, owner or mode means.
  void set_stat(const std::string& path, const FileStat& stat) {
    const std::lock_guard lock(mutex_);
    files_.at(path).stat = stat;
  }
  Status make_folders(const std::string& path, uint32_t) override {
    const std::lock_guard lock(mutex_);
    for (std::string part = path; !part.empty(); part = parent(part)) {
      if (files_.count(part) != 0) {
        return make_error(Code::kIo, base::text_of("cannot make folder ", path, ": not a directory"));
      }
    }
    folders_.insert(path);
    return {};
  }
  Status remove(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    if (files_.erase(path) != 0) return {};
    if (!is_folder(path)) return missing("remove", path);
    if (holds_something(path))
      return make_error(Code::kIo, base::text_of("cannot remove ", path, ": not empty"));
    folders_.erase(path);
    return {};
  }
  Status rename(const std::string& from, const std::string& to) override {
    const std::lock_guard lock(mutex_);
    auto node = files_.extract(from);
    if (node.empty()) return missing("rename", from);
    node.key() = to;
    files_.erase(to);
    files_.insert(std::move(node));
    return {};
  }
  Result<std::vector<std::string>> list(const std::string& folder) override {
    const std::lock_guard lock(mutex_);
    if (!is_folder(folder)) return missing("list", folder);
    std::set<std::string> names;
    const std::string prefix = folder.ends_with('/') ? folder : folder + "/";
    const auto add = [&](const std::string& path) {
      if (path.size() > prefix.size() && path.starts_with(prefix)) {
        names.insert(path.substr(prefix.size(), path.find('/', prefix.size()) - prefix.size()));
      }
    };
    for (const auto& [path, file] : files_) add(path);
    for (const auto& path : folders_) add(path);
    return std::vector<std::string>(names.begin(), names.end());
  }
  Result<std::string> canonical(const std::string& path) override {
    if (!exists(path)) return missing("resolve", path);
    return path;
  }
  Result<bool> is_local(const std::string&) override { return local_.load(); }
  Result<bool> is_read_only_mount(const std::string&) override { return false; }

 private:
  struct File {
    std::string bytes;
    FileStat stat;
  };

  static Error missing(const char* what, const std::string& path) {
    return make_error(Code::kIo,
                      base::text_of("cannot ", what, " ", base::quoted(path), ": no such file or directory"));
  }
  static std::string parent(const std::string& path) {
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return "";
    return slash == 0 && path.size() > 1 ? "/" : path.substr(0, slash);
  }
  void store(const std::string& path, std::string bytes, uint32_t mode) {
    File& file = files_[path];
    file.bytes = std::move(bytes);
    file.stat = FileStat{};
    file.stat.inode = ++changes_;  // an atomic write makes another file
    file.stat.mtime_ns = changes_;
    file.stat.mode = mode;
  }
  bool holds_something(const std::string& path) const {
    const std::string prefix = path.ends_with('/') ? path : path + "/";
    const auto inside = [&](const std::string& other) {
      return other.size() > prefix.size() && other.starts_with(prefix);
    };
    return std::any_of(files_.begin(), files_.end(), [&](const auto& file) { return inside(file.first); }) ||
           std::any_of(folders_.begin(), folders_.end(), inside);
  }
  bool is_folder(const std::string& path) const {
    return path == "/" || folders_.count(path) != 0 || holds_something(path);
  }

  std::mutex mutex_;
  std::map<std::string, File> files_;
  std::set<std::string> folders_;
  int64_t changes_ = 0;
  std::atomic<bool> local_{true};
};

enum class FileOp {
  kRead,
  kMap,
  kWrite,
  kCreateNew,
  kStat,
  kMakeFolders,
  kRemove,
  kRename,
  kList,
  kCanonical,
  kIsLocal,
  kIsReadOnlyMount,
};

// Passes everything on to another file system, but fails where it is told. To sweep over all faults of a
// scenario:
//   for (int n = 1;; ++n) { FaultyFiles files(inner); files.fail_nth(n); ...; if (files.operations() < n)
//   break; }
class FaultyFiles final : public base::FileSystem {
 public:
  explicit FaultyFiles(base::FileSystem& inner) : inner_(inner) {}

  void fail_nth(int nth) { nth_ = nth; }         // the nth operation of any kind, counted from 1
  void fail_all(FileOp op) { ops_.insert(op); }  // every operation of this kind
  void fail_path(std::string part) { part_ = std::move(part); }  // whatever touches a path with this in it
  void set_disk_bytes(uint64_t left) { disk_bytes_ = left; }  // writes beyond that: no space left on device
  void heal() {
    nth_ = 0;
    ops_.clear();
    part_.reset();
    disk_bytes_.reset();
  }
  int operations() const { return operations_; }

  Result<std::string> read(const std::string& path) override {
    if (faulty(FileOp::kRead, path)) return fault("read", path);
    return inner_.read(path);
  }
  Result<MappedFile> map(const std::string& path) override {
    if (faulty(FileOp::kMap, path)) return fault("map", path);
    return inner_.map(path);
  }
  Status write_pieces(const std::string& path, std::span<const std::string_view> pieces,
                      uint32_t mode) override {
    if (faulty(FileOp::kWrite, path)) return fault("write", path);
    if (disk_bytes_) {
      uint64_t size_bytes = 0;
      for (const std::string_view piece : pieces) size_bytes += piece.size();
      if (size_bytes > *disk_bytes_) {
        return make_error(Code::kIo,
                          base::text_of("cannot write ", base::quoted(path), ": no space left on device"));
      }
      *disk_bytes_ -= size_bytes;
    }
    return inner_.write_pieces(path, pieces, mode);
  }
  Result<bool> create_new(const std::string& path, uint32_t mode) override {
    if (faulty(FileOp::kCreateNew, path)) return fault("create", path);
    return inner_.create_new(path, mode);
  }
  bool exists(const std::string& path) override {
    return !faulty(FileOp::kStat, path) && inner_.exists(path);
  }
  Result<FileStat> stat(const std::string& path) override {
    if (faulty(FileOp::kStat, path)) return fault("stat", path);
    return inner_.stat(path);
  }
  Status make_folders(const std::string& path, uint32_t mode) override {
    if (faulty(FileOp::kMakeFolders, path)) return fault("make folder", path);
    return inner_.make_folders(path, mode);
  }
  Status remove(const std::string& path) override {
    if (faulty(FileOp::kRemove, path)) return fault("remove", path);
    return inner_.remove(path);
  }
  Status rename(const std::string& from, const std::string& to) override {
    if (faulty(FileOp::kRename, from)) return fault("rename", from);
    return inner_.rename(from, to);
  }
  Result<std::vector<std::string>> list(const std::string& folder) override {
    if (faulty(FileOp::kList, folder)) return fault("list", folder);
    return inner_.list(folder);
  }
  Result<std::string> canonical(const std::string& path) override {
    if (faulty(FileOp::kCanonical, path)) return fault("resolve", path);
    return inner_.canonical(path);
  }
  Result<bool> is_local(const std::string& path) override {
    if (faulty(FileOp::kIsLocal, path)) return fault("stat", path);
    return inner_.is_local(path);
  }
  Result<bool> is_read_only_mount(const std::string& path) override {
    if (faulty(FileOp::kIsReadOnlyMount, path)) return fault("stat", path);
    return inner_.is_read_only_mount(path);
  }

 private:
  bool faulty(FileOp op, const std::string& path) {
    return ++operations_ == nth_ || ops_.count(op) != 0 || (part_ && path.find(*part_) != std::string::npos);
  }
  static Error fault(const char* what, const std::string& path) {
    return make_error(Code::kIo,
                      base::text_of("cannot ", what, " ", base::quoted(path), ": input/output error"));
  }

  base::FileSystem& inner_;
  std::atomic<int> operations_{0};
  int nth_ = 0;
  std::set<FileOp> ops_;
  std::optional<std::string> part_;
  std::optional<uint64_t> disk_bytes_;
};

class FakeEnvironment final : public base::Environment {
 public:
  std::optional<std::string> get(const std::string& name) override {
    const auto it = values.find(name);
    if (it == values.end()) return std::nullopt;
    return it->second;
  }

  std::map<std::string, std::string> values;
};

class FakeProcess final : public base::Process {
 public:
  int64_t pid() override { return pid_value; }
  uint32_t user() override { return user_value; }
  Result<std::vector<int>> affinity() override {
    if (!cpus) return make_error(Code::kIo, "cannot read the CPU affinity: operation not permitted");
    return *cpus;
  }
  Result<std::string> executable_path() override { return path; }
  Result<uint64_t> peak_rss_bytes() override { return peak_rss; }

  int64_t pid_value = 4242;
  uint32_t user_value = 1000;
  std::optional<std::vector<int>> cpus = std::vector<int>{0};
  std::string path = "/usr/bin/frit";
  uint64_t peak_rss = uint64_t{64} << 20;
};

}  // namespace frit::fakes
