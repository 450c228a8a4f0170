// Where the time of a run goes: seconds per group, with what that is in arithmetic and traffic.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/trace.h"
#include "loaded.h"

namespace frit::tools {

struct ProfileRow {
  std::string label, work, family, params, state;  // family "host": computed by the host
  double ms = 0;                             // median of the runs
  double share = 0;                          // of the sum of all groups, 0 to 1
  double gflops = 0, gbs = 0;                // per second; 0 where there is nothing to count
};

struct Profile {
  std::vector<ProfileRow> rows;  // the slowest first
  double groups_ms = 0;          // their sum
  double run_ms = 0;             // median of the profiled runs as a whole
  int64_t runs = 0;
};

// At least 3 runs, then until `seconds` are over. Kernels that run side by side are one row.
Result<Profile> profile(Loaded& loaded, double seconds, const StopToken& stop);
// A few runs with a span per kernel, then everything that was traced into the file; an exit code.
int write_trace(Loaded& loaded, base::TraceRecorder& trace, const std::string& path, const StopToken& stop);

void print_profile(const Profile& profile);
nlohmann::ordered_json profile_json(const Profile& profile);

}  // namespace frit::tools
