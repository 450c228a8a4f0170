// What a cubin says about the kernel in it: registers, stack, shared memory, threads. Read from its ELF
// sections, so that it can be checked against a GPU's limits without GPU, driver or toolkit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "device/gpu_arch.h"
#include "frit/result.h"
#include "loop/gpu.h"

namespace frit::codegen {

struct CubinKernel {
  std::string symbol;
  int32_t sm = 0;
  int32_t registers = 0;       // of a thread
  int64_t stack_bytes = 0;     // of a thread: arrays with run-time indices, and registers that were spilled
  int64_t shared_bytes = 0;    // of a block, static; what the driver reserves included
  int64_t constant_bytes = 0;  // of all constant banks
  int64_t code_bytes = 0;
  int32_t max_threads = 0;  // of a block that it was compiled for; 0: not said
  int32_t barriers = 0;
};

// The one kernel of a cubin. kCorrupt where the bytes are no cubin or hold another number of kernels.
Result<CubinKernel> read_cubin(std::string_view bytes);

// Ok when one block of the launch can run on the architecture.
Status check_cubin(const CubinKernel& kernel, const loop::GpuLaunch& launch, const device::GpuArch& arch);

}  // namespace frit::codegen
