#include "device/target.h"

#include <algorithm>
#include <span>

#include "base/text.h"
#include "base/try.h"

namespace frit::device {

namespace {

constexpr std::string_view kCpuPrefix = "cpu:";
constexpr std::string_view kCudaPrefix = "cuda:";

std::span<const FeatureRow> feature_rows(Arch arch) {
  if (arch == Arch::kCuda) return {};
  return arch == Arch::kX86_64 ? std::span<const FeatureRow>(kX86Features)
                               : std::span<const FeatureRow>(kAarch64Features);
}

std::span<const BaselineRow> baseline_rows(Arch arch) {
  return arch == Arch::kX86_64 ? std::span<const BaselineRow>(kX86Baselines)
                               : std::span<const BaselineRow>(kAarch64Baselines);
}

constexpr Arch kCpuArchs[] = {Arch::kX86_64, Arch::kAarch64};

// Names of the features in the set, each after `prefix`, with commas between.
std::string join_features(Arch arch, FeatureSet features, std::string_view prefix) {
  std::string out;
  const std::span<const FeatureRow> rows = feature_rows(arch);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!features.has(i)) continue;
    if (!out.empty()) out += ',';
    out += prefix;
    out += rows[i].name;
  }
  return out;
}

// Splits at every `separator`; "a,,b" has an empty piece.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const size_t end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

Error bad_target(std::string_view text, const std::string& why) {
  return make_error(Code::kInvalidArgument, base::text_of("target ", base::quoted(text), ": ", why));
}

Result<FeatureSet> parse_features(Arch arch, std::string_view list) {
  FeatureSet features;
  if (list == "none") return features;
  const std::span<const FeatureRow> rows = feature_rows(arch);
  for (std::string_view name : split(list, ',')) {
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const FeatureRow& r) { return r.name == name; });
    if (row == rows.end()) {
      return make_error(Code::kInvalidArgument,
                        base::text_of(arch_name(arch), " has no feature ", base::quoted(name),
                                      "; known: ", join_features(arch, FeatureSet(~uint64_t{0}), "")));
    }
    features.set(row - rows.begin());
  }
  return features;
}

Result<int32_t> parse_count(std::string_view text) {
  const std::optional<int32_t> value = base::parse_number<int32_t>(text);
  if (!value || *value < 0) {
    return make_error(Code::kInvalidArgument, base::text_of("expected a number, found ", base::quoted(text)));
  }
  return *value;
}

// "x86_64/avx,avx2" or "x86_64/avx,avx2/AuthenticAMD/25/17".
Result<Target> parse_canonical(Arch arch, std::string_view body) {
  const std::vector<std::string_view> parts = split(body, '/');
  if (parts.size() != 2 && parts.size() != 5) {
    return make_error(Code::kInvalidArgument,
                      base::text_of("expected ARCH/FEATURES or ARCH/FEATURES/VENDOR/FAMILY/MODEL, found ",
                                    parts.size(), " parts"));
  }
  Target target;
  target.arch = arch;
  FRIT_ASSIGN(target.features, parse_features(arch, parts[1]));
  if (parts.size() == 5) {
    if (parts[2].empty()) return make_error(Code::kInvalidArgument, "the vendor is empty");
    target.vendor = parts[2];
    FRIT_ASSIGN(target.family, parse_count(parts[3]));
    FRIT_ASSIGN(target.model, parse_count(parts[4]));
  }
  // The richest baseline that it contains is the best guess at its caches.
  for (const BaselineRow& row : baseline_rows(arch)) {
    if (target.caches.l1d_bytes == 0 || target.features.contains(row.features)) target.caches = row.caches;
    if (target.features == row.features) break;
  }
  return target;
}

}  // namespace

const char* arch_name(Arch arch) {
  switch (arch) {
    case Arch::kX86_64:
      return "x86_64";
    case Arch::kAarch64:
      return "aarch64";
    case Arch::kCuda:
      break;
  }
  return "cuda";
}

const GpuArch& Target::gpu() const {
  const GpuArch* found = find_gpu_arch(sm);
  return found ? *found : gpu_archs()[0];
}

bool Target::has_avx512() const {
  return arch == Arch::kX86_64 &&
         features.contains(FeatureSet::of(X86::kAvx512f, X86::kAvx512bw, X86::kAvx512dq, X86::kAvx512vl));
}

int Target::vector_bytes() const {
  if (has_avx512()) return 64;
  return has(X86::kAvx) && has(X86::kAvx2) ? 32 : 16;
}

int Target::vector_registers() const { return arch == Arch::kAarch64 || has_avx512() ? 32 : 16; }

bool Target::has_masked_move(int element_bytes) const {
  if (has_avx512())
    return element_bytes == 1 || element_bytes == 2 || element_bytes == 4 || element_bytes == 8;
  return has(X86::kAvx) && has(X86::kAvx2) && (element_bytes == 4 || element_bytes == 8);
}

std::string Target::feature_text() const {
  std::string out = join_features(arch, features, "");
  return out.empty() ? "none" : out;
}

std::string Target::llvm_features() const { return join_features(arch, features, "+"); }

std::string Target::text() const {
  if (is_gpu()) return std::string(kCudaPrefix) + gpu().name();
  std::string out = std::string(kCpuPrefix) + arch_name(arch) + "/" + feature_text();
  if (!vendor.empty()) base::append(out, "/", vendor, "/", family, "/", model);
  return out;
}

std::vector<std::string> known_target_names() {
  std::vector<std::string> names;
  for (Arch arch : kCpuArchs) {
    for (const BaselineRow& row : baseline_rows(arch)) names.emplace_back(row.name);
  }
  return names;
}

std::vector<std::string> known_gpu_names() {
  std::vector<std::string> names;
  for (const GpuArch& row : gpu_archs()) names.push_back(row.name());
  return names;
}

Result<Target> parse_target(std::string_view text) {
  if (text == "cpu") return host_target();
  if (text.substr(0, kCudaPrefix.size()) == kCudaPrefix) {
    for (const GpuArch& row : gpu_archs()) {
      if (text.substr(kCudaPrefix.size()) != row.name()) continue;
      Target target;
      target.arch = Arch::kCuda;
      target.sm = row.sm;
      target.name = text;
      return target;
    }
    return bad_target(
        text, base::text_of("unknown architecture; known: cuda:", base::join(known_gpu_names(), ", cuda:")));
  }
  if (text.substr(0, kCpuPrefix.size()) != kCpuPrefix) {
    return bad_target(text, "expected cpu, cpu:NAME, cuda:sm_NN, or a canonical target text");
  }
  const std::string_view body = text.substr(kCpuPrefix.size());
  for (Arch arch : kCpuArchs) {
    if (body.substr(0, body.find('/')) == arch_name(arch) && body.find('/') != std::string_view::npos) {
      Result<Target> parsed = parse_canonical(arch, body);
      if (!parsed.ok()) return bad_target(text, parsed.error().message);
      if (!parsed->vendor.empty()) {
        Target host = host_target();
        if (host == *parsed) return host;
      }
      parsed->name = text;
      return parsed;
    }
    for (const BaselineRow& row : baseline_rows(arch)) {
      if (body != row.name) continue;
      Target target;
      target.arch = arch;
      target.features = row.features;
      target.name = text;
      target.caches = row.caches;
      return target;
    }
  }
  return bad_target(text, base::text_of("unknown name ", base::quoted(body),
                                        "; known: cpu, cpu:", base::join(known_target_names(), ", cpu:")));
}

Status can_run_on(const Target& host, const Target& target) {
  const std::string name = target.name.empty() ? target.text() : target.name;
  if (target.is_gpu()) {
    return make_error(Code::kUnsupported,
                      base::text_of("code for ", name, " is emitted and compiled, but not run yet"))
        .hinted("frit explain MODEL --target " + target.text() + " shows it");
  }
  if (host.arch != target.arch) {
    return make_error(Code::kDevice,
                      base::text_of("code for ", name, " cannot run here: it is for ", arch_name(target.arch),
                                    ", this machine is ", arch_name(host.arch)));
  }
  if (!host.features.contains(target.features)) {
    return make_error(Code::kDevice,
                      base::text_of("code for ", name, " cannot run here: this machine lacks ",
                                    join_features(host.arch, target.features.without(host.features), "")));
  }
  return {};
}

Status can_run_on_host(const Target& target) { return can_run_on(host_target(), target); }

}  // namespace frit::device
