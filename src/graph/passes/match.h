// What rules ask about operands: constants by value, broadcasts, shapes; and constants made from numbers.
//
// Shared by all rewriting passes. It reads graphs and makes constant bytes; it must not change nodes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "graph/ir.h"
#include "graph/passes/rewriter.h"
#include "graph/tensor.h"

namespace frit::graph {

// The constant's contents; none when the value is no constant, its shape is not constant, or its bytes are
// absent.
std::optional<HostTensor> constant_tensor(const Graph& graph, ValueId id);
// The one number that all elements of a constant are (bit for bit), also through Expand and Reshape. Only
// constants of at most 4,096 elements are looked at.
std::optional<double> splat_value(const Graph& graph, ValueId id);
bool is_splat(const Graph& graph, ValueId id, double number);  // +0 and -0 are told apart
// A constant of integers, or contents that shape rules found out.
std::optional<std::vector<int64_t>> constant_ints(const Graph& graph, ValueId id);

// One element of `dtype`: a number rounded or cut as Cast does.
std::shared_ptr<const ConstantData> make_splat(DType dtype, int64_t count, double number);
// A rank-0 constant.
ValueId add_scalar(Rewriter& r, DType dtype, double number);
// Element by element on one or two constants of at most 65,536 elements; the result has the type of `a`. In
// double, rounded once. `f` may refuse by returning none.
using MapOne = std::function<std::optional<double>(double)>;
using MapTwo = std::function<std::optional<double>(double, double)>;
std::optional<ValueId> map_constant(Rewriter& r, ValueId a, const MapOne& f);
// `a` and `b` broadcast against each other.
std::optional<ValueId> map_constants(Rewriter& r, ValueId a, ValueId b, const MapTwo& f);

// The ends of a rule: the node's first result is what was made, or is `x` (broadcast to the node's shape).
Result<bool> finish(Rewriter& r, NodeId id, Result<ValueId> made);
Result<bool> becomes(Rewriter& r, NodeId id, ValueId x);

// The same bytes under another shape with as many elements.
ValueId reshape_constant(Rewriter& r, ValueId constant, Shape shape);

// A binary op whose operands may change places, bit for bit. Not min and max: the sign of their zero may depend on the order.
bool commutes(const Op& op);
bool same_shape(const Rewriter& r, ValueId a, ValueId b);
bool has_one_element(const Shape& shape);
bool is_one(const Dim& dim);
std::optional<int64_t> constant_elements(const Shape& shape);
// Result of numpy broadcasting; none where two dimensions are not provably equal or 1.
std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b);

// A binary node with a constant on one side: which operand is which.
struct WithConstant {
  ValueId value, constant;
};
std::optional<WithConstant> match_constant_right(const Rewriter& r, const Node& node, BinaryOp op);

// A finite number whose magnitude is at least the dtype's smallest normal: safe against flushing.
bool is_normal_in(DType dtype, double number);
bool is_power_of_two(double number);

}  // namespace frit::graph
