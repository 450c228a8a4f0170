#include "device/doctor.h"

#include <cstring>

#include "base/cpu_count.h"
#include "base/text.h"
#include "device/codegen_library.h"
#include "device/shared_libraries.h"

namespace frit::device {

namespace {

using base::text_of;

DoctorRow row(const char* topic, Verdict verdict, std::string value, std::string hint = {}) {
  DoctorRow out;
  out.topic = topic;
  out.verdict = verdict;
  out.value = std::move(value);
  out.hint = std::move(hint);
  return out;
}

DoctorRow isa_row(const Target& host) {
  DoctorRow out = row("isa", Verdict::kGood,
                      text_of(host.cpu_name.empty() ? arch_name(host.arch) : host.cpu_name.c_str(), ", ",
                              host.vendor, " family ", host.family, " model ", host.model, ", ",
                              host.vector_bytes(), "-byte vectors, ", host.vector_registers(), " registers"));
  out.details.push_back(host.feature_text());
  if (!host.has_fma()) {
    out.verdict = Verdict::kBad;
    out.hint = "kernels need fused multiply-add: a CPU of level x86-64-v3 or later";
  }
  return out;
}

DoctorRow caches_row(const CacheSizes& caches) {
  std::string value = text_of("L1d ", caches.l1d_bytes >> 10, " KiB, L2 ", caches.l2_bytes >> 10, " KiB");
  if (caches.l3_bytes != 0) base::append(value, ", L3 ", caches.l3_bytes >> 20, " MiB");
  return row("caches", Verdict::kGood, std::move(value));
}

DoctorRow threads_row(const base::CpuCounts& counts) {
  std::string value =
      text_of(counts.threads, counts.threads == 1 ? " thread" : " threads", " by default: ", counts.allowed,
              " allowed by affinity, ", counts.cores, " physical cores, ");
  if (counts.quota) {
    base::append(value, "control groups grant ", *counts.quota);
  } else {
    value += "no limit by control groups";
  }
  return row("threads", Verdict::kGood, std::move(value));
}

DoctorRow huge_pages_row(base::FileSystem& files) {
  // "always [madvise] never": the brackets mark the setting.
  const Result<std::string> text = files.read("/sys/kernel/mm/transparent_hugepage/enabled");
  if (!text.ok()) return row("huge_pages", Verdict::kNote, "the system has no transparent huge pages");
  const size_t begin = text->find('['), end = text->find(']');
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    return row("huge_pages", Verdict::kNote, "the setting cannot be read");
  }
  const std::string setting = text->substr(begin + 1, end - begin - 1);
  if (setting == "never") {
    return row("huge_pages", Verdict::kNote, setting,
               "large weights stream up to a quarter faster with "
               "`echo madvise > /sys/kernel/mm/transparent_hugepage/enabled`");
  }
  return row("huge_pages", Verdict::kGood, setting);
}

// Writes a function that returns 42, and calls it.
DoctorRow executable_memory_row(ExecutablePolicy policy) {
#if defined(__x86_64__)
  constexpr unsigned char kCode[] = {0xb8, 42, 0, 0, 0, 0xc3};  // mov eax, 42; ret
#else
  constexpr unsigned char kCode[] = {0x40, 0x05, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6};  // mov w0, #42; ret
#endif
  const auto memory = ExecutableMemory::make(policy);
  const auto block = memory->write(sizeof kCode, [&](std::span<std::byte> out, uint64_t) -> Status {
    std::memcpy(out.data(), kCode, sizeof kCode);
    return {};
  });
  if (!block.ok()) return row("executable_memory", Verdict::kBad, block.error().message, block.error().hint);
  const int answer = reinterpret_cast<int (*)()>(const_cast<std::byte*>(block->data()))();
  if (answer != 42)
    return row("executable_memory", Verdict::kBad, text_of("code gave ", answer, ", expected 42"));
  return row(
      "executable_memory", Verdict::kGood,
      memory->stats().dual ? "works, by mapping a memory file twice" : "works, by changing protection");
}

DoctorRow codegen_row(const std::string& option, base::Environment& environment) {
  const auto library = CodegenLibrary::open(option, environment);
  if (library.ok())
    return row("codegen", Verdict::kGood, text_of((*library)->path(), ", ", (*library)->version()));
  DoctorRow out =
      row("codegen", Verdict::kNote, "no compiler: only kernels in the cache can run", library.error().hint);
  out.details.push_back(library.error().message);
  return out;
}

DoctorRow library_row(const char* topic, const LibraryProbe& probe, const char* missing) {
  DoctorRow out = row(topic, Verdict::kGood, probe.path);
  if (!probe.version.empty()) base::append(out.value, ", version ", probe.version);
  if (!probe.found()) {
    out.verdict = Verdict::kNote;
    out.value = missing;
  }
  for (const LibraryAttempt& attempt : probe.attempts) {
    out.details.push_back(text_of(attempt.path, ": ", attempt.error.empty() ? "opened" : attempt.error));
  }
  return out;
}

}  // namespace

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood:
      return "good";
    case Verdict::kNote:
      return "note";
    case Verdict::kBad:
      return "bad";
  }
  return "";
}

const DoctorRow* DoctorReport::row(std::string_view topic) const {
  for (const DoctorRow& r : rows) {
    if (r.topic == topic) return &r;
  }
  return nullptr;
}

DoctorReport examine(base::FileSystem& files, base::Process& process, base::Environment& environment,
                     const DoctorOptions& options) {
  DoctorReport report;
  report.host = host_target(files, process);
  const base::CpuCounts counts = base::count_cpus(files, process);
  report.threads = counts.threads;
  report.rows.push_back(isa_row(report.host));
  report.rows.push_back(caches_row(report.host.caches));
  report.rows.push_back(threads_row(counts));
  report.rows.push_back(huge_pages_row(files));
  report.rows.push_back(executable_memory_row(options.memory));
  report.rows.push_back(codegen_row(options.codegen, environment));
  report.rows.push_back(library_row("cuda_driver", probe_cuda_driver(cuda_driver_candidates(environment)),
                                    "no CUDA driver: GPUs cannot be used"));
  report.rows.push_back(library_row("nvrtc", probe_nvrtc(nvrtc_candidates(environment, files)),
                                    "no NVRTC: CUDA kernels cannot be compiled"));
  return report;
}

}  // namespace frit::device
