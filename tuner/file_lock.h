// FileLock: the advisory lock that processes take while they make a cache file or set a bad one aside, so
// that none of them moves away a file that another has just made. Released when it goes away, also by a
// killed process.
#pragma once

#include <cstdint>
#include <string>

#include "base/seams.h"

namespace frit::tuner {

class FileLock {
 public:
  // Makes the file (mode 0600) if needed. held() is false where another process kept the lock for longer than
  // wait_ms or where the file system has no locks.
  FileLock(const std::string& path, int64_t wait_ms, base::Clock& clock);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  bool held() const { return held_; }
  const char* why_not() const { return why_not_; }  // when it is not held

 private:
  int fd_ = -1;
  bool held_ = false;
  const char* why_not_ = "its lock file cannot be made";
};

}  // namespace frit::tuner
