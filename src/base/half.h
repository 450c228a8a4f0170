// Software conversions between f16 / bf16 (as their 16 bits) and float / double, rounding to nearest even.
//
// Used wherever the host touches such tensors: the evaluator, comparisons, file formats. Every conversion
// rounds once: double goes to 16 bits directly, never by way of float. A NaN stays a NaN: the top of its
// payload is kept and it is made quiet. It must not know tensors; kernels have their own conversions.
#pragma once

#include <bit>
#include <cstdint>

namespace frit::base {

// Rounds a double to a binary format of 1 + kExponentBits + kMantissaBits = 16 bits.
template <int kExponentBits, int kMantissaBits>
constexpr uint16_t round_to_16_bits(double value) {
  static_assert(1 + kExponentBits + kMantissaBits == 16);
  constexpr int kMaxExponent = (1 << kExponentBits) - 1;
  constexpr int kBias = kMaxExponent / 2;
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint64_t sign = (bits >> 63) << 15;
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff);
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  const uint64_t infinity = sign | (uint64_t{kMaxExponent} << kMantissaBits);
  if (exponent == 0x7ff) {
    if (fraction == 0) return static_cast<uint16_t>(infinity);
    const uint64_t quiet = uint64_t{1} << (kMantissaBits - 1);
    return static_cast<uint16_t>(infinity | quiet | (fraction >> (52 - kMantissaBits)));
  }
  if (exponent == 0) return static_cast<uint16_t>(sign);  // double's subnormals are far below both formats
  const int target = exponent - 1023 + kBias;
  if (target >= kMaxExponent) return static_cast<uint16_t>(infinity);
  const uint64_t mantissa = (uint64_t{1} << 52) | fraction;
  const int shift = 52 - kMantissaBits + (target > 0 ? 0 : 1 - target);
  if (shift > 53) return static_cast<uint16_t>(sign);  // below half of the smallest subnormal
  uint64_t rounded = mantissa >> shift;
  const uint64_t rest = mantissa & ((uint64_t{1} << shift) - 1);
  const uint64_t half = uint64_t{1} << (shift - 1);
  if (rest > half || (rest == half && (rounded & 1))) ++rounded;
  // `rounded` carries the implicit bit of a normal number into the exponent field, and a carry of the
  // rounding too.
  if (target > 0) rounded += static_cast<uint64_t>(target - 1) << kMantissaBits;
  return static_cast<uint16_t>(sign | rounded);
}

template <int kExponentBits, int kMantissaBits>
constexpr float float_from_16_bits(uint16_t bits16) {
  static_assert(1 + kExponentBits + kMantissaBits == 16);
  constexpr uint32_t kMaxExponent = (1u << kExponentBits) - 1;
  constexpr uint32_t kBias = kMaxExponent / 2;
  const uint32_t sign = static_cast<uint32_t>(bits16 & 0x8000u) << 16;
  const uint32_t exponent = (bits16 >> kMantissaBits) & kMaxExponent;
  const uint32_t fraction = bits16 & ((1u << kMantissaBits) - 1);
  if (exponent == kMaxExponent) {
    const uint32_t quiet = fraction != 0 ? 0x400000u : 0;
    return std::bit_cast<float>(sign | 0x7f800000u | quiet | (fraction << (23 - kMantissaBits)));
  }
  if constexpr (kExponentBits == 8) {
    return std::bit_cast<float>(static_cast<uint32_t>(bits16) << 16);  // bf16 has float's exponent
  } else {
    if (exponent != 0) {
      return std::bit_cast<float>(sign | ((exponent + 127 - kBias) << 23) |
                                  (fraction << (23 - kMantissaBits)));
    }
    // A subnormal is fraction * 2^(1 - bias - mantissa bits); both factors and the product are exact in
    // float.
    constexpr uint32_t kUnit = 127 + 1 - kBias - kMantissaBits;
    const float magnitude = static_cast<float>(fraction) * std::bit_cast<float>(kUnit << 23);
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
}

constexpr float f16_to_float(uint16_t bits) { return float_from_16_bits<5, 10>(bits); }
constexpr float bf16_to_float(uint16_t bits) { return float_from_16_bits<8, 7>(bits); }
// Exact widening first, so these round once as well.
constexpr uint16_t float_to_f16(float value) { return round_to_16_bits<5, 10>(static_cast<double>(value)); }
constexpr uint16_t float_to_bf16(float value) { return round_to_16_bits<8, 7>(static_cast<double>(value)); }
constexpr uint16_t double_to_f16(double value) { return round_to_16_bits<5, 10>(value); }
constexpr uint16_t double_to_bf16(double value) { return round_to_16_bits<8, 7>(value); }

}  // namespace frit::base
