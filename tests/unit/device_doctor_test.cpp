#include "device/doctor.h"

#include <gtest/gtest.h>

#include <set>

#include "device/shared_libraries.h"
#include "support/fake_seams.h"

namespace frit::device {
namespace {

const std::string kFakeCuda = std::string(FRIT_TEST_FAKE_CODEGEN) + "/libfake_cuda.so";
const std::string kFakeCodegen = std::string(FRIT_TEST_FAKE_CODEGEN) + "/libfake_codegen.so";

class DoctorTest : public testing::Test {
 protected:
  const DoctorRow& row(const char* topic) {
    const DoctorRow* row = report_.row(topic);
    static const DoctorRow none;
    EXPECT_NE(row, nullptr) << topic;
    return row ? *row : none;
  }
  void examine_machine(const DoctorOptions& options = {}) {
    report_ = examine(files_, process_, environment_, options);
  }

  fakes::MemoryFiles files_;
  fakes::FakeProcess process_;
  fakes::FakeEnvironment environment_;
  DoctorReport report_;
};

TEST_F(DoctorTest, ThisMachineIsDescribed) {
  base::SystemFileSystem files;
  base::SystemProcess process;
  report_ = examine(files, process, environment_);
  std::set<std::string> topics;
  for (const DoctorRow& r : report_.rows) {
    EXPECT_TRUE(topics.insert(r.topic).second) << r.topic;
    EXPECT_FALSE(r.value.empty()) << r.topic;
  }
  EXPECT_EQ(topics, (std::set<std::string>{"isa", "caches", "threads", "huge_pages", "executable_memory",
                                           "codegen", "cuda_driver", "nvrtc"}));
  EXPECT_EQ(report_.host, host_target());
  EXPECT_GE(report_.threads, 1);
  EXPECT_EQ(row("executable_memory").verdict, Verdict::kGood);
  EXPECT_EQ(row("executable_memory").value, "works, by changing protection");
  EXPECT_EQ(row("isa").details.at(0), report_.host.feature_text());
  EXPECT_EQ(report_.row("weather"), nullptr);
}

TEST_F(DoctorTest, ThreadsAndCachesComeFromTheSeams) {
  process_.cpus = std::vector<int>{0, 1, 2};
  files_.put("/sys/devices/system/cpu/cpu0/cache/index0/level", "1\n");
  files_.put("/sys/devices/system/cpu/cpu0/cache/index0/type", "Data\n");
  files_.put("/sys/devices/system/cpu/cpu0/cache/index0/size", "48K\n");
  examine_machine();
  EXPECT_EQ(row("caches").value.substr(0, 12), "L1d 48 KiB, ");
  EXPECT_EQ(report_.threads, 3);
  EXPECT_EQ(row("threads").value,
            "3 threads by default: 3 allowed by affinity, 3 physical cores, no limit by control groups");
}

TEST_F(DoctorTest, HugePages) {
  const std::string path = "/sys/kernel/mm/transparent_hugepage/enabled";
  examine_machine();
  EXPECT_EQ(row("huge_pages").verdict, Verdict::kNote);
  files_.put(path, "always [madvise] never\n");
  examine_machine();
  EXPECT_EQ(row("huge_pages").verdict, Verdict::kGood);
  EXPECT_EQ(row("huge_pages").value, "madvise");
  files_.put(path, "always madvise [never]\n");
  examine_machine();
  EXPECT_EQ(row("huge_pages").verdict, Verdict::kNote);
  EXPECT_EQ(row("huge_pages").value, "never");
  EXPECT_FALSE(row("huge_pages").hint.empty());
  for (const char* odd : {"", "[", "]", "]never[", "never"}) {
    files_.put(path, odd);
    examine_machine();
    EXPECT_EQ(row("huge_pages").value, "the setting cannot be read") << odd;
  }
}

TEST_F(DoctorTest, ExecutableMemoryByEitherWay) {
  DoctorOptions options;
  options.memory = ExecutablePolicy::kDual;
  examine_machine(options);
  EXPECT_EQ(row("executable_memory").verdict, Verdict::kGood);
  EXPECT_EQ(row("executable_memory").value, "works, by mapping a memory file twice");
}

TEST_F(DoctorTest, CompilerFoundAndMissing) {
  DoctorOptions options;
  options.codegen = kFakeCodegen;
  examine_machine(options);
  EXPECT_EQ(row("codegen").verdict, Verdict::kGood);
  EXPECT_EQ(row("codegen").value, kFakeCodegen + ", fake 1");
  options.codegen = "/nowhere/lib.so";
  examine_machine(options);
  EXPECT_EQ(row("codegen").verdict, Verdict::kNote);
  EXPECT_NE(row("codegen").details.at(0).find("/nowhere/lib.so"), std::string::npos);
}

TEST_F(DoctorTest, CudaLibrariesWithEachPathTried) {
  environment_.values["FRIT_CUDA_DRIVER"] = kFakeCuda;
  environment_.values["FRIT_NVRTC"] = kFakeCuda;
  examine_machine();
  EXPECT_EQ(row("cuda_driver").verdict, Verdict::kGood);
  EXPECT_EQ(row("cuda_driver").value, kFakeCuda + ", version 12.8");
  EXPECT_EQ(row("cuda_driver").details, std::vector<std::string>{kFakeCuda + ": opened"});
  EXPECT_EQ(row("nvrtc").value, kFakeCuda + ", version 13.1");
}

TEST_F(DoctorTest, ProbesListWhatFailed) {
  const LibraryProbe probe =
      probe_nvrtc({"/nowhere/libnvrtc.so", "libfrit-no-such-library.so.9", kFakeCuda, "unseen"});
  EXPECT_TRUE(probe.found());
  EXPECT_EQ(probe.path, kFakeCuda);
  ASSERT_EQ(probe.attempts.size(), 3u);
  EXPECT_NE(probe.attempts[0].error.find("cannot open shared object file"), std::string::npos);
  EXPECT_NE(probe.attempts[1].error.find("cannot open shared object file"), std::string::npos);
  EXPECT_EQ(probe.attempts[2].error, "");
  // A library without the function has no version, and is found all the same.
  const LibraryProbe other = probe_nvrtc({kFakeCodegen});
  EXPECT_TRUE(other.found());
  EXPECT_EQ(other.version, "");
  EXPECT_FALSE(probe_cuda_driver({}).found());
}

TEST_F(DoctorTest, PlacesToLook) {
  const std::vector<std::string> plain = nvrtc_candidates(environment_, files_);
  EXPECT_EQ(plain[0], "libnvrtc.so.13");
  environment_.values = {{"FRIT_NVRTC", "/a/nvrtc.so"}, {"CUDA_HOME", "/opt/cuda"}, {"CUDA_PATH", ""}};
  const std::vector<std::string> more = nvrtc_candidates(environment_, files_);
  EXPECT_EQ(more.size(), plain.size() + 4);
  EXPECT_EQ(more[0], "/a/nvrtc.so");
  EXPECT_EQ(more[4], "/opt/cuda/lib64/libnvrtc.so.13");
  EXPECT_EQ(cuda_driver_candidates(environment_)[0], "libcuda.so.1");

  // The wheel beside a Python.
  const std::string wheel = "/venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12";
  ASSERT_TRUE(files_.make_folders("/venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib", 0755).ok());
  ASSERT_TRUE(files_.write_atomic(wheel, "elf").ok());
  environment_.values = {{"FRIT_PYTHON", "/venv/bin/python"}};
  EXPECT_EQ(nvrtc_candidates(environment_, files_).back(), wheel);
  for (const char* odd : {"python3", "/python", "/"}) {
    environment_.values = {{"FRIT_PYTHON", odd}};
    EXPECT_EQ(nvrtc_candidates(environment_, files_).size(), plain.size()) << odd;
  }
}

}  // namespace
}  // namespace frit::device
