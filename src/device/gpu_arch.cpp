#include "device/gpu_arch.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace frit::device {

namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kWarp = 32;
constexpr int64_t kRegisterUnit = 256;  // registers are handed out to warps in multiples of it
constexpr int64_t kSchedulers = 4;      // parts of a multiprocessor, each with a quarter of its registers
constexpr int64_t kSharedUnit = 128;

constexpr std::array<GpuArch, 3> kArchs = {{
    {.sm = 80,
     .chips = "A100",
     .warps_per_sm = 64,
     .blocks_per_sm = 32,
     .shared_per_sm = 164 * kKiB,
     .shared_per_block = 163 * kKiB,
     .shared_reserved = kKiB,
     .sm_count = 108,
     .flops = 19.5e12,
     .bytes_per_second = 1.55e12,
     .launch_seconds = 2.5e-6},
    {.sm = 90,
     .chips = "H100, H200",
     .warps_per_sm = 64,
     .blocks_per_sm = 32,
     .shared_per_sm = 228 * kKiB,
     .shared_per_block = 227 * kKiB,
     .shared_reserved = kKiB,
     .sm_count = 132,
     .flops = 60e12,
     .bytes_per_second = 3.9e12,
     .launch_seconds = 2e-6},
    {.sm = 120,
     .chips = "RTX 50, RTX PRO 6000",
     .warps_per_sm = 48,
     .blocks_per_sm = 24,
     .shared_per_sm = 100 * kKiB,
     .shared_per_block = 99 * kKiB,
     .shared_reserved = kKiB,
     .sm_count = 188,
     .flops = 110e12,
     .bytes_per_second = 1.6e12,
     .launch_seconds = 2e-6},
}};

int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

int64_t warps_of(const GpuUse& use) { return (use.threads + kWarp - 1) / kWarp; }
int64_t registers_per_warp(const GpuUse& use) {
  return round_up(std::max<int64_t>(use.registers, 1) * kWarp, kRegisterUnit);
}
// Warps whose registers a multiprocessor holds: each scheduler's quarter on its own.
int64_t warps_by_registers(const GpuArch& arch, const GpuUse& use) {
  return arch.registers_per_sm / kSchedulers / registers_per_warp(use) * kSchedulers;
}

}  // namespace

std::string GpuArch::name() const { return base::text_of("sm_", sm); }

std::span<const GpuArch> gpu_archs() { return kArchs; }

const GpuArch* find_gpu_arch(int32_t sm) {
  const auto it = std::find_if(kArchs.begin(), kArchs.end(), [&](const GpuArch& a) { return a.sm == sm; });
  return it == kArchs.end() ? nullptr : &*it;
}

Status check_launch(const GpuArch& arch, const GpuUse& use) {
  const auto over = [&](const char* what, int64_t have, int64_t limit) {
    return make_error(Code::kUnsupported,
                      base::text_of(what, " is ", have, ", ", arch.name(), " allows ", limit));
  };
  if (use.threads < 1 || use.threads > arch.threads_per_block)
    return over("threads per block", use.threads, arch.threads_per_block);
  if (use.registers > arch.registers_per_thread)
    return over("registers per thread", use.registers, arch.registers_per_thread);
  if (use.shared_bytes > arch.shared_per_block)
    return over("shared memory per block", use.shared_bytes, arch.shared_per_block);
  if (warps_of(use) > warps_by_registers(arch, use))
    return over("registers per block", warps_of(use) * registers_per_warp(use), arch.registers_per_sm);
  return {};
}

int32_t blocks_per_sm(const GpuArch& arch, const GpuUse& use) {
  if (!check_launch(arch, use).ok()) return 0;
  const int64_t shared = round_up(use.shared_bytes + arch.shared_reserved, kSharedUnit);
  return static_cast<int32_t>(
      std::min({int64_t{arch.blocks_per_sm}, arch.warps_per_sm / warps_of(use),
                warps_by_registers(arch, use) / warps_of(use), arch.shared_per_sm / shared}));
}

}  // namespace frit::device
