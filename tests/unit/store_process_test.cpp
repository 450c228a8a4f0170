// Several processes and threads on one cache: concurrent first opening, concurrent writers, killed writers,
// forks.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <random>
#include <thread>

#include "support/store_testing.h"

namespace frit::tuner {
namespace {

class StoreProcess : public testing::Test {
 protected:
  TempFolder folder_;
  World world_;
  const std::string path_ = folder_ / "cache.db";
};

// Children's stores are real ones: the clock has to run, since waiting for locks is measured by it.
std::unique_ptr<Store> open_real(const std::string& path, std::shared_ptr<MemorySink> sink) {
  static base::SystemClock clock;
  static base::SystemFileSystem files;
  static base::SystemProcess process;
  StoreOptions options = World::options(path);
  options.busy_ms = 60000;
  return Store::open(options, {clock, files, process, base::Logger(std::move(sink))});
}

TEST_F(StoreProcess, ManyOpenANewCacheAtOnce) {
  for (const bool local : {true, false}) {
    SCOPED_TRACE(local);
    const std::string path = folder_ / (local ? "local/cache.db" : "network/cache.db");
    int start[2];
    ASSERT_EQ(pipe(start), 0);
    constexpr int kProcesses = 32;
    std::vector<pid_t> children;
    for (int i = 0; i < kProcesses; ++i) {
      children.push_back(in_child([&, i] {
        close(start[1]);
        char byte;
        if (read(start[0], &byte, 1) < 0) return 9;  // until the parent closes its end
        base::SystemClock clock;
        BentFiles files;
        files.local = local;
        auto sink = std::make_shared<MemorySink>();
        StoreOptions options = World::options(path);
        options.busy_ms = 60000;
        auto store = Store::open(options, {clock, files, world_.process, base::Logger(sink)});
        if (store->status().mode != StoreMode::kReadWrite) return 1;
        if (!store->put_decision(matmul_key(i + 1), decision_of(State::kTuned)).ok()) return 2;
        if (store->get_decision(matmul_key(i + 1)).match != Match::kExact) return 3;
        store.reset();
        return sink->warnings().empty() ? 0 : 4;
      }));
    }
    close(start[0]);
    close(start[1]);
    for (const pid_t child : children) EXPECT_EQ(exit_code(child), 0);
    world_.files.local = local;
    auto store = world_.open(path);
    EXPECT_EQ(store->status().journal, local ? "wal" : "rollback");
    for (int i = 0; i < kProcesses; ++i)
      EXPECT_EQ(store->get_decision(matmul_key(i + 1)).match, Match::kExact) << i;
    EXPECT_TRUE(store->verify().ok());
  }
}

TEST_F(StoreProcess, ManySetOneBadFileAsideOnce) {
  put_file(path_, std::string(9000, 'x'));
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(in_child([&, i] {
      auto store = open_real(path_, std::make_shared<MemorySink>());
      return store->put_decision(matmul_key(i + 1), decision_of(State::kTuned)).ok() ? 0 : 1;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(exit_code(child), 0);
  EXPECT_EQ(file_bytes(path_ + ".aside-1"), std::string(9000, 'x'));
  EXPECT_FALSE(world_.files.exists(path_ + ".aside-2"));
  auto store = world_.open(path_);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(store->get_decision(matmul_key(i + 1)).match, Match::kExact) << i;
}

TEST_F(StoreProcess, WritersShareOneFile) {
  constexpr int kProcesses = 4, kTrials = 60;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    children.push_back(in_child([&, p] {
      auto sink = std::make_shared<MemorySink>();
      auto store = open_real(path_, sink);
      for (int i = 0; i < kTrials; ++i) {
        if (!store->put_trial(matmul_key(64), trial_of(p * 1000 + i)).ok()) return 1;
        if (i % 10 == 0 && !store->put_decision(matmul_key(64), decision_of(State::kPartial)).ok()) return 2;
      }
      if (store->status().mode != StoreMode::kReadWrite) return 3;
      store.reset();
      return sink->warnings().empty() ? 0 : 4;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(exit_code(child), 0);
  auto store = world_.open(path_);
  const auto trials = store->trials_of(matmul_key(64));
  ASSERT_EQ(trials.size(), static_cast<size_t>(kProcesses * kTrials));
  // Each process's trials are there, in its order.
  for (int p = 0; p < kProcesses; ++p) {
    int next = 0;
    for (const Trial& it : trials) next += it.params == trial_of(p * 1000 + next).params;
    EXPECT_EQ(next, kTrials);
  }
  EXPECT_EQ(store->stats().decisions, 1);
  EXPECT_TRUE(store->verify().ok());
}

// What the writer said it had committed is there after a kill at any moment, and the file is whole.
TEST_F(StoreProcess, NothingCommittedIsLostToAKill) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (const bool local : {true, false}) {
    SCOPED_TRACE(local);
    const std::string path = folder_ / (local ? "a.db" : "b.db");
    int committed = 0;
    for (int round = 0; round < 25; ++round) {
      int report[2];
      ASSERT_EQ(pipe(report), 0);
      const int first = committed;
      const pid_t writer = in_child([&] {
        close(report[0]);
        World world;
        world.files.local = local;
        auto store = world.open(path);
        for (int i = first;; ++i) {
          if (!store->put_trial(matmul_key(64), trial_of(i)).ok()) return 1;
          if (write(report[1], "x", 1) != 1) return 2;
        }
      });
      close(report[1]);
      usleep(random() % 30000);
      kill(writer, SIGKILL);
      EXPECT_EQ(exit_code(writer), 128 + SIGKILL);
      char byte;
      int said = 0;
      while (read(report[0], &byte, 1) == 1) ++said;
      close(report[0]);
      world_.files.local = local;
      auto store = world_.open(path);
      const int found = static_cast<int>(store->trials_of(matmul_key(64)).size());
      // One more may have been committed and not yet reported.
      EXPECT_GE(found, first + said);
      EXPECT_LE(found, first + said + 1);
      committed = found;
      ASSERT_TRUE(store->verify().ok()) << store->verify().problems[0];
    }
    EXPECT_GT(committed, 0);
    auto store = world_.open(path);
    const auto trials = store->trials_of(matmul_key(64));
    for (int i = 0; i < committed; ++i) ASSERT_EQ(trials[i].params, trial_of(i).params);
  }
  EXPECT_TRUE(world_.sink->warnings().empty());
}

TEST_F(StoreProcess, AChildNeitherUsesNorClosesIt) {
  auto store = world_.open(path_);
  ASSERT_TRUE(store->put_decision(matmul_key(64), decision_of(State::kTuned)).ok());
  ASSERT_TRUE(store->put_object(object_key("c"), object_of("x")).ok());
  const pid_t child = in_child([&] {
    if (store->get_decision(matmul_key(64)).match != Match::kMiss) return 1;
    if (store->get_object(object_key("c")).has_value()) return 2;
    const auto put = store->put_decision(matmul_key(65), decision_of(State::kTuned));
    if (put.ok() || put.error().message.find("fork") == std::string::npos) return 3;
    if (store->put_trial(matmul_key(64), trial_of(1)).ok()) return 4;
    if (store->stats().decisions != 0 || !store->list().empty() || !store->trials_of(matmul_key(64)).empty())
      return 5;
    if (store->export_text({}).ok() || store->prune({}).ok()) return 6;
    store->flush();
    store.reset();  // as a destructor or exit would
    // A child that wants a cache opens its own: a copy, since SQLite's tables of locks are its parent's.
    World world;
    auto own = world.open(path_);
    if (own->get_decision(matmul_key(64)).match != Match::kExact) return 7;
    if (own->status().mode != StoreMode::kReadOnly) return 8;
    if (!own->get_object(object_key("c")).has_value()) return 9;
    if (!own->put_trial(matmul_key(64), trial_of(1)).ok()) return 10;
    return world.sink->warnings().size() == 1 ? 0 : 11;
  });
  EXPECT_EQ(exit_code(child), 0);
  // The parent's connection is as good as before: its log was not touched, its locks hold.
  ASSERT_TRUE(store->put_trial(matmul_key(64), trial_of(2)).ok());
  EXPECT_EQ(store->get_decision(matmul_key(64)).match, Match::kExact);
  EXPECT_EQ(store->status().mode, StoreMode::kReadWrite);
  EXPECT_TRUE(store->verify().ok());
  store.reset();
  EXPECT_EQ(world_.open(path_)->trials_of(matmul_key(64)).size(), 1u);
}

TEST_F(StoreProcess, AChildOfAProcessThatHasClosedItsCacheUsesTheFile) {
  world_.open(path_).reset();
  EXPECT_EQ(exit_code(in_child([&] {
              auto store = world_.open(path_);
              if (store->status().mode != StoreMode::kReadWrite) return 1;
              return store->put_trial(matmul_key(64), trial_of(1)).ok() ? 0 : 2;
            })),
            0);
  EXPECT_EQ(world_.open(path_)->trials_of(matmul_key(64)).size(), 1u);
}

TEST_F(StoreProcess, AForkWhileAThreadIsInsideDoesNotBlockTheChild) {
  auto store = world_.open(path_);
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) {
      EXPECT_TRUE(store->put_trial(matmul_key(64), trial_of(1)).ok());
      store->get_decision(matmul_key(64));
    }
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      const bool miss = store->get_decision(matmul_key(64)).match == Match::kMiss;
      store.reset();
      _exit(miss ? 0 : 1);
    }
    EXPECT_EQ(exit_code(child), 0);
  }
  stop = true;
  busy.join();
  EXPECT_TRUE(store->verify().ok());
}

TEST_F(StoreProcess, ThreadsShareOneStore) {
  auto store = world_.open(path_);
  constexpr int kThreads = 4, kRounds = 40;
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        const Key key = matmul_key(t * 100 + i + 1);
        failures += !store->put_decision(key, decision_of(State::kTuned)).ok();
        failures += !store->put_trial(matmul_key(7), trial_of(i)).ok();
        failures += store->get_decision(key).match != Match::kExact;
        failures += !store->put_object(object_key(base::text_of(t, "-", i)), object_of("o")).ok();
        failures += !store->get_object(object_key(base::text_of(t, "-", i))).has_value();
        store->why(matmul_key(9999));
        store->status();
      }
    });
  }
  for (std::thread& it : threads) it.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(store->stats().decisions, kThreads * kRounds);
  EXPECT_EQ(store->trials_of(matmul_key(7)).size(), static_cast<size_t>(kThreads * kRounds));
}

TEST_F(StoreProcess, PruningWorksUnderLiveReaders) {
  int filled[2], ready[2], stop[2];
  ASSERT_EQ(pipe(filled), 0);
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(stop), 0);
  // Made before this process opens the cache, so that its connection is its own.
  const pid_t reader = in_child([&] {
    close(stop[1]);
    char byte;
    if (read(filled[0], &byte, 1) != 1) return 9;
    auto sink = std::make_shared<MemorySink>();
    auto own = open_real(path_, sink);
    if (own->status().mode != StoreMode::kReadWrite) return 8;
    if (write(ready[1], "r", 1) != 1) return 9;
    if (fcntl(stop[0], F_SETFL, O_NONBLOCK) != 0) return 9;
    for (int i = 0; read(stop[0], &byte, 1) != 0; ++i) {
      const auto object = own->get_object(object_key(base::text_of(i % 200)));
      if (object && object->bytes != std::string(4000, 'o')) return 1;
      own->get_decision(matmul_key(i % 200 + 1));
    }
    const int64_t damaged = own->stats().damaged_rows;
    own.reset();
    return damaged != 0 ? 2 : sink->warnings().empty() ? 0 : 3;
  });
  auto store = world_.open(path_);
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(store->put_decision(matmul_key(i + 1), decision_of(State::kTuned)).ok());
    ASSERT_TRUE(store->put_object(object_key(base::text_of(i)), object_of(std::string(4000, 'o'))).ok());
  }
  ASSERT_EQ(write(filled[1], "f", 1), 1);
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  const auto report = store->prune({.max_bytes = 300000, .max_age_s = 0});
  ASSERT_TRUE(report.ok()) << report.error().text();
  EXPECT_GT(report->keys, 0);
  EXPECT_LE(report->bytes_after, 300000);
  close(stop[1]);
  EXPECT_EQ(exit_code(reader), 0);
  EXPECT_TRUE(store->verify().ok());
}

}  // namespace
}  // namespace frit::tuner
