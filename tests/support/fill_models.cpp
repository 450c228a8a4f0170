#include "support/fill_models.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/try.h"

namespace frit::test {
namespace {

using base::text_of;
using nlohmann::ordered_json;

Result<base::WeightKind> read_kind(const std::string& text) {
  if (text == "any") return base::WeightKind::kAny;
  if (text == "positive") return base::WeightKind::kPositive;
  if (text == "paired") return base::WeightKind::kPaired;
  return make_error(Code::kCorrupt, "kind of weights " + base::quoted(text) + " is unknown");
}

Result<DType> read_dtype(const std::string& text) {
  if (text == "float32") return DType::kF32;
  if (text == "int64") return DType::kI64;
  return make_error(Code::kCorrupt, "dtype " + base::quoted(text) + " is unknown");
}

Result<TestModel> read_model(const ordered_json& json) {
  TestModel model;
  for (const auto& row : json.at("weights")) {
    WeightRow w{row.at(0), row.at(1), row.at(2), row.at(3), row.at(4), base::WeightKind::kAny};
    FRIT_ASSIGN(w.kind, read_kind(row.at(5)));
    model.weights.push_back(std::move(w));
  }
  for (const auto& entry : json.at("cases")) {
    ModelCase c;
    for (const auto& [name, spec] : entry.at("inputs").items()) {
      CaseInput input{name, DType::kF32, spec.at("shape"), {}, 0};
      FRIT_ASSIGN(input.dtype, read_dtype(spec.at("dtype")));
      const auto& fill = spec.at("fill");
      if (fill.is_string()) {
        input.fill = fill;
      } else {
        input.number = fill;
      }
      c.inputs.push_back(std::move(input));
    }
    for (const auto& [name, spec] : entry.at("outputs").items())
      c.outputs.push_back({name, spec.at("shape"), spec.at("max"), spec.at("stride"), spec.at("values")});
    model.cases.push_back(std::move(c));
  }
  return model;
}

}  // namespace

Result<std::vector<std::string>> list_models(base::FileSystem& files, const std::string& folder) {
  FRIT_ASSIGN(const std::vector<std::string> entries, files.list(folder));
  std::vector<std::string> names;
  for (const std::string& entry : entries)
    if (entry.size() > 5 && entry.ends_with(".onnx")) names.push_back(entry.substr(0, entry.size() - 5));
  return names;
}

Result<TestModel> load_test_model(base::FileSystem& files, const std::string& folder,
                                  const std::string& name) {
  const std::string path = folder + "/" + name + ".json";
  FRIT_ASSIGN(const std::string text, files.read(path));
  try {
    auto model = read_model(ordered_json::parse(text)).with(path);
    if (!model.ok()) return model;
    model->name = name;
    model->folder = folder;
    return model;
  } catch (const nlohmann::json::exception& e) {
    return make_error(Code::kCorrupt, path + ": " + e.what());
  }
}

std::string make_weights(const TestModel& model) {
  uint64_t size = 0;
  for (const WeightRow& row : model.weights)
    size = std::max(size, row.offset_bytes + row.elements * sizeof(float));
  std::string bytes(size, '\0');
  std::vector<float> chunk;
  constexpr uint64_t kChunk = uint64_t{1} << 16;  // even, as pairs need
  for (const WeightRow& row : model.weights) {
    for (uint64_t first = 0; first < row.elements; first += kChunk) {
      chunk.resize(std::min(kChunk, row.elements - first));
      base::fill_weights(chunk, base::seed_of(row.tensor), row.mean, row.std, row.kind, first);
      std::memcpy(bytes.data() + row.offset_bytes + first * sizeof(float), chunk.data(),
                  chunk.size() * sizeof(float));
    }
  }
  return bytes;
}

Status fill_model(base::FileSystem& files, const TestModel& model, const std::string& out_folder) {
  FRIT_TRY(files.make_folders(out_folder, 0755));
  FRIT_ASSIGN(const std::string graph, files.read(model.folder + "/" + model.name + ".onnx"));
  FRIT_TRY(files.write_atomic(out_folder + "/" + model.name + ".weights", make_weights(model)));
  return files.write_atomic(out_folder + "/" + model.name + ".onnx", graph);
}

Result<graph::Graph> import_filled(base::FileSystem& files, const TestModel& model) {
  const std::string path = model.folder + "/" + model.name + ".onnx";
  FRIT_ASSIGN(base::MappedFile mapped, files.map(path));
  const auto file = std::make_shared<const base::MappedFile>(std::move(mapped));
  const auto weights = std::make_shared<const std::string>(make_weights(model));
  const auto resolver = [&](const std::string& location) -> Result<onnx::Buffer> {
    if (location != model.name + ".weights")
      return make_error(Code::kNotFound, "no external data " + base::quoted(location) + " is known");
    return onnx::Buffer{reinterpret_cast<const std::byte*>(weights->data()), weights->size(), weights};
  };
  return onnx::import_bytes({file->data(), file->size_bytes(), file}, path, resolver);
}

Result<graph::HostTensor> make_case_input(const TestModel& model, size_t case_index, const CaseInput& input) {
  FRIT_ASSIGN(graph::HostTensor tensor, graph::HostTensor::allocate(input.dtype, input.shape));
  const uint64_t seed = base::seed_of(text_of(model.name, "/", input.name, "/", case_index));
  const auto count = static_cast<size_t>(tensor.elements());
  auto* floats = reinterpret_cast<float*>(tensor.mutable_bytes());
  auto* ints = reinterpret_cast<int64_t*>(tensor.mutable_bytes());
  if (input.fill == "unit" && input.dtype == DType::kF32) {
    base::fill_unit({floats, count}, seed);
  } else if (input.fill == "ids" && input.dtype == DType::kI64) {
    base::fill_ids({ints, count}, seed);
  } else if (input.fill == "mask" && input.dtype == DType::kI64) {
    const int64_t columns = input.shape.back();
    const auto ones = static_cast<int64_t>(0.8 * static_cast<double>(columns));
    for (size_t i = 0; i < count; ++i) ints[i] = static_cast<int64_t>(i) % columns < ones;
  } else if (input.fill.empty()) {
    for (size_t i = 0; i < count; ++i) {
      if (input.dtype == DType::kI64) ints[i] = static_cast<int64_t>(input.number);
      if (input.dtype == DType::kF32) floats[i] = static_cast<float>(input.number);
    }
  } else {
    return make_error(Code::kCorrupt,
                      "fill " + base::quoted(input.fill) + " is unknown for " + dtype_name(input.dtype));
  }
  return tensor;
}

Result<double> compare_output(const CaseOutput& expected, const graph::HostTensor& got) {
  if (got.shape() != expected.shape || got.dtype() != DType::kF32)
    return make_error(Code::kInternal,
                      text_of("output ", base::quoted(expected.name), " is ", got.type_text(),
                              ", expected f32", graph::extents_text(expected.shape)));
  double worst = 0;
  for (size_t i = 0; i < expected.values.size(); ++i) {
    const double error =
        std::abs(got.as_double(static_cast<int64_t>(i) * expected.stride) - expected.values[i]);
    worst = std::max(worst, error == error ? error : std::numeric_limits<double>::infinity());
  }
  return worst / std::max(expected.largest, 1e-30);
}

}  // namespace frit::test
