// Arithmetic on the compute types (double, int64_t, uint64_t) without undefined behaviour: integers wrap.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "frit/dtype.h"

namespace frit::graph::eval {

template <class C>
C wrap_add(C a, C b) {
  if constexpr (std::is_integral_v<C>)
    return static_cast<C>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}
template <class C>
C wrap_sub(C a, C b) {
  if constexpr (std::is_integral_v<C>)
    return static_cast<C>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  else
    return a - b;
}
template <class C>
C wrap_mul(C a, C b) {
  if constexpr (std::is_integral_v<C>)
    return static_cast<C>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return a * b;
}
template <class C>
C wrap_neg(C a) {
  if constexpr (std::is_integral_v<C>)
    return static_cast<C>(0 - static_cast<uint64_t>(a));
  else
    return -a;
}

// b != 0 for integers. The quotient of the smallest number by -1 wraps to itself.
template <class C>
C divide(C a, C b) {
  if constexpr (std::is_signed_v<C> && std::is_integral_v<C>) {
    if (b == -1) return wrap_neg(a);
  }
  return a / b;
}
// The remainder with the dividend's sign. b != 0 for integers.
template <class C>
C mod_trunc(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    return std::fmod(a, b);
  } else {
    if constexpr (std::is_signed_v<C>) {
      if (b == -1) return 0;
    }
    return a % b;
  }
}
// The remainder with the divisor's sign, a zero included (numpy's %). b != 0 for integers.
template <class C>
C mod_floor(C a, C b) {
  const C rest = mod_trunc(a, b);
  if constexpr (std::is_floating_point_v<C>) {
    if (rest == 0) return std::copysign(0.0, b);
  }
  return rest != 0 && (rest < 0) != (b < 0) ? wrap_add(rest, b) : rest;
}

// NaN wins.
template <class C>
C max_of(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  }
  return a > b ? a : b;
}
template <class C>
C min_of(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  }
  return a < b ? a : b;
}

// Integers: by repeated multiplication, so that wrapping is exact; base^negative is 0 but for bases 1 and -1.
template <class C>
C power(C base, C exponent) {
  if constexpr (std::is_floating_point_v<C>) {
    return std::pow(base, exponent);
  } else {
    if (exponent < 0) {
      if (base == 1) return 1;
      return base == static_cast<C>(-1) ? (exponent % 2 == 0 ? 1 : base) : 0;
    }
    C result = 1;
    for (C left = exponent; left != 0; left /= 2) {
      if (left % 2 == 1) result = wrap_mul(result, base);
      base = wrap_mul(base, base);
    }
    return result;
  }
}

// The identities of max and min: -inf and +inf, or the ends of the integer type's range.
template <class C>
C lowest_of(DType dtype) {
  if constexpr (std::is_floating_point_v<C>)
    return -std::numeric_limits<C>::infinity();
  else if constexpr (std::is_unsigned_v<C>)
    return 0;
  else
    return std::numeric_limits<C>::min() >> (64 - 8 * dtype_bytes(dtype));
}
template <class C>
C highest_of(DType dtype) {
  if constexpr (std::is_floating_point_v<C>)
    return std::numeric_limits<C>::infinity();
  else if (dtype == DType::kBool)
    return 1;
  else
    return std::numeric_limits<C>::max() >> (64 - 8 * dtype_bytes(dtype));
}

}  // namespace frit::graph::eval
