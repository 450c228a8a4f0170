#include "graph/op.h"

#include <tuple>
#include <type_traits>

#include "graph/op_fields.h"

namespace frit::graph {

bool Slice::operator<(const Slice& o) const { return std::tie(starts, steps) < std::tie(o.starts, o.steps); }

std::string op_name(const Op& op) {
  std::string name(kOpBaseNames[op.index()]);
  std::visit(
      [&name](const auto& o) {
        if constexpr (requires { o.op; }) name += "." + std::string(enum_name(o.op));
      },
      op);
  return name;
}

bool is_composite(const Op& op) {
  return std::visit(
      []<class T>(const T&) {
        return std::is_same_v<T, BatchNorm> || std::is_same_v<T, LayerNorm> || std::is_same_v<T, Softmax> ||
               std::is_same_v<T, Gelu> || std::is_same_v<T, Gemm> || std::is_same_v<T, HardSigmoid> ||
               std::is_same_v<T, HardSwish> || std::is_same_v<T, LeakyRelu> || std::is_same_v<T, Clip> ||
               std::is_same_v<T, Split>;
      },
      op);
}

bool is_pointwise(const Op& op) {
  return std::holds_alternative<Unary>(op) || std::holds_alternative<Binary>(op) ||
         std::holds_alternative<Select>(op) || std::holds_alternative<Cast>(op);
}

bool is_view_like(const Op& op) {
  return std::holds_alternative<Reshape>(op) || std::holds_alternative<Transpose>(op) ||
         std::holds_alternative<Expand>(op) || std::holds_alternative<Slice>(op);
}

}  // namespace frit::graph
