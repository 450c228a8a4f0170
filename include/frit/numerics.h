// What a tuned choice may change about results. Bounds are on the largest difference relative to the output's largest
// magnitude; src/README.md section 9 has the full rules.
#pragma once

#include <cstdint>

#include "frit/version.h"

namespace frit {
inline namespace FRIT_ABI {

// Persisted in caches: never renumber.
enum class Numerics : uint8_t {
  kStrict = 0,   // one order of operations per element, the same bits on every machine with FMA; 1e-5
  kDefault = 1,  // any order, fp32 arithmetic; 1e-4
  kFast = 2,     // lower-precision products with fp32 accumulation; 2e-2. On the CPU equal to kDefault for now.
};

constexpr const char* numerics_name(Numerics n) {
  constexpr const char* names[] = {"strict", "default", "fast"};
  return names[static_cast<int>(n)];
}

}  // namespace FRIT_ABI
}  // namespace frit
