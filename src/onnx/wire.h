// The ONNX protobuf messages as views: what a model file says, word for word, before any meaning is given to
// it.
//
// Every string, tensor payload and subgraph points into the bytes that were parsed, which must outlive the
// views. Nothing here knows Graph; import.cpp gives meaning. Unknown fields are skipped, lengths are 64-bit
// (no 2 GB limit), and malformed input is an Error that names the message and the byte where reading stopped.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frit/result.h"

namespace frit::onnx {

using Bytes = std::string_view;

struct KeyValue {
  Bytes key, value;
};

// TensorProto. A typed field may come in several pieces (packed or one element each); the pieces hold the
// wire's encoding: little-endian for float and double, varints for the others.
struct TensorView {
  Bytes name;
  int32_t data_type = 0;  // TensorProto.DataType
  std::vector<int64_t> dims;
  bool has_raw = false;
  Bytes raw;
  std::vector<Bytes> float_data, int32_data, string_data, int64_data, double_data, uint64_data;
  std::vector<KeyValue> external_data;
  bool external = false;   // data_location is EXTERNAL
  bool segmented = false;  // a `segment` field is present (never used by any exporter; refused)
};

enum class AttributeType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kType = 13,
  kTypes = 14,
};
const char* attribute_type_name(AttributeType type);

struct AttributeView {
  Bytes name;
  Bytes ref_attr_name;  // inside functions: the attribute of the call that is meant
  AttributeType type =
      AttributeType::kUndefined;  // filled in from the field that is present when the file has none
  float f = 0;
  int64_t i = 0;
  Bytes s;
  std::shared_ptr<const TensorView> t;
  Bytes g;  // a GraphProto, read by parse_graph
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<Bytes> strings;
};

struct NodeView {
  std::vector<Bytes> inputs, outputs;  // empty where an optional one is absent
  Bytes name, op_type, domain, overload;
  std::vector<AttributeView> attributes;
};

struct DimView {
  bool has_value = false;
  int64_t value = 0;
  Bytes param;  // empty when there is none
};

// TypeProto
struct TypeView {
  enum class Kind : uint8_t { kNone, kTensor, kSequence, kMap, kOptional, kSparseTensor, kOpaque };
  Kind kind = Kind::kNone;
  int32_t elem_type = 0;
  bool has_shape = false;
  std::vector<DimView> dims;
  Bytes element;  // of a sequence or optional: a TypeProto
};

struct ValueInfoView {
  Bytes name;
  TypeView type;
};

struct GraphView {
  Bytes name;
  std::vector<NodeView> nodes;
  std::vector<TensorView> initializers;
  bool has_sparse_initializer = false;
  std::vector<ValueInfoView> inputs, outputs, value_info;
};

struct OpsetView {
  Bytes domain;
  int64_t version = 0;
};

struct FunctionView {
  Bytes name, domain, overload;
  std::vector<Bytes> inputs, outputs;
  std::vector<Bytes> attributes;                  // required
  std::vector<AttributeView> default_attributes;  // with defaults
  std::vector<NodeView> nodes;
  std::vector<OpsetView> opsets;
};

struct ModelView {
  int64_t ir_version = 0;
  Bytes producer_name, producer_version;
  std::vector<OpsetView> opsets;
  bool has_graph = false;
  GraphView graph;
  std::vector<FunctionView> functions;
  std::vector<KeyValue> metadata;
};

Result<ModelView> parse_model(Bytes bytes);
Result<GraphView> parse_graph(Bytes bytes);
Result<TensorView> parse_tensor(Bytes bytes);

// Decodes the varints of a typed tensor field, at most `limit` of them (one more tells that there are too
// many).
Result<std::vector<uint64_t>> decode_varints(const std::vector<Bytes>& pieces, size_t limit);

}  // namespace frit::onnx
