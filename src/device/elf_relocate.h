// One relocation: the table of those that code without external symbols needs, per architecture.
//
// Called by elf_image. References: the psABI of x86-64, section 4.4, and ELF for the Arm 64-bit
// Architecture, 5.7.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/target.h"
#include "frit/result.h"

namespace frit::device {

struct RelocationSite {
  std::span<std::byte> bytes;   // the section as it will be loaded
  uint64_t offset = 0;          // of the patched place in it; any value
  uint64_t address = 0;         // the patched place's run-time address (P)
  bool has_symbol = false;      // false: the symbol is not part of the image
  uint64_t symbol_address = 0;  // S
  int64_t addend = 0;           // A
};

// Errors: unsupported for types without a row, corrupt for places outside of the section and values out of
// range.
Status apply_relocation(Arch arch, uint32_t type, const RelocationSite& site);

}  // namespace frit::device
