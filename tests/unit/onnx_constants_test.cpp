// Tensor payloads: every way a file can store them, in place or decoded, inside the model or beside it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/half.h"
#include "base/seams.h"
#include "support/onnx_builder.h"
#include "support/onnx_run.h"

namespace frit::test {
namespace {

using onnx::MessageWriter;
using std::vector;

// The constant that a model with this initializer has.
Result<graph::Value> constant_of(MessageWriter tensor) {
  const std::string bytes = OnnxBuilder().initializer(std::move(tensor)).output("w").bytes();
  auto graph = import_text(bytes);  // copies, since the bytes have no owner
  if (!graph.ok()) return std::move(graph).error();
  return graph->value(graph->outputs[0]);
}

template <class T>
vector<T> elements(const graph::Value& value) {
  vector<T> out(value.constant->size_bytes / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), value.constant->bytes, value.constant->size_bytes);
  return out;
}

MessageWriter typed(int64_t type, int64_t count, uint32_t field, const vector<int64_t>& values) {
  MessageWriter m = OnnxBuilder::header("w", type, {count});
  m.packed_integers(field, values);
  return m;
}

TEST(OnnxConstants, TypedFieldsOfEveryElementType) {
  MessageWriter f = OnnxBuilder::header("w", kFloat, {3});
  f.packed_floats(4, {1.5f, -2});
  f.float32(4, 3);  // a second piece
  EXPECT_EQ(elements<float>(*constant_of(std::move(f))), (vector<float>{1.5f, -2, 3}));
  MessageWriter d = OnnxBuilder::header("w", kDouble, {1});
  const double number = 0.1;
  d.text(10, {reinterpret_cast<const char*>(&number), sizeof number});
  EXPECT_EQ(elements<double>(*constant_of(std::move(d))), vector<double>{0.1});
  EXPECT_EQ(elements<int8_t>(*constant_of(typed(kInt8, 2, 5, {-1, 127}))), (vector<int8_t>{-1, 127}));
  EXPECT_EQ(elements<uint8_t>(*constant_of(typed(kUint8, 2, 5, {255, 1}))), (vector<uint8_t>{255, 1}));
  EXPECT_EQ(elements<int16_t>(*constant_of(typed(kInt16, 1, 5, {-300}))), vector<int16_t>{-300});
  EXPECT_EQ(elements<uint16_t>(*constant_of(typed(kUint16, 1, 5, {65535}))), vector<uint16_t>{65535});
  EXPECT_EQ(elements<int32_t>(*constant_of(typed(kInt32, 1, 5, {INT32_MIN}))), vector<int32_t>{INT32_MIN});
  EXPECT_EQ(elements<int64_t>(*constant_of(typed(kInt64, 1, 7, {INT64_MIN}))), vector<int64_t>{INT64_MIN});
  EXPECT_EQ(elements<uint32_t>(*constant_of(typed(kUint32, 1, 11, {UINT32_MAX}))),
            vector<uint32_t>{UINT32_MAX});
  EXPECT_EQ(elements<uint64_t>(*constant_of(typed(kUint64, 1, 11, {-1}))), vector<uint64_t>{UINT64_MAX});
  EXPECT_EQ(elements<uint8_t>(*constant_of(typed(kBool, 3, 5, {0, 1, 7}))), (vector<uint8_t>{0, 1, 1}));
  EXPECT_EQ(elements<uint16_t>(*constant_of(typed(kFloat16, 1, 5, {0x3c00}))), vector<uint16_t>{0x3c00});
  EXPECT_EQ(elements<uint16_t>(*constant_of(typed(kBfloat16, 1, 5, {0x3f80}))), vector<uint16_t>{0x3f80});
}

TEST(OnnxConstants, RawBoolsAreMadeClean) {
  EXPECT_EQ(elements<uint8_t>(*constant_of(OnnxBuilder::tensor<uint8_t>("w", kBool, {3}, {0, 1, 200}))),
            (vector<uint8_t>{0, 1, 1}));
}

TEST(OnnxConstants, EmptyTensorsNeedNoData) {
  const auto value = constant_of(OnnxBuilder::header("w", kFloat, {3, 0}));
  ASSERT_TRUE(value.ok()) << value.error().text();
  EXPECT_EQ(graph::type_text(value->type), "f32[3,0]");
  EXPECT_EQ(value->constant->size_bytes, 0u);
}

TEST(OnnxConstants, PlainPayloadsOfOwnedBytesAreUsedInPlaceAtAnyAddress) {
  // Models that differ in the length of a name, so that the payload begins at every address modulo four.
  std::set<uintptr_t> phases;
  for (size_t n = 1; n <= 4; ++n) {
    const std::string name(n, 'w');
    const auto bytes = std::make_shared<const std::string>(
        OnnxBuilder().floats(name, {16}, vector<float>(16, 2.5f)).output(name).bytes());
    const auto graph =
        onnx::import_bytes({reinterpret_cast<const std::byte*>(bytes->data()), bytes->size(), bytes}, "m");
    ASSERT_TRUE(graph.ok());
    const graph::ConstantData& data = *graph->value(graph->outputs[0]).constant;
    const auto* first = reinterpret_cast<const std::byte*>(bytes->data());
    ASSERT_TRUE(data.bytes >= first && data.bytes < first + bytes->size());
    EXPECT_EQ(data.origin_offset, static_cast<uint64_t>(data.bytes - first));
    EXPECT_EQ(elements<float>(graph->value(graph->outputs[0])), vector<float>(16, 2.5f));
    phases.insert(reinterpret_cast<uintptr_t>(data.bytes) % sizeof(float));
  }
  EXPECT_EQ(phases.size(), 4u);
}

class OnnxExternal : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "frit_onnx_external_" + std::to_string(getpid());
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ + "/model/sub");
    write(root_ + "/secret.bin", std::string(64, 's'));
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  static void write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  // Writes a model whose only tensor, f32[4], has these external_data entries, and imports it.
  Result<graph::Graph> import(const vector<std::pair<std::string, std::string>>& entries) {
    write(root_ + "/model/m.onnx",
          OnnxBuilder().initializer(OnnxBuilder::external("w", kFloat, {4}, entries)).output("w").bytes());
    base::SystemFileSystem files;
    return onnx::import_model(files, root_ + "/model/m.onnx");
  }
  std::string error_of(const vector<std::pair<std::string, std::string>>& entries) {
    const auto graph = import(entries);
    return graph.ok() ? "" : graph.error().text();
  }

  std::string root_;
};

std::string float_bytes(const vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

TEST_F(OnnxExternal, DataIsMappedAtItsOffset) {
  write(root_ + "/model/sub/w.bin", std::string(64, '\0') + float_bytes({1, 2, 3, 4}) + "tail");
  const auto graph =
      import({{"location", "sub/w.bin"}, {"offset", "64"}, {"length", "16"}, {"checksum", "ignored"}});
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const graph::Value& w = graph->value(graph->outputs[0]);
  EXPECT_EQ(elements<float>(w), (vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(w.constant->origin_file, std::filesystem::canonical(root_ + "/model/sub/w.bin").string());
  EXPECT_EQ(w.constant->origin_offset, 64u);
  // Without offset and length: from the start, as much as the tensor needs.
  write(root_ + "/model/v.bin", float_bytes({5, 6, 7, 8, 9}));
  const auto whole = import({{"location", "v.bin"}});
  ASSERT_TRUE(whole.ok()) << whole.error().text();
  EXPECT_EQ(elements<float>(whole->value(whole->outputs[0])), (vector<float>{5, 6, 7, 8}));
}

TEST_F(OnnxExternal, MisalignedDataIsUsedInPlace) {
  write(root_ + "/model/w.bin", "x" + float_bytes({1, 2, 3, 4}));
  const auto graph = import({{"location", "w.bin"}, {"offset", "1"}});
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const graph::Value& w = graph->value(graph->outputs[0]);
  EXPECT_EQ(elements<float>(w), (vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(w.constant->bytes) % sizeof(float), 1u);
  EXPECT_EQ(w.constant->origin_offset, 1u);
  EXPECT_NE(w.constant->mapped, nullptr);
}

TEST_F(OnnxExternal, NothingOutsideTheFolderIsRead) {
  const std::string outside = root_ + "/secret.bin";
  EXPECT_NE(error_of({{"location", outside}}).find("is an absolute path"), std::string::npos);
  EXPECT_NE(error_of({{"location", "../secret.bin"}}).find("has '..' in its path"), std::string::npos);
  EXPECT_NE(error_of({{"location", "sub/../../secret.bin"}}).find("has '..' in its path"), std::string::npos);
  EXPECT_NE(error_of({{"location", "sub/.."}}).find("has '..' in its path"), std::string::npos);
  std::filesystem::create_symlink(outside, root_ + "/model/link.bin");
  EXPECT_NE(error_of({{"location", "link.bin"}}).find("leads out of the model's folder"), std::string::npos);
  std::filesystem::create_directory_symlink(root_, root_ + "/model/up");
  EXPECT_NE(error_of({{"location", "up/secret.bin"}}).find("leads out of the model's folder"),
            std::string::npos);
  // A folder whose name merely begins alike is outside too.
  std::filesystem::create_directories(root_ + "/model2");
  write(root_ + "/model2/w.bin", float_bytes({1, 2, 3, 4}));
  std::filesystem::create_symlink(root_ + "/model2/w.bin", root_ + "/model/alike.bin");
  EXPECT_NE(error_of({{"location", "alike.bin"}}).find("leads out of the model's folder"), std::string::npos);
  // A link inside is fine, and so are dots that are part of a name.
  write(root_ + "/model/..w..bin", float_bytes({1, 2, 3, 4}));
  std::filesystem::create_symlink(root_ + "/model/..w..bin", root_ + "/model/inside.bin");
  EXPECT_EQ(error_of({{"location", "inside.bin"}}), "");
  EXPECT_EQ(error_of({{"location", "..w..bin"}}), "");
  EXPECT_NE(error_of({{"location", std::string("w\0.bin", 6)}}), "");
}

TEST_F(OnnxExternal, BadEntriesAreErrorsThatNameTheTensor) {
  write(root_ + "/model/w.bin", float_bytes({1, 2, 3, 4}));
  const auto expect = [&](const vector<std::pair<std::string, std::string>>& entries, const char* message) {
    const std::string text = error_of(entries);
    EXPECT_NE(text.find("initializer \"w\": "), std::string::npos) << text;
    EXPECT_NE(text.find(message), std::string::npos) << text;
  };
  expect({}, "external data has no location");
  expect({{"location", "gone.bin"}}, "no such file");
  expect({{"location", "sub"}}, "is a folder");
  expect({{"location", "w.bin"}, {"offset", "x"}}, "external data has offset \"x\", expected a number");
  expect({{"location", "w.bin"}, {"offset", "-4"}}, "expected a number");
  expect({{"location", "w.bin"}, {"length", "99999999999999999999999"}}, "expected a number");
  expect({{"location", "w.bin"}, {"length", "12"}}, "length is 12 bytes, expected 16");
  expect({{"location", "w.bin"}, {"offset", "4"}}, "reach past its end (16 bytes)");
  expect({{"location", "w.bin"}, {"offset", "18446744073709551615"}}, "reach past its end");
}

TEST(OnnxResolver, FindsExternalDataOfModelsFromMemory) {
  const std::string bytes =
      OnnxBuilder()
          .initializer(
              OnnxBuilder::external("w", kFloat, {2}, {{"location", "any/../where"}, {"offset", "4"}}))
          .initializer(OnnxBuilder::external("v", kFloat, {1}, {{"location", "any/../where"}}))
          .node("Add", {"w", "v"}, {"y"})
          .output("y")
          .bytes();
  int calls = 0;
  const auto resolver = [&](const std::string& location) -> Result<onnx::Buffer> {
    ++calls;
    EXPECT_EQ(location, "any/../where");
    const auto data = std::make_shared<const std::string>(float_bytes({1, 2, 3}));
    return onnx::Buffer{reinterpret_cast<const std::byte*>(data->data()), data->size(), data};
  };
  const auto graph = import_text(bytes, resolver);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(calls, 1);
  const auto y = graph::evaluate(*graph, {});
  ASSERT_TRUE(y.ok());
  EXPECT_EQ((*y)[0].values<float>(), (vector<float>{3, 4}));

  const auto none = import_text(bytes);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().text().find("no resolver was given"), std::string::npos);
  const auto failing = import_text(bytes, [](const std::string&) -> Result<onnx::Buffer> {
    return make_error(Code::kNotFound, "nobody has it");
  });
  ASSERT_FALSE(failing.ok());
  EXPECT_NE(failing.error().text().find("external data \"any/../where\": nobody has it"), std::string::npos);
}

TEST(OnnxTensorFile, ReadsATensorProto) {
  const std::string bytes = OnnxBuilder::tensor<int64_t>("input_0", kInt64, {2, 1}, {7, 8}).joined();
  const onnx::Buffer buffer{reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), nullptr};
  const auto tensor = onnx::import_tensor(buffer);
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->name, "input_0");
  EXPECT_EQ(graph::type_text(tensor->type), "i64[2,1]");
  const std::string external = OnnxBuilder::external("w", kFloat, {2}, {{"location", "x"}}).joined();
  EXPECT_FALSE(
      onnx::import_tensor({reinterpret_cast<const std::byte*>(external.data()), external.size(), nullptr})
          .ok());
}

}  // namespace
}  // namespace frit::test
