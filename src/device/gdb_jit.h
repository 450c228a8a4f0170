// Tells a debugger about generated code, by GDB's JIT interface (also read by LLDB): an object file in memory
// whose section addresses say where the code is.
//
// By option only: the interface is one list per process, guarded here by one lock. It must not outlive the
// code that it describes: the registration is a member of LoadedObject.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "device/elf_image.h"

namespace frit::device {

class GdbRegistration {
 public:
  GdbRegistration();  // describes nothing
  // Copies the object; `bytes` parsed well and gave `layout`, its image lies at `address`.
  GdbRegistration(std::span<const std::byte> bytes, const ImageLayout& layout, uint64_t address);
  GdbRegistration(GdbRegistration&&) noexcept;
  GdbRegistration& operator=(GdbRegistration&&) noexcept;
  ~GdbRegistration();

 private:
  struct Entry;
  std::unique_ptr<Entry> entry_;
};

}  // namespace frit::device
