// The kernel ABI as a C kernel sees it: laid out as src/device/kernel_abi.h says.
#pragma once

#include <stdint.h>

typedef struct {
  void* const* buffers;
  const int64_t* sizes;
  int64_t first_tile;
  int64_t last_tile;
  void* scratch;
  int64_t* error;
} KernelArgs;
