// Every state that a cache file, its folder and its file system can be in when a store is opened.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <random>
#include <thread>

#include "support/store_testing.h"
#include "tuner/store_image.h"
#include "tuner/store_impl.h"

namespace frit::tuner {
namespace {

// SQL through SQLite itself, as another program would run it.
void raw_sql(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << (message ? message : "");
  sqlite3_free(message);
  sqlite3_close(db);
}

std::string raw_text(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  std::string out = "?";
  if (sqlite3_open(path.c_str(), &db) == SQLITE_OK) {
    sqlite3_exec(
        db, sql.c_str(),
        [](void* to, int, char** values, char**) {
          *static_cast<std::string*>(to) = values[0] ? values[0] : "NULL";
          return 0;
        },
        &out, nullptr);
  }
  sqlite3_close(db);
  return out;
}

uint32_t mode_of(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

class StoreOpen : public testing::Test {
 protected:
  // A cache with one decision, one object and three trials.
  void fill(const std::string& path) {
    auto store = world_.open(path);
    ASSERT_EQ(store->status().mode, StoreMode::kReadWrite) << store->status().warning;
    fill(*store);
  }
  static void fill(Store& store) {
    ASSERT_TRUE(store.put_decision(matmul_key(64), decision_of(State::kTuned)).ok());
    ASSERT_TRUE(store.put_object(object_key("code"), object_of("machine code")).ok());
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(store.put_trial(matmul_key(64), trial_of(i)).ok());
  }
  static bool has_all(Store& store) {
    return store.get_decision(matmul_key(64)).match == Match::kExact &&
           store.get_object(object_key("code")).has_value() && store.trials_of(matmul_key(64)).size() == 3;
  }
  std::vector<std::string> warnings() const { return world_.sink->warnings(); }
  // What the store must always do: take a record and give it back.
  static void expect_usable(Store& store) {
    EXPECT_TRUE(store.put_decision(matmul_key(1000), decision_of(State::kTuned)).ok());
    EXPECT_EQ(store.get_decision(matmul_key(1000)).match, Match::kExact);
  }

  TempFolder folder_;
  World world_;
  const std::string path_ = folder_ / "cache.db";
};

TEST_F(StoreOpen, MakesFolderAndFileForTheUserAlone) {
  const std::string path = folder_ / "a/frit/cache.db";
  const mode_t mask = umask(0);
  auto store = world_.open(path);
  fill(*store);
  EXPECT_EQ(mode_of(folder_ / "a/frit"), 0700u);
  EXPECT_EQ(mode_of(path), 0600u);
  EXPECT_EQ(mode_of(path + "-wal"), 0600u);
  EXPECT_EQ(mode_of(path + ".lock"), 0600u);
  umask(mask);
  EXPECT_EQ(store->status().journal, "wal");
  EXPECT_EQ(store->status().schema_version, 1);
  EXPECT_TRUE(store->status().native_code);
  store.reset();
  EXPECT_EQ(raw_text(path, "PRAGMA application_id"), std::to_string(0x66726974));
  EXPECT_EQ(raw_text(path, "PRAGMA user_version"), "1");
  EXPECT_EQ(raw_text(path, "PRAGMA auto_vacuum"), "2");
  EXPECT_TRUE(warnings().empty());
  // Nothing is left beside the file but the lock.
  const auto names = world_.files.list(folder_ / "a/frit");
  EXPECT_EQ(*names, (std::vector<std::string>{"cache.db", "cache.db.lock"}));
}

TEST_F(StoreOpen, MissingFileIsNotMadeForLooking) {
  StoreOptions options = World::options(path_);
  options.create = false;
  auto store = world_.open(options);
  EXPECT_TRUE(store->status().missing);
  EXPECT_EQ(store->stats().decisions, 0);
  EXPECT_EQ(store->stats().trials, 0);
  EXPECT_TRUE(store->verify().ok());
  EXPECT_EQ(store->list().size(), 0u);
  EXPECT_TRUE(store->prune({.max_bytes = 1, .max_age_s = 1}).ok());
  store.reset();
  EXPECT_TRUE(warnings().empty());
  EXPECT_EQ(world_.files.list(folder_.path())->size(), 0u);
}

TEST_F(StoreOpen, AnEmptyFileIsANewCache) {
  put_file(path_, "");
  fill(path_);
  EXPECT_TRUE(has_all(*world_.open(path_)));
  EXPECT_TRUE(warnings().empty());
}

TEST_F(StoreOpen, BadFilesAreSetAsideWithOneWarning) {
  fill(path_);
  const std::string good = file_bytes(path_);
  std::mt19937 random(1);
  std::string noise(20000, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  std::string no_magic = good;
  no_magic[3] ^= 1;
  std::string bad_schema = good;  // the root page of sqlite_schema
  for (size_t i = 100; i < 200; ++i) bad_schema[i] = '\xff';
  TempFolder other;
  raw_sql(other / "other.db", "CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')");
  const std::vector<std::pair<const char*, std::string>> bad = {
      {"noise", noise},
      {"text", "hello\n"},
      {"no magic", no_magic},
      {"truncated", good.substr(0, good.size() / 2)},
      {"cut in the header", good.substr(0, 60)},
      {"schema page", bad_schema},
      {"another program's", file_bytes(other / "other.db")}};
  int n = 0;
  for (const auto& [name, bytes] : bad) {
    SCOPED_TRACE(name);
    World world;
    put_file(path_, bytes);
    auto store = world.open(path_);
    const std::string aside = base::text_of(path_, ".aside-", ++n);
    EXPECT_EQ(store->status().set_aside, aside);
    EXPECT_EQ(store->status().mode, StoreMode::kReadWrite);
    EXPECT_EQ(file_bytes(aside), bytes);
    EXPECT_EQ(store->get_decision(matmul_key(64)).match, Match::kMiss);
    fill(*store);
    EXPECT_TRUE(has_all(*store));
    EXPECT_FALSE(store->verify().ok());  // the caller asked, and something had been wrong
    store.reset();
    ASSERT_EQ(world.sink->warnings().size(), 1u);
    EXPECT_NE(world.sink->warnings()[0].find(aside), std::string::npos);
    World again;
    EXPECT_TRUE(has_all(*again.open(path_)));
    EXPECT_TRUE(again.sink->warnings().empty());
  }
}

TEST_F(StoreOpen, InspectionLeavesABadFileWhereItIs) {
  put_file(path_, std::string(5000, 'x'));
  StoreOptions options = World::options(path_);
  options.create = false;
  options.leave_bad_file = true;
  auto store = world_.open(options);
  const VerifyReport report = store->verify();
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_NE(report.problems[0].find(path_), std::string::npos);
  EXPECT_NE(store->status().bad_file, "");
  store.reset();
  EXPECT_EQ(file_bytes(path_), std::string(5000, 'x'));
}

TEST_F(StoreOpen, ALogBesideABadFileIsSetAsideWithIt) {
  fill(path_);
  put_file(path_, std::string(8192, 'x'));
  put_file(path_ + "-wal", "old log");
  auto store = world_.open(path_);
  EXPECT_EQ(file_bytes(path_ + ".aside-1"), std::string(8192, 'x'));
  EXPECT_EQ(file_bytes(path_ + ".aside-1-wal"), "old log");
  expect_usable(*store);
}

TEST_F(StoreOpen, TablesThatAreMissingMakeItForeign) {
  fill(path_);
  raw_sql(path_, "DROP TABLE trials");
  auto store = world_.open(path_);
  EXPECT_NE(store->status().set_aside, "");
  expect_usable(*store);
  EXPECT_EQ(warnings().size(), 1u);
}

TEST_F(StoreOpen, ATriggerOrViewInTheFileDoesNotRun) {
  fill(path_);
  raw_sql(path_, "CREATE TRIGGER evil AFTER INSERT ON trials BEGIN DELETE FROM decisions; END");
  auto store = world_.open(path_);
  ASSERT_TRUE(store->put_trial(matmul_key(64), trial_of(9)).ok());
  EXPECT_EQ(store->get_decision(matmul_key(64)).match, Match::kExact);
}

TEST_F(StoreOpen, ANewerSchemaIsReadAndNeverWritten) {
  fill(path_);
  raw_sql(path_, "ALTER TABLE decisions ADD COLUMN mood TEXT; DROP TABLE misses; PRAGMA user_version = 2");
  const std::string before = file_bytes(path_);
  auto store = world_.open(path_);
  EXPECT_EQ(store->status().mode, StoreMode::kReadOnly);
  EXPECT_EQ(store->status().schema_version, 2);
  EXPECT_TRUE(has_all(*store));
  EXPECT_EQ(store->misses().size(), 0u);
  expect_usable(*store);
  ASSERT_TRUE(store->put_trial(matmul_key(64), trial_of(7)).ok());
  EXPECT_EQ(store->trials_of(matmul_key(64)).size(), 4u);
  EXPECT_FALSE(store->prune({.max_bytes = 1, .max_age_s = 0}).ok());
  store.reset();
  EXPECT_EQ(file_bytes(path_), before);
  EXPECT_EQ(warnings().size(), 1u);
}

// The machinery of migrations on a made-up older version: 0, whose decisions had no origin.
class StoreMigration : public StoreOpen {
 protected:
  void make_version_0() {
    fill(path_);
    raw_sql(path_, "ALTER TABLE decisions DROP COLUMN origin; PRAGMA user_version = 0");
  }
  std::unique_ptr<Store> open_with(std::span<const Migration> migrations) {
    schema_ = cache_schema();
    schema_.migrations = migrations;
    return open_with_schema(World::options(path_), world_.seams(), schema_);
  }
  Schema schema_ = cache_schema();
};

TEST_F(StoreMigration, OlderFilesAreBroughtUpToDate) {
  make_version_0();
  static constexpr Migration kSteps[] = {
      {0, "ALTER TABLE decisions ADD COLUMN origin TEXT NOT NULL DEFAULT 'local'"}};
  auto store = open_with(kSteps);
  EXPECT_EQ(store->status().mode, StoreMode::kReadWrite) << store->status().warning;
  EXPECT_EQ(store->status().schema_version, 1);
  EXPECT_TRUE(has_all(*store));
  store.reset();
  EXPECT_TRUE(warnings().empty());
  EXPECT_TRUE(has_all(*world_.open(path_)));
  EXPECT_EQ(raw_text(path_, "PRAGMA user_version"), "1");
}

TEST_F(StoreMigration, AMigrationThatFailsChangesNothing) {
  make_version_0();
  static constexpr Migration kSteps[] = {{0,
                                          "ALTER TABLE decisions ADD COLUMN origin TEXT NOT NULL DEFAULT "
                                          "'local'; UPDATE no_such_table SET x = 1"}};
  const std::string columns = raw_text(path_, "SELECT sql FROM sqlite_schema WHERE name = 'decisions'");
  auto store = open_with(kSteps);
  EXPECT_EQ(store->status().mode, StoreMode::kReadOnly);
  EXPECT_EQ(store->trials_of(matmul_key(64)).size(), 3u);  // what is understood without the missing column
  EXPECT_EQ(store->get_decision(matmul_key(64)).match, Match::kMiss);
  expect_usable(*store);
  store.reset();
  EXPECT_EQ(raw_text(path_, "SELECT sql FROM sqlite_schema WHERE name = 'decisions'"), columns);
  EXPECT_EQ(raw_text(path_, "PRAGMA user_version"), "0");
  EXPECT_EQ(warnings().size(), 1u);
}

TEST_F(StoreMigration, AStepThatMissesTheVersionsTablesIsRefused) {
  make_version_0();
  static constexpr Migration kSteps[] = {{0, "SELECT 1"}};
  auto store = open_with(kSteps);
  EXPECT_EQ(store->status().mode, StoreMode::kReadOnly);
  EXPECT_EQ(raw_text(path_, "PRAGMA user_version"), "0");
}

TEST_F(StoreMigration, AVersionWithoutAWayUpIsSetAside) {
  make_version_0();
  auto store = world_.open(path_);
  EXPECT_NE(store->status().set_aside, "");
  expect_usable(*store);
}

// A process that holds a lock on the cache until it is told to let go.
class LockHolder {
 public:
  LockHolder(const std::string& path, const std::string& sql) {
    int ready[2], release[2];
    EXPECT_EQ(pipe(ready), 0);
    EXPECT_EQ(pipe(release), 0);
    pid_ = in_child([&] {
      close(release[1]);
      sqlite3* db = nullptr;
      if (sqlite3_open(path.c_str(), &db) != SQLITE_OK) return 1;
      const int rc = sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr);
      char byte = rc == SQLITE_OK ? 'y' : 'n';
      if (write(ready[1], &byte, 1) != 1) return 1;
      if (read(release[0], &byte, 1) < 0) return 1;
      sqlite3_close(db);
      return 0;
    });
    close(release[0]);
    close(ready[1]);
    char byte = '?';
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
    close(ready[0]);
    release_ = release[1];
  }
  ~LockHolder() { release(); }
  void release() {
    if (release_ < 0) return;
    close(release_);
    release_ = -1;
    EXPECT_EQ(exit_code(pid_), 0);
  }

 private:
  pid_t pid_ = -1;
  int release_ = -1;
};

TEST_F(StoreOpen, AnExclusiveLockLeavesMemoryUntilItIsGone) {
  world_.files.local = false;  // rollback journal: an exclusive lock keeps readers out too
  fill(path_);
  LockHolder holder(path_, "BEGIN EXCLUSIVE");
  StoreOptions options = World::options(path_);
  options.busy_ms = 50;
  auto store = world_.open(options);
  EXPECT_EQ(store->status().mode, StoreMode::kMemory);
  EXPECT_EQ(store->get_decision(matmul_key(64)).match, Match::kMiss);
  expect_usable(*store);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(store->put_trial(matmul_key(65), trial_of(i)).ok());
  EXPECT_EQ(warnings().size(), 1u);
  holder.release();
  // Nothing that was put in the meantime is lost.
  store->flush();
  EXPECT_EQ(store->status().mode, StoreMode::kReadWrite);
  EXPECT_TRUE(has_all(*store));
  EXPECT_EQ(store->trials_of(matmul_key(65)).size(), 5u);
  store.reset();
  auto again = world_.open(path_);
  EXPECT_EQ(again->get_decision(matmul_key(1000)).match, Match::kExact);
  EXPECT_EQ(again->trials_of(matmul_key(65)).size(), 5u);
  EXPECT_TRUE(has_all(*again));
}

TEST_F(StoreOpen, AWriterElsewhereDelaysOnlyWrites) {
  fill(path_);
  LockHolder holder(path_, "BEGIN IMMEDIATE");
  StoreOptions options = World::options(path_);
  options.busy_ms = 50;
  auto store = world_.open(options);
  EXPECT_EQ(store->status().mode, StoreMode::kReadWrite);
  EXPECT_TRUE(has_all(*store));
  for (int i = 3; i < 20; ++i) ASSERT_TRUE(store->put_trial(matmul_key(64), trial_of(i)).ok());
  EXPECT_EQ(store->trials_of(matmul_key(64)).size(), 20u);
  EXPECT_EQ(*store->put_decision(matmul_key(64), decision_of(State::kHeuristic)), PutOutcome::kKeptExisting);
  EXPECT_EQ(warnings().size(), 1u);
  holder.release();
  world_.clock.advance_ns(int64_t{5} * 1000000000);
  ASSERT_TRUE(store->put_trial(matmul_key(64), trial_of(20)).ok());
  EXPECT_EQ(store->status().mode, StoreMode::kReadWrite);
  store.reset();
  auto again = world_.open(path_);
  const auto trials = again->trials_of(matmul_key(64));
  ASSERT_EQ(trials.size(), 21u);
  for (int i = 0; i < 21; ++i) EXPECT_EQ(trials[i].params, trial_of(i).params);
  EXPECT_EQ(again->get_decision(matmul_key(64)).decision.state, State::kTuned);
  EXPECT_EQ(warnings().size(), 1u);
}

TEST_F(StoreOpen, OnANetworkTheJournalIsARollbackJournal) {
  world_.files.local = false;
  auto store = world_.open(path_);
  fill(*store);
  EXPECT_EQ(store->status().journal, "rollback");
  EXPECT_FALSE(world_.files.exists(path_ + "-wal"));
  EXPECT_FALSE(world_.files.exists(path_ + "-shm"));
  store.reset();
  // Back on a local disk it keeps the journal that every host understands.
  world_.files.local = true;
  store = world_.open(path_);
  EXPECT_EQ(store->status().journal, "rollback");
  EXPECT_TRUE(has_all(*store));
  EXPECT_TRUE(warnings().empty());
}

TEST_F(StoreOpen, ALogThatArrivesOnANetworkIsConverted) {
  // Killed before the log went into the file.
  EXPECT_EQ(exit_code(in_child([&] {
              auto store = world_.open(path_);
              fill(*store);
              _exit(HasFailure() ? 1 : 0);
              return 0;
            })),
            0);
  ASSERT_GT(world_.files.stat(path_ + "-wal")->size_bytes, 0u);
  world_.files.local = false;
  auto store = world_.open(path_);
  EXPECT_EQ(store->status().journal, "rollback") << store->status().warning;
  EXPECT_TRUE(has_all(*store));
  expect_usable(*store);
  EXPECT_FALSE(world_.files.exists(path_ + "-wal"));
  EXPECT_TRUE(warnings().empty());
}

TEST_F(StoreOpen, AnotherUsersFileIsReadAndLeftAlone) {
  fill(path_);
  ASSERT_EQ(remove((path_ + ".lock").c_str()), 0);
  const std::string before = file_bytes(path_);
  world_.files.owner = world_.process.user() + 1;
  for (const bool mount : {false, true}) {
    SCOPED_TRACE(mount);
    world_.files.read_only_mount = mount;
    auto store = world_.open(path_);
    EXPECT_EQ(store->status().mode, StoreMode::kReadOnly);
    EXPECT_EQ(store->get_decision(matmul_key(64)).match, Match::kExact);
    EXPECT_EQ(store->trials_of(matmul_key(64)).size(), 3u);
    // Native code is not taken from it.
    EXPECT_FALSE(store->status().native_code);
    EXPECT_FALSE(store->get_object(object_key("code")).has_value());
    expect_usable(*store);
    ASSERT_TRUE(store->put_object(object_key("mine"), object_of("x")).ok());
    EXPECT_TRUE(store->get_object(object_key("mine")).has_value());
    EXPECT_FALSE(store->import_text(*store->export_text({}), {}).ok());
    store.reset();
    EXPECT_EQ(*world_.files.list(folder_.path()), std::vector<std::string>{"cache.db"});
    EXPECT_EQ(file_bytes(path_), before);
  }
  EXPECT_EQ(warnings().size(), 2u);
}

TEST_F(StoreOpen, AnotherUsersDamagedFileIsNotMoved) {
  put_file(path_, std::string(4096, 'x'));
  world_.files.owner = world_.process.user() + 1;
  auto store = world_.open(path_);
  EXPECT_EQ(store->status().mode, StoreMode::kMemory);
  EXPECT_EQ(*world_.files.list(folder_.path()), std::vector<std::string>{"cache.db"});
  expect_usable(*store);
  EXPECT_EQ(warnings().size(), 1u);
}

TEST_F(StoreOpen, WhatOthersCanWriteGivesNoNativeCode) {
  fill(path_);
  world_.files.mode = 0620;
  EXPECT_FALSE(world_.open(path_)->get_object(object_key("code")).has_value());
  EXPECT_EQ(world_.open(path_)->get_decision(matmul_key(64)).match, Match::kExact);
  world_.files.mode = std::nullopt;
  world_.files.folder_mode = 0777;
  EXPECT_FALSE(world_.open(path_)->get_object(object_key("code")).has_value());
  world_.files.folder_mode = 01777;  // sticky: nobody else can put another file in its place
  EXPECT_TRUE(world_.open(path_)->get_object(object_key("code")).has_value());
}

// Runs body as a user for whom file permissions count.
int without_privilege(const TempFolder& folder, const std::function<int()>& body) {
  return exit_code(in_child([&] {
    if (geteuid() == 0) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
        if (chown(entry.path().c_str(), 65534, 65534) != 0) return 90;
      }
      if (chown(folder.path().c_str(), 65534, 65534) != 0) return 91;
      if (setgid(65534) != 0 || setuid(65534) != 0) return 92;
    }
    return body();
  }));
}

TEST_F(StoreOpen, AReadOnlyFolderIsRead) {
  // With a log that nobody may put into the file.
  ASSERT_EQ(exit_code(in_child([&] {
              auto store = world_.open(path_);
              fill(*store);
              _exit(HasFailure() ? 1 : 0);
              return 0;
            })),
            0);
  ASSERT_EQ(remove((path_ + "-shm").c_str()), 0);
  ASSERT_GT(world_.files.stat(path_ + "-wal")->size_bytes, 0u);
  const std::string before = file_bytes(path_);
  EXPECT_EQ(without_privilege(folder_,
                              [&] {
                                chmod(path_.c_str(), 0400);
                                chmod(folder_.path().c_str(), 0500);
                                auto store = world_.open(path_);
                                EXPECT_EQ(store->status().mode, StoreMode::kReadOnly)
                                    << store->status().warning;
                                EXPECT_TRUE(has_all(*store));
                                expect_usable(*store);
                                EXPECT_EQ(warnings().size(), 1u);
                                store.reset();
                                EXPECT_FALSE(world_.files.exists(path_ + "-shm"));
                                return HasFailure() ? 1 : 0;
                              }),
            0);
  EXPECT_EQ(file_bytes(path_), before);
}

TEST_F(StoreOpen, AWritableFileInAReadOnlyFolderIsRead) {
  for (const bool local : {true, false}) {
    SCOPED_TRACE(local);
    TempFolder folder;
    const std::string path = folder / "cache.db";
    world_.files.local = local;
    fill(path);
    EXPECT_EQ(without_privilege(folder,
                                [&] {
                                  chmod(folder.path().c_str(), 0500);
                                  auto store = world_.open(path);
                                  EXPECT_TRUE(has_all(*store)) << store->status().warning;
                                  expect_usable(*store);
                                  EXPECT_TRUE(store->put_trial(matmul_key(64), trial_of(3)).ok());
                                  EXPECT_EQ(store->trials_of(matmul_key(64)).size(), 4u);
                                  EXPECT_EQ(store->status().mode, StoreMode::kReadOnly);
                                  EXPECT_EQ(warnings().size(), 1u);
                                  return HasFailure() ? 1 : 0;
                                }),
              0);
  }
}

TEST_F(StoreOpen, AFolderThatCannotBeMadeLeavesMemory) {
  put_file(folder_ / "file", "x");
  auto store = world_.open(folder_ / "file/sub/cache.db");
  EXPECT_EQ(store->status().mode, StoreMode::kMemory);
  expect_usable(*store);
  EXPECT_EQ(warnings().size(), 1u);
}

TEST_F(StoreOpen, WhatIsNoRegularFileLeavesMemory) {
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  std::filesystem::create_directory(folder_ / "folder");
  std::filesystem::create_symlink(folder_ / "nowhere", folder_ / "dangling");
  for (const std::string& path :
       {folder_ / "fifo", folder_ / "folder", folder_ / "dangling", std::string("/dev/null")}) {
    SCOPED_TRACE(path);
    World world;
    auto store = world.open(path);
    EXPECT_EQ(store->status().mode, StoreMode::kMemory);
    expect_usable(*store);
    EXPECT_EQ(world.sink->warnings().size(), 1u);
  }
  EXPECT_FALSE(world_.files.exists(folder_ / "nowhere"));
}

TEST_F(StoreOpen, OddNamesAreJustNames) {
  for (const char* name : {"a b?mode=memory#x%41.db", "file:odd", ":memory:", "\xc3\xa9.db"}) {
    SCOPED_TRACE(name);
    const std::string path = folder_ / name;
    fill(path);
    EXPECT_TRUE(has_all(*world_.open(path)));
    EXPECT_TRUE(world_.files.exists(path));
  }
  // Read-only and immutable opening builds a URI.
  world_.files.owner = world_.process.user() + 1;
  world_.files.read_only_mount = true;
  EXPECT_EQ(world_.open(folder_ / "a b?mode=memory#x%41.db")->get_decision(matmul_key(64)).match,
            Match::kExact);
  EXPECT_TRUE(world_.sink->warnings().size() == 1);
}

TEST_F(StoreOpen, FaultsOfTheFileSystemNeverFailTheUser) {
  base::SystemFileSystem real;
  for (int nth = 1;; ++nth) {
    SCOPED_TRACE(nth);
    TempFolder folder;
    fakes::FaultyFiles files(real);
    auto sink = std::make_shared<MemorySink>();
    const StoreSeams seams{world_.clock, files, world_.process, base::Logger(sink)};
    files.fail_nth(nth);
    auto store = Store::open(World::options(folder / "sub/cache.db"), seams);
    expect_usable(*store);
    EXPECT_LE(sink->warnings().size(), 1u);
    store.reset();
    if (files.operations() < nth) break;
    ASSERT_LT(nth, 100);
  }
}

TEST_F(StoreOpen, AMovedCacheIsTheSameCache) {
  fill(path_);
  const std::string moved = folder_ / "elsewhere.db";
  std::filesystem::rename(path_, moved);
  EXPECT_TRUE(has_all(*world_.open(moved)));
}

TEST_F(StoreOpen, TheClockMayJump) {
  fill(path_);
  world_.clock.jump_wall_ns(-int64_t{10} * 365 * 86400 * 1000000000);
  auto store = world_.open(path_);
  EXPECT_TRUE(has_all(*store));
  EXPECT_EQ(store->prune({.max_bytes = 0, .max_age_s = 86400})->keys, 0);
  ASSERT_TRUE(store->put_trial(matmul_key(64), trial_of(3)).ok());
  EXPECT_EQ(store->trials_of(matmul_key(64)).back().params, trial_of(3).params);
  store.reset();
  world_.clock.jump_wall_ns(int64_t{20} * 365 * 86400 * 1000000000);
  EXPECT_EQ(world_.open(path_)->trials_of(matmul_key(64)).size(), 4u);
}

TEST_F(StoreOpen, TimesOfUseAreWrittenSparingly) {
  fill(path_);
  const auto last_use = [&] {
    return world_.open(path_)->show(matmul_key(64).hash().hex())->at(0).last_use_s;
  };
  const int64_t first = last_use();
  const std::string before = file_bytes(path_);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(has_all(*world_.open(path_)));
  EXPECT_EQ(file_bytes(path_), before);  // a warm start writes nothing
  world_.clock.advance_ns(int64_t{2} * 3600 * 1000000000);
  EXPECT_TRUE(has_all(*world_.open(path_)));
  EXPECT_EQ(last_use(), first + 7200);
}

TEST_F(StoreOpen, ARowThatChangedIsAMissAndNothingElse) {
  fill(path_);
  auto store = world_.open(path_);
  Decision other = decision_of(State::kTuned, "mr=7 nv=7");
  ASSERT_TRUE(store->put_decision(key_of("softmax f32[8x8]"), other).ok());
  store.reset();
  std::string bytes = file_bytes(path_);
  const auto flip = [&](const std::string& text) {
    const size_t at = bytes.find(text);
    ASSERT_NE(at, std::string::npos);
    bytes[at] ^= 1;
  };
  flip("mr=7 nv=7");
  flip("machine code");
  put_file(path_, bytes);
  store = world_.open(path_);
  EXPECT_EQ(store->get_decision(key_of("softmax f32[8x8]")).match, Match::kMiss);
  EXPECT_FALSE(store->get_object(object_key("code")).has_value());
  EXPECT_EQ(store->get_decision(matmul_key(64)).match, Match::kExact);
  EXPECT_GE(store->stats().damaged_rows, 2);
  const VerifyReport report = store->verify();
  EXPECT_EQ(report.problems.size(), 2u);
  // Putting it again heals it.
  ASSERT_TRUE(store->put_decision(key_of("softmax f32[8x8]"), other).ok());
  ASSERT_TRUE(store->put_object(object_key("code"), object_of("machine code")).ok());
  EXPECT_EQ(store->get_decision(key_of("softmax f32[8x8]")).match, Match::kExact);
  EXPECT_TRUE(store->get_object(object_key("code")).has_value());
  EXPECT_TRUE(store->verify().ok());
}

TEST_F(StoreOpen, AKeyThatChangedIsNeverHit) {
  fill(path_);
  std::string bytes = file_bytes(path_);
  const std::string text = "f32[64x64]";
  size_t flipped = 0;
  // The ingredient's text in the row now is that of another problem; the hash beside it is the old one.
  for (size_t at = bytes.find(text); at != std::string::npos; at = bytes.find(text, at + 1)) {
    bytes[at + 4] = '6', bytes[at + 5] = '5';
    ++flipped;
  }
  ASSERT_GT(flipped, 0u);
  put_file(path_, bytes);
  auto store = world_.open(path_);
  EXPECT_NE(store->get_decision(matmul_key(64)).match, Match::kExact);
  EXPECT_NE(store->get_decision(matmul_key(65)).match, Match::kExact);
  EXPECT_NE(store->get_decision(key_of(matmul_text(65, 65, 65))).match, Match::kExact);
  EXPECT_FALSE(store->verify().ok());
  EXPECT_GT(store->prune({})->damaged, 0);
  EXPECT_TRUE(store->verify().ok());
}

TEST_F(StoreOpen, DamageThatShowsLateSetsTheFileAside) {
  {
    auto store = world_.open(path_);
    for (int i = 0; i < 300; ++i)
      ASSERT_TRUE(store->put_decision(matmul_key(i + 1), decision_of(State::kTuned)).ok());
  }
  std::string bytes = file_bytes(path_);
  // Every page but the first ones (header and schema) becomes nonsense.
  for (size_t at = 4 * 4096; at < bytes.size(); at += 4096) std::fill_n(bytes.begin() + at, 200, '\xee');
  put_file(path_, bytes);
  auto store = world_.open(path_);
  EXPECT_EQ(store->status().set_aside, "");  // opens
  int hits = 0;
  for (int i = 0; i < 300; ++i) hits += store->get_decision(matmul_key(i + 1)).match == Match::kExact;
  EXPECT_LT(hits, 300);
  EXPECT_EQ(store->status().set_aside, path_ + ".aside-1");
  EXPECT_EQ(file_bytes(path_ + ".aside-1"), bytes);
  expect_usable(*store);
  EXPECT_EQ(store->status().mode, StoreMode::kReadWrite);
  store.reset();
  EXPECT_EQ(warnings().size(), 1u);
  EXPECT_EQ(world_.open(path_)->get_decision(matmul_key(1000)).match, Match::kExact);
}

TEST(StoreImage, LogsThatDoNotFitAreIgnored) {
  std::string database = "SQLite format 3";
  database += '\0';
  database.resize(4096, '\1');
  for (const std::string& log :
       {std::string(), std::string(10, 'x'), std::string(5000, 'x'), std::string(32, '\0')}) {
    const auto image = image_with_log(database, log);
    ASSERT_TRUE(image.ok());
    EXPECT_EQ(image->size(), database.size());
    EXPECT_EQ((*image)[18], 1);
  }
  EXPECT_FALSE(image_with_log("", "").ok());
  EXPECT_FALSE(image_with_log(std::string(4096, 'x'), "").ok());
}

}  // namespace
}  // namespace frit::tuner
