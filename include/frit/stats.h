// What a Session has done and what it costs: counters, memory, times, and the choice behind every kernel.
//
// A snapshot, made by Session::stats(): plain values that refer to nothing. In a forked child only target,
// threads and load_ms are filled in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frit/version.h"

namespace frit {
inline namespace FRIT_ABI {

// Three scopes. groups, kernels and host_kernels are of the shapes prepared last (0 before); trials, hits and
// misses are of this session since it was created; compiles and object_loads are of the model since it was
// loaded, all its sessions together, since they share kernels.
struct Counters {
  int64_t groups = 0;        // fusion groups that a run computes; those computed once at load are not counted
  int64_t kernels = 0;       // kernel launches of a run
  int64_t host_kernels = 0;  // irregular operators that the host computes instead
  int64_t trials = 0;        // variants that were measured
  int64_t compiles = 0;      // kernels that were compiled, variants included
  int64_t object_loads = 0;  // kernels that were mapped into the process, compiled here or not
  // Groups whose decision was looked up in the cache, also where several share a record; load-time groups
  // included, host operators not. Without a cache all are misses.
  int64_t exact_hits = 0, near_hits = 0, misses = 0;
};

struct MemoryUse {
  int64_t weights_bytes = 0;  // constants that kernels read where the model file has them; shapes prepared last
  int64_t packed_bytes = 0;   // constants made at load, of all sessions of the model
  int64_t arena_bytes = 0;    // intermediate values, of all contexts and prepared shapes of this session
};

enum class Match : uint8_t { kMiss, kNear, kExact };         // with the cache
enum class Tuned : uint8_t { kHeuristic, kPartial, kFull };  // kPartial: the budget ended before the search

constexpr const char* match_name(Match m) {
  constexpr const char* names[] = {"miss", "near", "exact"};
  return names[static_cast<int>(m)];
}
constexpr const char* tuned_name(Tuned t) {
  constexpr const char* names[] = {"heuristic", "partial", "tuned"};
  return names[static_cast<int>(t)];
}

// One fusion group and how it is computed.
struct GroupInfo {
  std::string label;   // names the model's node: `Conv "conv1" (conv)`
  std::string work;    // what is computed: "conv 3x3 64->64 @56x56"; the same for equal groups
  std::string family;  // empty: by the host
  std::string params;  // the choice, "mr=6 nv=4"
  Match match = Match::kMiss;
  Tuned tuned = Tuned::kHeuristic;
  bool load_time = false;                // computed once, from constants
  double time_ms = 0, heuristic_ms = 0;  // as they were measured when it was tuned, else 0
  double flops = 0;                      // arithmetic of one run, a multiply-add counted as two
  double bytes = 0;                      // inputs read once and outputs written once: the least traffic there is
};

struct SessionStats {
  Counters counters;
  MemoryUse memory;
  std::string target;  // "cpu:x86_64/avx,fma,avx2/AuthenticAMD/25/17"
  int threads = 1;
  std::string cache;              // the file, "memory" or "off"
  bool compiler_open = false;     // whether libfrit-codegen had to be opened
  double load_ms = 0;             // of the model
  double prepare_ms = 0;          // of the shapes prepared last
  std::vector<GroupInfo> groups;  // of the shapes prepared last
};

}  // namespace FRIT_ABI
}  // namespace frit
