// The fields of every op, by name, and the spelling of every enum: the one list from which the canonical text
// (both directions), names and hashes are made. A new op adds one branch to for_each_field and one
// name to kOpBaseNames.
#pragma once

#include <array>
#include <string_view>

#include "graph/op.h"

namespace frit::graph {

template <class E>
struct EnumNames;  // names in the order of the enumerators

template <>
struct EnumNames<UnaryOp> {
  static constexpr std::array<std::string_view, 29> kNames = {
      "neg",  "abs",  "sign", "not",   "bitnot",  "floor", "ceil",  "round", "sqrt", "recip",
      "exp",  "log",  "erf",  "tanh",  "sigmoid", "sin",   "cos",   "tan",   "asin", "acos",
      "atan", "sinh", "cosh", "asinh", "acosh",   "atanh", "isnan", "isinf", "relu"};
};
template <>
struct EnumNames<BinaryOp> {
  static constexpr std::array<std::string_view, 23> kNames = {
      "add",    "sub",   "mul",    "div", "pow", "min", "max", "modfloor", "modtrunc", "and", "or", "xor",
      "bitand", "bitor", "bitxor", "shl", "shr", "eq",  "ne",  "lt",       "le",       "gt",  "ge"};
};
template <>
struct EnumNames<ReduceOp> {
  static constexpr std::array<std::string_view, 5> kNames = {"sum", "mean", "max", "min", "prod"};
};
template <>
struct EnumNames<PoolOp> {
  static constexpr std::array<std::string_view, 2> kNames = {"max", "avg"};
};
template <>
struct EnumNames<PadMode> {
  static constexpr std::array<std::string_view, 4> kNames = {"constant", "reflect", "edge", "wrap"};
};
template <>
struct EnumNames<ScatterOp> {
  static constexpr std::array<std::string_view, 5> kNames = {"none", "add", "mul", "max", "min"};
};
template <>
struct EnumNames<ResizeMode> {
  static constexpr std::array<std::string_view, 3> kNames = {"nearest", "linear", "cubic"};
};
template <>
struct EnumNames<ResizeCoord> {
  static constexpr std::array<std::string_view, 6> kNames = {"half_pixel",           "pytorch_half_pixel",
                                                             "align_corners",        "asymmetric",
                                                             "half_pixel_symmetric", "tf_crop_and_resize"};
};
template <>
struct EnumNames<ResizeNearest> {
  static constexpr std::array<std::string_view, 4> kNames = {"round_prefer_floor", "round_prefer_ceil",
                                                             "floor", "ceil"};
};
template <>
struct EnumNames<Direction> {
  static constexpr std::array<std::string_view, 3> kNames = {"forward", "reverse", "bidirectional"};
};
template <>
struct EnumNames<DType> {
  static constexpr std::array<std::string_view, 13> kNames = {
      "f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"};
};

template <class E>
constexpr std::string_view enum_name(E e) {
  const auto i = static_cast<size_t>(e);
  return i < EnumNames<E>::kNames.size() ? EnumNames<E>::kNames[i] : std::string_view("invalid");
}

// for_each_field(op, f) calls f("name", field) in order. The enum that op_name() carries as a suffix
// (unary.exp) is not a field here. `Op` may be const.
template <class O, class F>
void for_each_field(O& o, F&& f) {
  using T = std::remove_const_t<O>;
  if constexpr (std::is_same_v<T, Cast>) {
    f("to", o.to);
  } else if constexpr (std::is_same_v<T, Reduce>) {
    f("axes", o.axes), f("keepdims", o.keepdims);
  } else if constexpr (std::is_same_v<T, ArgReduce>) {
    f("max", o.max), f("axis", o.axis), f("keepdims", o.keepdims), f("select_last", o.select_last);
  } else if constexpr (std::is_same_v<T, CumSum>) {
    f("axis", o.axis), f("exclusive", o.exclusive), f("reverse", o.reverse);
  } else if constexpr (std::is_same_v<T, TopK>) {
    f("axis", o.axis), f("largest", o.largest), f("sorted", o.sorted);
  } else if constexpr (std::is_same_v<T, Conv>) {
    f("strides", o.strides), f("pads", o.pads), f("dilations", o.dilations), f("groups", o.groups);
  } else if constexpr (std::is_same_v<T, ConvTranspose>) {
    f("strides", o.strides), f("pads", o.pads), f("dilations", o.dilations),
        f("output_padding", o.output_padding), f("groups", o.groups);
  } else if constexpr (std::is_same_v<T, Pool>) {
    f("kernel", o.kernel), f("strides", o.strides), f("pads", o.pads), f("dilations", o.dilations),
        f("ceil_mode", o.ceil_mode), f("count_include_pad", o.count_include_pad);
  } else if constexpr (std::is_same_v<T, Reshape>) {
    f("allowzero", o.allowzero);
  } else if constexpr (std::is_same_v<T, Transpose>) {
    f("perm", o.perm);
  } else if constexpr (std::is_same_v<T, Slice>) {
    f("starts", o.starts), f("steps", o.steps);
  } else if constexpr (std::is_same_v<T, Concat> || std::is_same_v<T, Gather> ||
                       std::is_same_v<T, GatherElements> || std::is_same_v<T, Iota> ||
                       std::is_same_v<T, Split>) {
    f("axis", o.axis);
  } else if constexpr (std::is_same_v<T, Pad>) {
    f("mode", o.mode), f("before", o.before), f("after", o.after);
  } else if constexpr (std::is_same_v<T, DynamicPad>) {
    f("mode", o.mode);
  } else if constexpr (std::is_same_v<T, GatherND>) {
    f("batch_dims", o.batch_dims);
  } else if constexpr (std::is_same_v<T, ScatterElements>) {
    f("axis", o.axis), f("reduction", o.reduction);
  } else if constexpr (std::is_same_v<T, ScatterND>) {
    f("reduction", o.reduction);
  } else if constexpr (std::is_same_v<T, Resize>) {
    f("mode", o.mode), f("coord", o.coord), f("nearest", o.nearest), f("cubic_a", o.cubic_a),
        f("exclude_outside", o.exclude_outside), f("by_scales", o.by_scales), f("scales", o.scales);
  } else if constexpr (std::is_same_v<T, ShapeOf>) {
    f("start", o.start), f("end", o.end);
  } else if constexpr (std::is_same_v<T, Fill>) {
    f("bits", o.bits);
  } else if constexpr (std::is_same_v<T, BatchNorm>) {
    f("epsilon", o.epsilon);
  } else if constexpr (std::is_same_v<T, LayerNorm>) {
    f("axis", o.axis), f("epsilon", o.epsilon);
  } else if constexpr (std::is_same_v<T, Softmax>) {
    f("axis", o.axis), f("log", o.log);
  } else if constexpr (std::is_same_v<T, Gelu>) {
    f("tanh", o.tanh);
  } else if constexpr (std::is_same_v<T, Gemm>) {
    f("alpha", o.alpha), f("beta", o.beta), f("trans_a", o.trans_a), f("trans_b", o.trans_b);
  } else if constexpr (std::is_same_v<T, HardSigmoid>) {
    f("alpha", o.alpha), f("beta", o.beta);
  } else if constexpr (std::is_same_v<T, LeakyRelu>) {
    f("alpha", o.alpha);
  } else if constexpr (std::is_same_v<T, Lstm>) {
    f("hidden", o.hidden), f("direction", o.direction), f("input_forget", o.input_forget), f("clip", o.clip);
  } else {
    static_assert(std::is_same_v<T, Unary> || std::is_same_v<T, Binary> || std::is_empty_v<T>,
                  "every field of an op must be listed");
  }
}

// "reduce" of "reduce.sum"; indexed like Op's alternatives.
inline constexpr std::array<std::string_view, std::variant_size_v<Op>> kOpBaseNames = {"unary",
                                                                                       "binary",
                                                                                       "select",
                                                                                       "cast",
                                                                                       "reduce",
                                                                                       "arg_reduce",
                                                                                       "cumsum",
                                                                                       "topk",
                                                                                       "matmul",
                                                                                       "conv",
                                                                                       "conv_transpose",
                                                                                       "pool",
                                                                                       "reshape",
                                                                                       "transpose",
                                                                                       "expand",
                                                                                       "slice",
                                                                                       "dynamic_slice",
                                                                                       "concat",
                                                                                       "pad",
                                                                                       "dynamic_pad",
                                                                                       "tile",
                                                                                       "gather",
                                                                                       "gather_elements",
                                                                                       "gather_nd",
                                                                                       "scatter_elements",
                                                                                       "scatter_nd",
                                                                                       "resize",
                                                                                       "range",
                                                                                       "iota",
                                                                                       "shape_of",
                                                                                       "fill",
                                                                                       "nonzero",
                                                                                       "batch_norm",
                                                                                       "layer_norm",
                                                                                       "softmax",
                                                                                       "gelu",
                                                                                       "gemm",
                                                                                       "hard_sigmoid",
                                                                                       "hard_swish",
                                                                                       "leaky_relu",
                                                                                       "clip",
                                                                                       "split",
                                                                                       "lstm"};

}  // namespace frit::graph
