#include "device/elf_relocate.h"

#include <elf.h>

#include <cstring>

#include "base/text.h"
#include "base/try.h"

namespace frit::device {

namespace {

using base::text_of;

enum class Value { kAbsolute, kRelative, kPageRelative };  // S + A | S + A - P | Page(S + A) - Page(P)

// How the value enters the place.
enum class Field {
  kNothing,
  kWord32Signed,  // 4 bytes
  kWord64,        // 8 bytes
  kBranch26,      // AArch64 B, BL: bits 27..2 of the value at bit 0
  kAdrp21,        // AArch64 ADRP: bits 32..12
  kLow12,         // AArch64 ADD, LDR, STR: bits 11..shift at bit 10
};

struct Row {
  uint32_t type;
  const char* name;
  Value value;
  Field field;
  int shift = 0;  // kLow12: the access is of 1 << shift bytes
};

constexpr Row kX86Rows[] = {
    {R_X86_64_NONE, "R_X86_64_NONE", Value::kAbsolute, Field::kNothing},
    {R_X86_64_64, "R_X86_64_64", Value::kAbsolute, Field::kWord64},
    {R_X86_64_PC32, "R_X86_64_PC32", Value::kRelative, Field::kWord32Signed},
    {R_X86_64_PLT32, "R_X86_64_PLT32", Value::kRelative, Field::kWord32Signed},
    {R_X86_64_PC64, "R_X86_64_PC64", Value::kRelative, Field::kWord64},
};

constexpr Row kAarch64Rows[] = {
    {R_AARCH64_NONE, "R_AARCH64_NONE", Value::kAbsolute, Field::kNothing},
    {R_AARCH64_ABS64, "R_AARCH64_ABS64", Value::kAbsolute, Field::kWord64},
    {R_AARCH64_PREL64, "R_AARCH64_PREL64", Value::kRelative, Field::kWord64},
    {R_AARCH64_PREL32, "R_AARCH64_PREL32", Value::kRelative, Field::kWord32Signed},
    {R_AARCH64_CALL26, "R_AARCH64_CALL26", Value::kRelative, Field::kBranch26},
    {R_AARCH64_JUMP26, "R_AARCH64_JUMP26", Value::kRelative, Field::kBranch26},
    {R_AARCH64_ADR_PREL_PG_HI21, "R_AARCH64_ADR_PREL_PG_HI21", Value::kPageRelative, Field::kAdrp21},
    {R_AARCH64_ADD_ABS_LO12_NC, "R_AARCH64_ADD_ABS_LO12_NC", Value::kAbsolute, Field::kLow12, 0},
    {R_AARCH64_LDST8_ABS_LO12_NC, "R_AARCH64_LDST8_ABS_LO12_NC", Value::kAbsolute, Field::kLow12, 0},
    {R_AARCH64_LDST16_ABS_LO12_NC, "R_AARCH64_LDST16_ABS_LO12_NC", Value::kAbsolute, Field::kLow12, 1},
    {R_AARCH64_LDST32_ABS_LO12_NC, "R_AARCH64_LDST32_ABS_LO12_NC", Value::kAbsolute, Field::kLow12, 2},
    {R_AARCH64_LDST64_ABS_LO12_NC, "R_AARCH64_LDST64_ABS_LO12_NC", Value::kAbsolute, Field::kLow12, 3},
    {R_AARCH64_LDST128_ABS_LO12_NC, "R_AARCH64_LDST128_ABS_LO12_NC", Value::kAbsolute, Field::kLow12, 4},
};

std::span<const Row> rows(Arch arch) {
  return arch == Arch::kX86_64 ? std::span<const Row>(kX86Rows) : std::span<const Row>(kAarch64Rows);
}

// The usual ones, so that the message can say why.
bool wants_offset_table(Arch arch, uint32_t type) {
  if (arch == Arch::kAarch64) return type >= R_AARCH64_GOT_LD_PREL19 && type <= R_AARCH64_LD64_GOTPAGE_LO15;
  return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX;
}

template <class T>
T read(const std::byte* at) {
  T out;
  std::memcpy(&out, at, sizeof out);
  return out;
}

template <class T>
void write(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

// Whether a value, taken as signed, fits a field of that many bits.
bool fits(uint64_t value, int bits) {
  const auto signed_value = static_cast<int64_t>(value);
  return signed_value >= -(int64_t{1} << (bits - 1)) && signed_value < (int64_t{1} << (bits - 1));
}

Error out_of_range(const Row& row, uint64_t value) {
  return make_error(Code::kCorrupt,
                    text_of(row.name, ": value ", static_cast<int64_t>(value), " does not fit"));
}

}  // namespace

Status apply_relocation(Arch arch, uint32_t type, const RelocationSite& site) {
  const Row* row = nullptr;
  for (const Row& r : rows(arch)) {
    if (r.type == type) row = &r;
  }
  if (!row) {
    if (wants_offset_table(arch, type)) {
      return make_error(Code::kUnsupported, text_of("type ", type, " needs a global offset table"));
    }
    return make_error(Code::kUnsupported, text_of("type ", type, " is not supported on ", arch_name(arch)));
  }
  if (row->field == Field::kNothing) return {};
  if (!site.has_symbol)
    return make_error(Code::kUnsupported, text_of(row->name, ": the symbol is not loaded"));
  const uint64_t width = row->field == Field::kWord64 ? 8 : 4;
  if (site.offset > site.bytes.size() || width > site.bytes.size() - site.offset) {
    return make_error(Code::kCorrupt, text_of(row->name, ": the place lies outside of its section"));
  }
  std::byte* const place = site.bytes.data() + site.offset;

  constexpr uint64_t kPage = ~uint64_t{0xfff};
  const uint64_t target = site.symbol_address + static_cast<uint64_t>(site.addend);
  uint64_t value = target;
  if (row->value == Value::kRelative) value = target - site.address;
  if (row->value == Value::kPageRelative) value = (target & kPage) - (site.address & kPage);

  switch (row->field) {
    case Field::kNothing:
      break;
    case Field::kWord64:
      write<uint64_t>(place, value);
      break;
    case Field::kWord32Signed:
      if (!fits(value, 32)) return out_of_range(*row, value);
      write<uint32_t>(place, static_cast<uint32_t>(value));
      break;
    case Field::kBranch26: {
      if (!fits(value, 28) || (value & 3) != 0) return out_of_range(*row, value);
      const uint32_t bits = static_cast<uint32_t>(value >> 2) & 0x03ffffffu;
      write<uint32_t>(place, (read<uint32_t>(place) & 0xfc000000u) | bits);
      break;
    }
    case Field::kAdrp21: {
      if (!fits(value, 33)) return out_of_range(*row, value);
      const uint32_t bits = static_cast<uint32_t>(value >> 12) & 0x1fffffu;
      const uint32_t field = ((bits & 3u) << 29) | ((bits >> 2) << 5);
      write<uint32_t>(place, (read<uint32_t>(place) & 0x9f00001fu) | field);
      break;
    }
    case Field::kLow12: {
      const uint32_t low = static_cast<uint32_t>(value) & 0xfffu;
      if ((low & ((1u << row->shift) - 1)) != 0) return out_of_range(*row, value);
      write<uint32_t>(place, (read<uint32_t>(place) & ~(0xfffu << 10)) | ((low >> row->shift) << 10));
      break;
    }
  }
  return {};
}

}  // namespace frit::device
