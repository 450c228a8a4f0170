// The border between frit and the machine code it generates: what a kernel is called with and what it
// answers.
//
// Cached objects outlive the process that made them, so the layout is versioned: kKernelAbiVersion is part of
// every binary key, and a change of anything on this page raises it. Emitters write kernels against this
// page, exec calls them through it. It must not know what a kernel computes, nor who emitted it.
//
// A kernel
//   - computes tiles [first_tile, last_tile) of its tile range, and is right for any split of that range, in
//   any order,
//     on any number of workers at once; an empty range does nothing and returns 0;
//   - touches only buffers, sizes, scratch, error and its own stack; holds no state and calls nothing;
//   - never reads or writes outside its buffers, whatever the run-time data: it reports bad data instead
//   (below);
//   - finds the denormal mode (and, where it uses AMX, the tile palette) set by its caller, and leaves both
//   alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace frit::device {

inline constexpr int32_t kKernelAbiVersion = 1;

// Words at KernelArgs::error, in this order: the code that the kernel also returns, the offending value, and
// the bound that it had to respect (0 where there is none). They are the code, a and b of loop's `fail`
// statement.
inline constexpr int kErrorCode = 0;
inline constexpr int kErrorValue = 1;
inline constexpr int kErrorBound = 2;
inline constexpr int kErrorWords = 3;

// Alignment of KernelArgs::scratch in bytes.
inline constexpr int64_t kScratchAlignment = 64;

// What a kernel returns. On anything but kOk it has filled the error words and stopped: its part of the
// outputs is undefined, other workers' tiles are untouched. On kOk the error words are untouched.
enum class KernelStatus : int32_t {
  kOk = 0,
  kIndexOutOfRange =
      1,  // a gather or scatter index outside [-bound, bound) (or [0, bound) where negatives are not legal)
  kDivisionByZero = 2,  // integer division or remainder by zero
  kBadValue = 3,        // any other datum outside the operator's domain
};

struct KernelArgs {
  void* const*
      buffers;  // one pointer per buffer argument, in the order of the signature, aligned to its class
  const int64_t* sizes;  // one value per run-time size, in the order of the signature
  int64_t first_tile;    // first tile to compute
  int64_t last_tile;     // one past the last tile to compute
  void* scratch;  // this worker's scratch of the size that the kernel asks for, else null; contents undefined
  int64_t* error;  // this worker's kErrorWords words
};

using KernelEntry = int32_t (*)(const KernelArgs*);

// Emitters hard-wire these offsets.
static_assert(std::is_standard_layout_v<KernelArgs> && std::is_trivial_v<KernelArgs>);
static_assert(sizeof(void*) == 8 && sizeof(KernelArgs) == 48);
static_assert(offsetof(KernelArgs, buffers) == 0 && offsetof(KernelArgs, sizes) == 8);
static_assert(offsetof(KernelArgs, first_tile) == 16 && offsetof(KernelArgs, last_tile) == 24);
static_assert(offsetof(KernelArgs, scratch) == 32 && offsetof(KernelArgs, error) == 40);

}  // namespace frit::device
