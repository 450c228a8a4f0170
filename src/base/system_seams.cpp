// SystemClock, SystemEnvironment, SystemProcess on Linux.
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

#include "base/seams.h"
#include "base/text.h"
#include "base/try.h"

namespace frit::base {
namespace {

int64_t read_clock_ns(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return t.tv_sec * int64_t{1000000000} + t.tv_nsec;
}

}  // namespace

int64_t SystemClock::now_ns() { return read_clock_ns(CLOCK_MONOTONIC); }
int64_t SystemClock::thread_ns() { return read_clock_ns(CLOCK_THREAD_CPUTIME_ID); }
int64_t SystemClock::wall_ns() { return read_clock_ns(CLOCK_REALTIME); }

void SystemClock::sleep_ns(int64_t duration_ns) {
  if (duration_ns <= 0) return;
  timespec left{duration_ns / 1000000000, duration_ns % 1000000000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

std::optional<std::string> SystemEnvironment::get(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (!value) return std::nullopt;
  return std::string(value);
}

int64_t SystemProcess::pid() { return getpid(); }
uint32_t SystemProcess::user() { return geteuid(); }

Result<std::vector<int>> SystemProcess::affinity() {
  // The kernel refuses a mask smaller than its own, so it grows until it fits.
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(cpus),
                                                               [](cpu_set_t* s) { CPU_FREE(s); });
    if (!set) return make_error(Code::kOutOfMemory, "no memory for a CPU mask");
    const size_t size_bytes = CPU_ALLOC_SIZE(cpus);
    CPU_ZERO_S(size_bytes, set.get());
    if (sched_getaffinity(0, size_bytes, set.get()) == 0) {
      std::vector<int> out;
      for (int cpu = 0; cpu < cpus; ++cpu) {
        if (CPU_ISSET_S(cpu, size_bytes, set.get())) out.push_back(cpu);
      }
      return out;
    }
    if (errno != EINVAL) break;
  }
  return make_error(Code::kIo, text_of("cannot read the CPU affinity: ", errno_text(errno)));
}

Result<std::string> SystemProcess::executable_path() {
  return SystemFileSystem().canonical("/proc/self/exe");
}

Result<uint64_t> SystemProcess::peak_rss_bytes() {
  // VmHWM is of this program alone; getrusage's maximum is inherited over exec.
  FRIT_ASSIGN(const std::string status, SystemFileSystem().read("/proc/self/status"));
  std::string_view rest = status;
  const size_t at = rest.find("VmHWM:");
  if (at == std::string_view::npos) return make_error(Code::kIo, "/proc/self/status has no VmHWM");
  rest.remove_prefix(at + 6);
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  const auto kib = parse_number<uint64_t>(rest.substr(0, rest.find(' ')));
  if (!kib) return make_error(Code::kIo, "/proc/self/status has a malformed VmHWM");
  return *kib * 1024;
}

}  // namespace frit::base
