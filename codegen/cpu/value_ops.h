// One LoopFn operation as LLVM IR, with the meaning that src/loop/ir.h states, in a form that never becomes a library
// call. bf16 is held as 16-bit integers and computed in f32; f16 is LLVM's half; bool is i1.
#pragma once

#include <string>
#include <vector>

#include <llvm/IR/IRBuilder.h>

#include "loop/ir.h"

namespace frit::codegen {

// What the emitter asks about a machine.
struct CpuTraits {
  std::string cpu;       // LLVM's "target-cpu": a baseline, for scheduling only
  std::string features;  // LLVM's "target-features"
};

class ValueOps {
 public:
  explicit ValueOps(llvm::IRBuilder<>& builder) : b_(builder) {}

  llvm::Type* type(loop::Type t);                          // in registers
  llvm::Type* memory_type(DType dtype, int32_t lanes);     // in buffers: bool is a byte
  llvm::Value* from_memory(llvm::Value* v, DType dtype);
  llvm::Value* to_memory(llvm::Value* v, DType dtype);

  llvm::Value* constant(int64_t bits, loop::Type t);
  llvm::Value* unary(loop::OpCode op, llvm::Value* a, loop::Type operand);
  llvm::Value* binary(loop::OpCode op, llvm::Value* a, llvm::Value* b, loop::Type operand);
  llvm::Value* fma(llvm::Value* a, llvm::Value* b, llvm::Value* c, loop::Type t);
  llvm::Value* cast(llvm::Value* v, loop::Type from, loop::Type to);
  llvm::Value* bitcast(llvm::Value* v, loop::Type to) { return b_.CreateBitCast(v, type(to)); }
  llvm::Value* splat(llvm::Value* v, int32_t lanes);
  llvm::Value* ramp(llvm::Value* base, int64_t step, loop::Type t);
  llvm::Value* reduce(loop::OpCode op, llvm::Value* v, loop::Type operand);
  llvm::Value* shuffle(llvm::Value* a, llvm::Value* b, const std::vector<int32_t>& lanes);

 private:
  llvm::Value* widen_bf16(llvm::Value* v);
  llvm::Value* narrow_bf16(llvm::Value* v);
  llvm::Value* min_max(bool less, llvm::Value* a, llvm::Value* b, bool is_float, bool is_signed);
  llvm::Value* float_to_int(llvm::Value* v, loop::Type from, loop::Type to);
  llvm::Value* like(llvm::Value* v, double x);  // a float constant of v's type

  llvm::IRBuilder<>& b_;
};

}  // namespace frit::codegen
