// node_cost: the arithmetic and traffic of one node, for reports and the roofline.
#include <type_traits>

#include "graph/ir.h"

namespace frit::graph {
namespace {

// Elements of a value; 0 where a dimension is not constant. In double: hostile sizes must not overflow.
double elements(const Graph& graph, ValueId id) {
  if (id == kNoValue) return 0;
  double count = 1;
  for (const Dim& d : graph.value(id).type.shape) {
    const auto n = d.constant();
    if (!n || *n < 0) return 0;
    count *= static_cast<double>(*n);
  }
  return count;
}

double last_dim(const Graph& graph, ValueId id, size_t from_end) {
  const Shape& shape = graph.value(id).type.shape;
  if (shape.size() <= from_end) return 0;
  return static_cast<double>(shape[shape.size() - 1 - from_end].constant().value_or(0));
}

double flops(const Graph& graph, const Node& node) {
  const double out = node.outputs.empty() ? 0 : elements(graph, node.outputs[0]);
  auto in = [&](size_t i) { return i < node.inputs.size() ? elements(graph, node.inputs[i]) : 0; };
  auto leading = [&](size_t i) {  // shape[0] of an operand
    const Shape& shape = graph.value(node.inputs[i]).type.shape;
    return shape.empty() ? 0.0 : static_cast<double>(shape[0].constant().value_or(0));
  };
  return std::visit(
      [&]<class T>(const T& op) -> double {
        if constexpr (std::is_same_v<T, Unary> || std::is_same_v<T, Binary> || std::is_same_v<T, Select> ||
                      std::is_same_v<T, Cast> || std::is_same_v<T, HardSigmoid> ||
                      std::is_same_v<T, HardSwish> || std::is_same_v<T, LeakyRelu> ||
                      std::is_same_v<T, Clip> || std::is_same_v<T, Gelu>) {
          return out;
        } else if constexpr (std::is_same_v<T, Reduce> || std::is_same_v<T, ArgReduce> ||
                             std::is_same_v<T, CumSum> || std::is_same_v<T, TopK>) {
          return in(0);
        } else if constexpr (std::is_same_v<T, MatMul>) {
          return 2 * out * last_dim(graph, node.inputs[0], 0);
        } else if constexpr (std::is_same_v<T, Gemm>) {
          return 2 * out * last_dim(graph, node.inputs[0], op.trans_a ? 1 : 0);
        } else if constexpr (std::is_same_v<T, Conv>) {
          return leading(1) > 0 ? 2 * out * in(1) / leading(1) : 0;  // weight per output channel
        } else if constexpr (std::is_same_v<T, ConvTranspose>) {
          return leading(1) > 0 ? 2 * in(0) * in(1) / leading(1) : 0;  // weight per input channel
        } else if constexpr (std::is_same_v<T, Pool>) {
          double window = 1;
          for (int64_t k : op.kernel) window *= static_cast<double>(k);
          return out * window;
        } else if constexpr (std::is_same_v<T, BatchNorm>) {
          return 2 * out;
        } else if constexpr (std::is_same_v<T, LayerNorm>) {
          return 8 * in(0);  // mean, difference, square, sum, scale by 1/std, scale, shift
        } else if constexpr (std::is_same_v<T, Softmax>) {
          return 5 * in(0);  // max, difference, exp, sum, division
        } else if constexpr (std::is_same_v<T, Lstm>) {
          // Per step and direction: the products with W and R, then the gates.
          const double steps = in(0) > 0 ? leading(0) * last_dim(graph, node.inputs[0], 1) : 0;
          return steps * 2 * (in(1) + in(2));
        } else {
          return 0;
        }
      },
      node.op);
}

}  // namespace

NodeCost node_cost(const Graph& graph, const Node& node) {
  NodeCost cost;
  cost.flops = flops(graph, node);
  auto add_bytes = [&](ValueId id) {
    if (id != kNoValue)
      cost.bytes += elements(graph, id) * static_cast<double>(dtype_bytes(graph.value(id).type.dtype));
  };
  for (ValueId id : node.inputs) add_bytes(id);
  for (ValueId id : node.outputs) add_bytes(id);
  return cost;
}

}  // namespace frit::graph
