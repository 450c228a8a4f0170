// LoopFn -> CUDA C++: one self-contained text, the device prelude and one kernel that follows
// src/device/gpu_kernel_abi.h.
//
// Vectors become scalars, one per lane; memory is accessed in packs where alignment is proven; unrolled loops
// stay loops under a pragma; register buffers become arrays that the compiler dissolves. The text is the same
// for equal canonical texts of the function. It knows neither families nor NVRTC.
#pragma once

#include <string>

#include "frit/result.h"
#include "loop/gpu.h"
#include "loop/ir.h"

namespace frit::codegen {

struct CudaKernel {
  std::string symbol;  // frit_<family>_<hash>
  std::string source;  // prelude included
  loop::GpuLaunch launch;
};

// Takes what loop::verify accepts. kUnsupported where loop::gpu_launch has no launch for it.
Result<CudaKernel> emit_cuda(const loop::LoopFn& fn);

// The device prelude (prelude.cuh), as it stands before every kernel.
const char* cuda_prelude();

}  // namespace frit::codegen
