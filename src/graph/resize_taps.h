// Which input positions an output position of Resize reads along one axis, and with which weights.
//
// Resize is separable: the result is the product over axes. The evaluator and whoever generates code for
// Resize use the same tables, so that a coordinate on a rounding boundary falls to the same side everywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "frit/result.h"
#include "graph/op.h"

namespace frit::graph {

struct AxisTaps {
  int64_t taps = 1;            // per output position: 1 nearest, 2 linear, 4 cubic
  std::vector<int64_t> index;  // [out][taps], clamped to the axis
  std::vector<double> weight;  // [out][taps]; nearest: 1
};

// `scale` is what the model gave, or none where it gave sizes: then it is exactly out / in. in > 0 unless out
// is 0.
Result<AxisTaps> resize_taps(const Resize& op, int64_t in, int64_t out, std::optional<float> scale);

// The output extent for a given scale: floor(in * scale), the product rounded to float as ONNX's shape
// inference does.
int64_t resized_extent(int64_t in, float scale);

}  // namespace frit::graph
