// The loader's parts one by one: relocations with their limits, layout, unwind tables, broken headers.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "device/eh_frame.h"
#include "device/elf_image.h"
#include "device/elf_relocate.h"
#include "unit/device_objects.h"

namespace frit::device {
namespace {

// Patches `word` at offset 4 of 16 bytes, as a place at address P; gives the patched word.
struct Patch {
  Arch arch;
  uint32_t type;
  uint64_t word;
  uint64_t place;
  uint64_t symbol;
  int64_t addend;
};
Result<uint64_t> patched(const Patch& p) {
  std::vector<std::byte> bytes(16);
  std::memcpy(bytes.data() + 4, &p.word, 8);
  RelocationSite site{bytes, 4, p.place, true, p.symbol, p.addend};
  if (Status done = apply_relocation(p.arch, p.type, site); !done.ok()) return done.error();
  uint64_t word = 0;
  std::memcpy(&word, bytes.data() + 4, 8);
  for (size_t i : {0, 1, 2, 3, 12, 13, 14, 15}) EXPECT_EQ(bytes[i], std::byte{0});
  return word;
}

TEST(Relocation, X86Values) {
  const Arch x86 = Arch::kX86_64;
  const uint64_t rest = 0xaabbccdd00000000u;
  EXPECT_EQ(*patched({x86, R_X86_64_64, rest, 0x1000, 0x7fff12345678, 16}), 0x7fff12345688u);
  EXPECT_EQ(*patched({x86, R_X86_64_PC64, rest, 0x1000, 0x400, 0}), uint64_t(-0xc00));
  EXPECT_EQ(*patched({x86, R_X86_64_PC32, rest, 0x1000, 0x2000, -4}), rest | 0xffc);
  EXPECT_EQ(*patched({x86, R_X86_64_PLT32, rest, 0x2000, 0x1000, -4}), rest | 0xffffeffc);
  EXPECT_EQ(*patched({x86, R_X86_64_NONE, rest, 0x2000, 0x1000, -4}), rest);
  // The last distance that 32 bits hold, either way, and the first that they do not.
  const uint64_t p = 0x7f0000000000;
  EXPECT_EQ(*patched({x86, R_X86_64_PC32, 0, p, p + 0x7fffffff, 0}), 0x7fffffffu);
  EXPECT_EQ(*patched({x86, R_X86_64_PC32, 0, p, p - 0x80000000, 0}), 0x80000000u);
  EXPECT_EQ(patched({x86, R_X86_64_PC32, 0, p, p + 0x80000000, 0}).error().code, Code::kCorrupt);
  EXPECT_EQ(patched({x86, R_X86_64_PC32, 0, p, p - 0x80000001, 0}).error().code, Code::kCorrupt);
  EXPECT_EQ(patched({x86, R_X86_64_PC32, 0, p, p, INT64_MIN}).error().code, Code::kCorrupt);
}

TEST(Relocation, Aarch64Values) {
  const Arch arm = Arch::kAarch64;
  const uint64_t rest = 0xaabbccdd00000000u;
  const uint64_t p = 0x7f0000001234;
  EXPECT_EQ(*patched({arm, R_AARCH64_ABS64, rest, p, 0x123456789abc, 4}), 0x123456789ac0u);
  EXPECT_EQ(*patched({arm, R_AARCH64_PREL32, rest, p, p + 8, 0}), rest | 8);
  EXPECT_EQ(*patched({arm, R_AARCH64_PREL64, rest, p, p - 8, 0}), uint64_t(-8));
  // bl +0x1000; b -4; the limits of 26 bits times 4.
  EXPECT_EQ(*patched({arm, R_AARCH64_CALL26, rest | 0x94000000, p, p + 0x1000, 0}), rest | 0x94000400);
  EXPECT_EQ(*patched({arm, R_AARCH64_JUMP26, rest | 0x14000000, p, p, -4}), rest | 0x17ffffff);
  EXPECT_EQ(*patched({arm, R_AARCH64_CALL26, 0x94000000, p, p + 0x7fffffc, 0}), 0x95ffffffu);
  EXPECT_EQ(*patched({arm, R_AARCH64_CALL26, 0x94000000, p, p - 0x8000000, 0}), 0x96000000u);
  EXPECT_FALSE(patched({arm, R_AARCH64_CALL26, 0x94000000, p, p + 0x8000000, 0}).ok());
  EXPECT_FALSE(patched({arm, R_AARCH64_CALL26, 0x94000000, p, p + 2, 0}).ok());
  // adrp x1, 0x7f0000003000 from page 0x7f0000001000: two pages on, low bits at 30..29.
  EXPECT_EQ(*patched({arm, R_AARCH64_ADR_PREL_PG_HI21, rest | 0x90000001, p, 0x7f0000003abc, 0}),
            rest | 0xd0000001);
  EXPECT_EQ(*patched({arm, R_AARCH64_ADR_PREL_PG_HI21, 0x90000001, p, 0x7f0000000fff, 0}), 0xf0ffffe1u);
  EXPECT_FALSE(patched({arm, R_AARCH64_ADR_PREL_PG_HI21, 0x90000001, p, p + 0x100000000, 0}).ok());
  // add x0, x0, :lo12:; ldr of each size at 0x...abc0, its offset divided by the size.
  EXPECT_EQ(*patched({arm, R_AARCH64_ADD_ABS_LO12_NC, rest | 0x91000000, p, 0x1abc, 0}), rest | 0x912af000);
  EXPECT_EQ(*patched({arm, R_AARCH64_LDST8_ABS_LO12_NC, 0x39400000, p, 0xabc1, 0}),
            0x39400000u | 0xbc1 << 10);
  EXPECT_EQ(*patched({arm, R_AARCH64_LDST16_ABS_LO12_NC, 0x79400000, p, 0xabc2, 0}),
            0x79400000u | 0x5e1 << 10);
  EXPECT_EQ(*patched({arm, R_AARCH64_LDST32_ABS_LO12_NC, 0xbd400000, p, 0xabc4, 0}),
            0xbd400000u | 0x2f1 << 10);
  EXPECT_EQ(*patched({arm, R_AARCH64_LDST64_ABS_LO12_NC, 0xfd400000, p, 0xabc8, 0}),
            0xfd400000u | 0x179 << 10);
  EXPECT_EQ(*patched({arm, R_AARCH64_LDST128_ABS_LO12_NC, 0x3dc00000, p, 0xabd0, 0}),
            0x3dc00000u | 0xbd << 10);
  for (uint32_t type : {R_AARCH64_LDST16_ABS_LO12_NC, R_AARCH64_LDST32_ABS_LO12_NC,
                        R_AARCH64_LDST64_ABS_LO12_NC, R_AARCH64_LDST128_ABS_LO12_NC}) {
    EXPECT_EQ(patched({arm, type, 0x3dc00000, p, 0xabc1, 0}).error().code, Code::kCorrupt) << type;
  }
}

TEST(Relocation, Refusals) {
  for (uint32_t type : {R_X86_64_GOTPCREL, R_X86_64_GOTPCRELX, R_X86_64_REX_GOTPCRELX}) {
    const auto got = patched({Arch::kX86_64, type, 0, 0, 0, 0});
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, Code::kUnsupported);
    EXPECT_NE(got.error().message.find("global offset table"), std::string::npos);
  }
  for (uint32_t type :
       {uint32_t{R_X86_64_32}, uint32_t{R_X86_64_32S}, uint32_t{R_X86_64_TPOFF32}, 0xffffffffu}) {
    EXPECT_EQ(patched({Arch::kX86_64, type, 0, 0, 0, 0}).error().code, Code::kUnsupported) << type;
  }
  EXPECT_FALSE(patched({Arch::kAarch64, R_X86_64_PC32, 0, 0, 0, 0}).ok());

  std::vector<std::byte> bytes(8);
  for (uint64_t offset : {uint64_t{5}, uint64_t{8}, uint64_t{9}, ~uint64_t{0}, ~uint64_t{3}}) {
    const RelocationSite site{bytes, offset, 0, true, 0, 0};
    EXPECT_EQ(apply_relocation(Arch::kX86_64, R_X86_64_PC32, site).error().code, Code::kCorrupt) << offset;
    EXPECT_EQ(apply_relocation(Arch::kAarch64, R_AARCH64_CALL26, site).error().code, Code::kCorrupt)
        << offset;
  }
  EXPECT_FALSE(apply_relocation(Arch::kX86_64, R_X86_64_64, {bytes, 1, 0, true, 0, 0}).ok());
  EXPECT_TRUE(apply_relocation(Arch::kX86_64, R_X86_64_64, {bytes, 0, 0, true, 0, 0}).ok());
  EXPECT_FALSE(apply_relocation(Arch::kX86_64, R_X86_64_64, {bytes, 0, 0, false, 0, 0}).ok());
}

TEST(ElfImage, CodeThenDataThenUnwind) {
  const std::vector<std::byte> bytes = read_object("host", "kernel");
  const Result<ElfObject> object = parse_elf(bytes);
  ASSERT_TRUE(object.ok()) << object.error().text();
  const Result<ImageLayout> layout = lay_out(*object);
  ASSERT_TRUE(layout.ok()) << layout.error().text();
  EXPECT_GT(layout->code_bytes, 100u);
  EXPECT_EQ(layout->unwind_offset + layout->unwind_bytes + 4, layout->size_bytes);
  EXPECT_GE(layout->unwind_offset, layout->code_bytes);
  int data_sections = 0;
  for (size_t i = 0; i < object->sections.size(); ++i) {
    const uint64_t offset = layout->section_offsets[i];
    if (offset == ImageLayout::kNotLoaded) continue;
    EXPECT_EQ(offset % object->sections[i].align, 0u);
    const bool is_code = object->sections[i].flags & SHF_EXECINSTR;
    EXPECT_EQ(is_code, offset < layout->code_bytes) << object->sections[i].name;
    data_sections += !is_code && offset != layout->unwind_offset;
  }
  EXPECT_GE(data_sections, 2);

  // The same image at two addresses: the terminator is zero, and both verify.
  for (uint64_t address : {uint64_t{0x1000}, uint64_t{0x7fff00000000}}) {
    std::vector<std::byte> out(layout->size_bytes);
    ASSERT_TRUE(write_image(*object, *layout, address, out).ok());
    for (size_t i = out.size() - 4; i < out.size(); ++i) EXPECT_EQ(out[i], std::byte{0});
    EXPECT_TRUE(check_eh_frame(std::span(out).subspan(layout->unwind_offset, layout->unwind_bytes),
                               address + layout->unwind_offset, address, address + layout->code_bytes)
                    .ok());
  }
}

// A valid table of one CIE and one FDE that covers [0x1000, 0x1040), lying at 0x2000.
std::vector<uint8_t> small_unwind_table() {
  return {16,   0,    0,    0,    0,  0, 0,    0, 1,    'z',
          'R',  0,    1,    0x78, 16, 1, 0x1b, 0, 0,    0,  // CIE, 20 bytes
          16,   0,    0,    0,    24, 0, 0,    0, 0xe4, 0xef,
          0xff, 0xff, 0x40, 0,    0,  0, 0,    0, 0,    0};  // FDE: place 0x201c
}

Status check_table(const std::vector<uint8_t>& table) {
  return check_eh_frame(std::as_bytes(std::span(table)), 0x2000, 0x1000, 0x1100);
}

TEST(EhFrame, AcceptsWhatCompilersWrite) {
  const Status ok = check_table(small_unwind_table());
  EXPECT_TRUE(ok.ok()) << ok.error().text();
}

TEST(EhFrame, RefusesEverythingElse) {
  struct Case {
    const char* what;
    std::function<void(std::vector<uint8_t>&)> change;
    const char* fragment;
  };
  const Case cases[] = {
      {"no FDE", [](auto& t) { t.resize(20); }, "no FDE"},
      {"nothing", [](auto& t) { t.clear(); }, "no FDE"},
      {"zero length", [](auto& t) { t[20] = 0; }, "bad length"},
      {"64-bit length", [](auto& t) { t[0] = t[1] = t[2] = t[3] = 0xff; }, "bad length"},
      {"too long", [](auto& t) { t[20] = 17; }, "bad length"},
      {"cut", [](auto& t) { t.resize(22); }, "bad length"},
      {"version", [](auto& t) { t[8] = 4; }, "version"},
      {"personality", [](auto& t) { t[10] = 'P'; }, "augmentation"},
      {"no augmentation", [](auto& t) { t[9] = 0; }, "augmentation"},
      {"endless augmentation",
       [](auto& t) {
         t[11] = 'S';
         t[12] = t[13] = t[14] = t[15] = t[16] = t[17] = t[18] = t[19] = 'S';
       },
       "augmentation without end"},
      {"absolute pointers", [](auto& t) { t[16] = 0; }, "encoding 0"},
      {"indirect pointers", [](auto& t) { t[16] = 0x9b; }, "encoding 155"},
      {"augmentation data", [](auto& t) { t[15] = 2; }, "unexpected data"},
      {"endless number",
       [](auto& t) { t[12] = t[13] = t[14] = t[15] = t[16] = t[17] = t[18] = t[19] = 0x80; },
       "unexpected data"},
      {"CIE elsewhere", [](auto& t) { t[24] = 20; }, "without a CIE"},
      {"CIE before the table", [](auto& t) { t[24] = 200; }, "without a CIE"},
      {"code before", [](auto& t) { t[28] -= 1; }, "no code"},
      {"code behind", [](auto& t) { t[29] = 0xf0; }, "no code"},
      {"code too long", [](auto& t) { t[33] = 1; }, "no code"},
      {"negative length", [](auto& t) { t[35] = 0x80; }, "ends early"},
      {"no code", [](auto& t) { t[32] = 0; }, "no code"},
      {"data too long", [](auto& t) { t[36] = 4; }, "ends early"},
  };
  for (const Case& c : cases) {
    std::vector<uint8_t> table = small_unwind_table();
    c.change(table);
    const Status status = check_table(table);
    ASSERT_FALSE(status.ok()) << c.what;
    EXPECT_EQ(status.error().code, Code::kCorrupt);
    EXPECT_NE(status.error().message.find(c.fragment), std::string::npos)
        << c.what << ": " << status.error().text();
  }
}

// ---- broken objects

struct Broken {
  std::vector<std::byte> bytes = read_object("host", "kernel");
  Elf64_Ehdr header() const {
    Elf64_Ehdr h;
    std::memcpy(&h, bytes.data(), sizeof h);
    return h;
  }
  template <class T>
  void put(size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
  // Offset of the header of the first section of a type (or with a name).
  size_t section(uint32_t type, const char* name = nullptr) const {
    const Result<ElfObject> object = parse_elf(bytes);
    for (size_t i = 0; i < object->sections.size(); ++i) {
      if (object->sections[i].type != type || (name && object->sections[i].name != name)) continue;
      return header().e_shoff + i * sizeof(Elf64_Shdr);
    }
    ADD_FAILURE() << "no section of type " << type;
    return 0;
  }
  uint64_t section_offset(size_t section_header) const {
    uint64_t offset = 0;
    std::memcpy(&offset, bytes.data() + section_header + offsetof(Elf64_Shdr, sh_offset), 8);
    return offset;
  }
};

TEST(ElfObject, BrokenFieldsAreErrors) {
  struct Case {
    const char* what;
    std::function<void(Broken&)> change;
    const char* fragment;
  };
  const Case cases[] = {
      {"magic", [](Broken& b) { b.put<uint8_t>(0, 0); }, "magic"},
      {"class", [](Broken& b) { b.put<uint8_t>(EI_CLASS, ELFCLASS32); }, "ELF64"},
      {"endian", [](Broken& b) { b.put<uint8_t>(EI_DATA, ELFDATA2MSB); }, "little-endian"},
      {"version", [](Broken& b) { b.put<uint8_t>(EI_VERSION, 9); }, "version 9"},
      {"type", [](Broken& b) { b.put<uint16_t>(offsetof(Elf64_Ehdr, e_type), ET_DYN); }, "ELF type 3"},
      {"machine", [](Broken& b) { b.put<uint16_t>(offsetof(Elf64_Ehdr, e_machine), EM_386); },
       "ELF machine 3"},
      {"section size", [](Broken& b) { b.put<uint16_t>(offsetof(Elf64_Ehdr, e_shentsize), 63); },
       "of 63 bytes"},
      {"no sections", [](Broken& b) { b.put<uint16_t>(offsetof(Elf64_Ehdr, e_shnum), 0); }, "0 sections"},
      {"many sections", [](Broken& b) { b.put<uint16_t>(offsetof(Elf64_Ehdr, e_shnum), 0xffff); },
       "65535 sections"},
      {"more sections", [](Broken& b) { b.put<uint16_t>(offsetof(Elf64_Ehdr, e_shnum), 4000); },
       "after the file"},
      {"sections off", [](Broken& b) { b.put<uint64_t>(offsetof(Elf64_Ehdr, e_shoff), ~0ull - 8); },
       "after the file"},
      {"names", [](Broken& b) { b.put<uint16_t>(offsetof(Elf64_Ehdr, e_shstrndx), 0xfff); }, "of names"},
      {"names are no text", [](Broken& b) { b.put<uint16_t>(offsetof(Elf64_Ehdr, e_shstrndx), 1); },
       "names is missing"},
      {"section far",
       [](Broken& b) { b.put<uint64_t>(b.section(SHT_RELA) + offsetof(Elf64_Shdr, sh_offset), ~0ull); },
       "ends after the file"},
      {"section long",
       [](Broken& b) { b.put<uint64_t>(b.section(SHT_RELA) + offsetof(Elf64_Shdr, sh_size), ~0ull); },
       "ends after the file"},
      {"section name", [](Broken& b) { b.put<uint32_t>(b.section(SHT_RELA), ~0u); }, "has no name"},
      {"alignment",
       [](Broken& b) { b.put<uint64_t>(b.section(SHT_RELA) + offsetof(Elf64_Shdr, sh_addralign), 3); },
       "aligned to 3"},
      {"huge alignment",
       [](Broken& b) {
         b.put<uint64_t>(b.section(SHT_PROGBITS, ".eh_frame") + offsetof(Elf64_Shdr, sh_addralign),
                         1ull << 40);
       },
       "aligned to 1099511627776"},
      {"symbol size",
       [](Broken& b) { b.put<uint64_t>(b.section(SHT_SYMTAB) + offsetof(Elf64_Shdr, sh_entsize), 8); },
       "symbols of 8 bytes"},
      {"symbol names",
       [](Broken& b) { b.put<uint32_t>(b.section(SHT_SYMTAB) + offsetof(Elf64_Shdr, sh_link), 999); },
       "symbol names is missing"},
      {"symbol section",
       [](Broken& b) {
         b.put<uint16_t>(
             b.section_offset(b.section(SHT_SYMTAB)) + sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_shndx),
             999);
       },
       "does not exist"},
      {"symbol value",
       [](Broken& b) {
         const size_t symbol = b.section_offset(b.section(SHT_SYMTAB)) + sizeof(Elf64_Sym);
         b.put<uint16_t>(symbol + offsetof(Elf64_Sym, st_shndx), 1);
         b.put<uint64_t>(symbol + offsetof(Elf64_Sym, st_value), 1 << 20);
       },
       "outside of its section"},
      {"symbol name",
       [](Broken& b) {
         b.put<uint32_t>(b.section_offset(b.section(SHT_SYMTAB)) + sizeof(Elf64_Sym), 1 << 20);
       },
       "has no name"},
      {"relocation size",
       [](Broken& b) { b.put<uint64_t>(b.section(SHT_RELA) + offsetof(Elf64_Shdr, sh_entsize), 16); },
       "relocations of 16 bytes"},
      {"relocated section",
       [](Broken& b) { b.put<uint32_t>(b.section(SHT_RELA) + offsetof(Elf64_Shdr, sh_info), 0); },
       "section 0, which does not exist"},
      {"relocation symbols",
       [](Broken& b) { b.put<uint32_t>(b.section(SHT_RELA) + offsetof(Elf64_Shdr, sh_link), 1); },
       "without a symbol table"},
      {"relocation symbol",
       [](Broken& b) {
         b.put<uint32_t>(b.section_offset(b.section(SHT_RELA)) + offsetof(Elf64_Rela, r_info) + 4, 1 << 20);
       },
       "symbol 1048576, which does not exist"},
      {"relocation place", [](Broken& b) { b.put<uint64_t>(b.section_offset(b.section(SHT_RELA)), ~0ull); },
       "the place lies outside"},
      {"relocation type",
       [](Broken& b) {
         b.put<uint32_t>(b.section_offset(b.section(SHT_RELA)) + offsetof(Elf64_Rela, r_info), 999);
       },
       "type 999 is not supported on"},
      {"old relocations",
       [](Broken& b) { b.put<uint32_t>(b.section(SHT_RELA) + offsetof(Elf64_Shdr, sh_type), SHT_REL); },
       "has type 9"},
      {"unwind code",
       [](Broken& b) {
         b.put<uint64_t>(
             b.section_offset(b.section(SHT_RELA, ".rela.eh_frame")) + offsetof(Elf64_Rela, r_addend),
             1 << 20);
       },
       "no code of the object"},
  };
  for (const Case& c : cases) {
    Broken broken;
    c.change(broken);
    Status status;
    if (const Result<ElfObject> object = parse_elf(broken.bytes); !object.ok()) {
      status = object.error();
    } else if (const Result<ImageLayout> layout = lay_out(*object); !layout.ok()) {
      status = layout.error();
    } else {
      std::vector<std::byte> out(layout->size_bytes);
      status = write_image(*object, *layout, 0x1000, out);
    }
    ASSERT_FALSE(status.ok()) << c.what;
    EXPECT_TRUE(status.error().code == Code::kCorrupt || status.error().code == Code::kUnsupported) << c.what;
    EXPECT_NE(status.error().text().find(c.fragment), std::string::npos)
        << c.what << ": " << status.error().text();
  }
}

TEST(ElfObject, SharedBytesAreNoBomb) {
  // Every section claims the whole file: few bytes must not become many.
  Broken broken;
  const Elf64_Ehdr header = broken.header();
  for (size_t i = 1; i < header.e_shnum; ++i) {
    const size_t at = header.e_shoff + i * sizeof(Elf64_Shdr);
    broken.put<uint64_t>(at + offsetof(Elf64_Shdr, sh_offset), 0);
    if (i != header.e_shstrndx) broken.put<uint64_t>(at + offsetof(Elf64_Shdr, sh_size), broken.bytes.size());
  }
  const Result<ElfObject> object = parse_elf(broken.bytes);
  ASSERT_FALSE(object.ok());
  EXPECT_EQ(object.error().code, Code::kCorrupt);
}

}  // namespace
}  // namespace frit::device
