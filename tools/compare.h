// Two ready sessions, run in turns: what tuning won, with an interval that says how sure that is.
#pragma once

#include <cstdint>

#include "loaded.h"

namespace frit::tools {

struct Comparison {
  double before_ms = 0, after_ms = 0;  // medians
  double ratio = 1;                    // median of before / after, pair by pair
  double low = 1, high = 1;            // its 95 % confidence interval
  int64_t pairs = 0;
};

// On one thread by the thread's own time, else by wall time. At least 7 pairs, then until `seconds` are over; the order within a pair alternates. Both are warmed up
// before.
Result<Comparison> compare(Loaded& before, Loaded& after, double seconds, const StopToken& stop);

}  // namespace frit::tools
