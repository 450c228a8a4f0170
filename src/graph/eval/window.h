// Window: the spatial geometry that convolution, transposed convolution and pooling share.
//
// A position `o` of the small side meets tap `k` of the kernel at coordinate o * stride - pad + k * dilation
// of the large side, per axis; that may lie outside. For Conv and Pool the small side is the output, for
// ConvTranspose the input.
#pragma once

#include <cstdint>
#include <vector>

#include "frit/result.h"
#include "graph/tensor.h"

namespace frit::graph::eval {

struct Window {
  Extents large, small, kernel, strides, dilations, pads_begin, pads_end;

  int64_t rank() const { return static_cast<int64_t>(kernel.size()); }
  int64_t taps() const;
  // offsets[tap * count + i] = where tap meets small position first + i, as an offset into the large side, or
  // -1 outside.
  void find_offsets(int64_t first, int64_t count, std::vector<int64_t>& offsets) const;
};

// Everything but `large` and `small`, from an op's attributes, all checked for sense.
Result<Window> make_window(const Extents& kernel, const std::vector<int64_t>& strides,
                           const std::vector<int64_t>& pads, const std::vector<int64_t>& dilations);

// How many windows fit the large side: floor((large + pads - dilated kernel) / stride) + 1; an error when
// negative.
Result<Extents> count_windows(const Window& window);

}  // namespace frit::graph::eval
