// Where a kernel's stack buffers live: small ones on the machine stack, larger ones in the worker's scratch
// memory. The emitter places them by it and Builder::finish takes LoopFn::scratch_bytes from it, so that the
// two agree.
#pragma once

#include <cstdint>
#include <vector>

#include "loop/ir.h"

namespace frit::loop {

constexpr int64_t kMaxStackBufferBytes = 4096;

struct ScratchLayout {
  std::vector<int64_t> offsets;  // per buffer id; -1: not in scratch
  int64_t bytes = 0;             // of all of them, a multiple of 64
};
// Buffers of nested allocs lie one behind the other at multiples of 64; those whose scopes do not overlap
// share memory.
ScratchLayout scratch_layout(const LoopFn& fn);

}  // namespace frit::loop
