// One LoopFn operation as CUDA C++ text in terms of the device prelude. Operands are texts of primary
// expressions (names, literals, calls, or in parentheses), and so is every result. Private to codegen/cuda.
#pragma once

#include <string>

#include "loop/ir.h"

namespace frit::codegen {

// The prelude's name of a type: in registers, and in memory where bool is a byte.
const char* c_type(DType dtype);
const char* c_memory_type(DType dtype);

std::string c_constant(int64_t bits, DType dtype);

// How an integer operation may be written. Index arithmetic does not overflow (src/loop/ir.h); small indices
// are held in 32 bits; what is known not to be negative divides as unsigned.
struct CIntegers {
  bool index = false;
  bool small = false;
  bool not_negative = false;
};
std::string c_unary(loop::OpCode op, DType dtype, const std::string& a, CIntegers how = {});
std::string c_binary(loop::OpCode op, DType dtype, const std::string& a, const std::string& b,
                     CIntegers how = {});
std::string c_cast(DType from, DType to, const std::string& a);

}  // namespace frit::codegen
