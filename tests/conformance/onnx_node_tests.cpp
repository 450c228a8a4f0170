// The ONNX project's node tests, imported and run by the evaluator.
//
//   onnx_node_tests DIR [NAME_PART]
//
// DIR holds folders test_*/model.onnx with test_data_set_*/input_*.pb and output_*.pb, as the `onnx` Python
// package writes them or libonnx-testdata installs them. Prints each test that differs and what the importer
// refuses; exit code 1 when one differs. Not a ctest by itself: the data is not part of the project.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/seams.h"
#include "base/text.h"
#include "base/try.h"
#include "graph/eval.h"
#include "onnx/import.h"

namespace {

namespace fs = std::filesystem;
using frit::Code;
using frit::Error;
using frit::Result;
using frit::Status;
using frit::base::text_of;
using frit::graph::HostTensor;

Result<HostTensor> read_tensor(frit::base::FileSystem& files, const fs::path& path) {
  FRIT_ASSIGN(const std::string bytes, files.read(path.string()));
  FRIT_ASSIGN(const auto tensor, frit::onnx::import_tensor({reinterpret_cast<const std::byte*>(bytes.data()),
                                                            bytes.size(), nullptr}));
  const auto shape = frit::graph::constant_shape(tensor.type.shape);
  if (!shape) return frit::make_error(Code::kInternal, "a tensor without a constant shape");
  return HostTensor::view(tensor.type.dtype, *shape, tensor.data->bytes, tensor.data);
}

// The ONNX project's own tolerance for float; for the 16-bit types, whose expected values were rounded after
// every step, two units in the last place.
double relative_tolerance(frit::DType dtype) {
  if (dtype == frit::DType::kF16) return 0x1p-9;
  if (dtype == frit::DType::kBF16) return 0x1p-6;
  return 1e-3;
}

Status compare(const HostTensor& actual, const HostTensor& expected) {
  if (actual.type_text() != expected.type_text()) {
    return frit::make_error(Code::kInternal,
                            text_of("is ", actual.type_text(), ", expected ", expected.type_text()));
  }
  const double tolerance = relative_tolerance(expected.dtype());
  for (int64_t i = 0; i < expected.elements(); ++i) {
    const double a = actual.as_double(i), e = expected.as_double(i);
    const bool same =
        a == e || (std::isnan(a) && std::isnan(e)) || std::fabs(a - e) <= 1e-7 + tolerance * std::fabs(e);
    if (!same) return frit::make_error(Code::kInternal, text_of("element ", i, " is ", a, ", expected ", e));
  }
  return {};
}

// Tests that are known to differ, and why.
struct Known {
  const char* name;
  const char* reason;
};
constexpr Known kKnown[] = {
    {"test_resize_downsample_scales_linear_align_corners",
     "takes scale * extent for the resized length; the text of the standard and onnxruntime take the whole "
     "number"},
    {"test_resize_downsample_scales_cubic_align_corners", "as above"},
};
const char* known_reason(const std::string& name) {
  for (const Known& known : kKnown) {
    if (name == known.name) return known.reason;
  }
  return nullptr;
}

fs::path numbered(const fs::path& folder, const char* kind, size_t i) {
  return folder / text_of(kind, "_", i, ".pb");
}

Status run_case(frit::base::FileSystem& files, const frit::graph::Graph& graph, const fs::path& folder) {
  for (int set = 0;; ++set) {
    const fs::path data = folder / text_of("test_data_set_", set);
    if (!fs::exists(data)) return {};
    std::vector<HostTensor> inputs;
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      FRIT_ASSIGN(HostTensor input, read_tensor(files, numbered(data, "input", i)));
      inputs.push_back(std::move(input));
    }
    FRIT_ASSIGN(const auto outputs, frit::graph::evaluate(graph, inputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      FRIT_ASSIGN(const HostTensor expected, read_tensor(files, numbered(data, "output", i)));
      FRIT_TRY(compare(outputs[i], expected).with(text_of("output ", i)));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: onnx_node_tests DIR [NAME_PART]\n");
    return 2;
  }
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(argv[1])) {
    const bool wanted = argc < 3 || entry.path().filename().string().find(argv[2]) != std::string::npos;
    if (wanted && fs::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  frit::base::SystemFileSystem files;
  int passed = 0, differ = 0, known = 0, refused = 0;
  for (const fs::path& folder : folders) {
    const std::string name = folder.filename().string();
    const auto graph = frit::onnx::import_model(files, (folder / "model.onnx").string());
    if (!graph.ok()) {
      ++refused;
      std::printf("refused %s: %s\n", name.c_str(), graph.error().text().c_str());
      continue;
    }
    const Status status = run_case(files, *graph, folder);
    if (status.ok()) {
      ++passed;
    } else if (const char* reason = known_reason(name)) {
      ++known;
      std::printf("known %s: %s (%s)\n", name.c_str(), status.error().text().c_str(), reason);
    } else {
      ++differ;
      std::printf("DIFFERS %s: %s\n", name.c_str(), status.error().text().c_str());
    }
  }
  std::printf("%d passed, %d differ, %d are known to differ, %d refused by the importer\n", passed, differ,
              known, refused);
  return differ > 0 ? 1 : 0;
}
