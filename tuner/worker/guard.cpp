#include "tuner/worker/guard.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <optional>
#include <thread>

#include "base/text.h"
#include "tuner/worker/frames.h"
#include "tuner/worker/process.h"

namespace frit::tuner::worker {

namespace {

[[noreturn]] void out_of_memory() { _exit(kExitOutOfMemory); }

// Pages of address space that are mapped now: what the limit is added to.
int64_t mapped_bytes() {
  long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * sysconf(_SC_PAGESIZE);
}

void watch_parent() {
  std::thread([] {
    char byte;
    for (;;) {
      const ssize_t got = read(kLifeFd, &byte, 1);
      if (got == 0 || (got < 0 && errno != EINTR)) _exit(kExitOrphaned);
    }
  }).detach();
}

}  // namespace

bool enter(int argc, char** argv) {
  std::optional<int64_t> parent, memory;
  for (int k = 1; k < argc; ++k) {
    const std::string_view arg = argv[k];
    if (arg.starts_with("--parent=")) parent = base::parse_number<int64_t>(arg.substr(9));
    if (arg.starts_with("--memory=")) memory = base::parse_number<int64_t>(arg.substr(9));
  }
  if (!parent || !memory) return false;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != *parent) _exit(kExitOrphaned);  // it died before that
  // What the host has open without close-on-exec is none of our business.
  close_range(kLifeFd + 1, ~0u, 0);
  watch_parent();
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  prctl(PR_SET_DUMPABLE, 0);
  const auto most = static_cast<rlim_t>(mapped_bytes() + *memory);
  const rlimit space{most, most};
  setrlimit(RLIMIT_AS, &space);
  std::set_new_handler(out_of_memory);
  return true;
}

void serve(const std::function<std::string(std::string_view request)>& answer) {
  std::string request;
  while (receive_frame(kSocketFd, &request)) {
    if (!send_frame(kSocketFd, answer(request))) return;
  }
}

}  // namespace frit::tuner::worker
