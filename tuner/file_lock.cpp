#include "tuner/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace frit::tuner {

FileLock::FileLock(const std::string& path, int64_t wait_ms, base::Clock& clock) {
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd_ < 0) return;
  constexpr int64_t kStepMs = 2;
  for (int64_t waited_ms = 0;; waited_ms += kStepMs) {
    if (flock(fd_, LOCK_EX | LOCK_NB) == 0) {
      held_ = true;
      return;
    }
    const bool busy = errno == EWOULDBLOCK || errno == EINTR;
    if (!busy || waited_ms >= wait_ms) {
      why_not_ = busy ? "another process is changing it" : "its file system has no locks";
      return;
    }
    clock.sleep_ns(kStepMs * 1000000);
  }
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace frit::tuner
