// The loader on AArch64, under an emulator: relocations, instruction cache, and the runner that families'
// tests use.
#include <unistd.h>

#include <cstring>
#include <span>

#include "support/aarch64_runner.h"
#include "unit/device_objects.h"

namespace frit::device {
namespace {

class Aarch64Test : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "frit_aarch64_" + std::to_string(getpid());
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string run(aarch64::Run& run) {
    return aarch64::run(run, FRIT_TEST_EMULATOR, FRIT_TEST_RUNNER, folder_);
  }

  std::string folder_;
};

aarch64::Run kernel_run(const std::string& symbol, std::vector<float> x) {
  aarch64::Run run;
  run.object = object_path("aarch64", "kernel");
  run.symbol = symbol;
  run.last_tile = static_cast<int64_t>(x.size());
  const std::span<const std::byte> bytes = std::as_bytes(std::span(x));
  run.buffers = {{bytes.begin(), bytes.end()}, std::vector<std::byte>(bytes.size())};
  return run;
}

TEST_F(Aarch64Test, KernelComputesTheSame) {
  for (const char* symbol : {"frit_test_kernel", "frit_test_forward"}) {
    std::vector<float> x;
    for (int i = 0; i < 53; ++i) x.push_back(static_cast<float>(i) * 0.5f - 7);
    aarch64::Run kernel = kernel_run(symbol, x);
    kernel.offsets = {4, 12};
    ASSERT_EQ(run(kernel), "");
    EXPECT_EQ(kernel.status, 0);
    for (size_t i = 0; i < x.size(); ++i) {
      float y = 0;
      std::memcpy(&y, kernel.buffers[1].data() + 4 * i, 4);
      EXPECT_EQ(y, expected_element(x[i], static_cast<int64_t>(i))) << i;
    }
  }
}

TEST_F(Aarch64Test, JumpTablesAndErrorWords) {
  for (int64_t which = 0; which < 8; ++which) {
    aarch64::Run choose;
    choose.object = object_path("aarch64", "kernel");
    choose.symbol = "frit_test_choose";
    choose.first_tile = which;
    choose.last_tile = 13;
    choose.sizes = {1, 2, 3};
    choose.scratch_bytes = 128;
    ASSERT_EQ(run(choose), "");
    EXPECT_EQ(choose.status, expected_choice(which, 13)) << which;
  }
  aarch64::Run bad = kernel_run("frit_test_kernel", {1, 2, std::numeric_limits<float>::quiet_NaN()});
  ASSERT_EQ(run(bad), "");
  EXPECT_EQ(bad.status, 3);
  EXPECT_EQ(bad.error[kErrorCode], 3);
  EXPECT_EQ(bad.error[kErrorValue], 2);
}

TEST_F(Aarch64Test, GuardedBuffersSeeStrayAccess) {
  aarch64::Run kernel = kernel_run("frit_test_kernel", {1, 2, 3, 4, 5});
  for (const char* guard : {"front4", "end4"}) {
    kernel.guards = {guard, guard};
    EXPECT_EQ(run(kernel), "") << guard;
  }
  // Told of more elements than there are, it runs into the page behind its input.
  kernel.last_tile = 4096;
  EXPECT_NE(run(kernel), "");
}

TEST_F(Aarch64Test, RefusalsComeBackAsText) {
  aarch64::Run external;
  external.object = object_path("aarch64", "external");
  external.symbol = "frit_test_external";
  EXPECT_NE(run(external).find("undefined symbol \"expf\""), std::string::npos);
  aarch64::Run other = kernel_run("frit_no_such", {1});
  EXPECT_NE(run(other).find("no symbol frit_no_such"), std::string::npos);
}

#if defined(__x86_64__)
TEST_F(Aarch64Test, ForeignObjectsAreRefused) {
  aarch64::Run foreign;
  foreign.object = object_path("host", "kernel");
  foreign.symbol = "frit_test_kernel";
  const std::string answer = run(foreign);
  EXPECT_NE(answer.find("is for x86_64, this machine is aarch64"), std::string::npos) << answer;
}
#endif

}  // namespace
}  // namespace frit::device
