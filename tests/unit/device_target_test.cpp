#include <gtest/gtest.h>

#include <random>

#include "device/target.h"
#include "support/fake_seams.h"

namespace frit::device {
namespace {

Target parsed(std::string_view text) {
  Result<Target> target = parse_target(text);
  if (!target.ok()) ADD_FAILURE() << target.error().text();
  return target.ok() ? *target : Target();
}

TEST(Target, EveryKnownNameParsesAndItsTextParsesBack) {
  ASSERT_GE(known_target_names().size(), 10u);
  for (const std::string& name : known_target_names()) {
    const Target target = parsed("cpu:" + name);
    EXPECT_EQ(target.name, "cpu:" + name);
    EXPECT_TRUE(target.vendor.empty());
    EXPECT_EQ(target.family, 0);
    EXPECT_EQ(target.model, 0);
    EXPECT_GT(target.caches.l1d_bytes, 0);
    EXPECT_FALSE(target.features.empty());
    const Target again = parsed(target.text());
    EXPECT_EQ(again, target) << target.text();
    EXPECT_EQ(again.text(), target.text());
    EXPECT_GT(again.caches.l1d_bytes, 0) << name;
  }
}

TEST(Target, TextOfBaselinesIsPinned) {
  // Keys hold these texts: a change here makes every stored decision a miss.
  EXPECT_EQ(parsed("cpu:x86-64-v3").text(), "cpu:x86_64/popcnt,lzcnt,bmi,bmi2,avx,f16c,fma,avx2");
  EXPECT_EQ(parsed("cpu:x86-64-v4").text(),
            "cpu:x86_64/popcnt,lzcnt,bmi,bmi2,avx,f16c,fma,avx2,avx512f,avx512cd,avx512bw,avx512dq,avx512vl");
  EXPECT_EQ(parsed("cpu:aarch64").text(), "cpu:aarch64/neon");
  EXPECT_EQ(parsed("cpu:x86-64-v3").llvm_features(), "+popcnt,+lzcnt,+bmi,+bmi2,+avx,+f16c,+fma,+avx2");
}

TEST(Target, VectorShape) {
  const Target v2 = parsed("cpu:x86-64-v2"), v3 = parsed("cpu:x86-64-v3"), v4 = parsed("cpu:x86-64-v4"),
               arm = parsed("cpu:neoverse-v1");
  EXPECT_EQ(v2.vector_bytes(), 16);
  EXPECT_EQ(v2.vector_registers(), 16);
  EXPECT_FALSE(v2.has_masked_move(4));
  EXPECT_FALSE(v2.has_fma());
  EXPECT_EQ(v3.vector_bytes(), 32);
  EXPECT_EQ(v3.vector_registers(), 16);
  EXPECT_TRUE(v3.has_masked_move(4));
  EXPECT_TRUE(v3.has_masked_move(8));
  EXPECT_FALSE(v3.has_masked_move(1));
  EXPECT_FALSE(v3.has_masked_move(2));
  EXPECT_EQ(v4.vector_bytes(), 64);
  EXPECT_EQ(v4.vector_registers(), 32);
  for (int bytes : {1, 2, 4, 8}) EXPECT_TRUE(v4.has_masked_move(bytes));
  EXPECT_FALSE(v4.has_masked_move(16));
  EXPECT_EQ(arm.vector_bytes(), 16);
  EXPECT_EQ(arm.vector_registers(), 32);
  EXPECT_TRUE(arm.has_fma());
  EXPECT_FALSE(arm.has_masked_move(4));
  // Bits of one architecture mean nothing to another.
  EXPECT_FALSE(arm.has(X86::kPopcnt));
  EXPECT_TRUE(arm.has(Aarch64::kNeon));
}

TEST(Target, AvxWithoutAvx2IsNarrow) {
  const Target sandy = parsed("cpu:x86_64/popcnt,avx");
  EXPECT_EQ(sandy.vector_bytes(), 16);
  EXPECT_FALSE(sandy.has_masked_move(4));
}

TEST(Target, HostIsAMachineAndRunsItself) {
  const Target host = host_target();
  EXPECT_EQ(host, host_target());
  EXPECT_EQ(host.name, "cpu");
  EXPECT_FALSE(host.vendor.empty());
  EXPECT_GT(host.caches.l1d_bytes, 1024);
  EXPECT_GE(host.caches.l2_bytes, host.caches.l1d_bytes);
  EXPECT_GE(host.cores, 1);
  EXPECT_TRUE(can_run_on_host(host).ok());
  EXPECT_EQ(parsed("cpu"), host);
  const Target again = parsed(host.text());
  EXPECT_EQ(again, host);
  EXPECT_EQ(again.caches, host.caches);  // a host's text gives its provenance too
  EXPECT_EQ(again.cpu_name, host.cpu_name);
}

#if defined(__x86_64__)
TEST(Target, HostAgreesWithTheCompilersView) {
  const Target host = host_target();
  EXPECT_EQ(host.has(X86::kAvx2), bool(__builtin_cpu_supports("avx2")));
  EXPECT_EQ(host.has(X86::kFma), bool(__builtin_cpu_supports("fma")));
  EXPECT_EQ(host.has(X86::kAvx512f), bool(__builtin_cpu_supports("avx512f")));
  EXPECT_EQ(host.has(X86::kAvx512vl), bool(__builtin_cpu_supports("avx512vl")));
  EXPECT_EQ(host.has(X86::kAvx512bw), bool(__builtin_cpu_supports("avx512bw")));
  EXPECT_EQ(host.has(X86::kAvx512vbmi), bool(__builtin_cpu_supports("avx512vbmi")));
  EXPECT_EQ(host.has(X86::kAvx512vnni), bool(__builtin_cpu_supports("avx512vnni")));
  EXPECT_EQ(host.has(X86::kAvx512bf16), bool(__builtin_cpu_supports("avx512bf16")));
  EXPECT_EQ(host.has(X86::kBmi2), bool(__builtin_cpu_supports("bmi2")));
}
#endif

TEST(Target, FeaturesTheSystemDoesNotSaveAreLeftOut) {
  internal::CpuidWords all;
  all.leaf1_ecx = all.leaf7_ebx = all.leaf7_ecx = all.leaf7_edx = all.leaf7_1_eax = all.ext1_ecx =
      ~uint32_t{0};
  all.xcr0 = ~uint64_t{0};
  EXPECT_TRUE(internal::features_from_cpuid(all).contains(parsed("cpu:graniterapids").features));

  all.xcr0 = 0xe6;  // no tile state
  FeatureSet features = internal::features_from_cpuid(all);
  EXPECT_TRUE(features.has(X86::kAvx512fp16));
  EXPECT_FALSE(features.has(X86::kAmxTile));
  EXPECT_FALSE(features.has(X86::kAmxInt8));

  all.xcr0 = 0x6;  // no upper halves
  features = internal::features_from_cpuid(all);
  EXPECT_TRUE(features.has(X86::kAvx2));
  EXPECT_TRUE(features.has(X86::kAvxVnni));
  EXPECT_FALSE(features.has(X86::kAvx512f));
  EXPECT_FALSE(features.has(X86::kAvx512vl));

  all.xcr0 = 0x2;
  features = internal::features_from_cpuid(all);
  EXPECT_TRUE(features.has(X86::kBmi2));
  EXPECT_FALSE(features.has(X86::kAvx));
  EXPECT_FALSE(features.has(X86::kFma));

  EXPECT_TRUE(internal::features_from_cpuid({}).empty());
}

TEST(Target, HostWithoutSysHasDefaults) {
  fakes::MemoryFiles files;
  fakes::FakeProcess process;
  process.cpus.reset();
  const Target host = host_target(files, process);
  EXPECT_GT(host.caches.l1d_bytes, 0);
  EXPECT_GT(host.caches.l2_bytes, 0);
  EXPECT_EQ(host.caches.l3_bytes, 0);
  EXPECT_EQ(host.caches.line_bytes, 64);
  EXPECT_GE(host.cores, 1);
  EXPECT_EQ(host.features, host_target().features);
}

TEST(Target, HostReadsTheCachesOfACpuItMayUse) {
  fakes::MemoryFiles files;
  fakes::FakeProcess process;
  process.cpus = std::vector<int>{5, 6};
  const std::string cpu = "/sys/devices/system/cpu/cpu5/";
  const auto cache = [&](int index, const char* level, const char* type, const char* size) {
    const std::string dir = cpu + "cache/index" + std::to_string(index) + "/";
    files.put(dir + "level", std::string(level) + "\n");
    files.put(dir + "type", std::string(type) + "\n");
    files.put(dir + "size", std::string(size) + "\n");
    files.put(dir + "coherency_line_size", "128\n");
  };
  cache(0, "1", "Data", "48K");
  cache(1, "1", "Instruction", "32K");
  cache(2, "2", "Unified", "2048K");
  cache(3, "3", "Unified", "105M");
  const Target host = host_target(files, process);
  EXPECT_EQ(host.caches, (CacheSizes{48 << 10, 2 << 20, 105 << 20, 128}));
}

TEST(Target, MidrFromCpuinfo) {
  Target target;
  internal::read_midr(
      "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU architecture: "
      "8\n"
      "CPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n",
      target);
  EXPECT_EQ(target.vendor, "0x41");
  EXPECT_EQ(target.family, 8);
  EXPECT_EQ(target.model, 0xd0c);
  for (const char* odd : {"", "CPU implementer", "CPU implementer\t:", "CPU part : zzz"}) {
    Target none;
    internal::read_midr(odd, none);
    EXPECT_EQ(none.vendor, "") << odd;
    EXPECT_EQ(none.family, 0) << odd;
    EXPECT_EQ(none.model, 0) << odd;
  }
}

TEST(Target, CanRunNamesWhatIsMissing) {
  const Target v3 = parsed("cpu:x86-64-v3"), v4 = parsed("cpu:x86-64-v4"), arm = parsed("cpu:aarch64");
  EXPECT_TRUE(can_run_on(v4, v3).ok());
  EXPECT_TRUE(can_run_on(v3, v3).ok());
  const Status narrow = can_run_on(v3, v4);
  ASSERT_FALSE(narrow.ok());
  EXPECT_EQ(narrow.error().code, Code::kDevice);
  EXPECT_EQ(narrow.error().message,
            "code for cpu:x86-64-v4 cannot run here: this machine lacks "
            "avx512f,avx512cd,avx512bw,avx512dq,avx512vl");
  const Status foreign = can_run_on(v3, arm);
  ASSERT_FALSE(foreign.ok());
  EXPECT_NE(foreign.error().message.find("it is for aarch64"), std::string::npos);
}

TEST(Target, ErrorsNameWhatIsKnown) {
  struct Case {
    const char* text;
    const char* fragment;
  };
  const Case cases[] = {
      {"", "expected cpu"},
      {"gpu", "expected cpu"},
      {"cpu:", "unknown name \"\"; known: cpu, cpu:x86-64-v2"},
      {"cpu:znver9", "cpu:znver4"},
      {"cpu:x86_64", "unknown name"},
      {"cpu:x86_64/", "has no feature \"\""},
      {"cpu:x86_64/avx,,avx2", "has no feature \"\""},
      {"cpu:x86_64/neon", "x86_64 has no feature \"neon\"; known: popcnt"},
      {"cpu:aarch64/avx", "aarch64 has no feature \"avx\"; known: neon"},
      {"cpu:x86_64/avx/GenuineIntel", "found 3 parts"},
      {"cpu:x86_64/avx/GenuineIntel/6/x", "expected a number, found \"x\""},
      {"cpu:x86_64/avx/GenuineIntel/-6/1", "expected a number"},
      {"cpu:x86_64/avx/GenuineIntel/99999999999/1", "expected a number"},
      {"cpu:x86_64/avx//6/1", "the vendor is empty"},
      {"cpu:x86_64/avx/a/6/1/2", "found 6 parts"},
      {"CPU", "expected cpu"},
      {"cpu:X86-64-V3", "unknown name"},
  };
  for (const Case& c : cases) {
    const Result<Target> target = parse_target(c.text);
    ASSERT_FALSE(target.ok()) << c.text;
    EXPECT_EQ(target.error().code, Code::kInvalidArgument) << c.text;
    EXPECT_NE(target.error().message.find(c.fragment), std::string::npos) << target.error().message;
  }
}

TEST(Target, GpusAreKnownByArchitecture) {
  for (const char* name : {"cuda:sm_80", "cuda:sm_90", "cuda:sm_120"}) {
    const Target gpu = parsed(name);
    EXPECT_TRUE(gpu.is_gpu());
    EXPECT_EQ(gpu.text(), name);
    EXPECT_EQ(parsed(gpu.text()), gpu);
    EXPECT_STREQ(arch_name(gpu.arch), "cuda");
    EXPECT_EQ("cuda:" + gpu.gpu().name(), name);
    EXPECT_EQ(can_run_on_host(gpu).error().code, Code::kUnsupported);
  }
  EXPECT_FALSE(parsed("cuda:sm_80") == parsed("cuda:sm_90"));
  EXPECT_FALSE(parsed("cuda:sm_80") == parsed("cpu:x86-64-v3"));
  for (const char* name : {"cuda", "cuda:", "cuda:sm_35", "cuda:sm_9", "cuda:90"})
    EXPECT_FALSE(parse_target(name).ok()) << name;
  EXPECT_NE(parse_target("cuda:sm_35").error().message.find("known: cuda:sm_80, cuda:sm_90, cuda:sm_120"),
            std::string::npos);
}

// Against NVIDIA's occupancy calculator.
TEST(GpuArch, BlocksPerMultiprocessor) {
  struct Case {
    int32_t sm;
    GpuUse use;
    int32_t blocks;
  };
  const Case cases[] = {
      {80, {256, 32, 0}, 8},          // 2048 threads
      {80, {32, 32, 0}, 32},          // most blocks
      {80, {256, 128, 0}, 2},         // registers: 16 warps
      {80, {128, 255, 0}, 2},         // 256 registers per thread once rounded
      {80, {1024, 64, 0}, 1},         // all registers
      {80, {1024, 65, 0}, 0},         // more than there are
      {80, {128, 32, 48 * 1024}, 3},  // 164 KiB of shared memory, 1 KiB reserved for each
      {90, {128, 32, 113 * 1024}, 2}, {90, {128, 32, 114 * 1024}, 1}, {90, {128, 32, 228 * 1024}, 0},
      {120, {256, 32, 0}, 6},  // 1536 threads
      {120, {64, 32, 0}, 24},         {120, {128, 32, 99 * 1024}, 1}, {90, {0, 32, 0}, 0},
      {90, {1025, 32, 0}, 0},         {90, {33, 40, 0}, 24},  // two warps each: 48 of 48 that the registers
                                                              // hold
  };
  for (const Case& c : cases) {
    const GpuArch* arch = find_gpu_arch(c.sm);
    ASSERT_NE(arch, nullptr);
    EXPECT_EQ(blocks_per_sm(*arch, c.use), c.blocks)
        << c.sm << " " << c.use.threads << " " << c.use.registers << " " << c.use.shared_bytes;
    EXPECT_EQ(check_launch(*arch, c.use).ok(), c.blocks > 0);
  }
  EXPECT_EQ(find_gpu_arch(35), nullptr);
  EXPECT_NE(check_launch(*find_gpu_arch(120), {128, 32, 100 * 1024})
                .error()
                .message.find("shared memory per block is 102400, sm_120 allows 101376"),
            std::string::npos);
}

TEST(Target, NoFeaturesHaveAText) {
  EXPECT_EQ(parsed("cpu:x86_64/none").text(), "cpu:x86_64/none");
  EXPECT_EQ(parsed("cpu:x86_64/none").llvm_features(), "");
  EXPECT_EQ(parsed("cpu:aarch64/none/0x41/8/3340").text(), "cpu:aarch64/none/0x41/8/3340");
}

TEST(Target, RandomMachinesParseBack) {
  const uint64_t seed = 20260801;
  std::mt19937_64 random(seed);
  for (int i = 0; i < 500; ++i) {
    Target target;
    target.arch = random() % 2 ? Arch::kX86_64 : Arch::kAarch64;
    const int count =
        static_cast<int>(target.arch == Arch::kX86_64 ? kX86Features.size() : kAarch64Features.size());
    target.features = FeatureSet(random() & ((uint64_t{1} << count) - 1));
    if (random() % 2) {
      target.vendor = random() % 2 ? "GenuineIntel" : "0x61";
      target.family = static_cast<int32_t>(random() % 300);
      target.model = static_cast<int32_t>(random() % 4096);
    }
    const Result<Target> again = parse_target(target.text());
    ASSERT_TRUE(again.ok()) << "seed " << seed << ": " << again.error().text();
    ASSERT_EQ(*again, target) << "seed " << seed << ": " << target.text();
    ASSERT_EQ(again->text(), target.text());
  }
}

}  // namespace
}  // namespace frit::device
