#include "graph/eval/index.h"

#include "base/text.h"

namespace frit::graph::eval {

Extents row_major_strides(const Extents& shape) {
  Extents out(shape.size());
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    out[axis] = stride;
    stride *= shape[axis];
  }
  return out;
}

Result<Extents> broadcast_shapes(const Extents& a, const Extents& b) {
  const size_t rank = std::max(a.size(), b.size());
  Extents out(rank, 1);
  for (size_t i = 0; i < rank; ++i) {  // i counts axes from the last
    const int64_t ea = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t eb = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (ea != eb && ea != 1 && eb != 1) {
      return make_error(Code::kInvalidArgument, base::text_of("shapes ", extents_text(a), " and ",
                                                              extents_text(b), " do not broadcast"));
    }
    out[rank - 1 - i] = ea == 1 ? eb : ea;
  }
  return out;
}

bool broadcasts_to(const Extents& from, const Extents& to) {
  if (from.size() > to.size()) return false;
  const size_t shift = to.size() - from.size();
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] != 1 && from[axis] != to[shift + axis]) return false;
  }
  return true;
}

Extents broadcast_strides(const Extents& from, const Extents& to) {
  const Extents own = row_major_strides(from);
  const size_t shift = to.size() - from.size();
  Extents out(to.size(), 0);
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] != 1) out[shift + axis] = own[axis];
  }
  return out;
}

void Walker::seek(int64_t index) {
  for (size_t axis = shape_.size(); axis-- > 0;) {
    const int64_t coord = index % shape_[axis];
    index /= shape_[axis];
    offset_ += (coord - coords_[axis]) * strides_[axis];
    coords_[axis] = coord;
  }
}

namespace {

template <class T>
void copy_elements(const std::byte* src, int64_t offset, const Extents& strides, const Extents& shape,
                   std::byte* dst) {
  const int64_t count = product(shape);
  if (count == 0) return;
  const int64_t run = shape.empty() ? 1 : shape.back();
  const int64_t step = shape.empty() ? 0 : strides.back();
  const Extents outer_shape(shape.begin(), shape.end() - (shape.empty() ? 0 : 1));
  const Extents outer_strides(strides.begin(), strides.end() - (strides.empty() ? 0 : 1));
  Walker walker(outer_shape, outer_strides, offset);
  for (int64_t done = 0; done < count; done += run, walker.next()) {
    std::byte* to = dst + static_cast<size_t>(done) * sizeof(T);
    for (int64_t i = 0; i < run; ++i) {
      // offsets are counted from src, and may step backwards
      std::memcpy(to + static_cast<size_t>(i) * sizeof(T),
                  src + (walker.offset() + i * step) * static_cast<int64_t>(sizeof(T)), sizeof(T));
    }
  }
}

}  // namespace

void copy_strided(const std::byte* src, int64_t offset, const Extents& strides, const Extents& shape,
                  size_t element_bytes, std::byte* dst) {
  switch (element_bytes) {
    case 1:
      return copy_elements<uint8_t>(src, offset, strides, shape, dst);
    case 2:
      return copy_elements<uint16_t>(src, offset, strides, shape, dst);
    case 4:
      return copy_elements<uint32_t>(src, offset, strides, shape, dst);
    default:
      return copy_elements<uint64_t>(src, offset, strides, shape, dst);
  }
}

void copy_by_axis_offsets(const std::byte* src, const std::vector<std::vector<int64_t>>& offsets,
                          const Extents& shape, size_t element_bytes, std::byte* dst) {
  const int64_t count = product(shape);
  Walker walker(shape, Extents(shape.size(), 0));
  for (int64_t i = 0; i < count; ++i, walker.next()) {
    int64_t offset = 0;
    bool has_source = true;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const int64_t part = offsets[axis][static_cast<size_t>(walker.coords()[axis])];
      has_source &= part != kNoSource;
      offset += part;
    }
    if (has_source) {
      std::memcpy(dst + static_cast<size_t>(i) * element_bytes,
                  src + static_cast<size_t>(offset) * element_bytes, element_bytes);
    }
  }
}

BroadcastReader::BroadcastReader(const HostTensor& tensor, const Extents& result_shape)
    : tensor_(tensor),
      whole_(tensor.elements() == product(result_shape)),
      walker_(result_shape, broadcast_strides(tensor.shape(), result_shape)) {
  if (!whole_ && tensor.elements() > 1) offsets_.resize(kChunk);
}

void BroadcastReader::find_offsets(int64_t start, int64_t count) {
  walker_.seek(start);
  for (int64_t i = 0; i < count; ++i, walker_.next()) offsets_[static_cast<size_t>(i)] = walker_.offset();
}

}  // namespace frit::graph::eval
