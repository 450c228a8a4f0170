// LoopFn -> LLVM IR: explicit vectors, register buffers as SSA values with phis, loop-invariant code placed outside of
// its loops while emitting. No IR pass pipeline runs afterwards (it costs more time than it wins; src/README.md section 4).
//
// With its neighbours in this folder the only place that includes LLVM. It knows neither families nor graphs.
#pragma once

#include <string>

#include "codegen/cpu/value_ops.h"
#include "frit/result.h"
#include "loop/ir.h"

namespace frit::codegen {

// Adds the function `symbol` with the kernel ABI to the module. The LoopFn must have passed loop::verify.
Status emit_kernel(const loop::LoopFn& fn, const std::string& symbol, const CpuTraits& traits, llvm::Module& module);

}  // namespace frit::codegen
