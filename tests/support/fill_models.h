// The networks of tests/models: their weights made again from seeds, the inputs of their cases, what must
// come out.
//
// The C++ side of tests/models/fill.py, whose docstring is the specification (a test compares the two byte
// for byte). For tests and the program frit_fill_models only; the library does not know it.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "base/seams.h"
#include "frit/result.h"
#include "graph/tensor.h"
#include "onnx/import.h"

namespace frit::test {

struct WeightRow {
  std::string tensor;
  uint64_t offset_bytes = 0;
  uint64_t elements = 0;
  double mean = 0, std = 0;
  base::WeightKind kind = base::WeightKind::kAny;
};

struct CaseInput {
  std::string name;
  DType dtype = DType::kF32;
  graph::Extents shape;
  std::string fill;  // "unit", "ids", "mask", or empty for `number` everywhere
  double number = 0;
};

struct CaseOutput {
  std::string name;
  graph::Extents shape;
  double largest = 0;  // magnitude over all of it
  int64_t stride = 1;  // values are the flattened output at 0, stride, 2 * stride ...
  std::vector<double> values;
};

struct ModelCase {
  std::vector<CaseInput> inputs;
  std::vector<CaseOutput> outputs;
};

struct TestModel {
  std::string name;
  std::string folder;  // where NAME.onnx and NAME.json lie
  std::vector<WeightRow> weights;
  std::vector<ModelCase> cases;
};

// Every network of the folder, sorted.
Result<std::vector<std::string>> list_models(base::FileSystem& files, const std::string& folder);
Result<TestModel> load_test_model(base::FileSystem& files, const std::string& folder,
                                  const std::string& name);

// The bytes of NAME.weights.
std::string make_weights(const TestModel& model);
// Writes OUT/NAME.weights and OUT/NAME.onnx, so that the model loads from there as it is.
Status fill_model(base::FileSystem& files, const TestModel& model, const std::string& out_folder);
// Imports the network with weights made in memory.
Result<graph::Graph> import_filled(base::FileSystem& files, const TestModel& model);

Result<graph::HostTensor> make_case_input(const TestModel& model, size_t case_index, const CaseInput& input);

// The largest error of the recorded elements, relative to the output's largest magnitude; an error where
// shape or type differ. NaN counts as infinite.
Result<double> compare_output(const CaseOutput& expected, const graph::HostTensor& got);

}  // namespace frit::test
