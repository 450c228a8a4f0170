#include "tuner/store_rows.h"

#include <bit>
#include <span>

#include "base/try.h"

namespace frit::tuner::rows {
namespace {

// Checksums: Hash128 over the key's hash (hi, lo) and the columns in the order written here, numbers as 8
// bytes, texts preceded by their length; folded to 64 bits (hi ^ lo) where the column is an integer.
base::Hasher begin(base::Hash128 key) {
  base::Hasher hasher;
  hasher.add(key.hi).add(key.lo);
  return hasher;
}

int64_t fold(base::Hash128 hash) { return std::bit_cast<int64_t>(hash.hi ^ hash.lo); }

int64_t checksum(base::Hash128 key, const Decision& d, std::string_view evidence) {
  return fold(begin(key)
                  .add(std::string_view(d.family))
                  .add(int64_t{d.family_version})
                  .add(static_cast<int64_t>(d.state))
                  .add(std::string_view(d.params))
                  .add(evidence)
                  .add(std::string_view(d.origin))
                  .add(d.created_s)
                  .finish());
}

int64_t checksum(base::Hash128 key, const PlanRecord& p, std::string_view evidence) {
  return fold(begin(key)
                  .add(int64_t{p.version})
                  .add(std::string_view(p.text))
                  .add(evidence)
                  .add(std::string_view(p.origin))
                  .add(p.created_s)
                  .finish());
}

int64_t checksum(base::Hash128 key, const Trial& t) {
  return fold(begin(key)
                  .add(std::string_view(t.family))
                  .add(int64_t{t.family_version})
                  .add(std::string_view(t.params))
                  .add(static_cast<int64_t>(t.outcome))
                  .add(std::string_view(t.reason))
                  .add(t.time_ns)
                  .add(t.spread_ns)
                  .add(t.samples)
                  .add(t.created_s)
                  .finish());
}

base::Hash128 checksum(base::Hash128 key, const Object& o) {
  return begin(key)
      .add(std::string_view(o.bytes))
      .add(std::string_view(o.emitter))
      .add(std::string_view(o.compiler))
      .add(std::string_view(o.origin))
      .add(o.created_s)
      .finish();
}

Provenance provenance_from(std::string_view text) {
  auto parsed = parse_ingredients(text);
  return parsed.ok() ? *std::move(parsed) : Provenance();
}

Result<int64_t> ensure_provenance(sql::Database& db, const Provenance& provenance) {
  const std::string text = ingredients_text(provenance);
  const base::Hash128 hash = base::hash128(text);
  {
    sql::Query query = db.query("SELECT id, text FROM provenance WHERE hash = ?", hash);
    if (query.next() && query.text(1) == text) return query.integer(0);
    if (!query.ok()) return query.error();
  }
  FRIT_TRY(db.query("INSERT INTO provenance (hash, text) VALUES (?, ?) "
                    "ON CONFLICT (hash) DO UPDATE SET text = excluded.text",
                    hash, text)
               .run());
  sql::Query query = db.query("SELECT id FROM provenance WHERE hash = ? AND text = ?", hash, text);
  if (query.next()) return query.integer(0);
  return query.ok() ? make_error(Code::kCorrupt, "a provenance row cannot be found again") : query.error();
}

// Columns from `at` on: family, family_version, state, params, evidence, origin, created, checksum,
// provenance.text
bool read_decision(const sql::Query& query, int at, base::Hash128 key, Decision* out) {
  out->family = query.text(at);
  out->family_version = static_cast<int>(query.integer(at + 1));
  const int64_t state = query.integer(at + 2);
  if (state < 0 || state > static_cast<int64_t>(State::kTuned)) return false;
  out->state = static_cast<State>(state);
  out->params = query.text(at + 3);
  const std::string_view evidence = query.text(at + 4);
  const std::string evidence_copy(evidence);
  out->origin = query.text(at + 5);
  out->created_s = query.integer(at + 6);
  if (query.integer(at + 7) != checksum(key, *out, evidence_copy)) return false;
  out->evidence = parse_evidence(evidence_copy);
  out->provenance = provenance_from(query.text(at + 8));
  return true;
}

// version, text, evidence, origin, created, checksum, provenance.text
bool read_plan(const sql::Query& query, int at, base::Hash128 key, PlanRecord* out) {
  out->version = static_cast<int>(query.integer(at));
  out->text = query.text(at + 1);
  const std::string evidence(query.text(at + 2));
  out->origin = query.text(at + 3);
  out->created_s = query.integer(at + 4);
  if (query.integer(at + 5) != checksum(key, *out, evidence)) return false;
  out->evidence = parse_evidence(evidence);
  out->provenance = provenance_from(query.text(at + 6));
  return true;
}

Status visit_keys(sql::Query query, int64_t* damaged, const KeyVisitor& visit) {
  while (query.next()) {
    const int64_t kind = query.integer(3);
    auto key = Key::parse(static_cast<KeyKind>(kind), query.text(2));
    if (kind < 1 || kind > 3 || !key.ok() || key->hash() != query.hash(4)) {
      ++*damaged;
      continue;
    }
    FRIT_TRY(visit({query.integer(0), query.integer(1), *std::move(key)}));
  }
  if (!query.ok()) return query.error();
  return {};
}

}  // namespace

Result<std::optional<KeyRow>> find_key(sql::Database& db, const Key& key) {
  sql::Query query = db.query("SELECT id, last_use, text FROM keys WHERE kind = ? AND hash = ?",
                              static_cast<int>(key.kind()), key.hash());
  std::optional<KeyRow> out;
  if (query.next() && query.text(2) == key.text()) out = KeyRow{query.integer(0), query.integer(1)};
  if (!query.ok()) return query.error();
  return out;
}

Result<int64_t> ensure_key(sql::Database& db, const Key& key, int64_t now_s) {
  FRIT_ASSIGN(const std::optional<KeyRow> row, find_key(db, key));
  if (row) {
    if (row->last_use_s != now_s) FRIT_TRY(set_last_use(db, row->id, now_s));
    return row->id;
  }
  const bool binary = key.kind() == KeyKind::kBinary;
  const base::Hash128 kin = key.kin(), subject = key.subject();
  if (binary) {
    FRIT_TRY(
        db.query("INSERT INTO keys (kind, hash, kin, subject, text, last_use) VALUES (?, ?, x'', x'', ?, ?) "
                 "ON CONFLICT (kind, hash) DO UPDATE SET text = excluded.text, last_use = excluded.last_use",
                 static_cast<int>(key.kind()), key.hash(), key.text(), now_s)
            .run());
  } else {
    FRIT_TRY(
        db.query("INSERT INTO keys (kind, hash, kin, subject, text, last_use) VALUES (?, ?, ?, ?, ?, ?) "
                 "ON CONFLICT (kind, hash) DO UPDATE SET kin = excluded.kin, subject = excluded.subject, "
                 "text = excluded.text, last_use = excluded.last_use",
                 static_cast<int>(key.kind()), key.hash(), kin, subject, key.text(), now_s)
            .run());
  }
  FRIT_ASSIGN(const std::optional<KeyRow> made, find_key(db, key));
  if (!made) return make_error(Code::kCorrupt, "a key row cannot be found again");
  return made->id;
}

Status set_last_use(sql::Database& db, int64_t key_id, int64_t now_s) {
  return db.query("UPDATE keys SET last_use = ? WHERE id = ?", now_s, key_id).run();
}

// Columns: id and last_use and text of the key, id of the row, then those that `read` takes, from column 4 on.
template <class Row, class Record>
Result<std::vector<Row>> rows_of(sql::Query query, const Key& key, KeyRow* key_row, int64_t* damaged,
                                 Record Row::*record,
                                 bool (*read)(const sql::Query&, int, base::Hash128, Record*)) {
  std::vector<Row> out;
  while (query.next()) {
    Row row;
    if (query.text(2) != key.text() || !read(query, 4, key.hash(), &(row.*record))) {
      ++*damaged;
      continue;
    }
    *key_row = {query.integer(0), query.integer(1)};
    row.id = query.integer(3);
    out.push_back(std::move(row));
  }
  if (!query.ok()) return query.error();
  return out;
}

Result<std::vector<DecisionRow>> decisions_of(sql::Database& db, const Key& key, KeyRow* key_row,
                                              int64_t* damaged) {
  return rows_of(
      db.query("SELECT k.id, k.last_use, k.text, d.id, d.family, d.family_version, d.state, d.params, "
               "d.evidence, d.origin, d.created, d.checksum, p.text FROM keys k "
               "JOIN decisions d ON d.key_id = k.id LEFT JOIN provenance p ON p.id = d.provenance_id "
               "WHERE k.kind = 1 AND k.hash = ?",
               key.hash()),
      key, key_row, damaged, &DecisionRow::decision, read_decision);
}

Result<std::vector<PlanRow>> plans_of(sql::Database& db, const Key& key, KeyRow* key_row, int64_t* damaged) {
  return rows_of(db.query("SELECT k.id, k.last_use, k.text, d.id, d.version, d.text, d.evidence, d.origin, "
                          "d.created, d.checksum, p.text FROM keys k JOIN plans d ON d.key_id = k.id "
                          "LEFT JOIN provenance p ON p.id = d.provenance_id WHERE k.kind = 2 AND k.hash = ?",
                          key.hash()),
                 key, key_row, damaged, &PlanRow::plan, read_plan);
}

Result<std::optional<Object>> object_of(sql::Database& db, const Key& key, KeyRow* key_row,
                                        int64_t* damaged) {
  sql::Query query = db.query(
      "SELECT k.id, k.last_use, k.text, o.bytes, o.emitter, o.compiler, o.origin, o.created, o.checksum "
      "FROM keys k JOIN objects o ON o.key_id = k.id WHERE k.kind = 3 AND k.hash = ?",
      key.hash());
  std::optional<Object> out;
  if (query.next()) {
    Object object;
    object.bytes = query.blob(3);
    object.emitter = query.text(4);
    object.compiler = query.text(5);
    object.origin = query.text(6);
    object.created_s = query.integer(7);
    if (query.text(2) == key.text() && query.hash(8) == checksum(key.hash(), object)) {
      *key_row = {query.integer(0), query.integer(1)};
      out = std::move(object);
    } else {
      ++*damaged;
    }
  }
  if (!query.ok()) return query.error();
  return out;
}

Result<std::vector<Trial>> trials_of(sql::Database& db, const Key& key, int64_t* damaged) {
  FRIT_ASSIGN(const std::optional<KeyRow> row, find_key(db, key));
  std::vector<Trial> out;
  if (!row) return out;
  sql::Query query = db.query(
      "SELECT t.family, t.family_version, t.params, t.outcome, t.reason, t.time_ns, t.spread_ns, t.samples, "
      "t.created, t.checksum, p.text FROM trials t LEFT JOIN provenance p ON p.id = t.provenance_id "
      "WHERE t.key_id = ? ORDER BY t.seq",
      row->id);
  while (query.next()) {
    Trial trial;
    trial.family = query.text(0);
    trial.family_version = static_cast<int>(query.integer(1));
    trial.params = query.text(2);
    const int64_t outcome = query.integer(3);
    trial.outcome = static_cast<Outcome>(outcome);
    trial.reason = query.text(4);
    trial.time_ns = query.real(5);
    trial.spread_ns = query.real(6);
    trial.samples = query.integer(7);
    trial.created_s = query.integer(8);
    if (outcome < 0 || outcome > static_cast<int64_t>(Outcome::kIllegal) ||
        query.integer(9) != checksum(key.hash(), trial)) {
      ++*damaged;
      continue;
    }
    trial.provenance = provenance_from(query.text(10));
    out.push_back(std::move(trial));
  }
  if (!query.ok()) return query.error();
  return out;
}

Result<std::vector<Candidate>> candidates(sql::Database& db, const Key& key, Relation relation,
                                          int64_t* damaged) {
  static constexpr const char* kDecisionsByKin =
      "SELECT k.text, k.hash, d.family, d.family_version, d.state, d.params, d.evidence, d.origin, "
      "d.created, "
      "d.checksum, p.text FROM keys k JOIN decisions d ON d.key_id = k.id "
      "LEFT JOIN provenance p ON p.id = d.provenance_id "
      "WHERE k.kin = ? AND k.kind <> 3 AND k.kind = 1 ORDER BY k.id DESC LIMIT 1000";
  static constexpr const char* kDecisionsBySubject =
      "SELECT k.text, k.hash, d.family, d.family_version, d.state, d.params, d.evidence, d.origin, "
      "d.created, "
      "d.checksum, p.text FROM keys k JOIN decisions d ON d.key_id = k.id "
      "LEFT JOIN provenance p ON p.id = d.provenance_id "
      "WHERE k.subject = ? AND k.kind <> 3 AND k.kind = 1 ORDER BY k.id DESC LIMIT 1000";
  static constexpr const char* kPlansByKin =
      "SELECT k.text, k.hash, d.version, d.text, d.evidence, d.origin, d.created, d.checksum, p.text "
      "FROM keys k JOIN plans d ON d.key_id = k.id LEFT JOIN provenance p ON p.id = d.provenance_id "
      "WHERE k.kin = ? AND k.kind <> 3 AND k.kind = 2 ORDER BY k.id DESC LIMIT 1000";
  static constexpr const char* kPlansBySubject =
      "SELECT k.text, k.hash, d.version, d.text, d.evidence, d.origin, d.created, d.checksum, p.text "
      "FROM keys k JOIN plans d ON d.key_id = k.id LEFT JOIN provenance p ON p.id = d.provenance_id "
      "WHERE k.subject = ? AND k.kind <> 3 AND k.kind = 2 ORDER BY k.id DESC LIMIT 1000";
  std::vector<Candidate> out;
  if (key.kind() == KeyKind::kBinary) return out;
  const bool decisions = key.kind() == KeyKind::kDecision, kin = relation == Relation::kKin;
  const char* sql =
      decisions ? (kin ? kDecisionsByKin : kDecisionsBySubject) : (kin ? kPlansByKin : kPlansBySubject);
  sql::Query query = db.query(sql, kin ? key.kin() : key.subject());
  while (query.next()) {
    Candidate candidate;
    auto parsed = Key::parse(key.kind(), query.text(0));
    // The index may be damaged too: a record of another kin must never be offered.
    const bool whole = parsed.ok() && parsed->hash() == query.hash(1) &&
                       (kin ? parsed->kin() == key.kin() : parsed->subject() == key.subject()) &&
                       (decisions ? read_decision(query, 2, parsed->hash(), &candidate.decision)
                                  : read_plan(query, 2, parsed->hash(), &candidate.plan));
    if (!whole) {
      ++*damaged;
      continue;
    }
    candidate.key = *std::move(parsed);
    out.push_back(std::move(candidate));
  }
  if (!query.ok()) return query.error();
  return out;
}

Status write_decision(sql::Database& db, const Key& key, int64_t key_id, const Decision& decision) {
  FRIT_ASSIGN(const int64_t provenance, ensure_provenance(db, decision.provenance));
  const std::string evidence = evidence_text(decision.evidence);
  return db
      .query(
          "INSERT OR REPLACE INTO decisions (key_id, family, family_version, state, params, evidence, "
          "provenance_id, origin, created, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
          key_id, decision.family, decision.family_version, static_cast<int>(decision.state), decision.params,
          evidence, provenance, decision.origin, decision.created_s, checksum(key.hash(), decision, evidence))
      .run();
}

Status write_plan(sql::Database& db, const Key& key, int64_t key_id, const PlanRecord& plan) {
  FRIT_ASSIGN(const int64_t provenance, ensure_provenance(db, plan.provenance));
  const std::string evidence = evidence_text(plan.evidence);
  return db
      .query(
          "INSERT OR REPLACE INTO plans (key_id, version, text, evidence, provenance_id, origin, created, "
          "checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
          key_id, plan.version, plan.text, evidence, provenance, plan.origin, plan.created_s,
          checksum(key.hash(), plan, evidence))
      .run();
}

Status write_object(sql::Database& db, const Key& key, int64_t key_id, const Object& object) {
  return db
      .query(
          "INSERT OR REPLACE INTO objects (key_id, bytes, emitter, compiler, origin, created, checksum) "
          "VALUES (?, ?, ?, ?, ?, ?, ?)",
          key_id, std::as_bytes(std::span<const char>(object.bytes)), object.emitter, object.compiler,
          object.origin, object.created_s, checksum(key.hash(), object))
      .run();
}

Status append_trial(sql::Database& db, const Key& key, int64_t key_id, const Trial& trial) {
  FRIT_ASSIGN(const int64_t provenance, ensure_provenance(db, trial.provenance));
  return db
      .query(
          "INSERT INTO trials (key_id, seq, family, family_version, params, outcome, reason, time_ns, "
          "spread_ns, "
          "samples, provenance_id, created, checksum) VALUES (?1, "
          "(SELECT coalesce(max(seq), 0) + 1 FROM trials WHERE key_id = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
          "?10, "
          "?11, ?12)",
          key_id, trial.family, trial.family_version, trial.params, static_cast<int>(trial.outcome),
          trial.reason, trial.time_ns, trial.spread_ns, trial.samples, provenance, trial.created_s,
          checksum(key.hash(), trial))
      .run();
}

Status delete_decision(sql::Database& db, int64_t id) {
  return db.query("DELETE FROM decisions WHERE id = ?", id).run();
}

Status add_miss(sql::Database& db, int64_t key_id, const Miss& miss) {
  return db
      .query(
          "INSERT INTO misses (key_id, count, first_seen, last_seen) VALUES (?, ?, ?, ?) "
          "ON CONFLICT (key_id) DO UPDATE SET count = count + excluded.count, last_seen = excluded.last_seen",
          key_id, miss.count, miss.first_seen_s, miss.last_seen_s)
      .run();
}

Status delete_miss(sql::Database& db, int64_t key_id) {
  return db.query("DELETE FROM misses WHERE key_id = ?", key_id).run();
}

Status each_key(sql::Database& db, KeyKind kind, int64_t* damaged, const KeyVisitor& visit) {
  return visit_keys(db.query("SELECT id, last_use, text, kind, hash FROM keys WHERE kind = ? ORDER BY hash",
                             static_cast<int>(kind)),
                    damaged, visit);
}

Result<std::vector<KeyEntry>> keys_with_prefix(sql::Database& db, std::string_view prefix, int64_t* damaged) {
  std::vector<KeyEntry> out;
  FRIT_TRY(visit_keys(db.query("SELECT id, last_use, text, kind, hash FROM keys "
                               "WHERE lower(substr(hex(hash), 1, length(?1))) = ?1 ORDER BY kind, hash",
                               prefix),
                      damaged, [&](const KeyEntry& it) -> Status {
                        out.push_back(it);
                        return {};
                      }));
  return out;
}

Result<std::vector<Miss>> misses(sql::Database& db, int64_t* damaged) {
  sql::Query query = db.query(
      "SELECT k.text, k.hash, m.count, m.first_seen, m.last_seen FROM misses m JOIN keys k ON k.id = "
      "m.key_id "
      "WHERE k.kind = 1 ORDER BY m.count DESC, k.hash");
  std::vector<Miss> out;
  while (query.next()) {
    auto key = Key::parse(KeyKind::kDecision, query.text(0));
    if (!key.ok() || key->hash() != query.hash(1)) {
      ++*damaged;
      continue;
    }
    out.push_back({*std::move(key), query.integer(2), query.integer(3), query.integer(4)});
  }
  if (!query.ok()) return query.error();
  return out;
}

}  // namespace frit::tuner::rows
