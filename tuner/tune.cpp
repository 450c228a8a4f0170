#include "tuner/tune.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <set>

#include "base/text.h"
#include "base/try.h"
#include "tuner/duel.h"
#include "tuner/local_lab.h"
#include "tuner/search.h"

namespace frit::tuner {

namespace {

constexpr int kBatch = 3;  // challengers measured side by side with the incumbent
constexpr int kStartRounds = 3;
constexpr int kFirstTries = 16;        // points to begin with where the start fails
constexpr double kGainStart = 0.15;    // share of a group's time that a search is expected to win at first
constexpr double kGainDecay = 0.93;    // of that expectation, per batch without a winner
constexpr double kMinGain = 0.002;     // below this a group is done
constexpr size_t kContenders = 3;      // runners-up that are measured once more at the end
constexpr double kCloseBy = 1.03;      // slower than the best by less than this: a contender
constexpr double kBackToStart = 1.01;  // in the whole model, a winner that is slower than this is taken back
constexpr double kCompareShare = 0.1;  // of the budget, for the whole model
constexpr double kFinalShare = 0.1;    // for the last rounds of groups whose search the budget ended

struct Contender {
  codegen::Params params;
  double time_ns = 0;  // on the scale of Task::best_ns
};

// One distinct group.
struct Task {
  std::vector<size_t> groups;  // of the plan, equal in text
  std::string label;
  const codegen::Family* family = nullptr;
  std::optional<Key> key;
  std::unique_ptr<Bench> bench;  // until the group is finished
  std::unique_ptr<Search> search;
  std::unique_ptr<Variant> best;
  codegen::Params start, winner;
  double start_ns = 0, best_ns = 0, spread_ns = 0, runner_up_ns = 0;
  // The heuristic's time as a multiple of that of the choice to start from, which is an unfinished search's winner.
  double heuristic_over_start = 1;
  std::string runner_up;
  std::vector<Contender> contenders;
  int64_t trials = 0, failures = 0, samples = 0;
  double gain = kGainStart;
  bool done = false;      // searched to the end, or not searchable
  bool finished = false;  // and its winner has passed the final round
  bool known = false;     // a tuned decision was there
  bool start_works = false;
  bool usable = true;  // false: no variant of it works
  double heuristic_ns() const { return start_ns * heuristic_over_start; }
  double weight_ns() const { return best_ns * static_cast<double>(groups.size()); }
};

class Tuner {
 public:
  Tuner(const TuneRequest& request, Lab& lab) : r_(request), lab_(lab) {}

  Result<TuneOutcome> run() {
    if (!std::isfinite(r_.budget_s) || r_.budget_s <= 0)
      return make_error(Code::kInvalidArgument, base::text_of("tuning budget is ", r_.budget_s,
                                                              " s, expected a finite number above 0"));
    begin_ns_ = r_.clock->now_ns();
    make_tasks();
    for (Task* task : heaviest_first()) {
      if (over(1 - kCompareShare - kFinalShare)) break;
      if (!task->known) begin(*task);
    }
    while (!over(1 - kCompareShare - kFinalShare)) {
      Task* task = most_promising();
      if (!task) break;
      batch(*task);
    }
    for (Task* task : heaviest_first())
      if (!over(1 - kCompareShare)) finish(*task);
    TuneOutcome out;
    decide(out);
    FRIT_TRY(compare(out));
    for (const Task& task : tasks_) keep(task, out.groups[task.groups[0]]);
    out.stopped = r_.stop.stop_requested();
    out.seconds = elapsed();
    return out;
  }

 private:
  double elapsed() const { return static_cast<double>(r_.clock->now_ns() - begin_ns_) * 1e-9; }
  bool over(double share) const { return r_.stop.stop_requested() || elapsed() > r_.budget_s * share; }

  void make_tasks() {
    std::map<std::string, size_t> by_text;
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
      task.family = lab_.family(group.family);
      if (!task.family) continue;
      task.start = r_.start[k].items().empty() ? task.family->heuristic(group.group, r_.build) : r_.start[k];
      task.winner = task.start;
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
          task.done = task.finished = true;
          if (auto params = codegen::Params::parse(hit.decision.params); params.ok())
            task.winner = *std::move(params);
        } else if (hit.match == Match::kExact && hit.decision.params == task.start.text()) {
          const Evidence& e = hit.decision.evidence;
          if (e.time_ns > 0 && e.heuristic_ns > 0) task.heuristic_over_start = e.heuristic_ns / e.time_ns;
        }
      }
      tasks_.push_back(std::move(task));
    }
  }

  const fusion::PlanGroup& group_of(const Task& task) const { return r_.plan->groups[task.groups[0]]; }

  // By what was measured, else by the cost model: a budget that does not suffice for all goes to the
  // heaviest.
  std::vector<Task*> heaviest_first() {
    std::vector<std::pair<double, Task*>> order;
    for (Task& task : tasks_) {
      const double one = task.best_ns > 0
                             ? task.best_ns * 1e-9
                             : task.family->cost(group_of(task).group, task.start, r_.build).seconds;
      order.emplace_back(one * static_cast<double>(task.groups.size()), &task);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Task*> out;
    for (const auto& [weight, task] : order) out.push_back(task);
    return out;
  }

  // The choice to start from, and the trials of earlier runs.
  void begin(Task& task) {
    auto bench = lab_.bench(group_of(task));
    if (!bench.ok()) return give_up(task, bench.error().text());
    task.bench = *std::move(bench);
    task.search = std::make_unique<Search>(*task.family, task.bench->group(), r_.build, r_.strategy, r_.seed);
    task.search->skip(task.start);
    const std::vector<Trial> earlier = earlier_trials(task);
    std::set<std::string> failed;
    bool start_is_known = false;
    for (const Trial& trial : earlier) {
      if (const auto params = codegen::Params::parse(trial.params); params.ok()) {
        task.search->skip(*params);
        start_is_known = start_is_known || *params == task.start;
      }
      if (trial.outcome == Outcome::kMeasured) continue;
      failed.insert(trial.params);
      ++task.failures;
    }
    task.trials = static_cast<int64_t>(earlier.size());
    std::string why = failed.count(task.start.text()) ? "the choice to start from failed before" : "";
    if (why.empty()) why = first_measurement(task, task.start, !start_is_known);
    task.start_works = why.empty();
    if (!task.start_works) r_.log.warn("tuner", task.label, ": ", task.start.text(), ": ", why);
    codegen::Params point;
    for (int tries = 0;
         !task.best && tries < kFirstTries && !over(1) && task.search->next(task.start, &point); ++tries)
      first_measurement(task, point, true);
    if (!task.best) return give_up(task, "no variant works");
    resume(task, earlier);
    tell(task);
  }

  // Empty, or why the choice cannot be the first incumbent.
  std::string first_measurement(Task& task, const codegen::Params& params, bool record) {
    std::unique_ptr<Variant> variant;
    Verdict v = task.bench->prepare(params, &variant);
    for (int i = 0; i < kStartRounds && v.ok(); ++i) v = task.bench->sample(*variant);
    if (v.ok()) v = task.bench->verify(*variant);
    if (record) put_trial(task, params, v, v.ok() ? variant.get() : nullptr);
    if (!v.ok()) return v.reason;
    task.start_ns = task.best_ns = variant->median_ns();
    task.spread_ns = variant->spread_ns();
    task.samples = static_cast<int64_t>(variant->samples_ns.size());
    task.winner = params;
    task.best = std::move(variant);
    return {};
  }

  std::vector<Trial> earlier_trials(const Task& task) const {
    std::vector<Trial> out;
    if (!r_.store || !task.key || r_.fresh) return out;
    for (Trial& trial : r_.store->trials_of(*task.key))
      if (trial.family == task.family->name && trial.family_version == task.family->version)
        out.push_back(std::move(trial));
    return out;
  }

  // What earlier runs measured is not measured again; but their best challenge the incumbent once more, in
  // this run.
  void resume(Task& task, const std::vector<Trial>& earlier) {
    std::vector<Contender> best;
    double start_then = 0;
    for (const Trial& trial : earlier) {
      if (trial.outcome != Outcome::kMeasured || trial.time_ns <= 0) continue;
      const auto params = codegen::Params::parse(trial.params);
      if (!params.ok()) continue;
      if (*params == task.start)
        start_then = trial.time_ns;
      else if (task.bench->space().legal(*params))
        best.push_back({*params, trial.time_ns});
    }
    std::stable_sort(best.begin(), best.end(),
                     [](const Contender& a, const Contender& b) { return a.time_ns < b.time_ns; });
    if (best.size() > kContenders) best.resize(kContenders);
    const double scale = start_then > 0 ? task.start_ns / start_then : 1;
    std::vector<codegen::Params> field;
    for (Contender& it : best)
      if (it.time_ns * scale < kCloseBy * task.best_ns) field.push_back(it.params);
    if (!field.empty()) challenge(task, field, false);
  }

  void give_up(Task& task, const std::string& why) {
    r_.log.warn("tuner", task.label, ": ", why);
    task.done = task.finished = true;
    task.usable = false;
    task.bench.reset();
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
      return finish(task);
    }
    const double before = task.best_ns;
    challenge(task, points, true);
    const double won = (before - task.best_ns) / before;
    task.gain = won > 0 ? std::max(task.gain, won / 2) : task.gain * kGainDecay;
    if (task.bench) task.bench->trim();
    if (task.gain < kMinGain && !task.done) {
      task.done = true;
      finish(task);
    }
    tell(task);
  }

  // Measures the points beside the incumbent; the fastest of those that beat it by more than the spread takes
  // its place.
  void challenge(Task& task, const std::vector<codegen::Params>& points, bool record) {
    std::vector<Challenger> field(points.size());
    for (size_t k = 0; k < points.size(); ++k) field[k].params = points[k];
    const Verdict incumbent = duel(*task.bench, *task.best, field, [&](Challenger& c) {
      if (record || !c.verdict.ok()) put_trial(task, c.params, c.verdict, c.variant.get());
    });
    if (!incumbent.ok()) {  // it worked until now: the group is left as it is
      r_.log.warn("tuner", task.label, ": ", task.best->params.text(), ": ", incumbent.reason);
      task.done = true;
      return;
    }
    Challenger* winner = nullptr;
    for (Challenger& c : field)
      if (c.variant && c.wins && (!winner || c.ratio < winner->ratio)) winner = &c;
    const double scale = task.best_ns;
    for (Challenger& c : field)
      if (c.variant && &c != winner) contend(task, c.params, c.ratio * scale);
    if (!winner) return;
    contend(task, task.best->params, scale);
    // Times of different moments are not compared: the winner's advantage over the incumbent is what counts.
    task.best_ns *= winner->ratio;
    task.spread_ns = winner->variant->spread_ns();
    task.samples = static_cast<int64_t>(winner->variant->samples_ns.size());
    task.winner = winner->params;
    task.best = std::move(winner->variant);
  }

  void contend(Task& task, const codegen::Params& params, double time_ns) {
    task.contenders.push_back({params, time_ns});
    std::stable_sort(task.contenders.begin(), task.contenders.end(),
                     [](const Contender& a, const Contender& b) { return a.time_ns < b.time_ns; });
    if (task.contenders.size() > kContenders + 1) task.contenders.pop_back();
    task.runner_up = task.contenders[0].params.text();
    task.runner_up_ns = task.contenders[0].time_ns;
  }

  // The final round: incumbent, start and close contenders, each with each. Then the group's memory is given
  // back.
  void finish(Task& task) {
    if (task.finished || !task.best) return;
    task.finished = true;
    std::vector<std::unique_ptr<Variant>> made;
    std::vector<Entrant> entrants;
    const auto enter = [&](Variant* variant) {
      Entrant e;
      e.variant = variant;
      e.is_start = variant->params == task.start;
      e.expected = task.family->cost(task.bench->group(), variant->params, r_.build).seconds;
      entrants.push_back(std::move(e));
    };
    const auto call = [&](const codegen::Params& params) {
      for (const Entrant& e : entrants)
        if (e.variant->params == params) return;
      std::unique_ptr<Variant> variant;
      Verdict v = task.bench->prepare(params, &variant);
      if (v.ok()) v = task.bench->sample(*variant);
      if (v.ok()) v = task.bench->verify(*variant);
      if (!v.ok()) return put_trial(task, params, v, nullptr);
      made.push_back(std::move(variant));
      enter(made.back().get());
    };
    enter(task.best.get());
    size_t called = 0;
    for (const Contender& it : task.contenders)
      if (it.time_ns < kCloseBy * task.best_ns && called++ < kContenders) call(it.params);
    if (task.start_works) call(task.start);
    if (entrants.size() > 1) settle(task, entrants);
    task.best.reset();
    task.bench.reset();
    put_winner(task);
  }

  void settle(Task& task, std::vector<Entrant>& entrants) {
    const int number = final_round(*task.bench, entrants);
    if (number < 0) return;
    const Entrant& winner = entrants[static_cast<size_t>(number)];
    const Entrant* second = nullptr;
    for (const Entrant& e : entrants) {
      if (!e.verdict.ok()) continue;
      if (e.is_start) task.start_ns = e.median_ns;
      if (&e != &winner && (!second || e.median_ns < second->median_ns)) second = &e;
    }
    task.winner = winner.variant->params;
    task.best_ns = winner.median_ns;
    task.spread_ns = winner.spread_ns;
    task.samples = static_cast<int64_t>(winner.variant->samples_ns.size());
    if (!second) return;
    task.runner_up = second->variant->params.text();
    task.runner_up_ns = second->median_ns;
  }

  void put_trial(Task& task, const codegen::Params& params, const Verdict& verdict, const Variant* variant) {
    ++out_trials_;
    ++task.trials;
    if (!verdict.ok()) {
      ++task.failures;
      ++out_failures_;
      r_.log.trace("tuner", task.label, ": ", params.text(), ": ", outcome_name(verdict.outcome), ": ",
                   verdict.reason);
    }
    if (!r_.store || !task.key) return;
    Trial trial;
    trial.family = task.family->name;
    trial.family_version = task.family->version;
    trial.params = params.text();
    trial.outcome = verdict.outcome;
    trial.reason = verdict.reason;
    if (variant) {
      trial.time_ns = variant->median_ns();
      trial.spread_ns = variant->spread_ns();
      trial.samples = static_cast<int64_t>(variant->samples_ns.size());
    }
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
    p.points = task.search ? std::max(task.search->points(), task.trials) : 0;
    p.best_ms = task.best_ns * 1e-6;
    p.heuristic_ms = task.heuristic_ns() * 1e-6;
    for (const Task& t : tasks_) {
      p.model_ms += t.weight_ns() * 1e-6;
      p.model_heuristic_ms += t.heuristic_ns() * static_cast<double>(t.groups.size()) * 1e-6;
    }
    p.seconds_left = std::max(0.0, r_.budget_s - elapsed());
    r_.progress(p);
  }

  GroupOutcome outcome_of(const Task& task) const {
    GroupOutcome g;
    g.label = task.label;
    g.occurrences = static_cast<int>(task.groups.size());
    g.params = task.winner;
    g.points = task.search ? task.search->points() : 0;
    const bool searched = task.usable && task.done && task.finished;
    g.state = task.known || searched           ? State::kTuned
              : task.usable && task.trials > 0 ? State::kPartial
                                               : State::kHeuristic;
    g.evidence.time_ns = task.best_ns;
    g.evidence.spread_ns = task.spread_ns;
    g.evidence.heuristic_ns = task.heuristic_ns();
    g.start_ns = task.start_ns;
    g.evidence.runner_up_ns = task.runner_up_ns;
    g.evidence.runner_up = task.runner_up;
    g.evidence.samples = task.samples;
    g.evidence.trials = task.trials;
    g.evidence.failures = task.failures;
    g.evidence.strategy = task.search ? strategy_name(task.search->strategy()) : "";
    return g;
  }

  void decide(TuneOutcome& out) {
    out.groups.resize(r_.plan->groups.size());
    for (size_t k = 0; k < out.groups.size(); ++k) out.groups[k].params = r_.start[k];
    for (const Task& task : tasks_) {
      const GroupOutcome g = outcome_of(task);
      for (size_t k : task.groups) out.groups[k] = g;
    }
    out.trials = out_trials_;
    out.failures = out_failures_;
  }

  // The whole model with and without the winners, interleaved; winners that lose there are taken back.
  Status compare(TuneOutcome& out) {
    std::vector<codegen::Params> before = r_.start, after;
    for (const Task& task : tasks_)
      for (size_t k : task.groups) before[k] = task.start;
    bool any = false;
    for (size_t k = 0; k < out.groups.size(); ++k) {
      after.push_back(out.groups[k].params);
      any = any || !(after[k] == before[k]);
    }
    if (!any || r_.stop.stop_requested()) return {};
    for (Task& task : tasks_) {  // frees the measuring copies before the model's own are made
      task.best.reset();
      task.bench.reset();
    }
    FRIT_ASSIGN(CompareOutcome result,
                lab_.compare(before, after, std::max(1.0, r_.budget_s * kCompareShare)));
    for (size_t k = 0; k < out.groups.size(); ++k) {
      GroupOutcome& g = out.groups[k];
      if (after[k] == before[k] || result.group_before_ns[k] <= 0) continue;
      if (result.group_after_ns[k] > kBackToStart * result.group_before_ns[k]) {
        g.params = before[k];
        g.reverted = true;
        g.evidence.time_ns = g.start_ns;
        result.after_ms -= (result.group_after_ns[k] - result.group_before_ns[k]) * 1e-6;
      }
      g.evidence.notes = {
          {"in_model_before_ns", std::to_string(static_cast<int64_t>(result.group_before_ns[k]))},
          {"in_model_after_ns", std::to_string(static_cast<int64_t>(result.group_after_ns[k]))}};
    }
    // Equal groups stay one decision: what most of them lose, all lose.
    for (const Task& task : tasks_) {
      size_t lost = 0;
      for (size_t k : task.groups) lost += out.groups[k].reverted;
      const bool back = 2 * lost > task.groups.size();
      const GroupOutcome pick = out.groups[*std::find_if(
          task.groups.begin(), task.groups.end(), [&](size_t k) { return out.groups[k].reverted == back; })];
      for (size_t k : task.groups) {
        out.groups[k].params = pick.params;
        out.groups[k].reverted = pick.reverted;
        out.groups[k].evidence = pick.evidence;
      }
    }
    out.before_ms = result.before_ms;
    out.after_ms = result.after_ms;
    out.spread_ms = result.spread_ms;
    return {};
  }

  // As soon as it is known, so that a kill loses nothing; as unfinished until it has held up in the whole
  // model.
  void put_winner(const Task& task) {
    GroupOutcome g = outcome_of(task);
    g.state = State::kPartial;
    keep(task, g);
  }

  void keep(const Task& task, const GroupOutcome& g) {
    if (!r_.store || !task.key || task.known || !task.usable) return;
    Decision decision;
    decision.state = g.state;
    decision.family = task.family->name;
    decision.family_version = task.family->version;
    decision.params = g.params.text();
    decision.evidence = g.evidence;
    decision.provenance = r_.provenance;
    if (auto s = r_.store->put_decision(*task.key, decision); !s.ok())
      r_.log.trace("tuner", s.error().text());
  }

  const TuneRequest& r_;
  Lab& lab_;
  std::vector<Task> tasks_;
  int64_t begin_ns_ = 0;
  int64_t out_trials_ = 0, out_failures_ = 0;
};

}  // namespace

Result<TuneOutcome> tune(const TuneRequest& request, Lab& lab) { return Tuner(request, lab).run(); }

Result<TuneOutcome> tune(const TuneRequest& request, exec::ConstantStore& constants) {
  LocalLab::Options options;
  options.plan = request.plan;
  options.build = request.build;
  options.provider = request.provider;
  options.workers = request.workers;
  options.clock = request.clock;
  options.seed = request.seed;
  options.stop = request.stop;
  LocalLab lab(options, constants);
  return tune(request, lab);
}

}  // namespace frit::tuner
