// The inside of Store: its layers and how it reacts to faults. Included by the store's own files only.
//
// There is always a layer to write to (`top_`): the file, or memory while the file cannot be written. In the
// second case what can be read of the file lies under it (`under_`). What memory gathered while the file was
// locked or full is copied into the file as soon as that works again, and at the latest tried when the store
// is closed.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tuner/store.h"
#include "tuner/store_open.h"
#include "tuner/store_rows.h"
#include "tuner/store_schema.h"
#include "tuner/store_sqlite.h"

namespace frit::tuner {

class Store::Impl {
 public:
  Impl(StoreOptions options, const StoreSeams& seams, const Schema& schema);
  ~Impl();

  // False in a child process: then nothing may be touched, not even the mutex (another thread of the parent
  // may have held it when the process was copied).
  bool is_ours() const { return seams_.process.pid() == owner_; }

  // Holds the mutex; what there is to say is said after it is released, since a log sink is the application's
  // code.
  class Locked {
   public:
    explicit Locked(Impl& impl) : impl_(impl), lock_(impl.mutex_) {}
    ~Locked() {
      std::vector<Message> messages = std::exchange(impl_.messages_, {});
      lock_.unlock();
      impl_.say(messages);
    }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

   private:
    Impl& impl_;
    std::unique_lock<std::mutex> lock_;
  };

  // What follows expects the mutex to be held.

  int64_t now_s() const { return seams_.clock.wall_ns() / 1000000000; }
  StoreStatus status() const { return status_; }
  const StoreOptions& options() const { return options_; }
  const StoreSeams& seams() const { return seams_; }

  // Calls read(database) for each layer, the file's under memory first. A layer that fails is skipped, and a
  // damaged file is set aside after the call.
  using Read = std::function<Status(sql::Database&)>;
  void each_layer(const Read& read);
  // The layers that are the file, without reacting to what is found there.
  void each_file(const std::function<void(sql::Database&)>& look);
  // Calls change(database) in a transaction on the top layer; when the file fails, once more on what takes
  // its place.
  Status write(const Read& change);

  bool has_file() const { return top_is_file_ || under_ != nullptr; }
  bool is_file(const sql::Database& db) const {
    return &db == under_.get() || (top_is_file_ && &db == top_.get());
  }
  bool native_code_in(const sql::Database& db) const { return !is_file(db) || status_.native_code; }
  // False while results are kept in memory although a file was asked for.
  bool is_persistent() const { return options_.path.empty() || top_is_file_; }
  sql::Database& top() { return *top_; }

  // Remembers that a key of the file was used; written later, in bulk.
  void touch(const sql::Database& db, const rows::KeyRow& row);
  void write_uses();
  void return_to_file(bool now);
  void keep_to_size_cap();

  bool is_known(const std::string& family) const;
  bool is_current(const Decision& decision) const;

  int64_t exact_hits = 0, near_hits = 0, lookups_missed = 0, object_hits = 0, object_misses = 0,
          damaged_rows = 0;

 private:
  struct Message {
    LogLevel level;
    std::string text;
  };
  void say(const std::vector<Message>& messages) const;
  void tell(LogLevel level, std::string text) { messages_.push_back({level, std::move(text)}); }

  void adopt(OpenedFile opened);
  void to_memory();
  void step_aside(sql::Fault fault, const std::string& reason);
  void replace_damaged_file();
  void warn(const std::string& text);
  void tell_loss();
  OpenRequest request() const;

  const StoreOptions options_;
  const StoreSeams seams_;
  const Schema& schema_;
  const int64_t owner_;
  std::mutex mutex_;
  std::vector<Message> messages_;

  std::unique_ptr<sql::Database> top_, under_;
  bool top_is_file_ = false;
  bool under_waits_ = false;  // under_ is the file itself, to be written again later
  bool file_waits_ = false;   // the file could not be opened, but may be later
  int64_t retry_at_ns_ = 0, retry_after_ns_ = 0;
  uint64_t device_ = 0, inode_ = 0;
  int64_t writes_ = 0;
  bool warned_ = false;
  bool impatient_ = false;                     // a read has waited in vain for a lock
  std::unordered_map<int64_t, int64_t> uses_;  // key id in the file -> time; only while top_ is the file
  StoreStatus status_;
};

// For tests of migrations.
std::unique_ptr<Store> open_with_schema(StoreOptions options, const StoreSeams& seams, const Schema& schema);

// Copies every whole row into `to` by the rules of put_...; inside the caller's transaction on `to`.
Status copy_rows(sql::Database& from, sql::Database& to,
                 const std::function<bool(const Decision&)>& is_current);

// put_decision on one database. existing: also records of other layers, which may keep the new one out.
Result<PutOutcome> put_decision_row(sql::Database& db, const Key& key, const Decision& decision,
                                    const std::vector<Decision>& elsewhere,
                                    const std::function<bool(const Decision&)>& is_current, int64_t now_s,
                                    int64_t* damaged);

// Deletes by age and size: store_prune.cpp.
Result<PruneReport> prune_database(sql::Database& db, const PruneOptions& options, int64_t now_s,
                                   int busy_ms);
Result<int64_t> used_bytes(sql::Database& db);

}  // namespace frit::tuner
