#include "runtime/keys.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "frit/header_version.h"

namespace frit::runtime {

namespace {

std::string sorted_features(const device::Target& target) {
  std::vector<std::string> names;
  const std::string text = target.feature_text();
  if (text == "none") return {};
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  std::sort(names.begin(), names.end());
  return base::join(names, " ");
}

}  // namespace

tuner::TargetParts target_parts(const device::Target& target) {
  tuner::TargetParts parts;
  parts.target = "cpu";
  parts.arch = device::arch_name(target.arch);
  parts.features = sorted_features(target);
  if (!target.vendor.empty()) {
    parts.cpu_vendor = target.vendor;
    parts.cpu_family = base::text_of(target.family);
    parts.cpu_model = base::text_of(target.model);
  }
  return parts;
}

tuner::SessionParts session_parts(Numerics numerics, int threads, bool shared_cores) {
  tuner::SessionParts parts;
  parts.numerics = numerics_name(numerics);
  parts.threads = threads;
  parts.shared_cores = shared_cores;
  return parts;
}

tuner::Provenance provenance_of(const device::Target& target) {
  return {{"l1d_bytes", base::text_of(target.caches.l1d_bytes)},
          {"l2_bytes", base::text_of(target.caches.l2_bytes)},
          {"l3_bytes", base::text_of(target.caches.l3_bytes)},
          {"cores", base::text_of(target.cores)},
          {"cpu_name", target.cpu_name},
          {"frit", library_version()}};
}

Numerics effective_numerics(Numerics numerics) {
  return numerics == Numerics::kFast ? Numerics::kDefault : numerics;
}

}  // namespace frit::runtime
