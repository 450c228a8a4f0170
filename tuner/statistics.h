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

}  // namespace frit::tuner
