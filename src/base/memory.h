// Memory for tensors and tests.
//
// AlignedBuffer: what arenas, weights and scratch live in: 64-byte or 2 MiB aligned, advised to use huge
// pages. GuardedBuffer: for tests and for checking a kernel before it is trusted: data against a page without
// access, so that a read or write past it faults even in code that sanitizers do not see, and canaries in the
// gap that alignment leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "frit/result.h"

namespace frit::base {

inline constexpr size_t kCacheLineBytes = 64;
inline constexpr size_t kHugePageBytes = size_t{2} << 20;

// Bytes obtained from mmap; unmapped at the end.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept { *this = std::move(other); }
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  // Zeroed, page aligned, private.
  static Result<Mapping> make(size_t size_bytes);

  std::byte* data() const { return data_; }
  size_t size_bytes() const { return size_bytes_; }

 private:
  std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
};

class AlignedBuffer {
 public:
  struct Options {
    size_t alignment = kCacheLineBytes;  // a power of two
    bool huge_pages = false;             // aligns to 2 MiB too; a hint, no error where the kernel has none
  };

  AlignedBuffer() = default;  // zero bytes
  AlignedBuffer(AlignedBuffer&& other) noexcept { *this = std::move(other); }
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;

  // Zeroed. Errors: kInvalidArgument (alignment), kOutOfMemory.
  static Result<AlignedBuffer> make(size_t size_bytes, Options options);
  static Result<AlignedBuffer> make(size_t size_bytes) { return make(size_bytes, Options()); }

  std::byte* data() const { return data_; }
  size_t size_bytes() const { return size_bytes_; }
  std::span<std::byte> bytes() const { return {data_, size_bytes_}; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  Mapping mapping_;
  std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
};

enum class GuardSide { kFront, kEnd };

class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  GuardedBuffer(GuardedBuffer&& other) noexcept { *this = std::move(other); }
  GuardedBuffer& operator=(GuardedBuffer&& other) noexcept;

  // kFront: data begins on the first byte after a page without access. kEnd: data ends as near before such a
  // page as the alignment allows, so that it is aligned to no more than that unless its size makes it so. The
  // other side has such a page too, less near. The data is filled with 0xff bytes (NaN in every float type,
  // -1 in every signed integer).
  static Result<GuardedBuffer> make(size_t size_bytes, size_t alignment, GuardSide side);

  std::byte* data() const { return data_; }
  size_t size_bytes() const { return size_bytes_; }
  std::span<std::byte> bytes() const { return {data_, size_bytes_}; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

  void fill_poison() const;  // 0xff again

  // kInternal when a canary was overwritten: says how far before or after the data.
  Status check() const;

 private:
  Mapping mapping_;
  std::byte* open_begin_ = nullptr;  // the accessible bytes between the two closed pages
  std::byte* open_end_ = nullptr;
  std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
};

}  // namespace frit::base
