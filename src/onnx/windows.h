// The sliding windows of convolutions and pools: kernel, strides, dilations and pads as ONNX spells them.
#pragma once

#include "onnx/node_context.h"

namespace frit::onnx {

struct Windows {
  Ints kernel, strides, dilations;
  Ints pads;  // begins, then ends
  size_t axes() const { return kernel.size(); }
  int64_t extent(size_t i) const {
    return (kernel[i] - 1) * dilations[i] + 1;
  }  // of one window, with its gaps
};

// Reads strides, dilations, pads and auto_pad for windows of `kernel` over the spatial axes (2 and on) of x.
// Fails when a list has the wrong length or values, or where auto_pad needs a size that is not known.
Windows read_windows(NodeContext& c, ValueId x, Ints kernel);

// Number of windows along spatial axis i of an input of `size`, by the rule of ONNX's pools: with ceil_mode a
// last partial window counts when it does not start in the end padding.
int64_t count_windows(const Windows& w, size_t i, int64_t size, bool ceil_mode);

}  // namespace frit::onnx
