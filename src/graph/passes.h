// The menu of graph passes. Each is a free function in passes/<name>.cpp: true means "changed something".
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "frit/numerics.h"
#include "frit/result.h"
#include "graph/ir.h"

namespace frit::graph {

struct PassContext {
  // Constants with more elements than this are not folded by the evaluator; the node is left for the load-time
  // kernels (it is "marked" by having only constant inputs).
  int64_t fold_limit_elems = 1 << 16;
  // Under strict only rewrites that keep every bit are made (src/graph/passes/README.md lists the exceptions).
  Numerics numerics = Numerics::kDefault;
};

using PassFn = Result<bool> (*)(Graph&, const PassContext&);
struct PassRow {
  const char* name;
  PassFn run;
  const char* reason;  // what it does and why it stands here
};

// The pipeline, in order. run_passes repeats it until nothing changes (bounded).
std::span<const PassRow> pass_table();

struct PassReport {
  std::string pass;
  int nodes_before = 0, nodes_after = 0;
  double flops_before = 0, flops_after = 0, bytes_before = 0, bytes_after = 0;
  double ms = 0;
  bool changed = false;
};
struct PassOptions {
  std::vector<std::string> disabled;                              // pass names that are left out
  int limit = -1;                                                 // stop after this many changing passes (bisection)
  std::function<void(const PassRow&, const Graph&)> after_change;  // dump hook
  // Compares the text around passes that report no change; one that lies is an error. On in debug builds and tests.
#ifdef NDEBUG
  bool check_reports = false;
#else
  bool check_reports = true;
#endif
};
// Verifies after each pass that reported a change.
Result<std::vector<PassReport>> run_passes(Graph& graph, const PassContext& context, const PassOptions& options = {});

}  // namespace frit::graph
