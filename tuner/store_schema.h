// The cache's schema and how older files are brought up to it. The SQL is schemas/cache.sql, compiled in.
#pragma once

#include <cstdint>
#include <span>

#include "frit/result.h"
#include "tuner/store_sqlite.h"

namespace frit::tuner {

// Brings a file from version `from` to `from` + 1, in one transaction with the new version number.
struct Migration {
  int from;
  const char* sql;
};

struct Schema {
  int32_t application_id;
  int version;
  const char* create_sql;
  std::span<const Migration> migrations;
  std::span<const char* const> probes;  // statements that must prepare on a file of this version
};

const Schema& cache_schema();

enum class FileKind {
  kFresh,  // nothing in it yet
  kCurrent,
  kOlder,    // can be migrated
  kNewer,    // to be read for what is understood
  kForeign,  // another program's, or damaged so that tables are missing
};

struct Classified {
  FileKind kind = FileKind::kForeign;
  int version = 0;
  std::string why;  // foreign: what is wrong
};

// Reads only. An error is the database's own: damaged, locked ...
Result<Classified> classify(sql::Database& db, const Schema& schema);

// Makes the tables of a fresh database.
Status create_schema(sql::Database& db, const Schema& schema);

// Rolled back as a whole when any step fails.
Status migrate(sql::Database& db, const Schema& schema, int from);

}  // namespace frit::tuner
