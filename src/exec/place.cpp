#include <algorithm>
#include <numeric>
#include <utility>

#include "exec/memory_plan.h"

namespace frit::exec {

namespace {

int64_t round_up(int64_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

}  // namespace

Placement place(std::span<const Lifetime> lifetimes) {
  Placement out;
  out.offsets.assign(lifetimes.size(), 0);
  // Large pieces first: small ones fit into the gaps that are left. Position breaks ties.
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const Lifetime &x = lifetimes[a], &y = lifetimes[b];
    return std::pair(-x.size_bytes, x.first) < std::pair(-y.size_bytes, y.first);
  });
  std::vector<size_t> by_offset;  // placed pieces, ascending offsets
  for (const size_t k : order) {
    const Lifetime& piece = lifetimes[k];
    const int64_t need = round_up(piece.size_bytes);
    int64_t best = -1, best_gap = INT64_MAX, end = 0;
    for (const size_t other : by_offset) {
      if (lifetimes[other].last < piece.first || piece.last < lifetimes[other].first) continue;
      const int64_t gap = out.offsets[other] - end;
      if (gap >= need && gap < best_gap) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, out.offsets[other] + round_up(lifetimes[other].size_bytes));
    }
    out.offsets[k] = best >= 0 ? best : end;
    out.size_bytes = std::max(out.size_bytes, out.offsets[k] + need);
    const auto at =
        std::upper_bound(by_offset.begin(), by_offset.end(), out.offsets[k],
                         [&](int64_t offset, size_t other) { return offset < out.offsets[other]; });
    by_offset.insert(at, k);
  }
  return out;
}

}  // namespace frit::exec
