// Rows of the cache's tables: reading, writing and checksums, on one database.
//
// The store adds policy on top (which layer, which fault, which record is better). A row whose checksum does
// not match is skipped and counted, never returned. Functions that write run inside the caller's transaction.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tuner/key.h"
#include "tuner/records.h"
#include "tuner/store_reports.h"
#include "tuner/store_sqlite.h"

namespace frit::tuner::rows {

struct KeyRow {
  int64_t id = 0;
  int64_t last_use_s = 0;
};

// Nothing when there is no row of this hash, or its text is not the key's.
Result<std::optional<KeyRow>> find_key(sql::Database& db, const Key& key);
// Makes the row, or repairs one whose text does not match its hash; counts as a use.
Result<int64_t> ensure_key(sql::Database& db, const Key& key, int64_t now_s);
Status set_last_use(sql::Database& db, int64_t key_id, int64_t now_s);

struct DecisionRow {
  int64_t id = 0;
  Decision decision;
};
struct PlanRow {
  int64_t id = 0;
  PlanRecord plan;
};

// damaged: incremented per row that is skipped.
Result<std::vector<DecisionRow>> decisions_of(sql::Database& db, const Key& key, KeyRow* key_row,
                                              int64_t* damaged);
Result<std::vector<PlanRow>> plans_of(sql::Database& db, const Key& key, KeyRow* key_row, int64_t* damaged);
Result<std::optional<Object>> object_of(sql::Database& db, const Key& key, KeyRow* key_row, int64_t* damaged);
Result<std::vector<Trial>> trials_of(sql::Database& db, const Key& key, int64_t* damaged);

// A record under another key.
struct Candidate {
  Key key;
  Decision decision;  // of a decision key
  PlanRecord plan;    // of a plan key
};
enum class Relation { kKin, kSubject };
// At most a thousand, the newest keys first.
Result<std::vector<Candidate>> candidates(sql::Database& db, const Key& key, Relation relation,
                                          int64_t* damaged);

// Insert, or overwrite the row of the same key, family and version (plan: version).
Status write_decision(sql::Database& db, const Key& key, int64_t key_id, const Decision& decision);
Status write_plan(sql::Database& db, const Key& key, int64_t key_id, const PlanRecord& plan);
Status write_object(sql::Database& db, const Key& key, int64_t key_id, const Object& object);
Status append_trial(sql::Database& db, const Key& key, int64_t key_id, const Trial& trial);
Status delete_decision(sql::Database& db, int64_t id);

Status add_miss(sql::Database& db, int64_t key_id, const Miss& miss);
Status delete_miss(sql::Database& db, int64_t key_id);

// Visits the whole key rows of a kind, ordered by hash; damaged counts the others.
struct KeyEntry {
  int64_t id = 0;
  int64_t last_use_s = 0;
  Key key;
};
using KeyVisitor = std::function<Status(const KeyEntry&)>;
Status each_key(sql::Database& db, KeyKind kind, int64_t* damaged, const KeyVisitor& visit);
// Those whose hexadecimal hash begins with prefix.
Result<std::vector<KeyEntry>> keys_with_prefix(sql::Database& db, std::string_view prefix, int64_t* damaged);
Result<std::vector<Miss>> misses(sql::Database& db, int64_t* damaged);

}  // namespace frit::tuner::rows
