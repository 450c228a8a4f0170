// The version of these headers. The library compares it with its own at the first call and answers a clear error
// when they differ; the inline namespace makes a mixed link fail by name.
#pragma once

#define FRIT_VERSION_MAJOR 0
#define FRIT_VERSION_MINOR 1
#define FRIT_VERSION_PATCH 0
#define FRIT_ABI v0
#define FRIT_EXPORT __attribute__((visibility("default")))
