// Target: what a machine is, as far as generated code and cache keys depend on it.
//
// Families size their tiles by it, the emitter picks instructions by its features, the cache keys decisions
// by its text. A machine is what its feature bits say, never what its name suggests; cache sizes and core
// counts are provenance: they travel with the value and order near hits, but equality and text() leave them
// out. It must not know what an operator or a kernel is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device/features.h"
#include "device/features_aarch64.h"
#include "device/features_x86.h"
#include "device/gpu_arch.h"
#include "frit/result.h"

namespace frit::base {
class FileSystem;
class Process;
}  // namespace frit::base

namespace frit::device {

enum class Arch : uint8_t { kX86_64, kAarch64, kCuda };

const char* arch_name(Arch arch);  // "x86_64", "aarch64", "cuda"

struct Target {
  Arch arch = Arch::kX86_64;
  FeatureSet features;  // bits of enum X86 or enum Aarch64
  int32_t sm = 0;       // kCuda: compute capability, a row of gpu_archs()

  // As the CPU reports itself (CPUID, MIDR); a named baseline has none of the three.
  std::string vendor;
  int32_t family = 0;
  int32_t model = 0;

  // Provenance: neither equality nor text() looks at these.
  std::string name;      // how it was asked for: "cpu", "cpu:x86-64-v3"
  std::string cpu_name;  // the CPU's own marketing name; may lie
  CacheSizes caches;     // per core for L1 and L2, the whole L3
  int32_t cores = 0;     // physical cores of the machine; 0 for a named baseline

  bool has(X86 feature) const { return arch == Arch::kX86_64 && features.has(feature); }
  bool has(Aarch64 feature) const { return arch == Arch::kAarch64 && features.has(feature); }

  bool is_gpu() const { return arch == Arch::kCuda; }
  const GpuArch& gpu() const;  // of a GPU target

  // The questions from here to has_masked_move are about CPUs.
  // 64-byte vectors with masks and 32 registers, in full (F, BW, DQ, VL).
  bool has_avx512() const;
  int vector_bytes() const;      // of the widest vector that the emitter uses: 64, 32 or 16
  int vector_registers() const;  // 32 or 16
  bool has_fma() const { return arch == Arch::kAarch64 || has(X86::kFma); }
  // Whether a vector of such elements (1, 2, 4 or 8 bytes) can be loaded and stored under a mask.
  bool has_masked_move(int element_bytes) const;

  // The canonical form, which keys use: "cpu:x86_64/avx,fma,avx2" for a baseline, with "/AuthenticAMD/25/17"
  // for a machine; "cuda:sm_90" for a GPU. parse_target(text()) gives an equal target.
  std::string text() const;
  // Comma-separated names of the features in table order, "none" where there are none.
  std::string feature_text() const;
  // For LLVM: "+avx,+fma,+avx2".
  std::string llvm_features() const;

  bool operator==(const Target& other) const {
    return arch == other.arch && features == other.features && sm == other.sm && vendor == other.vendor &&
           family == other.family && model == other.model;
  }
};

// The machine this process runs on, with features that the operating system does not support left out. Costs
// some hundred microseconds (it reads /sys; CPUID is slow in a virtual machine), so callers keep the value.
Target host_target();
Target host_target(base::FileSystem& files, base::Process& process);

// "cpu" (this machine), "cpu:NAME" (a baseline), "cuda:sm_NN" (a GPU architecture) or a canonical text. An
// unknown name gives invalid_argument with the names that are known. A text that equals the host's gives the
// host's provenance too.
Result<Target> parse_target(std::string_view text);

// The names that may follow "cpu:" and "cuda:".
std::vector<std::string> known_target_names();
std::vector<std::string> known_gpu_names();

// Ok when this machine can execute code for the target, else an error that names the missing features.
Status can_run_on_host(const Target& target);
Status can_run_on(const Target& host, const Target& target);

namespace internal {
// Pure parts of detection, for tests. cpuid_features: leaves 1, 7.0, 7.1, 0x80000001 and XCR0.
struct CpuidWords {
  uint32_t leaf1_ecx = 0;
  uint32_t leaf7_ebx = 0, leaf7_ecx = 0, leaf7_edx = 0;
  uint32_t leaf7_1_eax = 0;
  uint32_t ext1_ecx = 0;
  uint64_t xcr0 = 0;  // 0 without OSXSAVE
};
FeatureSet features_from_cpuid(const CpuidWords& words);
// vendor, family (architecture) and model (part) from the first core in /proc/cpuinfo's text on AArch64.
void read_midr(std::string_view cpuinfo, Target& target);
}  // namespace internal

}  // namespace frit::device
