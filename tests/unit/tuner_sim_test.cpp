// The tuner on a machine with a simulated clock, whose kernels have defined times: whatever the order, the
// noise or a load, it finds the best, keeps what it had where nothing is better, spends its budget where it
// pays and loses nothing.
#include <gtest/gtest.h>

#include <csignal>
#include <limits>

#include "base/random.h"
#include "support/sim_lab.h"
#include "support/store_testing.h"
#include "tuner/tune.h"

namespace frit::tuner {
namespace {

using codegen::Params;
using testing::sim_order_seed;
using testing::sim_plan;
using testing::sim_point;
using testing::SimClock;
using testing::SimLab;

Result<Key> key_of(const codegen::Group& group) {
  SessionParts session;
  session.threads = 1;
  TargetParts target;
  target.target = "cpu";
  target.arch = "x86_64";
  return decision_key(group.text(), session, target);
}

struct Scene {
  explicit Scene(const std::vector<int64_t>& elements, uint64_t seed = 1)
      : plan(sim_plan(elements)), lab(clock, seed) {
    lab.plan = plan.get();
    // Smooth in both params, the best at a = 5, b = 3: 4 % better than the next, twice as fast as the start.
    lab.time_ns = [](int64_t n, const Params& p) {
      const double a = static_cast<double>(p.get("a")) - 5, b = static_cast<double>(p.get("b")) - 3;
      return static_cast<double>(n) * (1 + 0.04 * (a * a + b * b) / (1 + 0.01 * (a * a + b * b)));
    };
    request.plan = plan.get();
    request.start.resize(plan->groups.size());
    request.build.target = &target;
    request.clock = &clock;
    request.key = key_of;
    request.budget_s = 1000;
    request.seed = seed;
  }
  TuneOutcome run() { return tune(request, lab).value_or_throw(); }
  double truth(size_t group, const Params& params) const {
    return lab.time_ns(SimLab::elements_of(plan->groups[group]), params);
  }
  // Only the start's time is defined by the landscape's corner; its spread over all points.
  double best_truth(size_t group) const {
    double best = std::numeric_limits<double>::infinity();
    for (int64_t a = 0; a < 8; ++a)
      for (int64_t b = 0; b < 8; ++b) best = std::min(best, truth(group, {{"a", a}, {"b", b}}));
    return best;
  }
  Key key(size_t group) const { return key_of(plan->groups[group].group).value_or_throw(); }

  device::Target target = *device::parse_target("cpu:x86-64-v3");
  std::shared_ptr<fusion::Plan> plan;
  SimClock clock;
  SimLab lab;
  TuneRequest request;
};

class TunerSim : public ::testing::Test {
 protected:
  ~TunerSim() override { sim_order_seed() = 1; }
};

constexpr int64_t kMs = 1000000;  // elements of a kernel that takes a millisecond at best

TEST_F(TunerSim, TheOrderOfCandidatesDoesNotChangeTheWinner) {
  for (const Strategy strategy : {Strategy::kExhaustive, Strategy::kRandom}) {
    for (uint64_t order = 1; order <= 25; ++order) {
      sim_order_seed() = order;
      Scene scene({kMs}, order);
      scene.request.strategy = strategy;
      const TuneOutcome out = scene.run();
      EXPECT_EQ(out.groups[0].params.text(), "a=5 b=3") << strategy_name(strategy) << ", order " << order;
      EXPECT_EQ(out.groups[0].state, State::kTuned);
      EXPECT_NEAR(out.groups[0].evidence.time_ns, 1e6, 3e4);
      EXPECT_GT(out.groups[0].evidence.samples, 8);
    }
  }
}

// Differences below what measuring can tell: the choice between them depends on what they are, not on who
// came first.
TEST_F(TunerSim, TheOrderOfEqualsDoesNotChangeTheWinner) {
  std::set<std::string> winners;
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    Scene scene({kMs}, seed);  // another order of draws
    scene.request.strategy = Strategy::kRandom;
    scene.lab.noise = scene.lab.interruptions = 0;
    scene.lab.time_ns = [](int64_t n, const Params& p) {
      const int64_t k = sim_point(p);
      return static_cast<double>(n) * (k == 0        ? 1.5
                                       : k % 16 == 3 ? 1 + 0.001 * static_cast<double>(k / 16)
                                                     : 1.3);
    };
    winners.insert(scene.run().groups[0].params.text());
  }
  EXPECT_EQ(winners.size(), 1u);
}

TEST_F(TunerSim, TwoTuningsOfOneProblemAgree) {
  std::vector<double> times;
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    Scene scene({kMs}, seed);
    scene.lab.noise = 0.02;
    scene.lab.interruptions = 0.05;
    scene.lab.time_ns = [](int64_t n, const Params& p) {  // no structure, many that are close to the best
      return static_cast<double>(n) * (1 + 0.6 * base::uniform(7, static_cast<uint64_t>(sim_point(p))));
    };
    const TuneOutcome out = scene.run();
    times.push_back(scene.truth(0, out.groups[0].params));
    EXPECT_LE(times.back(), 1.02 * scene.best_truth(0)) << "seed " << seed;
  }
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  EXPECT_LE(*most, 1.03 * *least);
}

// Windows of a load, as long as a trial or as many, over half of the time.
TEST_F(TunerSim, ALoadDuringHalfOfTheTrialsDoesNotMakeAWorseWinner) {
  for (const double window_ns : {15e6, 60e6, 400e6}) {
    for (uint64_t seed = 1; seed <= 15; ++seed) {
      Scene quiet({kMs}, seed), loaded({kMs}, seed);
      int64_t runs = 0, disturbed = 0;
      loaded.lab.load = [&](double now) {
        const bool on = static_cast<int64_t>(now / window_ns + 0.37 * static_cast<double>(seed)) % 2 == 0;
        ++runs;
        disturbed += on;
        return on ? 2.5 : 1.0;
      };
      const double calm = quiet.truth(0, quiet.run().groups[0].params);
      const double rough = loaded.truth(0, loaded.run().groups[0].params);
      EXPECT_LE(rough, 1.001 * calm) << "windows of " << window_ns << " ns, seed " << seed;
      EXPECT_GT(disturbed, runs / 10);
    }
  }
}

TEST_F(TunerSim, TheIncumbentStaysUnlessItIsBeatenByMoreThanTheSpread) {
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    Scene scene({kMs}, seed);
    scene.lab.noise = 0.02;
    scene.lab.time_ns = [](int64_t n, const Params& p) {
      return static_cast<double>(n) * (sim_point(p) == 0 ? 1.0 : 0.998);
    };
    const TuneOutcome out = scene.run();
    EXPECT_EQ(out.groups[0].params.text(), "a=0 b=0") << "seed " << seed;
    EXPECT_EQ(out.groups[0].state, State::kTuned);
    EXPECT_EQ(scene.lab.comparisons, 0);  // nothing changed
  }
}

// The clock moves in steps of a microsecond and a reading costs 40 ns: a single run of these kernels says
// nothing.
TEST_F(TunerSim, KernelsOfAMicrosecondAreRankedRight) {
  World world;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Scene scene({1000}, seed);
    scene.clock.grain_ns = 1000;
    scene.clock.reading_ns = 40;
    scene.lab.interruptions = 0;  // those that a batch averages over make all of them slower alike
    auto store = world.open("");
    scene.request.store = store.get();
    scene.lab.time_ns = [](int64_t n, const Params& p) {  // 1.00, 1.02, 1.04 ... 2.26 microseconds
      return static_cast<double>(n) * (1 + 0.02 * static_cast<double>((sim_point(p) * 37 + 11) % 64));
    };
    const TuneOutcome out = scene.run();
    EXPECT_EQ(scene.truth(0, out.groups[0].params), 1000) << out.groups[0].params.text();
    for (const Trial& trial : store->trials_of(scene.key(0)))
      EXPECT_NEAR(trial.time_ns / scene.truth(0, *Params::parse(trial.params)), 1, 0.01) << trial.params;
  }
}

TEST_F(TunerSim, TheSamplerKnowsItsClock) {
  SimClock clock;
  clock.grain_ns = 1000;
  clock.reading_ns = 40;
  Sampler coarse(clock);
  EXPECT_EQ(coarse.floor_ns(), 1000);
  int64_t runs = 0, calls = 0;
  const auto run = [&]() -> Status {
    ++calls;
    clock.pass(300);
    return {};
  };
  EXPECT_NEAR(*coarse.sample(runs, run), 300, 3);
  EXPECT_GE(runs * 300, 200 * 1000);
  const int64_t settled = runs;
  calls = 0;
  EXPECT_NEAR(*coarse.sample(runs, run), 300, 3);
  EXPECT_EQ(calls, settled);  // the same for each sample of a variant
  // Something before each run is not part of it.
  int64_t alone = 0, before = 0;
  EXPECT_NEAR(*coarse.sample(alone, run,
                             [&] {
                               ++before;
                               clock.pass(5000);
                             }),
              300, 40);
  EXPECT_GE(before, alone);
  clock.grain_ns = 1;
  Sampler fine(clock);
  EXPECT_EQ(fine.floor_ns(), 40);
  int64_t one = 0;
  EXPECT_NEAR(*fine.sample(one,
                           [&]() -> Status {
                             clock.pass(1e6);
                             return {};
                           }),
              1e6, 1);
  EXPECT_EQ(one, 1);
  const auto failed = fine.sample(one, [] { return Status(make_error(Code::kInternal, "no")); });
  EXPECT_FALSE(failed.ok());
}

TEST_F(TunerSim, TheBudgetGoesWhereTimeAndGainAre) {
  Scene scene({20 * kMs, kMs / 100, kMs / 10});
  scene.request.budget_s = 6;
  const TuneOutcome out = scene.run();
  const auto trials = [&](size_t k) { return out.groups[k].evidence.trials; };
  EXPECT_GT(trials(0), 3 * (trials(1) + trials(2)));
  EXPECT_GE(trials(1), 1);  // each has at least been measured once
  EXPECT_LE(out.seconds, 7.5);
  EXPECT_EQ(out.groups[1].state, State::kPartial);
  EXPECT_LE(scene.truth(0, out.groups[0].params), 1.15 * scene.best_truth(0));

  // Equal in time, but nothing is to be won in the second: the first gets more.
  Scene flat({2 * kMs, 2 * kMs + 1});
  flat.request.strategy = Strategy::kRandom;
  const auto landscape = flat.lab.time_ns;
  flat.lab.time_ns = [&](int64_t n, const Params& p) {
    // Better in many small steps.
    if (n == 2 * kMs) return static_cast<double>(n) * (1 - 0.001 * static_cast<double>(sim_point(p)));
    return static_cast<double>(n) * (sim_point(p) == 0 ? 1 : 1.2);
  };
  flat.lab.noise = flat.lab.interruptions = 0.0005;
  flat.request.budget_s = 1;
  const TuneOutcome shares = flat.run();
  EXPECT_GT(shares.groups[0].evidence.trials, shares.groups[1].evidence.trials);
}

TEST_F(TunerSim, EqualGroupsAreTunedOnceAndCountTogether) {
  World world;
  auto store = world.open("");
  Scene scene({kMs, 2 * kMs, kMs, kMs});
  scene.request.store = store.get();
  const TuneOutcome out = scene.run();
  EXPECT_EQ(out.groups[0].occurrences, 3);
  EXPECT_EQ(out.groups[1].occurrences, 1);
  EXPECT_EQ(out.groups[0].params, out.groups[2].params);
  EXPECT_EQ(out.groups[0].params, out.groups[3].params);
  EXPECT_EQ(store->trials_of(scene.key(0)).size(), 64u);
  EXPECT_EQ(store->stats().decisions, 2);
  EXPECT_EQ(out.trials, 128);
}

TEST_F(TunerSim, EachTrialIsCommittedWhenItIsMeasured) {
  World world;
  auto store = world.open("");
  Scene scene({kMs});
  scene.request.store = store.get();
  int64_t calls = 0;
  scene.lab.on_prepare = [&](const Params&) {
    // Those of the batch in progress are not there yet, all before are.
    if (calls < 64) {
      EXPECT_GE(store->stats().trials + 3, calls) << "at the compile of trial " << calls + 1;
    }
    ++calls;
  };
  const TuneOutcome out = scene.run();
  EXPECT_EQ(store->stats().trials, out.trials);
}

// No trial is repeated and none is missing, however often the process is killed on the way.
TEST_F(TunerSim, AKilledSearchResumesWhereItEnded) {
  TempFolder folder;
  const std::string path = folder / "cache.db";
  World world;
  int kills = 0;
  int64_t before = 0;
  for (int round = 0; round < 40; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      Scene scene({kMs});
      World own;
      auto store = own.open(path);
      scene.request.store = store.get();
      int prepared = 0;
      scene.lab.on_prepare = [&](const Params&) {
        if (++prepared == 9 + round % 7) kill(getpid(), SIGKILL);
      };
      const auto out = tune(scene.request, scene.lab);
      store.reset();
      _exit(out.ok() && out->groups[0].state == State::kTuned ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    Scene scene({kMs});
    auto store = world.open(path);
    const auto trials = store->trials_of(scene.key(0));
    std::set<std::string> distinct;
    for (const Trial& trial : trials)
      EXPECT_TRUE(distinct.insert(trial.params).second) << trial.params << " came twice";
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
      EXPECT_EQ(trials.size(), 64u);
      EXPECT_EQ(store->get_decision(scene.key(0)).decision.params, "a=5 b=3");
      EXPECT_EQ(store->get_decision(scene.key(0)).decision.state, State::kTuned);
      EXPECT_GT(kills, 4);
      return;
    }
    ++kills;
    EXPECT_GT(static_cast<int64_t>(trials.size()), before) << "round " << round;
    before = static_cast<int64_t>(trials.size());
  }
  FAIL() << "the search never came to an end";
}

// What is won is told against the heuristic, also by a run that starts where an earlier one ended.
TEST_F(TunerSim, AResumedSearchStillComparesWithTheHeuristic) {
  World world;
  auto store = world.open("");
  Scene scene({kMs});
  const Params heuristic{{"a", 0}, {"b", 0}};
  scene.request.store = store.get();
  StopSource stop;
  scene.request.stop = stop.token();
  scene.request.progress = [&](const TuneProgress& p) {
    if (p.best_ms < 0.95 * p.heuristic_ms) stop.request_stop();
  };
  const TuneOutcome first = scene.run();
  ASSERT_EQ(first.groups[0].state, State::kPartial);
  ASSERT_FALSE(first.groups[0].params == heuristic);

  Scene again({kMs});
  again.request.store = store.get();
  again.request.start[0] = first.groups[0].params;
  const TuneOutcome second = again.run();
  EXPECT_EQ(second.groups[0].state, State::kTuned);
  const Evidence& e = second.groups[0].evidence;
  const double truth = again.truth(0, heuristic) / again.truth(0, second.groups[0].params);
  EXPECT_GT(truth, 1.05);
  EXPECT_NEAR(e.heuristic_ns / e.time_ns, truth, 0.1 * truth);
}

TEST_F(TunerSim, AStopKeepsWhatWasMeasuredAndTheNextRunGoesOn) {
  World world;
  auto store = world.open("");
  Scene scene({kMs});
  scene.request.store = store.get();
  StopSource stop;
  scene.request.stop = stop.token();
  scene.request.progress = [&](const TuneProgress& p) {
    EXPECT_EQ(p.task, 1);
    EXPECT_EQ(p.tasks, 1);
    EXPECT_EQ(p.points, 64);
    EXPECT_LE(p.best_ms, p.heuristic_ms * 1.05);
    EXPECT_GT(p.seconds_left, 0);
    if (p.trial >= 20) stop.request_stop();
  };
  const TuneOutcome first = scene.run();
  EXPECT_TRUE(first.stopped);
  EXPECT_EQ(first.groups[0].state, State::kPartial);
  EXPECT_EQ(store->stats().trials, first.trials);
  EXPECT_EQ(store->get_decision(scene.key(0)).decision.state, State::kPartial);

  Scene again({kMs});
  again.request.store = store.get();
  again.request.start[0] = *Params::parse(store->get_decision(scene.key(0)).decision.params);
  int64_t lowest = 1000;
  again.request.progress = [&](const TuneProgress& p) { lowest = std::min(lowest, p.trial); };
  const TuneOutcome second = again.run();
  EXPECT_EQ(first.trials + second.trials, 64);
  EXPECT_GE(lowest, first.trials);  // it counts on
  EXPECT_EQ(second.groups[0].evidence.trials, 64);
  EXPECT_EQ(second.groups[0].params.text(), "a=5 b=3");
  EXPECT_EQ(store->get_decision(scene.key(0)).decision.state, State::kTuned);

  Scene third({kMs});
  third.request.store = store.get();
  const TuneOutcome known = third.run();
  EXPECT_EQ(known.trials, 0);
  EXPECT_TRUE(third.lab.prepared.empty());
}

struct Fault {
  SimLab::Stage stage;
  Outcome outcome;
};
class TunerFaults : public TunerSim, public ::testing::WithParamInterface<Fault> {};

TEST_P(TunerFaults, AreRecordedAndNeitherStoredNorTriedAgain) {
  const auto [stage, outcome] = GetParam();
  World world;
  auto store = world.open("");
  // What would be best is what fails, and a third of the rest.
  const auto fails = [](const Params& p) { return sim_point(p) % 3 == 1 || p.text() == "a=5 b=3"; };
  const auto fault = [&, stage = stage, outcome = outcome](const Params& p, SimLab::Stage at) {
    return at == stage && fails(p) ? Verdict{outcome, "injected: " + p.text()} : Verdict();
  };
  Scene scene({kMs});
  scene.request.store = store.get();
  scene.lab.fault = fault;
  scene.request.budget_s = 0.3;  // ends in the middle
  const TuneOutcome partial = scene.run();
  EXPECT_EQ(partial.groups[0].state, State::kPartial);
  std::set<std::pair<int64_t, int64_t>> tried = scene.lab.points_prepared;

  Scene rest({kMs});
  rest.request.store = store.get();
  rest.lab.fault = fault;
  const TuneOutcome out = rest.run();
  EXPECT_EQ(out.groups[0].state, State::kTuned);
  EXPECT_FALSE(fails(out.groups[0].params)) << out.groups[0].params.text();
  EXPECT_LE(rest.truth(0, out.groups[0].params), 1.05 * rest.best_truth(0));
  for (const auto& point : rest.lab.points_prepared) {
    const Params p{{"a", point.second / 8}, {"b", point.second % 8}};
    if (fails(p)) {
      EXPECT_FALSE(tried.count(point)) << p.text() << " was tried again";
    }
  }
  int64_t failures = 0;
  std::set<std::string> distinct;
  for (const Trial& trial : store->trials_of(rest.key(0))) {
    const Params p = *Params::parse(trial.params);
    if (trial.outcome == Outcome::kMeasured) {
      // One that is slow is not worth a check; it cannot win either.
      EXPECT_TRUE(!fails(p) || stage == SimLab::Stage::kVerify) << trial.params;
      continue;
    }
    ++failures;
    EXPECT_TRUE(fails(p));
    EXPECT_EQ(trial.outcome, outcome);
    EXPECT_EQ(trial.reason, "injected: " + trial.params);
    EXPECT_TRUE(distinct.insert(trial.params).second) << trial.params << " came twice";
  }
  EXPECT_GT(failures, 0);
  EXPECT_EQ(out.groups[0].evidence.failures, failures);
}

INSTANTIATE_TEST_SUITE_P(All, TunerFaults,
                         ::testing::Values(Fault{SimLab::Stage::kPrepare, Outcome::kCompileError},
                                           Fault{SimLab::Stage::kPrepare, Outcome::kTimeout},
                                           Fault{SimLab::Stage::kPrepare, Outcome::kMemory},
                                           Fault{SimLab::Stage::kSample, Outcome::kCrash},
                                           Fault{SimLab::Stage::kSample, Outcome::kRunError},
                                           Fault{SimLab::Stage::kVerify, Outcome::kWrongAnswer},
                                           Fault{SimLab::Stage::kVerify, Outcome::kOutOfBounds}));

TEST_F(TunerSim, WhereTheStartFailsTheSearchGoesOn) {
  World world;
  auto store = world.open("");
  for (int round = 0; round < 2; ++round) {
    Scene scene({kMs});
    scene.request.store = store.get();
    scene.request.log = base::Logger(world.sink);
    if (round == 0) scene.request.budget_s = 0.3;
    scene.lab.fault = [](const Params& p, SimLab::Stage at) {
      return at == SimLab::Stage::kVerify && sim_point(p) == 0 ? Verdict{Outcome::kWrongAnswer, "off by one"}
                                                               : Verdict();
    };
    const TuneOutcome out = scene.run();
    if (round == 1) {
      EXPECT_EQ(out.groups[0].params.text(), "a=5 b=3");
      EXPECT_EQ(out.groups[0].state, State::kTuned);
    }
    EXPECT_EQ(scene.lab.points_prepared.count({kMs, 0}), round == 0 ? 1u : 0u);
  }
  ASSERT_EQ(world.sink->warnings().size(), 2u);
  EXPECT_NE(world.sink->warnings()[0].find("off by one"), std::string::npos);
  EXPECT_NE(world.sink->warnings()[1].find("failed before"), std::string::npos);
}

TEST_F(TunerSim, WhereNothingWorksNothingIsStored) {
  World world;
  auto store = world.open("");
  Scene scene({kMs});
  scene.request.store = store.get();
  scene.lab.fault = [](const Params&, SimLab::Stage) {
    return Verdict{Outcome::kCompileError, "the compiler gave up"};
  };
  const TuneOutcome out = scene.run();
  EXPECT_EQ(out.groups[0].state, State::kHeuristic);
  EXPECT_EQ(out.groups[0].params.text(), "a=0 b=0");
  EXPECT_EQ(store->stats().decisions, 0);
  EXPECT_EQ(store->stats().failed_trials, out.trials);
}

TEST_F(TunerSim, WhatLosesInTheWholeModelIsTakenBack) {
  World world;
  auto store = world.open("");
  Scene scene({kMs, 2 * kMs});
  scene.request.store = store.get();
  scene.lab.in_model = {1.0, 5.0};
  const TuneOutcome out = scene.run();
  EXPECT_EQ(scene.lab.comparisons, 1);
  EXPECT_FALSE(out.groups[0].reverted);
  EXPECT_TRUE(out.groups[1].reverted);
  EXPECT_EQ(out.groups[1].params.text(), "a=0 b=0");
  EXPECT_EQ(store->get_decision(scene.key(0)).decision.params, "a=5 b=3");
  EXPECT_EQ(store->get_decision(scene.key(1)).decision.params, "a=0 b=0");
  EXPECT_LT(out.after_ms, out.before_ms);
}

TEST_F(TunerSim, ABudgetThatIsNoNumberIsAnError) {
  for (const double budget :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Scene scene({kMs});
    scene.request.budget_s = budget;
    const auto out = tune(scene.request, scene.lab);
    ASSERT_FALSE(out.ok());
    EXPECT_EQ(out.error().code, Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace frit::tuner
