// Sound estimators of a kernel's time: the median and the median absolute deviation. Neither the mean (one interruption
// moves it) nor the minimum (it rewards luck).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace frit::tuner {

inline double median(std::vector<double> v) {
  if (v.empty()) return 0;
  const size_t middle = v.size() / 2;
  std::nth_element(v.begin(), v.begin() + static_cast<long>(middle), v.end());
  const double high = v[middle];
  if (v.size() % 2 == 1) return high;
  return (high + *std::max_element(v.begin(), v.begin() + static_cast<long>(middle))) / 2;
}

inline double median_deviation(const std::vector<double>& v) {
  const double m = median(v);
  std::vector<double> d;
  d.reserve(v.size());
  for (double x : v) d.push_back(std::fabs(x - m));
  return median(std::move(d));
}

struct Interval {
  double low = 0, high = 0;
};

// The 95 % confidence interval of the median, from order statistics: nothing is assumed about the distribution. Fewer
// than 6 samples cannot be that sure and give all they span.
inline Interval median_interval(std::vector<double> v) {
  if (v.empty()) return {};
  std::sort(v.begin(), v.end());
  // The rank whose tail of Binomial(n, 1/2) is the last within 2.5 %.
  const auto n = static_cast<double>(v.size());
  double term = std::pow(0.5, n), tail = 0;
  size_t cut = 0;
  while (cut < v.size() / 2 && tail + term <= 0.025) {
    tail += term;
    ++cut;
    term *= (n - static_cast<double>(cut) + 1) / static_cast<double>(cut);
  }
  if (n > 1000) cut = static_cast<size_t>((n - 1.96 * std::sqrt(n)) / 2);  // where 0.5^n is not a number any more
  const size_t low = cut > 0 ? cut - 1 : 0;
  return {v[low], v[v.size() - 1 - low]};
}

}  // namespace frit::tuner
