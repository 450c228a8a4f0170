// From a parsed object to the bytes that run at an address: layout and relocation, all inside the object.
//
// Second step of loading. A kernel has no external symbols, no global offset table, no writable data and no
// thread locals; whatever does not fit is an error that names symbol, section or relocation. An image is laid
// out as code, read-only data, unwind table. It must not know how memory becomes executable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device/elf_object.h"
#include "frit/result.h"

namespace frit::device {

// Larger objects are refused: a kernel has some kilobytes.
inline constexpr uint64_t kMaxImageBytes = uint64_t{64} << 20;
// The strictest alignment that a section may ask for.
inline constexpr uint64_t kImageAlignment = 4096;

struct ImageSymbol {
  std::string name;
  uint64_t offset = 0;
  uint64_t size_bytes = 0;
  bool is_function = false;
};

struct ImageLayout {
  static constexpr uint64_t kNotLoaded = ~uint64_t{0};

  uint64_t size_bytes = 0;
  uint64_t code_bytes = 0;                // [0, code_bytes) is code
  std::vector<uint64_t> section_offsets;  // per section; kNotLoaded for those that only tools read
  uint64_t unwind_offset = 0;             // of .eh_frame, whose terminator is part of the image
  uint64_t unwind_bytes = 0;              // without the terminator; 0 when there is no unwind table
  std::vector<ImageSymbol> symbols;       // global, sorted by name
};

// Where everything goes. Refuses undefined symbols, writable sections and what else a kernel must not have.
Result<ImageLayout> lay_out(const ElfObject& object);

// Writes the image that will run at `address` (a multiple of kImageAlignment) to `out` of layout.size_bytes
// zeroed bytes. Refuses relocations that it does not know or that do not reach, and unwind tables that an
// unwinder could trip over.
Status write_image(const ElfObject& object, const ImageLayout& layout, uint64_t address,
                   std::span<std::byte> out);

}  // namespace frit::device
