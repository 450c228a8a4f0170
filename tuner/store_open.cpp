#include "tuner/store_open.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "tuner/file_lock.h"
#include "tuner/store_image.h"

namespace frit::tuner {
namespace {

constexpr uint32_t kWritableByOthers = 0022;
constexpr uint32_t kSticky = 01000;

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

class Opener {
 public:
  Opener(const OpenRequest& request, const StoreSeams& seams, const Schema& schema)
      : request_(request), seams_(seams), schema_(schema), started_ns_(seams.clock.now_ns()) {}

  OpenedFile run() {
    // Each round looks at the file afresh; a round that would change it first takes the lock and looks again.
    std::unique_ptr<FileLock> lock;
    for (int round = 0; round < 6; ++round) {
      switch (attempt()) {
        case Next::kDone:
          return std::move(out_);
        case Next::kAgain:
          continue;
        case Next::kLock:
          lock = std::make_unique<FileLock>(request_.path + ".lock", request_.busy_ms, seams_.clock);
          locked_ = lock->held();
          if (!locked_) {
            memory(lock->why_not(), true);
            return std::move(out_);
          }
          continue;
      }
    }
    memory("it is changed by other processes all the time", true);
    return std::move(out_);
  }

 private:
  enum class Next { kDone, kAgain, kLock };

  Next attempt() {
    db_.reset();
    const std::string& path = request_.path;
    if (!seams_.files.exists(path) && !make()) return Next::kDone;
    auto info = seams_.files.stat(path);
    if (!info.ok()) return memory(info.error().message, false);
    if (!info->is_file) return memory("it is not a regular file", false);
    info_ = *info;
    own_ = info_.owner == seams_.process.user();
    if (info_.inode == request_.damaged_inode && info_.device == request_.damaged_device) {
      return own_ ? bad("is damaged") : memory("it is damaged", false);
    }
    forked_ = sql::is_forked_from_user();
    auto header = sql::read_database_header(path, request_.vfs);
    if (!header.ok()) return memory(header.error().text(), false);
    wal_ = header->size() >= 20 && (*header)[18] == 2;
    auto local = seams_.files.is_local(path);
    local_ = local.ok() && *local;
    if (!own_) return read_only("it belongs to another user");
    if (forked_) return read_only("SQLite was in use when this process was forked");
    if (wal_ && !local_) {
      if (!locked_) return Next::kLock;
      if (!leave_wal()) return Next::kDone;
    }
    return read_write();
  }

  // False when there is nothing to open.
  bool make() {
    if (!request_.create) {
      out_.missing = true;
      return false;
    }
    const std::string folder = folder_of(request_.path);
    if (!seams_.files.exists(folder)) {
      if (Status made = seams_.files.make_folders(folder, 0700); !made.ok()) {
        memory(made.error().text(), false);
        return false;
      }
    }
    if (auto made = seams_.files.create_new(request_.path, 0600); !made.ok()) {
      memory(made.error().text(), false);
      return false;
    }
    return true;
  }

  // A file that was made on a local disk and moved to a network: its log needs shared memory, which hosts do
  // not share. In exclusive mode SQLite reads the log without it.
  bool leave_wal() {
    if (!open(false)) {
      memory(error_, fault_ == sql::Fault::kBusy);
      return false;
    }
    Status done = db_->exec("PRAGMA locking_mode=EXCLUSIVE");
    if (done.ok()) done = db_->exec("PRAGMA journal_mode=DELETE");
    const sql::Fault fault = db_->fault();
    db_.reset();
    // What is damaged or foreign is recognised, and set aside, in the next step.
    if (done.ok() || fault == sql::Fault::kCorrupt) return true;
    memory(done.error().text(), fault == sql::Fault::kBusy);
    return false;
  }

  bool open(bool read_only, bool immutable = false) {
    auto opened = sql::Database::open(
        request_.path,
        {.read_only = read_only, .immutable = immutable, .busy_ms = request_.busy_ms, .vfs = request_.vfs},
        &fault_);
    if (!opened.ok()) {
      error_ = opened.error().text();
      return false;
    }
    db_ = *std::move(opened);
    return true;
  }

  // SQLite gives up on some locks without waiting (two processes switching to WAL, recovery after a crash).
  template <class Call>
  auto patiently(Call call) {
    for (;;) {
      db_->clear_fault();
      auto result = call();
      const int64_t elapsed_ms = (seams_.clock.now_ns() - started_ns_) / 1000000;
      if (result.ok() || db_->fault() != sql::Fault::kBusy || elapsed_ms >= request_.busy_ms) return result;
      seams_.clock.sleep_ns(5000000);
    }
  }

  Next read_write() {
    if (!open(false)) return fault_ == sql::Fault::kBusy ? locked() : unreachable();
    if (db_->is_read_only()) return read_only("it is write-protected");
    auto classified = patiently([&] { return classify(*db_, schema_); });
    if (!classified.ok()) return unreadable(classified.error());
    out_.schema_version = classified->version;
    switch (classified->kind) {
      case FileKind::kFresh:
        return fill();
      case FileKind::kCurrent:
        return use();
      case FileKind::kOlder:
        return bring_up_to_date(classified->version);
      case FileKind::kNewer:
        db_.reset();
        // A connection that cannot write does not even move the log into the file when it closes.
        if (!open(true)) return unreachable();
        return use_read_only(base::text_of("it has schema version ", classified->version,
                                           " and this build knows ", schema_.version));
      case FileKind::kForeign:
        return bad(classified->why);
    }
    return bad("is unknown");
  }

  Next fill() {
    if (!request_.create) {
      db_.reset();
      out_.missing = true;
      return Next::kDone;
    }
    if (!locked_) return Next::kLock;
    // There is nothing to lose yet: a power cut leaves at worst an empty cache that is set aside.
    Status done = db_->exec("PRAGMA synchronous=OFF; PRAGMA auto_vacuum=INCREMENTAL");
    if (done.ok() && local_) done = patiently([&] { return db_->exec("PRAGMA journal_mode=WAL"); });
    if (done.ok()) done = patiently([&] { return create_schema(*db_, schema_); });
    if (!done.ok()) {
      const bool transient = db_->fault() != sql::Fault::kOther;
      if (db_->fault() == sql::Fault::kBusy) return locked();
      return memory(done.error().text(), transient);
    }
    out_.schema_version = schema_.version;
    return use();
  }

  Next bring_up_to_date(int from) {
    if (!locked_) return Next::kLock;
    Status done = patiently([&] { return migrate(*db_, schema_, from); });
    if (done.ok()) {
      out_.schema_version = schema_.version;
      return use();
    }
    out_.transient = db_->fault() == sql::Fault::kBusy || db_->fault() == sql::Fault::kFull;
    return use_read_only(done.error().text());
  }

  Next use() {
    auto journal = db_->text("PRAGMA journal_mode");
    if (!journal.ok()) return unreadable(journal.error());
    out_.journal = *journal == "wal" ? "wal" : "rollback";
    // In WAL mode a power cut may cost the last commits but no consistency, and no process's death costs
    // anything.
    const Status set =
        db_->exec(*journal == "wal" ? "PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=16777216"
                                    : "PRAGMA synchronous=FULL");
    if (!set.ok()) return unreadable(set.error());
    out_.writable = true;
    return done();
  }

  Next use_read_only(const std::string& reason) {
    out_.writable = false;
    out_.journal = wal_ ? "wal" : "rollback";
    if (out_.warning.empty()) {
      out_.warning = base::text_of("cache ", request_.path, " is only read: ", reason,
                                   "; what is new is kept in memory");
    }
    return done();
  }

  Next done() {
    out_.device = info_.device;
    out_.inode = info_.inode;
    const auto folder = seams_.files.stat(folder_of(request_.path));
    out_.native_code = own_ && (info_.mode & kWritableByOthers) == 0 && folder.ok() &&
                       (folder->owner == seams_.process.user() || folder->owner == 0) &&
                       ((folder->mode & kWritableByOthers) == 0 || (folder->mode & kSticky) != 0);
    out_.db = std::move(db_);
    return Next::kDone;
  }

  // Reads without leaving anything beside the file.
  Next read_only(const std::string& reason) {
    db_.reset();
    if (forked_) {
      // A transaction that was cut off in rollback mode is undone by opening the file only.
      if (seams_.files.exists(base::text_of(request_.path, "-journal"))) return memory(reason, false);
      if (!copy()) return memory(error_, false);
    } else if (!wal_) {
      if (!open(true)) return memory(error_, fault_ == sql::Fault::kBusy);
    } else {
      const auto mount = seams_.files.is_read_only_mount(request_.path);
      const auto log = seams_.files.stat(request_.path + "-wal");
      const bool log_empty = !log.ok() || log->size_bytes == 0;
      if (mount.ok() && *mount && log_empty) {
        if (!open(true, true)) return memory(error_, false);
      } else if (!copy()) {
        return memory(error_, false);
      }
    }
    auto classified = patiently([&] { return classify(*db_, schema_); });
    if (!classified.ok()) {
      if (db_->fault() == sql::Fault::kCorrupt && own_) return bad("is damaged");
      return memory(classified.error().text(), db_->fault() == sql::Fault::kBusy);
    }
    out_.schema_version = classified->version;
    if (classified->kind == FileKind::kFresh) return memory(reason, false);
    if (classified->kind == FileKind::kForeign)
      return own_ ? bad(classified->why) : memory(base::text_of("it ", classified->why), false);
    return use_read_only(reason);
  }

  // Into memory; read again when somebody wrote in the meantime.
  bool copy() {
    const std::string log_path = request_.path + "-wal";
    error_ = "it is written all the time";
    for (int attempt = 0; attempt < 4; ++attempt) {
      const auto before = stats(log_path);
      std::string log;
      if (before.second.ok()) {
        auto bytes = seams_.files.read(log_path);
        if (!bytes.ok()) {
          error_ = bytes.error().text();
          return false;
        }
        log = *std::move(bytes);
      }
      auto file = sql::read_database_file(request_.path, request_.vfs);
      if (!file.ok()) {
        error_ = file.error().text();
        return false;
      }
      const auto after = stats(log_path);
      if (!same(before.first, after.first) || !same(before.second, after.second)) continue;
      auto image = image_with_log(*std::move(file), log);
      if (image.ok()) {
        auto opened = sql::Database::open_image(*image);
        if (opened.ok()) {
          db_ = *std::move(opened);
          return true;
        }
        error_ = opened.error().text();
      } else {
        error_ = image.error().text();
      }
      return false;
    }
    return false;
  }

  std::pair<Result<base::FileStat>, Result<base::FileStat>> stats(const std::string& log_path) {
    return {seams_.files.stat(request_.path), seams_.files.stat(log_path)};
  }
  static bool same(const Result<base::FileStat>& a, const Result<base::FileStat>& b) {
    return a.ok() == b.ok() && (!a.ok() || *a == *b);
  }

  Next unreadable(const Error& error) {
    switch (db_->fault()) {
      case sql::Fault::kCorrupt:
        return bad("is not a database, or is damaged");
      case sql::Fault::kBusy:
        return locked();
      case sql::Fault::kOther:
        return error.code == Code::kOutOfMemory ? memory(error.text(), false) : bad("is damaged");
      default:
        error_ = error.text();
        return unreachable();
    }
  }

  // It cannot be opened for writing, or not even locked (the folder may be read-only, or the locks of a
  // network gone).
  Next unreachable() { return read_only(error_); }

  Next locked() { return memory("another process has locked it", true); }

  Next bad(const std::string& why) {
    if (db_) db_->keep_log();
    db_.reset();
    if (request_.leave_bad_file) {
      out_.bad_file = base::text_of("cache ", request_.path, ": ", why);
      return Next::kDone;
    }
    if (!locked_) return Next::kLock;
    const std::string name = free_name();
    // The logs go first: a log that is left beside a new file would be applied to it.
    for (const char* suffix : {"-wal", "-journal", "-shm"}) {
      if (!seams_.files.exists(request_.path + suffix)) continue;
      if (Status moved = seams_.files.rename(request_.path + suffix, name + suffix); !moved.ok()) {
        return memory(base::text_of("it ", why, ", and cannot be set aside: ", moved.error().text()), false);
      }
    }
    if (Status moved = seams_.files.rename(request_.path, name); !moved.ok()) {
      return memory(base::text_of("it ", why, ", and cannot be set aside: ", moved.error().text()), false);
    }
    out_.set_aside = name;
    out_.warning =
        base::text_of("cache ", request_.path, " ", why, ": set aside as ", name, ", starting a new one");
    return Next::kAgain;
  }

  std::string free_name() {
    for (int i = 1;; ++i) {
      const std::string name = base::text_of(request_.path, ".aside-", i);
      if (!seams_.files.exists(name)) return name;
    }
  }

  Next memory(const std::string& reason, bool transient) {
    db_.reset();
    out_.transient = transient;
    const std::string text =
        base::text_of("cache ", request_.path, " is not used: ", reason, "; results are kept in memory only");
    out_.warning = out_.warning.empty() ? text : base::text_of(out_.warning, "; ", text);
    return Next::kDone;
  }

  const OpenRequest& request_;
  const StoreSeams& seams_;
  const Schema& schema_;
  const int64_t started_ns_;
  bool locked_ = false;
  base::FileStat info_;
  bool own_ = false, wal_ = false, local_ = false, forked_ = false;
  sql::Fault fault_ = sql::Fault::kNone;
  std::string error_;
  std::unique_ptr<sql::Database> db_;
  OpenedFile out_;
};

}  // namespace

OpenedFile open_cache_file(const OpenRequest& request, const StoreSeams& seams, const Schema& schema) {
  return Opener(request, seams, schema).run();
}

}  // namespace frit::tuner
