// The launch that a gpu LoopFn stands for: its grid, its block, and where its shared buffers lie in the
// block's memory.
//
// One place for whoever emits, checks or launches a kernel, so that they agree. The form that a launch can
// express is narrower than what the interpreter runs: block loops are the outermost loops, one per axis;
// thread loops have constant extents; both count from 0 in steps of 1; between the thread loops of a block
// only lets and barriers stand.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "frit/result.h"
#include "loop/ir.h"

namespace frit::loop {

struct GpuLaunch {
  std::array<Expr, 3> grid = {};             // blocks along x, y, z: over constants and sizes; none: 1
  std::array<int64_t, 3> block = {1, 1, 1};  // threads along x, y, z
  std::vector<int64_t> shared_offsets;       // per buffer id, in bytes; -1: not shared
  int64_t shared_bytes = 0;
  int64_t threads() const { return block[0] * block[1] * block[2]; }
};

// kUnsupported, with the statement's text, where the function is not of that form.
Result<GpuLaunch> gpu_launch(const LoopFn& fn);

}  // namespace frit::loop
