#include "graph/eval/window.h"

#include "base/text.h"
#include "base/try.h"
#include "graph/eval/index.h"

namespace frit::graph::eval {
namespace {

Status expect_count(const char* name, const std::vector<int64_t>& values, size_t expected, size_t rank) {
  if (values.size() == expected) return {};
  return make_error(Code::kInvalidArgument, base::text_of(name, " has ", values.size(), " values, expected ",
                                                          expected, " for ", rank, " spatial axes"));
}

Status expect_positive(const char* name, const std::vector<int64_t>& values) {
  for (int64_t value : values) {
    if (value < 1 || value > INT32_MAX) {
      return make_error(Code::kInvalidArgument,
                        base::text_of(name, " has the value ", value, ", expected 1 to 2^31-1"));
    }
  }
  return {};
}

}  // namespace

int64_t Window::taps() const { return product(kernel); }

void Window::find_offsets(int64_t first, int64_t count, std::vector<int64_t>& offsets) const {
  const Extents large_strides = row_major_strides(large);
  const Extents unused(kernel.size(), 0);
  offsets.resize(static_cast<size_t>(taps() * count));
  Walker position(small, unused);
  position.seek(first);
  for (int64_t i = 0; i < count; ++i, position.next()) {
    Walker tap(kernel, unused);
    for (int64_t t = 0; t < taps(); ++t, tap.next()) {
      int64_t offset = 0;
      for (size_t axis = 0; axis < kernel.size(); ++axis) {
        const int64_t at =
            position.coords()[axis] * strides[axis] - pads_begin[axis] + tap.coords()[axis] * dilations[axis];
        if (at < 0 || at >= large[axis]) {
          offset = -1;
          break;
        }
        offset += at * large_strides[axis];
      }
      offsets[static_cast<size_t>(t * count + i)] = offset;
    }
  }
}

Result<Window> make_window(const Extents& kernel, const std::vector<int64_t>& strides,
                           const std::vector<int64_t>& pads, const std::vector<int64_t>& dilations) {
  const size_t rank = kernel.size();
  FRIT_TRY(expect_count("strides", strides, rank, rank));
  FRIT_TRY(expect_count("dilations", dilations, rank, rank));
  FRIT_TRY(expect_count("pads", pads, 2 * rank, rank));
  FRIT_TRY(expect_positive("the kernel", kernel));
  FRIT_TRY(expect_positive("strides", strides));
  FRIT_TRY(expect_positive("dilations", dilations));
  for (int64_t pad : pads) {
    if (pad < INT32_MIN || pad > INT32_MAX) {
      return make_error(Code::kInvalidArgument,
                        base::text_of("pads has the value ", pad, ", expected 32 bits"));
    }
  }
  FRIT_ASSIGN(const int64_t taps, checked_element_count(kernel));
  if (taps > int64_t{1} << 40) {
    return make_error(Code::kInvalidArgument,
                      base::text_of("the kernel ", extents_text(kernel), " is too large"));
  }
  Window window;
  window.kernel = kernel;
  window.strides = strides;
  window.dilations = dilations;
  window.pads_begin.assign(pads.begin(), pads.begin() + static_cast<int64_t>(rank));
  window.pads_end.assign(pads.begin() + static_cast<int64_t>(rank), pads.end());
  return window;
}

Result<Extents> count_windows(const Window& window) {
  Extents out;
  for (size_t axis = 0; axis < window.kernel.size(); ++axis) {
    const int64_t span = window.dilations[axis] * (window.kernel[axis] - 1) + 1;
    const int64_t room = window.large[axis] + window.pads_begin[axis] + window.pads_end[axis] - span;
    const int64_t stride = window.strides[axis];
    const int64_t count = (room >= 0 ? room / stride : -((-room + stride - 1) / stride)) + 1;
    if (count < 0) {
      return make_error(Code::kInvalidArgument,
                        base::text_of("the dilated kernel spans ", span, " elements of spatial axis ", axis,
                                      ", which has ", window.large[axis], " and ",
                                      window.pads_begin[axis] + window.pads_end[axis], " of padding"));
    }
    out.push_back(count);
  }
  return out;
}

}  // namespace frit::graph::eval
