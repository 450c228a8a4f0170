// What the tuning cache holds: decisions, plan records, trials, objects, and the evidence that goes with
// them.
//
// Filled by the tuner and exec, kept by the store (tuner/store.h), printed by `frit cache`. Params, group
// text and plan text are opaque texts here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frit/result.h"
#include "tuner/key.h"

namespace frit::tuner {

// What a decision or plan rests on. Times in nanoseconds, 0 where it was not measured; not finite ones are
// stored as 0.
struct Evidence {
  double time_ns = 0;       // median of the winner
  double spread_ns = 0;     // its median absolute deviation
  double heuristic_ns = 0;  // the heuristic choice, measured in the same session
  double runner_up_ns = 0;
  std::string runner_up;          // params of the second best
  int64_t samples = 0;            // of the winner
  int64_t trials = 0;             // variants measured for the decision
  int64_t failures = 0;           // variants that failed
  std::string strategy;           // search that found it
  std::string machine;            // "quiet", or what disturbed the measurement
  std::vector<Ingredient> notes;  // anything else, in order

  bool operator==(const Evidence&) const = default;
};

// One JSON object, the same bytes for the same evidence. Parsing takes what it understands.
std::string evidence_text(const Evidence& evidence);
Evidence parse_evidence(std::string_view text);

// Machine and versions behind a record: cache sizes, memory, clocks, host, driver, frit, compiler. Orders
// near hits.
using Provenance = std::vector<Ingredient>;

enum class State : int { kHeuristic = 0, kPartial = 1, kTuned = 2 };  // persisted
const char* state_name(State state);

struct Decision {
  State state = State::kHeuristic;
  std::string family;
  int family_version = 0;
  std::string params;
  Evidence evidence;
  Provenance provenance;
  std::string origin = "local";  // or "pack:<content hash>"
  int64_t created_s = 0;         // set by the store when 0
};

enum class Match { kMiss, kNear, kExact };
const char* match_name(Match match);

// Below this distance a near record is worth using as it is; above, it only seeds a search (tuner/near.h).
inline constexpr double kUsableDistance = 2.0;

struct DecisionHit {
  Match match = Match::kMiss;
  Decision decision;
  // Near: how far, and what differs (also "family_version"); the record is of another machine, shape or
  // version, so its params must be checked against the space before use.
  double distance = 0;
  std::vector<Difference> differences;
};

struct PlanRecord {
  int version = 0;  // of the partitioner
  std::string text;
  Evidence evidence;
  Provenance provenance;
  std::string origin = "local";
  int64_t created_s = 0;
};

struct PlanHit {
  Match match = Match::kMiss;
  PlanRecord plan;
  double distance = 0;
  std::vector<Difference> differences;
};

enum class Outcome : int {  // persisted
  kMeasured = 0,
  kCompileError = 1,
  kCrash = 2,
  kTimeout = 3,
  kWrongAnswer = 4,
  kOutOfBounds = 5,
  kMemory = 6,
  kRunError = 7,
  kIllegal = 8,
};
const char* outcome_name(Outcome outcome);

struct Trial {
  std::string family;
  int family_version = 0;
  std::string params;
  Outcome outcome = Outcome::kMeasured;
  std::string reason;  // for a failure: what was seen
  double time_ns = 0;  // median
  double spread_ns = 0;
  int64_t samples = 0;
  Provenance provenance;
  int64_t created_s = 0;
};

struct Object {
  std::string bytes;
  std::string emitter;  // versions of who made it
  std::string compiler;
  std::string origin = "local";  // or "trusted:<content hash>"
  int64_t created_s = 0;

  // Taken from a pack on the user's word: used as it is, whatever compiler is here.
  bool is_trusted_import() const { return origin.starts_with("trusted:"); }
};

struct Miss {
  Key key;
  int64_t count = 0;
  int64_t first_seen_s = 0;
  int64_t last_seen_s = 0;
};

enum class PutOutcome { kAdded, kReplaced, kKeptExisting };

}  // namespace frit::tuner
