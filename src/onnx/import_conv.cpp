// Convolutions.
#include <algorithm>

#include "base/text.h"
#include "onnx/importers.h"
#include "onnx/windows.h"

namespace frit::onnx {
namespace {

using base::text_of;

// The weight's spatial extents, compared with kernel_shape where it is given.
Ints kernel_of(NodeContext& c) {
  const ValueId x = c.in(0), w = c.in(1);
  if (!c.expect_rank(x, 3, INT64_MAX, "input")) return {};
  if (!c.expect_rank(w, c.rank(x), c.rank(x), "weight")) return {};
  Ints kernel;
  for (int64_t a = 2; a < c.rank(w); ++a) kernel.push_back(c.known_dim(w, a, "the weight's kernel"));
  if (c.has_attr("kernel_shape") && c.attr_ints("kernel_shape") != kernel)
    c.fail(text_of("kernel_shape is [", base::join(c.attr_ints("kernel_shape"), ","), "], but the weight is ",
                   graph::type_text(c.type(w))));
  return kernel;
}

int64_t groups_of(NodeContext& c) {
  const int64_t groups = c.attr_int("group", 1);
  if (groups < 1) c.fail(text_of("group is ", groups, ", expected at least 1"));
  return groups;
}

std::vector<ValueId> conv_inputs(NodeContext& c) {
  std::vector<ValueId> inputs = {c.in(0), c.in(1)};
  if (c.has(2)) inputs.push_back(c.in(2));
  return inputs;
}

// output_shape, and auto_pad's sizes, are reached by padding; what padding cannot reach is added at the end.
void pad_to_output(NodeContext& c, Windows& w, Ints& output_padding) {
  const std::string mode = c.attr_string("auto_pad", "NOTSET");
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (!c.has_attr("output_shape") && !same) return;
  Ints wanted = c.attr_ints("output_shape");
  if (wanted.size() == w.axes() + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (c.has_attr("output_shape") && wanted.size() != w.axes())
    return c.fail(text_of("output_shape has ", wanted.size(), " values, expected ", w.axes()));
  for (size_t i = 0; i < w.axes(); ++i) {
    int64_t total = w.extent(i) + output_padding[i] - w.strides[i];  // for `same`: size * stride outputs
    if (!wanted.empty()) {
      const int64_t size = c.known_dim(c.in(0), static_cast<int64_t>(i) + 2, "output_shape");
      total = w.strides[i] * (size - 1) + output_padding[i] + w.extent(i) - wanted[i];
    }
    if (c.failed()) return;
    output_padding[i] += std::max<int64_t>(0, -total);
    total = std::max<int64_t>(0, total);
    w.pads[i] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    w.pads[i + w.axes()] = total - w.pads[i];
  }
}

}  // namespace

void import_conv(NodeContext& c) {
  const Ints kernel = kernel_of(c);
  if (c.failed()) return;
  const Windows w = read_windows(c, c.in(0), kernel);
  c.out(0, c.emit(graph::Conv{w.strides, w.pads, w.dilations, groups_of(c)}, conv_inputs(c)));
}

void import_conv_transpose(NodeContext& c) {
  const Ints kernel = kernel_of(c);
  if (c.failed()) return;
  Windows w = read_windows(c, c.in(0), kernel);
  Ints output_padding = c.has_attr("output_padding") ? c.attr_ints("output_padding") : Ints(w.axes(), 0);
  if (output_padding.size() != w.axes())
    return c.fail(text_of("output_padding has ", output_padding.size(), " values, expected ", w.axes(),
                          " for rank-", c.rank(c.in(0)), " input"));
  for (int64_t p : output_padding)
    if (p < 0 || p > INT32_MAX) return c.fail(text_of("output_padding has ", p, ", expected at least 0"));
  pad_to_output(c, w, output_padding);
  c.out(0, c.emit(graph::ConvTranspose{w.strides, w.pads, w.dilations, output_padding, groups_of(c)},
                  conv_inputs(c)));
}

}  // namespace frit::onnx
