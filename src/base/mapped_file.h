// MappedFile: the bytes of a file, read-only, for as long as the object lives; mapped when they come from a
// file system, owned when they come from a test or from memory. Zero bytes are fine.
//
// The bytes stay valid when the file is renamed or deleted. A file that someone truncates while it is mapped
// faults on access (SIGBUS), as with every mapping: what frit itself writes is replaced by rename, never cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "frit/result.h"

namespace frit::base {

class MappedFile {
 public:
  MappedFile() = default;  // zero bytes
  MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() { release(); }

  static Result<MappedFile> open(const std::string& path);
  static MappedFile from_bytes(std::string bytes);

  const std::byte* data() const { return data_; }
  size_t size_bytes() const { return size_bytes_; }
  std::span<const std::byte> bytes() const { return {data_, size_bytes_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_bytes_}; }

  // Tells the kernel that [offset, offset + count) will not be read again soon, so that its pages need not
  // stay in memory. A hint: reading them later still works.
  void drop_pages(size_t offset_bytes, size_t count_bytes) const;

 private:
  void release();

  const std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
  bool mapped_ = false;
  std::unique_ptr<std::string> owned_;  // behind a pointer, so that moving leaves data_ right
};

}  // namespace frit::base
