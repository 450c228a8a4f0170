// The counter-based generator of tests/models/fill.py: element i of the sequence with a seed, by arithmetic
// alone.
//
// The same bits on every host, in any order of i; used to fill weights and inputs from seeds, so it may never
// change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/hash.h"

namespace frit::base {

// 64 mixed bits (SplitMix64's output function over seed + 1 + i; Steele, Lea and Flood, 2014).
constexpr uint64_t random_bits(uint64_t seed, uint64_t i) {
  uint64_t z = (seed + 1 + i) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// In [0, 1), a multiple of 2^-24: exact as a float too.
constexpr double uniform(uint64_t seed, uint64_t i) {
  return static_cast<double>(random_bits(seed, i) >> 40) / 16777216.0;
}

// The seed of a named sequence: the CRC-32 of the name.
inline uint64_t seed_of(std::string_view name) { return crc32(name); }

enum class WeightKind {
  kAny,
  kPositive,  // the magnitude
  kPaired,    // of every two neighbours the second is the first negated
};

// out[i] = float(mean + std * sqrt(3) * (2 u(first + i) - 1)), changed as kind says. first must be even for
// kPaired.
void fill_weights(std::span<float> out, uint64_t seed, double mean, double std, WeightKind kind,
                  uint64_t first = 0);

// The inputs of test cases: zero mean, unit variance; token numbers 1 ... 4999.
void fill_unit(std::span<float> out, uint64_t seed, uint64_t first = 0);
void fill_ids(std::span<int64_t> out, uint64_t seed, uint64_t first = 0);

}  // namespace frit::base
