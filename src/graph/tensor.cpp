#include "graph/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "graph/eval/element.h"

namespace frit::graph {

std::string extents_text(const Extents& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out += ',';
    out += std::to_string(shape[i]);
  }
  return out + "]";
}

Result<int64_t> checked_element_count(const Extents& shape) {
  // The limit holds for empty shapes too, counting an extent of 0 as 1, so that no product of extents
  // overflows; it leaves room for the element size.
  constexpr int64_t kMaxElements = int64_t{1} << 58;
  bool empty = false;
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 0)
      return make_error(Code::kInvalidArgument, "negative extent in shape " + extents_text(shape));
    empty |= extent == 0;
    const int64_t factor = std::max<int64_t>(extent, 1);
    if (factor > kMaxElements / count) {
      return make_error(Code::kInvalidArgument, "shape " + extents_text(shape) + " has too many elements");
    }
    count *= factor;
  }
  return empty ? 0 : count;
}

Result<HostTensor> HostTensor::allocate(DType dtype, Extents shape) {
  auto count = checked_element_count(shape);
  if (!count.ok()) return std::move(count).error();
  const size_t size = static_cast<size_t>(*count) * dtype_bytes(dtype);
  void* memory = std::calloc(size > 0 ? size : 1, 1);
  if (memory == nullptr) {
    return make_error(Code::kOutOfMemory, "no memory for " + std::string(dtype_name(dtype)) +
                                              extents_text(shape) + " (" + std::to_string(size) + " bytes)");
  }
  return view(dtype, std::move(shape), static_cast<const std::byte*>(memory),
              std::shared_ptr<const void>(memory, [](void* p) { std::free(p); }));
}

HostTensor HostTensor::view(DType dtype, Extents shape, const std::byte* bytes,
                            std::shared_ptr<const void> owner) {
  HostTensor out;
  out.dtype_ = dtype;
  out.elements_ = 1;
  for (int64_t extent : shape) out.elements_ *= extent;
  out.shape_ = std::move(shape);
  out.bytes_ = bytes;
  out.owner_ = std::move(owner);
  return out;
}

double HostTensor::as_double(int64_t i) const {
  double out = 0;
  eval::load(*this, i, 1, &out);
  return out;
}

int64_t HostTensor::as_int64(int64_t i) const {
  int64_t out = 0;
  eval::load(*this, i, 1, &out);
  return out;
}

std::vector<double> HostTensor::as_doubles() const {
  std::vector<double> out(static_cast<size_t>(elements_));
  eval::load(*this, 0, elements_, out.data());
  return out;
}

std::vector<int64_t> HostTensor::as_int64s() const {
  std::vector<int64_t> out(static_cast<size_t>(elements_));
  eval::load(*this, 0, elements_, out.data());
  return out;
}

HostTensor HostTensor::reshaped(Extents shape) const {
  return view(dtype_, std::move(shape), bytes_, owner_);
}

std::string HostTensor::type_text() const { return dtype_name(dtype_) + extents_text(shape_); }

Error value_count_mismatch(DType dtype, const Extents& shape, size_t count) {
  return make_error(Code::kInvalidArgument, std::to_string(count) + " values do not make a " +
                                                dtype_name(dtype) + extents_text(shape));
}

}  // namespace frit::graph
