// HostTensor: element type, concrete shape and row-major bytes in host memory; what the evaluator computes
// with.
//
// Also the currency of constant folding, file inputs and test comparisons. Copies share the bytes. It owns
// them, or views memory that somebody keeps alive (a mapped model file, the caller's array), which may be
// unaligned: so elements are read through memcpy. It must not know graphs, layouts or devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/half.h"
#include "frit/dtype.h"
#include "frit/result.h"

namespace frit::graph {

using Extents = std::vector<int64_t>;

std::string extents_text(const Extents& shape);  // "[1,3,224,224]"
// The product of the extents; an error when one is negative or the product of the others than 0 exceeds 2^58.
Result<int64_t> checked_element_count(const Extents& shape);

class HostTensor {
 public:
  HostTensor() = default;  // f32[0]

  // Zero-filled and owned. Errors: negative or overflowing extents, no memory.
  static Result<HostTensor> allocate(DType dtype, Extents shape);
  // A view of existing bytes; `owner` keeps them alive, or is empty where the caller does. The extents must
  // be valid.
  static HostTensor view(DType dtype, Extents shape, const std::byte* bytes,
                         std::shared_ptr<const void> owner = {});
  // Copies `values`, whose count must be the shape's (checked). T is the element's C++ type; f16, bf16 are
  // uint16_t bits, bool is uint8_t or bool.
  template <class T>
  static Result<HostTensor> of(DType dtype, Extents shape, const std::vector<T>& values);

  DType dtype() const { return dtype_; }
  const Extents& shape() const { return shape_; }
  int64_t rank() const { return static_cast<int64_t>(shape_.size()); }
  int64_t dim(int64_t axis) const { return shape_[static_cast<size_t>(axis)]; }
  int64_t elements() const { return elements_; }
  size_t size_bytes() const { return static_cast<size_t>(elements_) * dtype_bytes(dtype_); }
  const std::byte* bytes() const { return bytes_; }
  // Only for tensors that were just allocated: the bytes are shared with every copy.
  std::byte* mutable_bytes() { return const_cast<std::byte*>(bytes_); }
  const std::shared_ptr<const void>& owner() const { return owner_; }

  // The raw element i; T must have the element's size.
  template <class T>
  T at(int64_t i) const {
    T value;
    std::memcpy(&value, bytes_ + static_cast<size_t>(i) * sizeof(T), sizeof(T));
    return value;
  }
  template <class T>
  std::vector<T> values() const {
    std::vector<T> out(static_cast<size_t>(elements_));
    if (elements_ > 0) std::memcpy(out.data(), bytes_, size_bytes());
    return out;
  }

  // Element i converted: to double (exact but for 64-bit integers), or to int64 (floats truncate as Cast
  // does).
  double as_double(int64_t i) const;
  int64_t as_int64(int64_t i) const;
  std::vector<int64_t> as_int64s() const;
  std::vector<double> as_doubles() const;

  // The same bytes under another shape of equal element count (the caller has checked it).
  HostTensor reshaped(Extents shape) const;
  std::string type_text() const;  // "f32[1,3]"

 private:
  DType dtype_ = DType::kF32;
  Extents shape_ = {0};
  int64_t elements_ = 0;
  const std::byte* bytes_ = nullptr;
  std::shared_ptr<const void> owner_;
};

Error value_count_mismatch(DType dtype, const Extents& shape, size_t count);

template <class T>
Result<HostTensor> HostTensor::of(DType dtype, Extents shape, const std::vector<T>& values) {
  auto count = checked_element_count(shape);
  if (!count.ok()) return std::move(count).error();
  if (static_cast<size_t>(*count) != values.size() || sizeof(T) != dtype_bytes(dtype)) {
    return value_count_mismatch(dtype, shape, values.size());
  }
  auto tensor = allocate(dtype, std::move(shape));
  if (!tensor.ok()) return tensor;
  for (size_t i = 0; i < values.size(); ++i) {  // element by element: vector<bool> has no data()
    const T value = values[i];
    std::memcpy(tensor->mutable_bytes() + i * sizeof(T), &value, sizeof(T));
  }
  return tensor;
}

}  // namespace frit::graph
