// Shape and type rules: what each node's outputs are, with symbolic dimensions.
//
// Used by the importer and the graph builder node by node (add_inferred), by passes after a rewrite, and for
// the whole graph when sizes are bound. Next to types it follows the contents of small integer tensors
// (Value::known), which is how shapes that a model computes (Shape -> Gather -> Concat -> Reshape) become
// known. A dimension that depends on data is a fresh symbol "?7". It must not know what evaluates the nodes.
//
// Two dimensions that must agree but are not the same expression (a symbol against a constant) are assumed to
// be equal at run time: the constant wins. For broadcasting a symbol against a symbol gives their maximum.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/ir.h"

namespace frit::graph {

struct InferredValue {
  TensorType type;
  std::optional<std::vector<Dim>> known;
};

// The outputs of a node, one per entry of node.outputs. What the op and its inputs do not say is read from
// the present types of node.outputs: the shape of Slice, Iota, and of Reshape, Expand, Fill, Resize without
// their shape input, the dtype of Fill, and dimensions that depend on data. Messages are without the node's
// name; callers add node_label().
Result<std::vector<InferredValue>> infer_node(const Graph& graph, const Node& node);
Result<std::vector<TensorType>> infer_types(const Graph& graph, const Node& node);

// Recomputes the types and known contents of everything but inputs and constants (layouts stay). Errors name
// the node.
Status infer_all(Graph& graph);

// Replaces symbols by sizes in types, known contents and Slice starts, then infers again. Names that do not
// occur are ignored; a negative size is an error.
Status bind_sizes(Graph& graph, const std::map<std::string, int64_t>& sizes);

// Appends a node and infers its outputs; on an error the graph is as before. `declared` gives the number of
// outputs, and for the ops named at infer_node the types they need; plain TensorType{} elsewhere.
Result<NodeId> add_inferred(Graph& graph, Op op, std::vector<ValueId> inputs,
                            std::vector<TensorType> declared = {TensorType{}}, std::string name = {},
                            std::string source_op = {});

// node "Conv_12" (Conv)
std::string node_label(const Node& node);

// The contents of a small integer tensor (integer or boolean dtype, or a float one whose elements are whole
// numbers), row-major, as far as they are known: a constant's, or Value::known. They serve shape rules;
// for floats they do not tell -0 from 0.
std::optional<std::vector<Dim>> known_contents(const Graph& graph, ValueId id);
constexpr size_t kMaxKnownElements = 256;

// One axis of ONNX Slice: where it starts and how many elements it takes, after clamping; none when the signs
// of symbolic bounds cannot be told. step must not be 0.
struct SliceBounds {
  Dim start, size;
};
std::optional<SliceBounds> slice_bounds(const Dim& dim, const Dim& start, const Dim& end, int64_t step);

}  // namespace frit::graph
