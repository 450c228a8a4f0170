// Element types of tensors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "frit/version.h"

namespace frit {
inline namespace FRIT_ABI {

// Persisted in caches and texts: never renumber.
enum class DType : uint8_t {
  kF32 = 0,
  kF64 = 1,
  kF16 = 2,
  kBF16 = 3,
  kI8 = 4,
  kI16 = 5,
  kI32 = 6,
  kI64 = 7,
  kU8 = 8,
  kU16 = 9,
  kU32 = 10,
  kU64 = 11,
  kBool = 12,  // one byte, 0 or 1
};

constexpr size_t dtype_bytes(DType t) {
  constexpr size_t bytes[] = {4, 8, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8, 1};
  return bytes[static_cast<size_t>(t)];
}
constexpr const char* dtype_name(DType t) {
  constexpr const char* names[] = {"f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"};
  return names[static_cast<size_t>(t)];
}
constexpr bool is_float(DType t) { return t <= DType::kBF16; }
constexpr bool is_int(DType t) { return t >= DType::kI8 && t <= DType::kU64; }
constexpr bool is_signed_int(DType t) { return t >= DType::kI8 && t <= DType::kI64; }
constexpr bool is_unsigned_int(DType t) { return t >= DType::kU8 && t <= DType::kU64; }

}  // namespace FRIT_ABI
}  // namespace frit
