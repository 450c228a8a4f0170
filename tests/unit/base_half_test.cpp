// Exhaustive over the 16-bit formats: decoding against the formats' definition, encoding on and around every
// boundary between two neighbours.
#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace frit::base {
namespace {

struct Format {
  int exponent_bits, mantissa_bits;
  float (*decode)(uint16_t);
  uint16_t (*encode)(double);
  uint16_t (*encode_float)(float);
};
const Format kFormats[] = {{5, 10, f16_to_float, double_to_f16, float_to_f16},
                           {8, 7, bf16_to_float, double_to_bf16, float_to_bf16}};

// The value by definition, for finite bits.
double defined_value(const Format& f, uint16_t bits) {
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const int exponent = (bits >> f.mantissa_bits) & ((1 << f.exponent_bits) - 1);
  const int mantissa = bits & ((1 << f.mantissa_bits) - 1);
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, 1 - bias - f.mantissa_bits)
                    : std::ldexp(mantissa + (1 << f.mantissa_bits), exponent - bias - f.mantissa_bits);
  return bits & 0x8000 ? -magnitude : magnitude;
}

uint16_t infinity_bits(const Format& f) {
  return static_cast<uint16_t>(((1 << f.exponent_bits) - 1) << f.mantissa_bits);
}

TEST(Half, DecodesEveryBitPattern) {
  for (const Format& f : kFormats) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const uint16_t b = static_cast<uint16_t>(bits), magnitude = b & 0x7fff;
      const float value = f.decode(b);
      if (magnitude > infinity_bits(f)) {
        EXPECT_TRUE(std::isnan(value)) << bits;
      } else if (magnitude == infinity_bits(f)) {
        EXPECT_TRUE(std::isinf(value)) << bits;
      } else {
        ASSERT_EQ(value, defined_value(f, b)) << bits;
      }
      ASSERT_EQ(std::signbit(value), (b & 0x8000) != 0) << bits;
    }
  }
}

TEST(Half, EveryBitPatternSurvivesARoundTrip) {
  for (const Format& f : kFormats) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const uint16_t b = static_cast<uint16_t>(bits);
      // Signalling NaNs come back quiet.
      const uint16_t quiet =
          (b & 0x7fff) > infinity_bits(f) ? static_cast<uint16_t>(1 << (f.mantissa_bits - 1)) : uint16_t{0};
      ASSERT_EQ(f.encode_float(f.decode(b)), b | quiet) << bits;
      ASSERT_EQ(f.encode(static_cast<double>(f.decode(b))), b | quiet) << bits;
    }
  }
}

TEST(Half, RoundsToNearestEvenBetweenAllNeighbours) {
  for (const Format& f : kFormats) {
    for (uint16_t low = 0; low < infinity_bits(f); ++low) {
      const uint16_t high = static_cast<uint16_t>(low + 1);
      const double a = defined_value(f, low);
      // Infinity stands where the next finite number would be.
      const double b = high == infinity_bits(f) ? 2 * a - defined_value(f, static_cast<uint16_t>(low - 1))
                                                : defined_value(f, high);
      const double middle = a + (b - a) / 2;
      const uint16_t even = low & 1 ? high : low;
      ASSERT_EQ(f.encode(middle), even) << low;
      ASSERT_EQ(f.encode(std::nextafter(middle, 0.0)), low) << low;
      ASSERT_EQ(f.encode(std::nextafter(middle, 1e300)), high) << low;
      ASSERT_EQ(f.encode(-middle), even | 0x8000) << low;
      ASSERT_EQ(f.encode_float(static_cast<float>(middle)), even) << low;
    }
  }
}

TEST(Half, ExtremesOfDouble) {
  for (const Format& f : kFormats) {
    EXPECT_EQ(f.encode(1e300), infinity_bits(f));
    EXPECT_EQ(f.encode(-1e300), infinity_bits(f) | 0x8000);
    EXPECT_EQ(f.encode(1e-300), 0);
    EXPECT_EQ(f.encode(-1e-300), 0x8000);
    EXPECT_EQ(f.encode(std::numeric_limits<double>::denorm_min()), 0);
    EXPECT_EQ(f.encode(-0.0), 0x8000);
    EXPECT_TRUE(std::isnan(f.decode(f.encode(std::numeric_limits<double>::quiet_NaN()))));
  }
}

// 1 + 2^-11 + 2^-40 rounds up; by way of float, which drops the last bit, it would tie to even and round
// down.
TEST(Half, DoubleRoundsOnce) {
  const double value = 1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40);
  EXPECT_EQ(double_to_f16(value), 0x3c01);
  EXPECT_EQ(float_to_f16(static_cast<float>(value)), 0x3c00);
}

}  // namespace
}  // namespace frit::base
