#include "device/elf_object.h"

#include <elf.h>

#include <bit>
#include <cstring>
#include <optional>

#include "base/text.h"
#include "base/try.h"

namespace frit::device {

namespace {

using base::quoted;
using base::text_of;
using Bytes = std::span<const std::byte>;

// Objects of kernels have about a dozen; far below what an index of 16 bits can hold.
constexpr size_t kMaxSections = 4096;

template <class... Parts>
Error corrupt(const Parts&... parts) {
  return make_error(Code::kCorrupt, text_of("object: ", parts...));
}

template <class... Parts>
Error unsupported(const Parts&... parts) {
  return make_error(Code::kUnsupported, text_of("object: ", parts...));
}

std::optional<Bytes> slice(Bytes bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.subspan(offset, size);
}

// Element `index` of a table whose bounds are known to hold.
template <class T>
T element(Bytes table, size_t index) {
  T out;
  std::memcpy(&out, table.data() + index * sizeof(T), sizeof(T));
  return out;
}

// The zero-terminated text at `offset` of a string table.
std::optional<std::string_view> string_at(Bytes table, uint64_t offset) {
  if (offset >= table.size()) return std::nullopt;
  const std::string_view rest(reinterpret_cast<const char*>(table.data()) + offset, table.size() - offset);
  const size_t end = rest.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  return rest.substr(0, end);
}

Status parse_header(Bytes bytes, Elf64_Ehdr& header, Arch& arch) {
  if (bytes.size() < sizeof(Elf64_Ehdr)) return corrupt(bytes.size(), " bytes are too few for an ELF header");
  header = element<Elf64_Ehdr>(bytes, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return corrupt("no ELF magic");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return unsupported("not a little-endian ELF64 file");
  }
  if (header.e_ident[EI_VERSION] != EV_CURRENT) return corrupt("ELF version ", header.e_ident[EI_VERSION]);
  if (header.e_type != ET_REL)
    return unsupported("ELF type ", header.e_type, ", expected a relocatable object");
  switch (header.e_machine) {
    case EM_X86_64:
      arch = Arch::kX86_64;
      break;
    case EM_AARCH64:
      arch = Arch::kAarch64;
      break;
    default:
      return unsupported("ELF machine ", header.e_machine, ", expected x86-64 or AArch64");
  }
  if (header.e_shentsize != sizeof(Elf64_Shdr))
    return corrupt("section headers of ", header.e_shentsize, " bytes");
  if (header.e_shnum == 0 || header.e_shnum > kMaxSections) {
    return unsupported(header.e_shnum, " sections, expected 1 to ", kMaxSections);
  }
  if (header.e_shstrndx >= header.e_shnum) return corrupt("no section ", header.e_shstrndx, " of names");
  return {};
}

Status parse_sections(Bytes bytes, const Elf64_Ehdr& header, std::vector<Elf64_Shdr>& raw,
                      ElfObject& object) {
  const std::optional<Bytes> table = slice(bytes, header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr));
  if (!table) return corrupt("section headers end after the file");
  for (size_t i = 0; i < header.e_shnum; ++i) raw.push_back(element<Elf64_Shdr>(*table, i));

  const Elf64_Shdr& names = raw[header.e_shstrndx];
  const std::optional<Bytes> name_table =
      names.sh_type == SHT_STRTAB ? slice(bytes, names.sh_offset, names.sh_size) : std::nullopt;
  if (!name_table) return corrupt("the table of section names is missing");

  uint64_t total = 0;
  for (size_t i = 0; i < raw.size(); ++i) {
    const Elf64_Shdr& from = raw[i];
    ElfSection section;
    const std::optional<std::string_view> name = string_at(*name_table, from.sh_name);
    if (!name) return corrupt("section ", i, " has no name");
    section.name = *name;
    section.type = from.sh_type;
    section.flags = from.sh_flags;
    section.size = from.sh_size;
    section.align = from.sh_addralign == 0 ? 1 : from.sh_addralign;
    if (!std::has_single_bit(section.align)) {
      return corrupt("section ", quoted(*name), " is aligned to ", section.align);
    }
    if (section.type == SHT_NULL) {
      section.size = 0;
    } else if (section.type != SHT_NOBITS) {
      const std::optional<Bytes> content = slice(bytes, from.sh_offset, from.sh_size);
      if (!content) return corrupt("section ", quoted(*name), " ends after the file");
      section.bytes = *content;
      // Sections that share bytes are a bomb: they would load as more than the file holds.
      total += section.size;
      if (total > bytes.size()) return corrupt("sections overlap");
    }
    object.sections.push_back(section);
  }
  return {};
}

Status parse_symbols(const std::vector<Elf64_Shdr>& raw, size_t index, ElfObject& object) {
  const ElfSection& table = object.sections[index];
  const Elf64_Shdr& header = raw[index];
  if (header.sh_entsize != sizeof(Elf64_Sym) || table.size % sizeof(Elf64_Sym) != 0) {
    return corrupt("symbols of ", header.sh_entsize, " bytes");
  }
  if (header.sh_link >= raw.size() || raw[header.sh_link].sh_type != SHT_STRTAB) {
    return corrupt("the table of symbol names is missing");
  }
  const Bytes names = object.sections[header.sh_link].bytes;
  const size_t count = table.size / sizeof(Elf64_Sym);
  for (size_t i = 0; i < count; ++i) {
    const auto from = element<Elf64_Sym>(table.bytes, i);
    ElfSymbol symbol;
    const std::optional<std::string_view> name = string_at(names, from.st_name);
    if (!name) return corrupt("symbol ", i, " has no name");
    symbol.name = *name;
    symbol.section = from.st_shndx;
    symbol.type = ELF64_ST_TYPE(from.st_info);
    symbol.binding = ELF64_ST_BIND(from.st_info);
    symbol.value = from.st_value;
    symbol.size = from.st_size;
    if (symbol.section < SHN_LORESERVE) {
      if (symbol.section >= object.sections.size()) {
        return corrupt("symbol ", quoted(*name), " is in section ", symbol.section, ", which does not exist");
      }
      const uint64_t limit = object.sections[symbol.section].size;
      if (symbol.section != SHN_UNDEF && (symbol.value > limit || symbol.size > limit - symbol.value)) {
        return corrupt("symbol ", quoted(*name), " lies outside of its section");
      }
    } else if (symbol.section == SHN_XINDEX) {
      return unsupported("symbol ", quoted(*name), " has an extended section index");
    }
    object.symbols.push_back(symbol);
  }
  return {};
}

Status parse_relocations(const std::vector<Elf64_Shdr>& raw, size_t index, ElfObject& object) {
  const ElfSection& table = object.sections[index];
  const Elf64_Shdr& header = raw[index];
  if (header.sh_entsize != sizeof(Elf64_Rela) || table.size % sizeof(Elf64_Rela) != 0) {
    return corrupt("relocations of ", header.sh_entsize, " bytes");
  }
  if (header.sh_info == 0 || header.sh_info >= raw.size()) {
    return corrupt("relocations of section ", header.sh_info, ", which does not exist");
  }
  if (header.sh_link >= raw.size() || raw[header.sh_link].sh_type != SHT_SYMTAB) {
    return corrupt("relocations without a symbol table");
  }
  const size_t count = table.size / sizeof(Elf64_Rela);
  for (size_t i = 0; i < count; ++i) {
    const auto from = element<Elf64_Rela>(table.bytes, i);
    ElfRelocation relocation;
    relocation.section = header.sh_info;
    relocation.type = static_cast<uint32_t>(ELF64_R_TYPE(from.r_info));
    relocation.symbol = static_cast<uint32_t>(ELF64_R_SYM(from.r_info));
    relocation.offset = from.r_offset;
    relocation.addend = from.r_addend;
    if (relocation.symbol >= object.symbols.size()) {
      return corrupt("relocation against symbol ", relocation.symbol, ", which does not exist");
    }
    object.relocations.push_back(relocation);
  }
  return {};
}

}  // namespace

Result<ElfObject> parse_elf(std::span<const std::byte> bytes) {
  ElfObject object;
  Elf64_Ehdr header;
  FRIT_TRY(parse_header(bytes, header, object.arch));
  std::vector<Elf64_Shdr> raw;
  FRIT_TRY(parse_sections(bytes, header, raw, object));

  bool has_symbols = false;
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i].sh_type != SHT_SYMTAB) continue;
    if (has_symbols) return corrupt("two symbol tables");
    has_symbols = true;
    FRIT_TRY(parse_symbols(raw, i, object));
  }
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i].sh_type == SHT_RELA) FRIT_TRY(parse_relocations(raw, i, object));
    if (raw[i].sh_type == SHT_REL || raw[i].sh_type == SHT_SYMTAB_SHNDX) {
      return unsupported("section ", quoted(object.sections[i].name), " has type ", raw[i].sh_type);
    }
  }
  return object;
}

}  // namespace frit::device
