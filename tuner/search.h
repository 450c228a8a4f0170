// The order in which a group's choices are tried: all legal points, pruned and ranked by the family's cost model
// (exhaustive), or drawn from them (random): every other point from the ranking with a bias to its front, the rest from the
// neighbours of the best point so far.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "codegen/families/family.h"
#include "tuner/tune.h"

namespace frit::tuner {

class Search {
 public:
  // Points that the model expects to be slower than prune_factor times its best are left out.
  Search(const codegen::Family& family, const codegen::Group& group, const codegen::BuildContext& build, Strategy strategy, uint64_t seed,
         double prune_factor = 2.0);

  // Points that need not be tried (measured before).
  void skip(const codegen::Params& params);
  // The next point; false when none is left. best: the best point so far.
  bool next(const codegen::Params& best, codegen::Params* out);
  int64_t points() const { return static_cast<int64_t>(points_.size()); }
  Strategy strategy() const { return strategy_; }

 private:
  std::optional<size_t> neighbour(const codegen::Params& best);

  std::vector<codegen::Params> points_;  // best expectation first
  std::vector<bool> done_;
  Strategy strategy_;
  size_t at_ = 0;
  int64_t left_ = 0;
  std::mt19937_64 random_;
};

}  // namespace frit::tuner
