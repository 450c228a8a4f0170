#include "frit/model.h"

#include <algorithm>
#include <utility>

#include "base/stop.h"
#include "base/text.h"
#include "base/try.h"
#include "graph/infer.h"
#include "graph/verify.h"
#include "onnx/import.h"
#include "runtime/graph_builder_impl.h"
#include "runtime/model_impl.h"

namespace frit {
namespace runtime {

namespace {

TensorInfo info_of(const graph::Graph& graph, graph::ValueId id, std::string name) {
  const graph::Value& value = graph.value(id);
  if (name.empty()) name = value.name;
  return {std::move(name), value.type.dtype, to_dimensions(value.type.shape)};
}

}  // namespace

Result<Model> make_model(std::shared_ptr<Runtime> runtime, graph::Graph graph, int64_t load_begin_ns) {
  if (graph.outputs.empty()) return make_error(Code::kBadModel, "the graph has no outputs");
  const auto delete_at_home = [](Model::Impl* impl) {
    // A forked child does not touch what it inherited (Owner).
    if (impl->runtime->owner().is_here()) delete impl;
  };
  std::shared_ptr<Model::Impl> impl(new Model::Impl{std::move(runtime), {}, {}, {}, {}, 0}, delete_at_home);
  for (const graph::ValueId v : graph.inputs) impl->inputs.push_back(info_of(graph, v, {}));
  for (size_t k = 0; k < graph.outputs.size(); ++k) {
    impl->outputs.push_back(info_of(graph, graph.outputs[k],
                                    k < graph.output_names.size() ? graph.output_names[k] : std::string()));
  }
  impl->graph = std::move(graph);
  impl->load_ms = static_cast<double>(impl->runtime->seams().clock->now_ns() - load_begin_ns) * 1e-6;
  return Model(std::shared_ptr<const Model::Impl>(std::move(impl)));
}

namespace {

// The runtime first: it is what a wrong option spoils, and costs less than reading a model for nothing.
template <class MakeGraph>
Result<Model> load_with(const ModelOptions& options, base::TraceRecorder* trace,
                        const MakeGraph& make_graph) {
  base::SystemClock clock;
  const int64_t begin_ns = clock.now_ns();
  const base::TraceSpan span(trace, "runtime", "load");
  FRIT_ASSIGN(auto runtime, Runtime::make(options, trace));
  FRIT_TRY(base::check_stop(options.stop));
  FRIT_ASSIGN(graph::Graph graph, make_graph(*runtime));
  FRIT_TRY(base::check_stop(options.stop));
  return make_model(std::move(runtime), std::move(graph), begin_ns);
}

}  // namespace

Result<Model> load_model(const std::string& path, const ModelOptions& options, base::TraceRecorder* trace) {
  return load_with(options, trace,
                   [&](Runtime& runtime) { return onnx::import_model(*runtime.seams().files, path); });
}

}  // namespace runtime

inline namespace FRIT_ABI {

Result<Model> Model::load(const std::string& path, const ModelOptions& options) {
  return runtime::load_model(path, options, nullptr);
}

Result<Model> Model::from_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                const ExternalDataResolver& resolver, const ModelOptions& options) {
  return runtime::load_with(options, nullptr, [&](runtime::Runtime&) {
    onnx::ExternalResolver resolve;
    if (resolver) {
      resolve = [&](const std::string& location) -> Result<onnx::Buffer> {
        FRIT_ASSIGN(ExternalData data, resolver(location));
        return onnx::Buffer{data.bytes.data(), data.bytes.size(), std::move(data.owner)};
      };
    }
    return onnx::import_bytes({bytes.data(), bytes.size(), owner}, "model in memory", resolve);
  });
}

Result<Model> Model::from_graph(GraphBuilder&& builder, const ModelOptions& options) {
  const std::unique_ptr<GraphBuilder::Impl> built = builder.take_impl();
  if (built->error) return std::move(*built->error);
  return runtime::load_with(options, nullptr, [&](runtime::Runtime&) -> Result<graph::Graph> {
    graph::Graph graph = std::move(built->graph);
    graph.output_names = std::move(built->output_names);
    FRIT_TRY(graph::verify(graph));
    return graph;
  });
}

const std::vector<TensorInfo>& Model::inputs() const { return impl_->inputs; }
const std::vector<TensorInfo>& Model::outputs() const { return impl_->outputs; }

namespace {

std::optional<size_t> index_of(const std::vector<TensorInfo>& infos, std::string_view name) {
  const auto it =
      std::find_if(infos.begin(), infos.end(), [&](const TensorInfo& info) { return info.name == name; });
  if (it == infos.end()) return std::nullopt;
  return static_cast<size_t>(it - infos.begin());
}

}  // namespace

std::optional<size_t> Model::input_index(std::string_view name) const {
  return index_of(impl_->inputs, name);
}
std::optional<size_t> Model::output_index(std::string_view name) const {
  return index_of(impl_->outputs, name);
}

}  // namespace FRIT_ABI
}  // namespace frit
