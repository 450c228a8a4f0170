#include "profile.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "base/seams.h"
#include "base/text.h"
#include "base/try.h"
#include "report.h"
#include "runtime/session_impl.h"
#include "tuner/statistics.h"

namespace frit::tools {

namespace {

constexpr int kLeastRuns = 3;
constexpr int kTracedRuns = 3;

struct Ready {
  std::shared_ptr<runtime::Prepared> prepared;
  std::vector<TensorView> in, out;
};

Result<Ready> ready(Loaded& loaded, const StopToken& stop) {
  Ready r;
  for (Tensor& t : loaded.inputs) r.in.push_back(t.view());
  for (Tensor& t : loaded.outputs) r.out.push_back(t.view());
  FRIT_ASSIGN(r.prepared, loaded.session->impl()->prepare_for(r.in, stop));
  return r;
}

const char* state_of(const GroupInfo& group) {
  if (group.family.empty()) return "";
  return group.match == Match::kNear ? "near" : tuned_name(group.tuned);
}

}  // namespace

Result<Profile> profile(Loaded& loaded, double seconds, const StopToken& stop) {
  FRIT_ASSIGN(Ready r, ready(loaded, stop));
  const exec::ExecPlan& plan = r.prepared->plan();
  const std::vector<GroupInfo>& groups = r.prepared->groups();
  // All groups of a step are timed under its first dispatch; a group may take several steps.
  std::vector<std::vector<int32_t>> members(plan.dispatches().size());
  for (const exec::Step& step : plan.steps())
    for (int32_t k = step.first; k < step.first + step.count; ++k) {
      auto& of = members[static_cast<size_t>(step.first)];
      const int32_t group = plan.dispatches()[static_cast<size_t>(k)].group;
      if (std::find(of.begin(), of.end(), group) == of.end()) of.push_back(group);
    }

  std::map<std::vector<int32_t>, std::vector<double>>
      times;  // ms per run, by the groups that are timed as one
  std::vector<double> whole;
  std::vector<int64_t> kernel_ns(plan.dispatches().size());
  base::SystemClock clock;
  const int64_t begin = clock.now_ns();
  while (whole.size() < kLeastRuns || static_cast<double>(clock.now_ns() - begin) * 1e-9 < seconds) {
    std::fill(kernel_ns.begin(), kernel_ns.end(), 0);
    const int64_t start = clock.now_ns();
    FRIT_TRY(r.prepared->run(loaded.session->impl()->pool, r.in, r.out, stop, {kernel_ns, nullptr}));
    whole.push_back(static_cast<double>(clock.now_ns() - start) * 1e-6);
    for (size_t k = 0; k < members.size(); ++k) {
      if (members[k].empty()) continue;
      auto& samples = times[members[k]];
      samples.resize(whole.size());
      samples.back() += static_cast<double>(kernel_ns[k]) * 1e-6;
    }
  }

  Profile out;
  out.runs = static_cast<int64_t>(whole.size());
  out.run_ms = tuner::median(whole);
  for (const auto& [of, samples] : times) {
    ProfileRow row;
    double flops = 0, bytes = 0;
    for (const int32_t g : of) {
      const GroupInfo& group = groups[static_cast<size_t>(g)];
      row.label += (row.label.empty() ? "" : " | ") + group.label;
      row.work += (row.work.empty() ? "" : " | ") + group.work;
      flops += group.flops;
      bytes += group.bytes;
    }
    const GroupInfo& first = groups[static_cast<size_t>(of[0])];
    row.family = first.family.empty() ? "host" : first.family;
    row.params = first.params;
    row.state = state_of(first);
    row.ms = tuner::median(samples);
    if (row.ms > 0) {
      row.gflops = flops / row.ms * 1e-6;
      row.gbs = bytes / row.ms * 1e-6;
    }
    out.groups_ms += row.ms;
    out.rows.push_back(std::move(row));
  }
  for (ProfileRow& row : out.rows) row.share = out.groups_ms > 0 ? row.ms / out.groups_ms : 0;
  std::stable_sort(out.rows.begin(), out.rows.end(),
                   [](const ProfileRow& a, const ProfileRow& b) { return a.ms > b.ms; });
  return out;
}

int write_trace(Loaded& loaded, base::TraceRecorder& trace, const std::string& path, const StopToken& stop) {
  auto r = ready(loaded, stop);
  if (!r.ok()) return fail(r.error());
  for (int i = 0; i < kTracedRuns; ++i) {
    const base::TraceSpan span(&trace, "runtime", "run");
    if (Status s = r->prepared->run(loaded.session->impl()->pool, r->in, r->out, stop, {{}, &trace}); !s.ok())
      return fail(s.error());
  }
  base::SystemFileSystem files;
  if (Status s = trace.write(files, path); !s.ok()) return fail(s.error());
  std::fprintf(stderr, "frit: wrote %s; chrome://tracing and ui.perfetto.dev show it\n", path.c_str());
  return kDone;
}

void print_profile(const Profile& profile) {
  std::printf("%10s %6s %9s %7s  %-36s %-30s %-9s  %s\n", "time", "share", "GFLOP/s", "GB/s", "group", "node",
              "state", "params");
  for (const ProfileRow& row : profile.rows)
    std::printf("%7.3f ms %5.1f%% %9.1f %7.1f  %-36.36s %-30.30s %-9s  %s\n", row.ms, row.share * 100,
                row.gflops, row.gbs, row.work.c_str(), row.label.substr(0, row.label.rfind(" (")).c_str(),
                row.state.c_str(), row.params.c_str());
  std::printf("%7.3f ms in %zu groups, of %.3f ms for a run (medians of %lld runs)\n", profile.groups_ms,
              profile.rows.size(), profile.run_ms, static_cast<long long>(profile.runs));
}

nlohmann::ordered_json profile_json(const Profile& profile) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ProfileRow& row : profile.rows)
    rows.push_back({{"label", row.label},
                    {"work", row.work},
                    {"family", row.family},
                    {"params", row.params},
                    {"state", row.state},
                    {"ms", row.ms},
                    {"share", row.share},
                    {"gflops", row.gflops},
                    {"gbs", row.gbs}});
  return {
      {"run_ms", profile.run_ms}, {"groups_ms", profile.groups_ms}, {"runs", profile.runs}, {"groups", rows}};
}

}  // namespace frit::tools
