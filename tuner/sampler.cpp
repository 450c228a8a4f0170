#include "tuner/sampler.h"

#include <algorithm>
#include <vector>

#include "base/try.h"
#include "tuner/statistics.h"

namespace frit::tuner {

namespace {

constexpr int kReadings = 128;
constexpr int kMostReadings = 20000;  // until a coarse clock moves
constexpr double kFloors = 200;       // a sample is as many times longer than the floor
constexpr double kLeastNs = 20e3;     // and than what a call of the executor costs
constexpr int64_t kMostRuns = 1 << 20;

}  // namespace

Sampler::Sampler(base::Clock& clock) : clock_(clock) {
  std::vector<double> steps;
  double grain = 0;
  int64_t last = clock_.now_ns();
  const int64_t begin = last;
  for (int i = 0; i < kReadings || (grain == 0 && i < kMostReadings); ++i) {
    const int64_t now = clock_.now_ns();
    const auto step = static_cast<double>(now - last);
    if (step > 0 && (grain == 0 || step < grain)) grain = step;
    steps.push_back(step);
    last = now;
  }
  // With a coarse clock most steps are 0 and the mean is the cost; with a fine one the median ignores
  // interruptions.
  reading_ns_ = median(steps);
  if (reading_ns_ == 0) reading_ns_ = static_cast<double>(last - begin) / static_cast<double>(steps.size());
  floor_ns_ = std::max(grain, reading_ns_);
}

Result<double> Sampler::time(int64_t runs, const std::function<Status()>& run,
                             const std::function<void()>& before_each) {
  if (!before_each) {
    const int64_t begin = clock_.now_ns();
    for (int64_t i = 0; i < runs; ++i) FRIT_TRY(run());
    return std::max(0.0, static_cast<double>(clock_.now_ns() - begin) - reading_ns_);
  }
  double total = 0;
  for (int64_t i = 0; i < runs; ++i) {
    before_each();
    const int64_t begin = clock_.now_ns();
    FRIT_TRY(run());
    total += static_cast<double>(clock_.now_ns() - begin) - reading_ns_;
  }
  return std::max(0.0, total);
}

Result<double> Sampler::sample(int64_t& runs, const std::function<Status()>& run,
                               const std::function<void()>& before_each) {
  const bool first = runs == 0;
  if (first) runs = 1;
  const double need = std::max(kLeastNs, kFloors * floor_ns_);
  for (;;) {
    FRIT_ASSIGN(const double total, time(runs, run, before_each));
    if (!first || total >= need || runs >= kMostRuns) return total / static_cast<double>(runs);
    // Ten times at most: a single reading of a coarse clock says little about how far there is to go.
    const double factor = total > 0 ? std::clamp(1.2 * need / total, 2.0, 10.0) : 10.0;
    runs = std::min(kMostRuns, static_cast<int64_t>(static_cast<double>(runs) * factor));
  }
}

}  // namespace frit::tuner
