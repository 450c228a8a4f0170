// Decisions, plans, trials, objects and misses: what goes in comes out, in memory and in a file.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/store_testing.h"
#include "tuner/pack.h"

namespace frit::tuner {
namespace {

class StoreRecords : public testing::TestWithParam<bool> {
 protected:
  StoreOptions options() { return World::options(GetParam() ? folder_ / "cache.db" : ""); }
  // With a file, what a second process would see.
  void reopen() {
    if (!GetParam()) return;
    store_.reset();
    store_ = world_.open(options());
  }

  TempFolder folder_;
  World world_;
  std::unique_ptr<Store> store_ = world_.open(options());
};

INSTANTIATE_TEST_SUITE_P(Places, StoreRecords, testing::Bool(),
                         [](const auto& it) { return it.param ? "File" : "Memory"; });

TEST_P(StoreRecords, DecisionComesBackWhole) {
  const Key key = matmul_key(64);
  EXPECT_EQ(store_->get_decision(key).match, Match::kMiss);
  const Decision put = decision_of(State::kTuned);
  EXPECT_EQ(*store_->put_decision(key, put), PutOutcome::kAdded);
  reopen();
  const DecisionHit hit = store_->get_decision(key);
  ASSERT_EQ(hit.match, Match::kExact);
  EXPECT_EQ(hit.decision.state, State::kTuned);
  EXPECT_EQ(hit.decision.family, "matmul");
  EXPECT_EQ(hit.decision.family_version, 3);
  EXPECT_EQ(hit.decision.params, "mr=6 nv=4");
  EXPECT_EQ(hit.decision.evidence, put.evidence);
  EXPECT_EQ(hit.decision.provenance, put.provenance);
  EXPECT_EQ(hit.decision.origin, "local");
  EXPECT_EQ(hit.decision.created_s, world_.clock.wall_ns() / 1000000000);
  EXPECT_TRUE(hit.differences.empty());
}

TEST_P(StoreRecords, ABetterStateIsKept) {
  const Key key = matmul_key(64);
  const auto put = [&](State state, const char* params) {
    return *store_->put_decision(key, decision_of(state, params));
  };
  EXPECT_EQ(put(State::kHeuristic, "a=1"), PutOutcome::kAdded);
  EXPECT_EQ(put(State::kPartial, "a=2"), PutOutcome::kReplaced);
  EXPECT_EQ(put(State::kHeuristic, "a=3"), PutOutcome::kKeptExisting);
  EXPECT_EQ(store_->get_decision(key).decision.params, "a=2");
  EXPECT_EQ(put(State::kTuned, "a=4"), PutOutcome::kReplaced);
  EXPECT_EQ(put(State::kPartial, "a=5"), PutOutcome::kKeptExisting);
  // Tuned again: the newest choice counts, whatever the older one's evidence.
  EXPECT_EQ(put(State::kTuned, "a=6"), PutOutcome::kReplaced);
  reopen();
  EXPECT_EQ(store_->get_decision(key).decision.params, "a=6");
  // Another family may win the same key; there is one choice at a time.
  Decision winograd = decision_of(State::kTuned, "t=4");
  winograd.family = "conv_winograd";
  EXPECT_EQ(*store_->put_decision(key, winograd), PutOutcome::kReplaced);
  EXPECT_EQ(store_->get_decision(key).decision.family, "conv_winograd");
  EXPECT_EQ(store_->stats().decisions, 1);
  EXPECT_TRUE(store_->erase_decision(key).ok());
  EXPECT_EQ(store_->get_decision(key).match, Match::kMiss);
}

TEST_P(StoreRecords, OtherKeysAreNotHit) {
  ASSERT_TRUE(store_->put_decision(matmul_key(64), decision_of(State::kTuned)).ok());
  // Another architecture, other numerics, another structure: not even near.
  TargetParts arm = zen4();
  arm.arch = "aarch64";
  EXPECT_EQ(store_->get_decision(key_of(matmul_text(64, 64, 64), {}, arm)).match, Match::kMiss);
  SessionParts strict;
  strict.numerics = "strict";
  EXPECT_EQ(store_->get_decision(key_of(matmul_text(64, 64, 64), strict)).match, Match::kMiss);
  EXPECT_EQ(store_->get_decision(key_of("relu f32[64x64]")).match, Match::kMiss);
}

TEST_P(StoreRecords, NearestIsOfferedWithWhatDiffers) {
  ASSERT_TRUE(store_->put_decision(matmul_key(64), decision_of(State::kTuned, "for=64")).ok());
  ASSERT_TRUE(store_->put_decision(matmul_key(512), decision_of(State::kTuned, "for=512")).ok());
  ASSERT_TRUE(store_->put_decision(matmul_key(96), decision_of(State::kHeuristic, "for=96")).ok());
  reopen();
  DecisionHit hit = store_->get_decision(matmul_key(100));
  ASSERT_EQ(hit.match, Match::kNear);
  EXPECT_EQ(hit.decision.params, "for=64");  // nobody measured the heuristic one for 96
  ASSERT_EQ(hit.differences.size(), 1u);
  EXPECT_EQ(hit.differences[0].name, "group");
  EXPECT_GT(hit.distance, 0);
  EXPECT_EQ(store_->get_decision(matmul_key(400)).decision.params, "for=512");

  SessionParts two;
  two.threads = 2;
  hit = store_->get_decision(key_of(matmul_text(64, 64, 64), two));
  ASSERT_EQ(hit.match, Match::kNear);
  EXPECT_EQ(hit.decision.params, "for=64");
  ASSERT_EQ(hit.differences.size(), 1u);
  EXPECT_EQ(hit.differences[0], (Difference{"threads", "2", "1"}));
}

TEST_P(StoreRecords, ProvenanceOrdersNearHitsAndNeverKeys) {
  Decision here = decision_of(State::kTuned, "host=here"), there = decision_of(State::kTuned, "host=there");
  here.provenance = {{"l2_bytes", "2097152"}};
  there.provenance = {{"l2_bytes", "1048576"}};
  ASSERT_TRUE(store_->put_decision(matmul_key(63), there).ok());
  ASSERT_TRUE(store_->put_decision(matmul_key(65), here).ok());
  const auto nearest = [&](const char* l2) {
    store_.reset();
    StoreOptions other = options();
    other.here = {{"l2_bytes", l2}};
    store_ = world_.open(other);
    if (!GetParam()) {
      EXPECT_TRUE(store_->put_decision(matmul_key(63), there).ok());
      EXPECT_TRUE(store_->put_decision(matmul_key(65), here).ok());
    }
    // An exact hit does not care where it was measured.
    EXPECT_EQ(store_->get_decision(matmul_key(63)).match, Match::kExact);
    EXPECT_EQ(store_->get_decision(matmul_key(65)).match, Match::kExact);
    return store_->get_decision(matmul_key(64)).decision.params;
  };
  EXPECT_EQ(nearest("2097152"), "host=here");
  EXPECT_EQ(nearest("1048576"), "host=there");
}

TEST_P(StoreRecords, AnotherFamilyVersionIsNear) {
  const auto with_version = [&](int version) {
    StoreOptions out = options();
    out.families = {{"matmul", version}, {"conv", 1}};
    return out;
  };
  store_.reset();
  World& w = world_;
  const Key key = matmul_key(64);
  if (!GetParam()) return;  // needs a second look at the same file
  store_ = w.open(with_version(3));
  ASSERT_TRUE(store_->put_decision(key, decision_of(State::kTuned, "old=1")).ok());
  store_.reset();
  store_ = w.open(with_version(4));
  DecisionHit hit = store_->get_decision(key);
  ASSERT_EQ(hit.match, Match::kNear);
  EXPECT_EQ(hit.decision.params, "old=1");
  ASSERT_EQ(hit.differences.size(), 1u);
  EXPECT_EQ(hit.differences[0], (Difference{"family_version", "4", "3"}));
  Decision fresh = decision_of(State::kHeuristic, "new=1");
  fresh.family_version = 4;
  // The older version's tuned record is no rival, and stays for whoever still runs that version.
  EXPECT_EQ(*store_->put_decision(key, fresh), PutOutcome::kAdded);
  EXPECT_EQ(store_->get_decision(key).decision.params, "new=1");
  store_.reset();
  store_ = w.open(with_version(3));
  hit = store_->get_decision(key);
  EXPECT_EQ(hit.match, Match::kExact);
  EXPECT_EQ(hit.decision.params, "old=1");
  // A family that this build does not have.
  store_.reset();
  StoreOptions other = options();
  other.families = {{"conv", 1}};
  store_ = w.open(other);
  EXPECT_EQ(store_->get_decision(key).match, Match::kMiss);
}

TEST_P(StoreRecords, PlansByVersion) {
  PlanRecord plan;
  plan.version = 2;
  plan.text = "groups\n1: 2 3 4\n";
  plan.evidence.samples = 5;
  const Key key = graph_key("graph text");
  EXPECT_EQ(store_->get_plan(key, 2).match, Match::kMiss);
  EXPECT_EQ(*store_->put_plan(key, plan), PutOutcome::kAdded);
  EXPECT_EQ(*store_->put_plan(key, plan), PutOutcome::kReplaced);
  reopen();
  PlanHit hit = store_->get_plan(key, 2);
  ASSERT_EQ(hit.match, Match::kExact);
  EXPECT_EQ(hit.plan.text, plan.text);
  EXPECT_EQ(hit.plan.evidence, plan.evidence);
  hit = store_->get_plan(key, 3);
  ASSERT_EQ(hit.match, Match::kNear);
  EXPECT_EQ(hit.differences[0], (Difference{"plan_version", "3", "2"}));
  SessionParts two;
  two.threads = 2;
  hit = store_->get_plan(graph_key("graph text", two), 2);
  ASSERT_EQ(hit.match, Match::kNear);
  EXPECT_EQ(hit.differences[0].name, "threads");
  EXPECT_EQ(store_->get_plan(graph_key("another graph"), 2).match, Match::kMiss);
}

TEST_P(StoreRecords, TrialsKeepTheirOrderAndFailures) {
  const Key key = matmul_key(64);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(store_->put_trial(key, trial_of(i, i == 3 ? Outcome::kCrash : Outcome::kMeasured)).ok());
  }
  Trial odd = trial_of(5, Outcome::kTimeout);
  odd.reason = "\xff" + std::string(10000, 'r');  // what a worker printed
  odd.time_ns = std::numeric_limits<double>::infinity();
  odd.spread_ns = std::nan("");
  ASSERT_TRUE(store_->put_trial(key, odd).ok());
  odd.time_ns = -0.0;
  ASSERT_TRUE(store_->put_trial(key, odd).ok());
  ASSERT_TRUE(store_->put_trial(matmul_key(65), trial_of(9)).ok());
  reopen();
  const std::vector<Trial> trials = store_->trials_of(key);
  ASSERT_EQ(trials.size(), 7u);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(trials[i].params, trial_of(i).params);
    EXPECT_EQ(trials[i].time_ns, trial_of(i).time_ns);
    EXPECT_EQ(trials[i].provenance, trial_of(i).provenance);
  }
  EXPECT_EQ(trials[3].outcome, Outcome::kCrash);
  EXPECT_EQ(trials[3].reason, "signal 11 at 0x10");
  EXPECT_EQ(trials[5].time_ns, 0);
  EXPECT_EQ(trials[5].reason.substr(0, 3), "?rr");
  EXPECT_EQ(store_->stats().trials, 8);
  EXPECT_EQ(store_->stats().failed_trials, 3);
  EXPECT_EQ(store_->trials_of(matmul_key(1)).size(), 0u);
  // Trials alone are no decision.
  EXPECT_EQ(store_->get_decision(key).match, Match::kMiss);
}

TEST_P(StoreRecords, ObjectsComeBackByteForByte) {
  std::string bytes(100000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  EXPECT_FALSE(store_->get_object(object_key("code")).has_value());
  ASSERT_TRUE(store_->put_object(object_key("code"), object_of(bytes)).ok());
  reopen();
  const auto object = store_->get_object(object_key("code"));
  ASSERT_TRUE(object.has_value());
  EXPECT_EQ(object->bytes, bytes);
  EXPECT_EQ(object->compiler, "LLVM 19.1.7");
  EXPECT_FALSE(object->is_trusted_import());
  EXPECT_FALSE(store_->get_object(object_key("other")).has_value());
  // Another compiler's object of the same code replaces it.
  Object newer = object_of("new");
  newer.compiler = "LLVM 20";
  ASSERT_TRUE(store_->put_object(object_key("code"), newer).ok());
  EXPECT_EQ(store_->get_object(object_key("code"))->bytes, "new");
  EXPECT_EQ(store_->stats().objects, 1);
}

TEST_P(StoreRecords, MissesAreNotedUntilTuned) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store_->note_miss(matmul_key(64)).ok());
  ASSERT_TRUE(store_->note_miss(matmul_key(65)).ok());
  reopen();
  std::vector<Miss> misses = store_->misses();
  ASSERT_EQ(misses.size(), 2u);
  EXPECT_EQ(misses[0].key, matmul_key(64));
  EXPECT_EQ(misses[0].count, 3);
  ASSERT_TRUE(store_->put_decision(matmul_key(64), decision_of(State::kHeuristic)).ok());
  EXPECT_EQ(store_->misses().size(), 2u);
  ASSERT_TRUE(store_->put_decision(matmul_key(64), decision_of(State::kTuned)).ok());
  misses = store_->misses();
  ASSERT_EQ(misses.size(), 1u);
  EXPECT_EQ(misses[0].key, matmul_key(65));
}

TEST_P(StoreRecords, WhyNamesTheNearestRecordAndWhatDiffers) {
  ASSERT_TRUE(store_->put_decision(matmul_key(64), decision_of(State::kTuned)).ok());
  Explanation why = store_->why(matmul_key(64));
  EXPECT_EQ(why.match, Match::kExact);
  EXPECT_EQ(why.params, "mr=6 nv=4");
  why = store_->why(matmul_key(128));
  EXPECT_EQ(why.match, Match::kNear);
  ASSERT_EQ(why.differences.size(), 1u);
  EXPECT_EQ(why.differences[0].name, "group");
  EXPECT_EQ(why.key, matmul_key(64));
  // What is never offered still explains the miss.
  SessionParts strict;
  strict.numerics = "strict";
  why = store_->why(key_of(matmul_text(64, 64, 64), strict));
  EXPECT_EQ(why.match, Match::kMiss);
  ASSERT_TRUE(why.has_record);
  ASSERT_EQ(why.differences.size(), 1u);
  EXPECT_EQ(why.differences[0], (Difference{"numerics", "strict", "default"}));
  why = store_->why(key_of("nothing like it"));
  EXPECT_EQ(why.match, Match::kMiss);
  EXPECT_FALSE(why.has_record);
  EXPECT_EQ(store_->why(object_key("x")).match, Match::kMiss);
  ASSERT_TRUE(store_->put_object(object_key("x"), object_of("b")).ok());
  EXPECT_EQ(store_->why(object_key("x")).match, Match::kExact);
}

TEST_P(StoreRecords, ListShowStatsAndVerify) {
  ASSERT_TRUE(store_->put_decision(matmul_key(64), decision_of(State::kTuned)).ok());
  ASSERT_TRUE(store_->put_trial(matmul_key(64), trial_of(1)).ok());
  ASSERT_TRUE(store_->put_trial(matmul_key(65), trial_of(1)).ok());
  PlanRecord plan;
  plan.text = "plan";
  ASSERT_TRUE(store_->put_plan(graph_key("g"), plan).ok());
  ASSERT_TRUE(store_->put_object(object_key("c"), object_of("12345")).ok());
  reopen();
  const std::vector<Listing> list = store_->list();
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(list[0].kind, KeyKind::kDecision);
  EXPECT_EQ(list[1].kind, KeyKind::kDecision);
  EXPECT_LT(list[0].hash, list[1].hash);
  EXPECT_EQ(list[0].trials, 1);
  EXPECT_EQ(list[2].kind, KeyKind::kPlan);
  EXPECT_EQ(list[3].kind, KeyKind::kBinary);
  EXPECT_EQ(list[3].bytes, 5u);

  const auto shown = store_->show(matmul_key(64).hash().hex().substr(0, 12));
  ASSERT_TRUE(shown.ok());
  ASSERT_EQ(shown->size(), 1u);
  EXPECT_EQ((*shown)[0].key, matmul_key(64));
  ASSERT_EQ((*shown)[0].decisions.size(), 1u);
  EXPECT_EQ((*shown)[0].trials.size(), 1u);
  EXPECT_FALSE(store_->show("xyz1").ok());
  EXPECT_FALSE(store_->show("ab").ok());
  EXPECT_EQ(store_->show("0000000000000000")->size(), 0u);

  const StoreStats stats = store_->stats();
  EXPECT_EQ(stats.decisions, 1);
  EXPECT_EQ(stats.tuned, 1);
  EXPECT_EQ(stats.plans, 1);
  EXPECT_EQ(stats.trials, 2);
  EXPECT_EQ(stats.objects, 1);
  EXPECT_EQ(stats.object_bytes, 5);
  const VerifyReport verify = store_->verify();
  EXPECT_TRUE(verify.ok()) << verify.problems[0];
  EXPECT_GE(verify.rows_checked, GetParam() ? 6 : 0);
}

TEST_P(StoreRecords, RefusesWhatCannotBeStored) {
  Decision bad = decision_of(State::kTuned);
  bad.params = "\xff";
  EXPECT_EQ(store_->put_decision(matmul_key(64), bad).error().code, Code::kInvalidArgument);
  bad = decision_of(State::kTuned);
  bad.family = "";
  EXPECT_EQ(store_->put_decision(matmul_key(64), bad).error().code, Code::kInvalidArgument);
  bad = decision_of(State::kTuned);
  bad.provenance = {{"Host", "x"}};
  EXPECT_EQ(store_->put_decision(matmul_key(64), bad).error().code, Code::kInvalidArgument);
  EXPECT_EQ(store_->put_object(object_key("c"), object_of("")).error().code, Code::kInvalidArgument);
  EXPECT_EQ(store_->put_decision(object_key("c"), decision_of(State::kTuned)).error().code, Code::kInternal);
  EXPECT_EQ(store_->get_decision(object_key("c")).match, Match::kMiss);
  EXPECT_EQ(store_->stats().decisions, 0);
  EXPECT_TRUE(world_.sink->warnings().empty());
}

TEST(StoreEvidence, ReadsBackAndSurvivesNonsense) {
  Evidence evidence = decision_of(State::kTuned).evidence;
  EXPECT_EQ(parse_evidence(evidence_text(evidence)), evidence);
  EXPECT_EQ(evidence_text(Evidence()), "{}");
  evidence.time_ns = std::nan("");
  evidence.strategy = "\xff";
  EXPECT_EQ(parse_evidence(evidence_text(evidence)).time_ns, 0);
  for (const char* text : {"", "[]", "{", "{\"samples\":\"x\",\"notes\":[1,[2]]}", "null"}) {
    EXPECT_EQ(parse_evidence(text), Evidence()) << text;
  }
}

}  // namespace
}  // namespace frit::tuner
