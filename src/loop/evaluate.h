// The value of an expression over run-time sizes: extents of tiles, sizes of buffers. Needs no interpreter.
#pragma once

#include <span>

#include "loop/ir.h"

namespace frit::loop {

// kInternal where the expression has other parts than constants, sizes and scalar integer arithmetic, or
// where its value is undefined.
Result<int64_t> evaluate(Expr e, std::span<const int64_t> sizes);

// Number of tiles: the product of the extents, 1 without tiles, 0 where an extent is not positive.
Result<int64_t> tile_count(const LoopFn& fn, std::span<const int64_t> sizes);

}  // namespace frit::loop
