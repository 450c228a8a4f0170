#include "onnx/node_writer.h"

#include <cstring>

#include "base/text.h"
#include "onnx/dtypes.h"
#include "onnx/wire.h"

namespace frit::onnx {
namespace {

template <class T>
std::string_view raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace

MessageWriter attribute_message(const Attribute& attribute) {
  MessageWriter m;
  m.text(1, attribute.name);
  const auto type = [&](AttributeType t) { m.integer(20, static_cast<int64_t>(t)); };
  if (const auto* i = std::get_if<int64_t>(&attribute.value)) {
    m.integer(3, *i);
    type(AttributeType::kInt);
  } else if (const auto* f = std::get_if<float>(&attribute.value)) {
    m.float32(2, *f);
    type(AttributeType::kFloat);
  } else if (const auto* s = std::get_if<std::string>(&attribute.value)) {
    m.text(4, *s);
    type(AttributeType::kString);
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&attribute.value)) {
    for (int64_t v : *ints) m.integer(8, v);
    type(AttributeType::kInts);
  } else {
    for (const std::string& text : std::get<Names>(attribute.value)) m.text(9, text);
    type(AttributeType::kStrings);
  }
  return m;
}

Names NodeWriter::ins() const {
  Names names;
  for (size_t i = 0; i < node_->inputs.size(); ++i) names.push_back(in(i));
  return names;
}
Names NodeWriter::outs() const {
  Names names;
  for (graph::ValueId id : node_->outputs)
    names.push_back(id == graph::kNoValue ? std::string() : name_of(id));
  return names;
}

std::string NodeWriter::fresh(const char* hint) { return base::text_of("frit.", hint, ".", counter_++); }

void NodeWriter::write(std::string_view op, const Names& inputs, const Names& outputs,
                       const Attributes& attributes) {
  MessageWriter m;
  size_t count = inputs.size();
  while (count > 0 && inputs[count - 1].empty()) --count;  // absent ones at the end need not be said
  for (size_t i = 0; i < count; ++i) m.text(1, inputs[i]);
  for (const std::string& name : outputs) m.text(2, name);
  if (node_ != nullptr && !node_->name.empty()) m.text(3, node_->name);
  m.text(4, op);
  for (const Attribute& a : attributes) m.message(5, attribute_message(a));
  out_.message(1, std::move(m));
}

std::string NodeWriter::temp(std::string_view op, const Names& inputs, const Attributes& attributes) {
  std::string name = fresh("t");
  write(op, inputs, {name}, attributes);
  return name;
}

std::string NodeWriter::ints(const std::vector<int64_t>& values) {
  MessageWriter m;
  std::string name = fresh("ints");
  m.integer(1, static_cast<int64_t>(values.size()));
  m.integer(2, dtype_to_onnx(DType::kI64));
  m.text(8, name);
  m.text(9, raw(values));
  out_.message(5, std::move(m));
  return name;
}

std::string NodeWriter::floats(const std::vector<float>& values) {
  MessageWriter m;
  std::string name = fresh("floats");
  m.integer(1, static_cast<int64_t>(values.size()));
  m.integer(2, dtype_to_onnx(DType::kF32));
  m.text(8, name);
  m.text(9, raw(values));
  out_.message(5, std::move(m));
  return name;
}

MessageWriter NodeWriter::bits_tensor(DType dtype, uint64_t bits, bool scalar) const {
  MessageWriter m;
  char bytes[sizeof bits];
  std::memcpy(bytes, &bits, sizeof bits);
  if (!scalar) m.integer(1, 1);
  m.integer(2, dtype_to_onnx(dtype));
  m.text(9, {bytes, dtype_bytes(dtype)});
  return m;
}

std::string NodeWriter::bits(DType dtype, uint64_t bits) {
  MessageWriter m = bits_tensor(dtype, bits, true);
  std::string name = fresh("scalar");
  m.text(8, name);
  out_.message(5, std::move(m));
  return name;
}

}  // namespace frit::onnx
