#include "base/cpu_count.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "base/text.h"

namespace frit::base {
namespace {

// Splits off and returns the text before the first separator, or all of it.
std::string_view take_until(std::string_view& rest, char separator) {
  const size_t at = rest.find(separator);
  const std::string_view head = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return head;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

bool has_item(std::string_view list, std::string_view item) {
  while (!list.empty()) {
    if (take_until(list, ',') == item) return true;
  }
  return false;
}

// Paths in /proc/self/mountinfo write space, tab, newline and backslash as \ooo.
std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

int count_cores(FileSystem& files, const std::vector<int>& cpus) {
  std::set<int> cores;  // each named by its lowest CPU
  for (const int cpu : cpus) {
    int core = cpu;
    const std::string topology = text_of("/sys/devices/system/cpu/cpu", cpu, "/topology/");
    // The second name is that of kernels before 5.
    for (const char* name : {"core_cpus_list", "thread_siblings_list"}) {
      const Result<std::string> list = files.read(topology + name);
      if (!list.ok()) continue;
      const auto siblings = parse_cpu_list(*list);
      if (siblings && !siblings->empty()) core = siblings->front();
      break;
    }
    cores.insert(core);
  }
  return static_cast<int>(cores.size());
}

void limit(std::optional<double>& quota, double quota_us, double period_us) {
  if (!(quota_us > 0) || !(period_us > 0)) return;
  const double cpus = quota_us / period_us;
  quota = quota ? std::min(*quota, cpus) : cpus;
}

// Version 2: "max 100000" or "250000 100000".
void limit_by_v2(FileSystem& files, const std::string& folder, std::optional<double>& quota) {
  const Result<std::string> text = files.read(folder + "/cpu.max");
  if (!text.ok()) return;
  std::string_view rest = trimmed(*text);
  const auto quota_us = parse_number<double>(take_until(rest, ' '));
  const auto period_us = parse_number<double>(rest);
  if (quota_us && period_us) limit(quota, *quota_us, *period_us);
}

// Version 1: -1 or a number of microseconds.
void limit_by_v1(FileSystem& files, const std::string& folder, std::optional<double>& quota) {
  const Result<std::string> quota_text = files.read(folder + "/cpu.cfs_quota_us");
  const Result<std::string> period_text = files.read(folder + "/cpu.cfs_period_us");
  if (!quota_text.ok() || !period_text.ok()) return;
  const auto quota_us = parse_number<double>(trimmed(*quota_text));
  const auto period_us = parse_number<double>(trimmed(*period_text));
  if (quota_us && period_us) limit(quota, *quota_us, *period_us);
}

struct CgroupMount {
  bool v2 = false;
  std::string root;  // the group that is seen at the mount point
  std::string point;
};

// Lines: id parent device root point options [tags] - type source super-options
std::vector<CgroupMount> cgroup_mounts(FileSystem& files) {
  std::vector<CgroupMount> out;
  const Result<std::string> text = files.read("/proc/self/mountinfo");
  if (!text.ok()) return out;
  for (std::string_view rest = *text; !rest.empty();) {
    std::string_view left = take_until(rest, '\n');
    const size_t dash = left.find(" - ");
    if (dash == std::string_view::npos) continue;
    std::string_view right = left.substr(dash + 3);
    const std::string_view type = take_until(right, ' ');
    take_until(right, ' ');
    const bool v2 = type == "cgroup2";
    if (!v2 && !(type == "cgroup" && has_item(right, "cpu"))) continue;
    for (int i = 0; i < 3; ++i) take_until(left, ' ');
    const std::string root = unescaped(take_until(left, ' '));
    out.push_back({v2, root, unescaped(take_until(left, ' '))});
  }
  return out;
}

// The group of this process in a hierarchy. Lines of /proc/self/cgroup: number:controllers:path, "0::path"
// for v2.
std::optional<std::string> own_group(std::string_view text, bool v2) {
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    const std::string_view number = take_until(line, ':');
    const std::string_view controllers = take_until(line, ':');
    if (v2 ? number == "0" && controllers.empty() : has_item(controllers, "cpu")) return std::string(line);
  }
  return std::nullopt;
}

std::optional<double> cgroup_quota(FileSystem& files) {
  std::optional<double> quota;
  const Result<std::string> groups = files.read("/proc/self/cgroup");
  if (!groups.ok()) return quota;
  for (const CgroupMount& mount : cgroup_mounts(files)) {
    std::optional<std::string> group = own_group(*groups, mount.v2);
    if (!group) continue;
    // In a container the mount may show a part of the tree only, or the path may lead out of it ("/../..").
    const std::string prefix = mount.root == "/" ? "" : mount.root;
    if (group->starts_with(prefix) && (group->size() == prefix.size() || (*group)[prefix.size()] == '/')) {
      group->erase(0, prefix.size());
    } else {
      group->clear();
    }
    if (group->find("/..") != std::string::npos) group->clear();
    while (!group->empty() && group->back() == '/') group->pop_back();
    // A limit on any ancestor holds too.
    for (;;) {
      const std::string folder = mount.point + *group;
      if (mount.v2) {
        limit_by_v2(files, folder, quota);
      } else {
        limit_by_v1(files, folder, quota);
      }
      if (group->empty()) break;
      group->erase(group->rfind('/'));
    }
  }
  return quota;
}

}  // namespace

std::optional<std::vector<int>> parse_cpu_list(std::string_view text) {
  constexpr int kMostCpus = 1 << 20;
  std::vector<int> out;
  for (std::string_view rest = trimmed(text); !rest.empty();) {
    std::string_view range = take_until(rest, ',');
    const bool is_range = range.find('-') != std::string_view::npos;
    const auto first = parse_number<int>(take_until(range, '-'));
    const auto last = is_range ? parse_number<int>(range) : first;
    if (!first || !last || *first < 0 || *last < *first || *last >= kMostCpus) return std::nullopt;
    for (int cpu = *first; cpu <= *last; ++cpu) out.push_back(cpu);
  }
  return out;
}

CpuCounts count_cpus(FileSystem& files, Process& process) {
  std::vector<int> cpus;
  if (Result<std::vector<int>> mask = process.affinity(); mask.ok()) cpus = *std::move(mask);
  if (cpus.empty()) {
    const Result<std::string> online = files.read("/sys/devices/system/cpu/online");
    if (online.ok()) cpus = parse_cpu_list(*online).value_or(std::vector<int>());
  }
  if (cpus.empty()) cpus = {0};

  CpuCounts out;
  out.allowed = static_cast<int>(cpus.size());
  out.cores = count_cores(files, cpus);
  out.quota = cgroup_quota(files);
  out.threads = std::min(out.allowed, out.cores);
  if (out.quota && *out.quota < out.threads) out.threads = static_cast<int>(std::ceil(*out.quota));
  out.threads = std::max(out.threads, 1);
  return out;
}

}  // namespace frit::base
