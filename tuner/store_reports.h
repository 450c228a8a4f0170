// What the store's inspecting and moving operations take and answer; plain data for `frit cache` to print.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tuner/key.h"
#include "tuner/records.h"

namespace frit::tuner {

enum class StoreMode { kReadWrite, kReadOnly, kMemory };
const char* store_mode_name(StoreMode mode);

struct StoreStatus {
  StoreMode mode = StoreMode::kMemory;
  std::string path;         // empty for a store that never had a file
  std::string journal;      // wal, rollback, none
  int schema_version = 0;   // of the file; 0 without one
  bool missing = false;     // create was false and there is no file
  bool held = false;        // another process held the file when it was opened: it may be free later
  bool native_code = true;  // objects of the file may be used
  std::string warning;      // the warning that was given, or empty
  std::string set_aside;    // new name of a bad file, or empty
  std::string bad_file;     // leave_bad_file: why the file is not used, or empty
};

struct Explanation {
  Match match = Match::kMiss;
  bool has_record = false;  // key and what follows: the exact record, or the nearest one
  Key key;
  std::string family;  // decision: family and params; plan: empty
  int version = 0;
  State state = State::kHeuristic;
  std::string params;
  double distance = 0;
  std::vector<Difference> differences;  // ours: what was asked for; theirs: what the record has
};

struct Listing {
  KeyKind kind = KeyKind::kDecision;
  base::Hash128 hash;
  std::string family;  // decision only
  int version = 0;     // of family or partitioner
  State state = State::kHeuristic;
  std::string params;
  double time_ns = 0;
  double heuristic_ns = 0;
  int64_t trials = 0;
  uint64_t bytes = 0;  // of the object, or of the plan's text
  std::string origin;
  int64_t created_s = 0;
  int64_t last_use_s = 0;
};

struct Record {
  Key key;
  int64_t last_use_s = 0;
  std::vector<Decision> decisions;
  std::vector<PlanRecord> plans;
  std::vector<Trial> trials;
  std::vector<Object> objects;  // without their bytes
  uint64_t object_bytes = 0;
};

struct StoreStats {
  int64_t decisions = 0, tuned = 0, partial = 0, heuristic = 0;
  int64_t plans = 0;
  int64_t trials = 0, failed_trials = 0;
  int64_t objects = 0, object_bytes = 0;
  int64_t misses = 0;
  int64_t file_bytes = 0;  // pages in use
  // Of this process.
  int64_t exact_hits = 0, near_hits = 0, lookups_missed = 0, object_hits = 0, object_misses = 0;
  int64_t damaged_rows = 0;  // rows that were met and did not match their checksum
};

struct VerifyReport {
  int64_t rows_checked = 0;
  std::vector<std::string> problems;  // empty: all is well
  bool ok() const { return problems.empty(); }
};

struct PruneOptions {
  uint64_t max_bytes = 0;  // 0: no limit
  int64_t max_age_s = 0;   // drop what was not used for so long; 0: no limit
};

struct PruneReport {
  int64_t keys = 0, decisions = 0, plans = 0, trials = 0, objects = 0, damaged = 0;
  int64_t bytes_before = 0, bytes_after = 0;
};

struct ExportOptions {
  bool objects = false;
};

struct ExportReport {
  int64_t decisions = 0, plans = 0, objects = 0;
  base::Hash128 content;  // of all records
  base::Hash128 choices;  // of keys and choices alone: the same when only measurements differ
};

struct ImportOptions {
  bool trust_objects = false;  // the user's own word for this one file
  // Ingredients of this machine's keys (target, arch, features ...): entries are told apart by whether they
  // can hit.
  std::vector<Ingredient> here;
};

enum class ImportOutcome { kAdded, kKeptExisting, kReplaced, kRejected };
const char* import_outcome_name(ImportOutcome outcome);

struct ImportEntry {
  KeyKind kind = KeyKind::kDecision;
  std::string hash;   // hexadecimal; empty where the line could not be read
  std::string label;  // family and params, or what it is
  ImportOutcome outcome = ImportOutcome::kRejected;
  std::string reason;                 // why it was kept, replaced or rejected
  std::vector<Difference> differing;  // from `here`: empty means that it can hit on this machine
};

struct ImportReport {
  base::Hash128 content;
  int64_t added = 0, kept = 0, replaced = 0, rejected = 0;
  std::vector<ImportEntry> entries;
};

}  // namespace frit::tuner
