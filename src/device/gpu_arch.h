// What a GPU architecture allows and typically reaches: the limits table that schedules choose by and that
// cubins are checked against, so that both run with no device and no toolkit.
//
// Limits are NVIDIA's, per compute capability (CUDA C++ Programming Guide, cuda_occupancy.h of CUDA 13).
// Figures of speed are those of a typical chip; they rank choices and never enter a key. It must not know
// what a kernel computes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "frit/result.h"

namespace frit::device {

struct GpuArch {
  int32_t sm = 0;  // 80, 90, 120: compute capability without its point
  const char* chips = "";

  // Limits.
  int32_t warps_per_sm = 0;
  int32_t blocks_per_sm = 0;
  int64_t shared_per_sm = 0;     // bytes, of all blocks on one multiprocessor, with what the driver reserves
  int64_t shared_per_block = 0;  // bytes that one block may ask for (opt-in above 48 KiB)
  int64_t shared_reserved = 0;   // bytes per block that the driver takes
  int32_t registers_per_sm = 65536;
  int32_t registers_per_thread = 255;
  int32_t threads_per_block = 1024;

  // Typical figures.
  int32_t sm_count = 0;
  double flops = 0;             // fp32 multiply-adds, counted twice, of the whole chip
  double bytes_per_second = 0;  // to and from its memory
  double launch_seconds = 0;    // one more kernel in a graph of launches

  std::string name() const;  // "sm_90"
};

// Ascending by sm.
std::span<const GpuArch> gpu_archs();
// Null where there is no such row.
const GpuArch* find_gpu_arch(int32_t sm);

// How a kernel is launched and what it takes, as far as the limits ask.
struct GpuUse {
  int64_t threads = 0;       // of a block
  int64_t registers = 0;     // of a thread
  int64_t shared_bytes = 0;  // of a block, static and dynamic
};

// Ok when one block of it can run on the architecture, else an error that names the limit.
Status check_launch(const GpuArch& arch, const GpuUse& use);
// Blocks that one multiprocessor holds at once; 0 where the launch is not feasible.
int32_t blocks_per_sm(const GpuArch& arch, const GpuUse& use);

}  // namespace frit::device
