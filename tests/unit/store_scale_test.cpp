// A cache of a fleet's size: opening and looking up take as long as a start-up can bear.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>

#include "support/store_testing.h"
#include "tuner/pack.h"

namespace frit::tuner {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kDecisions = 2000, kTrials = 20000;
#else
constexpr int kDecisions = 50000, kTrials = 1000000;
#endif

double micros_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

Key nth_key(int i) {
  return key_of(matmul_text(i % 1000 + 1, 64 + i / 1000, i % 7 + 1) + std::string(1500, '#'));
}

TEST(StoreScale, FiftyThousandDecisionsAndAMillionTrials) {
  TempFolder folder;
  World world;
  const std::string path = folder / "cache.db";
  {
    auto store = world.open(path);
    for (int part = 0; part < 10; ++part) {
      std::vector<PackEntry> entries;
      for (int i = part * kDecisions / 10; i < (part + 1) * kDecisions / 10; ++i) {
        entries.push_back({nth_key(i), decision_of(State::kTuned, base::text_of("i=", i)), {}, {}});
      }
      ExportReport counts;
      const auto report = store->import_text(write_pack(std::move(entries), &counts), {});
      ASSERT_TRUE(report.ok()) << report.error().text();
      ASSERT_EQ(report->added, kDecisions / 10);
    }
  }
  // Their checksums are not right, which makes no difference to size and speed.
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &raw), SQLITE_OK);
  const std::string fill = base::text_of(
      "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ", kTrials,
      ") INSERT INTO trials SELECT i / ", kTrials / kDecisions, " + 1, i % ", kTrials / kDecisions,
      " + 1, 'matmul', 3, 'mr=6 nv=4 kc=768 order=nm threads=' || i, 0, '', 1000.5 + i, 2.5, 30, 1, "
      "1700000000, i FROM n");
  ASSERT_EQ(sqlite3_exec(raw, fill.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(raw);
  sqlite3_close(raw);

  double open_us = 1e9;
  std::unique_ptr<Store> store;
  for (int i = 0; i < 3; ++i) {
    store.reset();
    const auto start = std::chrono::steady_clock::now();
    store = world.open(path);
    open_us = std::min(open_us, micros_since(start));
  }
  std::vector<double> hits, misses;
  for (int i = 0; i < 1000; ++i) {
    const Key key = nth_key(i * 7919 % kDecisions);
    auto start = std::chrono::steady_clock::now();
    const DecisionHit hit = store->get_decision(key);
    hits.push_back(micros_since(start));
    ASSERT_EQ(hit.match, Match::kExact);
    const Key absent = key_of(base::text_of("softmax f32[", i, "]"));
    start = std::chrono::steady_clock::now();
    ASSERT_EQ(store->get_decision(absent).match, Match::kMiss);
    misses.push_back(micros_since(start));
  }
  const auto median = [](std::vector<double>& it) {
    std::nth_element(it.begin(), it.begin() + static_cast<std::ptrdiff_t>(it.size() / 2), it.end());
    return it[it.size() / 2];
  };
  const double hit_us = median(hits), miss_us = median(misses);
  auto start = std::chrono::steady_clock::now();
  const StoreStats stats = store->stats();
  const double stats_us = micros_since(start);
  EXPECT_EQ(stats.decisions, kDecisions);
  EXPECT_EQ(stats.trials, kTrials);
  start = std::chrono::steady_clock::now();
  EXPECT_EQ(store->list().size(), static_cast<size_t>(kDecisions));
  const double list_us = micros_since(start);
  start = std::chrono::steady_clock::now();
  const auto pruned =
      store->prune({.max_bytes = static_cast<uint64_t>(stats.file_bytes / 2), .max_age_s = 0});
  const double prune_us = micros_since(start);
  ASSERT_TRUE(pruned.ok()) << pruned.error().text();
  EXPECT_LE(pruned->bytes_after, stats.file_bytes / 2);
  RecordProperty("open_us", static_cast<int>(open_us));
  RecordProperty("hit_us", static_cast<int>(hit_us));
  printf(
      "open %.0f us, hit %.1f us, miss %.1f us, stats %.0f ms, list %.0f ms, prune %.0f ms, file %.0f MB\n",
      open_us, hit_us, miss_us, stats_us / 1e3, list_us / 1e3, prune_us / 1e3,
      static_cast<double>(stats.file_bytes) / 1e6);
}

}  // namespace
}  // namespace frit::tuner
