#include "codegen/cuda/c_text.h"

#include <bit>
#include <cmath>

#include "base/text.h"
#include "loop/scalar.h"

namespace frit::codegen {

using base::text_of;
using loop::OpCode;

const char* c_type(DType dtype) { return dtype_name(dtype); }
const char* c_memory_type(DType dtype) { return dtype == DType::kBool ? "u8" : dtype_name(dtype); }

std::string c_constant(int64_t bits, DType dtype) {
  switch (dtype) {
    case DType::kF32: {
      const auto x = std::bit_cast<float>(static_cast<uint32_t>(bits));
      if (!std::isfinite(x)) return text_of("bits_as<f32>(", static_cast<uint32_t>(bits), "u)");
      std::string out = text_of(x);
      if (out.find_first_of(".e") == std::string::npos) out += ".0";
      out += 'f';
      return std::signbit(x) ? "(" + out + ")" : out;
    }
    case DType::kF64: {
      const auto x = std::bit_cast<double>(bits);
      if (!std::isfinite(x)) return text_of("bits_as<f64>(", static_cast<uint64_t>(bits), "ull)");
      std::string out = text_of(x);
      if (out.find_first_of(".e") == std::string::npos) out += ".0";
      return std::signbit(x) ? "(" + out + ")" : out;
    }
    case DType::kF16:
    case DType::kBF16:
      return text_of("bits_as<", c_type(dtype), ">((u16)", static_cast<uint16_t>(bits), ")");
    case DType::kBool:
      return bits & 1 ? "true" : "false";
    case DType::kU64:
      return text_of(static_cast<uint64_t>(bits), "ull");
    case DType::kI64:
      if (bits == INT64_MIN) return "(-9223372036854775807ll - 1)";
      if (bits > INT32_MIN && bits <= INT32_MAX) break;
      return bits < 0 ? text_of("(", bits, "ll)") : text_of(bits, "ll");
    case DType::kU32:
      return text_of(static_cast<uint32_t>(bits), "u");
    case DType::kI32:
      if (bits == INT32_MIN) return "(-2147483647 - 1)";
      break;
    default:
      return text_of("(", c_type(dtype), ")", bits < 0 ? "(" : "", bits, bits < 0 ? ")" : "");
  }
  return bits < 0 ? text_of("(", bits, ")") : text_of(bits);
}

namespace {

const char* infix(OpCode op) {
  switch (op) {
    case OpCode::kAdd:
      return " + ";
    case OpCode::kSub:
      return " - ";
    case OpCode::kMul:
      return " * ";
    case OpCode::kDiv:
      return " / ";
    case OpCode::kRem:
      return " % ";
    case OpCode::kAnd:
      return " & ";
    case OpCode::kOr:
      return " | ";
    case OpCode::kXor:
      return " ^ ";
    case OpCode::kEq:
      return " == ";
    case OpCode::kNe:
      return " != ";
    case OpCode::kLt:
      return " < ";
    case OpCode::kLe:
      return " <= ";
    case OpCode::kGt:
      return " > ";
    case OpCode::kGe:
      return " >= ";
    default:
      return nullptr;
  }
}

// name<type>(a, b): the prelude's integer functions.
std::string call(const char* name, const char* type, const std::string& a, const std::string& b) {
  return text_of(name, "<", type, ">(", a, ", ", b, ")");
}

const char* integer_function(OpCode op, bool not_negative) {
  switch (op) {
    case OpCode::kAdd:
      return "wrap_add";
    case OpCode::kSub:
      return "wrap_sub";
    case OpCode::kMul:
      return "wrap_mul";
    case OpCode::kDiv:
      return not_negative ? "whole_div" : "quotient";
    case OpCode::kRem:
      return not_negative ? "whole_mod" : "remainder_of";
    case OpCode::kFloorDiv:
      return not_negative ? "whole_div" : "floor_div";
    case OpCode::kFloorMod:
      return not_negative ? "whole_mod" : "floor_mod";
    case OpCode::kMin:
      return "least";
    case OpCode::kMax:
      return "greatest";
    case OpCode::kShl:
      return "shift_left";
    case OpCode::kLShr:
      return "shift_zeros";
    default:
      return "shift_sign";
  }
}

}  // namespace

std::string c_unary(OpCode op, DType dtype, const std::string& a, CIntegers how) {
  const bool flt = is_float(dtype);
  const char* type = how.small ? "i32" : c_type(dtype);
  switch (op) {
    case OpCode::kNeg:
      if (flt || how.index) return text_of("(-", a, ")");
      return text_of("wrap_neg<", type, ">(", a, ")");
    case OpCode::kNot:
      if (dtype == DType::kBool) return text_of("(!", a, ")");
      return text_of("((", type, ")~", a, ")");
    case OpCode::kAbs:
      return flt ? text_of("abs_of(", a, ")") : text_of("wrap_abs<", type, ">(", a, ")");
    case OpCode::kSqrt:
      return text_of("sqrt_of(", a, ")");
    case OpCode::kFloor:
      return text_of("floor_of(", a, ")");
    case OpCode::kCeil:
      return text_of("ceil_of(", a, ")");
    case OpCode::kTrunc:
      return text_of("trunc_of(", a, ")");
    default:
      return text_of("round_even_of(", a, ")");
  }
}

std::string c_binary(OpCode op, DType dtype, const std::string& a, const std::string& b, CIntegers how) {
  const bool compare = loop::is_comparison(op);
  if (is_float(dtype)) {
    if (op == OpCode::kMin || op == OpCode::kMax)
      return text_of(op == OpCode::kMin ? "nan_min<" : "nan_max<", c_type(dtype), ">(", a, ", ", b, ")");
    return text_of("(", a, infix(op), b, ")");
  }
  if (dtype == DType::kBool)
    return op == OpCode::kXor ? text_of("(", a, " != ", b, ")") : text_of("(", a, infix(op), b, ")");
  if (compare) return text_of("(", a, infix(op), b, ")");
  const char* type = how.small ? "i32" : c_type(dtype);
  if (op == OpCode::kAnd || op == OpCode::kOr || op == OpCode::kXor) {
    const std::string out = text_of("(", a, infix(op), b, ")");
    return dtype_bytes(dtype) < 4 ? text_of("((", type, ")", out, ")") : out;
  }
  if (how.index && (op == OpCode::kAdd || op == OpCode::kSub || op == OpCode::kMul)) {
    // Operands may be small where the result is not.
    if (!how.small) return text_of("((i64)", a, infix(op), b, ")");
    return text_of("(", a, infix(op), b, ")");
  }
  return call(integer_function(op, how.not_negative), type, a, b);
}

std::string c_cast(DType from, DType to, const std::string& a) {
  return from == to ? a : text_of("to<", c_type(to), ">(", a, ")");
}

}  // namespace frit::codegen
