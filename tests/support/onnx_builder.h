// Small ONNX models for tests, written field by field; also malformed ones, since nothing is checked here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "onnx/node_writer.h"
#include "onnx/writer.h"

namespace frit::test {

// TensorProto.DataType
enum OnnxType : int64_t {
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kBfloat16 = 16,
  kFloat8 = 17,
};

class OnnxBuilder {
 public:
  explicit OnnxBuilder(int64_t opset = 17) : opset_(opset) {}

  // Dimensions: numbers, or names of sizes; "?" is a dimension without a name.
  OnnxBuilder& input(const std::string& name, int64_t type, const std::vector<std::string>& dims) {
    graph_.message(11, value_info(name, type, dims));
    return *this;
  }
  OnnxBuilder& output(const std::string& name) {
    onnx::MessageWriter info;
    info.text(1, name);
    graph_.message(12, std::move(info));
    return *this;
  }
  OnnxBuilder& output(const std::string& name, int64_t type, const std::vector<std::string>& dims) {
    graph_.message(12, value_info(name, type, dims));
    return *this;
  }
  OnnxBuilder& node(const std::string& op, const onnx::Names& inputs, const onnx::Names& outputs,
                    const onnx::Attributes& attributes = {}, const std::string& name = "n",
                    const std::string& domain = "") {
    onnx::MessageWriter m;
    for (const auto& i : inputs) m.text(1, i);
    for (const auto& o : outputs) m.text(2, o);
    if (!name.empty()) m.text(3, name);
    m.text(4, op);
    if (!domain.empty()) m.text(7, domain);
    for (const auto& a : attributes) m.message(5, onnx::attribute_message(a));
    graph_.message(1, std::move(m));
    return *this;
  }
  OnnxBuilder& initializer(onnx::MessageWriter tensor) {
    graph_.message(5, std::move(tensor));
    return *this;
  }
  OnnxBuilder& ints(const std::string& name, const std::vector<int64_t>& values) {
    return initializer(tensor(name, kInt64, {static_cast<int64_t>(values.size())}, values));
  }
  OnnxBuilder& floats(const std::string& name, const std::vector<int64_t>& dims,
                      const std::vector<float>& values) {
    return initializer(tensor(name, kFloat, dims, values));
  }
  OnnxBuilder& function(onnx::MessageWriter f) {
    functions_.push_back(f.joined());
    return *this;
  }

  std::string bytes() const {
    onnx::MessageWriter model, opset;
    opset.text(1, "");
    opset.integer(2, opset_);
    model.integer(1, 8);
    model.payload(7, graph_bytes_ = graph_.joined());
    model.message(8, std::move(opset));
    for (const std::string& f : functions_) model.payload(25, f);
    return model.joined();
  }

  // A TensorProto with raw data.
  template <class T>
  static onnx::MessageWriter tensor(const std::string& name, int64_t type, const std::vector<int64_t>& dims,
                                    const std::vector<T>& values) {
    onnx::MessageWriter m = header(name, type, dims);
    m.text(9, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
    return m;
  }
  static onnx::MessageWriter header(const std::string& name, int64_t type, const std::vector<int64_t>& dims) {
    onnx::MessageWriter m;
    for (int64_t d : dims) m.integer(1, d);
    m.integer(2, type);
    m.text(8, name);
    return m;
  }
  static onnx::MessageWriter external(const std::string& name, int64_t type, const std::vector<int64_t>& dims,
                                      const std::vector<std::pair<std::string, std::string>>& entries) {
    onnx::MessageWriter m = header(name, type, dims);
    for (const auto& [key, value] : entries) {
      onnx::MessageWriter e;
      e.text(1, key);
      e.text(2, value);
      m.message(13, std::move(e));
    }
    m.integer(14, 1);
    return m;
  }

 private:
  static onnx::MessageWriter value_info(const std::string& name, int64_t type,
                                        const std::vector<std::string>& dims) {
    onnx::MessageWriter shape, tensor, kind, info;
    for (const std::string& dim : dims) {
      onnx::MessageWriter d;
      const bool number = !dim.empty() && (dim[0] == '-' || (dim[0] >= '0' && dim[0] <= '9'));
      if (number) d.integer(1, std::stoll(dim));
      if (!number && dim != "?") d.text(2, dim);
      shape.message(1, std::move(d));
    }
    tensor.integer(1, type);
    tensor.message(2, std::move(shape));
    kind.message(1, std::move(tensor));
    info.text(1, name);
    info.message(2, std::move(kind));
    return info;
  }

  int64_t opset_;
  onnx::MessageWriter graph_;
  std::vector<std::string> functions_;
  mutable std::string graph_bytes_;  // what bytes() points into
};

}  // namespace frit::test
