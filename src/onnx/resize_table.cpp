#include "onnx/resize_table.h"

#include <algorithm>
#include <cmath>

namespace frit::onnx {
namespace {

int64_t clamp_to(int64_t i, int64_t size) { return std::clamp<int64_t>(i, 0, size - 1); }

double round_position(const std::string& mode, double x, double scale) {
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  if (mode == "simple") return scale < 1 ? std::ceil(x) : std::floor(x);
  if (mode == "round_prefer_ceil") return std::floor(x + 0.5);
  return std::ceil(x - 0.5);  // round_prefer_floor
}

double linear_kernel(double x) { return std::max(0.0, 1 - std::abs(x)); }

// Keys' cubic convolution with parameter a
double cubic_kernel(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

}  // namespace

double source_position(const AxisResize& axis, int64_t i) {
  const auto x = static_cast<double>(i), last = static_cast<double>(axis.in - 1);
  if (axis.coord == "asymmetric") return x / axis.scale;
  if (axis.coord == "align_corners") return axis.out == 1 ? 0 : x * last / static_cast<double>(axis.out - 1);
  if (axis.coord == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (axis.coord == "tf_crop_and_resize") {
    const double span = axis.roi_end - axis.roi_start;
    return axis.roi_start * last +
           (axis.out == 1 ? span * last / 2 : x * span * last / (static_cast<double>(axis.out) - 1));
  }
  if (axis.coord == "pytorch_half_pixel" && axis.out == 1) return 0;
  const double half_pixel = (x + 0.5) / axis.scale - 0.5;
  if (axis.coord == "half_pixel_symmetric") {
    const double centre = static_cast<double>(axis.in) / 2;
    const double out = axis.scale * static_cast<double>(axis.in);  // before it was rounded to a size
    return centre * (1 - static_cast<double>(axis.out) / out) + half_pixel;
  }
  return half_pixel;
}

std::vector<int64_t> nearest_table(const AxisResize& axis) {
  std::vector<int64_t> table;
  for (int64_t i = 0; i < axis.out; ++i) {
    const double x = round_position(axis.nearest, source_position(axis, i), axis.scale);
    // Clamped as a double: a wild region of interest may lead beyond what an integer holds.
    table.push_back(static_cast<int64_t>(std::clamp(x, 0.0, static_cast<double>(axis.in - 1))));
  }
  return table;
}

std::vector<float> weight_table(const AxisResize& axis, const Interpolation& how) {
  // Antialiasing stretches the kernel over the elements that one element of a smaller result stands for.
  const double stretch = how.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const auto first = static_cast<int64_t>(std::floor((how.cubic ? -2 : -1) / stretch)) + 1;
  std::vector<float> table(static_cast<size_t>(axis.out * axis.in));
  std::vector<double> row(static_cast<size_t>(axis.in));
  for (int64_t i = 0; i < axis.out; ++i) {
    const auto edge = static_cast<double>(axis.in);
    const double x = std::clamp(source_position(axis, i), -edge - 1, 2 * edge);
    const double left = std::ceil(x) - 1;  // the neighbour on the left, at a whole x the one before it
    const double ratio = x - left;         // in (0, 1]
    std::fill(row.begin(), row.end(), 0.0);
    double sum = 0;
    for (int64_t k = first; k < 2 - first; ++k) {
      const int64_t at = static_cast<int64_t>(left) + k;
      if (how.exclude_outside && (at < 0 || at >= axis.in)) continue;
      const double arg = (static_cast<double>(k) - ratio) * stretch;
      const double weight = how.cubic ? cubic_kernel(arg, how.cubic_a) : linear_kernel(arg);
      row[static_cast<size_t>(clamp_to(at, axis.in))] += weight;
      sum += weight;
    }
    for (int64_t k = 0; k < axis.in; ++k)
      table[static_cast<size_t>(i * axis.in + k)] =
          static_cast<float>(sum == 0 ? 0 : row[static_cast<size_t>(k)] / sum);  // 0: nothing inside
  }
  return table;
}

}  // namespace frit::onnx
