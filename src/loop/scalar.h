// What one lane of each operation computes: the meaning stated at the top of ir.h, as C++.
//
// The makers fold constants with it and the interpreter runs it, so that the two cannot differ. A value
// travels as 64 canonical bits: signed integers sign-extended, unsigned ones, bool (0 or 1) and float
// encodings zero-extended.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/half.h"
#include "loop/ir.h"

namespace frit::loop {

// Storage types of f16, bf16 and bool; the others store as the C++ type of their size.
struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};
struct Mask {
  uint8_t on;
};

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;
template <class T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T> || kIsHalf<T>;

// Calls f with a value-initialised object of the dtype's storage type.
template <class F>
decltype(auto) with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF32:
      return f(float{});
    case DType::kF64:
      return f(double{});
    case DType::kF16:
      return f(F16{});
    case DType::kBF16:
      return f(BF16{});
    case DType::kI8:
      return f(int8_t{});
    case DType::kI16:
      return f(int16_t{});
    case DType::kI32:
      return f(int32_t{});
    case DType::kI64:
      return f(int64_t{});
    case DType::kU8:
      return f(uint8_t{});
    case DType::kU16:
      return f(uint16_t{});
    case DType::kU32:
      return f(uint32_t{});
    case DType::kU64:
      return f(uint64_t{});
    case DType::kBool:
      break;
  }
  return f(Mask{});
}

// f16 and bf16 compute in f32 and round once more; for + - * / and sqrt that equals rounding once.
inline float to_compute(F16 v) { return base::f16_to_float(v.bits); }
inline float to_compute(BF16 v) { return base::bf16_to_float(v.bits); }
inline uint8_t to_compute(Mask v) { return v.on; }
template <class T>
concept Arithmetic = std::is_arithmetic_v<T>;
template <Arithmetic T>
T to_compute(T v) {
  return v;
}
template <class T, class V>
T from_compute(V v) {
  if constexpr (std::is_same_v<T, F16>) {
    if constexpr (std::is_same_v<V, double>)
      return F16{base::double_to_f16(v)};
    else
      return F16{base::float_to_f16(static_cast<float>(v))};
  } else if constexpr (std::is_same_v<T, BF16>) {
    if constexpr (std::is_same_v<V, double>)
      return BF16{base::double_to_bf16(v)};
    else
      return BF16{base::float_to_bf16(static_cast<float>(v))};
  } else if constexpr (std::is_same_v<T, Mask>) {
    return Mask{static_cast<uint8_t>(v != 0)};
  } else {
    return static_cast<T>(v);
  }
}

template <class T>
T from_bits(int64_t bits) {
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<double>(bits);
  else if constexpr (kIsHalf<T>)
    return T{static_cast<uint16_t>(bits)};
  else if constexpr (std::is_same_v<T, Mask>)
    return Mask{static_cast<uint8_t>((bits & 1) != 0)};
  else
    return static_cast<T>(bits);
}
template <class T>
int64_t to_bits(T v) {
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<uint32_t>(v);
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<int64_t>(v);
  else if constexpr (kIsHalf<T>)
    return v.bits;
  else if constexpr (std::is_same_v<T, Mask>)
    return v.on;
  else
    return static_cast<int64_t>(v);
}

// Which operations a dtype has. Shared by the makers (what may fold) and the verifier.
constexpr bool is_comparison(OpCode op) { return op >= OpCode::kEq; }
constexpr bool is_unary(OpCode op) { return op <= OpCode::kRoundEven; }
constexpr bool op_allowed(OpCode op, DType dtype) {
  const bool flt = is_float(dtype), mask = dtype == DType::kBool;
  switch (op) {
    case OpCode::kNeg:
    case OpCode::kAbs:
    case OpCode::kAdd:
    case OpCode::kSub:
    case OpCode::kMul:
    case OpCode::kDiv:
    case OpCode::kMin:
    case OpCode::kMax:
    case OpCode::kLt:
    case OpCode::kLe:
    case OpCode::kGt:
    case OpCode::kGe:
      return !mask;
    case OpCode::kSqrt:
    case OpCode::kFloor:
    case OpCode::kCeil:
    case OpCode::kTrunc:
    case OpCode::kRoundEven:
      return flt;
    case OpCode::kNot:
    case OpCode::kAnd:
    case OpCode::kOr:
    case OpCode::kXor:
      return !flt;
    case OpCode::kRem:
    case OpCode::kFloorDiv:
    case OpCode::kFloorMod:
    case OpCode::kShl:
    case OpCode::kLShr:
    case OpCode::kAShr:
      return !flt && !mask;
    case OpCode::kEq:
    case OpCode::kNe:
      return true;
  }
  return false;
}
// False where the result is undefined: a zero divisor, the lowest value / -1, a shift by the width or more.
template <OpCode op, class T>
bool binary_defined(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if constexpr (op == OpCode::kDiv || op == OpCode::kRem || op == OpCode::kFloorDiv ||
                  op == OpCode::kFloorMod) {
      if (b == 0) return false;
      if constexpr (std::is_signed_v<T>) return !(b == -1 && a == std::numeric_limits<T>::min());
    } else if constexpr (op == OpCode::kShl || op == OpCode::kLShr || op == OpCode::kAShr) {
      return static_cast<uint64_t>(b) < sizeof(T) * 8;
    }
  }
  (void)a, (void)b;
  return true;
}

template <OpCode op, class T>
T apply_unary(T a) {
  if constexpr (!op_allowed(op, DType::kF32) || !kIsFloat<T>) {
    if constexpr (std::is_same_v<T, Mask>) {
      if constexpr (op == OpCode::kNot)
        return Mask{static_cast<uint8_t>(a.on ^ 1)};
      else
        return a;
    } else if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      if constexpr (op == OpCode::kNeg)
        return static_cast<T>(static_cast<U>(0 - static_cast<uint64_t>(a)));
      else if constexpr (op == OpCode::kNot)
        return static_cast<T>(~a);
      else if constexpr (op == OpCode::kAbs) {
        if constexpr (std::is_signed_v<T>) {
          return a < 0 ? static_cast<T>(static_cast<U>(0 - static_cast<uint64_t>(a))) : a;
        } else
          return a;
      } else
        return a;
    } else
      return a;
  } else if constexpr (op == OpCode::kNeg || op == OpCode::kAbs) {  // bits, so that NaN keeps its payload
    constexpr uint64_t sign = uint64_t{1} << (sizeof(T) * 8 - 1);
    const uint64_t bits = static_cast<uint64_t>(to_bits(a));
    return from_bits<T>(static_cast<int64_t>(op == OpCode::kNeg ? bits ^ sign : bits & ~sign));
  } else {
    const auto v = to_compute(a);
    if constexpr (op == OpCode::kSqrt)
      return from_compute<T>(std::sqrt(v));
    else if constexpr (op == OpCode::kFloor)
      return from_compute<T>(std::floor(v));
    else if constexpr (op == OpCode::kCeil)
      return from_compute<T>(std::ceil(v));
    else if constexpr (op == OpCode::kTrunc)
      return from_compute<T>(std::trunc(v));
    else
      return from_compute<T>(std::nearbyint(v));
  }
}

template <OpCode op, class T>
bool compare(T x, T y) {
  const auto a = to_compute(x);
  const auto b = to_compute(y);
  if constexpr (op == OpCode::kEq)
    return a == b;
  else if constexpr (op == OpCode::kNe)
    return a != b;
  else if constexpr (op == OpCode::kLt)
    return a < b;
  else if constexpr (op == OpCode::kLe)
    return a <= b;
  else if constexpr (op == OpCode::kGt)
    return a > b;
  else
    return a >= b;
}

// Not for comparisons. Only where binary_defined().
template <OpCode op, class T>
T apply_binary(T a, T b) {
  if constexpr (std::is_same_v<T, Mask>) {
    if constexpr (op == OpCode::kAnd)
      return Mask{static_cast<uint8_t>(a.on & b.on)};
    else if constexpr (op == OpCode::kOr)
      return Mask{static_cast<uint8_t>(a.on | b.on)};
    else if constexpr (op == OpCode::kXor)
      return Mask{static_cast<uint8_t>(a.on ^ b.on)};
    else
      return a;
  } else if constexpr (kIsFloat<T>) {
    const auto x = to_compute(a);
    const auto y = to_compute(b);
    if constexpr (op == OpCode::kAdd)
      return from_compute<T>(x + y);
    else if constexpr (op == OpCode::kSub)
      return from_compute<T>(x - y);
    else if constexpr (op == OpCode::kMul)
      return from_compute<T>(x * y);
    else if constexpr (op == OpCode::kDiv)
      return from_compute<T>(x / y);
    else if constexpr (op == OpCode::kMin)
      return x != x ? a : x < y ? a : b;  // a NaN in b compares false: b
    else if constexpr (op == OpCode::kMax)
      return x != x ? a : x > y ? a : b;
    else
      return a;
  } else {
    using U = std::make_unsigned_t<T>;
    using S = std::make_signed_t<T>;
    const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    if constexpr (op == OpCode::kAdd)
      return static_cast<T>(static_cast<U>(x + y));
    else if constexpr (op == OpCode::kSub)
      return static_cast<T>(static_cast<U>(x - y));
    else if constexpr (op == OpCode::kMul)
      return static_cast<T>(static_cast<U>(x * y));
    else if constexpr (op == OpCode::kDiv)
      return static_cast<T>(a / b);
    else if constexpr (op == OpCode::kRem)
      return static_cast<T>(a % b);
    else if constexpr (op == OpCode::kFloorDiv) {
      const T q = static_cast<T>(a / b), r = static_cast<T>(a % b);
      return static_cast<T>(r != 0 && ((r < 0) != (b < 0)) ? q - 1 : q);
    } else if constexpr (op == OpCode::kFloorMod) {
      const T r = static_cast<T>(a % b);
      return static_cast<T>(r != 0 && ((r < 0) != (b < 0)) ? r + b : r);
    } else if constexpr (op == OpCode::kMin)
      return a < b ? a : b;
    else if constexpr (op == OpCode::kMax)
      return a > b ? a : b;
    else if constexpr (op == OpCode::kAnd)
      return static_cast<T>(a & b);
    else if constexpr (op == OpCode::kOr)
      return static_cast<T>(a | b);
    else if constexpr (op == OpCode::kXor)
      return static_cast<T>(a ^ b);
    else if constexpr (op == OpCode::kShl)
      return static_cast<T>(static_cast<U>(x << y));
    else if constexpr (op == OpCode::kLShr)
      return static_cast<T>(static_cast<U>(static_cast<U>(a) >> y));
    else
      return static_cast<T>(static_cast<S>(static_cast<S>(a) >> y));
  }
}

template <class T>
T apply_fma(T a, T b, T c) {
  if constexpr (kIsHalf<T>) {
    // The product of two halves is exact in double.
    return from_compute<T>(std::fma(double{to_compute(a)}, double{to_compute(b)}, double{to_compute(c)}));
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::fma(a, b, c);
  } else if constexpr (std::is_integral_v<T>) {
    return apply_binary<OpCode::kAdd>(apply_binary<OpCode::kMul>(a, b), c);
  } else {
    return a;
  }
}

template <class To, class From>
To apply_cast(From v) {
  if constexpr (std::is_same_v<To, From>) {
    return v;
  } else if constexpr (kIsFloat<From> && std::is_integral_v<To>) {
    const double x = static_cast<double>(to_compute(v));
    if constexpr (std::is_same_v<To, int32_t>) {
      return x > -2147483649.0 && x < 2147483648.0 ? static_cast<int32_t>(x)
                                                   : std::numeric_limits<int32_t>::min();
    } else {
      if constexpr (std::is_same_v<To, uint64_t>) {
        if (x >= 9223372036854775808.0 && x < 18446744073709551616.0) return static_cast<uint64_t>(x);
      }
      const bool fits = x >= -9223372036854775808.0 && x < 9223372036854775808.0;
      return static_cast<To>(fits ? static_cast<int64_t>(x) : std::numeric_limits<int64_t>::min());
    }
  } else if constexpr (kIsHalf<To> && std::is_integral_v<From>) {
    return from_compute<To>(static_cast<double>(v));
  } else {
    return from_compute<To>(to_compute(v));
  }
}

// The same on canonical bits with the operation chosen at run time. They answer false where there is no
// result: undefined, or an operation that the dtype does not have.
bool fold_unary(OpCode op, DType dtype, int64_t a, int64_t* out);
bool fold_binary(OpCode op, DType dtype, int64_t a, int64_t b, int64_t* out);
int64_t fold_fma(DType dtype, int64_t a, int64_t b, int64_t c);
int64_t fold_cast(DType from, DType to, int64_t a);
// The bits of an integer or bool constant cut to its width, then extended; other dtypes zero-extended.
int64_t canonical_bits(int64_t bits, DType dtype);

// Calls f(std::integral_constant<OpCode, op>) for the run-time op.
template <class F>
decltype(auto) with_unary_op(OpCode op, F&& f) {
  switch (op) {
    case OpCode::kNeg:
      return f(std::integral_constant<OpCode, OpCode::kNeg>{});
    case OpCode::kNot:
      return f(std::integral_constant<OpCode, OpCode::kNot>{});
    case OpCode::kAbs:
      return f(std::integral_constant<OpCode, OpCode::kAbs>{});
    case OpCode::kSqrt:
      return f(std::integral_constant<OpCode, OpCode::kSqrt>{});
    case OpCode::kFloor:
      return f(std::integral_constant<OpCode, OpCode::kFloor>{});
    case OpCode::kCeil:
      return f(std::integral_constant<OpCode, OpCode::kCeil>{});
    case OpCode::kTrunc:
      return f(std::integral_constant<OpCode, OpCode::kTrunc>{});
    default:
      return f(std::integral_constant<OpCode, OpCode::kRoundEven>{});
  }
}
template <class F>
decltype(auto) with_binary_op(OpCode op, F&& f) {
  switch (op) {
    case OpCode::kAdd:
      return f(std::integral_constant<OpCode, OpCode::kAdd>{});
    case OpCode::kSub:
      return f(std::integral_constant<OpCode, OpCode::kSub>{});
    case OpCode::kMul:
      return f(std::integral_constant<OpCode, OpCode::kMul>{});
    case OpCode::kDiv:
      return f(std::integral_constant<OpCode, OpCode::kDiv>{});
    case OpCode::kRem:
      return f(std::integral_constant<OpCode, OpCode::kRem>{});
    case OpCode::kFloorDiv:
      return f(std::integral_constant<OpCode, OpCode::kFloorDiv>{});
    case OpCode::kFloorMod:
      return f(std::integral_constant<OpCode, OpCode::kFloorMod>{});
    case OpCode::kMin:
      return f(std::integral_constant<OpCode, OpCode::kMin>{});
    case OpCode::kMax:
      return f(std::integral_constant<OpCode, OpCode::kMax>{});
    case OpCode::kAnd:
      return f(std::integral_constant<OpCode, OpCode::kAnd>{});
    case OpCode::kOr:
      return f(std::integral_constant<OpCode, OpCode::kOr>{});
    case OpCode::kXor:
      return f(std::integral_constant<OpCode, OpCode::kXor>{});
    case OpCode::kShl:
      return f(std::integral_constant<OpCode, OpCode::kShl>{});
    case OpCode::kLShr:
      return f(std::integral_constant<OpCode, OpCode::kLShr>{});
    case OpCode::kAShr:
      return f(std::integral_constant<OpCode, OpCode::kAShr>{});
    case OpCode::kEq:
      return f(std::integral_constant<OpCode, OpCode::kEq>{});
    case OpCode::kNe:
      return f(std::integral_constant<OpCode, OpCode::kNe>{});
    case OpCode::kLt:
      return f(std::integral_constant<OpCode, OpCode::kLt>{});
    case OpCode::kLe:
      return f(std::integral_constant<OpCode, OpCode::kLe>{});
    case OpCode::kGt:
      return f(std::integral_constant<OpCode, OpCode::kGt>{});
    default:
      return f(std::integral_constant<OpCode, OpCode::kGe>{});
  }
}

}  // namespace frit::loop
