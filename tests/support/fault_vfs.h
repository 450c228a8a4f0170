// An SQLite VFS that passes everything on to the system's, but fails operations where a test says: the disk
// that fills up at the nth write, the sync that fails.
#pragma once

#include <sqlite3.h>

#include <atomic>
#include <string>
#include <vector>

namespace frit::tuner {

class FaultVfs {
 public:
  explicit FaultVfs(const char* name);
  ~FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;
  const char* name() const { return vfs_.zName; }

  // From the nth operation on, counted from 1, every one fails. SQLITE_FULL: of those that need space
  // (writing past the end, growing the shared memory); any other code: of those that change a file (also
  // truncating, syncing). 0 heals.
  void fail_from(int nth, int code = SQLITE_FULL) {
    code_ = code;
    operations_ = 0;
    nth_ = nth;
  }
  bool is_full() const { return code_ == SQLITE_FULL; }
  int operations() const { return operations_; }
  bool has_failed() const { return failed_; }

 private:
  struct File;
  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags);
  int change() {
    const int at = ++operations_;
    if (nth_ == 0 || at < nth_) return SQLITE_OK;
    failed_ = true;
    return code_;
  }

  sqlite3_vfs vfs_{};
  sqlite3_vfs* real_ = nullptr;
  std::atomic<int> nth_{0}, code_{SQLITE_FULL}, operations_{0};
  std::atomic<bool> failed_{false};
};

}  // namespace frit::tuner
