// How many threads a run should use when nobody says: as many as this process may really run at once.
//
// That is the least of the CPUs it is allowed to run on, the CPU time that its control groups grant (versions
// 1 and 2, every ancestor), and the physical cores among those CPUs (two hyper-threads of one core share the
// units that kernels keep busy). Reads the system through the seams only; what cannot be read does not limit.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/seams.h"

namespace frit::base {

struct CpuCounts {
  int allowed = 1;              // CPUs in the affinity mask
  int cores = 1;                // physical cores that these CPUs belong to
  std::optional<double> quota;  // CPUs' worth of time granted by control groups; nothing without a limit
  int threads = 1;              // the least of the three, the quota rounded up, at least 1
};

CpuCounts count_cpus(FileSystem& files, Process& process);

inline int default_threads(FileSystem& files, Process& process) { return count_cpus(files, process).threads; }

// Reads a list as the kernel writes it, e.g. "0-3,8"; nothing when malformed.
std::optional<std::vector<int>> parse_cpu_list(std::string_view text);

}  // namespace frit::base
