#include "tuner/store_schema.h"

#include <algorithm>

#include "base/text.h"
#include "base/try.h"
#include "tuner/cache_sql.h"

namespace frit::tuner {
namespace {

constexpr int32_t kApplicationId = 0x66726974;  // "frit"
constexpr int kVersion = 1;

// One row per version that was ever released; version 1 is the first.
constexpr std::span<const Migration> kMigrations{};

constexpr const char* kProbes[] = {
    "SELECT id, kind, hash, kin, subject, text, last_use FROM keys",
    "SELECT id, hash, text FROM provenance",
    "SELECT id, key_id, family, family_version, state, params, evidence, provenance_id, origin, created, "
    "checksum "
    "FROM decisions",
    "SELECT id, key_id, version, text, evidence, provenance_id, origin, created, checksum FROM plans",
    "SELECT key_id, seq, family, family_version, params, outcome, reason, time_ns, spread_ns, samples, "
    "provenance_id, created, checksum FROM trials",
    "SELECT key_id, bytes, emitter, compiler, origin, created, checksum FROM objects",
    "SELECT key_id, count, first_seen, last_seen FROM misses",
};

Status set_version(sql::Database& db, const Schema& schema) {
  // Pragmas take no parameters.
  return db.exec(
      base::text_of("PRAGMA application_id=", schema.application_id, "; PRAGMA user_version=", schema.version)
          .c_str());
}

}  // namespace

const Schema& cache_schema() {
  static constexpr Schema kSchema{kApplicationId, kVersion, kCacheSql, kMigrations, kProbes};
  return kSchema;
}

Result<Classified> classify(sql::Database& db, const Schema& schema) {
  FRIT_ASSIGN(const int64_t tables, db.integer("SELECT count(*) FROM sqlite_schema"));
  FRIT_ASSIGN(const int64_t application, db.integer("PRAGMA application_id"));
  FRIT_ASSIGN(const int64_t version, db.integer("PRAGMA user_version"));
  Classified out;
  out.version = static_cast<int>(version);
  if (application == 0 && version == 0 && tables == 0) {
    out.kind = FileKind::kFresh;
  } else if (application != schema.application_id) {
    out.why = "is a database of another program";
  } else if (version > schema.version) {
    out.kind = FileKind::kNewer;
  } else if (version < schema.version) {
    const bool known = std::any_of(schema.migrations.begin(), schema.migrations.end(),
                                   [&](const Migration& it) { return it.from == version; });
    if (known) {
      out.kind = FileKind::kOlder;
    } else {
      out.why = base::text_of("has the unknown schema version ", version);
    }
  } else {
    out.kind = FileKind::kCurrent;
    for (const char* probe : schema.probes) {
      // Prepares without reading a row.
      if (db.query(probe).ok()) continue;
      if (db.fault() != sql::Fault::kOther) return make_error(Code::kCorrupt, "cannot read its tables");
      out.kind = FileKind::kForeign;
      out.why = "lacks tables of its schema version";
      break;
    }
  }
  return out;
}

Status create_schema(sql::Database& db, const Schema& schema) {
  sql::Transaction transaction(db);
  FRIT_TRY(transaction.begin());
  // Another process may have been faster.
  FRIT_ASSIGN(const Classified now, classify(db, schema));
  if (now.kind == FileKind::kCurrent) return {};
  if (now.kind != FileKind::kFresh) return make_error(Code::kCorrupt, "the file is no longer empty");
  FRIT_TRY(db.exec(schema.create_sql));
  FRIT_TRY(set_version(db, schema));
  return transaction.commit();
}

Status migrate(sql::Database& db, const Schema& schema, int from) {
  sql::Transaction transaction(db);
  FRIT_TRY(transaction.begin());
  FRIT_ASSIGN(const Classified now, classify(db, schema));
  if (now.kind == FileKind::kCurrent) return {};
  if (now.version != from) return make_error(Code::kBusy, "another process is migrating it");
  for (int version = from; version < schema.version; ++version) {
    const auto step = std::find_if(schema.migrations.begin(), schema.migrations.end(),
                                   [&](const Migration& it) { return it.from == version; });
    if (step == schema.migrations.end()) {
      return make_error(Code::kUnsupported, base::text_of("no migration from schema version ", version));
    }
    FRIT_TRY(db.exec(step->sql).with(base::text_of("migration from schema version ", version)));
  }
  FRIT_TRY(set_version(db, schema));
  FRIT_ASSIGN(const Classified after, classify(db, schema));
  if (after.kind != FileKind::kCurrent) {
    return make_error(Code::kInternal,
                      base::text_of("after migrating from version ", from, " it ", after.why));
  }
  return transaction.commit();
}

}  // namespace frit::tuner
