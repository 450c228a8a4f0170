#include "graph/resize_taps.h"

#include <algorithm>
#include <cmath>

namespace frit::graph {
namespace {

// The output position's coordinate in the input.
double source_coordinate(ResizeCoord mode, int64_t position, int64_t in, int64_t out,
                         std::optional<float> scale) {
  const double x = static_cast<double>(position), n_in = static_cast<double>(in),
               n_out = static_cast<double>(out);
  const auto unscale = [&](double at) {
    return scale ? at / static_cast<double>(*scale) : at * n_in / n_out;
  };
  switch (mode) {
    case ResizeCoord::kAsymmetric:
      return unscale(x);
    case ResizeCoord::kAlignCorners:
      return out == 1 ? 0.0 : x * (n_in - 1) / (n_out - 1);
    case ResizeCoord::kPytorchHalfPixel:
      if (out == 1) return 0.0;
      break;
    case ResizeCoord::kHalfPixelSymmetric: {
      const double exact_out = scale ? static_cast<double>(*scale) * n_in : n_out;
      return n_in / 2 * (1 - n_out / exact_out) + unscale(x + 0.5) - 0.5;
    }
    case ResizeCoord::kHalfPixel:
    case ResizeCoord::kTfCropAndResize:
      break;
  }
  return unscale(x + 0.5) - 0.5;
}

int64_t round_nearest(ResizeNearest mode, double x) {
  switch (mode) {
    case ResizeNearest::kRoundPreferFloor:
      return static_cast<int64_t>(std::ceil(x - 0.5));
    case ResizeNearest::kRoundPreferCeil:
      return static_cast<int64_t>(std::floor(x + 0.5));
    case ResizeNearest::kFloor:
      return static_cast<int64_t>(std::floor(x));
    case ResizeNearest::kCeil:
      break;
  }
  return static_cast<int64_t>(std::ceil(x));
}

// Keys' cubic kernel at the four taps around a coordinate with the fraction r.
void cubic_weights(double a, double r, double* w) {
  const auto outer = [a](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };  // 1 < d < 2
  const auto inner = [a](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };        // d <= 1
  w[0] = outer(r + 1);
  w[1] = inner(r);
  w[2] = inner(1 - r);
  w[3] = outer(2 - r);
}

}  // namespace

Result<AxisTaps> resize_taps(const Resize& op, int64_t in, int64_t out, std::optional<float> scale) {
  if (op.coord == ResizeCoord::kTfCropAndResize) {
    return make_error(Code::kUnsupported,
                      "tf_crop_and_resize needs a region of interest, which Resize has not");
  }
  if (scale && !(*scale > 0 && std::isfinite(*scale))) {
    return make_error(Code::kInvalidArgument,
                      "scale " + std::to_string(*scale) + " is not a positive number");
  }
  if (in == 0 && out > 0) {
    return make_error(Code::kInvalidArgument,
                      "an empty axis does not resize to " + std::to_string(out) + " elements");
  }
  AxisTaps result;
  result.taps = op.mode == ResizeMode::kNearest ? 1 : op.mode == ResizeMode::kLinear ? 2 : 4;
  for (int64_t position = 0; position < out; ++position) {
    // The clamp keeps the conversion to integers defined for any scale; taps so far outside are all the
    // border's.
    const double x = std::clamp(source_coordinate(op.coord, position, in, out, scale), -1e15, 1e15);
    const double below = std::floor(x);
    double w[4] = {1, 0, 0, 0};
    int64_t first = static_cast<int64_t>(below);
    if (op.mode == ResizeMode::kNearest) {
      first = round_nearest(op.nearest, x);
    } else if (op.mode == ResizeMode::kLinear) {
      w[0] = 1 - (x - below);
      w[1] = x - below;
    } else {
      cubic_weights(static_cast<double>(op.cubic_a), x - below, w);
      first -= 1;
    }
    double total = 0;
    for (int64_t t = 0; t < result.taps; ++t) {
      const bool outside = first + t < 0 || first + t >= in;
      if (outside && op.exclude_outside && op.mode == ResizeMode::kCubic) w[t] = 0;
      total += w[t];
    }
    for (int64_t t = 0; t < result.taps; ++t) {
      const bool renormalise = op.exclude_outside && op.mode == ResizeMode::kCubic;
      result.index.push_back(std::clamp<int64_t>(first + t, 0, in - 1));
      result.weight.push_back(renormalise ? w[t] / total : w[t]);
    }
  }
  return result;
}

int64_t resized_extent(int64_t in, float scale) {
  const float exact = std::floor(static_cast<float>(in) * scale);
  return exact >= 0 && exact < 9e18f ? static_cast<int64_t>(exact) : -1;
}

}  // namespace frit::graph
