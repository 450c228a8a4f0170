// From --input and --shape to tensors, and from results to files, without a process around them.
#include <gtest/gtest.h>

#include <cstring>

#include "frit/graph_builder.h"
#include "onnx/import.h"
#include "support/fake_seams.h"
#include "tools/inputs.h"
#include "tools/npy.h"

namespace frit::tools {
namespace {

Model model_of(GraphBuilder&& g) {
  return Model::from_graph(std::move(g), {.cache = "off"}).value_or_throw();
}

Value table(GraphBuilder& g, std::vector<int64_t> shape) {
  return g.constant(Tensor::allocate(DType::kF32, std::move(shape)).value_or_throw());
}

TEST(MakeInputs, UnnamedOnesFitWhatTheyAreUsedFor) {
  GraphBuilder g;
  const Value ids = g.input("ids", DType::kI64, {"batch", 50});
  const Value count = g.input("count", DType::kI32, {3});
  const Value mask = g.input("mask", DType::kBool, {4});
  const Value x = g.input("x", DType::kF32, {5, 5});
  const Value rows = g.gather(table(g, {7, 2}), g.reshape(g.cast(ids, DType::kI32), {-1}), 0);
  const Value others = g.gather(table(g, {2, 3}), ids, 1);
  g.output(rows, "rows");
  g.output(others, "others");
  g.output(g.add(count, count), "sum");
  g.output(g.logical_not(mask), "not");
  g.output(x, "same");
  const Model model = model_of(std::move(g));

  InputOptions options;
  options.shapes = {"batch=20"};
  auto made = make_inputs(model, options);
  ASSERT_TRUE(made.ok()) << made.error().text();
  const std::vector<Tensor>& t = *made;
  EXPECT_EQ(t[0].shape(), (std::vector<int64_t>{20, 50}));
  bool seen[3] = {};
  for (const int64_t v : t[0].values<int64_t>()) {
    ASSERT_GE(v, 0);
    ASSERT_LT(v, 3);  // the smaller of 7 and 3
    seen[v] = true;
  }
  EXPECT_TRUE(seen[0] && seen[1] && seen[2]);
  for (const int32_t v : t[1].values<int32_t>()) EXPECT_EQ(v, 1);
  for (const uint8_t v : t[2].values<uint8_t>()) EXPECT_EQ(v, 1);
  for (const float v : t[3].values<float>()) EXPECT_TRUE(v >= -1 && v < 1);
  const auto floats = t[3].values<float>();
  EXPECT_NE(floats[0], floats[1]);
}

// The axis may have a name whose size only --shape knows.
TEST(MakeInputs, AnIndexedAxisMayBeNamed) {
  GraphBuilder g;
  const Value data = g.input("data", DType::kF32, {"n", 2});
  const Value ids = g.input("ids", DType::kI64, {64});
  g.output(g.gather(data, ids, 0), "y");
  const Model model = model_of(std::move(g));
  InputOptions options;
  options.shapes = {"n=2"};
  auto made = make_inputs(model, options);
  ASSERT_TRUE(made.ok()) << made.error().text();
  int64_t most = 0;
  for (const int64_t v : (*made)[1].values<int64_t>()) most = std::max(most, v);
  EXPECT_EQ(most, 1);
}

TEST(MakeInputs, NamedConstantsAndSeeds) {
  GraphBuilder g;
  g.output(g.input("a", DType::kF16, {4}), "y0");
  g.output(g.input("b", DType::kI8, {4}), "y1");
  g.output(g.input("c", DType::kF64, {4}), "y2");
  const Model model = model_of(std::move(g));
  InputOptions options;
  options.inputs = {"a=ones", "b=zeros", "c=random:3"};
  auto made = make_inputs(model, options);
  ASSERT_TRUE(made.ok()) << made.error().text();
  for (const uint16_t v : (*made)[0].values<uint16_t>()) EXPECT_EQ(v, 0x3c00);
  for (const int8_t v : (*made)[1].values<int8_t>()) EXPECT_EQ(v, 0);
  auto again = make_inputs(model, options);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(std::memcmp((*made)[2].bytes(), (*again)[2].bytes(), (*made)[2].size_bytes()), 0);
  for (const char* bad : {"a=random:", "a=random:-1", "a=random:x", "a=two", "d=ones", "=ones", "a", ""}) {
    options.inputs = {bad};
    auto refused = make_inputs(model, options);
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument) << bad;
  }
}

struct Written {
  Model model;
  std::vector<Tensor> outputs;
};
Written two_outputs(const char* first, const char* second, DType dtype = DType::kF32) {
  GraphBuilder g;
  const Value x = g.input("x", dtype, {2, 3});
  g.output(x, first);
  g.output(x, second);
  Written w{model_of(std::move(g)), {}};
  for (int k = 0; k < 2; ++k) {
    w.outputs.push_back(Tensor::allocate(dtype, {2, 3}).value_or_throw());
    for (size_t i = 0; i < w.outputs.back().size_bytes(); ++i)
      w.outputs.back().bytes()[i] = static_cast<std::byte>(i + 1);
  }
  return w;
}

TEST(WriteOutputs, OneFileEachNamedAfterTheOutput) {
  fakes::MemoryFiles files;
  const Written w = two_outputs("head/logits", "y");
  ASSERT_TRUE(write_outputs(files, "/out", Format::kNpy, w.model, w.outputs).ok());
  auto back = read_npy(files, "/out/head_logits.npy");
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(back->shape(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::memcmp(back->bytes(), w.outputs[0].bytes(), back->size_bytes()), 0);
  EXPECT_TRUE(files.exists("/out/y.npy"));
}

TEST(WriteOutputs, ProtobufHoldsEveryType) {
  for (int t = 0; t <= static_cast<int>(DType::kBool); ++t) {
    const auto dtype = static_cast<DType>(t);
    fakes::MemoryFiles files;
    const Written w = two_outputs("a", "b", dtype);
    const Status s = write_outputs(files, "/out", Format::kPb, w.model, w.outputs);
    ASSERT_TRUE(s.ok()) << dtype_name(dtype) << s.error().text();
    const std::string bytes = files.read("/out/a.pb").value_or_throw();
    auto back =
        onnx::import_tensor({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), nullptr});
    ASSERT_TRUE(back.ok()) << dtype_name(dtype) << back.error().text();
    EXPECT_EQ(back->type.dtype, dtype);
    EXPECT_EQ(back->name, "a");
    ASSERT_EQ(back->data->size_bytes, w.outputs[0].size_bytes());
    if (dtype != DType::kBool) {
      EXPECT_EQ(std::memcmp(back->data->bytes, w.outputs[0].bytes(), back->data->size_bytes), 0);
    }
  }
}

TEST(WriteOutputs, NumpyHasNoBfloat) {
  fakes::MemoryFiles files;
  const Written w = two_outputs("a", "b", DType::kBF16);
  const Status s = write_outputs(files, "/out", Format::kNpy, w.model, w.outputs);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().code, Code::kUnsupported);
  EXPECT_NE(s.error().hint.find("pb"), std::string::npos);
}

TEST(WriteOutputs, TwoOfOneNameAreRefused) {
  fakes::MemoryFiles files;
  const Written w = two_outputs("a/b", "a_b");
  const Status s = write_outputs(files, "/out", Format::kNpy, w.model, w.outputs);
  ASSERT_FALSE(s.ok());
  EXPECT_NE(s.error().text().find("a_b.npy"), std::string::npos);
}

TEST(WriteOutputs, AFullDiskKeepsTheOldFile) {
  fakes::MemoryFiles disk;
  fakes::FaultyFiles files(disk);
  disk.put("/out/a.npy", "old");
  const Written w = two_outputs("a", "b");
  files.set_disk_bytes(100);
  const Status s = write_outputs(files, "/out", Format::kNpy, w.model, w.outputs);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().code, Code::kIo);
  EXPECT_NE(s.error().text().find("no space left"), std::string::npos);
  EXPECT_EQ(disk.read("/out/a.npy").value_or_throw(), "old");
}

}  // namespace
}  // namespace frit::tools
