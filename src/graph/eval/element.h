// Elements as the evaluator computes with them: each element type belongs to one of three compute types.
//
// Floats are computed in double, signed integers in int64_t, unsigned integers and bool in uint64_t. Sums,
// differences and products of integers may be computed in 64 bits and cut to the element's width when stored:
// that is two's complement wrap-around. load and store convert runs of elements; conversions between compute
// types are Cast's.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/half.h"
#include "frit/dtype.h"
#include "graph/tensor.h"

namespace frit::graph::eval {

// Storage types that C++ lacks.
struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};
struct Bool {
  uint8_t byte;
};

template <class T>
struct Tag {
  using type = T;
};

// Calls f(Tag<storage type>{}).
template <class F>
decltype(auto) with_storage_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF32:
      return f(Tag<float>{});
    case DType::kF64:
      return f(Tag<double>{});
    case DType::kF16:
      return f(Tag<F16>{});
    case DType::kBF16:
      return f(Tag<BF16>{});
    case DType::kI8:
      return f(Tag<int8_t>{});
    case DType::kI16:
      return f(Tag<int16_t>{});
    case DType::kI32:
      return f(Tag<int32_t>{});
    case DType::kI64:
      return f(Tag<int64_t>{});
    case DType::kU8:
      return f(Tag<uint8_t>{});
    case DType::kU16:
      return f(Tag<uint16_t>{});
    case DType::kU32:
      return f(Tag<uint32_t>{});
    case DType::kU64:
      return f(Tag<uint64_t>{});
    case DType::kBool:
      break;
  }
  return f(Tag<Bool>{});
}

// Calls f(Tag<double, int64_t or uint64_t>{}).
template <class F>
decltype(auto) with_compute_type(DType dtype, F&& f) {
  if (is_float(dtype)) return f(Tag<double>{});
  if (is_signed_int(dtype)) return f(Tag<int64_t>{});
  return f(Tag<uint64_t>{});
}

// Truncates toward zero. Out of range and NaN give what x86's conversion instructions give: the smallest
// value of the instruction's width, 32 bits for types of up to 32 signed or 16 unsigned bits and 64 for the
// rest, cut to T's width. u64 takes [2^63, 2^64) as well.
template <class T>
T truncate_to_integer(double value) {
  constexpr bool kNarrow = sizeof(T) < 4 || std::is_same_v<T, int32_t>;
  constexpr double kTwo31 = 2147483648.0, kTwo63 = 9223372036854775808.0;
  if constexpr (kNarrow) {
    const bool fits = value > -kTwo31 - 1 && value < kTwo31;
    return static_cast<T>(fits ? static_cast<int32_t>(value) : INT32_MIN);
  } else {
    if constexpr (std::is_same_v<T, uint64_t>) {
      if (value >= kTwo63 && value < 2 * kTwo63) return static_cast<uint64_t>(value);
    }
    const bool fits = value >= -kTwo63 && value < kTwo63;
    return static_cast<T>(fits ? static_cast<int64_t>(value) : INT64_MIN);
  }
}

// A double that rounds to any narrower format as the integer itself would: the last of 53 bits is sticky.
template <class I>
double to_double_round_to_odd(I value) {
  uint64_t magnitude = static_cast<uint64_t>(value);
  const bool negative = std::is_signed_v<I> && value < 0;
  if (negative) magnitude = 0 - magnitude;
  if (magnitude >> 53) {
    const uint64_t kept = magnitude & ~uint64_t{0x7ff};
    magnitude = kept | (kept != magnitude ? 0x800 : 0);
  }
  return negative ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
}

template <class C, class T>
C from_storage(T element) {
  if constexpr (std::is_same_v<T, F16>) {
    return from_storage<C>(base::f16_to_float(element.bits));
  } else if constexpr (std::is_same_v<T, BF16>) {
    return from_storage<C>(base::bf16_to_float(element.bits));
  } else if constexpr (std::is_same_v<T, Bool>) {
    return static_cast<C>(element.byte != 0);
  } else if constexpr (std::is_floating_point_v<T> && std::is_integral_v<C>) {
    return truncate_to_integer<C>(static_cast<double>(element));
  } else {
    return static_cast<C>(element);
  }
}

template <class T, class C>
T to_storage(C value) {
  if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, BF16>) {
    double wide;
    if constexpr (std::is_integral_v<C>) {
      wide = to_double_round_to_odd(value);
    } else {
      wide = value;
    }
    if constexpr (std::is_same_v<T, F16>)
      return F16{base::double_to_f16(wide)};
    else
      return BF16{base::double_to_bf16(wide)};
  } else if constexpr (std::is_same_v<T, Bool>) {
    return Bool{static_cast<uint8_t>(value != 0)};
  } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<C>) {
    return truncate_to_integer<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

// dst[i] = element start + i of `tensor`, for i in [0, count). C is double, int64_t or uint64_t in all three.
template <class C>
void load(const HostTensor& tensor, int64_t start, int64_t count, C* dst);
// dst[i] = element offsets[i] of `tensor`.
template <class C>
void load_at(const HostTensor& tensor, const int64_t* offsets, int64_t count, C* dst);
// Element start + i of `tensor` = src[i], rounded or cut to the element type.
template <class C>
void store(HostTensor& tensor, int64_t start, int64_t count, const C* src);

}  // namespace frit::graph::eval
