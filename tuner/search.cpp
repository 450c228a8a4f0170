#include "tuner/search.h"

#include <algorithm>

namespace frit::tuner {

namespace {

// Spaces up to this size are walked in order; larger ones are sampled.
constexpr int64_t kExhaustiveLimit = 64;
constexpr size_t kMaxPoints = 20000;

}  // namespace

Search::Search(const codegen::Family& family, const codegen::Group& group, const codegen::BuildContext& build, Strategy strategy, uint64_t seed,
               double prune_factor)
    : strategy_(strategy), random_(seed) {
  const codegen::Space space = family.space(group, build);
  std::vector<std::pair<double, codegen::Params>> ranked;
  double best = 1e300;
  for (codegen::Params& p : space.enumerate(kMaxPoints)) {
    const double seconds = family.cost(group, p, build).seconds;
    best = std::min(best, seconds);
    ranked.emplace_back(seconds, std::move(p));
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [seconds, p] : ranked)
    if (seconds <= best * prune_factor) points_.push_back(std::move(p));
  done_.assign(points_.size(), false);
  left_ = points();
  if (strategy_ == Strategy::kAuto) strategy_ = points() <= kExhaustiveLimit ? Strategy::kExhaustive : Strategy::kRandom;
}

void Search::skip(const codegen::Params& params) {
  for (size_t k = 0; k < points_.size(); ++k)
    if (!done_[k] && points_[k] == params) {
      done_[k] = true;
      --left_;
    }
}

// A point that was not tried and differs from the best one in a single value.
std::optional<size_t> Search::neighbour(const codegen::Params& best) {
  std::vector<size_t> near;
  for (size_t k = 0; k < points_.size(); ++k) {
    if (done_[k]) continue;
    size_t differing = 0;
    for (size_t i = 0; i < best.items().size() && differing < 2; ++i) differing += points_[k].items()[i].second != best.items()[i].second;
    if (differing == 1) near.push_back(k);
  }
  if (near.empty()) return std::nullopt;
  return near[random_() % near.size()];
}

bool Search::next(const codegen::Params& best, codegen::Params* out) {
  if (left_ <= 0) return false;
  size_t pick = 0;
  const auto near = strategy_ == Strategy::kRandom && random_() % 2 == 0 ? neighbour(best) : std::nullopt;
  if (strategy_ == Strategy::kExhaustive) {
    while (done_[at_]) ++at_;
    pick = at_;
  } else if (near) {
    pick = *near;
  } else {
    // Squaring a uniform number favours the front of the ranking without ever ruling out its end.
    const double u = static_cast<double>(random_() >> 11) * 0x1p-53;
    pick = static_cast<size_t>(u * u * static_cast<double>(points_.size()));
    while (done_[pick]) pick = (pick + 1) % points_.size();
  }
  done_[pick] = true;
  --left_;
  *out = points_[pick];
  return true;
}

}  // namespace frit::tuner
