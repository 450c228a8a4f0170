#include "inputs.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "base/half.h"
#include "base/random.h"
#include "base/text.h"
#include "base/try.h"
#include "graph/infer.h"
#include "graph/ir.h"
#include "npy.h"
#include "onnx/import.h"
#include "runtime/model_impl.h"
#include "runtime/shapes.h"

namespace frit::tools {

namespace {

using base::text_of;

Result<std::pair<std::string, std::string>> split(const std::string& text, const char* flag) {
  const size_t equals = text.rfind('=');
  if (equals == 0 || equals == std::string::npos)
    return make_error(Code::kInvalidArgument, text_of(flag, " '", text, "' is not of the form NAME=VALUE"));
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

std::vector<std::string> names_of(const std::vector<TensorInfo>& infos) {
  std::vector<std::string> names;
  for (const TensorInfo& info : infos) names.push_back(info.name);
  return names;
}

Error unknown(const std::string& name, const Model& model, const std::vector<std::string>& dims,
              const char* flag) {
  std::vector<std::string> known = names_of(model.inputs());
  known.insert(known.end(), dims.begin(), dims.end());
  Error e = make_error(Code::kInvalidArgument,
                       text_of(flag, ": the model has no input", dims.empty() ? "" : " or dimension", " \"",
                               name, "\", it has ", base::join(known, ", ")));
  if (const std::string near = did_you_mean(name, known); !near.empty())
    e.hint = "did you mean " + near + "?";
  return e;
}

Result<Tensor> from_pb(base::FileSystem& files, const std::string& path) {
  FRIT_ASSIGN(const std::string bytes, files.read(path));
  auto imported =
      onnx::import_tensor({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), nullptr});
  if (!imported.ok()) return std::move(imported).with(path).error();
  const auto shape = graph::constant_shape(imported->type.shape);
  if (!shape) return make_error(Code::kIo, path + ": the tensor has no constant shape");
  FRIT_ASSIGN(Tensor t, Tensor::allocate(imported->type.dtype, *shape));
  std::memcpy(t.bytes(), imported->data->bytes, t.size_bytes());
  return t;
}

// The shortest axis that an integer input indexes, as it is or through casts and views; 0: it indexes none.
// Arithmetic ends the search: what is added to a position is not an index itself.
int64_t indexed_axis(const graph::Graph& g, size_t input) {
  std::vector<bool> carries(g.values.size(), false);
  carries[static_cast<size_t>(g.inputs[input])] = true;
  const auto carried = [&](const graph::Node& node, size_t k) {
    return k < node.inputs.size() && node.inputs[k] != graph::kNoValue &&
           carries[static_cast<size_t>(node.inputs[k])];
  };
  int64_t limit = 0;
  const auto indexes = [&](const graph::Node& node, size_t axis) {
    const auto& shape = g.value(node.inputs[0]).type.shape;
    const auto n = axis < shape.size() ? shape[axis].constant() : std::nullopt;
    if (n) limit = limit == 0 ? *n : std::min(limit, *n);
  };
  for (const graph::Node& node : g.nodes) {
    const bool first = carried(node, 0), second = carried(node, 1);
    if (const auto* gather = std::get_if<graph::Gather>(&node.op); gather && second) {
      indexes(node, static_cast<size_t>(gather->axis));
    } else if (const auto* elements = std::get_if<graph::GatherElements>(&node.op); elements && second) {
      indexes(node, static_cast<size_t>(elements->axis));
    } else if (const auto* scatter = std::get_if<graph::ScatterElements>(&node.op); scatter && second) {
      indexes(node, static_cast<size_t>(scatter->axis));
    } else if (second && (std::holds_alternative<graph::GatherND>(node.op) ||
                          std::holds_alternative<graph::ScatterND>(node.op))) {
      // The last axis of the indices is a position in this many axes.
      const auto* nd = std::get_if<graph::GatherND>(&node.op);
      const auto begin = static_cast<size_t>(nd ? nd->batch_dims : 0);
      const auto& shape = g.value(node.inputs[1]).type.shape;
      const int64_t depth = shape.empty() ? 0 : shape.back().constant().value_or(0);
      for (size_t k = 0; k < static_cast<size_t>(depth); ++k) indexes(node, begin + k);
    }
    const bool moves = std::holds_alternative<graph::Cast>(node.op) || graph::is_view_like(node.op) ||
                       std::holds_alternative<graph::Split>(node.op) ||
                       std::holds_alternative<graph::Tile>(node.op);
    // A negative index counts from the end: where(x < 0, x + n, x).
    const bool chosen = std::holds_alternative<graph::Select>(node.op) && (second || carried(node, 2));
    const bool joined = std::holds_alternative<graph::Concat>(node.op) &&
                        std::any_of(node.inputs.begin(), node.inputs.end(), [&](graph::ValueId v) {
                          return v != graph::kNoValue && carries[static_cast<size_t>(v)];
                        });
    if ((moves && first) || chosen || joined)
      for (const graph::ValueId v : node.outputs) carries[static_cast<size_t>(v)] = true;
  }
  return limit;
}

void fill(Tensor& t, uint64_t seed, int64_t limit, std::optional<double> constant) {
  for (int64_t i = 0; i < t.elements(); ++i) {
    const double u = base::uniform(seed, static_cast<uint64_t>(i));
    std::byte* at = t.bytes() + static_cast<size_t>(i) * dtype_bytes(t.dtype());
    const double real = constant ? *constant : 2 * u - 1;
    switch (t.dtype()) {
      case DType::kF32: {
        const auto v = static_cast<float>(real);
        std::memcpy(at, &v, 4);
        break;
      }
      case DType::kF64:
        std::memcpy(at, &real, 8);
        break;
      case DType::kF16: {
        const auto v = base::float_to_f16(static_cast<float>(real));
        std::memcpy(at, &v, 2);
        break;
      }
      case DType::kBF16: {
        const auto v = base::float_to_bf16(static_cast<float>(real));
        std::memcpy(at, &v, 2);
        break;
      }
      case DType::kBool:
        *at = static_cast<std::byte>(constant ? *constant != 0 : true);
        break;
      default: {
        const int64_t v = constant    ? static_cast<int64_t>(*constant)
                          : limit > 0 ? static_cast<int64_t>(u * static_cast<double>(limit))
                                      : 1;
        std::memcpy(at, &v, dtype_bytes(t.dtype()));
      }
    }
  }
}

}  // namespace

Result<std::vector<NamedShape>> input_shapes(const Model& model, const InputOptions& options,
                                             const std::vector<std::pair<std::string, int64_t>>& sizes) {
  std::map<std::string, std::vector<int64_t>> whole;  // by input
  std::map<std::string, int64_t> dims(sizes.begin(), sizes.end());
  std::vector<std::string> known_dims;
  for (const TensorInfo& info : model.inputs())
    for (const Dimension& d : info.shape)
      if (!d.is_known()) known_dims.push_back(d.name);
  for (const auto& [name, value] : dims)
    if (std::find(known_dims.begin(), known_dims.end(), name) == known_dims.end())
      return unknown(name, model, known_dims, "--shape");
  for (const std::string& text : options.shapes) {
    FRIT_ASSIGN(const auto item, split(text, "--shape"));
    FRIT_ASSIGN(const std::vector<int64_t> shape, parse_shape(item.second));
    if (model.input_index(item.first))
      whole[item.first] = shape;
    else if (std::find(known_dims.begin(), known_dims.end(), item.first) != known_dims.end() &&
             shape.size() == 1)
      dims[item.first] = shape[0];
    else
      return unknown(item.first, model, known_dims, "--shape");
  }
  std::vector<NamedShape> out;
  for (const TensorInfo& info : model.inputs()) {
    NamedShape shape{info.name, {}};
    if (auto it = whole.find(info.name); it != whole.end()) {
      shape.shape = it->second;
      for (size_t k = 0; k < shape.shape.size() && k < info.shape.size(); ++k)
        if (!info.shape[k].is_known()) dims.emplace(info.shape[k].name, shape.shape[k]);
    }
    out.push_back(std::move(shape));
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (whole.count(out[i].name)) continue;
    for (const Dimension& d : model.inputs()[i].shape) {
      if (d.is_known())
        out[i].shape.push_back(d.size);
      else if (auto it = dims.find(d.name); it != dims.end())
        out[i].shape.push_back(it->second);
      else
        out[i].shape.push_back(1);
    }
  }
  return out;
}

Result<std::vector<Tensor>> make_inputs(const Model& model, const InputOptions& options) {
  base::SystemFileSystem files;
  std::map<std::string, std::string> given;
  InputOptions shapes = options;
  std::map<std::string, Tensor> loaded;
  for (const std::string& text : options.inputs) {
    FRIT_ASSIGN(const auto item, split(text, "--input"));
    const auto index = model.input_index(item.first);
    if (!index) return unknown(item.first, model, {}, "--input");
    if (given.count(item.first))
      return make_error(Code::kInvalidArgument, text_of("--input: \"", item.first, "\" is given twice"));
    given[item.first] = item.second;
    const bool npy = item.second.ends_with(".npy"), pb = item.second.ends_with(".pb");
    if (!npy && !pb) continue;
    FRIT_ASSIGN(Tensor t, npy ? read_npy(files, item.second) : from_pb(files, item.second));
    const DType want = model.inputs()[*index].dtype;
    for (const std::string& text_of_shape : options.shapes) {
      FRIT_ASSIGN(const auto named, split(text_of_shape, "--shape"));
      FRIT_ASSIGN(const std::vector<int64_t> shape, parse_shape(named.second));
      if (named.first == item.first && shape != t.shape())
        return make_error(Code::kInvalidArgument,
                          text_of("input \"", item.first, "\": ", item.second, " has shape ",
                                  shape_text(t.shape()), ", --shape says ", shape_text(shape)));
    }
    if (t.dtype() != want)
      return make_error(Code::kInvalidArgument,
                        text_of("input \"", item.first, "\": ", item.second, " holds ", dtype_name(t.dtype()),
                                ", expected ", dtype_name(want)));
    std::string shape;
    for (int64_t d : t.shape()) shape += (shape.empty() ? "" : "x") + std::to_string(d);
    shapes.shapes.push_back(item.first + "=" + shape);
    loaded.emplace(item.first, std::move(t));
  }
  FRIT_ASSIGN(const std::vector<NamedShape> resolved, input_shapes(model, shapes));
  graph::Graph graph;  // with these shapes; made where an input has to be invented
  std::vector<Tensor> out;
  for (size_t i = 0; i < resolved.size(); ++i) {
    const TensorInfo& info = model.inputs()[i];
    if (auto it = loaded.find(info.name); it != loaded.end()) {
      out.push_back(std::move(it->second));
      continue;
    }
    FRIT_ASSIGN(Tensor t, Tensor::allocate(info.dtype, resolved[i].shape));
    uint64_t seed = options.seed + i;
    std::optional<double> constant;
    if (auto it = given.find(info.name); it != given.end()) {
      if (it->second == "ones")
        constant = 1;
      else if (it->second == "zeros")
        constant = 0;
      else if (it->second.starts_with("random:") &&
               base::parse_number<uint64_t>(std::string_view(it->second).substr(7)))
        seed = *base::parse_number<uint64_t>(std::string_view(it->second).substr(7));
      else
        return make_error(Code::kInvalidArgument,
                          text_of("--input ", info.name, ": '", it->second,
                                  "' is not a .npy or .pb file, random:SEED, ones or zeros"));
    }
    if (!is_float(info.dtype) && !constant && graph.values.empty()) {
      FRIT_ASSIGN(const runtime::InputShapes shapes, runtime::input_shapes(model.impl()->graph, resolved));
      FRIT_ASSIGN(const auto sizes, runtime::bind_inputs(model.impl()->graph, shapes));
      graph = model.impl()->graph;
      FRIT_TRY(graph::bind_sizes(graph, sizes));
    }
    fill(t, seed, graph.values.empty() ? 0 : indexed_axis(graph, i), constant);
    out.push_back(std::move(t));
  }
  return out;
}

}  // namespace frit::tools
