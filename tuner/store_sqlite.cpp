#include "tuner/store_sqlite.h"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "base/text.h"
#include "base/try.h"

namespace frit::tuner::sql {
namespace {

// Mirrors state that SQLite itself keeps per process, which is why it cannot belong to any object: the
// process that has opened files, and how many are open. A forked child inherits both.
constinit std::atomic<int64_t> files_owner{0};
constinit std::atomic<int64_t> files_open{0};

Fault fault_of(int rc) {
  switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
      return Fault::kNone;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return Fault::kBusy;
    case SQLITE_FULL:
      return Fault::kFull;
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return Fault::kReadOnly;
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
      return Fault::kCantOpen;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return Fault::kCorrupt;
    case SQLITE_IOERR:
      return Fault::kIo;
    default:
      return Fault::kOther;
  }
}

Code code_of(Fault fault, int rc) {
  switch (fault) {
    case Fault::kBusy:
      return Code::kBusy;
    case Fault::kCorrupt:
      return Code::kCorrupt;
    case Fault::kOther:
      return (rc & 0xff) == SQLITE_NOMEM ? Code::kOutOfMemory : Code::kInternal;
    default:
      return Code::kIo;
  }
}

Error error_of(int rc, const std::string& message) {
  return make_error(code_of(fault_of(rc), rc), base::text_of("sqlite: ", message, " (", rc, ")"));
}

// A path as an SQLite URI: ? # and % would be taken for syntax.
std::string uri_of(const std::string& path, const char* query) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "file:";
  for (const char c : path) {
    if (c == '?' || c == '#' || c == '%') {
      out += {'%', kDigits[(c >> 4) & 15], kDigits[c & 15]};
    } else {
      out += c;
    }
  }
  return out + query;
}

// Reads the first `want` bytes; all of them where want is 0.
Result<std::string> read_through_vfs(const std::string& path, const std::string& vfs_name,
                                     sqlite3_int64 want) {
  sqlite3_vfs* vfs = sqlite3_vfs_find(vfs_name.empty() ? nullptr : vfs_name.c_str());
  if (vfs == nullptr) return make_error(Code::kInternal, base::text_of("no SQLite VFS '", vfs_name, "'"));
  // Names that go to a VFS carry URI parameters around them; SQLite makes such a name.
  const std::unique_ptr<const char, void (*)(const char*)> name(
      sqlite3_create_filename(path.c_str(), "", "", 0, nullptr), sqlite3_free_filename);
  if (name == nullptr) return make_error(Code::kOutOfMemory, "no memory to open the cache");
  std::vector<std::byte> storage(static_cast<size_t>(vfs->szOsFile));
  auto* file = reinterpret_cast<sqlite3_file*>(storage.data());
  file->pMethods = nullptr;
  int flags = 0;
  int rc = vfs->xOpen(vfs, name.get(), file, SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB, &flags);
  std::string bytes;
  if (rc == SQLITE_OK) {
    sqlite3_int64 size = 0;
    rc = file->pMethods->xFileSize(file, &size);
    if (want != 0) size = std::min(size, want);
    constexpr sqlite3_int64 kLargest = sqlite3_int64{1} << 30;
    if (rc == SQLITE_OK && size > kLargest) rc = SQLITE_TOOBIG;
    if (rc == SQLITE_OK) {
      bytes.resize(static_cast<size_t>(size));
      constexpr sqlite3_int64 kPiece = 1 << 20;
      for (sqlite3_int64 at = 0; at < size && rc == SQLITE_OK; at += kPiece) {
        rc =
            file->pMethods->xRead(file, bytes.data() + at, static_cast<int>(std::min(kPiece, size - at)), at);
      }
    }
  }
  if (file->pMethods != nullptr) file->pMethods->xClose(file);
  if (rc != SQLITE_OK) return error_of(rc, sqlite3_errstr(rc)).with(path);
  return bytes;
}

}  // namespace

Query::~Query() {
  if (stmt_ == nullptr) return;
  sqlite3_reset(stmt_);
  sqlite3_clear_bindings(stmt_);
}

bool Query::next() {
  if (!ok_) return false;
  const int rc = sqlite3_step(stmt_);
  if (rc == SQLITE_ROW) return true;
  if (rc != SQLITE_DONE) {
    db_->failed(rc);
    ok_ = false;
  }
  return false;
}

Status Query::run() {
  while (next()) {
  }
  if (!ok_) return error();
  return {};
}

Error Query::error() const {
  const Fault fault = db_->fault_;
  return make_error(code_of(fault, 0), base::text_of("sqlite: ", db_->message_));
}

int64_t Query::integer(int column) const { return sqlite3_column_int64(stmt_, column); }
double Query::real(int column) const { return sqlite3_column_double(stmt_, column); }

std::string_view Query::text(int column) const {
  const void* data = sqlite3_column_blob(stmt_, column);
  const int size = sqlite3_column_bytes(stmt_, column);
  return data ? std::string_view(static_cast<const char*>(data), static_cast<size_t>(size))
              : std::string_view();
}

base::Hash128 Query::hash(int column) const {
  const std::string_view bytes = blob(column);
  base::Hash128 out;
  if (bytes.size() != 16) return out;
  for (int i = 0; i < 8; ++i) {
    out.hi = out.hi << 8 | static_cast<unsigned char>(bytes[i]);
    out.lo = out.lo << 8 | static_cast<unsigned char>(bytes[8 + i]);
  }
  return out;
}

void Query::bind(int index, int64_t value) {
  if (const int rc = sqlite3_bind_int64(stmt_, index, value); rc != SQLITE_OK) db_->failed(rc), ok_ = false;
}

void Query::bind(int index, double value) {
  if (const int rc = sqlite3_bind_double(stmt_, index, value); rc != SQLITE_OK) db_->failed(rc), ok_ = false;
}

void Query::bind(int index, std::string_view value) {
  // A null pointer would bind NULL.
  const int rc = sqlite3_bind_text64(stmt_, index, value.data() ? value.data() : "", value.size(),
                                     SQLITE_STATIC, SQLITE_UTF8);
  if (rc != SQLITE_OK) db_->failed(rc), ok_ = false;
}

void Query::bind(int index, const base::Hash128& value) {
  unsigned char bytes[16];
  for (int i = 0; i < 8; ++i) {
    bytes[i] = static_cast<unsigned char>(value.hi >> (56 - 8 * i));
    bytes[8 + i] = static_cast<unsigned char>(value.lo >> (56 - 8 * i));
  }
  if (const int rc = sqlite3_bind_blob(stmt_, index, bytes, 16, SQLITE_TRANSIENT); rc != SQLITE_OK) {
    db_->failed(rc), ok_ = false;
  }
}

void Query::bind(int index, std::span<const std::byte> value) {
  const int rc = value.empty() ? sqlite3_bind_zeroblob(stmt_, index, 0)
                               : sqlite3_bind_blob64(stmt_, index, value.data(), value.size(), SQLITE_STATIC);
  if (rc != SQLITE_OK) db_->failed(rc), ok_ = false;
}

Status Database::configure() {
  // The file may be anybody's: nothing in its schema may run, and sorting never spills to /tmp.
  sqlite3_extended_result_codes(db_, 1);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  sqlite3_limit(db_, SQLITE_LIMIT_LENGTH, 256 << 20);
  return exec(
      "PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0; PRAGMA cell_size_check=ON; PRAGMA secure_delete=OFF");
}

bool is_forked_from_user() {
  const int64_t self = getpid();
  if (files_owner == self) return false;
  if (files_open != 0) return true;
  files_owner = self;
  return false;
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path, const OpenOptions& options,
                                                 Fault* fault) {
  if (is_forked_from_user()) {
    *fault = Fault::kForked;
    return make_error(Code::kUnsupported, "SQLite was in use when this process was forked").with(path);
  }
  int flags = SQLITE_OPEN_NOMUTEX | (options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
  // A name that begins with "file:" or ":" means something else to SQLite.
  std::string name = path.starts_with('/') ? path : base::text_of("./", path);
  if (options.immutable) {
    flags |= SQLITE_OPEN_URI;
    name = uri_of(name, "?immutable=1");
  }
  sqlite3* handle = nullptr;
  const int rc =
      sqlite3_open_v2(name.c_str(), &handle, flags, options.vfs.empty() ? nullptr : options.vfs.c_str());
  std::unique_ptr<Database> db(new Database(handle));
  db->counted_ = true;
  ++files_open;
  if (rc != SQLITE_OK) {
    *fault = fault_of(rc);
    const int extended = handle ? sqlite3_extended_errcode(handle) : rc;
    return error_of(extended, handle ? sqlite3_errmsg(handle) : sqlite3_errstr(rc)).with(path);
  }
  db->set_busy_ms(options.busy_ms);
  if (Status configured = db->configure(); !configured.ok()) {
    *fault = db->fault();
    return std::move(configured).error().with(path);
  }
  *fault = Fault::kNone;
  return db;
}

Result<std::unique_ptr<Database>> Database::open_memory() {
  sqlite3* handle = nullptr;
  const int rc = sqlite3_open_v2(":memory:", &handle,
                                 SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  std::unique_ptr<Database> db(new Database(handle));
  if (rc != SQLITE_OK) return error_of(rc, sqlite3_errstr(rc)).with("memory");
  FRIT_TRY(db->configure());
  return db;
}

Result<std::unique_ptr<Database>> Database::open_image(std::string_view image) {
  FRIT_ASSIGN(std::unique_ptr<Database> db, open_memory());
  auto* bytes = static_cast<unsigned char*>(sqlite3_malloc64(image.size()));
  if (bytes == nullptr) return make_error(Code::kOutOfMemory, "no memory for a copy of the cache");
  std::memcpy(bytes, image.data(), image.size());
  // Owned by SQLite from here on, also when the call fails.
  const auto size = static_cast<sqlite3_int64>(image.size());
  const int rc = sqlite3_deserialize(db->db_, "main", bytes, size, size,
                                     SQLITE_DESERIALIZE_READONLY | SQLITE_DESERIALIZE_FREEONCLOSE);
  if (rc != SQLITE_OK) return db->failed(rc);
  return db;
}

Database::~Database() {
  if (db_ != nullptr) {  // else abandoned, and its statements with it, or never opened
    for (const auto& [sql, stmt] : statements_) sqlite3_finalize(stmt);
    sqlite3_close_v2(db_);
  }
  if (counted_) --files_open;
}

Error Database::failed(int rc) {
  fault_ = fault_of(rc);
  message_ = base::text_of(sqlite3_errmsg(db_), " (", rc, ")");
  return make_error(code_of(fault_, rc), base::text_of("sqlite: ", message_));
}

Status Database::exec(const char* sql) {
  if (const int rc = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr); rc != SQLITE_OK) return failed(rc);
  return {};
}

sqlite3_stmt* Database::prepared(const char* sql) {
  auto& stmt = statements_[sql];
  if (stmt != nullptr) return stmt;
  const int rc = sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, nullptr);
  if (rc != SQLITE_OK) {
    failed(rc);
    statements_.erase(sql);
    return nullptr;
  }
  return stmt;
}

Result<int64_t> Database::integer(const char* sql) {
  sqlite3_stmt* stmt = nullptr;
  if (const int rc = sqlite3_prepare_v2(db_, sql, -1, &stmt, nullptr); rc != SQLITE_OK) return failed(rc);
  const int rc = sqlite3_step(stmt);
  const int64_t value = rc == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
  if (rc != SQLITE_ROW && rc != SQLITE_DONE) failed(rc);
  sqlite3_finalize(stmt);
  if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
    return make_error(code_of(fault_, rc), base::text_of("sqlite: ", message_));
  }
  return value;
}

Result<std::string> Database::text(const char* sql) {
  sqlite3_stmt* stmt = nullptr;
  if (const int rc = sqlite3_prepare_v2(db_, sql, -1, &stmt, nullptr); rc != SQLITE_OK) return failed(rc);
  const int rc = sqlite3_step(stmt);
  std::string value;
  if (rc == SQLITE_ROW) {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(stmt, 0));
    if (bytes) value.assign(bytes, static_cast<size_t>(sqlite3_column_bytes(stmt, 0)));
  } else if (rc != SQLITE_DONE) {
    failed(rc);
  }
  sqlite3_finalize(stmt);
  if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
    return make_error(code_of(fault_, rc), base::text_of("sqlite: ", message_));
  }
  return value;
}

int64_t Database::last_rowid() const { return sqlite3_last_insert_rowid(db_); }
int64_t Database::changes() const { return sqlite3_changes64(db_); }
bool Database::is_read_only() const { return sqlite3_db_readonly(db_, "main") != 0; }
void Database::set_busy_ms(int busy_ms) { sqlite3_busy_timeout(db_, busy_ms); }
void Database::keep_log() { sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr); }

Transaction::~Transaction() {
  // A failed COMMIT may already have ended it: a ROLLBACK without a transaction fails without harm, and what
  // went wrong before is what the store has to know.
  if (!open_) return;
  const Fault fault = db_.fault_;
  const Status rolled_back = db_.exec("ROLLBACK");
  static_cast<void>(rolled_back);
  db_.fault_ = fault;
}

Status Transaction::begin() {
  FRIT_TRY(db_.exec("BEGIN IMMEDIATE"));
  open_ = true;
  return {};
}

Status Transaction::commit() {
  FRIT_TRY(db_.exec("COMMIT"));
  open_ = false;
  return {};
}

Result<std::string> read_database_header(const std::string& path, const std::string& vfs) {
  return read_through_vfs(path, vfs, 100);
}

Result<std::string> read_database_file(const std::string& path, const std::string& vfs) {
  return read_through_vfs(path, vfs, 0);
}

}  // namespace frit::tuner::sql
