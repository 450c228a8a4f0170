// Store's life: opening, layers, faults, closing. What it looks up and puts is in store_lookup.cpp.
#include "tuner/store.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "tuner/store_impl.h"

namespace frit::tuner {
namespace {

constexpr int64_t kNsPerSecond = 1000000000;
constexpr int64_t kRetryFirstNs = 1 * kNsPerSecond;
constexpr int64_t kRetryLastNs = 60 * kNsPerSecond;
constexpr int kRetryBusyMs = 100;  // while results are safe in memory nobody waits long for a lock
constexpr int kReadBusyMs = 50;    // after a read has once waited in vain
constexpr int64_t kUseGrainS = 3600;
constexpr size_t kUsesKept = 256;
constexpr int64_t kWritesPerCapCheck = 256;

const char* reason_of(sql::Fault fault) {
  switch (fault) {
    case sql::Fault::kBusy:
      return "another process has locked it";
    case sql::Fault::kFull:
      return "the disk is full";
    case sql::Fault::kReadOnly:
    case sql::Fault::kCantOpen:
      return "its folder cannot be written";
    default:
      return "writing failed";
  }
}

}  // namespace

Store::Impl::Impl(StoreOptions options, const StoreSeams& seams, const Schema& schema)
    : options_(std::move(options)), seams_(seams), schema_(schema), owner_(seams.process.pid()) {
  status_.path = options_.path;
  if (options_.path.empty()) {
    to_memory();
  } else {
    adopt(open_cache_file(request(), seams_, schema_));
  }
  say(std::exchange(messages_, {}));
}

Store::Impl::~Impl() {
  if (is_ours()) {
    write_uses();
    return_to_file(true);
    tell_loss();
    say(messages_);
    return;
  }
  // SQLite forbids a child to touch its parent's connection; even closing it would disturb locks and logs.
  if (top_) top_->abandon();
  if (under_) under_->abandon();
}

OpenRequest Store::Impl::request() const {
  OpenRequest out;
  out.path = options_.path;
  out.create = options_.create;
  out.leave_bad_file = options_.leave_bad_file;
  out.busy_ms = options_.busy_ms;
  out.vfs = options_.vfs;
  return out;
}

void Store::Impl::adopt(OpenedFile opened) {
  status_.mode = !opened.db        ? StoreMode::kMemory
                 : opened.writable ? StoreMode::kReadWrite
                                   : StoreMode::kReadOnly;
  status_.journal = opened.journal;
  status_.schema_version = opened.schema_version;
  status_.missing = opened.missing;
  status_.held = opened.transient;
  status_.native_code = !opened.db || opened.native_code;
  if (!opened.set_aside.empty()) status_.set_aside = opened.set_aside;
  if (!opened.bad_file.empty()) status_.bad_file = opened.bad_file;
  device_ = opened.device;
  inode_ = opened.inode;
  uses_.clear();
  if (!opened.warning.empty()) warn(opened.warning);
  if (opened.db && opened.writable) {
    top_ = std::move(opened.db);
    top_is_file_ = true;
    under_.reset();
    return;
  }
  under_ = std::move(opened.db);
  if (!top_ || top_is_file_) to_memory();
  file_waits_ = opened.transient && !under_;
  retry_after_ns_ = kRetryFirstNs;
  retry_at_ns_ = seams_.clock.now_ns() + retry_after_ns_;
}

void Store::Impl::to_memory() {
  top_.reset();
  top_is_file_ = false;
  auto memory = sql::Database::open_memory();
  if (memory.ok() && create_schema(**memory, schema_).ok()) top_ = *std::move(memory);
  // Without memory for an empty database there is none for anything: every lookup misses and every put fails.
}

void Store::Impl::say(const std::vector<Message>& messages) const {
  for (const Message& it : messages) seams_.log.log(it.level, "tuner", it.text);
}

void Store::Impl::warn(const std::string& text) {
  if (!std::exchange(warned_, true)) {
    status_.warning = text;
    tell(LogLevel::kWarn, text);
  } else {
    tell(LogLevel::kInfo, text);
  }
}

void Store::Impl::each_layer(const Read& read) {
  for (const bool under : {true, false}) {
    sql::Database* db = under ? under_.get() : top_.get();
    if (db == nullptr) continue;
    db->clear_fault();
    const bool done = read(*db).ok();
    if (!is_file(*db)) continue;
    if (done) {
      if (std::exchange(impatient_, false)) db->set_busy_ms(options_.busy_ms);
      continue;
    }
    if (db->fault() == sql::Fault::kCorrupt) {
      replace_damaged_file();
      return;
    }
    if (db->fault() == sql::Fault::kBusy) {
      impatient_ = true;
      db->set_busy_ms(std::min(options_.busy_ms, kReadBusyMs));
    }
  }
}

void Store::Impl::each_file(const std::function<void(sql::Database&)>& look) {
  if (under_) look(*under_);
  if (top_is_file_ && top_) look(*top_);
}

Status Store::Impl::write(const Read& change) {
  return_to_file(false);
  Status result;
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (!top_) return make_error(Code::kOutOfMemory, "no memory for the cache");
    top_->clear_fault();
    result = [&]() -> Status {
      sql::Transaction transaction(*top_);
      FRIT_TRY(transaction.begin());
      FRIT_TRY(change(*top_));
      return transaction.commit();
    }();
    if (result.ok()) {
      if (++writes_ % kWritesPerCapCheck == 0) keep_to_size_cap();
      return result;
    }
    const sql::Fault fault = top_->fault();
    if (!top_is_file_ || fault == sql::Fault::kNone || fault == sql::Fault::kOther) return result;
    if (fault == sql::Fault::kCorrupt) {
      replace_damaged_file();
    } else {
      step_aside(fault, result.error().text());
    }
  }
  return result;
}

void Store::Impl::step_aside(sql::Fault fault, const std::string& reason) {
  write_uses();
  under_ = std::move(top_);
  to_memory();
  under_waits_ = true;
  status_.mode = StoreMode::kReadOnly;
  retry_after_ns_ = kRetryFirstNs;
  retry_at_ns_ = seams_.clock.now_ns() + retry_after_ns_;
  warn(base::text_of("cache ", options_.path, " cannot be written now (", reason_of(fault), ": ", reason,
                     "); what is new is kept in memory until it can"));
}

void Store::Impl::return_to_file(bool now) {
  if ((!under_waits_ && !file_waits_) || !top_ || top_is_file_) return;
  if (!now && seams_.clock.now_ns() < retry_at_ns_) return;
  std::unique_ptr<sql::Database> reopened;
  sql::Database* file = under_waits_ ? under_.get() : nullptr;
  OpenedFile opened;
  if (file_waits_) {
    OpenRequest again = request();
    again.busy_ms = std::min(options_.busy_ms, kRetryBusyMs);
    opened = open_cache_file(again, seams_, schema_);
    if (opened.db && opened.writable) file = opened.db.get();
  }
  Status copied = make_error(Code::kBusy, "not open");
  if (file != nullptr) {
    file->set_busy_ms(std::min(options_.busy_ms, kRetryBusyMs));
    copied = [&]() -> Status {
      sql::Transaction transaction(*file);
      FRIT_TRY(transaction.begin());
      FRIT_TRY(copy_rows(*top_, *file, [this](const Decision& it) { return is_current(it); }));
      return transaction.commit();
    }();
    file->set_busy_ms(options_.busy_ms);
  }
  if (!copied.ok()) {
    retry_after_ns_ = std::min(2 * retry_after_ns_, kRetryLastNs);
    retry_at_ns_ = seams_.clock.now_ns() + retry_after_ns_;
    return;
  }
  tell(LogLevel::kInfo, base::text_of("cache ", options_.path, " can be written again"));
  if (under_waits_) {
    top_ = std::move(under_);
    top_is_file_ = true;
    status_.mode = StoreMode::kReadWrite;
  } else {
    adopt(std::move(opened));
  }
  under_waits_ = file_waits_ = false;
}

void Store::Impl::tell_loss() {
  if ((!under_waits_ && !file_waits_) || !top_) return;
  const auto keys = top_->integer("SELECT count(*) FROM keys");
  if (!keys.ok() || *keys == 0) return;
  tell(LogLevel::kWarn,
       base::text_of("cache ", options_.path, " could not be written to the end: records of ", *keys,
                     " keys are lost"));
}

void Store::Impl::replace_damaged_file() {
  // Rows that memory holds stay in memory: they are copied over if the file was waiting for them.
  const bool had_memory = !top_is_file_;
  if (top_is_file_ && top_) top_->keep_log();
  if (under_) under_->keep_log();
  if (top_is_file_) top_.reset();
  under_.reset();
  top_is_file_ = false;
  under_waits_ = false;
  uses_.clear();
  if (!top_) to_memory();
  OpenRequest again = request();
  again.damaged_device = device_;
  again.damaged_inode = inode_;
  OpenedFile opened = open_cache_file(again, seams_, schema_);
  if (had_memory && opened.db && opened.writable) {
    file_waits_ = true;
    opened.db.reset();
    if (!opened.warning.empty()) warn(opened.warning);
    return_to_file(true);
    return;
  }
  adopt(std::move(opened));
}

void Store::Impl::touch(const sql::Database& db, const rows::KeyRow& row) {
  if (!top_is_file_ || &db != top_.get()) return;
  const int64_t now = now_s();
  // Also when the clock went back: what lies in the future would otherwise never grow old.
  if (row.last_use_s <= now && now - row.last_use_s < kUseGrainS) return;
  uses_[row.id] = now;
  if (uses_.size() > kUsesKept) write_uses();
}

void Store::Impl::write_uses() {
  if (uses_.empty() || !top_is_file_) return;
  const auto uses = std::exchange(uses_, {});
  // Not worth waiting for, nor a warning: a lost time of use costs at most an early eviction.
  top_->set_busy_ms(std::min(options_.busy_ms, kReadBusyMs));
  const Status written = [&]() -> Status {
    sql::Transaction transaction(*top_);
    FRIT_TRY(transaction.begin());
    for (const auto& [id, time] : uses) FRIT_TRY(rows::set_last_use(*top_, id, time));
    return transaction.commit();
  }();
  if (!written.ok())
    tell(LogLevel::kTrace, base::text_of("times of use were not written: ", written.error().message));
  top_->set_busy_ms(options_.busy_ms);
}

void Store::Impl::keep_to_size_cap() {
  if (options_.size_cap_bytes == 0) return;
  const auto used = used_bytes(*top_);
  if (!used.ok() || static_cast<uint64_t>(*used) <= options_.size_cap_bytes) return;
  write_uses();
  const auto pruned = prune_database(*top_, {.max_bytes = options_.size_cap_bytes / 10 * 9, .max_age_s = 0},
                                     now_s(), options_.busy_ms);
  if (pruned.ok()) {
    tell(LogLevel::kInfo,
         base::text_of("cache ", options_.path, " exceeded its cap of ", options_.size_cap_bytes,
                       " bytes: dropped ", pruned->keys, " keys and ", pruned->trials, " trials"));
  }
}

bool Store::Impl::is_known(const std::string& family) const {
  return options_.families.empty() ||
         std::any_of(options_.families.begin(), options_.families.end(),
                     [&](const FamilyVersion& it) { return it.family == family; });
}

bool Store::Impl::is_current(const Decision& decision) const {
  return options_.families.empty() ||
         std::any_of(options_.families.begin(), options_.families.end(), [&](const FamilyVersion& it) {
           return it.family == decision.family && it.version == decision.family_version;
         });
}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;

std::unique_ptr<Store> Store::open(StoreOptions options, const StoreSeams& seams) {
  return open_with_schema(std::move(options), seams, cache_schema());
}

std::unique_ptr<Store> open_with_schema(StoreOptions options, const StoreSeams& seams, const Schema& schema) {
  return std::unique_ptr<Store>(new Store(std::make_unique<Store::Impl>(std::move(options), seams, schema)));
}

StoreStatus Store::status() const {
  if (!impl_->is_ours()) return {};
  const Impl::Locked locked(*impl_);
  return impl_->status();
}

void Store::flush() {
  if (!impl_->is_ours()) return;
  const Impl::Locked locked(*impl_);
  impl_->write_uses();
  impl_->return_to_file(true);
}

}  // namespace frit::tuner
