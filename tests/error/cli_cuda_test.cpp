// frit explain for GPUs: what it prints without a GPU, and what it says where there is nothing to print.
#include <gtest/gtest.h>

#include <string>

#include "support/cli.h"

namespace frit {
namespace {

using testing::Cli;
using testing::Ran;

class CliCuda : public Cli {
 protected:
  static Ran explain(const std::string& rest, const std::string& model = "mlp.onnx") {
    return run("explain " + path(model) + " " + rest);
  }
};

TEST_F(CliCuda, EachStepOfTheLowering) {
  for (const std::string target : {"cuda:sm_80", "cuda:sm_90", "cuda:sm_120"}) {
    const std::string kernel = "--kernel 0 --target " + target;
    const Ran cuda = explain(kernel + " --emit cuda");
    ASSERT_EQ(cuda.code, 0) << cuda.err;
    EXPECT_NE(cuda.out.find("extern \"C\" __global__ void __launch_bounds__("), std::string::npos);
    EXPECT_NE(cuda.out.find("typedef float f32;"), std::string::npos);
    EXPECT_NE(cuda.err.find("bytes of shared memory"), std::string::npos) << cuda.err;
    const Ran loop = explain(kernel + " --emit loop");
    EXPECT_NE(loop.out.find("gpu_block.0"), std::string::npos) << loop.out;
    EXPECT_NE(explain(kernel + " --emit graph").out.find("matmul"), std::string::npos);
    EXPECT_NE(explain(kernel + " --space").out.find("rows of the result per block"), std::string::npos);
    const Ran ptx = explain(kernel + " --emit ptx --nvrtc /nowhere/libnvrtc.so");  // then the other places
    if (ptx.code == 0) {
      EXPECT_NE(ptx.out.find(".target sm_" + target.substr(8)), std::string::npos);
    } else {
      EXPECT_EQ(ptx.code, 1);
      EXPECT_TRUE(ptx.says("NVRTC") && ptx.says("/nowhere/libnvrtc.so: ")) << ptx.err;
    }
  }
  EXPECT_EQ(explain("--groups --target cuda:sm_90").code, 0);
}

TEST_F(CliCuda, WrongUse) {
  const Ran no_target = explain("--kernel 0 --emit cuda");
  EXPECT_EQ(no_target.code, 2);
  EXPECT_TRUE(no_target.says("--target cuda:sm_80, cuda:sm_90, cuda:sm_120")) << no_target.err;
  EXPECT_EQ(explain("--kernel 0 --emit ptx --target cpu:x86-64-v3").code, 2);
  const Ran llvm = explain("--kernel 0 --emit llvm --target cuda:sm_90");
  EXPECT_EQ(llvm.code, 2);
  EXPECT_TRUE(llvm.says("is for CPUs")) << llvm.err;
  const Ran unknown = explain("--kernel 0 --emit cuda --target cuda:sm_35");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(unknown.says("known: cuda:sm_80, cuda:sm_90, cuda:sm_120")) << unknown.err;
  const Ran running = run("run " + path("mlp.onnx") + " --target cuda:sm_90");
  EXPECT_EQ(running.code, 1);
  EXPECT_TRUE(running.says("not run yet")) << running.err;
}

// Convolutions have no GPU schedule yet.
TEST_F(CliCuda, AFamilyWithoutAScheduleIsNamed) {
  ASSERT_EQ(run("zoo make mobilenet_v2 -o " + path("conv.onnx")).code, 0);
  const Ran first = explain("--kernel 0 --emit cuda --target cuda:sm_90", "conv.onnx");
  EXPECT_EQ(first.code, 1);
  EXPECT_TRUE(first.says("group 0 is for the family conv, which has no GPU schedule")) << first.err;
  EXPECT_TRUE(first.says("hint: pointwise, reduce, normalize and matmul have one")) << first.err;
  const Ran groups = explain("--groups --target cuda:sm_90", "conv.onnx");
  EXPECT_EQ(groups.code, 0) << groups.err;
  EXPECT_NE(groups.out.find("no GPU schedule"), std::string::npos);
  EXPECT_NE(groups.out.find("pointwise"), std::string::npos);
}

}  // namespace
}  // namespace frit
