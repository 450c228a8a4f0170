#include "tuner/tune.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "base/text.h"
#include "base/try.h"
#include "tuner/compare.h"
#include "tuner/search.h"
#include "tuner/statistics.h"
#include "tuner/thread_clock.h"
#include "tuner/workbench.h"

namespace frit::tuner {

namespace {

constexpr int kBatch = 3;            // challengers measured side by side with the incumbent
constexpr int kScreenSamples = 3;    // of each, interleaved
constexpr int kFinalSamples = 9;     // of a challenger that looks better, and of the incumbent, in pairs
constexpr double kGiveUp = 1.3;      // a challenger that is this much slower after its first sample is dropped
constexpr double kGainStart = 0.15;  // share of a group's time that a search is expected to win at first
constexpr double kGainDecay = 0.93;  // of that expectation, per batch without a winner
constexpr double kMinGain = 0.002;   // below this a group is done
constexpr double kBackToStart = 1.01;  // in the whole model, a winner that is slower than this is taken back
constexpr double kCompareShare = 0.1;  // of the budget, for the whole model

// One distinct group.
struct Task {
  std::vector<size_t> groups;  // of the plan, equal in text
  std::string label;
  std::optional<Key> key;
  std::unique_ptr<Workbench> bench;
  std::unique_ptr<Search> search;
  std::unique_ptr<Candidate> best;
  codegen::Params start;
  double start_ns = 0, best_ns = 0, spread_ns = 0, runner_up_ns = 0;
  std::string runner_up;
  int64_t trials = 0, failures = 0, samples = 0;
  double gain = kGainStart;
  bool done = false;           // searched to the end, or not searchable
  bool known = false;          // a tuned decision was there
  double weight_ns() const { return best_ns * static_cast<double>(groups.size()); }
};

class Tuner {
 public:
  Tuner(const TuneRequest& request, exec::ConstantStore& constants)
      : r_(request), constants_(constants), thread_clock_(*request.clock), kernel_clock_(request.build.threads == 1 ? static_cast<base::Clock*>(&thread_clock_) : request.clock) {}

  Result<TuneOutcome> run() {
    if (!std::isfinite(r_.budget_s) || r_.budget_s <= 0)
      return make_error(Code::kInvalidArgument, base::text_of("tuning budget is ", r_.budget_s, " s, expected a finite number above 0"));
    begin_ns_ = r_.clock->now_ns();
    make_tasks();
    for (Task& task : tasks_) {
      if (over()) break;
      if (!task.known) first_measurement(task);
    }
    while (!over()) {
      Task* task = most_promising();
      if (!task) break;
      batch(*task);
    }
    TuneOutcome out;
    decide(out);
    FRIT_TRY(compare(out));
    keep(out);
    out.stopped = r_.stop.stop_requested();
    out.seconds = elapsed();
    return out;
  }

 private:
  double elapsed() const { return static_cast<double>(r_.clock->now_ns() - begin_ns_) * 1e-9; }
  bool over() const { return r_.stop.stop_requested() || elapsed() > r_.budget_s * (1 - kCompareShare); }

  void make_tasks() {
    std::map<std::string, size_t> by_text;
    double weights = 0;
    for (const auto& value : r_.plan->graph.values)
      if (value.is_constant()) weights += static_cast<double>(value.constant->size_bytes);
    const int64_t l3 = r_.build.target->caches.l3_bytes;
    cold_weights_ = weights > static_cast<double>(l3 > 0 ? l3 : 16 << 20);
    for (size_t k = 0; k < r_.plan->groups.size(); ++k) {
      const fusion::PlanGroup& group = r_.plan->groups[k];
      if (group.family.empty() || group.load_time) continue;
      if (!r_.only.empty() && !r_.only[k]) continue;
      const auto [it, fresh] = by_text.emplace(group.group.text(), tasks_.size());
      if (!fresh) {
        tasks_[it->second].groups.push_back(k);
        continue;
      }
      Task task;
      task.groups.push_back(k);
      task.label = group_label(group.group, group.family);
      task.start = r_.start[k];
      if (r_.key) {
        auto key = r_.key(group.group);
        if (key.ok()) task.key = *std::move(key);
      }
      if (r_.store && task.key && !r_.fresh) {
        const DecisionHit hit = r_.store->get_decision(*task.key);
        task.known = hit.match == Match::kExact && hit.decision.state == State::kTuned;
        if (task.known) {
          task.start_ns = hit.decision.evidence.heuristic_ns;
          task.best_ns = hit.decision.evidence.time_ns;
          task.done = true;
        }
      }
      tasks_.push_back(std::move(task));
    }
  }

  // The choice to start from, and the trials of earlier runs.
  void first_measurement(Task& task) {
    const fusion::PlanGroup& group = r_.plan->groups[task.groups[0]];
    Workbench::Options options;
    options.build = r_.build;
    options.provider = r_.provider;
    options.clock = kernel_clock_;
    options.workers = r_.workers;
    options.cold_weights = cold_weights_;
    options.seed = r_.seed;
    auto bench = Workbench::make(group, options);
    if (!bench.ok()) return give_up(task, bench.error());
    task.bench = *std::move(bench);
    if (task.start.items().empty()) task.start = task.bench->family().heuristic(task.bench->group(), r_.build);
    auto first = task.bench->prepare(task.start);
    if (!first.ok()) return give_up(task, first.error());
    task.best = *std::move(first);
    for (int i = 0; i < kScreenSamples; ++i)
      if (Status s = task.bench->sample(*task.best); !s.ok()) return give_up(task, s.error());
    task.start_ns = task.best_ns = task.best->median_ns();
    task.spread_ns = task.best->spread_ns();
    task.search = std::make_unique<Search>(task.bench->family(), task.bench->group(), r_.build, r_.strategy, r_.seed);
    task.search->skip(task.start);
    resume(task);
    ++out_trials_;
    ++task.trials;
    put_trial(task, task.start, Outcome::kMeasured, {}, *task.best);
    tell(task);
  }

  // What earlier runs measured is not measured again; their best challenges the incumbent once more, in this run.
  void resume(Task& task) {
    if (!r_.store || !task.key) return;
    std::string best;
    double best_ns = 1e300;
    for (const Trial& trial : r_.store->trials_of(*task.key)) {
      if (trial.family != task.bench->family().name || trial.family_version != task.bench->family().version) continue;
      const auto params = codegen::Params::parse(trial.params);
      if (!params.ok() || *params == task.start) continue;
      if (trial.outcome == Outcome::kMeasured && trial.time_ns < best_ns) {
        best_ns = trial.time_ns;
        best = trial.params;
      }
      task.search->skip(*params);
    }
    if (best.empty()) return;
    const auto params = codegen::Params::parse(best);
    if (params.ok() && task.bench->space().legal(*params)) challenge(task, {*params}, false);
  }

  void give_up(Task& task, const Error& error) {
    r_.log.warn("tuner", task.label, ": ", error.text());
    task.done = true;
  }

  Task* most_promising() {
    Task* best = nullptr;
    double most = 0;
    for (Task& task : tasks_) {
      if (task.done || !task.best || task.gain < kMinGain) continue;
      const double value = task.weight_ns() * task.gain;
      if (value > most) most = value, best = &task;
    }
    return best;
  }

  void batch(Task& task) {
    std::vector<codegen::Params> points;
    codegen::Params p;
    while (points.size() < kBatch && task.search->next(task.best->params, &p)) points.push_back(p);
    if (points.empty()) {
      task.done = true;
      return;
    }
    const double before = task.best_ns;
    challenge(task, points, true);
    const double won = (before - task.best_ns) / before;
    task.gain = won > 0 ? std::max(task.gain, won / 2) : task.gain * kGainDecay;
    task.bench->trim();
    tell(task);
  }

  // Measures the points interleaved with the incumbent; one that is better by more than the spread takes its place.
  void challenge(Task& task, const std::vector<codegen::Params>& points, bool record) {
    std::vector<std::unique_ptr<Candidate>> field;
    for (const codegen::Params& params : points) {
      if (record) {
        ++out_trials_;
        ++task.trials;
      }
      auto candidate = task.bench->prepare(params);
      if (!candidate.ok()) {
        fail(task, params, candidate.error().code == Code::kUnsupported ? Outcome::kCompileError : Outcome::kRunError, candidate.error());
        continue;
      }
      field.push_back(*std::move(candidate));
    }
    std::vector<double> incumbent;
    for (int round = 0; round < kScreenSamples; ++round) {
      if (!sample_incumbent(task, incumbent)) return;
      for (auto& candidate : field) {
        if (!candidate) continue;
        if (round > 0 && candidate->median_ns() > kGiveUp * median(incumbent)) continue;
        if (Status s = task.bench->sample(*candidate); !s.ok()) {
          fail(task, candidate->params, Outcome::kRunError, s.error());
          candidate.reset();
        }
      }
    }
    for (auto& candidate : field) {
      if (!candidate) continue;
      if (candidate->median_ns() < median(incumbent)) {
        if (Status s = task.bench->verify(*candidate); !s.ok()) {
          fail(task, candidate->params, Outcome::kWrongAnswer, s.error());
          candidate.reset();
          continue;
        }
        for (int i = 0; i < kFinalSamples; ++i) {
          if (!sample_incumbent(task, incumbent) || !task.bench->sample(*candidate).ok()) break;
        }
      }
      if (record) put_trial(task, candidate->params, Outcome::kMeasured, {}, *candidate);
      consider(task, std::move(candidate), incumbent);
    }
  }

  bool sample_incumbent(Task& task, std::vector<double>& samples) {
    if (!task.bench->sample(*task.best).ok()) return false;
    samples.push_back(task.best->samples_ns.back());
    return true;
  }

  void consider(Task& task, std::unique_ptr<Candidate> candidate, const std::vector<double>& incumbent) {
    const double now = median(incumbent), challenger = candidate->median_ns();
    const double spread = std::max(median_deviation(incumbent), candidate->spread_ns());
    const bool wins = candidate->samples_ns.size() > kScreenSamples && challenger < now - spread && challenger < 0.995 * now;
    if (!wins) {
      if (task.runner_up.empty() || challenger < task.runner_up_ns) {
        task.runner_up_ns = challenger;
        task.runner_up = candidate->params.text();
      }
      return;
    }
    task.runner_up_ns = now;
    task.runner_up = task.best->params.text();
    // Times of different moments are not compared: the winner's advantage over the incumbent is what counts.
    task.best_ns *= challenger / now;
    task.spread_ns = candidate->spread_ns();
    task.samples = static_cast<int64_t>(candidate->samples_ns.size());
    task.best = std::move(candidate);
  }

  void fail(Task& task, const codegen::Params& params, Outcome outcome, const Error& error) {
    ++task.failures;
    ++out_failures_;
    r_.log.trace("tuner", task.label, ": ", params.text(), ": ", error.text());
    Candidate none;
    put_trial(task, params, outcome, error.text(), none);
  }

  void put_trial(const Task& task, const codegen::Params& params, Outcome outcome, std::string reason, const Candidate& candidate) {
    if (!r_.store || !task.key) return;
    Trial trial;
    trial.family = task.bench->family().name;
    trial.family_version = task.bench->family().version;
    trial.params = params.text();
    trial.outcome = outcome;
    trial.reason = std::move(reason);
    trial.time_ns = candidate.median_ns();
    trial.spread_ns = candidate.spread_ns();
    trial.samples = static_cast<int64_t>(candidate.samples_ns.size());
    trial.provenance = r_.provenance;
    if (Status s = r_.store->put_trial(*task.key, trial); !s.ok()) r_.log.trace("tuner", s.error().text());
  }

  void tell(const Task& task) {
    if (!r_.progress) return;
    TuneProgress p;
    p.task = static_cast<int>(&task - tasks_.data()) + 1;
    p.tasks = static_cast<int>(tasks_.size());
    p.label = task.label;
    p.trial = task.trials;
    p.points = task.search ? task.search->points() : 0;
    p.best_ms = task.best_ns * 1e-6;
    p.heuristic_ms = task.start_ns * 1e-6;
    for (const Task& t : tasks_) {
      p.model_ms += t.weight_ns() * 1e-6;
      p.model_heuristic_ms += t.start_ns * static_cast<double>(t.groups.size()) * 1e-6;
    }
    p.seconds_left = std::max(0.0, r_.budget_s - elapsed());
    r_.progress(p);
  }

  void decide(TuneOutcome& out) {
    out.groups.resize(r_.plan->groups.size());
    for (size_t k = 0; k < out.groups.size(); ++k) out.groups[k].params = r_.start[k];
    for (const Task& task : tasks_) {
      GroupOutcome g;
      g.label = task.label;
      g.occurrences = static_cast<int>(task.groups.size());
      g.params = task.best ? task.best->params : task.start;
      g.points = task.search ? task.search->points() : 0;
      const bool searched = task.best && (task.done || task.gain < kMinGain);
      g.state = task.known || searched ? State::kTuned : task.trials > 0 ? State::kPartial : State::kHeuristic;
      g.evidence.time_ns = task.best_ns;
      g.evidence.spread_ns = task.spread_ns;
      g.evidence.heuristic_ns = task.start_ns;
      g.evidence.runner_up_ns = task.runner_up_ns;
      g.evidence.runner_up = task.runner_up;
      g.evidence.samples = task.samples;
      g.evidence.trials = task.trials;
      g.evidence.failures = task.failures;
      g.evidence.strategy = task.search ? strategy_name(task.search->strategy()) : "";
      for (size_t k : task.groups) out.groups[k] = g;
    }
    out.trials = out_trials_;
    out.failures = out_failures_;
  }

  // The whole model with and without the winners, interleaved; winners that lose there are taken back.
  Status compare(TuneOutcome& out) {
    std::vector<codegen::Params> before = r_.start, after;
    bool any = false;
    for (size_t k = 0; k < out.groups.size(); ++k) {
      if (before[k].items().empty() && !out.groups[k].params.items().empty() && !r_.plan->groups[k].family.empty())
        before[k] = codegen::family_named(r_.plan->groups[k].family)->heuristic(r_.plan->groups[k].group, r_.build);
      after.push_back(out.groups[k].params);
      any = any || !(after[k] == before[k]);
    }
    if (!any || r_.stop.stop_requested()) return {};
    for (Task& task : tasks_) {  // frees the measuring copies before the model's own are made
      task.best.reset();
      task.bench.reset();
    }
    CompareRequest request{r_.plan, r_.build, r_.provider, r_.workers, r_.clock, kernel_clock_, r_.stop, std::max(1.0, r_.budget_s * kCompareShare)};
    FRIT_ASSIGN(CompareOutcome result, compare_choices(request, before, after, constants_));
    for (size_t k = 0; k < out.groups.size(); ++k) {
      GroupOutcome& g = out.groups[k];
      if (after[k] == before[k] || result.group_before_ns[k] <= 0) continue;
      if (result.group_after_ns[k] > kBackToStart * result.group_before_ns[k]) {
        g.params = before[k];
        g.reverted = true;
        g.evidence.time_ns = g.evidence.heuristic_ns;
        result.after_ms -= (result.group_after_ns[k] - result.group_before_ns[k]) * 1e-6;
      }
      g.evidence.notes = {{"in_model_before_ns", std::to_string(static_cast<int64_t>(result.group_before_ns[k]))},
                          {"in_model_after_ns", std::to_string(static_cast<int64_t>(result.group_after_ns[k]))}};
    }
    // Equal groups stay one decision: what most of them lose, all lose.
    for (const Task& task : tasks_) {
      size_t lost = 0;
      for (size_t k : task.groups) lost += out.groups[k].reverted;
      const GroupOutcome& pick = out.groups[*std::find_if(task.groups.begin(), task.groups.end(), [&](size_t k) { return out.groups[k].reverted == (2 * lost > task.groups.size()); })];
      const GroupOutcome copy = pick;
      for (size_t k : task.groups) {
        out.groups[k].params = copy.params;
        out.groups[k].reverted = copy.reverted;
      }
    }
    out.before_ms = result.before_ms;
    out.after_ms = result.after_ms;
    out.spread_ms = result.spread_ms;
    return {};
  }

  void keep(const TuneOutcome& out) {
    if (!r_.store) return;
    for (const Task& task : tasks_) {
      if (!task.key || task.known) continue;
      const GroupOutcome& g = out.groups[task.groups[0]];
      if (g.params.items().empty()) continue;
      const codegen::Family* family = codegen::family_named(r_.plan->groups[task.groups[0]].family);
      Decision decision;
      decision.state = g.state;
      decision.family = family->name;
      decision.family_version = family->version;
      decision.params = g.params.text();
      decision.evidence = g.evidence;
      decision.provenance = r_.provenance;
      if (auto s = r_.store->put_decision(*task.key, decision); !s.ok()) r_.log.trace("tuner", s.error().text());
    }
  }

  const TuneRequest& r_;
  exec::ConstantStore& constants_;
  ThreadClock thread_clock_;
  base::Clock* const kernel_clock_;
  std::vector<Task> tasks_;
  int64_t begin_ns_ = 0;
  int64_t out_trials_ = 0, out_failures_ = 0;
  bool cold_weights_ = false;
};

}  // namespace

Result<TuneOutcome> tune(const TuneRequest& request, exec::ConstantStore& constants) { return Tuner(request, constants).run(); }

}  // namespace frit::tuner
