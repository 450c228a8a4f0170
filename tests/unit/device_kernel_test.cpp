#include "device/kernel.h"

#include <gtest/gtest.h>

#include <cfenv>

#include "device/mxcsr.h"
#include "unit/device_objects.h"

namespace frit::device {
namespace {

std::shared_ptr<const LoadedObject> load_kernel_object() {
  Result<ObjectLoader> loader = ObjectLoader::make();
  EXPECT_TRUE(loader.ok());
  auto object = loader->load(read_object("host", "kernel"));
  EXPECT_TRUE(object.ok()) << object.error().text();
  return *object;
}

TEST(Kernel, LaunchesAndKeepsItsCode) {
  KernelShape shape;
  shape.buffers = 2;
  shape.tiles = 4;
  const auto kernel = Kernel::make(load_kernel_object(), "frit_test_kernel", shape);
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  EXPECT_EQ((*kernel)->name(), "frit_test_kernel");
  EXPECT_EQ((*kernel)->shape().tiles, 4);
  float x[4] = {1, 2, std::numeric_limits<float>::quiet_NaN(), 4}, y[4] = {};
  void* buffers[] = {x, y};
  int64_t error[kErrorWords] = {};
  EXPECT_EQ((*kernel)->launch({buffers, nullptr, 0, 2, nullptr, error}), KernelStatus::kOk);
  EXPECT_EQ(y[1], expected_element(2, 1));
  EXPECT_EQ((*kernel)->launch({buffers, nullptr, 0, 4, nullptr, error}), KernelStatus::kBadValue);
  EXPECT_EQ(describe_kernel_error(error), "value 2 is not allowed");
}

TEST(Kernel, MissingSymbolIsAnError) {
  const auto kernel = Kernel::make(load_kernel_object(), "frit_test_other", {});
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code, Code::kCorrupt);
  EXPECT_EQ(kernel.error().message, "object: no symbol \"frit_test_other\"");
}

TEST(Kernel, ErrorsHaveSentences) {
  const auto text = [](int64_t code, int64_t value, int64_t bound) {
    const int64_t words[kErrorWords] = {code, value, bound};
    return describe_kernel_error(words);
  };
  EXPECT_EQ(text(0, 0, 0), "no error");
  EXPECT_EQ(text(1, -9, 8), "index -9 is out of range for 8 elements");
  EXPECT_EQ(text(1, 3, 1), "index 3 is out of range for 1 element");
  EXPECT_EQ(text(2, 0, 0), "integer division by zero");
  EXPECT_EQ(text(3, INT64_MIN, 0), "value -9223372036854775808 is not allowed");
  EXPECT_EQ(text(77, 5, 0), "kernel error 77, value 5");
}

// Half of the smallest normal number; volatile, so that the processor computes it.
bool keeps_denormals() {
  volatile float smallest = std::numeric_limits<float>::min();
  volatile float half = smallest * 0.5f;
  volatile float denormal = std::numeric_limits<float>::denorm_min();
  volatile float sum = denormal + 0.0f;
  EXPECT_EQ(half == 0.0f, sum == 0.0f);
  return half != 0.0f;
}

TEST(FlushDenormals, SetsAndRestores) {
  ASSERT_TRUE(keeps_denormals());
  {
    const FlushDenormals flush;
    EXPECT_FALSE(keeps_denormals());
    {
      const FlushDenormals again;
      EXPECT_FALSE(keeps_denormals());
      const FlushDenormals strict(false);
      EXPECT_TRUE(keeps_denormals());
    }
    EXPECT_FALSE(keeps_denormals());
  }
  EXPECT_TRUE(keeps_denormals());
}

TEST(FlushDenormals, LeavesRoundingAndFlagsToTheCaller) {
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  std::feclearexcept(FE_ALL_EXCEPT);
  std::feraiseexcept(FE_DIVBYZERO);
  {
    const FlushDenormals flush;
    EXPECT_EQ(std::fegetround(), FE_UPWARD);
    std::feraiseexcept(FE_INEXACT);
  }
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  EXPECT_TRUE(std::fetestexcept(FE_DIVBYZERO));
  EXPECT_TRUE(std::fetestexcept(FE_INEXACT)) << "what the run raised is not taken back";
  std::fesetround(FE_TONEAREST);
  std::feclearexcept(FE_ALL_EXCEPT);
}

}  // namespace
}  // namespace frit::device
