// Disks that fill up and fail at every single operation, and the size cap.
#include <gtest/gtest.h>

#include "support/fault_vfs.h"
#include "support/store_testing.h"

namespace frit::tuner {
namespace {

struct FaultCase {
  const char* name;
  int code;
  bool local;
};

class StoreFault : public testing::TestWithParam<FaultCase> {
 protected:
  static void baseline(Store& store) {
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(store.put_decision(matmul_key(i + 1), decision_of(State::kTuned)).ok());
      ASSERT_TRUE(store.put_trial(matmul_key(1), trial_of(i)).ok());
    }
  }
  static void expect_baseline(Store& store) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(store.get_decision(matmul_key(i + 1)).match, Match::kExact);
    ASSERT_GE(store.trials_of(matmul_key(1)).size(), 3u);
  }
  // Enough to spill, checkpoint and grow the file.
  static void more(Store& store) {
    for (int i = 0; i < 4; ++i) {
      EXPECT_TRUE(store.put_decision(matmul_key(100 + i), decision_of(State::kTuned)).ok());
      EXPECT_TRUE(store.put_trial(matmul_key(1), trial_of(3 + i)).ok());
      EXPECT_TRUE(store.put_object(object_key(base::text_of(i)), object_of(std::string(9000, 'o'))).ok());
    }
  }
  static void expect_more(Store& store) {
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(store.get_decision(matmul_key(100 + i)).match, Match::kExact);
      EXPECT_TRUE(store.get_object(object_key(base::text_of(i))).has_value());
    }
    EXPECT_EQ(store.trials_of(matmul_key(1)).size(), 7u);
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, StoreFault,
                         testing::Values(FaultCase{"FullLocal", SQLITE_FULL, true},
                                         FaultCase{"FullNetwork", SQLITE_FULL, false},
                                         FaultCase{"BrokenLocal", SQLITE_IOERR_WRITE, true},
                                         FaultCase{"BrokenNetwork", SQLITE_IOERR_WRITE, false}),
                         [](const auto& it) { return it.param.name; });

TEST_P(StoreFault, AtEveryOperationNothingCommittedIsLost) {
  FaultVfs vfs("frit-fault");
  for (int nth = 1;; ++nth) {
    SCOPED_TRACE(nth);
    TempFolder folder;
    World world;
    world.files.local = GetParam().local;
    StoreOptions options = World::options(folder / "cache.db");
    options.vfs = vfs.name();
    auto store = world.open(options);
    baseline(*store);
    vfs.fail_from(nth, GetParam().code);
    more(*store);
    if (GetParam().code == SQLITE_FULL) {
      // The process that made them has them. (On a disk that refuses every write SQLite cannot even undo what
      // it has half done, so the file is not read before the disk is well again.)
      expect_baseline(*store);
      expect_more(*store);
    }
    EXPECT_LE(world.sink->warnings().size(), 1u);
    const bool reached = vfs.operations() >= nth;
    const bool heals = nth % 2 == 0;
    if (heals) vfs.fail_from(0);
    const bool writable = store->status().mode == StoreMode::kReadWrite;
    store.reset();
    // What could not be saved to the end is told.
    EXPECT_LE(world.sink->warnings().size(), writable || heals ? 1u : 2u);
    vfs.fail_from(0);
    store = world.open(options);
    EXPECT_EQ(store->status().set_aside, "");
    expect_baseline(*store);
    if (heals) expect_more(*store);  // room again before the end: all of it went into the file
    EXPECT_TRUE(store->verify().ok()) << store->verify().problems[0];
    store.reset();
    if (!reached) break;
    ASSERT_LT(nth, 400);
  }
}

TEST_P(StoreFault, AtEveryOperationOfTheFirstOpening) {
  FaultVfs vfs("frit-fault");
  for (int nth = 1;; ++nth) {
    SCOPED_TRACE(nth);
    TempFolder folder;
    World world;
    world.files.local = GetParam().local;
    StoreOptions options = World::options(folder / "cache.db");
    options.vfs = vfs.name();
    vfs.fail_from(nth, GetParam().code);
    auto store = world.open(options);
    const bool reached = vfs.operations() >= nth;
    baseline(*store);
    expect_baseline(*store);
    EXPECT_LE(world.sink->warnings().size(), 1u);
    vfs.fail_from(0);
    // Room again: what was put finds its way into the file.
    store->flush();
    store.reset();
    store = world.open(options);
    EXPECT_EQ(store->status().mode, StoreMode::kReadWrite) << store->status().warning;
    expect_baseline(*store);
    EXPECT_TRUE(store->verify().ok()) << store->verify().problems[0];
    store.reset();
    if (!reached) break;
    ASSERT_LT(nth, 100);
  }
}

TEST(StoreSize, TheCapHoldsWhileWriting) {
  TempFolder folder;
  World world;
  StoreOptions options = World::options(folder / "cache.db");
  options.size_cap_bytes = 1 << 20;
  auto store = world.open(options);
  for (int i = 0; i < 1500; ++i) {
    world.clock.advance_ns(int64_t{60} * 1000000000);
    ASSERT_TRUE(store->put_object(object_key(base::text_of(i)), object_of(std::string(3000, 'o'))).ok());
  }
  const StoreStats stats = store->stats();
  // Looked at every 256 writes.
  EXPECT_LT(stats.file_bytes, (1 << 20) + 256 * 5000);
  EXPECT_GT(stats.objects, 100);
  EXPECT_TRUE(store->get_object(object_key("1499")).has_value());
  EXPECT_FALSE(store->get_object(object_key("0")).has_value());
  EXPECT_TRUE(world.sink->warnings().empty());
  EXPECT_TRUE(store->verify().ok());
}

TEST(StoreSize, PruningDropsTheLeastRecentlyUsed) {
  TempFolder folder;
  World world;
  auto store = world.open(folder / "cache.db");
  constexpr int64_t kDayNs = int64_t{86400} * 1000000000;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(store->put_decision(matmul_key(i + 1), decision_of(State::kTuned)).ok());
    ASSERT_TRUE(store->put_trial(matmul_key(i + 1), trial_of(i)).ok());
    world.clock.advance_ns(kDayNs);
  }
  EXPECT_EQ(store->get_decision(matmul_key(1)).match, Match::kExact);  // the oldest, in use again
  auto report = store->prune({.max_bytes = 0, .max_age_s = 5 * 86400 + 3600});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->keys, 4);
  EXPECT_EQ(report->decisions, 4);
  EXPECT_EQ(report->trials, 4);
  EXPECT_EQ(store->get_decision(matmul_key(1)).match, Match::kExact);
  for (int i = 2; i <= 5; ++i) EXPECT_NE(store->get_decision(matmul_key(i)).match, Match::kExact) << i;
  for (int i = 6; i <= 10; ++i) EXPECT_EQ(store->get_decision(matmul_key(i)).match, Match::kExact) << i;
  // Under a size: trials go before choices.
  const int64_t without = store->stats().file_bytes;
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(store->put_trial(matmul_key(10), trial_of(i)).ok());
  const int64_t decisions = store->stats().decisions, with = store->stats().file_bytes;
  report = store->prune({.max_bytes = static_cast<uint64_t>((with + without) / 2), .max_age_s = 0});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->decisions, 0);
  EXPECT_GT(report->trials, 0);
  EXPECT_EQ(store->stats().decisions, decisions);
  // No room for anything.
  report = store->prune({.max_bytes = 1, .max_age_s = 0});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(store->stats().decisions, 0);
  EXPECT_EQ(store->stats().trials, 0);
  EXPECT_TRUE(store->verify().ok());
  store.reset();
  EXPECT_LT(world.files.stat(folder / "cache.db")->size_bytes, 120000u);
}

}  // namespace
}  // namespace frit::tuner
