#include "base/random.h"

#include <cmath>

namespace frit::base {

void fill_weights(std::span<float> out, uint64_t seed, double mean, double std, WeightKind kind,
                  uint64_t first) {
  const double scale = std * std::sqrt(3.0);
  for (size_t k = 0; k < out.size(); ++k) {
    const uint64_t i = first + k;
    const bool negated = kind == WeightKind::kPaired && (i & 1) != 0;
    const auto value = static_cast<float>(mean + scale * (2 * uniform(seed, negated ? i - 1 : i) - 1));
    out[k] = kind == WeightKind::kPositive ? std::fabs(value) : negated ? -value : value;
  }
}

void fill_unit(std::span<float> out, uint64_t seed, uint64_t first) {
  const double scale = std::sqrt(3.0);
  for (size_t k = 0; k < out.size(); ++k)
    out[k] = static_cast<float>(scale * (2 * uniform(seed, first + k) - 1));
}

void fill_ids(std::span<int64_t> out, uint64_t seed, uint64_t first) {
  for (size_t k = 0; k < out.size(); ++k) {
    out[k] = 1 + static_cast<int64_t>(std::floor(4999 * uniform(seed, first + k)));
  }
}

}  // namespace frit::base
