// Pruning by age and size, in short transactions, so that readers and writers of other processes go on
// meanwhile.
//
// Order, until the file is small enough: keys that nobody used for a month with all they have, least recently
// used first; then the trials of the other keys; then those keys too. A choice and its object are worth more
// than the trials that led to it.
#include <algorithm>
#include <vector>

#include "base/try.h"
#include "tuner/store_impl.h"

namespace frit::tuner {
namespace {

constexpr int64_t kMonthS = 30 * 24 * 3600;
constexpr size_t kBatch = 128;
constexpr int kCheckpointBusyMs = 200;

struct Victim {
  int64_t id;
  int64_t last_use_s;
};

Status drop_trials(sql::Database& db, int64_t key_id, PruneReport* report) {
  FRIT_TRY(db.query("DELETE FROM trials WHERE key_id = ?", key_id).run());
  report->trials += db.changes();
  return {};
}

Status drop_key(sql::Database& db, int64_t key_id, PruneReport* report) {
  FRIT_TRY(drop_trials(db, key_id, report));
  FRIT_TRY(db.query("DELETE FROM decisions WHERE key_id = ?", key_id).run());
  report->decisions += db.changes();
  FRIT_TRY(db.query("DELETE FROM plans WHERE key_id = ?", key_id).run());
  report->plans += db.changes();
  FRIT_TRY(db.query("DELETE FROM objects WHERE key_id = ?", key_id).run());
  report->objects += db.changes();
  FRIT_TRY(db.query("DELETE FROM misses WHERE key_id = ?", key_id).run());
  FRIT_TRY(db.query("DELETE FROM keys WHERE id = ?", key_id).run());
  report->keys += db.changes();
  return {};
}

Result<std::vector<Victim>> by_use(sql::Database& db) {
  sql::Query query = db.query("SELECT id, last_use FROM keys ORDER BY last_use, id");
  std::vector<Victim> out;
  while (query.next()) out.push_back({query.integer(0), query.integer(1)});
  if (!query.ok()) return query.error();
  return out;
}

// Drops the first victims while wanted() holds, a batch per transaction.
template <class Drop, class Wanted>
Status drop_while(sql::Database& db, std::vector<Victim>& victims, Drop drop, Wanted wanted) {
  size_t next = 0;
  for (bool more = true; more && next < victims.size();) {
    sql::Transaction transaction(db);
    FRIT_TRY(transaction.begin());
    for (size_t i = 0; i < kBatch && next < victims.size(); ++i) {
      FRIT_ASSIGN(more, wanted(victims[next]));
      if (!more) break;
      FRIT_TRY(drop(victims[next++]));
    }
    FRIT_TRY(transaction.commit());
  }
  victims.erase(victims.begin(), victims.begin() + static_cast<std::ptrdiff_t>(next));
  return {};
}

// Rows whose key is gone or unreadable can never be found again.
Status drop_damaged(sql::Database& db, PruneReport* report) {
  std::vector<int64_t> unreadable;
  {
    sql::Query query = db.query("SELECT id, kind, hash, text FROM keys");
    while (query.next()) {
      const int64_t kind = query.integer(1);
      const auto key = Key::parse(static_cast<KeyKind>(kind), query.text(3));
      if (kind < 1 || kind > 3 || !key.ok() || key->hash() != query.hash(2))
        unreadable.push_back(query.integer(0));
    }
    if (!query.ok()) return query.error();
  }
  sql::Transaction transaction(db);
  FRIT_TRY(transaction.begin());
  for (const int64_t id : unreadable) {
    FRIT_TRY(db.query("DELETE FROM keys WHERE id = ?", id).run());
    report->damaged += db.changes();
  }
  for (const char* sql : {"DELETE FROM decisions WHERE key_id NOT IN (SELECT id FROM keys)",
                          "DELETE FROM plans WHERE key_id NOT IN (SELECT id FROM keys)",
                          "DELETE FROM trials WHERE key_id NOT IN (SELECT id FROM keys)",
                          "DELETE FROM objects WHERE key_id NOT IN (SELECT id FROM keys)",
                          "DELETE FROM misses WHERE key_id NOT IN (SELECT id FROM keys)"}) {
    FRIT_TRY(db.query(sql).run());
    report->damaged += db.changes();
  }
  FRIT_TRY(db.query("DELETE FROM provenance WHERE id NOT IN (SELECT provenance_id FROM decisions "
                    "UNION SELECT provenance_id FROM plans UNION SELECT provenance_id FROM trials)")
               .run());
  return transaction.commit();
}

}  // namespace

Result<int64_t> used_bytes(sql::Database& db) {
  FRIT_ASSIGN(const int64_t pages, db.integer("PRAGMA page_count"));
  FRIT_ASSIGN(const int64_t free_pages, db.integer("PRAGMA freelist_count"));
  FRIT_ASSIGN(const int64_t page_bytes, db.integer("PRAGMA page_size"));
  return (pages - free_pages) * page_bytes;
}

Result<PruneReport> prune_database(sql::Database& db, const PruneOptions& options, int64_t now_s,
                                   int busy_ms) {
  PruneReport report;
  FRIT_ASSIGN(report.bytes_before, used_bytes(db));
  FRIT_TRY(drop_damaged(db, &report));
  FRIT_ASSIGN(std::vector<Victim> victims, by_use(db));
  const auto key = [&](const Victim& it) { return drop_key(db, it.id, &report); };
  const auto trials = [&](const Victim& it) { return drop_trials(db, it.id, &report); };
  const auto too_large = [&](const Victim&) -> Result<bool> {
    FRIT_ASSIGN(const int64_t used, used_bytes(db));
    return static_cast<uint64_t>(used) > options.max_bytes;
  };
  if (options.max_age_s > 0) {
    FRIT_TRY(drop_while(db, victims, key, [&](const Victim& it) -> Result<bool> {
      return now_s - it.last_use_s > options.max_age_s;
    }));
  }
  if (options.max_bytes > 0) {
    FRIT_TRY(drop_while(db, victims, key, [&](const Victim& it) -> Result<bool> {
      if (now_s - it.last_use_s <= kMonthS) return false;
      return too_large(it);
    }));
    std::vector<Victim> kept = victims;
    FRIT_TRY(drop_while(db, kept, trials, too_large));
    FRIT_TRY(drop_while(db, victims, key, too_large));
  }
  // Gives the pages back to the file system; as far as readers let it.
  FRIT_TRY(db.exec("PRAGMA incremental_vacuum"));
  db.set_busy_ms(kCheckpointBusyMs);
  const Status checkpointed = db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  static_cast<void>(checkpointed);
  db.set_busy_ms(busy_ms);
  FRIT_ASSIGN(report.bytes_after, used_bytes(db));
  return report;
}

}  // namespace frit::tuner
