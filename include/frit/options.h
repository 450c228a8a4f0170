// Options of Model and Session, made for designated initialisers:
//
//   auto model = frit::Model::load("resnet50.onnx", {.cache = "/var/cache/frit"});
//   auto session = frit::Session::create(*model, {.threads = 2, .on_miss = frit::OnMiss::kTune});
//
// Everything has a default. What is out of range is kInvalidArgument, naming the option, at the call that
// takes it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "frit/header_version.h"
#include "frit/log.h"
#include "frit/numerics.h"
#include "frit/stop.h"
#include "frit/version.h"

namespace frit {
inline namespace FRIT_ABI {

// What to do when the cache has no decision for a kernel. Exact records are used by every policy, whether
// they were tuned, partly tuned or are the heuristic's.
enum class OnMiss : uint8_t {
  kHeuristic,   // a near record, else the heuristic; the default, for ever: a library burns no CPU unasked
  kBackground,  // the same, and notes the miss in the cache for a tuning service to find
  kTune,        // searches on this machine, within budget_s, and keeps what it finds
  kError,       // Code::kNotFound, naming the group; with accept_near a near record will do
};

// What is going on in a prepare that takes long.
struct Progress {
  std::string_view group;  // valid during the call
  int group_number = 0;    // from 1
  int groups = 0;
  int64_t trial = 0, trials = 0;                // of this group: measured, planned
  double best_ms = 0, heuristic_ms = 0;         // of this group
  double model_ms = 0, model_heuristic_ms = 0;  // sum over all groups, with the winners and without
  double seconds_left = 0;                      // of the budget
};
// Called on the thread that called prepare, or on a thread of its own but never twice at once. Must not call
// the session. Throwing is ignored.
using ProgressCallback = std::function<void(const Progress&)>;

struct ModelOptions {
  HeaderVersion header = {};  // not yours to set

  // "cpu" is this machine; "cpu:NAME" a baseline such as cpu:x86-64-v3, so that what is compiled runs
  // elsewhere.
  std::string target = "cpu";
  // Tuning cache: a file, a folder, or "off". Nothing: FRIT_CACHE, CACHE_DIRECTORY, XDG_CACHE_HOME/frit,
  // ~/.cache/frit, or memory, in this order. A cache that cannot be used is a warning, not an error.
  std::optional<std::string> cache = {};
  // libfrit-codegen or its folder. Empty: FRIT_CODEGEN, then beside this library.
  std::string codegen_library = {};
  // false: what is not in the cache as machine code is an error, as on a machine without libfrit-codegen.
  bool compile = true;
  // Threads that compile side by side in a prepare; 0: as many as this process may run, at most 8.
  int compile_threads = 0;
  // For debugging: kernels show up in gdb, and in perf's jitdump file in this (existing) folder.
  bool gdb = false;
  std::string perf_dump_folder = {};
  std::shared_ptr<LogSink> log = {};  // null: silent
  StopToken stop = {};                // looked at while loading
};

struct SessionOptions {
  HeaderVersion header = {};  // not yours to set

  // Most threads of one run, the caller's among them; 0: as many as this process may run on physical cores.
  int threads = 0;
  Numerics numerics = Numerics::kDefault;
  OnMiss on_miss = OnMiss::kHeuristic;
  bool accept_near = false;  // for kError
  // For kTune: also searches on where an earlier budget ended, or where only the heuristic's choice is known, as the
  // verb `frit tune` does.
  bool continue_partial = false;
  double budget_s = 20;      // for kTune: wall time per prepare, in seconds; infinity: no limit
  // Most runs at a time; further callers wait. Each may need an arena of its own. 0: 4.
  int contexts = 0;
  // Most sets of shapes that stay prepared; the one used longest ago goes first. 0: 8.
  int shape_sets = 0;
  ProgressCallback progress = {};
  StopToken stop = {};  // looked at while preparing, also where a run prepares
};

struct RunOptions {
  HeaderVersion header = {};  // not yours to set
  StopToken stop = {};        // looked at between kernels
};

}  // namespace FRIT_ABI
}  // namespace frit
