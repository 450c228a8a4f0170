// TensorView: a tensor in the caller's memory. Tensor: one that owns its memory.
//
// What goes into Session::run and comes out of it. Shapes are in elements, outermost dimension first; a
// scalar has no dimensions. Both are plain values without locks: one thread at a time, or read-only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "frit/dtype.h"
#include "frit/result.h"
#include "frit/version.h"

namespace frit {
inline namespace FRIT_ABI {

// The element type that a C++ type stands for. There is none for f16 and bf16: say them by name, with memory
// of uint16_t.
template <class T>
constexpr DType dtype_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, float>)
    return DType::kF32;
  else if constexpr (std::is_same_v<U, double>)
    return DType::kF64;
  else if constexpr (std::is_same_v<U, bool>)
    return DType::kBool;
  else {
    static_assert(std::is_integral_v<U> && sizeof(U) <= 8, "no element type for this C++ type");
    constexpr DType kSigned[] = {DType::kI8, DType::kI16, DType::kI32, DType::kI64};
    constexpr DType kUnsigned[] = {DType::kU8, DType::kU16, DType::kU32, DType::kU64};
    constexpr int k = sizeof(U) == 1 ? 0 : sizeof(U) == 2 ? 1 : sizeof(U) == 4 ? 2 : 3;
    return std::is_signed_v<U> ? kSigned[k] : kUnsigned[k];
  }
}

// "[1,3,224,224]"
FRIT_EXPORT std::string shape_text(std::span<const int64_t> shape);
// The product of the extents, 1 for a scalar. Errors: kInvalidArgument when one is negative or the product is
// too large for any machine.
FRIT_EXPORT Result<int64_t> element_count(std::span<const int64_t> shape);

// Does not own. Whoever made it keeps the memory alive for as long as it is in use.
struct TensorView {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  void* data = nullptr;  // of the element with all indices 0; any alignment; may be null when there are none
  // In elements, one per dimension, may be 0 or negative; empty: row-major without gaps, which costs no copy.
  std::vector<int64_t> strides;
  bool read_only = false;  // run() refuses it as an output

  // Row-major memory of at least as many elements as the shape has.
  template <class T>
  static TensorView of(T* data, std::vector<int64_t> shape) {
    return {dtype_of<T>(), std::move(shape), const_cast<std::remove_cv_t<T>*>(data), {}, std::is_const_v<T>};
  }
};

// Row-major memory of its own, aligned to 64 bytes. Movable; clone() copies.
class Tensor {
 public:
  Tensor() = default;  // f32[0], no memory

  // Filled with zeros. Errors: kInvalidArgument (the shape), kOutOfMemory.
  FRIT_EXPORT static Result<Tensor> allocate(DType dtype, std::vector<int64_t> shape);
  // A row-major copy of what the view shows. Errors as above, or a malformed view.
  FRIT_EXPORT static Result<Tensor> copy_of(const TensorView& view);
  template <class T>
  static Result<Tensor> of(const std::vector<T>& values, std::vector<int64_t> shape) {
    return copy_of_values(dtype_of<T>(), values.data(), values.size(), std::move(shape));
  }

  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(Tensor&&) noexcept = default;
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  Result<Tensor> clone() const { return copy_of(view()); }

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t elements() const { return elements_; }
  size_t size_bytes() const { return static_cast<size_t>(elements_) * dtype_bytes(dtype_); }
  std::byte* bytes() { return static_cast<std::byte*>(memory_.get()); }
  const std::byte* bytes() const { return static_cast<const std::byte*>(memory_.get()); }

  // All elements; empty when T is not of the element's size.
  template <class T>
  std::span<T> values() {
    return sizeof(T) == dtype_bytes(dtype_) ? std::span<T>(reinterpret_cast<T*>(bytes()), count())
                                            : std::span<T>();
  }
  template <class T>
  std::span<const T> values() const {
    return sizeof(T) == dtype_bytes(dtype_) ? std::span<const T>(reinterpret_cast<const T*>(bytes()), count())
                                            : std::span<const T>();
  }

  // Valid while this tensor lives and is not moved to.
  TensorView view() { return {dtype_, shape_, memory_.get(), {}, false}; }
  TensorView view() const { return {dtype_, shape_, memory_.get(), {}, true}; }

 private:
  FRIT_EXPORT static Result<Tensor> copy_of_values(DType dtype, const void* values, size_t count,
                                                   std::vector<int64_t> shape);
  size_t count() const { return static_cast<size_t>(elements_); }

  DType dtype_ = DType::kF32;
  std::vector<int64_t> shape_ = {0};
  int64_t elements_ = 0;
  std::shared_ptr<void> memory_;
};

}  // namespace FRIT_ABI
}  // namespace frit
