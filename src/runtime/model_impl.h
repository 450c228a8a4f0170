// Model::Impl: the imported graph, what the machine gives, and what was made of the weights.
#pragma once

#include <memory>
#include <vector>

#include "exec/constant_store.h"
#include "frit/model.h"
#include "graph/ir.h"
#include "runtime/runtime.h"

namespace frit {
inline namespace FRIT_ABI {

struct Model::Impl {
  std::shared_ptr<runtime::Runtime> runtime;
  graph::Graph graph;  // as imported: composites, named dimensions
  std::vector<TensorInfo> inputs, outputs;
  mutable exec::ConstantStore constants;
  double load_ms = 0;
};

}  // namespace FRIT_ABI

namespace runtime {

// Model::load, with spans of what the model and its sessions do. The recorder outlives them; null: no spans.
Result<Model> load_model(const std::string& path, const ModelOptions& options, base::TraceRecorder* trace);

// A model of a graph, on a runtime that a test or a tool made. load_begin_ns: of the runtime's clock.
Result<Model> make_model(std::shared_ptr<Runtime> runtime, graph::Graph graph, int64_t load_begin_ns);

}  // namespace runtime
}  // namespace frit
