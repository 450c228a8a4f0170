// Where every value of a plan lives while it runs: the caller's memory, the Model's constants, or an offset
// in one arena.
//
// Lifetimes are counted in steps (a step holds kernels that run side by side), offsets come from a greedy
// best fit over them. It must not know kernels or threads: sizes and signatures in, offsets out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exec/build.h"

namespace frit::exec {

constexpr int64_t kBufferAlignment = 64;
constexpr int64_t kOverReadBytes = 64;  // after every buffer, for arguments that are marked over_read

// A piece of memory that is in use from step `first` to step `last`, both included.
struct Lifetime {
  int64_t size_bytes = 0;
  int32_t first = 0, last = 0;
};
struct Placement {
  std::vector<int64_t> offsets;  // multiples of kBufferAlignment
  int64_t size_bytes = 0;
};
// Pieces whose lifetimes meet do not overlap. Deterministic; O(n^2).
Placement place(std::span<const Lifetime> lifetimes);

enum class StorageKind : uint8_t {
  kUnused,    // no group reads or writes it at run time
  kConstant,  // a constant, or made at load from constants
  kInput,     // the caller's memory of graph input `index`
  kOutput,    // the caller's memory of graph output `index`
  kArena,     // at `offset`
};
struct Storage {
  StorageKind kind = StorageKind::kUnused;
  int32_t index = -1;
  int64_t offset = -1;
  int64_t align_bytes = 1;  // the strictest class of all arguments that the memory is bound to
  bool over_read = false;   // some argument reads past its end
};

// A graph output that is copied to the caller's memory after the last step, because its value lives
// elsewhere.
struct OutputCopy {
  int32_t output = 0;
  graph::ValueId value = graph::kNoValue;
};

struct MemoryPlan {
  std::vector<int32_t> steps;  // per group: when it runs; -1 for load-time groups
  int32_t step_count = 0;
  std::vector<int64_t> value_bytes;  // per value of plan.graph
  std::vector<Storage> values;       // per value of plan.graph
  std::vector<std::vector<int64_t>>
      scratch;  // per group and program buffer: arena offset, -1 where it is not scratch
  std::vector<OutputCopy> copies;
  int64_t worker_scratch_offset = 0;  // worker w's scratch is at this + w * worker_scratch_bytes
  int64_t worker_scratch_bytes = 0;
  int64_t arena_bytes = 0;
  int32_t in_place = 0;  // outputs that took over the memory of an input
};

struct MemoryOptions {
  int threads = 1;
  std::vector<bool> donated;  // per graph input: its memory may be overwritten; empty: none may
  bool physical_io = false;   // outputs may have any layout: the caller's memory holds it as it is
};

// Errors: kInternal where plan and programs do not fit each other.
Result<MemoryPlan> plan_memory(const CompiledPlan& compiled, const MemoryOptions& options);

}  // namespace frit::exec
