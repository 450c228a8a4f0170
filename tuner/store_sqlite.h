// A thin RAII layer over SQLite: the only door to it (sqlite3.h is included in store_sqlite.cpp alone).
//
// Every failure is a Result with our codes, and fault() keeps what kind it was, since the store reacts
// differently to a full disk, a lock and a damaged file. Knows nothing of the cache's tables. Not
// thread-safe: the store's mutex is.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "frit/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace frit::tuner::sql {

// The last failure of a connection, coarse enough to act upon.
enum class Fault {
  kNone,
  kBusy,      // another process holds a lock
  kFull,      // no space
  kReadOnly,  // not allowed to write (or to create what reading needs)
  kCantOpen,
  kForked,   // is_forked_from_user()
  kCorrupt,  // damaged, or not a database at all
  kIo,       // any other failure of the system
  kOther,    // a statement that does not fit the schema, a value out of range, no memory ...
};

struct OpenOptions {
  bool read_only = false;
  bool immutable = false;  // read_only, and nobody changes the file: no locks, no journal is looked at
  int busy_ms = 5000;
  std::string vfs;  // name of the SQLite VFS to use; empty: the default one
};

class Database;

// A prepared statement in use: reset when it goes away, so that it keeps no lock.
class Query {
 public:
  Query(Query&& other) noexcept
      : db_(other.db_), stmt_(std::exchange(other.stmt_, nullptr)), ok_(other.ok_) {}
  Query& operator=(Query&&) = delete;
  ~Query();

  // True when there is a row; false at the end and on failure (ok() tells which).
  bool next();
  // Runs a statement that gives no rows.
  Status run();
  bool ok() const { return ok_; }
  Error error() const;

  // Columns of the current row; NULL and other types come as 0 or empty.
  int64_t integer(int column) const;
  double real(int column) const;
  // Valid until the next call of next() or the end of the query.
  std::string_view text(int column) const;
  std::string_view blob(int column) const { return text(column); }
  // A 16-byte blob; zero where it has another size.
  base::Hash128 hash(int column) const;

 private:
  friend class Database;
  Query(Database* db, sqlite3_stmt* stmt) : db_(db), stmt_(stmt), ok_(stmt != nullptr) {}

  void bind(int index, int64_t value);
  void bind(int index, int value) { bind(index, static_cast<int64_t>(value)); }
  void bind(int index, bool value) { bind(index, static_cast<int64_t>(value)); }
  void bind(int index, double value);
  void bind(int index, std::string_view value);
  void bind(int index, const std::string& value) { bind(index, std::string_view(value)); }
  void bind(int index, const char* value) { bind(index, std::string_view(value)); }
  void bind(int index, const base::Hash128& value);
  void bind(int index, std::span<const std::byte> value);

  Database* db_;
  sqlite3_stmt* stmt_;
  bool ok_;
};

class Database {
 public:
  static Result<std::unique_ptr<Database>> open(const std::string& path, const OpenOptions& options,
                                                Fault* fault);
  static Result<std::unique_ptr<Database>> open_memory();
  // A read-only database over the bytes of a database file.
  static Result<std::unique_ptr<Database>> open_image(std::string_view image);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Runs one or more statements without parameters.
  Status exec(const char* sql);
  // sql must be a literal: prepared once per address and kept. Texts and blobs must outlive the query. The
  // same statement must not be used again while a query of it lives.
  template <class... Ts>
  Query query(const char* sql, const Ts&... values) {
    Query query(this, prepared(sql));
    int index = 0;
    if (query.ok_) (query.bind(++index, values), ...);
    return query;
  }
  // The first column of the first row; 0 where there is none.
  Result<int64_t> integer(const char* sql);
  Result<std::string> text(const char* sql);

  int64_t last_rowid() const;
  int64_t changes() const;  // rows changed by the last statement
  bool is_read_only() const;
  void set_busy_ms(int busy_ms);
  // Closing leaves the write-ahead log as it is: a damaged file is set aside as it was found.
  void keep_log();
  // Forgets the connection without closing it: what a child process has to do after a fork.
  void abandon() {
    db_ = nullptr;
    counted_ = false;
  }

  Fault fault() const { return fault_; }
  void clear_fault() { fault_ = Fault::kNone; }

 private:
  friend class Query;
  friend class Transaction;
  explicit Database(sqlite3* db) : db_(db) {}
  sqlite3_stmt* prepared(const char* sql);
  Error failed(int rc);
  Status configure();

  sqlite3* db_;
  bool counted_ = false;  // among the open files of this process
  Fault fault_ = Fault::kNone;
  std::string message_;
  std::unordered_map<const void*, sqlite3_stmt*> statements_;
};

// BEGIN IMMEDIATE ... COMMIT; rolled back unless commit() succeeds.
class Transaction {
 public:
  explicit Transaction(Database& db) : db_(db) {}
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  Status begin();
  Status commit();

 private:
  Database& db_;
  bool open_ = false;
};

// True in a process that was forked while its parent had a database file open. SQLite keeps the locks of open
// files in tables of the process; the child has inherited them, and would believe to hold locks that only its
// parent holds. So no file is opened there; reading bytes is harmless.
bool is_forked_from_user();

// The bytes of a database file, read through SQLite's own file layer: closing an ordinary descriptor of the
// file would drop the locks that other connections of this process hold on it.
Result<std::string> read_database_header(const std::string& path,
                                         const std::string& vfs);                         // at most 100 bytes
Result<std::string> read_database_file(const std::string& path, const std::string& vfs);  // at most 1 GiB

}  // namespace frit::tuner::sql
