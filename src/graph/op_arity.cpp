#include "graph/op_arity.h"

#include <type_traits>

namespace frit::graph {

Arity op_arity(const Op& op) {
  return std::visit(
      []<class T>(const T&) -> Arity {
        auto is = []<class... Ts>() { return (std::is_same_v<T, Ts> || ...); };
        if constexpr (is.template operator()<Iota>()) return {0, 0, 1, 1};
        if constexpr (is.template operator()<Binary, MatMul, Tile, Gather, GatherElements, GatherND>())
          return {2, 2, 1, 1};
        if constexpr (is.template operator()<Select, Range, ScatterElements, ScatterND>())
          return {3, 3, 1, 1};
        if constexpr (is.template operator()<TopK>()) return {2, 2, 2, 2};
        if constexpr (is.template operator()<Conv, ConvTranspose, Gemm>()) return {2, 3, 1, 1};
        if constexpr (is.template operator()<Reshape, Expand, Pad, Resize>()) return {1, 2, 1, 1};
        if constexpr (is.template operator()<DynamicSlice>()) return {3, 5, 1, 1};
        if constexpr (is.template operator()<DynamicPad>()) return {2, 4, 1, 1};
        if constexpr (is.template operator()<Concat>()) return {1, -1, 1, 1};
        if constexpr (is.template operator()<Fill>()) return {0, 1, 1, 1};
        if constexpr (is.template operator()<BatchNorm>()) return {5, 5, 1, 1};
        if constexpr (is.template operator()<LayerNorm>()) return {2, 3, 1, 3};
        if constexpr (is.template operator()<Clip>()) return {1, 3, 1, 1};
        if constexpr (is.template operator()<Split>()) return {1, 2, 1, -1};
        if constexpr (is.template operator()<Lstm>()) return {3, 8, 1, 3};
        return {1, 1, 1, 1};
      },
      op);
}

}  // namespace frit::graph
