// Graph: values and nodes with dense ids. The first of frit's two IRs: what to compute, not how.
//
// Sits between the ONNX importer (or the builder of the public API) and fusion, which cuts it into Groups that are
// Graphs again. It must not know loops, devices or kernels. Values are numbered by position; names are debug data and
// never enter the canonical text, equality or any key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frit/dtype.h"
#include "graph/dim.h"
#include "graph/op.h"

namespace frit::base {
class MappedFile;
}

namespace frit::graph {

using ValueId = int32_t;
using NodeId = int32_t;
constexpr ValueId kNoValue = -1;  // an optional input that is absent
constexpr NodeId kNoNode = -1;

// The physical order of a tensor's elements. Empty: row-major (plain). Otherwise order[k] is the logical axis that is
// stored at physical position k, outermost first: channels-last of [N,C,H,W] is {0,2,3,1}.
struct Layout {
  std::vector<int64_t> order;
  bool is_plain() const { return order.empty(); }
  auto operator<=>(const Layout&) const = default;
};

struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;
  Layout layout;
  bool operator==(const TensorType&) const = default;
};
std::string type_text(const TensorType& type);  // "f32[1,seq,768]", with "@0231" for a layout that is not plain

// Bytes of a constant, row-major, little-endian, at any address. They may point into a mapped file, kept alive by `owner`; `origin`
// says where they can be had again (file, offset), so that originals may be dropped after packing.
struct ConstantData {
  const std::byte* bytes = nullptr;
  size_t size_bytes = 0;
  std::shared_ptr<const void> owner;
  std::string origin_file;
  uint64_t origin_offset = 0;
  const base::MappedFile* mapped = nullptr;  // the file that `bytes` are pages of, if any; kept alive by `owner`
  std::string name;  // the initializer's name; debug data
};

struct Value {
  TensorType type;
  std::string name;             // debug data
  NodeId producer = kNoNode;    // kNoNode for graph inputs and constants
  int32_t output_index = 0;     // which output of the producer
  std::shared_ptr<const ConstantData> constant;  // set for constants only
  // Contents of a small integer tensor as far as shape rules know them (row-major), else empty optional.
  std::optional<std::vector<Dim>> known;
  bool is_constant() const { return constant != nullptr; }
};

struct Node {
  Op op;
  std::vector<ValueId> inputs;   // kNoValue where an optional input is absent
  std::vector<ValueId> outputs;
  std::string name;              // debug data: the ONNX node's name
  std::string source_op;         // debug data: the ONNX operator's type, for messages
  bool dead = false;             // removed by a pass, dropped by compact()
};

struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;       // in topological order (verified)
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  // What the model's user calls the outputs, parallel to them, or empty (debug data, but for the API): one value may be
  // several outputs, or an input too, so a value's own name cannot say it. Passes keep positions, so they keep these.
  std::vector<std::string> output_names;
  std::string name;              // debug data

  ValueId add_value(TensorType type, std::string name = {});
  ValueId add_input(TensorType type, std::string name = {});
  ValueId add_constant(TensorType type, std::shared_ptr<const ConstantData> data, std::string name = {});
  // Appends a node whose outputs are new values of the given types.
  NodeId add_node(Op op, std::vector<ValueId> inputs, std::vector<TensorType> output_types, std::string name = {});
  // The common case of one output; returns it.
  ValueId add(Op op, std::vector<ValueId> inputs, TensorType type, std::string name = {});

  const Value& value(ValueId id) const { return values[static_cast<size_t>(id)]; }
  Value& value(ValueId id) { return values[static_cast<size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes[static_cast<size_t>(id)]; }
  Node& node(NodeId id) { return nodes[static_cast<size_t>(id)]; }
};

// Constants that own their bytes.
std::shared_ptr<const ConstantData> make_constant(std::vector<std::byte> bytes, std::string name = {});
template <class T>
std::shared_ptr<const ConstantData> make_constant_of(const std::vector<T>& values, std::string name = {}) {
  const auto* first = reinterpret_cast<const std::byte*>(values.data());
  return make_constant(std::vector<std::byte>(first, first + values.size() * sizeof(T)), std::move(name));
}

// Consumers of each value, as (node, input position) pairs; rebuilt by whoever needs it after a change.
struct Use { NodeId node; int32_t input; };
std::vector<std::vector<Use>> collect_uses(const Graph& graph);

// Replaces every use of `from` (as an input and as a graph output) by `to`.
void replace_uses(Graph& graph, ValueId from, ValueId to);

// Drops dead nodes and values nobody mentions, sorts nodes topologically (stable), renumbers densely.
void compact(Graph& graph);

// Fills in what compact() keeps: FLOPs (2 per multiply-add; 1 per pointwise op) and bytes (inputs + outputs) of a
// node with constant shapes; 0 where a dimension is not constant.
struct NodeCost { double flops = 0; double bytes = 0; };
NodeCost node_cost(const Graph& graph, const Node& node);

}  // namespace frit::graph
