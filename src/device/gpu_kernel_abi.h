// The border between frit and the GPU code it generates: what a CUDA kernel is launched with and what it
// answers. The GPU's counterpart of kernel_abi.h, versioned like it: cached cubins outlive the process that
// made them.
//
// A kernel is one extern "C" function, frit_<family>_<hash>, the only one of its module. Its parameters, 8
// bytes each:
//   - one device pointer per buffer argument, in the order of the LoopFn's signature, aligned to
//   kGpuBufferAlignment
//     (every tensor on a GPU is allocated by frit);
//   - one int64 per run-time size, in order;
//   - the device pointer of its error words: kErrorWords int64, all 0 before the launch.
// Grid, block and dynamic shared memory are those of loop::gpu_launch; a grid without blocks is not launched.
// The first thread that finds bad data claims the error words (code, value, bound: kernel_abi.h) and ends;
// other threads and blocks may go on, so that the outputs are undefined. Later finds are lost. On good data
// the words stay untouched.
//
// A kernel touches only its buffers, its shared memory and the error words, holds no state between launches,
// and never reads or writes outside of its buffers, whatever the run-time data.
#pragma once

#include <cstdint>

#include "device/kernel_abi.h"

namespace frit::device {

inline constexpr int32_t kGpuKernelAbiVersion = 1;
inline constexpr int64_t kGpuBufferAlignment = 256;

}  // namespace frit::device
