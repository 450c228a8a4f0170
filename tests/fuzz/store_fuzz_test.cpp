// Random damage to cache files, logs and packs: never a crash, never a wrong record, always a usable store.
//
// store_fuzz_test SECONDS [SEED [ITERATION]]: rounds until the time is over; with ITERATION that round alone.
// Seed and failing iteration are printed.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>

#include "support/store_testing.h"

namespace frit::tuner {
namespace {

double seconds = 2;
uint64_t seed = 0;
std::optional<uint64_t> one_iteration;

constexpr int kRecords = 40;

std::string params_of(int i) { return base::text_of("mr=", i, " nv=", i * 3); }
std::string object_bytes(int i) {
  return std::string(static_cast<size_t>(50 + i * 40), static_cast<char>('a' + i % 26));
}

class StoreFuzz : public testing::Test {
 protected:
  void SetUp() override {
    // Once with all in the file, once with the newest part in the log of a writer that was killed.
    make(folder_ / "closed.db");
    EXPECT_EQ(exit_code(in_child([&] {
                make(folder_ / "killed.db");
                World world;
                auto store = world.open(folder_ / "killed.db");
                for (int i = 0; i < kRecords; ++i) {
                  if (!store->put_trial(matmul_key(i + 1), trial_of(100 + i)).ok()) _exit(1);
                }
                _exit(0);
                return 0;
              })),
              0);
    closed_ = file_bytes(folder_ / "closed.db");
    killed_ = file_bytes(folder_ / "killed.db");
    log_ = file_bytes(folder_ / "killed.db-wal");
    World world;
    pack_ = *world.open(folder_ / "closed.db")->export_text({.objects = true});
  }

  static void make(const std::string& path) {
    World world;
    auto store = world.open(path);
    for (int i = 0; i < kRecords; ++i) {
      Decision decision = decision_of(State::kTuned, params_of(i));
      ASSERT_TRUE(store->put_decision(matmul_key(i + 1), decision).ok());
      ASSERT_TRUE(store->put_trial(matmul_key(i + 1), trial_of(i)).ok());
      ASSERT_TRUE(store->put_object(object_key(base::text_of(i)), object_of(object_bytes(i))).ok());
    }
  }

  static void damage(std::string& bytes, std::mt19937_64& random) {
    const auto below = [&](size_t n) { return n == 0 ? 0 : static_cast<size_t>(random() % n); };
    for (size_t n = 1 + below(4); n-- > 0 && !bytes.empty();) {
      const size_t at = below(bytes.size());
      switch (below(8)) {
        case 0:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
          break;
        case 1:
          bytes[at] = static_cast<char>(random());
          break;
        case 2:
          bytes.resize(at);
          break;
        case 3:
          for (size_t i = at; i < std::min(bytes.size(), at + below(300)); ++i)
            bytes[i] = static_cast<char>(random());
          break;
        case 4:
          std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                      std::min(bytes.size() - at, below(5000)), '\0');
          break;
        case 5: {  // a page, or part of one, from elsewhere
          const size_t from = below(bytes.size()),
                       length = std::min(4096 - below(4000), bytes.size() - std::max(at, from));
          std::memmove(bytes.data() + at, bytes.data() + from, length);
          break;
        }
        case 6:
          bytes.insert(at, below(100), static_cast<char>(random()));
          break;
        case 7:
          bytes[below(std::min<size_t>(bytes.size(), 200))] = static_cast<char>(random());
          break;  // header, schema
      }
    }
  }

  // Whatever is found is what was put; and the store still works.
  static void check(Store& store) {
    for (int i = 0; i < kRecords; ++i) {
      const DecisionHit hit = store.get_decision(matmul_key(i + 1));
      if (hit.match == Match::kExact) {
        ASSERT_EQ(hit.decision.params, params_of(i));
        ASSERT_EQ(hit.decision.evidence, decision_of(State::kTuned).evidence);
      }
      for (const Trial& trial : store.trials_of(matmul_key(i + 1))) {
        ASSERT_TRUE(trial.params == trial_of(i).params || trial.params == trial_of(100 + i).params)
            << trial.params;
      }
      if (const auto object = store.get_object(object_key(base::text_of(i)))) {
        ASSERT_EQ(object->bytes, object_bytes(i));
      }
    }
    store.why(matmul_key(5000));
    store.list();
    store.stats();
    store.misses();
    store.verify();
    ASSERT_TRUE(store.export_text({.objects = true}).ok());
    ASSERT_TRUE(store.put_decision(matmul_key(7000), decision_of(State::kTuned, "after=1")).ok());
    ASSERT_TRUE(store.put_trial(matmul_key(7000), trial_of(1)).ok());
    ASSERT_EQ(store.get_decision(matmul_key(7000)).decision.params, "after=1");
    static_cast<void>(store.prune({.max_bytes = 200000, .max_age_s = 0}).ok());
  }

  void round(uint64_t iteration) {
    SCOPED_TRACE(base::text_of("seed ", seed, " iteration ", iteration));
    std::mt19937_64 random(seed * 0x9e3779b97f4a7c15u + iteration);
    TempFolder folder;
    World world;
    world.files.local = random() % 4 != 0;
    const std::string path = folder / "cache.db";
    const bool killed = random() % 2 == 0;
    std::string bytes = killed ? killed_ : closed_, log = killed ? log_ : "";
    if (!killed || random() % 2 == 0) damage(bytes, random);
    if (killed && random() % 2 == 0) damage(log, random);
    put_file(path, bytes);
    if (killed) put_file(path + "-wal", log);
    if (random() % 4 == 0) world.files.owner = world.process.user() + 1;  // read from a copy in memory
    {
      auto store = world.open(path);
      check(*store);
    }
    {
      // The same again, as the next process finds it.
      auto store = world.open(path);
      check(*store);
    }
    ASSERT_LE(world.sink->warnings().size(), 2u);

    std::string pack = pack_;
    damage(pack, random);
    auto memory = world.open(StoreOptions());
    if (const auto report = memory->import_text(pack, {.trust_objects = true, .here = {}}); report.ok()) {
      ASSERT_EQ(pack.substr(pack.find('\n')),
                pack_.substr(pack_.find('\n')));  // only the manifest's rest may differ
    }
    check(*memory);
    // Lines behind a manifest that fits them, as a forger would write.
    const size_t newline = pack.find('\n');
    const std::string body = newline == std::string::npos ? pack : pack.substr(newline + 1);
    auto forged = world.open(StoreOptions());
    const auto report = forged->import_text(
        base::text_of("{\"frit_pack\":1,\"content\":\"", base::hash128(body).hex(), "\"}\n", body), {});
    ASSERT_TRUE(report.ok());
    ASSERT_TRUE(forged->verify().ok());
    ASSERT_TRUE(forged->export_text({}).ok());
  }

  TempFolder folder_;
  std::string closed_, killed_, log_, pack_;
};

TEST_F(StoreFuzz, DamageCostsHitsAndNothingElse) {
  const auto start = std::chrono::steady_clock::now();
  uint64_t rounds = 0;
  for (;;) {
    round(one_iteration.value_or(rounds));
    ++rounds;
    if (HasFailure() || one_iteration) break;
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > seconds) break;
  }
  printf("%llu rounds\n", static_cast<unsigned long long>(rounds));
}

}  // namespace
}  // namespace frit::tuner

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  frit::tuner::seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device()();
  if (argc > 1) frit::tuner::seconds = std::atof(argv[1]);
  if (argc > 3) frit::tuner::one_iteration = std::strtoull(argv[3], nullptr, 10);
  printf("seed %llu\n", static_cast<unsigned long long>(frit::tuner::seed));
  return RUN_ALL_TESTS();
}
