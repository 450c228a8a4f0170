// NodeContext: one ONNX node while it is imported: its inputs and attributes, and the means to emit graph
// nodes for it.
//
// Private to src/onnx. Errors stick: after the first fail(), emitting does nothing and yields kNoValue, so
// importers read as formulas; the caller asks failed() at the end. All getters are safe on kNoValue.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frit/result.h"
#include "graph/ir.h"
#include "onnx/constants.h"
#include "onnx/ops_table.h"
#include "onnx/wire.h"

namespace frit::onnx {

using graph::BinaryOp;
using graph::Dim;
using graph::kNoValue;
using graph::Op;
using graph::ReduceOp;
using graph::Shape;
using graph::TensorType;
using graph::UnaryOp;
using graph::ValueId;
using Ints = std::vector<int64_t>;

// Whether a tensor could exist: no negative dimension, and the known ones multiply to less than 2^48.
bool has_sane_size(const TensorType& type);

class NodeContext {
 public:
  struct Env {
    graph::Graph& graph;
    const Source& model;
    ExternalFiles& external;
  };
  NodeContext(Env env, const NodeView& node, const OpRow& row, std::vector<ValueId> inputs)
      : env_(env),
        node_(node),
        row_(row),
        inputs_(std::move(inputs)),
        outputs_(node.outputs.size(), kNoValue) {}

  // ---- the node ----
  int since() const { return row_.since; }  // the opset of the definition in force
  std::string_view op_type() const { return node_.op_type; }
  size_t input_count() const { return inputs_.size(); }
  ValueId in(size_t i) const { return i < inputs_.size() ? inputs_[i] : kNoValue; }
  bool has(size_t i) const { return in(i) != kNoValue; }
  size_t output_count() const { return outputs_.size(); }
  bool wants(size_t i) const { return i < outputs_.size() && !node_.outputs[i].empty(); }
  void out(size_t i, ValueId value);
  const std::vector<ValueId>& outputs() const { return outputs_; }

  // ---- attributes (their names and types were checked against the table) ----
  const AttributeView* attr(std::string_view name) const;
  bool has_attr(std::string_view name) const { return attr(name) != nullptr; }
  int64_t attr_int(std::string_view name, int64_t fallback) const;
  float attr_float(std::string_view name, float fallback) const;
  std::string attr_string(std::string_view name, std::string_view fallback) const;
  Ints attr_ints(std::string_view name) const;  // empty when absent
  ValueId attr_tensor(std::string_view name);   // as a constant

  // ---- facts ----
  const TensorType& type(ValueId v) const;
  DType dtype(ValueId v) const { return type(v).dtype; }
  const Shape& shape(ValueId v) const { return type(v).shape; }
  int64_t rank(ValueId v) const { return static_cast<int64_t>(shape(v).size()); }
  Dim dim(ValueId v, int64_t axis) const;
  // The elements of an integer (or bool) tensor whose contents are known now, by constant or by shape rules.
  std::optional<Ints> ints(ValueId v) const;
  std::optional<std::vector<Dim>> dims(ValueId v) const;  // the same where some are symbolic
  // A constant's bytes, and its elements as numbers whatever their type.
  std::span<const std::byte> constant_bytes(ValueId v) const;
  std::optional<std::vector<double>> numbers(ValueId v) const;

  // ---- checks that fail() ----
  // Normalises a possibly negative axis; `what` names it in the message.
  int64_t axis(int64_t value, int64_t rank, const char* what = "axis");
  // Normalised, sorted, unique.
  Ints axes(Ints values, int64_t rank);
  // An integer input that must be known while loading.
  Ints known_ints(size_t input, const char* what);
  int64_t known_dim(ValueId v, int64_t axis, const char* why);
  bool expect_rank(ValueId v, int64_t least, int64_t most, const char* what);
  void fail(std::string message, Code code = Code::kBadModel);
  void unsupported(std::string message) { fail(std::move(message), Code::kUnsupported); }
  bool failed() const { return error_.has_value(); }
  Error take_error() { return *std::move(error_); }

  // ---- emitting ----
  // Types by graph::infer.
  ValueId emit(Op op, std::vector<ValueId> inputs);
  std::vector<ValueId> emit_many(Op op, std::vector<ValueId> inputs, size_t outputs);
  // For ops whose output shape is their own (Reshape without a shape input, Slice, Iota ...).
  ValueId emit_as(Op op, std::vector<ValueId> inputs, TensorType type);
  ValueId emit_fill(uint64_t bits, DType dtype, ValueId shape);

  ValueId unary(UnaryOp op, ValueId x) { return emit(graph::Unary{op}, {x}); }
  ValueId binary(BinaryOp op, ValueId a, ValueId b) { return emit(graph::Binary{op}, {a, b}); }
  ValueId add(ValueId a, ValueId b) { return binary(BinaryOp::kAdd, a, b); }
  ValueId sub(ValueId a, ValueId b) { return binary(BinaryOp::kSub, a, b); }
  ValueId mul(ValueId a, ValueId b) { return binary(BinaryOp::kMul, a, b); }
  ValueId div(ValueId a, ValueId b) { return binary(BinaryOp::kDiv, a, b); }
  ValueId select(ValueId condition, ValueId yes, ValueId no) {
    return emit(graph::Select{}, {condition, yes, no});
  }
  ValueId cast(ValueId x, DType to);  // x itself when it has that type
  ValueId reduce(ReduceOp op, ValueId x, Ints axes, bool keepdims);
  ValueId transpose(ValueId x, Ints perm);
  ValueId reshape(ValueId x, Shape shape);         // x itself when it has that shape
  ValueId unsqueeze(ValueId x, const Ints& axes);  // axes of the result, sorted
  ValueId squeeze(ValueId x, const Ints& axes);    // axes of x, sorted
  ValueId slice(ValueId x, int64_t axis, int64_t start, Dim size);

  // Constants. scalar(): rank 0, of the type of `like`, so that it broadcasts.
  ValueId constant(TensorType type, std::shared_ptr<const graph::ConstantData> data);
  ValueId scalar(DType dtype, double value);
  ValueId scalar_like(ValueId like, double value) { return scalar(dtype(like), value); }
  ValueId ints_constant(const Ints& values);  // i64[n]
  ValueId floats_constant(const std::vector<float>& values, Shape shape);

 private:
  std::vector<ValueId> append(Op op, std::vector<ValueId> inputs, std::vector<TensorType> declared);

  Env env_;
  const NodeView& node_;
  const OpRow& row_;
  std::vector<ValueId> inputs_, outputs_;
  std::optional<Error> error_;
  TensorType nothing_;  // what kNoValue is
};

}  // namespace frit::onnx
