#include "device/elf_image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "base/try.h"
#include "device/eh_frame.h"
#include "device/elf_relocate.h"

namespace frit::device {

namespace {

using base::quoted;
using base::text_of;

// What assemblers for x86-64 may call the type of .eh_frame (SHT_X86_64_UNWIND of the psABI).
constexpr uint32_t kUnwindType = 0x70000001;
constexpr uint64_t kTerminatorBytes = 4;

template <class... Parts>
Error refused(const Parts&... parts) {
  return make_error(Code::kUnsupported, text_of("object: ", parts...));
}

enum class Part { kCode, kData, kUnwind, kNone };

Result<Part> part_of(const ElfSection& section) {
  if (!(section.flags & SHF_ALLOC) || section.size == 0 || section.type == SHT_NOTE) return Part::kNone;
  if (section.flags & SHF_TLS) return refused("section ", quoted(section.name), " is thread local");
  // .data.rel.ro holds addresses: constant once they are filled in.
  if ((section.flags & SHF_WRITE) && !section.name.starts_with(".data.rel.ro")) {
    return refused("section ", quoted(section.name), " is writable, kernels hold no state");
  }
  if (section.align > kImageAlignment) {
    return refused("section ", quoted(section.name), " is aligned to ", section.align, ", expected at most ",
                   kImageAlignment);
  }
  if (section.name == ".eh_frame" && (section.type == SHT_PROGBITS || section.type == kUnwindType)) {
    return Part::kUnwind;
  }
  if (section.type != SHT_PROGBITS) {
    return refused("section ", quoted(section.name), " has type ", section.type);
  }
  return section.flags & SHF_EXECINSTR ? Part::kCode : Part::kData;
}

Status check_symbols(const ElfObject& object) {
  for (size_t i = 1; i < object.symbols.size(); ++i) {
    const ElfSymbol& symbol = object.symbols[i];
    if (symbol.section == SHN_UNDEF) return refused("undefined symbol ", quoted(symbol.name));
    if (symbol.section == SHN_COMMON) return refused("symbol ", quoted(symbol.name), " is a common block");
    if (symbol.type == STT_TLS) return refused("symbol ", quoted(symbol.name), " is thread local");
    if (symbol.type == STT_GNU_IFUNC) return refused("symbol ", quoted(symbol.name), " needs a resolver");
  }
  return {};
}

void collect_symbols(const ElfObject& object, ImageLayout& layout) {
  for (const ElfSymbol& symbol : object.symbols) {
    if (symbol.binding != STB_GLOBAL && symbol.binding != STB_WEAK) continue;
    if (symbol.section == SHN_UNDEF || symbol.section >= object.sections.size()) continue;
    const uint64_t offset = layout.section_offsets[symbol.section];
    if (offset == ImageLayout::kNotLoaded) continue;
    layout.symbols.push_back(
        {std::string(symbol.name), offset + symbol.value, symbol.size, symbol.type == STT_FUNC});
  }
  std::sort(layout.symbols.begin(), layout.symbols.end(),
            [](const ImageSymbol& a, const ImageSymbol& b) { return a.name < b.name; });
}

}  // namespace

Result<ImageLayout> lay_out(const ElfObject& object) {
  std::vector<Part> parts;
  for (const ElfSection& section : object.sections) {
    FRIT_ASSIGN(const Part part, part_of(section));
    parts.push_back(part);
  }
  FRIT_TRY(check_symbols(object));

  ImageLayout layout;
  layout.section_offsets.assign(object.sections.size(), ImageLayout::kNotLoaded);
  uint64_t end = 0;
  for (Part part : {Part::kCode, Part::kData, Part::kUnwind}) {
    for (size_t i = 0; i < object.sections.size(); ++i) {
      if (parts[i] != part) continue;
      const ElfSection& section = object.sections[i];
      end = (end + section.align - 1) & ~(section.align - 1);
      if (part == Part::kUnwind) {
        if (layout.unwind_bytes != 0) return refused("two sections \".eh_frame\"");
        layout.unwind_offset = end;
        layout.unwind_bytes = section.size;
      }
      layout.section_offsets[i] = end;
      end += section.size;
      if (end > kMaxImageBytes) return refused("more than ", kMaxImageBytes, " bytes to load");
    }
    if (part == Part::kCode) layout.code_bytes = end;
  }
  if (layout.code_bytes == 0) return refused("no code");
  if (layout.unwind_bytes != 0) end += kTerminatorBytes;
  layout.size_bytes = end;
  collect_symbols(object, layout);
  return layout;
}

Status write_image(const ElfObject& object, const ImageLayout& layout, uint64_t address,
                   std::span<std::byte> out) {
  for (size_t i = 0; i < object.sections.size(); ++i) {
    if (layout.section_offsets[i] == ImageLayout::kNotLoaded) continue;
    const std::span<const std::byte> bytes = object.sections[i].bytes;
    std::memcpy(out.data() + layout.section_offsets[i], bytes.data(), bytes.size());
  }
  for (const ElfRelocation& relocation : object.relocations) {
    const uint64_t section_offset = layout.section_offsets[relocation.section];
    if (section_offset == ImageLayout::kNotLoaded) continue;
    const ElfSymbol& symbol = object.symbols[relocation.symbol];
    const std::string_view name = symbol.type == STT_SECTION && symbol.section < object.sections.size()
                                      ? object.sections[symbol.section].name
                                      : symbol.name;
    const ElfSection& section = object.sections[relocation.section];
    RelocationSite site;
    site.bytes = out.subspan(section_offset, section.size);
    site.offset = relocation.offset;
    site.address = address + section_offset + relocation.offset;
    site.has_symbol = symbol.section != SHN_UNDEF && symbol.section < object.sections.size() &&
                      layout.section_offsets[symbol.section] != ImageLayout::kNotLoaded;
    if (site.has_symbol)
      site.symbol_address = address + layout.section_offsets[symbol.section] + symbol.value;
    site.addend = relocation.addend;
    if (Status done = apply_relocation(object.arch, relocation.type, site); !done.ok()) {
      return std::move(done).with(text_of("object: section ", quoted(section.name), " + ", relocation.offset,
                                          ": relocation against ", quoted(name)));
    }
  }
  if (layout.unwind_bytes != 0) {
    FRIT_TRY(check_eh_frame(out.subspan(layout.unwind_offset, layout.unwind_bytes),
                            address + layout.unwind_offset, address, address + layout.code_bytes));
  }
  return {};
}

}  // namespace frit::device
