// One importer per ONNX operator (or per family of them), by group of operators; ops_table.cpp binds them to
// names.
#pragma once

#include "onnx/node_context.h"

namespace frit::onnx {

// Operators that are one graph op.
template <UnaryOp op>
void import_unary(NodeContext& c) {
  c.out(0, c.unary(op, c.in(0)));
}
template <BinaryOp op>
void import_binary(NodeContext& c) {
  c.out(0, c.binary(op, c.in(0), c.in(1)));
}

// import_math.cpp: arithmetic, logic, comparison
void import_pow(NodeContext& c);
void import_mod(NodeContext& c);
void import_bit_shift(NodeContext& c);
void import_is_inf(NodeContext& c);
void import_sum(NodeContext& c);
void import_mean(NodeContext& c);
void import_max(NodeContext& c);
void import_min(NodeContext& c);
void import_where(NodeContext& c);
void import_cast(NodeContext& c);
void import_cast_like(NodeContext& c);
void import_clip(NodeContext& c);
void import_cum_sum(NodeContext& c);

// import_activation.cpp
void import_elu(NodeContext& c);
void import_selu(NodeContext& c);
void import_celu(NodeContext& c);
void import_softplus(NodeContext& c);
void import_softsign(NodeContext& c);
void import_mish(NodeContext& c);
void import_thresholded_relu(NodeContext& c);
void import_leaky_relu(NodeContext& c);
void import_prelu(NodeContext& c);
void import_hard_sigmoid(NodeContext& c);
void import_hard_swish(NodeContext& c);
void import_gelu(NodeContext& c);
void import_swish(NodeContext& c);
void import_swiglu(NodeContext& c);
void import_shrink(NodeContext& c);
void import_softmax(NodeContext& c);  // and LogSoftmax
void import_hardmax(NodeContext& c);

// import_reduce.cpp
void import_reduce(NodeContext& c);  // ReduceSum, ReduceMean, ... by operator name
void import_arg_reduce(NodeContext& c);
void import_top_k(NodeContext& c);

// import_shape.cpp: the same elements under another shape, and shapes as data
void import_identity(NodeContext& c);
void import_dropout(NodeContext& c);
void import_reshape(NodeContext& c);
void import_flatten(NodeContext& c);
void import_squeeze(NodeContext& c);
void import_unsqueeze(NodeContext& c);
void import_shape(NodeContext& c);
void import_size(NodeContext& c);
void import_transpose(NodeContext& c);
void import_depth_to_space(NodeContext& c);
void import_space_to_depth(NodeContext& c);

// import_move.cpp: elements picked, placed and repeated
void import_expand(NodeContext& c);
void import_tile(NodeContext& c);
void import_concat(NodeContext& c);
void import_split(NodeContext& c);
void import_slice(NodeContext& c);
void import_pad(NodeContext& c);
void import_gather(NodeContext& c);
void import_gather_elements(NodeContext& c);
void import_gather_nd(NodeContext& c);
void import_scatter_elements(NodeContext& c);
void import_scatter_nd(NodeContext& c);
void import_compress(NodeContext& c);
void import_non_zero(NodeContext& c);
void import_trilu(NodeContext& c);

// import_generate.cpp: tensors out of nothing
void import_constant(NodeContext& c);
void import_constant_of_shape(NodeContext& c);
void import_range(NodeContext& c);
void import_one_hot(NodeContext& c);
void import_eye_like(NodeContext& c);

// import_conv.cpp, import_pool.cpp
void import_conv(NodeContext& c);
void import_conv_transpose(NodeContext& c);
void import_max_pool(NodeContext& c);
void import_average_pool(NodeContext& c);
void import_lp_pool(NodeContext& c);
void import_global_average_pool(NodeContext& c);
void import_global_max_pool(NodeContext& c);
void import_global_lp_pool(NodeContext& c);

// import_norm.cpp
void import_batch_normalization(NodeContext& c);
void import_layer_normalization(NodeContext& c);
void import_rms_normalization(NodeContext& c);
void import_instance_normalization(NodeContext& c);
void import_group_normalization(NodeContext& c);
void import_lp_normalization(NodeContext& c);
void import_mean_variance_normalization(NodeContext& c);
void import_lrn(NodeContext& c);

// import_matmul.cpp, import_einsum.cpp
void import_matmul(NodeContext& c);
void import_gemm(NodeContext& c);
void import_einsum(NodeContext& c);

// import_resize.cpp
void import_resize(NodeContext& c);
void import_upsample(NodeContext& c);

// import_recurrent.cpp
void import_lstm(NodeContext& c);

}  // namespace frit::onnx
