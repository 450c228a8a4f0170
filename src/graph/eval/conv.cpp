#include <cmath>

#include "graph/eval/arith.h"
#include "graph/eval/call.h"
#include "graph/eval/index.h"
#include "graph/eval/product.h"
#include "graph/eval/window.h"

namespace frit::graph::eval {
namespace {

struct Problem {
  Window window;
  int64_t batch, groups, in_channels, out_channels;  // channels per group
  int64_t pixels, plane;                             // spatial elements of an output and of an input channel
  int64_t depth() const { return in_channels * window.taps(); }
};

Result<Problem> describe(const Conv& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(2, 3));
  FRIT_TRY(call.expect_same_dtype(0, 1));
  const HostTensor& x = call.in(0);
  const HostTensor& w = call.in(1);
  if (x.dtype() == DType::kBool) return bad("is not defined for bool");
  if (x.rank() < 3) return bad(text_of("input 0 is ", x.type_text(), ", expected rank 3 or more"));
  FRIT_TRY(call.expect_rank(1, x.rank()));
  FRIT_ASSIGN(Window window, make_window(Extents(w.shape().begin() + 2, w.shape().end()), op.strides, op.pads,
                                         op.dilations));
  window.large.assign(x.shape().begin() + 2, x.shape().end());
  FRIT_ASSIGN(window.small, count_windows(window));
  if (op.groups < 1 || w.dim(0) % op.groups != 0 || x.dim(1) != w.dim(1) * op.groups) {
    return bad(text_of("input ", x.type_text(), " and weight ", w.type_text(), " do not fit ", op.groups,
                       " groups"));
  }
  if (call.has(2)) {
    FRIT_TRY(call.expect_same_dtype(0, 2));
    if (call.in(2).shape() != Extents{w.dim(0)}) {
      return bad(text_of("bias is ", call.in(2).type_text(), ", expected [", w.dim(0), "]"));
    }
  }
  Problem p{std::move(window), x.dim(0), op.groups, w.dim(1), w.dim(0) / op.groups, 0, 0};
  p.pixels = product(p.window.small);
  p.plane = product(p.window.large);
  return p;
}

template <class C>
bool all_finite(const std::vector<C>& values) {
  if constexpr (std::is_same_v<C, double>) {
    return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
  }
  return true;
}

// One image: x [groups, in_channels, plane], w [groups, out_channels, depth], both converted.
template <class C>
class ImageConv {
 public:
  ImageConv(const Problem& problem, const std::vector<C>& x, const std::vector<C>& w, bool finite)
      : p_(problem), x_(x), w_(w), finite_(finite) {}

  // sums[o * count + i] of group g's output channels o0 ... and the `count` pixels that `offsets` belongs to.
  void block(int64_t g, int64_t o0, int64_t channels, int64_t count, const std::vector<int64_t>& offsets,
             std::vector<C>& sums) const {
    const C* x = x_.data() + g * p_.in_channels * p_.plane;
    const C* w = w_.data() + (g * p_.out_channels + o0) * p_.depth();
    // Padding is not part of the sum. As a zero it only shows where 0 * w is NaN: then its taps are really
    // left out. Packing also does not pay for fewer channels than a tile has rows.
    if (finite_ && channels >= kTile)
      packed(x, w, channels, count, offsets, sums);
    else
      direct(x, w, channels, count, offsets, sums);
  }

 private:
  void packed(const C* x, const C* w, int64_t channels, int64_t count, const std::vector<int64_t>& offsets,
              std::vector<C>& sums) const {
    Panels<C> weights(channels, p_.depth()), patches(count, p_.depth());
    for (int64_t o = 0; o < channels; ++o) {
      for (int64_t k = 0; k < p_.depth(); ++k) weights.at(o, k) = w[o * p_.depth() + k];
    }
    const int64_t taps = p_.window.taps();
    for (int64_t c = 0; c < p_.in_channels; ++c) {
      const C* plane = x + c * p_.plane;
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t* offset = offsets.data() + t * count;
        for (int64_t i = 0; i < count; ++i)
          patches.at(i, c * taps + t) = offset[i] < 0 ? C{0} : plane[offset[i]];
      }
    }
    multiply(weights, patches, sums);
  }

  void direct(const C* x, const C* w, int64_t channels, int64_t count, const std::vector<int64_t>& offsets,
              std::vector<C>& sums) const {
    sums.assign(static_cast<size_t>(channels * count), C{0});
    const int64_t taps = p_.window.taps();
    for (int64_t o = 0; o < channels; ++o) {
      C* row = sums.data() + o * count;
      for (int64_t c = 0; c < p_.in_channels; ++c) {
        for (int64_t t = 0; t < taps; ++t) {
          const int64_t* offset = offsets.data() + t * count;
          const C weight = w[o * p_.depth() + c * taps + t];
          for (int64_t i = 0; i < count; ++i) {
            if (offset[i] >= 0) row[i] += x[c * p_.plane + offset[i]] * weight;
          }
        }
      }
    }
  }

  const Problem& p_;
  const std::vector<C>& x_;
  const std::vector<C>& w_;
  bool finite_;
};

template <class C>
void convolve(const Problem& p, const Call& call, HostTensor& out) {
  const int64_t all_channels = p.groups * p.out_channels, image_elements = p.groups * p.in_channels * p.plane;
  std::vector<C> bias(static_cast<size_t>(all_channels), C{0});
  if (call.has(2)) load(call.in(2), 0, all_channels, bias.data());
  std::vector<C> w(static_cast<size_t>(all_channels * p.depth())), x(static_cast<size_t>(image_elements));
  load(call.in(1), 0, call.in(1).elements(), w.data());
  const bool finite = all_finite(w);
  const int64_t block = block_extent(p.depth());
  const int64_t channel_blocks = (p.out_channels + block - 1) / block,
                pixel_blocks = (p.pixels + block - 1) / block;
  // A task: one block of pixels, whose offsets are found once, and a share of the (group, channel block)
  // pairs.
  const int64_t pairs = p.groups * channel_blocks, shares = std::min<int64_t>(pairs, 8);
  for (int64_t n = 0; n < p.batch; ++n) {
    load(call.in(0), n * image_elements, image_elements, x.data());
    const ImageConv<C> conv(p, x, w, finite);
    call.parallel(shares * pixel_blocks, [&](int64_t task) {
      const int64_t share = task / pixel_blocks, p0 = task % pixel_blocks * block,
                    count = std::min(block, p.pixels - p0);
      std::vector<int64_t> offsets;
      std::vector<C> sums;
      p.window.find_offsets(p0, count, offsets);
      for (int64_t pair = pairs * share / shares; pair < pairs * (share + 1) / shares; ++pair) {
        const int64_t g = pair / channel_blocks, o0 = pair % channel_blocks * block;
        const int64_t channels = std::min(block, p.out_channels - o0);
        conv.block(g, o0, channels, count, offsets, sums);
        for (int64_t o = 0; o < channels; ++o) {
          const int64_t channel = g * p.out_channels + o0 + o;
          C* row = sums.data() + o * count;
          for (int64_t i = 0; i < count; ++i) row[i] += bias[static_cast<size_t>(channel)];
          store(out, (n * all_channels + channel) * p.pixels + p0, count, row);
        }
      }
    });
  }
}

}  // namespace

Result<Outputs> run(const Conv& op, const Call& call) {
  FRIT_ASSIGN(const Problem problem, describe(op, call));
  const HostTensor& x = call.in(0);
  Extents shape = {x.dim(0), call.in(1).dim(0)};
  shape.insert(shape.end(), problem.window.small.begin(), problem.window.small.end());
  FRIT_ASSIGN(HostTensor out, call.allocate(x.dtype(), shape));
  if (out.elements() == 0) return single(std::move(out));
  with_compute_type(
      x.dtype(), [&](auto tag) { convolve<ProductType<typename decltype(tag)::type>>(problem, call, out); });
  return single(std::move(out));
}

}  // namespace frit::graph::eval
