#include "tuner/duel.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tuner/statistics.h"

namespace frit::tuner {

namespace {

constexpr size_t kScreenRounds = 3;   // of all, interleaved
constexpr size_t kFurtherRounds = 9;  // of the incumbent and one that looks better, in pairs
constexpr size_t kFinalRounds = 15;
constexpr double kHopeless = 3;       // slower than this in two rounds: dropped
constexpr double kLeastGain = 0.005;  // less is not worth a change, whatever the spread
constexpr double kSureSpreads = 2;    // about three standard errors of the medians of a final round

// What is measured of a challenger beside the incumbent, in pairs of one round each. A change of the
// machine's speed moves both times of a pair, so their ratios are what is looked at.
struct Pairs {
  std::vector<double> ratios;
  double least_incumbent = std::numeric_limits<double>::infinity();
  double least_challenger = std::numeric_limits<double>::infinity();
  void add(double incumbent, double challenger) {
    ratios.push_back(incumbent > 0 ? challenger / incumbent : 1);
    least_incumbent = std::min(least_incumbent, incumbent);
    least_challenger = std::min(least_challenger, challenger);
  }
  bool is_hopeless() const { return ratios.size() >= 2 && least_challenger > kHopeless * least_incumbent; }
  // A load that came and went may hide a good one, but hardly from all of its samples.
  bool may_be_better() const {
    return median(ratios) < 1 + median_deviation(ratios) || least_challenger < 1.01 * least_incumbent;
  }
};

void judge(Challenger& c, const Pairs& pairs) {
  c.ratio = median(pairs.ratios);
  c.spread = median_deviation(pairs.ratios);
  c.wins = c.verified && c.ratio < 1 - std::max(c.spread, kLeastGain);
}

void fail(Challenger& c, Verdict verdict) {
  c.verdict = std::move(verdict);
  c.variant.reset();
}

}  // namespace

Verdict duel(Bench& bench, Variant& incumbent, std::span<Challenger> field,
             const std::function<void(Challenger&)>& done) {
  for (Challenger& c : field) {
    if (Verdict v = bench.prepare(c.params, &c.variant); !v.ok()) {
      fail(c, std::move(v));
      done(c);
    }
  }
  std::vector<Pairs> pairs(field.size());
  for (size_t round = 0; round < kScreenRounds; ++round) {
    if (Verdict v = bench.sample(incumbent); !v.ok()) return v;
    const double now = incumbent.samples_ns.back();
    for (size_t i = 0; i < field.size(); ++i) {
      const size_t k = (i + round) % field.size();  // nobody is always the first after the incumbent
      Challenger& c = field[k];
      if (!c.variant || pairs[k].is_hopeless()) continue;
      if (Verdict v = bench.sample(*c.variant); !v.ok()) {
        fail(c, std::move(v));
        done(c);
        continue;
      }
      pairs[k].add(now, c.variant->samples_ns.back());
    }
  }
  for (size_t k = 0; k < field.size(); ++k) {
    Challenger& c = field[k];
    if (!c.variant) continue;
    judge(c, pairs[k]);
    if (!pairs[k].is_hopeless() && pairs[k].may_be_better()) {
      if (Verdict v = bench.verify(*c.variant); !v.ok()) {
        fail(c, std::move(v));
        done(c);
        continue;
      }
      c.verified = true;
      for (size_t round = 0; round < kFurtherRounds && c.variant; ++round) {
        const bool incumbent_first = round % 2 == 0;
        for (const bool its_turn : {incumbent_first, !incumbent_first}) {
          Verdict v = bench.sample(its_turn ? incumbent : *c.variant);
          if (v.ok()) continue;
          if (its_turn) return v;
          fail(c, std::move(v));
          done(c);
          break;
        }
        if (c.variant) pairs[k].add(incumbent.samples_ns.back(), c.variant->samples_ns.back());
      }
      if (!c.variant) continue;
      judge(c, pairs[k]);
    }
    done(c);
  }
  return {};
}

int final_round(Bench& bench, std::span<Entrant> entrants) {
  // Per round and entrant; a round in which one fails has no entry for it.
  std::vector<std::vector<double>> rounds(kFinalRounds, std::vector<double>(entrants.size(), 0));
  for (size_t round = 0; round < kFinalRounds; ++round) {
    for (size_t i = 0; i < entrants.size(); ++i) {
      const size_t k = (i + round) % entrants.size();
      Entrant& e = entrants[k];
      if (!e.verdict.ok()) continue;
      e.verdict = bench.sample(*e.variant);
      if (e.verdict.ok()) rounds[round][k] = e.variant->samples_ns.back();
    }
  }
  // Each time is seen in proportion to its round's, so that a load during some rounds changes nothing.
  std::vector<double> levels;
  std::vector<std::vector<double>> shares(entrants.size());
  for (const auto& times : rounds) {
    std::vector<double> present;
    for (size_t k = 0; k < entrants.size(); ++k)
      if (entrants[k].verdict.ok()) present.push_back(times[k]);
    const double level = median(std::move(present));
    if (level <= 0) continue;
    levels.push_back(level);
    for (size_t k = 0; k < entrants.size(); ++k)
      if (entrants[k].verdict.ok()) shares[k].push_back(times[k] / level);
  }
  const double level = median(levels);
  int fastest = -1;
  for (size_t k = 0; k < entrants.size(); ++k) {
    Entrant& e = entrants[k];
    e.median_ns = median(shares[k]) * level;
    e.spread_ns = median_deviation(shares[k]) * level;
    if (e.verdict.ok() && (fastest < 0 || e.median_ns < entrants[static_cast<size_t>(fastest)].median_ns))
      fastest = static_cast<int>(k);
  }
  if (fastest < 0) return -1;
  const Entrant& best = entrants[static_cast<size_t>(fastest)];
  int winner = fastest;
  const auto before = [&](const Entrant& a, const Entrant& b) {
    if (a.is_start != b.is_start) return a.is_start;
    if (a.expected != b.expected) return a.expected < b.expected;
    return a.variant->params.text() < b.variant->params.text();
  };
  for (size_t k = 0; k < entrants.size(); ++k) {
    const Entrant& e = entrants[k];
    if (!e.verdict.ok()) continue;
    const double least = kLeastGain * best.median_ns;
    const double tie =
        e.is_start ? std::max(least, kSureSpreads * std::max(best.spread_ns, e.spread_ns)) : least;
    if (e.median_ns <= best.median_ns + tie && before(e, entrants[static_cast<size_t>(winner)]))
      winner = static_cast<int>(k);
  }
  return winner;
}

}  // namespace frit::tuner
