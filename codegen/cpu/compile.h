// LLVM IR -> object file, IR text or assembly: the compile settings that were measured (src/README.md section 4) and the
// guards that keep a failure inside LLVM from reaching the process.
#pragma once

#include <string>
#include <vector>

#include "device/target.h"
#include "frit/result.h"
#include "loop/ir.h"

namespace frit::codegen {

enum class EmitKind { kObject, kLlvm, kAsm };

struct CompileOptions {
  EmitKind kind = EmitKind::kObject;
  bool provoke_fatal = false;  // for tests: makes LLVM's instruction selection fail
};

// Compiles one verified LoopFn. Thread-safe; every call has its own LLVMContext and TargetMachine.
Result<std::string> compile_kernel(const loop::LoopFn& fn, const std::string& symbol, const device::Target& target,
                                   const CompileOptions& options);

// "LLVM 19.1.7"
std::string compiler_version();

}  // namespace frit::codegen
