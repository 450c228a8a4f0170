#include "codegen/cuda/cubin.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "base/try.h"

namespace frit::codegen {

using base::text_of;

namespace {

constexpr uint16_t kMachineCuda = 190;
// Attributes of .nv.info records.
enum Attribute : uint8_t {
  kMaxThreads = 0x05,
  kFrameSize = 0x11,
  kRegisterCount = 0x2f,
  kBarrierCount = 0x4c
};

Error corrupt(std::string what) { return make_error(Code::kCorrupt, "cubin: " + std::move(what)); }

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  Result<CubinKernel> run() {
    FRIT_TRY(header());
    FRIT_TRY(sections());
    return std::move(out_);
  }

 private:
  template <class T>
  bool get(uint64_t at, T* out) const {
    if (at > bytes_.size() || bytes_.size() - at < sizeof(T)) return false;
    std::memcpy(out, bytes_.data() + at, sizeof(T));
    return true;
  }

  Status header() {
    if (!get(0, &header_) || std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0)
      return corrupt("is no ELF file");
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_machine != kMachineCuda)
      return corrupt(text_of("is for machine ", header_.e_machine, ", expected ", kMachineCuda));
    // ABI version 8 moved the architecture up by a byte.
    out_.sm = static_cast<int32_t>(header_.e_ident[EI_ABIVERSION] >= 8 ? header_.e_flags >> 8 & 0xff
                                                                       : header_.e_flags & 0xff);
    if (header_.e_shentsize != sizeof(Elf64_Shdr)) return corrupt("has sections of an unknown form");
    const uint64_t segments = uint64_t{header_.e_phnum} * header_.e_phentsize;
    if (header_.e_phoff > bytes_.size() || bytes_.size() - header_.e_phoff < segments)
      return corrupt("ends inside of its table of segments");
    for (unsigned k = 0; k < header_.e_shnum; ++k) {
      Elf64_Shdr section;
      if (!get(header_.e_shoff + k * sizeof section, &section))
        return corrupt("ends inside of its table of sections");
      const bool stored = section.sh_type != SHT_NOBITS;
      if (stored &&
          (section.sh_offset > bytes_.size() || bytes_.size() - section.sh_offset < section.sh_size))
        return corrupt("has a section outside of the file");
      sections_.push_back(section);
    }
    if (header_.e_shstrndx >= sections_.size()) return corrupt("has no names of sections");
    return {};
  }

  std::string_view content(const Elf64_Shdr& s) const {
    return s.sh_type == SHT_NOBITS ? std::string_view{} : bytes_.substr(s.sh_offset, s.sh_size);
  }
  std::string_view name(const Elf64_Shdr& s) const {
    std::string_view names = content(sections_[header_.e_shstrndx]);
    if (s.sh_name >= names.size()) return {};
    names.remove_prefix(s.sh_name);
    return names.substr(0, names.find('\0'));
  }
  static bool after(std::string_view name, std::string_view prefix, std::string_view* rest) {
    if (name.substr(0, prefix.size()) != prefix) return false;
    *rest = name.substr(prefix.size());
    return true;
  }

  Status sections() {
    std::string_view rest;
    for (const Elf64_Shdr& s : sections_) {
      if (!after(name(s), ".text.", &rest)) continue;
      if (!out_.symbol.empty()) return corrupt("holds more than one kernel");
      out_.symbol = rest;
      out_.code_bytes = static_cast<int64_t>(s.sh_size);
    }
    if (out_.symbol.empty()) return corrupt("holds no kernel");
    for (const Elf64_Shdr& s : sections_) {
      const std::string_view n = name(s);
      if (n == ".nv.info" || (after(n, ".nv.info.", &rest) && rest == out_.symbol))
        FRIT_TRY(records(content(s)));
      if (after(n, ".nv.shared.", &rest)) out_.shared_bytes += static_cast<int64_t>(s.sh_size);
      if (after(n, ".nv.constant", &rest)) out_.constant_bytes += static_cast<int64_t>(s.sh_size);
    }
    if (out_.registers == 0) return corrupt("does not say how many registers its kernel takes");
    return {};
  }

  // Records: format, attribute, then for format 4 a 16-bit length and as many bytes, else 16 bits of value.
  Status records(std::string_view info) {
    const auto word = [&](size_t at) {
      uint32_t v = 0;
      std::memcpy(&v, info.data() + at, 4);
      return v;
    };
    for (size_t at = 0; at + 4 <= info.size();) {
      const auto format = static_cast<uint8_t>(info[at]), attribute = static_cast<uint8_t>(info[at + 1]);
      uint16_t value = 0;
      std::memcpy(&value, info.data() + at + 2, 2);
      at += 4;
      if (format != 4) {
        if (attribute == kBarrierCount) out_.barriers = value & 0xff;
        continue;
      }
      if (info.size() - at < value) return corrupt("has a record that is cut off");
      // (symbol, value) pairs; there is one kernel, so that the symbol need not be looked up.
      if (attribute == kRegisterCount && value >= 8)
        out_.registers = std::max(out_.registers, static_cast<int32_t>(word(at + 4)));
      if (attribute == kFrameSize && value >= 8)
        out_.stack_bytes = std::max(out_.stack_bytes, static_cast<int64_t>(word(at + 4)));
      if (attribute == kMaxThreads && value >= 12)
        out_.max_threads = static_cast<int32_t>(word(at) * word(at + 4) * word(at + 8));
      at += value;
    }
    return {};
  }

  std::string_view bytes_;
  Elf64_Ehdr header_ = {};
  std::vector<Elf64_Shdr> sections_;
  CubinKernel out_;
};

}  // namespace

Result<CubinKernel> read_cubin(std::string_view bytes) { return Reader(bytes).run(); }

Status check_cubin(const CubinKernel& kernel, const loop::GpuLaunch& launch, const device::GpuArch& arch) {
  if (kernel.sm != arch.sm)
    return make_error(Code::kDevice,
                      text_of(kernel.symbol, " is compiled for sm_", kernel.sm, ", expected ", arch.name()));
  if (kernel.max_threads != 0 && launch.threads() > kernel.max_threads)
    return make_error(Code::kUnsupported, text_of(kernel.symbol, " is launched with ", launch.threads(),
                                                  " threads and compiled for ", kernel.max_threads));
  const int64_t own_shared = std::max<int64_t>(kernel.shared_bytes - arch.shared_reserved, 0);
  return device::check_launch(arch, {launch.threads(), kernel.registers, launch.shared_bytes + own_shared})
      .with(kernel.symbol);
}

}  // namespace frit::codegen
