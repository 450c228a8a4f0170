// Duels: challengers measured side by side with the incumbent, so that whatever disturbs the machine disturbs
// both.
//
// Times of different moments are never compared: what counts is the ratio within a duel. It must not know
// searches, records or budgets.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tuner/bench.h"

namespace frit::tuner {

struct Challenger {
  codegen::Params params;
  std::unique_ptr<Variant> variant;  // null after a failure
  Verdict verdict;
  double ratio = 0;   // its time to the incumbent's
  double spread = 0;  // relative, the larger of the two
  bool verified = false;
  bool wins = false;  // by more than the spread
};

// Compiles and measures all of the field. One that is clearly slower in two rounds is dropped, one that is
// not is checked against the reference and measured further. done: called for each as soon as nothing more
// comes. A verdict that is not ok is the incumbent's.
Verdict duel(Bench& bench, Variant& incumbent, std::span<Challenger> field,
             const std::function<void(Challenger&)>& done);

// A last comparison of everything that may be the best, each with each.
struct Entrant {
  Variant* variant = nullptr;
  bool is_start = false;  // what was there before: kept unless it is beaten by more than the spread
  double expected = 0;    // the cost model's seconds: orders what measuring cannot tell apart
  double median_ns = 0, spread_ns = 0;  // of these rounds
  Verdict verdict;
};
// The number of the winner: it depends on the times and on what the entrants are, not on their order. -1
// where all fail.
int final_round(Bench& bench, std::span<Entrant> entrants);

}  // namespace frit::tuner
