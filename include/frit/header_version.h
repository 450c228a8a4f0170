// Which headers a program was compiled with, and the version of the library that it runs with.
#pragma once

#include <cstdint>

#include "frit/version.h"

namespace frit {
inline namespace FRIT_ABI {

// First member of every options struct, filled in by the application's compiler: leave it alone. The library
// refuses headers that differ in more than the last part.
struct HeaderVersion {
  uint32_t value = FRIT_VERSION_MAJOR * 10000 + FRIT_VERSION_MINOR * 100 + FRIT_VERSION_PATCH;
};

// "0.1.0"
FRIT_EXPORT const char* library_version();

}  // namespace FRIT_ABI
}  // namespace frit
