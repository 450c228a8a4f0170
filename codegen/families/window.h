// Sliding windows with vectors across channels: what depthwise convolution and pooling share. Windows are clipped to
// the map by loop bounds, so that padding costs nothing; pixels whose windows lie inside along the last axis take a path
// with unrolled taps, several at a time.
#pragma once

#include <functional>
#include <vector>

#include "codegen/families/dag.h"
#include "codegen/families/phase.h"

namespace frit::codegen {

struct WindowProblem {
  int64_t images = 0, channels = 0;
  std::vector<int64_t> in, out, kernel, strides, dilations, before;  // per spatial axis
};

struct WindowCallbacks {
  std::function<loop::Expr()> initial;  // accumulator, lanes wide
  // acc op the map's element; tap: position in the kernel, one expression per axis; channel: of the first lane
  std::function<loop::Expr(loop::Expr acc, loop::Expr element, const std::vector<loop::Expr>& tap, loop::Expr channel)> combine;
  // Writes one vector. count: the number of taps inside of the map.
  std::function<void(const Index& at, loop::Expr acc, loop::Expr count)> finish;
};

// Tiles: [image, outer spatial axes.., channel block]. `pixels`: windows that share a pass over the last axis.
void emit_windows(PhaseBuilder& phase, const WindowProblem& problem, graph::ValueId map, DType accumulator, int64_t pixels,
                  const WindowCallbacks& callbacks);

}  // namespace frit::codegen
