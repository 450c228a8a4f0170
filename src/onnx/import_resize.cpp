// Resize and Upsample. Sizes and scales are settled here where they are known; forms that the graph's Resize
// does not have (resize_table.h) become a gather or a matrix product per axis.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "graph/resize_taps.h"
#include "onnx/importers.h"
#include "onnx/resize_table.h"

namespace frit::onnx {
namespace {

using base::quoted;
using base::text_of;
using graph::ResizeCoord;
using graph::ResizeMode;
using graph::ResizeNearest;

struct Request {
  ResizeMode mode = ResizeMode::kNearest;
  std::string coord = "half_pixel", nearest = "round_prefer_floor";
  float cubic_a = -0.75f, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
  Ints axes;  // what sizes, scales and roi speak of
  ValueId scales = kNoValue, sizes = kNoValue, roi = kNoValue;
};

// Per axis of x: the size of the result and the scale from which positions are computed.
struct Plan {
  Shape sizes;
  std::vector<double> scales;  // 0: size over size
  bool rounded = false;        // sizes were rounded to nearest, which the graph's op does not do
};

std::optional<ResizeMode> read_mode(NodeContext& c) {
  const std::string mode = c.attr_string("mode", "nearest");
  if (mode == "nearest") return ResizeMode::kNearest;
  if (mode == "linear" || (mode == "bilinear" && c.since() < 9)) return ResizeMode::kLinear;
  if (mode == "cubic" && c.since() >= 11) return ResizeMode::kCubic;
  c.fail("mode is " + quoted(mode) + ", expected \"nearest\", \"linear\" or \"cubic\"");
  return std::nullopt;
}

std::optional<ResizeCoord> graph_coord(std::string_view name) {
  if (name == "half_pixel") return ResizeCoord::kHalfPixel;
  if (name == "pytorch_half_pixel") return ResizeCoord::kPytorchHalfPixel;
  if (name == "align_corners") return ResizeCoord::kAlignCorners;
  if (name == "asymmetric") return ResizeCoord::kAsymmetric;
  if (name == "half_pixel_symmetric") return ResizeCoord::kHalfPixelSymmetric;
  return std::nullopt;
}
std::optional<ResizeNearest> graph_nearest(std::string_view name) {
  if (name == "round_prefer_floor") return ResizeNearest::kRoundPreferFloor;
  if (name == "round_prefer_ceil") return ResizeNearest::kRoundPreferCeil;
  if (name == "floor") return ResizeNearest::kFloor;
  if (name == "ceil") return ResizeNearest::kCeil;
  return std::nullopt;
}

// An optional input that old exporters give as an empty tensor.
ValueId unless_empty(NodeContext& c, ValueId v) {
  return v != kNoValue && c.rank(v) == 1 && c.dim(v, 0) == Dim(0) ? kNoValue : v;
}

Ints all_axes(int64_t rank) {
  Ints axes;
  for (int64_t a = 0; a < rank; ++a) axes.push_back(a);
  return axes;
}

Request read_request(NodeContext& c) {
  Request r;
  r.mode = read_mode(c).value_or(ResizeMode::kNearest);
  r.coord = c.attr_string("coordinate_transformation_mode", "half_pixel");
  r.nearest = c.attr_string("nearest_mode", "round_prefer_floor");
  r.cubic_a = c.attr_float("cubic_coeff_a", -0.75f);
  r.extrapolation = c.attr_float("extrapolation_value", 0);
  r.exclude_outside = c.attr_int("exclude_outside", 0) != 0;
  r.antialias = c.attr_int("antialias", 0) != 0 && r.mode != ResizeMode::kNearest;
  const int64_t rank = c.rank(c.in(0));
  if (c.has_attr("axes")) {
    for (int64_t a : c.attr_ints("axes")) r.axes.push_back(c.axis(a, rank, "axes"));
  } else {
    r.axes = all_axes(rank);
  }
  r.scales = unless_empty(c, c.in(2));
  r.sizes = unless_empty(c, c.in(3));
  if (r.coord == "tf_crop_and_resize") r.roi = unless_empty(c, c.in(1));
  const bool old_name = r.coord == "tf_half_pixel_for_nn" && c.since() == 11;
  const bool new_name = r.coord == "half_pixel_symmetric" && c.since() < 19;
  if ((!graph_coord(r.coord) && r.coord != "tf_crop_and_resize" && !old_name) || new_name)
    c.fail("coordinate_transformation_mode is " + quoted(r.coord) + ", which this opset does not have");
  if (!graph_nearest(r.nearest))
    c.fail("nearest_mode is " + quoted(r.nearest) + ", which this opset does not have");
  if ((r.scales == kNoValue) == (r.sizes == kNoValue)) c.fail("needs either scales or sizes");
  return r;
}

// floor(size * scale), where it can be said.
std::optional<Dim> scaled(const Dim& size, float scale) {
  if (scale == 1) return size;
  if (size.is_constant()) {
    return Dim(graph::resized_extent(size.value(), scale));
  }
  if (scale == std::floor(scale) && scale < 1e6f) return size * Dim(static_cast<int64_t>(scale));
  const float inverse = 1 / scale;
  if (inverse == std::floor(inverse) && inverse < 1e6f && 1 / inverse == scale)
    return floor_div(size, Dim(static_cast<int64_t>(inverse)));
  return std::nullopt;
}

std::optional<Plan> plan_by_scales(NodeContext& c, const Request& r, const std::vector<double>& scales) {
  Plan plan{c.shape(c.in(0)), std::vector<double>(c.shape(c.in(0)).size(), 0)};
  for (size_t i = 0; i < r.axes.size(); ++i) {
    const auto a = static_cast<size_t>(r.axes[i]);
    const Dim size = plan.sizes[a];
    if (!(scales[i] > 0) || !std::isfinite(scales[i])) {
      c.fail(text_of("scales has ", scales[i], ", expected more than 0"));
      return std::nullopt;
    }
    const auto out = scaled(size, static_cast<float>(scales[i]));
    if (!out) return std::nullopt;
    plan.sizes[a] = *out;
    // Where the scale says the same as the sizes, the sizes are enough.
    const bool exact = size.is_constant() ? static_cast<double>(out->value()) ==
                                                scales[i] * static_cast<double>(size.value())
                                          : scales[i] >= 1;
    if (!exact) plan.scales[a] = scales[i];
  }
  return plan;
}

std::optional<Plan> plan_by_sizes(NodeContext& c, const Request& r, const std::vector<Dim>& sizes) {
  Plan plan{c.shape(c.in(0)), std::vector<double>(c.shape(c.in(0)).size(), 0)};
  const std::string policy = c.attr_string("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") {
    for (size_t i = 0; i < r.axes.size(); ++i) plan.sizes[static_cast<size_t>(r.axes[i])] = sizes[i];
    return plan;
  }
  const bool larger = policy == "not_smaller";
  if (!larger && policy != "not_larger") {
    c.fail("keep_aspect_ratio_policy is " + quoted(policy) +
           ", expected \"stretch\", \"not_larger\" or \"not_smaller\"");
    return std::nullopt;
  }
  std::optional<double> scale;
  for (size_t i = 0; i < r.axes.size(); ++i) {
    const int64_t in = c.known_dim(c.in(0), r.axes[i], "keep_aspect_ratio_policy");
    if (!sizes[i].is_constant())
      c.unsupported("keep_aspect_ratio_policy needs sizes that are known while loading");
    if (c.failed()) return std::nullopt;
    const double ratio = static_cast<double>(sizes[i].value()) / static_cast<double>(in);
    scale = !scale ? ratio : larger ? std::max(*scale, ratio) : std::min(*scale, ratio);
  }
  for (int64_t axis : r.axes) {
    const auto a = static_cast<size_t>(axis);
    const double out = *scale * static_cast<double>(plan.sizes[a].value());
    plan.scales[a] = *scale;
    const int64_t before = plan.sizes[a].value();
    plan.sizes[a] = static_cast<int64_t>(std::floor(std::min(out, 1e15) + 0.5));
    plan.rounded |= plan.sizes[a] != Dim(graph::resized_extent(before, static_cast<float>(*scale)));
  }
  return plan;
}

// None when sizes or scales are not known while loading (or after a failure).
std::optional<Plan> make_plan(NodeContext& c, const Request& r) {
  const auto expect_count = [&](const char* what, size_t count) {
    if (count != r.axes.size()) c.fail(text_of(what, " has ", count, " values, expected ", r.axes.size()));
    return count == r.axes.size();
  };
  if (r.scales != kNoValue) {
    const auto scales = c.numbers(r.scales);
    if (!scales || !expect_count("scales", scales->size())) return std::nullopt;
    return plan_by_scales(c, r, *scales);
  }
  const auto sizes = c.dims(r.sizes);
  if (!sizes || !expect_count("sizes", sizes->size())) return std::nullopt;
  return plan_by_sizes(c, r, *sizes);
}

ValueId resize_axis(NodeContext& c, const Request& r, ValueId x, int64_t axis, const AxisResize& how) {
  if (r.mode == ResizeMode::kNearest)
    return c.emit(graph::Gather{axis}, {x, c.ints_constant(nearest_table(how))});
  constexpr int64_t kMostEntries = 1 << 26;
  if (how.in > kMostEntries || how.out > kMostEntries / std::max<int64_t>(1, how.in)) {
    c.unsupported(text_of("resizing ", how.in, " elements to ", how.out, " in this mode is not supported"));
    return kNoValue;
  }
  const std::vector<float> weights =
      weight_table(how, {r.mode == ResizeMode::kCubic, r.cubic_a, r.antialias, r.exclude_outside});
  const ValueId table = c.cast(c.floats_constant(weights, {how.out, how.in}), c.dtype(x));
  // weights [out, in] x ([.., in, ..] with the axis last but one)
  Ints perm = all_axes(c.rank(x));
  const int64_t last = c.rank(x) - 1;
  if (last == 0) return c.squeeze(c.emit(graph::MatMul{}, {table, c.unsqueeze(x, {1})}), {1});
  std::swap(perm[static_cast<size_t>(axis)], perm[static_cast<size_t>(last - 1)]);
  if (axis != last) return c.transpose(c.emit(graph::MatMul{}, {table, c.transpose(x, perm)}), perm);
  return c.emit(graph::MatMul{}, {x, c.transpose(table, {1, 0})});
}

// Axis by axis, with constant tables.
ValueId resize_by_tables(NodeContext& c, const Request& r, const Plan& plan) {
  ValueId y = c.in(0);
  std::optional<std::vector<double>> roi;
  if (r.coord == "tf_crop_and_resize") {
    if (r.roi != kNoValue) roi = c.numbers(r.roi);
    if (!roi) c.unsupported("roi is not known while loading");
    if (roi && roi->size() != 2 * r.axes.size())
      c.fail(text_of("roi has ", roi->size(), " values, expected ", 2 * r.axes.size()));
  }
  ValueId outside = kNoValue;
  for (size_t i = 0; i < r.axes.size() && !c.failed(); ++i) {
    const int64_t axis = r.axes[i];
    const auto a = static_cast<size_t>(axis);
    if (!roi && plan.sizes[a] == c.dim(y, axis)) continue;
    AxisResize how;
    how.in = c.known_dim(y, axis, "this form of Resize");
    if (!plan.sizes[a].is_constant())
      c.unsupported("this form of Resize needs sizes that are known while loading");
    if (c.failed()) return kNoValue;
    how.out = plan.sizes[a].value();
    if (how.in < 1 || how.out < 1 || how.out > INT32_MAX) {
      c.fail(text_of("axis ", axis, " is resized from ", how.in, " to ", how.out));
      return kNoValue;
    }
    how.scale =
        plan.scales[a] != 0 ? plan.scales[a] : static_cast<double>(how.out) / static_cast<double>(how.in);
    how.coord = r.coord;
    how.nearest = r.nearest;
    if (roi) {
      how.roi_start = (*roi)[i];
      how.roi_end = (*roi)[i + r.axes.size()];
      Ints beyond;
      for (int64_t k = 0; k < how.out; ++k) {
        const double x = source_position(how, k);
        beyond.push_back(!(x >= 0 && x <= static_cast<double>(how.in - 1)));
      }
      Shape line(plan.sizes.size(), Dim(1));
      line[a] = how.out;
      const ValueId here = c.reshape(c.cast(c.ints_constant(beyond), DType::kBool), line);
      outside = outside == kNoValue ? here : c.binary(BinaryOp::kOr, outside, here);
    }
    y = resize_axis(c, r, y, axis, how);
  }
  return outside == kNoValue ? y : c.select(outside, c.scalar_like(y, r.extrapolation), y);
}

ValueId resize_by_op(NodeContext& c, const Request& r, const std::optional<Plan>& plan) {
  graph::Resize op{
      r.mode, *graph_coord(r.coord), *graph_nearest(r.nearest), r.cubic_a, r.exclude_outside, false, {}};
  const ValueId x = c.in(0);
  if (plan) {
    if (std::any_of(plan->scales.begin(), plan->scales.end(), [](double s) { return s != 0; })) {
      for (size_t a = 0; a < plan->scales.size(); ++a) {
        const bool known = plan->scales[a] != 0 || plan->sizes[a] == c.dim(x, static_cast<int64_t>(a));
        const double ratio =
            known || !plan->sizes[a].is_constant() || !c.dim(x, static_cast<int64_t>(a)).is_constant()
                ? 1.0
                : static_cast<double>(plan->sizes[a].value()) /
                      static_cast<double>(c.dim(x, static_cast<int64_t>(a)).value());
        op.scales.push_back(static_cast<float>(plan->scales[a] != 0 ? plan->scales[a] : ratio));
      }
    }
    return plan->sizes == c.shape(x) && op.scales.empty() ? x
                                                          : c.emit_as(op, {x}, {c.dtype(x), plan->sizes, {}});
  }
  if (c.failed()) return kNoValue;
  if (c.has_attr("axes")) {
    c.unsupported("axes needs scales or sizes that are known while loading");
    return kNoValue;
  }
  op.by_scales = r.scales != kNoValue;
  return c.emit(op, {x, op.by_scales ? r.scales : c.cast(r.sizes, DType::kI64)});
}

void finish(NodeContext& c, const Request& r) {
  if (c.failed()) return;
  const auto plan = make_plan(c, r);
  const bool plain =
      graph_coord(r.coord) && graph_nearest(r.nearest) && !r.antialias && !(plan && plan->rounded);
  if (!plain && !plan)
    return c.unsupported("this form of Resize needs scales or sizes that are known while loading");
  c.out(0, plain ? resize_by_op(c, r, plan) : resize_by_tables(c, r, *plan));
}

// Opset 10 and before: positions are x / scale; nearest rounds down, but up where an axis shrinks.
void finish_old(NodeContext& c, ValueId scales) {
  Request r;
  r.mode = read_mode(c).value_or(ResizeMode::kNearest);
  r.coord = "asymmetric";
  r.axes = all_axes(c.rank(c.in(0)));
  r.scales = scales;
  const auto known = c.numbers(scales);
  const bool shrinks = known && std::any_of(known->begin(), known->end(), [](double s) { return s < 1; });
  r.nearest = shrinks && r.mode == ResizeMode::kNearest ? "simple" : "floor";
  finish(c, r);
}

}  // namespace

void import_resize(NodeContext& c) {
  if (c.since() < 11) return finish_old(c, c.in(1));
  finish(c, read_request(c));
}

void import_upsample(NodeContext& c) {
  if (c.since() >= 9) return finish_old(c, c.in(1));
  const AttributeView* scales = c.attr("scales");
  finish_old(c, c.floats_constant(scales->floats, {static_cast<int64_t>(scales->floats.size())}));
}

}  // namespace frit::onnx
