// Index arithmetic on row-major tensors: strides, broadcasting, and walking a box with given strides.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "frit/result.h"
#include "graph/eval/element.h"
#include "graph/tensor.h"

namespace frit::graph::eval {

inline constexpr int64_t kChunk = 1024;  // elements per step of ops that convert runs to a compute type

Extents row_major_strides(const Extents& shape);

// The product of the extents of axes [first, last).
inline int64_t product(const Extents& shape, int64_t first, int64_t last) {
  int64_t out = 1;
  for (int64_t axis = first; axis < last; ++axis) out *= shape[static_cast<size_t>(axis)];
  return out;
}
inline int64_t product(const Extents& shape) { return product(shape, 0, static_cast<int64_t>(shape.size())); }

// [outer, extent, inner] of a shape seen from one axis: element (o, i, k) is at (o * extent + i) * inner + k.
struct AxisView {
  int64_t outer, extent, inner;
  AxisView(const Extents& shape, int64_t axis)
      : outer(product(shape, 0, axis)),
        extent(shape[static_cast<size_t>(axis)]),
        inner(product(shape, axis + 1, static_cast<int64_t>(shape.size()))) {}
};

// The common shape under numpy's rules, or an error that names both.
Result<Extents> broadcast_shapes(const Extents& a, const Extents& b);
// Whether a tensor of shape `from` broadcasts to exactly `to`.
bool broadcasts_to(const Extents& from, const Extents& to);
// Strides that walk a tensor of shape `from` in step with `to`: 0 where it is repeated. broadcasts_to(from,
// to).
Extents broadcast_strides(const Extents& from, const Extents& to);

// Walks a box in row-major order and keeps the offset that the coordinates have under `strides`.
class Walker {
 public:
  Walker(const Extents& shape, const Extents& strides, int64_t offset = 0)
      : shape_(shape), strides_(strides), coords_(shape.size(), 0), offset_(offset) {}
  int64_t offset() const { return offset_; }
  const Extents& coords() const { return coords_; }
  // Goes to the row-major position `index` of the box.
  void seek(int64_t index);
  void next() {
    for (size_t axis = shape_.size(); axis-- > 0;) {
      offset_ += strides_[axis];
      if (++coords_[axis] < shape_[axis]) return;
      offset_ -= strides_[axis] * shape_[axis];
      coords_[axis] = 0;
    }
  }

 private:
  Extents shape_, strides_, coords_;
  int64_t offset_;
};

// dst[i] = src[offset + strides . coordinates(i)] for the row-major elements i of a box; raw elements of
// `element_bytes` bytes.
void copy_strided(const std::byte* src, int64_t offset, const Extents& strides, const Extents& shape,
                  size_t element_bytes, std::byte* dst);

// dst element i = src element (sum over axes of offsets[axis][coordinate of i]); an axis offset of kNoSource
// leaves the element of dst as it is. `offsets[axis]` has shape[axis] entries.
inline constexpr int64_t kNoSource = -1;
void copy_by_axis_offsets(const std::byte* src, const std::vector<std::vector<int64_t>>& offsets,
                          const Extents& shape, size_t element_bytes, std::byte* dst);

// One operand of a pointwise op, read in step with the broadcast result.
class BroadcastReader {
 public:
  BroadcastReader(const HostTensor& tensor, const Extents& result_shape);
  // dst[i] = the operand's element for the result's element start + i; count <= kChunk.
  template <class C>
  void read(int64_t start, int64_t count, C* dst) {
    if (whole_) return load(tensor_, start, count, dst);
    if (tensor_.elements() == 1) {
      load(tensor_, 0, 1, dst);
      return std::fill(dst + 1, dst + count, dst[0]);
    }
    find_offsets(start, count);
    load_at(tensor_, offsets_.data(), count, dst);
  }

 private:
  void find_offsets(int64_t start, int64_t count);
  const HostTensor& tensor_;
  bool whole_;  // the same shape as the result
  Walker walker_;
  std::vector<int64_t> offsets_;
};

}  // namespace frit::graph::eval
