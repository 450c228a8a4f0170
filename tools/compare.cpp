#include "compare.h"

#include <vector>

#include "base/seams.h"
#include "base/try.h"
#include "tuner/statistics.h"

namespace frit::tools {

namespace {

constexpr size_t kLeastPairs = 7;  // below 6 no interval of the median is as sure as 95 %

// One thread alone is timed by the time that it ran, as the tuner does: other processes' turns are left out.
Result<double> run_once(Loaded& side, bool alone, const StopToken& stop) {
  base::SystemClock clock;
  std::vector<TensorView> in, out;
  for (Tensor& t : side.inputs) in.push_back(t.view());
  for (Tensor& t : side.outputs) out.push_back(t.view());
  const auto now = [&] { return alone ? clock.thread_ns() : clock.now_ns(); };
  const int64_t begin = now();
  FRIT_TRY(side.session->run(in, out, {.stop = stop}));
  return static_cast<double>(now() - begin) * 1e-6;
}

}  // namespace

Result<Comparison> compare(Loaded& before, Loaded& after, double seconds, const StopToken& stop) {
  for (Loaded* side : {&before, &after}) FRIT_TRY(side->run(2, 0, stop));
  const bool alone = before.session->stats().threads == 1 && after.session->stats().threads == 1;
  base::SystemClock clock;
  std::vector<double> ms[2], ratios;
  const int64_t begin = clock.now_ns();
  while (ratios.size() < kLeastPairs || static_cast<double>(clock.now_ns() - begin) * 1e-9 < seconds) {
    const size_t first = ratios.size() % 2;
    for (size_t k = 0; k < 2; ++k) {
      const size_t which = (first + k) % 2;
      FRIT_ASSIGN(const double one, run_once(which == 0 ? before : after, alone, stop));
      ms[which].push_back(one);
    }
    ratios.push_back(ms[0].back() / ms[1].back());
  }
  Comparison out;
  out.before_ms = tuner::median(ms[0]);
  out.after_ms = tuner::median(ms[1]);
  out.ratio = tuner::median(ratios);
  const tuner::Interval sure = tuner::median_interval(ratios);
  out.low = sure.low;
  out.high = sure.high;
  out.pairs = static_cast<int64_t>(ratios.size());
  return out;
}

}  // namespace frit::tools
