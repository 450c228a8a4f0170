// A worker that does what it is told to, however bad: for worker_test.cpp.
#include <signal.h>
#include <unistd.h>

#include <dirent.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tuner/worker/guard.h"

namespace {

std::string open_files() {
  std::string out;
  if (DIR* folder = opendir("/proc/self/fd")) {
    while (const dirent* entry = readdir(folder)) {
      const int fd = std::atoi(entry->d_name);
      if (entry->d_name[0] != '.' && fd != dirfd(folder)) out += std::to_string(fd) + " ";
    }
    closedir(folder);
  }
  return out;
}

std::string answer(std::string_view request) {
  volatile int zero = 0;
  if (request.starts_with("echo ")) return std::string(request.substr(5));
  if (request == "segv") *reinterpret_cast<volatile int*>(zero + 8l) = 1;
  if (request == "ill") __builtin_trap();
  if (request == "abort") {
    std::fputs("LLVM ERROR: Cannot select: something\n", stderr);
    std::abort();
  }
  if (request == "loop")
    while (zero == 0) {
    }
  if (request == "stop") raise(SIGSTOP);
  if (request == "exit") std::_Exit(3);
  if (request == "close") {
    close(3);
    while (zero == 0) sleep(1);
  }
  if (request == "bomb") {
    std::vector<std::string> bombs;
    for (;;) bombs.emplace_back(16 << 20, 'x');
  }
  if (request == "flood") return std::string(8 << 20, 'y');
  if (request == "noise") {
    for (int i = 0; i < 20000; ++i) std::fputs("a diagnostic that nobody asked for\n", stderr);
    return "done";
  }
  if (request == "files") return open_files();
  if (request == "group") return std::to_string(getpgrp() == getpid());
  return "?";
}

}  // namespace

// Sanitizers leave the signals alone: how a worker dies is what is tested.
extern "C" const char* __asan_default_options() { return "handle_segv=0:handle_abort=0:handle_sigill=0"; }
extern "C" const char* __tsan_default_options() { return "handle_segv=0:handle_abort=0:handle_sigill=0"; }

int main(int argc, char** argv) {
  if (!frit::tuner::worker::enter(argc, argv)) return 2;
  frit::tuner::worker::serve(answer);
  return 0;
}
