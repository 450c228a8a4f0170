#include "runtime/strided.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "base/try.h"

namespace frit::runtime {

namespace {

struct Axis {
  int64_t extent = 1, to = 0, from = 0;  // strides in bytes
};

template <class T>
void copy_row(std::byte* to, const std::byte* from, const Axis& axis) {
  for (int64_t i = 0; i < axis.extent; ++i) {
    T element;
    std::memcpy(&element, from, sizeof element);
    std::memcpy(to, &element, sizeof element);
    to += axis.to;
    from += axis.from;
  }
}

void copy_innermost(std::byte* to, const std::byte* from, const Axis& axis, size_t bytes) {
  const auto step = static_cast<int64_t>(bytes);
  if (axis.to == step && axis.from == step) {
    std::memcpy(to, from, static_cast<size_t>(axis.extent) * bytes);
  } else if (bytes == 4) {
    copy_row<uint32_t>(to, from, axis);
  } else if (bytes == 8) {
    copy_row<uint64_t>(to, from, axis);
  } else if (bytes == 2) {
    copy_row<uint16_t>(to, from, axis);
  } else {
    copy_row<uint8_t>(to, from, axis);
  }
}

}  // namespace

bool is_row_major(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  if (strides.empty()) return true;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return true;
  int64_t expected = 1;
  for (size_t k = shape.size(); k-- > 0;) {
    if (shape[k] != 1 && strides[k] != expected) return false;
    expected *= shape[k];
  }
  return true;
}

void copy_strided(std::byte* to, std::span<const int64_t> to_strides, const std::byte* from,
                  std::span<const int64_t> from_strides, std::span<const int64_t> shape,
                  size_t element_bytes) {
  std::array<Axis, kMaxRank> axes;
  size_t rank = 0;
  int64_t to_dense = 1, from_dense = 1;
  const auto bytes = static_cast<int64_t>(element_bytes);
  // Innermost first; axes that continue the one before are merged with it.
  for (size_t k = shape.size(); k-- > 0;) {
    if (shape[k] == 0) return;
    Axis axis{shape[k], (to_strides.empty() ? to_dense : to_strides[k]) * bytes,
              (from_strides.empty() ? from_dense : from_strides[k]) * bytes};
    to_dense *= shape[k];
    from_dense *= shape[k];
    if (axis.extent == 1) continue;
    if (rank > 0 && axis.to == axes[rank - 1].to * axes[rank - 1].extent &&
        axis.from == axes[rank - 1].from * axes[rank - 1].extent) {
      axes[rank - 1].extent *= axis.extent;
    } else {
      axes[rank++] = axis;
    }
  }
  if (rank == 0) axes[rank++] = {1, bytes, bytes};
  std::array<int64_t, kMaxRank> index{};
  for (;;) {
    copy_innermost(to, from, axes[0], element_bytes);
    size_t k = 1;
    for (; k < rank; ++k) {
      to += axes[k].to;
      from += axes[k].from;
      if (++index[k] < axes[k].extent) break;
      to -= axes[k].to * axes[k].extent;
      from -= axes[k].from * axes[k].extent;
      index[k] = 0;
    }
    if (k == rank) return;
  }
}

Status check_view(const TensorView& view, bool is_output, std::string_view what) {
  const auto fail = [&](const auto&... parts) {
    return make_error(Code::kInvalidArgument, base::text_of(what, " ", parts...));
  };
  const size_t rank = view.shape.size();
  if (rank > kMaxRank) return fail("has rank ", rank, ", expected at most ", kMaxRank);
  if (!view.strides.empty() && view.strides.size() != rank) {
    return fail("has ", view.strides.size(), " strides, expected ", rank);
  }
  if (static_cast<size_t>(view.dtype) > static_cast<size_t>(DType::kBool))
    return fail("has no valid element type");
  bool is_empty = false;
  for (const int64_t extent : view.shape) {
    if (extent < 0) return fail("has the negative extent ", extent);
    is_empty |= extent == 0;
  }
  if (is_empty) return {};
  if (!view.data) return fail("has no memory");
  if (!is_output) return {};
  if (view.read_only) return fail("is memory that must not be written");
  if (is_row_major(view.shape, view.strides)) return {};
  // Sorted by stride, each axis must step over all that the smaller ones reach.
  std::array<std::pair<uint64_t, uint64_t>, kMaxRank> axes;  // stride, extent
  size_t count = 0;
  for (size_t k = 0; k < rank; ++k) {
    if (view.shape[k] == 1) continue;
    const int64_t stride = view.strides[k];
    axes[count++] = {stride < 0 ? uint64_t{0} - static_cast<uint64_t>(stride) : static_cast<uint64_t>(stride),
                     static_cast<uint64_t>(view.shape[k])};
  }
  std::sort(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(count));
  uint64_t reach = 0;
  for (size_t k = 0; k < count; ++k) {
    if (axes[k].first <= reach) return fail("has strides by which elements share memory");
    reach += axes[k].first * (axes[k].second - 1);
  }
  return {};
}

}  // namespace frit::runtime
