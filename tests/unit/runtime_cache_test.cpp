// What a session takes from the tuning cache and what it leaves there, policy by policy and damage by damage.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <set>

#include "base/seams.h"
#include "codegen/families/family.h"
#include "fusion/version.h"
#include "runtime/keys.h"
#include "support/session_testing.h"
#include "tuner/store.h"

namespace frit::testing {
namespace {

class CacheTest : public ::testing::Test {
 protected:
  ModelOptions options() { return model_options(folder_ / "cache.db", sink_); }
  static SessionOptions session_options(OnMiss on_miss, bool accept_near = false) {
    return {.threads = 1, .on_miss = on_miss, .accept_near = accept_near};
  }

  struct Outcome {
    std::vector<float> y;
    SessionStats stats;
    std::optional<Error> error;
  };
  // A new model, as another process would have it.
  Outcome run(const ModelOptions& options, OnMiss on_miss, int64_t batch = 8, bool accept_near = false) {
    Outcome out;
    auto model = Model::from_graph(small_net(), options);
    if (!model.ok()) return {{}, {}, model.error()};
    auto session = Session::create(*model, session_options(on_miss, accept_near));
    if (!session.ok()) return {{}, {}, session.error()};
    const Tensor x = random_tensor({batch, 24}, 17);
    const auto result = session->run(std::array{x.view()});
    out.stats = session->stats();
    if (!result.ok()) {
      out.error = result.error();
      return out;
    }
    const auto y = (*result)[0].values<float>();
    out.y.assign(y.begin(), y.end());
    expect_close(out.y, reference(small_net(), {&x})[0]);
    return out;
  }
  Outcome run(OnMiss on_miss = OnMiss::kHeuristic, int64_t batch = 8, bool accept_near = false) {
    return run(options(), on_miss, batch, accept_near);
  }

  std::unique_ptr<tuner::Store> store() {
    tuner::StoreOptions o;
    o.path = folder_ / "cache.db";
    for (const auto& f : codegen::family_table()) o.families.push_back({f.name, f.version});
    return tuner::Store::open(std::move(o), {clock_, files_, process_, base::Logger()});
  }
  // Every record of a kind, by its key.
  std::vector<tuner::Record> records(tuner::Store& s, tuner::KeyKind kind) {
    std::vector<tuner::Record> out;
    for (const auto& row : s.list()) {
      if (row.kind != kind) continue;
      for (auto& r : s.show(row.hash.hex()).value_or_throw()) out.push_back(std::move(r));
    }
    return out;
  }

  void mark_tuned() {
    const auto s = store();
    for (auto& r : records(*s, tuner::KeyKind::kDecision)) {
      tuner::Decision d = r.decisions[0];
      d.state = tuner::State::kTuned;
      d.evidence.time_ns = 1000;
      d.evidence.heuristic_ns = 2000;
      ASSERT_TRUE(s->put_decision(r.key, d).ok());
    }
  }

  TempFolder folder_;
  std::shared_ptr<RememberingSink> sink_ = std::make_shared<RememberingSink>();
  base::SystemClock clock_;
  base::SystemFileSystem files_;
  base::SystemProcess process_;
};

TEST_F(CacheTest, TheSecondStartCompilesNothing) {
  const Outcome cold = run();
  ASSERT_FALSE(cold.error);
  EXPECT_GT(cold.stats.counters.compiles, 0);
  EXPECT_GT(cold.stats.counters.misses, 0);
  EXPECT_EQ(cold.stats.counters.exact_hits, 0);
  EXPECT_TRUE(cold.stats.compiler_open);
  EXPECT_EQ(cold.stats.cache, folder_ / "cache.db");
  for (const OnMiss policy : {OnMiss::kHeuristic, OnMiss::kBackground, OnMiss::kError}) {
    const Outcome warm = run(policy);
    ASSERT_FALSE(warm.error) << warm.error->text();
    EXPECT_EQ(warm.stats.counters.compiles, 0);
    EXPECT_EQ(warm.stats.counters.misses, 0);
    EXPECT_EQ(warm.stats.counters.near_hits, 0);
    EXPECT_EQ(warm.stats.counters.exact_hits, cold.stats.counters.misses);
    EXPECT_FALSE(warm.stats.compiler_open);
    EXPECT_EQ(warm.y, cold.y);  // bit by bit
  }
  EXPECT_EQ(sink_->of(LogLevel::kWarn), std::vector<std::string>());
}

TEST_F(CacheTest, EveryKernelThatWasUsedHasARow) {
  const Outcome cold = run();
  const auto s = store();
  std::set<std::string> texts;
  for (const auto& r : records(*s, tuner::KeyKind::kDecision)) {
    ASSERT_EQ(r.decisions.size(), 1u);
    EXPECT_EQ(r.decisions[0].state, tuner::State::kHeuristic);
    EXPECT_EQ(r.decisions[0].evidence.strategy, "heuristic");
    EXPECT_EQ(*r.key.find("threads"), "1");
    EXPECT_EQ(*r.key.find("numerics"), "default");
    texts.insert(*r.key.find("group"));
    // Names of nodes and values stay out of keys.
    EXPECT_EQ(r.key.find("group")->find("fc1"), std::string::npos);
  }
  EXPECT_EQ(static_cast<int64_t>(texts.size()), cold.stats.counters.misses);  // all groups of this net differ
  EXPECT_EQ(records(*s, tuner::KeyKind::kPlan).size(), 1u);
  EXPECT_EQ(static_cast<int64_t>(records(*s, tuner::KeyKind::kBinary).size()), cold.stats.counters.compiles);
}

TEST_F(CacheTest, UnderErrorAMissIsAnAnswer) {
  const Outcome refused = run(OnMiss::kError);
  ASSERT_TRUE(refused.error);
  EXPECT_EQ(refused.error->code, Code::kNotFound);
  EXPECT_NE(refused.error->text().find("the cache has no plan"), std::string::npos) << refused.error->text();
  EXPECT_FALSE(refused.error->hint.empty());
  ASSERT_FALSE(run(OnMiss::kHeuristic).error);
  ASSERT_FALSE(run(OnMiss::kError).error);
  // A decision less.
  {
    const auto s = store();
    ASSERT_TRUE(s->erase_decision(records(*s, tuner::KeyKind::kDecision)[0].key).ok());
  }
  const Outcome gone = run(OnMiss::kError);
  ASSERT_TRUE(gone.error);
  EXPECT_EQ(gone.error->code, Code::kNotFound);
  EXPECT_NE(gone.error->text().find("the cache has no decision for 1 of "), std::string::npos)
      << gone.error->text();
}

TEST_F(CacheTest, NearRecordsServeOtherShapesWhereThePolicyAllows) {
  ASSERT_FALSE(run(OnMiss::kHeuristic, 8).error);
  // What nobody measured says nothing about another problem.
  EXPECT_EQ(run(OnMiss::kHeuristic, 10).stats.counters.near_hits, 0);
  mark_tuned();
  const Outcome near = run(OnMiss::kHeuristic, 9);
  ASSERT_FALSE(near.error) << near.error->text();
  EXPECT_GT(near.stats.counters.near_hits, 0);
  EXPECT_EQ(near.stats.counters.exact_hits, 0);
  // What was used has a row now.
  const Outcome again = run(OnMiss::kHeuristic, 9);
  EXPECT_EQ(again.stats.counters.near_hits, 0);
  EXPECT_EQ(again.stats.counters.misses, 0);
  EXPECT_EQ(again.y, near.y);
}

TEST_F(CacheTest, BackgroundNotesWhatAServiceShouldTune) {
  ASSERT_FALSE(run(OnMiss::kHeuristic).error);
  EXPECT_TRUE(store()->misses().empty());
  const Outcome out = run(OnMiss::kBackground, 16);
  ASSERT_FALSE(out.error);
  EXPECT_EQ(static_cast<int64_t>(store()->misses().size()),
            out.stats.counters.near_hits + out.stats.counters.misses);
}

TEST_F(CacheTest, TunedDecisionsAreServed) {
  ASSERT_FALSE(run().error);
  mark_tuned();
  const Outcome out = run();
  ASSERT_FALSE(out.error);
  for (const GroupInfo& group : out.stats.groups) {
    EXPECT_EQ(group.match, Match::kExact);
    EXPECT_EQ(group.tuned, Tuned::kFull);
    EXPECT_DOUBLE_EQ(group.time_ms, 1e-3);
    EXPECT_DOUBLE_EQ(group.heuristic_ms, 2e-3);
    EXPECT_FALSE(group.params.empty());
  }
  // A run with the heuristic does not take it back.
  const auto s = store();
  for (const auto& r : records(*s, tuner::KeyKind::kDecision))
    EXPECT_EQ(r.decisions[0].state, tuner::State::kTuned);
}

TEST_F(CacheTest, TuneSearchesOnceAndServesForEver) {
  const Tensor x = random_tensor({8, 24}, 17);
  int64_t trials = 0;
  std::vector<std::byte> y;
  {
    auto model = Model::from_graph(small_net(), options());
    int calls = 0;
    auto session = Session::create(*model, {.threads = 1,
                                            .on_miss = OnMiss::kTune,
                                            .budget_s = 1.5,
                                            .progress = [&](const Progress& p) {
                                              ++calls;
                                              EXPECT_GE(p.group_number, 1);
                                              EXPECT_LE(p.group_number, p.groups);
                                              EXPECT_FALSE(p.group.empty());
                                              throw 1;  // is ignored
                                            }});
    const auto out = session->run(std::array{x.view()});
    ASSERT_TRUE(out.ok()) << out.error().text();
    expect_close((*out)[0].values<float>(), reference(small_net(), {&x})[0]);
    y.assign((*out)[0].bytes(), (*out)[0].bytes() + (*out)[0].size_bytes());
    trials = session->stats().counters.trials;
    EXPECT_GT(trials, 0);
    EXPECT_GT(calls, 0);
  }
  EXPECT_GE(store()->stats().trials, trials);
  for (const OnMiss policy : {OnMiss::kTune, OnMiss::kError}) {
    const Outcome again = run(policy);
    ASSERT_FALSE(again.error) << again.error->text();
    EXPECT_EQ(again.stats.counters.trials, 0);
    EXPECT_EQ(again.stats.counters.compiles, 0);
    EXPECT_EQ(again.stats.counters.misses, 0);
    EXPECT_EQ(std::memcmp(again.y.data(), y.data(), y.size()), 0);
  }
}

TEST_F(CacheTest, ASearchThatIsStoppedKeepsWhatItMeasured) {
  StopSource stop;
  auto model = Model::from_graph(small_net(), options());
  auto session = Session::create(*model, {.threads = 1,
                                          .on_miss = OnMiss::kTune,
                                          .budget_s = 60,
                                          .progress = [&](const Progress&) { stop.request_stop(); },
                                          .stop = stop.token()});
  const Status stopped = session->prepare({{"batch", {8}}});
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, Code::kCancelled);
  EXPECT_GT(store()->stats().trials, 0);
}

TEST_F(CacheTest, AnIllegalChoiceIsAMissWithAWarning) {
  ASSERT_FALSE(run().error);
  {
    const auto s = store();
    auto r = records(*s, tuner::KeyKind::kDecision)[0];
    r.decisions[0].state = tuner::State::kTuned;
    r.decisions[0].params = "nonsense=12345";
    ASSERT_TRUE(s->put_decision(r.key, r.decisions[0]).ok());
  }
  const Outcome out = run();
  ASSERT_FALSE(out.error) << out.error->text();
  EXPECT_EQ(out.stats.counters.misses, 1);
  const auto warnings = sink_->of(LogLevel::kWarn);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("nonsense=12345"), std::string::npos);
}

TEST_F(CacheTest, APlanThatDoesNotFitIsMadeAnew) {
  ASSERT_FALSE(run().error);
  {
    const auto s = store();
    auto r = records(*s, tuner::KeyKind::kPlan)[0];
    r.plans[0].text = "frit-plan 1\ngroup matmul 0 1 2 3 4 5 6 7 8 9 77\n";
    r.plans[0].created_s = 0;
    r.plans[0].evidence.samples = 10;  // better, so that it replaces
    ASSERT_EQ(s->put_plan(r.key, r.plans[0]).value_or_throw(), tuner::PutOutcome::kReplaced);
  }
  const Outcome out = run();
  ASSERT_FALSE(out.error) << out.error->text();
  ASSERT_EQ(sink_->of(LogLevel::kWarn).size(), 1u);
  EXPECT_NE(sink_->of(LogLevel::kWarn)[0].find("does not fit"), std::string::npos);
}

TEST_F(CacheTest, AnOlderPartitionersPlanIsNear) {
  ASSERT_FALSE(run().error);
  std::vector<tuner::Record> plans, decisions;
  {
    const auto s = store();
    plans = records(*s, tuner::KeyKind::kPlan);
    decisions = records(*s, tuner::KeyKind::kDecision);
  }
  std::filesystem::remove(folder_ / "cache.db");
  {
    const auto s = store();
    plans[0].plans[0].version = fusion::kPartitionerVersion + 1;
    ASSERT_TRUE(s->put_plan(plans[0].key, plans[0].plans[0]).ok());
    for (const auto& r : decisions) ASSERT_TRUE(s->put_decision(r.key, r.decisions[0]).ok());
  }
  EXPECT_TRUE(run(OnMiss::kError).error);
  EXPECT_FALSE(run(OnMiss::kError, 8, true).error);
  const Outcome out = run();
  ASSERT_FALSE(out.error);
  EXPECT_EQ(out.stats.counters.misses, 0);
  EXPECT_EQ(records(*store(), tuner::KeyKind::kPlan)[0].plans.size(), 1u);  // replayed, not made anew
}

TEST_F(CacheTest, ObjectsOfAnotherCompilerAreRebuiltWhereOneIs) {
  const Outcome cold = run();
  ASSERT_FALSE(cold.error);
  const auto relabel = [&](const std::string& compiler) {
    const auto s = store();
    for (const auto& row : records(*s, tuner::KeyKind::kBinary)) {
      auto object = s->get_object(row.key);
      ASSERT_TRUE(object.has_value());
      object->compiler = compiler;
      ASSERT_TRUE(s->put_object(row.key, *object).ok());
    }
  };
  relabel("frit 0.0.1 emitter 0 LLVM 1.0");
  ModelOptions without = options();
  without.compile = false;
  const Outcome taken = run(without, OnMiss::kError);
  ASSERT_FALSE(taken.error) << taken.error->text();
  EXPECT_EQ(taken.stats.counters.compiles, 0);
  const Outcome rebuilt = run();
  ASSERT_FALSE(rebuilt.error);
  EXPECT_EQ(rebuilt.stats.counters.compiles, cold.stats.counters.compiles);
  const Outcome warm = run();
  EXPECT_EQ(warm.stats.counters.compiles, 0);
  EXPECT_FALSE(warm.stats.compiler_open);
}

TEST_F(CacheTest, WithoutCompilerAndObjectsThereIsAClearError) {
  ModelOptions without = options();
  without.compile = false;
  const Outcome out = run(without, OnMiss::kHeuristic);
  ASSERT_TRUE(out.error);
  EXPECT_EQ(out.error->code, Code::kNotFound);
  EXPECT_NE(out.error->text().find("compiling is switched off"), std::string::npos) << out.error->text();
}

TEST_F(CacheTest, AnUnusableCacheCostsOneWarning) {
  {
    std::ofstream file(folder_ / "cache.db");
    file << "this is no cache at all, and long enough to look like something else";
  }
  const Outcome foreign = run();
  ASSERT_FALSE(foreign.error) << foreign.error->text();
  EXPECT_EQ(sink_->of(LogLevel::kWarn).size(), 1u);
  // A place where nothing can be made, whoever runs the test.
  ModelOptions nowhere = model_options("/proc/frit/cache.db", sink_);
  const Outcome memory = run(nowhere, OnMiss::kHeuristic);
  ASSERT_FALSE(memory.error) << memory.error->text();
  EXPECT_EQ(memory.stats.cache, "memory");
  EXPECT_EQ(sink_->of(LogLevel::kWarn).size(), 2u);
}

TEST_F(CacheTest, ACacheThatIsOffKeepsNothing) {
  const Outcome out = run(model_options("off", sink_), OnMiss::kHeuristic);
  ASSERT_FALSE(out.error);
  EXPECT_EQ(out.stats.cache, "off");
  EXPECT_GT(out.stats.counters.misses, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  const Outcome error = run(model_options("off", sink_), OnMiss::kError);
  ASSERT_TRUE(error.error);
  EXPECT_EQ(error.error->code, Code::kNotFound);
}

TEST_F(CacheTest, SessionsOfOneModelShareKernelsAndRows) {
  auto model = Model::from_graph(small_net(), options());
  const Tensor x = random_tensor({8, 24}, 17);
  auto first = Session::create(*model, session_options(OnMiss::kHeuristic));
  ASSERT_TRUE(first->run(std::array{x.view()}).ok());
  const int64_t compiles = first->stats().counters.compiles, packed = first->stats().memory.packed_bytes;
  auto second = Session::create(*model, session_options(OnMiss::kError));
  ASSERT_TRUE(second->run(std::array{x.view()}).ok());
  EXPECT_EQ(second->stats().counters.compiles, compiles);
  EXPECT_EQ(second->stats().memory.packed_bytes, packed);
  EXPECT_EQ(second->stats().counters.misses, 0);
}

TEST(KeysTest, ATargetsPartsAreWhatDesignSays) {
  const device::Target baseline = device::parse_target("cpu:x86-64-v3").value_or_throw();
  const tuner::TargetParts parts = runtime::target_parts(baseline);
  EXPECT_EQ(parts.target, "cpu");
  EXPECT_EQ(parts.arch, "x86_64");
  EXPECT_EQ(parts.cpu_vendor + parts.cpu_family + parts.cpu_model, "");
  EXPECT_NE((" " + parts.features + " ").find(" avx2 "), std::string::npos);
  EXPECT_EQ(parts.features.find(','), std::string::npos);
  device::Target machine = baseline;
  machine.vendor = "AuthenticAMD";
  machine.family = 25;
  machine.model = 17;
  EXPECT_EQ(runtime::target_parts(machine).cpu_family, "25");
  // Provenance does not key.
  device::Target other = machine;
  other.caches.l3_bytes = 1;
  other.cores = 1234;
  other.cpu_name = "another";
  const auto key = [](const device::Target& t, const tuner::SessionParts& s) {
    return tuner::decision_key("g", s, runtime::target_parts(t)).value_or_throw().hash();
  };
  const tuner::SessionParts one = runtime::session_parts(Numerics::kDefault, 1, false);
  EXPECT_EQ(key(machine, one), key(other, one));
  std::set<base::Hash128> keys = {key(machine, one), key(baseline, one)};
  keys.insert(key(machine, runtime::session_parts(Numerics::kStrict, 1, false)));
  keys.insert(key(machine, runtime::session_parts(Numerics::kDefault, 2, false)));
  keys.insert(key(machine, runtime::session_parts(Numerics::kDefault, 2, true)));
  other = machine;
  other.model = 18;
  keys.insert(key(other, one));
  other = machine;
  other.features.set(device::X86::kAvx2, false);
  keys.insert(key(other, one));
  EXPECT_EQ(keys.size(), 7u);
}

}  // namespace
}  // namespace frit::testing
