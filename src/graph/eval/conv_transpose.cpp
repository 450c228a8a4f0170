#include "graph/eval/arith.h"
#include "graph/eval/call.h"
#include "graph/eval/index.h"
#include "graph/eval/product.h"
#include "graph/eval/window.h"

namespace frit::graph::eval {
namespace {

struct Problem {
  Window window;                                     // small: the input, large: the output
  int64_t batch, groups, in_channels, out_channels;  // channels per group
  int64_t pixels, plane;                             // spatial elements of an input and of an output channel
};

Result<Problem> describe(const ConvTranspose& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(2, 3));
  FRIT_TRY(call.expect_same_dtype(0, 1));
  const HostTensor& x = call.in(0);
  const HostTensor& w = call.in(1);
  if (x.dtype() == DType::kBool) return bad("is not defined for bool");
  if (x.rank() < 3) return bad(text_of("input 0 is ", x.type_text(), ", expected rank 3 or more"));
  FRIT_TRY(call.expect_rank(1, x.rank()));
  FRIT_ASSIGN(Window window, make_window(Extents(w.shape().begin() + 2, w.shape().end()), op.strides, op.pads,
                                         op.dilations));
  const size_t spatial = window.kernel.size();
  if (op.output_padding.size() != spatial) {
    return bad(text_of("output_padding has ", op.output_padding.size(), " values, expected ", spatial));
  }
  window.small.assign(x.shape().begin() + 2, x.shape().end());
  for (size_t axis = 0; axis < spatial; ++axis) {
    const int64_t span = window.dilations[axis] * (window.kernel[axis] - 1) + 1;
    const int64_t extent = window.strides[axis] * (window.small[axis] - 1) + op.output_padding[axis] + span -
                           window.pads_begin[axis] - window.pads_end[axis];
    if (extent < 0 && window.small[axis] > 0) {
      return bad(text_of("spatial axis ", axis, " of the output would have the extent ", extent));
    }
    window.large.push_back(std::max<int64_t>(extent, 0));
  }
  if (op.groups < 1 || x.dim(1) != w.dim(0) || w.dim(0) % op.groups != 0) {
    return bad(text_of("input ", x.type_text(), " and weight ", w.type_text(), " do not fit ", op.groups,
                       " groups"));
  }
  if (call.has(2)) {
    FRIT_TRY(call.expect_same_dtype(0, 2));
    if (call.in(2).shape() != Extents{w.dim(1) * op.groups}) {
      return bad(text_of("bias is ", call.in(2).type_text(), ", expected [", w.dim(1) * op.groups, "]"));
    }
  }
  Problem p{std::move(window), x.dim(0), op.groups, x.dim(1) / op.groups, w.dim(1), 0, 0};
  p.pixels = product(p.window.small);
  p.plane = product(p.window.large);
  return p;
}

// One image of one group: y [out_channels, plane] += what each input pixel spreads over its window.
template <class C>
void spread(const Problem& p, const Call& call, int64_t n, int64_t g, std::vector<C>& y) {
  const int64_t taps = p.window.taps(), rows = p.out_channels * taps;  // a row: one output channel at one tap
  const int64_t block = block_extent(p.in_channels);
  std::vector<int64_t> offsets;
  std::vector<C> sums;
  for (int64_t p0 = 0; p0 < p.pixels; p0 += block) {
    const int64_t count = std::min(block, p.pixels - p0);
    p.window.find_offsets(p0, count, offsets);
    Panels<C> pixels(count, p.in_channels);
    for (int64_t c = 0; c < p.in_channels; ++c) {
      pixels.set_column(c, call.in(0), ((n * p.groups + g) * p.in_channels + c) * p.pixels + p0);
    }
    for (int64_t r0 = 0; r0 < rows; r0 += block) {
      const int64_t row_count = std::min(block, rows - r0);
      Panels<C> weights(row_count, p.in_channels);
      for (int64_t c = 0; c < p.in_channels; ++c) {
        weights.set_column(c, call.in(1), (g * p.in_channels + c) * rows + r0);
      }
      multiply(weights, pixels, sums);
      for (int64_t r = 0; r < row_count; ++r) {
        const int64_t channel = (r0 + r) / taps, tap = (r0 + r) % taps;
        for (int64_t i = 0; i < count; ++i) {
          const int64_t offset = offsets[static_cast<size_t>(tap * count + i)];
          if (offset >= 0)
            y[static_cast<size_t>(channel * p.plane + offset)] += sums[static_cast<size_t>(r * count + i)];
        }
      }
    }
  }
}

}  // namespace

Result<Outputs> run(const ConvTranspose& op, const Call& call) {
  FRIT_ASSIGN(const Problem p, describe(op, call));
  const HostTensor& x = call.in(0);
  Extents shape = {p.batch, p.out_channels * p.groups};
  shape.insert(shape.end(), p.window.large.begin(), p.window.large.end());
  FRIT_ASSIGN(HostTensor out, call.allocate(x.dtype(), shape));
  if (out.elements() == 0) return single(std::move(out));
  with_compute_type(x.dtype(), [&](auto tag) {
    using C = ProductType<typename decltype(tag)::type>;
    std::vector<C> bias(static_cast<size_t>(p.groups * p.out_channels), C{0});
    if (call.has(2)) load(call.in(2), 0, call.in(2).elements(), bias.data());
    const int64_t group_elements = p.out_channels * p.plane;
    call.parallel(p.batch * p.groups, [&](int64_t task) {
      const int64_t n = task / p.groups, g = task % p.groups;
      std::vector<C> y(static_cast<size_t>(group_elements), C{0});
      spread(p, call, n, g, y);
      for (int64_t i = 0; i < group_elements; ++i) {
        y[static_cast<size_t>(i)] += bias[static_cast<size_t>(g * p.out_channels + i / p.plane)];
      }
      store(out, task * group_elements, group_elements, y.data());
    });
  });
  return single(std::move(out));
}

}  // namespace frit::graph::eval
