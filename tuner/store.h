// Store: the tuning cache. One SQLite file with decisions, plan records, trials and objects
// (schemas/cache.sql), or memory where there is no file to be had.
//
// exec looks choices and objects up in it, the tuner commits every trial to it, `frit cache` lists, checks,
// exports and prunes it. It never fails its user: a damaged, foreign, locked, read-only or full file costs
// hits and one warning, nothing else (schemas/cache.md). It must not know what params, groups or plans mean.
//
// Thread rule: all methods may be called from several threads at once. After a fork the child's copy answers
// as if it were empty, keeps nothing and does not close the file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/seams.h"
#include "frit/result.h"
#include "tuner/key.h"
#include "tuner/records.h"
#include "tuner/store_reports.h"

namespace frit::tuner {

struct Schema;

struct FamilyVersion {
  std::string family;
  int version = 0;
};

struct StoreOptions {
  std::string path;    // of the file; empty: memory
  bool create = true;  // make the file (and its folder) when it is missing
  bool leave_bad_file =
      false;           // a damaged or foreign file stays where it is (for verify and other inspection)
  int busy_ms = 5000;  // how long to wait for another process's lock
  uint64_t size_cap_bytes = uint64_t{2} << 30;  // pruned down to 9/10 of it when exceeded; 0: no cap
  // Families of this build and their versions: a record of another version is near, of an unknown family no
  // hit. Empty: every record counts as current.
  std::vector<FamilyVersion> families;
  Provenance here;  // this machine, to order near hits
  std::string vfs;  // SQLite VFS to go through; empty: the system's (tests inject faults with it)
};

// What the store reaches the system through; must outlive it.
struct StoreSeams {
  base::Clock& clock;
  base::FileSystem& files;
  base::Process& process;
  base::Logger log;
};

class Store {
 public:
  static std::unique_ptr<Store> open(StoreOptions options, const StoreSeams& seams);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  StoreStatus status() const;

  // Exact, else the nearest record of the same kin, else a miss. Counts as a use of an exact record.
  DecisionHit get_decision(const Key& key);
  // Committed when this returns. A better state of the same key is kept (tuned > partial > heuristic);
  // otherwise the new decision replaces what this build would have found.
  Result<PutOutcome> put_decision(const Key& key, const Decision& decision);
  // Forgets the decisions of a key, keeping its trials.
  Status erase_decision(const Key& key);

  // version: of this build's partitioner; a record of another version is near.
  PlanHit get_plan(const Key& key, int version);
  Result<PutOutcome> put_plan(const Key& key, const PlanRecord& plan);

  // Committed when this returns.
  Status put_trial(const Key& key, const Trial& trial);
  std::vector<Trial> trials_of(const Key& key);  // in the order they were put

  // Nothing where bytes do not match their checksum, or where the file is not the user's own and writable by
  // nobody else (status().native_code).
  std::optional<Object> get_object(const Key& key);
  Status put_object(const Key& key, const Object& object);

  // on_miss = background: the kernel ran without a tuned decision. A tuned decision removes the note.
  Status note_miss(const Key& key);
  std::vector<Miss> misses();  // most frequent first

  // Why a key hits or misses: the exact record, or the nearest one of any numerics, target or version.
  Explanation why(const Key& key);

  // Ordered by kind and hash.
  std::vector<Listing> list();
  // Everything about the keys whose hexadecimal hash begins with prefix (at least 4 digits).
  Result<std::vector<Record>> show(std::string_view prefix);
  StoreStats stats();
  VerifyReport verify();
  Result<PruneReport> prune(const PruneOptions& options);

  // A pack: schemas/pack.md. The same content gives the same bytes.
  Result<ExportReport> export_to(const std::string& path, const ExportOptions& options);
  Result<ImportReport> import_from(const std::string& path, const ImportOptions& options);
  Result<std::string> export_text(const ExportOptions& options, ExportReport* report = nullptr);
  Result<ImportReport> import_text(std::string_view text, const ImportOptions& options);

  // Writes what is kept back (times of last use, rows that waited for a lock). Also done by the destructor.
  void flush();

 private:
  friend std::unique_ptr<Store> open_with_schema(StoreOptions, const StoreSeams&, const Schema&);
  class Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace frit::tuner
