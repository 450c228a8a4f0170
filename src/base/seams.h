// The seams to the operating system: clock, files, environment, process. The library reaches the system only
// through these, so that a test can make the disk full, the clock jump and the machine small (fakes:
// tests/support/fake_seams.h).
//
// Whoever owns a run-time object owns the seams and passes them down by reference. The System... classes hold
// no state, all of them may be used from several threads at once. Errors are Code::kIo and name the path and
// the reason.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "frit/result.h"

namespace frit::base {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t now_ns() = 0;   // monotonic, from an arbitrary start: for durations
  // Time that the calling thread ran, other processes' turns left out; a clock that cannot tell gives now_ns().
  virtual int64_t thread_ns() { return now_ns(); }
  virtual int64_t wall_ns() = 0;  // since 1970, UTC; may jump either way: for dates in records
  virtual void sleep_ns(int64_t duration_ns) = 0;
};

struct FileStat {
  uint64_t size_bytes = 0;
  int64_t mtime_ns = 0;
  uint64_t inode = 0;
  uint64_t device = 0;
  uint32_t mode = 0;  // permission bits only, e.g. 0600
  uint32_t owner = 0;
  bool is_file = false;
  bool is_folder = false;
  friend bool operator==(const FileStat&, const FileStat&) = default;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // The whole file, also one whose size is not known before (as under /proc).
  virtual Result<std::string> read(const std::string& path) = 0;
  virtual Result<MappedFile> map(const std::string& path) = 0;

  // Writes beside the target, syncs, renames over it: a reader, a crash or a full disk see the old file or
  // the new one. The file holds the pieces one after another.
  virtual Status write_pieces(const std::string& path, std::span<const std::string_view> pieces,
                              uint32_t mode) = 0;
  Status write_atomic(const std::string& path, std::string_view bytes, uint32_t mode = 0644) {
    return write_pieces(path, {&bytes, 1}, mode);
  }

  // An empty file that was not there before, never seen with another mode; false where something has the name
  // already.
  virtual Result<bool> create_new(const std::string& path, uint32_t mode) = 0;
  virtual bool exists(const std::string& path) = 0;  // false too where it cannot be known
  virtual Result<FileStat> stat(const std::string& path) = 0;
  // Makes what is missing of the path; mode holds for the last folder, parents get 0777 less the umask. Fine
  // when it is there already.
  virtual Status make_folders(const std::string& path, uint32_t mode = 0755) = 0;
  virtual Status remove(const std::string& path) = 0;  // a file or an empty folder; a missing one is an error
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  virtual Result<std::vector<std::string>> list(
      const std::string& folder) = 0;  // names, sorted, without . and ..
  // Absolute, without links, "." or ".."; the path must exist.
  virtual Result<std::string> canonical(const std::string& path) = 0;
  // False on a network file system, where locks and shared memory cannot be trusted.
  virtual Result<bool> is_local(const std::string& path) = 0;
  // Whether the file system is mounted read-only: then nobody on this machine can change the file.
  virtual Result<bool> is_read_only_mount(const std::string& path) = 0;
};

class Environment {
 public:
  virtual ~Environment() = default;
  virtual std::optional<std::string> get(const std::string& name) = 0;
};

class Process {
 public:
  virtual ~Process() = default;
  virtual int64_t pid() = 0;
  virtual uint32_t user() = 0;                        // effective user id
  virtual Result<std::vector<int>> affinity() = 0;    // CPUs that the calling thread may run on, ascending
  virtual Result<std::string> executable_path() = 0;  // of this program
  virtual Result<uint64_t> peak_rss_bytes() = 0;      // most memory ever resident
};

class SystemClock final : public Clock {
 public:
  int64_t now_ns() override;
  int64_t thread_ns() override;
  int64_t wall_ns() override;
  void sleep_ns(int64_t duration_ns) override;
};

class SystemFileSystem final : public FileSystem {
 public:
  Result<std::string> read(const std::string& path) override;
  Result<MappedFile> map(const std::string& path) override;
  Status write_pieces(const std::string& path, std::span<const std::string_view> pieces,
                      uint32_t mode) override;
  Result<bool> create_new(const std::string& path, uint32_t mode) override;
  bool exists(const std::string& path) override;
  Result<FileStat> stat(const std::string& path) override;
  Status make_folders(const std::string& path, uint32_t mode) override;
  Status remove(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Result<std::vector<std::string>> list(const std::string& folder) override;
  Result<std::string> canonical(const std::string& path) override;
  Result<bool> is_local(const std::string& path) override;
  Result<bool> is_read_only_mount(const std::string& path) override;
};

class SystemEnvironment final : public Environment {
 public:
  std::optional<std::string> get(const std::string& name) override;
};

class SystemProcess final : public Process {
 public:
  int64_t pid() override;
  uint32_t user() override;
  Result<std::vector<int>> affinity() override;
  Result<std::string> executable_path() override;
  Result<uint64_t> peak_rss_bytes() override;
};

}  // namespace frit::base
