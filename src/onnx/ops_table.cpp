#include "onnx/ops_table.h"

#include <algorithm>
#include <iterator>

#include "onnx/importers.h"

namespace frit::onnx {
namespace {

// name, first opset, inputs (least, most), outputs (least, most), attributes, importer
constexpr OpRow kRows[] = {
    {"Abs", 6, 1, 1, 1, 1, "", import_unary<UnaryOp::kAbs>},
    {"Acos", 7, 1, 1, 1, 1, "", import_unary<UnaryOp::kAcos>},
    {"Acosh", 9, 1, 1, 1, 1, "", import_unary<UnaryOp::kAcosh>},
    {"Add", 7, 2, 2, 1, 1, "", import_binary<BinaryOp::kAdd>},
    {"And", 7, 2, 2, 1, 1, "", import_binary<BinaryOp::kAnd>},
    {"ArgMax", 1, 1, 1, 1, 1, "axis=i keepdims=i", import_arg_reduce},
    {"ArgMax", 12, 1, 1, 1, 1, "axis=i keepdims=i select_last_index=i", import_arg_reduce},
    {"ArgMin", 1, 1, 1, 1, 1, "axis=i keepdims=i", import_arg_reduce},
    {"ArgMin", 12, 1, 1, 1, 1, "axis=i keepdims=i select_last_index=i", import_arg_reduce},
    {"Asin", 7, 1, 1, 1, 1, "", import_unary<UnaryOp::kAsin>},
    {"Asinh", 9, 1, 1, 1, 1, "", import_unary<UnaryOp::kAsinh>},
    {"Atan", 7, 1, 1, 1, 1, "", import_unary<UnaryOp::kAtan>},
    {"Atanh", 9, 1, 1, 1, 1, "", import_unary<UnaryOp::kAtanh>},
    {"AveragePool", 7, 1, 1, 1, 1, "auto_pad=s count_include_pad=i kernel_shape=I! pads=I strides=I",
     import_average_pool},
    {"AveragePool", 10, 1, 1, 1, 1,
     "auto_pad=s ceil_mode=i count_include_pad=i kernel_shape=I! pads=I strides=I", import_average_pool},
    {"AveragePool", 19, 1, 1, 1, 1,
     "auto_pad=s ceil_mode=i count_include_pad=i dilations=I kernel_shape=I! pads=I strides=I",
     import_average_pool},
    {"BatchNormalization", 7, 5, 5, 1, 5, "epsilon=f momentum=f spatial=i", import_batch_normalization},
    {"BatchNormalization", 9, 5, 5, 1, 5, "epsilon=f momentum=f", import_batch_normalization},
    {"BatchNormalization", 14, 5, 5, 1, 3, "epsilon=f momentum=f training_mode=i",
     import_batch_normalization},
    {"BitShift", 11, 2, 2, 1, 1, "direction=s!", import_bit_shift},
    {"BitwiseAnd", 18, 2, 2, 1, 1, "", import_binary<BinaryOp::kBitAnd>},
    {"BitwiseNot", 18, 1, 1, 1, 1, "", import_unary<UnaryOp::kBitNot>},
    {"BitwiseOr", 18, 2, 2, 1, 1, "", import_binary<BinaryOp::kBitOr>},
    {"BitwiseXor", 18, 2, 2, 1, 1, "", import_binary<BinaryOp::kBitXor>},
    {"Cast", 6, 1, 1, 1, 1, "to=i!", import_cast},
    {"Cast", 19, 1, 1, 1, 1, "saturate=i to=i!", import_cast},
    {"Cast", 24, 1, 1, 1, 1, "round_mode=s saturate=i to=i!", import_cast},
    {"CastLike", 15, 2, 2, 1, 1, "", import_cast_like},
    {"CastLike", 19, 2, 2, 1, 1, "saturate=i", import_cast_like},
    {"CastLike", 24, 2, 2, 1, 1, "round_mode=s saturate=i", import_cast_like},
    {"Ceil", 6, 1, 1, 1, 1, "", import_unary<UnaryOp::kCeil>},
    {"Celu", 12, 1, 1, 1, 1, "alpha=f", import_celu},
    {"Clip", 6, 1, 1, 1, 1, "max=f min=f", import_clip},
    {"Clip", 11, 1, 3, 1, 1, "", import_clip},
    {"Compress", 9, 2, 2, 1, 1, "axis=i", import_compress},
    {"Concat", 4, 1, kAny, 1, 1, "axis=i!", import_concat},
    {"Constant", 1, 0, 0, 1, 1, "value=t!", import_constant},
    {"Constant", 11, 0, 0, 1, 1, "sparse_value=p value=t", import_constant},
    {"Constant", 12, 0, 0, 1, 1,
     "sparse_value=p value=t value_float=f value_floats=F value_int=i value_ints=I value_string=s "
     "value_strings=S",
     import_constant},
    {"ConstantOfShape", 9, 1, 1, 1, 1, "value=t", import_constant_of_shape},
    {"Conv", 1, 2, 3, 1, 1, "auto_pad=s dilations=I group=i kernel_shape=I pads=I strides=I", import_conv},
    {"ConvTranspose", 1, 2, 3, 1, 1,
     "auto_pad=s dilations=I group=i kernel_shape=I output_padding=I output_shape=I pads=I "
     "strides=I",
     import_conv_transpose},
    {"Cos", 7, 1, 1, 1, 1, "", import_unary<UnaryOp::kCos>},
    {"Cosh", 9, 1, 1, 1, 1, "", import_unary<UnaryOp::kCosh>},
    {"CumSum", 11, 2, 2, 1, 1, "exclusive=i reverse=i", import_cum_sum},
    {"DepthToSpace", 1, 1, 1, 1, 1, "blocksize=i!", import_depth_to_space},
    {"DepthToSpace", 11, 1, 1, 1, 1, "blocksize=i! mode=s", import_depth_to_space},
    {"Div", 7, 2, 2, 1, 1, "", import_binary<BinaryOp::kDiv>},
    {"Dropout", 7, 1, 1, 1, 2, "ratio=f", import_dropout},
    {"Dropout", 10, 1, 1, 1, 2, "ratio=f", import_dropout},
    {"Dropout", 12, 1, 3, 1, 2, "seed=i", import_dropout},
    {"Einsum", 12, 1, kAny, 1, 1, "equation=s!", import_einsum},
    {"Elu", 6, 1, 1, 1, 1, "alpha=f", import_elu},
    {"Equal", 7, 2, 2, 1, 1, "", import_binary<BinaryOp::kEq>},
    {"Erf", 9, 1, 1, 1, 1, "", import_unary<UnaryOp::kErf>},
    {"Exp", 6, 1, 1, 1, 1, "", import_unary<UnaryOp::kExp>},
    {"Expand", 8, 2, 2, 1, 1, "", import_expand},
    {"EyeLike", 9, 1, 1, 1, 1, "dtype=i k=i", import_eye_like},
    {"Flatten", 1, 1, 1, 1, 1, "axis=i", import_flatten},
    {"Floor", 6, 1, 1, 1, 1, "", import_unary<UnaryOp::kFloor>},
    {"Gather", 1, 2, 2, 1, 1, "axis=i", import_gather},
    {"GatherElements", 11, 2, 2, 1, 1, "axis=i", import_gather_elements},
    {"GatherND", 11, 2, 2, 1, 1, "", import_gather_nd},
    {"GatherND", 12, 2, 2, 1, 1, "batch_dims=i", import_gather_nd},
    {"Gelu", 20, 1, 1, 1, 1, "approximate=s", import_gelu},
    {"Gemm", 7, 3, 3, 1, 1, "alpha=f beta=f transA=i transB=i", import_gemm},
    {"Gemm", 11, 2, 3, 1, 1, "alpha=f beta=f transA=i transB=i", import_gemm},
    {"GlobalAveragePool", 1, 1, 1, 1, 1, "", import_global_average_pool},
    {"GlobalLpPool", 2, 1, 1, 1, 1, "p=i", import_global_lp_pool},
    {"GlobalMaxPool", 1, 1, 1, 1, 1, "", import_global_max_pool},
    {"Greater", 7, 2, 2, 1, 1, "", import_binary<BinaryOp::kGt>},
    {"GreaterOrEqual", 12, 2, 2, 1, 1, "", import_binary<BinaryOp::kGe>},
    {"GroupNormalization", 18, 3, 3, 1, 1, "epsilon=f num_groups=i!", import_group_normalization},
    {"GroupNormalization", 21, 3, 3, 1, 1, "epsilon=f num_groups=i! stash_type=i",
     import_group_normalization},
    {"HardSigmoid", 6, 1, 1, 1, 1, "alpha=f beta=f", import_hard_sigmoid},
    {"HardSwish", 14, 1, 1, 1, 1, "", import_hard_swish},
    {"Hardmax", 1, 1, 1, 1, 1, "axis=i", import_hardmax},
    {"Hardmax", 13, 1, 1, 1, 1, "axis=i", import_hardmax},
    {"Identity", 1, 1, 1, 1, 1, "", import_identity},
    {"InstanceNormalization", 6, 3, 3, 1, 1, "epsilon=f", import_instance_normalization},
    {"IsInf", 10, 1, 1, 1, 1, "detect_negative=i detect_positive=i", import_is_inf},
    {"IsNaN", 9, 1, 1, 1, 1, "", import_unary<UnaryOp::kIsNan>},
    {"LRN", 1, 1, 1, 1, 1, "alpha=f beta=f bias=f size=i!", import_lrn},
    {"LSTM", 7, 3, 8, 0, 3,
     "activation_alpha=F activation_beta=F activations=S clip=f direction=s hidden_size=i "
     "input_forget=i",
     import_lstm},
    {"LSTM", 14, 3, 8, 0, 3,
     "activation_alpha=F activation_beta=F activations=S clip=f direction=s hidden_size=i "
     "input_forget=i layout=i",
     import_lstm},
    {"LayerNormalization", 17, 2, 3, 1, 3, "axis=i epsilon=f stash_type=i", import_layer_normalization},
    {"LeakyRelu", 6, 1, 1, 1, 1, "alpha=f", import_leaky_relu},
    {"Less", 7, 2, 2, 1, 1, "", import_binary<BinaryOp::kLt>},
    {"LessOrEqual", 12, 2, 2, 1, 1, "", import_binary<BinaryOp::kLe>},
    {"Log", 6, 1, 1, 1, 1, "", import_unary<UnaryOp::kLog>},
    {"LogSoftmax", 1, 1, 1, 1, 1, "axis=i", import_softmax},
    {"LogSoftmax", 13, 1, 1, 1, 1, "axis=i", import_softmax},
    {"LpNormalization", 1, 1, 1, 1, 1, "axis=i p=i", import_lp_normalization},
    {"LpPool", 2, 1, 1, 1, 1, "auto_pad=s kernel_shape=I! p=i pads=I strides=I", import_lp_pool},
    {"LpPool", 18, 1, 1, 1, 1, "auto_pad=s ceil_mode=i dilations=I kernel_shape=I! p=i pads=I strides=I",
     import_lp_pool},
    {"MatMul", 1, 2, 2, 1, 1, "", import_matmul},
    {"Max", 6, 1, kAny, 1, 1, "", import_max},
    {"MaxPool", 1, 1, 1, 1, 1, "auto_pad=s kernel_shape=I! pads=I strides=I", import_max_pool},
    {"MaxPool", 8, 1, 1, 1, 2, "auto_pad=s kernel_shape=I! pads=I storage_order=i strides=I",
     import_max_pool},
    {"MaxPool", 10, 1, 1, 1, 2,
     "auto_pad=s ceil_mode=i dilations=I kernel_shape=I! pads=I storage_order=i strides=I", import_max_pool},
    {"Mean", 6, 1, kAny, 1, 1, "", import_mean},
    {"MeanVarianceNormalization", 9, 1, 1, 1, 1, "axes=I", import_mean_variance_normalization},
    {"Min", 6, 1, kAny, 1, 1, "", import_min},
    {"Mish", 18, 1, 1, 1, 1, "", import_mish},
    {"Mod", 10, 2, 2, 1, 1, "fmod=i", import_mod},
    {"Mod", 28, 2, 2, 1, 1, "fmod=i", import_mod},
    {"Mul", 7, 2, 2, 1, 1, "", import_binary<BinaryOp::kMul>},
    {"Neg", 6, 1, 1, 1, 1, "", import_unary<UnaryOp::kNeg>},
    {"NonZero", 9, 1, 1, 1, 1, "", import_non_zero},
    {"Not", 1, 1, 1, 1, 1, "", import_unary<UnaryOp::kNot>},
    {"OneHot", 9, 3, 3, 1, 1, "axis=i", import_one_hot},
    {"Or", 7, 2, 2, 1, 1, "", import_binary<BinaryOp::kOr>},
    {"PRelu", 7, 2, 2, 1, 1, "", import_prelu},
    {"Pad", 2, 1, 1, 1, 1, "mode=s pads=I! value=f", import_pad},
    {"Pad", 11, 2, 3, 1, 1, "mode=s", import_pad},
    {"Pad", 18, 2, 4, 1, 1, "mode=s", import_pad},
    {"Pad", 19, 2, 4, 1, 1, "mode=s", import_pad},
    {"Pow", 7, 2, 2, 1, 1, "", import_pow},
    {"RMSNormalization", 23, 2, 2, 1, 1, "axis=i epsilon=f stash_type=i", import_rms_normalization},
    {"Range", 11, 3, 3, 1, 1, "", import_range},
    {"Range", 27, 3, 3, 1, 1, "stash_type=i", import_range},
    {"Reciprocal", 6, 1, 1, 1, 1, "", import_unary<UnaryOp::kRecip>},
    {"ReduceL1", 1, 1, 1, 1, 1, "axes=I keepdims=i", import_reduce},
    {"ReduceL1", 18, 1, 2, 1, 1, "keepdims=i noop_with_empty_axes=i", import_reduce},
    {"ReduceL2", 1, 1, 1, 1, 1, "axes=I keepdims=i", import_reduce},
    {"ReduceL2", 18, 1, 2, 1, 1, "keepdims=i noop_with_empty_axes=i", import_reduce},
    {"ReduceLogSum", 1, 1, 1, 1, 1, "axes=I keepdims=i", import_reduce},
    {"ReduceLogSum", 18, 1, 2, 1, 1, "keepdims=i noop_with_empty_axes=i", import_reduce},
    {"ReduceLogSumExp", 1, 1, 1, 1, 1, "axes=I keepdims=i", import_reduce},
    {"ReduceLogSumExp", 18, 1, 2, 1, 1, "keepdims=i noop_with_empty_axes=i", import_reduce},
    {"ReduceMax", 1, 1, 1, 1, 1, "axes=I keepdims=i", import_reduce},
    {"ReduceMax", 18, 1, 2, 1, 1, "keepdims=i noop_with_empty_axes=i", import_reduce},
    {"ReduceMean", 1, 1, 1, 1, 1, "axes=I keepdims=i", import_reduce},
    {"ReduceMean", 18, 1, 2, 1, 1, "keepdims=i noop_with_empty_axes=i", import_reduce},
    {"ReduceMin", 1, 1, 1, 1, 1, "axes=I keepdims=i", import_reduce},
    {"ReduceMin", 18, 1, 2, 1, 1, "keepdims=i noop_with_empty_axes=i", import_reduce},
    {"ReduceProd", 1, 1, 1, 1, 1, "axes=I keepdims=i", import_reduce},
    {"ReduceProd", 18, 1, 2, 1, 1, "keepdims=i noop_with_empty_axes=i", import_reduce},
    {"ReduceSum", 1, 1, 1, 1, 1, "axes=I keepdims=i", import_reduce},
    {"ReduceSum", 13, 1, 2, 1, 1, "keepdims=i noop_with_empty_axes=i", import_reduce},
    {"ReduceSumSquare", 1, 1, 1, 1, 1, "axes=I keepdims=i", import_reduce},
    {"ReduceSumSquare", 18, 1, 2, 1, 1, "keepdims=i noop_with_empty_axes=i", import_reduce},
    {"Relu", 6, 1, 1, 1, 1, "", import_unary<UnaryOp::kRelu>},
    {"Reshape", 5, 2, 2, 1, 1, "", import_reshape},
    {"Reshape", 14, 2, 2, 1, 1, "allowzero=i", import_reshape},
    {"Resize", 10, 2, 2, 1, 1, "mode=s", import_resize},
    {"Resize", 11, 1, 4, 1, 1,
     "coordinate_transformation_mode=s cubic_coeff_a=f exclude_outside=i extrapolation_value=f "
     "mode=s nearest_mode=s",
     import_resize},
    {"Resize", 13, 1, 4, 1, 1,
     "coordinate_transformation_mode=s cubic_coeff_a=f exclude_outside=i extrapolation_value=f "
     "mode=s nearest_mode=s",
     import_resize},
    {"Resize", 18, 1, 4, 1, 1,
     "antialias=i axes=I coordinate_transformation_mode=s cubic_coeff_a=f exclude_outside=i "
     "extrapolation_value=f keep_aspect_ratio_policy=s mode=s nearest_mode=s",
     import_resize},
    {"Resize", 19, 1, 4, 1, 1,
     "antialias=i axes=I coordinate_transformation_mode=s cubic_coeff_a=f exclude_outside=i "
     "extrapolation_value=f keep_aspect_ratio_policy=s mode=s nearest_mode=s",
     import_resize},
    {"Round", 11, 1, 1, 1, 1, "", import_unary<UnaryOp::kRound>},
    {"Scatter", 9, 3, 3, 1, 1, "axis=i", import_scatter_elements},
    {"Scatter", 11, 0, 0, 0, 0, "", nullptr},
    {"ScatterElements", 11, 3, 3, 1, 1, "axis=i", import_scatter_elements},
    {"ScatterElements", 16, 3, 3, 1, 1, "axis=i reduction=s", import_scatter_elements},
    {"ScatterElements", 18, 3, 3, 1, 1, "axis=i reduction=s", import_scatter_elements},
    {"ScatterND", 11, 3, 3, 1, 1, "", import_scatter_nd},
    {"ScatterND", 16, 3, 3, 1, 1, "reduction=s", import_scatter_nd},
    {"ScatterND", 18, 3, 3, 1, 1, "reduction=s", import_scatter_nd},
    {"Selu", 6, 1, 1, 1, 1, "alpha=f gamma=f", import_selu},
    {"Shape", 1, 1, 1, 1, 1, "", import_shape},
    {"Shape", 15, 1, 1, 1, 1, "end=i start=i", import_shape},
    {"Shrink", 9, 1, 1, 1, 1, "bias=f lambd=f", import_shrink},
    {"Sigmoid", 6, 1, 1, 1, 1, "", import_unary<UnaryOp::kSigmoid>},
    {"Sign", 9, 1, 1, 1, 1, "", import_unary<UnaryOp::kSign>},
    {"Sin", 7, 1, 1, 1, 1, "", import_unary<UnaryOp::kSin>},
    {"Sinh", 9, 1, 1, 1, 1, "", import_unary<UnaryOp::kSinh>},
    {"Size", 1, 1, 1, 1, 1, "", import_size},
    {"Slice", 1, 1, 1, 1, 1, "axes=I ends=I! starts=I!", import_slice},
    {"Slice", 10, 3, 5, 1, 1, "", import_slice},
    {"Softmax", 1, 1, 1, 1, 1, "axis=i", import_softmax},
    {"Softmax", 13, 1, 1, 1, 1, "axis=i", import_softmax},
    {"Softplus", 1, 1, 1, 1, 1, "", import_softplus},
    {"Softsign", 1, 1, 1, 1, 1, "", import_softsign},
    {"SpaceToDepth", 1, 1, 1, 1, 1, "blocksize=i!", import_space_to_depth},
    {"SpaceToDepth", 28, 1, 1, 1, 1, "blocksize=i! mode=s", import_space_to_depth},
    {"Split", 2, 1, 1, 1, kAny, "axis=i split=I", import_split},
    {"Split", 13, 1, 2, 1, kAny, "axis=i", import_split},
    {"Split", 18, 1, 2, 1, kAny, "axis=i num_outputs=i", import_split},
    {"Sqrt", 6, 1, 1, 1, 1, "", import_unary<UnaryOp::kSqrt>},
    {"Squeeze", 1, 1, 1, 1, 1, "axes=I", import_squeeze},
    {"Squeeze", 13, 1, 2, 1, 1, "", import_squeeze},
    {"Sub", 7, 2, 2, 1, 1, "", import_binary<BinaryOp::kSub>},
    {"Sum", 6, 1, kAny, 1, 1, "", import_sum},
    {"SwiGLU", 28, 2, 2, 1, 1, "alpha=f", import_swiglu},
    {"Swish", 24, 1, 1, 1, 1, "alpha=f", import_swish},
    {"Tan", 7, 1, 1, 1, 1, "", import_unary<UnaryOp::kTan>},
    {"Tanh", 6, 1, 1, 1, 1, "", import_unary<UnaryOp::kTanh>},
    {"ThresholdedRelu", 10, 1, 1, 1, 1, "alpha=f", import_thresholded_relu},
    {"Tile", 6, 2, 2, 1, 1, "", import_tile},
    {"TopK", 1, 1, 1, 2, 2, "axis=i k=i!", import_top_k},
    {"TopK", 10, 2, 2, 2, 2, "axis=i", import_top_k},
    {"TopK", 11, 2, 2, 2, 2, "axis=i largest=i sorted=i", import_top_k},
    {"Transpose", 1, 1, 1, 1, 1, "perm=I", import_transpose},
    {"Trilu", 14, 1, 2, 1, 1, "upper=i", import_trilu},
    {"Unsqueeze", 1, 1, 1, 1, 1, "axes=I!", import_unsqueeze},
    {"Unsqueeze", 13, 2, 2, 1, 1, "", import_unsqueeze},
    {"Upsample", 7, 1, 1, 1, 1, "mode=s scales=F!", import_upsample},
    {"Upsample", 9, 2, 2, 1, 1, "mode=s", import_upsample},
    {"Upsample", 10, 0, 0, 0, 0, "", nullptr},
    {"Where", 9, 3, 3, 1, 1, "", import_where},
    {"Xor", 7, 2, 2, 1, 1, "", import_binary<BinaryOp::kXor>},
};

}  // namespace

std::span<const OpRow> op_table() { return kRows; }

const OpRow* find_op(std::string_view name, int64_t opset) {
  const OpRow* found = nullptr;
  const auto* row = std::lower_bound(std::begin(kRows), std::end(kRows), name,
                                     [](const OpRow& r, std::string_view n) { return r.name < n; });
  for (; row != std::end(kRows) && row->name == name && row->since <= opset; ++row) found = row;
  return found;
}

int first_opset(std::string_view name) {
  for (const OpRow& row : kRows)
    if (row.name == name) return row.since;
  return 0;
}

namespace {

// Calls see(name, letter, required) for each attribute until it returns true.
template <class See>
void for_each_attribute(const OpRow& row, See&& see) {
  std::string_view list = row.attributes;
  while (!list.empty()) {
    const size_t end = std::min(list.find(' '), list.size());
    const std::string_view entry = list.substr(0, end);
    const size_t equals = entry.find('=');
    if (see(entry.substr(0, equals), entry[equals + 1], entry.back() == '!')) return;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

}  // namespace

char attribute_letter(const OpRow& row, std::string_view name) {
  char found = 0;
  for_each_attribute(row, [&](std::string_view n, char letter, bool) {
    if (n == name) found = letter;
    return found != 0;
  });
  return found;
}

std::vector<std::string_view> required_attributes(const OpRow& row) {
  std::vector<std::string_view> names;
  for_each_attribute(row, [&](std::string_view name, char, bool required) {
    if (required) names.push_back(name);
    return false;
  });
  return names;
}

}  // namespace frit::onnx
