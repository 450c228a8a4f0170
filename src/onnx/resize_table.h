// How one axis is resized, as a table: for the forms of Resize that the graph's own op does not have
// (antialiasing, cropping, the nearest rule of opset 10), which become a product with a constant matrix or a
// gather per axis.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace frit::onnx {

struct AxisResize {
  int64_t in = 0, out = 0;
  double scale = 1;
  std::string coord;                  // coordinate_transformation_mode
  std::string nearest;                // nearest_mode; "simple" is opset 10's: up floors, down ceils
  double roi_start = 0, roi_end = 1;  // of tf_crop_and_resize, in units of the axis
};

// Where the element `i` of the result lies in the input.
double source_position(const AxisResize& axis, int64_t i);

// The element that nearest picks for each element of the result, clamped to the axis.
std::vector<int64_t> nearest_table(const AxisResize& axis);

struct Interpolation {
  bool cubic = false;
  double cubic_a = -0.75;
  bool antialias = false, exclude_outside = false;
};
// [out, in] weights, row-major.
std::vector<float> weight_table(const AxisResize& axis, const Interpolation& how);

}  // namespace frit::onnx
