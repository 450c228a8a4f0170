// The weights and inputs of the networks are those of fill.py, bit for bit (CRC-32 taken from it).
#include <gtest/gtest.h>

#include <cmath>

#include "base/hash.h"
#include "support/fill_models.h"

namespace frit::test {
namespace {

TestModel load(const std::string& name) {
  base::SystemFileSystem files;
  return load_test_model(files, FRIT_TEST_DATA "/models", name).value_or_throw();
}

TEST(FillModels, WeightsOfEveryKindAreThoseOfThePythonScript) {
  EXPECT_EQ(base::crc32(make_weights(load("lstm_speech"))), 0x6bdc00a9u);
  EXPECT_EQ(base::crc32(make_weights(load("resnet18_bn"))), 0x7b31c46au);
}

TEST(FillModels, InputsAreThoseOfThePythonScript) {
  const auto crc = [](const TestModel& model, size_t index, size_t input) {
    const auto t = make_case_input(model, index, model.cases[index].inputs[input]).value_or_throw();
    return base::crc32({reinterpret_cast<const char*>(t.bytes()), t.size_bytes()});
  };
  const TestModel minilm = load("minilm_l6"), lstm = load("lstm_speech");
  EXPECT_EQ(crc(minilm, 0, 0), 0x00a1a6aeu);  // ids
  EXPECT_EQ(crc(minilm, 0, 1), 0x3de10646u);  // mask
  EXPECT_EQ(crc(minilm, 1, 0), 0xfdf1a527u);
  EXPECT_EQ(crc(minilm, 1, 1), 0x23228789u);
  EXPECT_EQ(crc(lstm, 0, 0), 0x76f7c196u);  // unit
}

TEST(FillModels, ThereAreEighteenNetworksAndTwentySixCases) {
  base::SystemFileSystem files;
  const auto names = list_models(files, FRIT_TEST_DATA "/models");
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(names->size(), 18u);
  size_t cases = 0;
  for (const std::string& name : *names) cases += load(name).cases.size();
  EXPECT_EQ(cases, 26u);
}

TEST(FillModels, ComparisonSeesWrongAndMissingNumbers) {
  const CaseOutput want{"y", {2, 2}, 4.0, 3, {1.0, 4.0}};
  const auto tensor = [](graph::Extents shape, std::vector<float> v) {
    return graph::HostTensor::of<float>(DType::kF32, std::move(shape), v).value_or_throw();
  };
  EXPECT_EQ(*compare_output(want, tensor({2, 2}, {1, 0, 0, 4})), 0.0);
  EXPECT_DOUBLE_EQ(*compare_output(want, tensor({2, 2}, {1, 0, 0, 2})), 0.5);
  EXPECT_GT(*compare_output(want, tensor({2, 2}, {NAN, 0, 0, 4})), 1e30);
  EXPECT_FALSE(compare_output(want, tensor({4}, {1, 0, 0, 4})).ok());
}

TEST(FillModels, FilesLoadFromWhereTheyAreWritten) {
  base::SystemFileSystem files;
  const std::string folder = testing::TempDir() + "frit_fill_models_test";
  const TestModel model = load("lstm_speech");
  ASSERT_TRUE(fill_model(files, model, folder).ok());
  const auto graph = onnx::import_model(files, folder + "/lstm_speech.onnx");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const std::string expected = make_weights(model);
  size_t in_file = 0;
  for (const auto& value : graph->values) {
    if (!value.is_constant() || value.constant->origin_file.empty()) continue;
    if (!value.constant->origin_file.ends_with("/lstm_speech.weights")) continue;
    ++in_file;
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(value.constant->bytes), value.constant->size_bytes),
              expected.substr(value.constant->origin_offset, value.constant->size_bytes));
  }
  EXPECT_EQ(in_file, model.weights.size());
  for (const char* name : {"/lstm_speech.onnx", "/lstm_speech.weights", ""})
    EXPECT_TRUE(files.remove(folder + name).ok());
}

}  // namespace
}  // namespace frit::test
