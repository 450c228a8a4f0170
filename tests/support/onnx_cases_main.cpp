// frit_onnx_cases DIR ...: runs backend test folders of the ONNX project (model.onnx,
// test_data_set_*/input_*.pb, output_*.pb) through importer and evaluator. Prints a line per folder that is
// not right, and a count.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/try.h"
#include "graph/eval.h"
#include "onnx/import.h"

namespace frit::test {
namespace {

Result<graph::HostTensor> read_tensor(base::FileSystem& files, const std::string& path) {
  FRIT_ASSIGN(const std::string bytes, files.read(path));
  FRIT_ASSIGN(const onnx::ImportedTensor t,
              onnx::import_tensor({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), nullptr})
                  .with(path));
  return graph::HostTensor::view(t.type.dtype, *graph::constant_shape(t.type.shape), t.data->bytes, t.data);
}

// As ONNX's own runner: |got - want| <= 1e-7 + 1e-3 |want|, looser for 16-bit floats.
Status compare(const graph::HostTensor& got, const graph::HostTensor& want) {
  if (got.dtype() != want.dtype() || got.shape() != want.shape())
    return make_error(Code::kInternal, "got " + got.type_text() + ", expected " + want.type_text());
  const bool narrow = got.dtype() == DType::kF16 || got.dtype() == DType::kBF16;
  for (int64_t i = 0; i < got.elements(); ++i) {
    const double a = got.as_double(i), b = want.as_double(i);
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b || std::abs(a - b) <= (narrow ? 1e-3 : 1e-7) + (narrow ? 1e-2 : 1e-3) * std::abs(b)) continue;
    return make_error(Code::kInternal, base::text_of("element ", i, " is ", a, ", expected ", b));
  }
  return {};
}

Status run_folder(base::FileSystem& files, const std::string& folder) {
  FRIT_ASSIGN(const graph::Graph graph, onnx::import_model(files, folder + "/model.onnx"));
  for (int set = 0; files.exists(folder + base::text_of("/test_data_set_", set)); ++set) {
    const std::string data = folder + base::text_of("/test_data_set_", set, "/");
    std::vector<graph::HostTensor> inputs;
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      FRIT_ASSIGN(graph::HostTensor input, read_tensor(files, data + base::text_of("input_", i, ".pb")));
      inputs.push_back(std::move(input));
    }
    FRIT_ASSIGN(const std::vector<graph::HostTensor> outputs, graph::evaluate(graph, inputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      FRIT_ASSIGN(const graph::HostTensor want,
                  read_tensor(files, data + base::text_of("output_", i, ".pb")));
      FRIT_TRY(compare(outputs[i], want).with(base::text_of("output ", i)));
    }
  }
  return {};
}

}  // namespace
}  // namespace frit::test

int main(int argc, char** argv) {
  frit::base::SystemFileSystem files;
  int right = 0, unsupported = 0;
  for (int i = 1; i < argc; ++i) {
    const frit::Status done = frit::test::run_folder(files, argv[i]).with(argv[i]);
    right += done.ok();
    if (done.ok()) continue;
    const bool refused = done.error().code == frit::Code::kUnsupported;
    unsupported += refused;
    std::printf("%s %s\n", refused ? "unsupported" : "WRONG      ", done.error().text().c_str());
  }
  std::printf("%d right, %d unsupported, %d wrong\n", right, unsupported, argc - 1 - right - unsupported);
  return right + unsupported == argc - 1 ? 0 : 1;
}
