#include <algorithm>
#include <chrono>

#include "base/try.h"
#include "graph/passes.h"
#include "graph/text.h"
#include "graph/verify.h"

namespace frit::graph {
namespace {

// Real networks settle in three or four rounds; every rule shrinks or orders something, so this is only a
// stop.
constexpr int kMaxRounds = 32;

struct Totals {
  int nodes = 0;
  double flops = 0, bytes = 0;
};

Totals total(const Graph& graph) {
  Totals t;
  for (const Node& node : graph.nodes) {
    if (node.dead) continue;
    const NodeCost cost = node_cost(graph, node);
    ++t.nodes;
    t.flops += cost.flops;
    t.bytes += cost.bytes;
  }
  return t;
}

Result<PassReport> run_one(const PassRow& row, Graph& graph, const PassContext& context, const Totals& before,
                           bool check) {
  PassReport report;
  report.pass = row.name;
  const std::string text_before = check ? print(graph) : std::string();
  const auto start = std::chrono::steady_clock::now();
  auto changed = row.run(graph, context);
  report.ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (!changed.ok()) return std::move(changed).error().with(std::string("pass ") + row.name);
  report.changed = *changed;
  if (check && !report.changed && print(graph) != text_before) {
    return make_error(Code::kInternal,
                      std::string("pass ") + row.name + " changed the graph and reported that it had not");
  }
  const Totals after = report.changed ? total(graph) : before;
  report.nodes_before = before.nodes;
  report.nodes_after = after.nodes;
  report.flops_before = before.flops;
  report.flops_after = after.flops;
  report.bytes_before = before.bytes;
  report.bytes_after = after.bytes;
  return report;
}

}  // namespace

Result<std::vector<PassReport>> run_passes(Graph& graph, const PassContext& context,
                                           const PassOptions& options) {
  for (const std::string& name : options.disabled) {
    const auto& table = pass_table();
    if (std::none_of(table.begin(), table.end(), [&](const PassRow& row) { return name == row.name; })) {
      return make_error(Code::kInvalidArgument, "no pass is called '" + name + "'");
    }
  }
  std::vector<PassReport> reports;
  Totals now = total(graph);
  int changes = 0;
  for (int round = 0; round < kMaxRounds; ++round) {
    bool round_changed = false;
    for (const PassRow& row : pass_table()) {
      if (std::count(options.disabled.begin(), options.disabled.end(), row.name) > 0) continue;
      if (options.limit >= 0 && changes >= options.limit) return reports;
      FRIT_ASSIGN(PassReport report, run_one(row, graph, context, now, options.check_reports));
      now = {report.nodes_after, report.flops_after, report.bytes_after};
      reports.push_back(report);
      if (!report.changed) continue;
      round_changed = true;
      ++changes;
      if (auto sound = verify(graph); !sound.ok()) {
        return std::move(sound).error().with(std::string("after pass ") + row.name);
      }
      if (options.after_change) options.after_change(row, graph);
    }
    if (!round_changed) return reports;
  }
  return make_error(Code::kInternal, "passes do not settle after " + std::to_string(kMaxRounds) + " rounds");
}

}  // namespace frit::graph
