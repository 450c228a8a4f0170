// Clock, environment, process, stop token, trace, and the number of threads under made-up machines.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/cpu_count.h"
#include "base/seams.h"
#include "base/stop.h"
#include "base/trace.h"
#include "support/fake_seams.h"

namespace frit::base {
namespace {

using frit::fakes::FakeClock;
using frit::fakes::FakeEnvironment;
using frit::fakes::FakeProcess;
using frit::fakes::FaultyFiles;
using frit::fakes::FileOp;
using frit::fakes::MemoryFiles;

TEST(SystemSeams, Clock) {
  SystemClock clock;
  const int64_t begin = clock.now_ns();
  clock.sleep_ns(2'000'000);
  clock.sleep_ns(0);
  clock.sleep_ns(-5);
  EXPECT_GE(clock.now_ns() - begin, 2'000'000);
  EXPECT_GT(clock.wall_ns(), int64_t{1'600'000'000} * 1'000'000'000);
}

TEST(SystemSeams, EnvironmentAndProcess) {
  setenv("FRIT_SEAM_TEST", "value", 1);
  SystemEnvironment environment;
  EXPECT_EQ(environment.get("FRIT_SEAM_TEST"), "value");
  setenv("FRIT_SEAM_TEST", "", 1);
  EXPECT_EQ(environment.get("FRIT_SEAM_TEST"), "");
  unsetenv("FRIT_SEAM_TEST");
  EXPECT_EQ(environment.get("FRIT_SEAM_TEST"), std::nullopt);

  SystemProcess process;
  EXPECT_EQ(process.pid(), getpid());
  EXPECT_EQ(process.user(), geteuid());
  const std::vector<int> cpus = *process.affinity();
  EXPECT_FALSE(cpus.empty());
  EXPECT_TRUE(std::is_sorted(cpus.begin(), cpus.end()));
  EXPECT_NE(process.executable_path()->find("base_test"), std::string::npos);
  const uint64_t before = *process.peak_rss_bytes();
  EXPECT_GT(before, uint64_t{1} << 20);
  std::vector<char> block(64 << 20, 1);
  EXPECT_GE(*process.peak_rss_bytes(), before + (uint64_t{32} << 20)) << block.back();
}

TEST(FakeSeams, DoWhatTheTestSays) {
  FakeClock clock;
  const int64_t begin = clock.now_ns(), wall = clock.wall_ns();
  EXPECT_EQ(clock.now_ns(), begin);
  clock.jump_wall_ns(-1000);
  EXPECT_EQ(clock.now_ns(), begin);
  EXPECT_EQ(clock.wall_ns(), wall - 1000);
  clock.sleep_ns(10);
  EXPECT_EQ(clock.now_ns(), begin + 10);
  EXPECT_EQ(clock.slept_ns(), 10);
  clock.step_ns(3);
  EXPECT_EQ(clock.now_ns(), begin + 13);
  EXPECT_EQ(clock.now_ns(), begin + 16);
  FakeEnvironment environment;
  environment.values["FRIT_CACHE"] = "off";
  EXPECT_EQ(environment.get("FRIT_CACHE"), "off");
  EXPECT_EQ(environment.get("HOME"), std::nullopt);
}

TEST(Stop, TokensShareTheirSource) {
  const StopToken never;
  EXPECT_FALSE(never.stop_requested());
  EXPECT_FALSE(never.stop_possible());
  EXPECT_TRUE(check_stop(never).ok());
  StopToken token;
  {
    const StopSource source;
    token = source.token();
    const StopSource copy = source;
    EXPECT_TRUE(token.stop_possible());
    EXPECT_FALSE(token.stop_requested());
    std::thread([&] { copy.request_stop(); }).join();
    EXPECT_TRUE(source.stop_requested());
  }
  EXPECT_TRUE(token.stop_requested());  // outlives its source
  const Status status = check_stop(token);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kCancelled);
  EXPECT_FALSE(StopSource().token().stop_requested());
}

TEST(Trace, OffMakesNothing) {
  int made = 0;
  {
    TraceSpan span(nullptr, "base", [&] {
      ++made;
      return "name";
    });
    span.end();
  }
  EXPECT_EQ(made, 0);
}

TEST(Trace, WritesChromeEvents) {
  FakeClock clock;
  TraceRecorder recorder(clock);
  EXPECT_EQ(recorder.json(),
            "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n],\"otherData\":{\"dropped\":0}}\n");
  {
    TraceSpan outer(&recorder, "exec", "run \"", 1, "\"");
    clock.advance_ns(1500);
    TraceSpan inner(&recorder, "codegen", "compile");
    clock.advance_ns(2'000'000);
    inner.end();
    inner.end();
    clock.advance_ns(1);
  }
  std::thread([&] { TraceSpan other(&recorder, "exec", "other"); }).join();
  EXPECT_EQ(recorder.spans(), 3u);
  const std::string tid = text_of(",\"pid\":", getpid(), ",\"tid\":", gettid(), "}");
  const std::string json = recorder.json();
  EXPECT_NE(json.find("{\"ph\":\"X\",\"cat\":\"codegen\",\"name\":\"compile\",\"ts\":1.5,\"dur\":2000" + tid),
            std::string::npos)
      << json;
  EXPECT_NE(
      json.find("{\"ph\":\"X\",\"cat\":\"exec\",\"name\":\"run \\\"1\\\"\",\"ts\":0,\"dur\":2001.501" + tid),
      std::string::npos)
      << json;
  EXPECT_NE(json.find("\"name\":\"other\",\"ts\":2001.501,\"dur\":0,"), std::string::npos) << json;

  MemoryFiles files;
  files.put("/t/x", "");
  EXPECT_TRUE(recorder.write(files, "/t/trace.json").ok());
  EXPECT_EQ(*files.read("/t/trace.json"), json);
  EXPECT_FALSE(recorder.write(files, "/none/trace.json").ok());
}

TEST(CpuList, Parses) {
  EXPECT_EQ(parse_cpu_list("0\n"), (std::vector<int>{0}));
  EXPECT_EQ(parse_cpu_list("0-3,8,10-11\n"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_cpu_list("\n"), (std::vector<int>{}));
  for (const char* bad : {"a", "1-", "-1", "3-2", "1,,2", "0-99999999999", "0-2000000000", "1 2", "1-2-3"}) {
    EXPECT_FALSE(parse_cpu_list(bad)) << bad;
  }
}

// A machine with cores of two hyper-threads: CPU c and c + cores share a core.
void put_machine(MemoryFiles& files, int cores) {
  for (int cpu = 0; cpu < 2 * cores; ++cpu) {
    files.put(text_of("/sys/devices/system/cpu/cpu", cpu, "/topology/core_cpus_list"),
              text_of(cpu % cores, ",", cpu % cores + cores, "\n"));
  }
}

constexpr const char* kMountV2 = "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
constexpr const char* kMountV1 =
    "25 24 0:22 / /proc rw - proc proc rw\n"
    "31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "32 24 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n";

FakeProcess process_on(std::vector<int> cpus) {
  FakeProcess process;
  process.cpus = std::move(cpus);
  return process;
}

TEST(CpuCount, AffinityAndCores) {
  MemoryFiles files;
  put_machine(files, 4);
  const auto threads = [&](std::vector<int> cpus) {
    FakeProcess process = process_on(std::move(cpus));
    return default_threads(files, process);
  };
  EXPECT_EQ(threads({0, 1, 2, 3, 4, 5, 6, 7}), 4);
  EXPECT_EQ(threads({0, 4}), 1);  // one core
  EXPECT_EQ(threads({0, 5}), 2);
  EXPECT_EQ(threads({7}), 1);
  EXPECT_EQ(threads({20, 21, 22}), 3);  // no topology known: a core each

  FakeProcess process = process_on({0, 1, 4});
  const CpuCounts counts = count_cpus(files, process);
  EXPECT_EQ(counts.allowed, 3);
  EXPECT_EQ(counts.cores, 2);
  EXPECT_FALSE(counts.quota);
}

TEST(CpuCount, OldNameOfSiblings) {
  MemoryFiles files;
  for (const char* cpu : {"0", "1"}) {
    files.put(text_of("/sys/devices/system/cpu/cpu", cpu, "/topology/thread_siblings_list"), "0-1\n");
  }
  FakeProcess process = process_on({0, 1});
  EXPECT_EQ(default_threads(files, process), 1);
}

TEST(CpuCount, UnreadableAffinityFallsBack) {
  MemoryFiles files;
  FakeProcess process;
  process.cpus.reset();
  EXPECT_EQ(default_threads(files, process), 1);
  files.put("/sys/devices/system/cpu/online", "0-5\n");
  EXPECT_EQ(default_threads(files, process), 6);
  files.put("/sys/devices/system/cpu/online", "garbage");
  EXPECT_EQ(default_threads(files, process), 1);
}

TEST(CpuCount, QuotaV2) {
  const auto threads = [](const std::string& cpu_max, const std::string& group = "0::/\n") {
    MemoryFiles files;
    files.put("/proc/self/mountinfo", kMountV2);
    files.put("/proc/self/cgroup", group);
    files.put("/sys/fs/cgroup/cpu.max", cpu_max);
    FakeProcess process = process_on({0, 1, 2, 3, 4, 5, 6, 7});
    return default_threads(files, process);
  };
  EXPECT_EQ(threads("max 100000\n"), 8);
  EXPECT_EQ(threads("200000 100000\n"), 2);
  EXPECT_EQ(threads("250000 100000\n"), 3);
  EXPECT_EQ(threads("1000 100000\n"), 1);
  EXPECT_EQ(threads("9900000 100000\n"), 8);
  for (const char* odd :
       {"", "\n", "0 100000", "-1 100000", "100000", "100000 0", "x y", "nan 100000", "inf 1"}) {
    EXPECT_EQ(threads(odd), 8) << odd;
  }
  EXPECT_EQ(threads("200000 100000\n", "0::/../..\n"), 2);  // outside of what is mounted
  EXPECT_EQ(threads("200000 100000\n", "0::\n"), 2);
  EXPECT_EQ(threads("200000 100000\n", "0::odd\n"), 2);
  EXPECT_EQ(threads("200000 100000\n", ""), 8);
}

TEST(CpuCount, QuotaOfAnyAncestor) {
  MemoryFiles files;
  files.put("/proc/self/mountinfo", kMountV2);
  files.put("/proc/self/cgroup", "0::/user.slice/a b/job\n");
  files.put("/sys/fs/cgroup/user.slice/a b/job/cpu.max", "600000 100000\n");
  files.put("/sys/fs/cgroup/user.slice/a b/cpu.max", "max 100000\n");
  files.put("/sys/fs/cgroup/user.slice/cpu.max", "150000 50000\n");
  FakeProcess process = process_on({0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(count_cpus(files, process).quota, 3.0);
  EXPECT_EQ(default_threads(files, process), 3);
}

TEST(CpuCount, ContainerThatSeesAPartOfTheTree) {
  MemoryFiles files;
  files.put("/proc/self/mountinfo", "30 24 0:26 /docker/ab /sys/fs\\040x/cgroup ro - cgroup2 cgroup rw\n");
  files.put("/proc/self/cgroup", "0::/docker/ab/inner\n");
  files.put("/sys/fs x/cgroup/inner/cpu.max", "400000 100000\n");
  files.put("/sys/fs x/cgroup/cpu.max", "300000 100000\n");
  FakeProcess process = process_on({0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(default_threads(files, process), 3);
  // Another container's name that begins alike is not below the root.
  files.put("/proc/self/cgroup", "0::/docker/abc/inner\n");
  EXPECT_EQ(default_threads(files, process), 3);
  files.put("/sys/fs x/cgroup/c/inner/cpu.max", "100000 100000\n");
  EXPECT_EQ(default_threads(files, process), 3);
}

TEST(CpuCount, QuotaV1) {
  MemoryFiles files;
  files.put("/proc/self/mountinfo", kMountV1);
  files.put("/proc/self/cgroup", "5:memory:/other\n4:cpu,cpuacct:/job\n1:cpuset:/\n0::/\n");
  const std::string folder = "/sys/fs/cgroup/cpu,cpuacct/job";
  FakeProcess process = process_on({0, 1, 2, 3});
  EXPECT_EQ(default_threads(files, process), 4);
  files.put(folder + "/cpu.cfs_quota_us", "-1\n");
  files.put(folder + "/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(default_threads(files, process), 4);
  files.put(folder + "/cpu.cfs_quota_us", "110000\n");
  EXPECT_EQ(default_threads(files, process), 2);
  // cpuset is not cpu.
  files.put("/proc/self/cgroup", "1:cpuset:/job\n");
  EXPECT_EQ(default_threads(files, process), 4);
}

TEST(CpuCount, NoFaultIsFatal) {
  MemoryFiles inner;
  put_machine(inner, 2);
  inner.put("/proc/self/mountinfo", kMountV2);
  inner.put("/proc/self/cgroup", "0::/job\n");
  inner.put("/sys/fs/cgroup/job/cpu.max", "100000 100000\n");
  FakeProcess process = process_on({0, 1, 2, 3});
  for (int n = 1;; ++n) {
    FaultyFiles files(inner);
    files.fail_nth(n);
    const int threads = default_threads(files, process);
    EXPECT_GE(threads, 1);
    EXPECT_LE(threads, 4);
    if (files.operations() < n) break;
    ASSERT_LT(n, 100);
  }
}

TEST(CpuCount, OfThisMachine) {
  SystemFileSystem files;
  SystemProcess process;
  const CpuCounts counts = count_cpus(files, process);
  EXPECT_GE(counts.threads, 1);
  EXPECT_LE(counts.threads, counts.cores);
  EXPECT_LE(counts.cores, counts.allowed);
}

}  // namespace
}  // namespace frit::base
