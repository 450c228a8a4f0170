// The parts of an ELF64 relocatable object that the loader needs, read with every bound checked.
//
// First step of loading (elf_object -> elf_image -> object_loader). Bytes come from a cache file or a pack
// and may be anything: parse_elf never reads outside of them and never takes time or memory out of proportion
// to their size. It must not know how code gets into memory, and it judges form only: elf_image decides what
// is supported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "device/target.h"
#include "frit/result.h"

namespace frit::device {

struct ElfSection {
  std::string_view name;
  uint32_t type = 0;   // SHT_*
  uint64_t flags = 0;  // SHF_*
  uint64_t align = 1;  // a power of two
  uint64_t size = 0;
  std::span<const std::byte> bytes;  // `size` bytes; empty for SHT_NOBITS
};

struct ElfSymbol {
  std::string_view name;
  uint16_t section = 0;  // SHN_UNDEF, SHN_ABS, SHN_COMMON or an index of a section
  uint8_t type = 0;      // STT_*
  uint8_t binding = 0;   // STB_*
  uint64_t value = 0;    // offset in the section, at most its size
  uint64_t size = 0;
};

struct ElfRelocation {
  uint32_t section = 0;  // that is patched
  uint32_t type = 0;
  uint32_t symbol = 0;  // index of a symbol
  uint64_t offset = 0;  // in the section
  int64_t addend = 0;
};

// Views into the bytes that it was parsed from.
struct ElfObject {
  Arch arch = Arch::kX86_64;
  std::vector<ElfSection> sections;  // [0] is the null section
  std::vector<ElfSymbol> symbols;    // [0] is the null symbol; empty when there is no symbol table
  std::vector<ElfRelocation> relocations;
};

// Errors are `corrupt` for bytes that are no well-formed object, `unsupported` for forms of ELF that no
// compiler writes for a small x86-64 or AArch64 object.
Result<ElfObject> parse_elf(std::span<const std::byte> bytes);

}  // namespace frit::device
