// host_target: what CPUID, the auxiliary vector, /proc and /sys say about this machine.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif

#include "base/seams.h"
#include "base/text.h"
#include "device/target.h"

namespace frit::device {

namespace internal {

FeatureSet features_from_cpuid(const CpuidWords& words) {
  FeatureSet out;
  const auto take = [&](X86 feature, uint32_t word, int bit) {
    if ((word >> bit) & 1) out.set(feature);
  };
  take(X86::kPopcnt, words.leaf1_ecx, 23);
  take(X86::kLzcnt, words.ext1_ecx, 5);
  take(X86::kBmi, words.leaf7_ebx, 3);
  take(X86::kBmi2, words.leaf7_ebx, 8);

  // A register file counts only when the operating system saves it (XCR0).
  constexpr uint64_t kYmm = 0x6, kZmm = 0xe6, kTile = 0x60000;
  if ((words.xcr0 & kYmm) != kYmm || !((words.leaf1_ecx >> 28) & 1)) return out;
  out.set(X86::kAvx);
  take(X86::kF16c, words.leaf1_ecx, 29);
  take(X86::kFma, words.leaf1_ecx, 12);
  take(X86::kAvx2, words.leaf7_ebx, 5);
  take(X86::kAvxVnni, words.leaf7_1_eax, 4);

  if ((words.xcr0 & kZmm) != kZmm || !((words.leaf7_ebx >> 16) & 1)) return out;
  out.set(X86::kAvx512f);
  take(X86::kAvx512dq, words.leaf7_ebx, 17);
  take(X86::kAvx512cd, words.leaf7_ebx, 28);
  take(X86::kAvx512bw, words.leaf7_ebx, 30);
  take(X86::kAvx512vl, words.leaf7_ebx, 31);
  take(X86::kAvx512vbmi, words.leaf7_ecx, 1);
  take(X86::kAvx512vnni, words.leaf7_ecx, 11);
  take(X86::kAvx512fp16, words.leaf7_edx, 23);
  take(X86::kAvx512bf16, words.leaf7_1_eax, 5);

  if ((words.xcr0 & kTile) != kTile || !((words.leaf7_edx >> 24) & 1)) return out;
  out.set(X86::kAmxTile);
  take(X86::kAmxBf16, words.leaf7_edx, 22);
  take(X86::kAmxInt8, words.leaf7_edx, 25);
  take(X86::kAmxFp16, words.leaf7_1_eax, 21);
  return out;
}

void read_midr(std::string_view cpuinfo, Target& target) {
  const auto field = [&](std::string_view key) -> std::string_view {
    size_t at = cpuinfo.find(key);
    if (at == std::string_view::npos) return {};
    at = cpuinfo.find(':', at);
    if (at == std::string_view::npos) return {};
    std::string_view value = cpuinfo.substr(at + 1);
    value = value.substr(0, value.find('\n'));
    const size_t begin = value.find_first_not_of(" \t");
    return begin == std::string_view::npos ? std::string_view() : value.substr(begin);
  };
  const auto number = [](std::string_view text) {
    int base = 10;
    if (text.substr(0, 2) == "0x") {
      base = 16;
      text.remove_prefix(2);
    }
    int32_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value, base);
    return value;
  };
  target.vendor = field("CPU implementer");
  target.family = number(field("CPU architecture"));
  target.model = number(field("CPU part"));
  // Without a vendor it is a baseline, and that has neither.
  if (target.vendor.empty()) target.family = target.model = 0;
}

}  // namespace internal

namespace {

// What a text form can hold: no separators, no spaces.
std::string plain_word(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.') c = '_';
  }
  return out;
}

// A small file of /proc or /sys without its last line end; empty where there is none.
std::string read_line_or_empty(base::FileSystem& files, const std::string& path) {
  Result<std::string> text = files.read(path);
  if (!text.ok()) return {};
  text->erase(text->find_last_not_of(" \t\r\n") + 1);
  return *std::move(text);
}

#if defined(__x86_64__)
uint64_t read_xcr0() {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}

void append_word(std::string& out, uint32_t word) {
  for (int i = 0; i < 4; ++i) out += static_cast<char>((word >> (8 * i)) & 0xff);
}

void read_cpu(base::FileSystem&, Target& target) {
  target.arch = Arch::kX86_64;
  uint32_t a = 0, b = 0, c = 0, d = 0;
  __cpuid(0, a, b, c, d);
  const uint32_t max_leaf = a;
  std::string vendor;
  for (uint32_t word : {b, d, c}) append_word(vendor, word);
  target.vendor = plain_word(vendor);

  internal::CpuidWords words;
  __cpuid(1, a, b, c, d);
  words.leaf1_ecx = c;
  const uint32_t base_family = (a >> 8) & 0xf;
  const uint32_t base_model = (a >> 4) & 0xf;
  target.family = static_cast<int32_t>(base_family == 0xf ? base_family + ((a >> 20) & 0xff) : base_family);
  target.model = static_cast<int32_t>(base_family == 0xf || base_family == 6 ? base_model + ((a >> 12) & 0xf0)
                                                                             : base_model);
  if ((c >> 27) & 1) words.xcr0 = read_xcr0();
  if (max_leaf >= 7) {
    __cpuid_count(7, 0, a, b, c, d);
    words.leaf7_ebx = b;
    words.leaf7_ecx = c;
    words.leaf7_edx = d;
    if (a >= 1) {
      __cpuid_count(7, 1, a, b, c, d);
      words.leaf7_1_eax = a;
    }
  }
  __cpuid(0x80000000, a, b, c, d);
  const uint32_t max_extended = a;
  if (max_extended >= 0x80000001) {
    __cpuid(0x80000001, a, b, c, d);
    words.ext1_ecx = c;
  }
  if (max_extended >= 0x80000004) {
    for (uint32_t leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
      __cpuid(leaf, a, b, c, d);
      for (uint32_t word : {a, b, c, d}) append_word(target.cpu_name, word);
    }
    target.cpu_name = target.cpu_name.c_str();  // up to the first zero
  }
  target.features = internal::features_from_cpuid(words);
}
#elif defined(__aarch64__)
void read_cpu(base::FileSystem& files, Target& target) {
  target.arch = Arch::kAarch64;
  const uint64_t caps = getauxval(AT_HWCAP);
  const uint64_t caps2 = getauxval(AT_HWCAP2);
  // Bits of the kernel's asm/hwcap.h: ASIMD, ASIMDHP with FPHP, ASIMDDP, I8MM, BF16.
  target.features.set(Aarch64::kNeon, (caps >> 1) & 1);
  target.features.set(Aarch64::kFullFp16, ((caps >> 10) & 1) && ((caps >> 9) & 1));
  target.features.set(Aarch64::kDotProd, (caps >> 20) & 1);
  target.features.set(Aarch64::kI8mm, (caps2 >> 13) & 1);
  target.features.set(Aarch64::kBf16, (caps2 >> 14) & 1);
  internal::read_midr(read_line_or_empty(files, "/proc/cpuinfo"), target);
  target.vendor = plain_word(target.vendor);
}
#else
#error "frit knows x86-64 and AArch64"
#endif

int64_t parse_size(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return 0;
  if (end != text.data() + text.size()) {
    if (*end == 'K') value <<= 10;
    if (*end == 'M') value <<= 20;
  }
  return value;
}

CacheSizes read_caches(base::FileSystem& files, const std::string& cpu_dir) {
  CacheSizes caches;
  for (int i = 0; i < 8; ++i) {
    const std::string dir = cpu_dir + "/cache/index" + std::to_string(i);
    const std::string level = read_line_or_empty(files, dir + "/level");
    if (level.empty()) break;
    if (read_line_or_empty(files, dir + "/type") == "Instruction") continue;
    const int64_t size = parse_size(read_line_or_empty(files, dir + "/size"));
    if (level == "1") {
      caches.l1d_bytes = size;
      const int64_t line = parse_size(read_line_or_empty(files, dir + "/coherency_line_size"));
      if (line > 0) caches.line_bytes = line;
    }
    if (level == "2") caches.l2_bytes = size;
    if (level == "3") caches.l3_bytes = size;
  }
  return caches;
}

// How many CPUs a list such as "0,64" or "0-1" names.
int count_cpu_list(std::string_view list) {
  int count = 0;
  while (!list.empty()) {
    const std::string_view piece = list.substr(0, list.find(','));
    const size_t dash = piece.find('-');
    const int64_t first = parse_size(piece.substr(0, dash));
    const int64_t last = dash == std::string_view::npos ? first : parse_size(piece.substr(dash + 1));
    count += static_cast<int>(std::max<int64_t>(last - first + 1, 1));
    list.remove_prefix(std::min(list.size(), piece.size() + 1));
  }
  return count;
}

}  // namespace

Target host_target(base::FileSystem& files, base::Process& process) {
  Target target;
  target.name = "cpu";
  read_cpu(files, target);
  // The first CPU we may run on: machines with unlike cores report per CPU.
  const Result<std::vector<int>> allowed = process.affinity();
  const int cpu = allowed.ok() && !allowed->empty() ? allowed->front() : 0;
  const std::string cpu_dir = base::text_of("/sys/devices/system/cpu/cpu", cpu);
  target.caches = read_caches(files, cpu_dir);
  const CacheSizes fallback =
      target.arch == Arch::kX86_64 ? kX86Baselines[0].caches : kAarch64Baselines[0].caches;
  if (target.caches.l1d_bytes == 0) target.caches.l1d_bytes = fallback.l1d_bytes;
  if (target.caches.l2_bytes == 0) target.caches.l2_bytes = fallback.l2_bytes;

  const int siblings =
      std::max(1, count_cpu_list(read_line_or_empty(files, cpu_dir + "/topology/thread_siblings_list")));
  target.cores = std::max<int32_t>(1, static_cast<int32_t>(sysconf(_SC_NPROCESSORS_ONLN)) / siblings);
  return target;
}

Target host_target() {
  base::SystemFileSystem files;
  base::SystemProcess process;
  return host_target(files, process);
}

}  // namespace frit::device
