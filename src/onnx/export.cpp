#include "onnx/export.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/try.h"
#include "onnx/dtypes.h"
#include "onnx/node_writer.h"
#include "onnx/writer.h"

namespace frit::onnx {
namespace {

using base::quoted;
using base::text_of;

constexpr int64_t kIrVersion = 9, kOpset = 20;
constexpr uint64_t kProtobufLimit = (uint64_t{1} << 31) - 1;
// Shapes, scales and the like stay inside: other readers' shape inference does not look into data files.
constexpr uint64_t kLeastExternal = 1024;
constexpr uint64_t kAlignment = 64;  // of external data: enough to be used in place by any kernel

// External data under construction: where each constant goes, and the bytes.
struct DataFile {
  std::string location;  // as the model says it
  uint64_t size_bytes = 0;
  std::vector<std::string_view> pieces;
};

std::string_view bytes_of(const graph::ConstantData& data) {
  return {reinterpret_cast<const char*>(data.bytes), data.size_bytes};
}

uint64_t append_aligned(DataFile& file, std::string_view bytes) {
  static constexpr char kZeros[kAlignment] = {};
  const uint64_t gap = (kAlignment - file.size_bytes % kAlignment) % kAlignment;
  if (gap != 0) file.pieces.push_back({kZeros, gap});
  const uint64_t offset = file.size_bytes + gap;
  file.pieces.push_back(bytes);
  file.size_bytes = offset + bytes.size();
  return offset;
}

class Exporter {
 public:
  Exporter(const graph::Graph& graph, const ExportOptions& options, DataFile* data)
      : graph_(graph), options_(options), data_(data) {}

  Result<MessageWriter> run();

 private:
  void choose_names();
  Status add_constant(graph::ValueId id);
  MessageWriter value_info(graph::ValueId id, std::string_view name) const;
  Status add_outputs(NodeWriter& writer);

  const graph::Graph& graph_;
  const ExportOptions& options_;
  DataFile* data_;  // nullptr: everything inside
  Names names_;
  Names output_names_;
  MessageWriter message_;  // the GraphProto
  int64_t counter_ = 0;
};

// Values keep their names where these are unique; an output's value takes the output's name.
void Exporter::choose_names() {
  std::set<std::string> taken;
  names_.assign(graph_.values.size(), {});
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    std::string name =
        i < graph_.output_names.size() ? graph_.output_names[i] : graph_.value(graph_.outputs[i]).name;
    while (name.empty() || !taken.insert(name).second) name = text_of(name.empty() ? "output" : name, "_", i);
    output_names_.push_back(name);
  }
  for (graph::ValueId id : graph_.inputs) {
    std::string name = graph_.value(id).name;
    while (name.empty() || !taken.insert(name).second) name = text_of(name.empty() ? "input" : name, "_", id);
    names_[static_cast<size_t>(id)] = name;
  }
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    std::string& name = names_[static_cast<size_t>(graph_.outputs[i])];
    if (name.empty() && !graph_.value(graph_.outputs[i]).is_constant()) name = output_names_[i];
  }
  for (size_t v = 0; v < names_.size(); ++v) {
    if (!names_[v].empty()) continue;
    std::string name = graph_.values[v].name;
    while (name.empty() || !taken.insert(name).second) name = text_of(name.empty() ? "frit.v" : name, ".", v);
    names_[v] = name;
  }
}

Status Exporter::add_constant(graph::ValueId id) {
  const graph::Value& value = graph_.value(id);
  const std::string& name = names_[static_cast<size_t>(id)];
  MessageWriter m;
  for (const graph::Dim& dim : value.type.shape) m.integer(1, dim.constant().value_or(-1));
  m.integer(2, dtype_to_onnx(value.type.dtype));
  m.text(8, name);
  const std::string_view bytes = bytes_of(*value.constant);
  if (data_ != nullptr && bytes.size() >= std::max(options_.external_from_bytes, kLeastExternal)) {
    const auto entry = [&](std::string_view key, std::string_view text) {
      MessageWriter e;
      e.text(1, key);
      e.text(2, text);
      m.message(13, std::move(e));
    };
    entry("location", data_->location);
    entry("offset", text_of(append_aligned(*data_, bytes)));
    entry("length", text_of(bytes.size()));
    m.integer(14, 1);
  } else {
    m.payload(9, bytes);
  }
  message_.message(5, std::move(m));
  return {};
}

MessageWriter Exporter::value_info(graph::ValueId id, std::string_view name) const {
  const graph::TensorType& type = graph_.value(id).type;
  MessageWriter shape;
  for (const graph::Dim& dim : type.shape) {
    MessageWriter d;
    if (dim.is_constant()) {
      d.integer(1, dim.value());
    } else {
      std::vector<std::string> symbols;
      dim.collect_symbols(symbols);
      // A lone symbol by its name; an expression by its text, which the importer reads back.
      const bool lone = symbols.size() == 1 && graph::Dim::symbol(symbols[0]) == dim;
      d.text(2, lone ? symbols[0] : dim.text());
    }
    shape.message(1, std::move(d));
  }
  MessageWriter tensor, kind, info;
  tensor.integer(1, dtype_to_onnx(type.dtype));
  tensor.message(2, std::move(shape));
  kind.message(1, std::move(tensor));
  info.text(1, name);
  info.message(2, std::move(kind));
  return info;
}

// An output whose value has another name (an input, a constant, a second output) is a copy of it.
Status Exporter::add_outputs(NodeWriter& writer) {
  const graph::Node no_name{graph::Unary{}, {}, {}, {}, {}, false};
  writer.start(no_name);
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    const graph::ValueId id = graph_.outputs[i];
    if (writer.name_of(id) != output_names_[i])
      writer.write("Identity", {writer.name_of(id)}, {output_names_[i]});
    message_.message(12, value_info(id, output_names_[i]));
  }
  return {};
}

Result<MessageWriter> Exporter::run() {
  choose_names();
  message_.text(2, graph_.name.empty() ? "frit" : graph_.name);
  for (size_t v = 0; v < graph_.values.size(); ++v) {
    if (!graph_.values[v].type.layout.is_plain())
      return make_error(Code::kUnsupported,
                        text_of("value ", quoted(names_[v]), " has the layout ",
                                graph::type_text(graph_.values[v].type), ", expected a plain one"));
    if (graph_.values[v].is_constant()) FRIT_TRY(add_constant(static_cast<graph::ValueId>(v)));
  }
  NodeWriter writer(graph_, names_, message_, counter_);
  for (const graph::Node& node : graph_.nodes) {
    if (node.dead) continue;
    writer.start(node);
    Status done = export_node(writer);
    if (!done.ok())
      return std::move(done)
          .with(text_of("node ", quoted(node.name), " (", graph::op_name(node.op), ")"))
          .error();
  }
  for (graph::ValueId id : graph_.inputs)
    message_.message(11, value_info(id, names_[static_cast<size_t>(id)]));
  FRIT_TRY(add_outputs(writer));

  MessageWriter opset, model;
  opset.text(1, "");
  opset.integer(2, kOpset);
  model.integer(1, kIrVersion);
  model.text(2, options_.producer);
  model.message(7, std::move(message_));
  model.message(8, std::move(opset));
  if (model.size_bytes() > kProtobufLimit)
    return make_error(Code::kInvalidArgument, text_of("the model has ", model.size_bytes(),
                                                      " bytes, but readers stop at ", kProtobufLimit))
        .hinted("write it with external data");
  return model;
}

std::string data_path(const std::string& path) {
  const std::string_view suffix = ".onnx";
  const bool has =
      path.size() > suffix.size() && path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0;
  return (has ? path.substr(0, path.size() - suffix.size()) : path) + ".data";
}

}  // namespace

Result<std::string> export_bytes(const graph::Graph& graph, const ExportOptions& options) {
  FRIT_ASSIGN(const MessageWriter model, Exporter(graph, options, nullptr).run());
  return model.joined();
}

Status export_model(base::FileSystem& files, const graph::Graph& graph, const std::string& path,
                    const ExportOptions& options) {
  const std::string data = data_path(path);
  DataFile file{data.substr(data.rfind('/') + 1), 0, {}};  // npos + 1 is 0
  FRIT_ASSIGN(const MessageWriter model, Exporter(graph, options, &file).run());
  if (!file.pieces.empty()) FRIT_TRY(files.write_pieces(data, file.pieces, 0644));
  return files.write_pieces(path, model.pieces(), 0644);
}

std::string export_tensor(const graph::TensorType& type, std::string_view bytes, const std::string& name) {
  MessageWriter m;
  for (const graph::Dim& dim : type.shape) m.integer(1, dim.value());
  m.integer(2, dtype_to_onnx(type.dtype));
  m.text(8, name);
  m.payload(9, bytes);
  return m.joined();
}

}  // namespace frit::onnx
