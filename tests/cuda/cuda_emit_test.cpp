// Emission of CUDA C++: the text of small functions, the launch they stand for, and what cannot be launched.
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/cuda/cubin.h"
#include "codegen/cuda/emit.h"
#include "codegen/cuda/nvrtc.h"
#include "loop/text.h"
#include "loop/verify.h"

namespace frit::codegen {
namespace {

loop::LoopFn parsed(const std::string& text) {
  auto fn = loop::parse_loop_fn(text);
  EXPECT_TRUE(fn.ok()) << fn.error().text();
  EXPECT_TRUE(loop::verify(*fn).ok()) << loop::verify(*fn).error().text();
  return *std::move(fn);
}

// The kernel without the prelude.
std::string kernel_of(const std::string& text) {
  auto kernel = emit_cuda(parsed(text));
  EXPECT_TRUE(kernel.ok()) << kernel.error().text();
  if (!kernel.ok()) return {};
  const std::string prelude = cuda_prelude();
  EXPECT_EQ(kernel->source.substr(0, prelude.size()), prelude);
  return kernel->source.substr(prelude.size());
}

constexpr const char* kScale = R"(fn pointwise sizes=0 scratch=0 gpu {
  arg b0 f32[1024] read align=256
  arg b1 f32[1024] write align=256
  for v0 = 0..2 step 1 gpu_block.0 {
    for v1 = 0..128 step 1 gpu_thread.0 {
      let v2 = ((v0 * 128) + v1)
      let v3 = b0[(v2 * 4)].4
      b1[(v2 * 4)] = fma(v3, splat.4(2.0), splat.4(1.5))
    }
  }
}
)";

TEST(CudaEmit, AVectorMovesInOneAccess) {
  const auto kernel = emit_cuda(parsed(kScale));
  ASSERT_TRUE(kernel.ok()) << kernel.error().text();
  EXPECT_EQ(kernel->launch.threads(), 128);
  EXPECT_EQ(kernel->launch.shared_bytes, 0);
  EXPECT_EQ(kernel->symbol, loop::kernel_symbol("pointwise", loop::print(parsed(kScale))));
  EXPECT_EQ(kernel_of(kScale), "extern \"C\" __global__ void __launch_bounds__(128)\n" + kernel->symbol +
                                   R"((const f32* __restrict__ b0, f32* __restrict__ b1, i64* error) {
  {
    const i32 v0 = (i32)blockIdx.x;
    {
      const i32 v1 = (i32)threadIdx.x;
      const i32 v2 = ((v0 * 128) + v1);
      const i32 t0 = (v2 * 4);
      const Pack<f32, 4> t1 = load_pack<4>(b0 + t0);
      store_pack(b1 + t0, Pack<f32, 4>{{fused(t1.v[0], 2.0f, 1.5f), fused(t1.v[1], 2.0f, 1.5f), fused(t1.v[2], 2.0f, 1.5f), fused(t1.v[3], 2.0f, 1.5f)}});
    }
  }
}
)");
}

TEST(CudaEmit, TheTextDoesNotDependOnHowAFunctionWasBuilt) {
  const loop::LoopFn fn = parsed(kScale);
  const loop::LoopFn again = parsed(loop::print(fn));
  EXPECT_EQ(emit_cuda(fn)->source, emit_cuda(again)->source);
}

TEST(CudaEmit, SharedMemoryBarriersMasksAndFailures) {
  const std::string text = kernel_of(R"(fn t sizes=1 scratch=0 gpu {
  arg b0 i64[s0] read align=256
  arg b1 f32[s0] read_write align=256 alias=2
  arg b2 f32[s0] read align=256 alias=1
  for v0 = 0..s0 step 1 gpu_block.1 {
    alloc b3 f32[64] shared align=64 {
      alloc b4 bool[64] shared align=64 {
        for v1 = 0..64 step 1 gpu_thread.0 {
          let v2 = b0[v0]
          fail 1 if (v2 >= s0) with v2, s0
          b3[v1] = b2[v1, (v1 < s0)]
          b4[v1] = (b3[v1] != b3[v1])
          barrier
          for v3 = 0..v2 step 1 {
            b1[0, b4[v1]] = (b1[0] + min(b3[(63 - v1)], inf))
          }
        }
      }
    }
  }
}
)");
  const auto has = [&](const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
  };
  has("(const i64* __restrict__ b0, f32* b1, const f32* b2, i64 s0, i64* error)");
  has("extern __shared__ __align__(128) u8 shared[];");
  has("f32* const b3 = (f32*)(shared + 0);");
  has("u8* const b4 = (u8*)(shared + 256);");
  has("const i64 v0 = (i64)blockIdx.y;");
  has("  fail(error, 1, ");
  has("  return;");
  has("((v1 < s0) ? b2[v1] : 0.0f)");
  has("b4[v1] = ");
  has("barrier();");
  has("nan_min<f32>(");
  has("bits_as<f32>(2139095040u)");
  has("if ((b4[v1] != 0)) b1[0] = ");
}

// Integer data wraps, indices do not need to; small indices are held in 32 bits.
TEST(CudaEmit, IntegersOfDataWrapAndIndicesAreSmall) {
  const std::string text = kernel_of(R"(fn t sizes=0 scratch=0 gpu {
  arg b0 i32[4096] read align=256
  arg b1 i32[4096] write align=256
  for v0 = 0..64 step 1 gpu_block.0 {
    for v1 = 0..64 step 1 gpu_thread.0 {
      let v2 = b0[((v0 * 64) + v1)]
      b1[((floor_mod(v0, 7) * 64) + v1)] = ((v2 * v2) + floor_div(v2, 3:i32))
    }
  }
}
)");
  EXPECT_NE(text.find("wrap_add<i32>(wrap_mul<i32>(v2, v2), floor_div<i32>(v2, 3))"), std::string::npos)
      << text;
  EXPECT_NE(text.find("whole_mod<i32>(v0, 7)"), std::string::npos) << text;
  EXPECT_EQ(text.find("i64)"), std::string::npos) << text;
}

TEST(CudaEmit, WhatCannotBeLaunchedIsRefused) {
  const auto refused = [](const std::string& body, const char* why) {
    const loop::LoopFn fn =
        parsed("fn t sizes=0 scratch=0 gpu {\n  arg b0 f32[64] write align=256\n" + body + "}\n");
    const auto launch = loop::gpu_launch(fn);
    ASSERT_FALSE(launch.ok()) << body;
    EXPECT_EQ(launch.error().code, Code::kUnsupported);
    EXPECT_NE(launch.error().text().find(why), std::string::npos) << launch.error().text();
    EXPECT_FALSE(emit_cuda(fn).ok());
  };
  refused("b0[0] = 1.0\n", "stands outside of the threads");
  refused("for v0 = 0..4 step 1 {\nb0[v0] = 1.0\n}\n", "is a loop outside of the threads");
  refused("for v0 = 0..4 step 1 gpu_thread.0 {\nfor v1 = 0..2 step 1 gpu_thread.0 {\nb0[v1] = 1.0\n}\n}\n",
          "inside of another thread loop");
  refused("for v0 = 0..4 step 2 gpu_thread.0 {\nb0[v0] = 1.0\n}\n", "steps of 1");
  refused(
      "for v0 = 0..2 step 1 gpu_block.0 {\nfor v1 = 0..2 step 1 gpu_block.0 {\nfor v2 = 0..2 step 1 "
      "gpu_thread.0 {\nb0[v2] = 1.0\n}\n}\n}\n",
      "second block loop of its axis");
  refused(
      "for v0 = 0..4 step 1 gpu_thread.0 {\nb0[v0] = 1.0\n}\nfor v1 = 0..2 step 1 gpu_thread.0 {\nb0[v1] = "
      "1.0\n}\n",
      "differs in extent");
  refused(
      "for v0 = 0..4 step 1 gpu_thread.1 {\nb0[v0] = 1.0\nfor v1 = 0..2 step 1 gpu_thread.0 {\nb0[v1] = "
      "1.0\n}\n}\n",
      "outside of the innermost threads");
  refused("tile v9 < 4\nfor v0 = 0..4 step 1 gpu_thread.0 {\nb0[v0] = 1.0\n}\n", "has tiles");
}

TEST(Nvrtc, EachPathIsReported) {
  const auto nothing = Nvrtc::open({});
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().code, Code::kNotFound);
  EXPECT_FALSE(nothing.error().hint.empty());
  // A library that has the version, but cannot compile.
  const auto missing = Nvrtc::open({"/nowhere/libnvrtc.so", FRIT_TEST_FAKE_CUDA});
  ASSERT_FALSE(missing.ok());
  const std::string text = missing.error().text();
  EXPECT_NE(text.find("/nowhere/libnvrtc.so: cannot open shared object file"), std::string::npos) << text;
  EXPECT_NE(text.find(FRIT_TEST_FAKE_CUDA ": has no nvrtcCreateProgram"), std::string::npos) << text;
}

TEST(Nvrtc, OptionsFollowTheNumerics) {
  const device::GpuArch& arch = *device::find_gpu_arch(90);
  const auto has = [](const std::vector<std::string>& options, const char* option) {
    return std::find(options.begin(), options.end(), option) != options.end();
  };
  for (const Numerics numerics : {Numerics::kStrict, Numerics::kDefault, Numerics::kFast}) {
    const auto options = nvrtc_options(arch, numerics, NvrtcOutput::kCubin);
    EXPECT_TRUE(has(options, "--gpu-architecture=sm_90"));
    EXPECT_TRUE(has(options, "--fmad=false"));
    EXPECT_TRUE(has(options, "--prec-div=true"));
    EXPECT_TRUE(has(options, numerics == Numerics::kStrict ? "--ftz=false" : "--ftz=true"));
    for (const auto& option : options) EXPECT_EQ(option.find("fast-math"), std::string::npos);
  }
  EXPECT_TRUE(
      has(nvrtc_options(arch, Numerics::kDefault, NvrtcOutput::kPtx), "--gpu-architecture=compute_90"));
}

TEST(Cubin, GarbageIsCorrupt) {
  for (const std::string& bytes : {std::string(),
                                   std::string("\x7f"
                                               "ELF"),
                                   std::string(64, '\0'), std::string(4096, '\xff')}) {
    const auto read = read_cubin(bytes);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code, Code::kCorrupt);
  }
}

TEST(Cubin, LimitsOfTheArchitectureHold) {
  const device::GpuArch& arch = *device::find_gpu_arch(120);
  CubinKernel kernel;
  kernel.symbol = "frit_t";
  kernel.sm = 120;
  kernel.registers = 64;
  kernel.max_threads = 256;
  loop::GpuLaunch launch;
  launch.block = {256, 1, 1};
  EXPECT_TRUE(check_cubin(kernel, launch, arch).ok());
  launch.shared_bytes = 200 * 1024;
  EXPECT_NE(check_cubin(kernel, launch, arch).error().text().find("shared memory per block"),
            std::string::npos);
  launch.shared_bytes = 0;
  launch.block = {512, 1, 1};
  EXPECT_NE(check_cubin(kernel, launch, arch).error().text().find("compiled for 256"), std::string::npos);
  launch.block = {256, 1, 1};
  kernel.registers = 256;
  EXPECT_NE(check_cubin(kernel, launch, arch).error().text().find("registers per thread is 256"),
            std::string::npos);
  kernel.registers = 64;
  kernel.sm = 90;
  EXPECT_EQ(check_cubin(kernel, launch, arch).error().code, Code::kDevice);
}

}  // namespace
}  // namespace frit::codegen
