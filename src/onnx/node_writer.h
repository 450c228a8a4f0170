// NodeWriter: one graph node while it is spelled in ONNX: names of its values, and the means to write nodes
// for it.
//
// Private to src/onnx. export_ops.cpp says what each op becomes, export.cpp assembles the model.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "frit/result.h"
#include "graph/ir.h"
#include "onnx/writer.h"

namespace frit::onnx {

using Names = std::vector<std::string>;
struct Attribute {
  std::string name;
  std::variant<int64_t, float, std::string, std::vector<int64_t>, Names> value;
};
using Attributes = std::vector<Attribute>;
// The AttributeProto.
MessageWriter attribute_message(const Attribute& attribute);

class NodeWriter {
 public:
  // `values` names every value of the graph; `out` is the GraphProto under construction.
  NodeWriter(const graph::Graph& graph, const Names& values, MessageWriter& out, int64_t& counter)
      : graph_(graph), values_(values), out_(out), counter_(counter) {}

  const graph::Graph& graph() const { return graph_; }
  const graph::Node& node() const { return *node_; }
  void start(const graph::Node& node) { node_ = &node; }

  bool has(size_t i) const { return i < node_->inputs.size() && node_->inputs[i] != graph::kNoValue; }
  const graph::TensorType& type(size_t i) const { return graph_.value(node_->inputs[i]).type; }
  const graph::TensorType& out_type(size_t i = 0) const { return graph_.value(node_->outputs[i]).type; }
  std::string in(size_t i) const { return has(i) ? name_of(node_->inputs[i]) : std::string(); }
  Names ins() const;
  Names outs() const;
  std::string name_of(graph::ValueId id) const { return values_[static_cast<size_t>(id)]; }

  // Writes a node with given outputs, or with a fresh one, whose name it returns.
  void write(std::string_view op, const Names& inputs, const Names& outputs,
             const Attributes& attributes = {});
  std::string temp(std::string_view op, const Names& inputs, const Attributes& attributes = {});
  // The usual case: from `inputs` to the node's own outputs.
  void finish(std::string_view op, const Names& inputs, const Attributes& attributes = {}) {
    write(op, inputs, outs(), attributes);
  }

  // Initializers; each returns a fresh name.
  std::string ints(const std::vector<int64_t>& values);
  std::string floats(const std::vector<float>& values);
  // A tensor of one element of that type with the given little-endian bits.
  MessageWriter bits_tensor(DType dtype, uint64_t bits, bool scalar) const;
  std::string bits(DType dtype, uint64_t bits);

 private:
  std::string fresh(const char* hint);

  const graph::Graph& graph_;
  const Names& values_;
  MessageWriter& out_;
  int64_t& counter_;
  const graph::Node* node_ = nullptr;
};

// Writes what `w.node()` means.
Status export_node(NodeWriter& w);

}  // namespace frit::onnx
