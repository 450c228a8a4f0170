// A constant scale or shift per output channel moves into the weights and the bias before it: Conv +
// BatchNorm = Conv.
//
// Weights are beyond the limit of fold_constants, so they are scaled here by a plain loop, each element
// rounded once. That is one more rounding than the model has, the same on every machine, and within every
// policy's bound: these rules run under strict too. A weight that something else reads as well is left alone,
// since it would be stored twice.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "base/try.h"
#include "graph/passes/match.h"
#include "graph/passes/pass_functions.h"

namespace frit::graph {
namespace {

bool foldable_type(DType t) { return t == DType::kF32 || t == DType::kF64; }

// One factor per channel of `constant`, which broadcasts against [.., channels, trailing..] of `rank` axes;
// none when it varies along another axis.
std::optional<std::vector<double>> per_channel(const Rewriter& r, ValueId constant, size_t rank, size_t axis,
                                               int64_t channels) {
  const auto tensor = constant_tensor(r.graph(), constant);
  if (!tensor || !foldable_type(tensor->dtype()) || static_cast<size_t>(tensor->rank()) > rank)
    return std::nullopt;
  if (tensor->elements() == 1)
    return std::vector<double>(static_cast<size_t>(channels), tensor->as_double(0));
  const size_t missing = rank - static_cast<size_t>(tensor->rank());
  for (size_t i = 0; i < static_cast<size_t>(tensor->rank()); ++i) {
    if (i + missing != axis && tensor->shape()[i] != 1) return std::nullopt;
  }
  if (tensor->elements() != channels) return std::nullopt;
  return tensor->as_doubles();
}

// w[outer, channels, inner] * factor[channel] as the element type's own product.
template <class T>
void scale_bytes(const std::byte* from, std::byte* to, int64_t outer, int64_t channels, int64_t inner,
                 const double* factors) {
  std::vector<T> row(static_cast<size_t>(inner));
  const size_t row_bytes = row.size() * sizeof(T);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t c = 0; c < channels; ++c) {
      const T factor = static_cast<T>(factors[c]);
      if (row_bytes > 0) std::memcpy(row.data(), from, row_bytes);
      for (T& x : row) x *= factor;
      if (row_bytes > 0) std::memcpy(to, row.data(), row_bytes);
      from += row_bytes;
      to += row_bytes;
    }
  }
}
// The same where channels are innermost, one pass per row.
template <class T>
void scale_columns(const std::byte* from, std::byte* to, int64_t rows, int64_t channels,
                   const double* factors) {
  std::vector<T> row(static_cast<size_t>(channels)), scale(factors, factors + channels);
  const size_t row_bytes = row.size() * sizeof(T);
  for (int64_t i = 0; i < rows; ++i, from += row_bytes, to += row_bytes) {
    if (row_bytes > 0) std::memcpy(row.data(), from, row_bytes);
    for (size_t c = 0; c < row.size(); ++c) row[c] *= scale[c];
    if (row_bytes > 0) std::memcpy(to, row.data(), row_bytes);
  }
}

std::optional<ValueId> scale_axis(Rewriter& r, ValueId weight, size_t axis,
                                  const std::vector<double>& factors) {
  const auto w = constant_tensor(r.graph(), weight);
  if (!w || !foldable_type(w->dtype()) || w->shape()[axis] != static_cast<int64_t>(factors.size()))
    return std::nullopt;
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < axis; ++i) outer *= w->shape()[i];
  for (size_t i = axis + 1; i < w->shape().size(); ++i) inner *= w->shape()[i];
  const auto channels = static_cast<int64_t>(factors.size());
  // Not zeroed first: weights are large, and touching their pages twice is half of the time.
  const auto bytes = std::make_shared_for_overwrite<std::byte[]>(w->size_bytes());
  const bool wide = w->dtype() == DType::kF64;
  if (inner == 1) {
    (wide ? scale_columns<double> : scale_columns<float>)(w->bytes(), bytes.get(), outer, channels,
                                                          factors.data());
  } else {
    (wide ? scale_bytes<double> : scale_bytes<float>)(w->bytes(), bytes.get(), outer, channels, inner,
                                                      factors.data());
  }
  auto data = std::make_shared<ConstantData>();
  data->bytes = bytes.get();
  data->size_bytes = w->size_bytes();
  data->owner = bytes;
  data->name = r.value(weight).constant->name;
  return r.add_constant(r.type(weight), std::move(data));
}

// What the rules need to know about a Conv, ConvTranspose or MatMul with constant weights.
struct Product {
  Node node;
  size_t rank = 0;          // of the output
  size_t channel_axis = 0;  // of the output
  int64_t channels = 0;
  bool has_bias_input = false;
};

std::optional<Product> product_below(const Rewriter& r, ValueId v) {
  if (v == kNoValue || r.value(v).producer == kNoNode || !r.single_use(v)) return std::nullopt;
  const Node& node = r.node(r.value(v).producer);
  const bool conv = std::holds_alternative<Conv>(node.op) || std::holds_alternative<ConvTranspose>(node.op);
  if (!conv && !std::holds_alternative<MatMul>(node.op)) return std::nullopt;
  const Shape& out = r.shape(v);
  Product p{node, out.size(), conv ? 1 : out.size() - 1, 0, conv};
  const auto channels = out[p.channel_axis].constant();
  if (!channels) return std::nullopt;
  p.channels = *channels;
  return p;
}

// The product with every output channel scaled, and without its bias.
std::optional<ValueId> scaled_weights(Rewriter& r, const Product& p, const std::vector<double>& factors) {
  const ValueId w = p.node.inputs[1];
  if (std::holds_alternative<Conv>(p.node.op)) {
    return r.single_use(w) ? scale_axis(r, w, 0, factors) : std::nullopt;
  }
  if (const auto* conv = std::get_if<ConvTranspose>(&p.node.op)) {
    // w [C, O/groups, ..]: rows of group g hold channels g * O/groups ...; only one group is a plain axis.
    return r.single_use(w) && conv->groups == 1 ? scale_axis(r, w, 1, factors) : std::nullopt;
  }
  const size_t rank = r.shape(w).size();
  if (r.value(w).is_constant()) return r.single_use(w) ? scale_axis(r, w, rank - 1, factors) : std::nullopt;
  // A weight stored transposed, [N, K]: its rows are the channels.
  const Node* transpose = r.single_use(w) ? r.producer<Transpose>(w) : nullptr;
  if (!transpose || rank != 2 || !r.single_use(transpose->inputs[0])) return std::nullopt;
  const Transpose op = std::get<Transpose>(transpose->op);
  if (op.perm != std::vector<int64_t>{1, 0}) return std::nullopt;
  const auto scaled = scale_axis(r, transpose->inputs[0], 0, factors);
  if (!scaled) return std::nullopt;
  return r.add_typed(op, {*scaled}, r.type(w));
}

ValueId channel_constant(Rewriter& r, DType dtype, const std::vector<double>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * dtype_bytes(dtype));
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (dtype == DType::kF64) {
      std::memcpy(bytes.data() + i * sizeof(double), &numbers[i], sizeof(double));
    } else {
      const auto narrow = static_cast<float>(numbers[i]);
      std::memcpy(bytes.data() + i * sizeof(float), &narrow, sizeof(float));
    }
  }
  return r.add_constant({dtype, {Dim(static_cast<int64_t>(numbers.size()))}, {}},
                        make_constant(std::move(bytes)));
}

Result<bool> rebuild(Rewriter& r, NodeId id, const Op& op, std::vector<ValueId> inputs) {
  const ValueId out = r.node(id).outputs[0];
  const TensorType type = r.type(out);
  r.replace(out, r.add_typed(op, std::move(inputs), type));
  return true;
}

// The result must have the product's own shape: a constant may not broadcast it.
bool same_type_as_output(const Rewriter& r, NodeId id, ValueId v) {
  return same_shape(r, v, r.node(id).outputs[0]);
}

// product(x, w) * s = product(x, w * s), with bias * s
Result<bool> scale(Rewriter& r, NodeId id) {
  const auto m = match_constant_right(r, r.node(id), BinaryOp::kMul);
  if (!m || !same_type_as_output(r, id, m->value)) return false;
  const auto p = product_below(r, m->value);
  if (!p) return false;
  const auto factors = per_channel(r, m->constant, p->rank, p->channel_axis, p->channels);
  if (!factors) return false;
  std::vector<ValueId> inputs = p->node.inputs;
  if (inputs.size() > 2 && inputs[2] != kNoValue) {
    auto bias = per_channel(r, inputs[2], 1, 0, p->channels);
    if (!bias) return false;
    const DType dtype = r.type(inputs[2]).dtype;
    for (size_t c = 0; c < bias->size(); ++c) (*bias)[c] *= (*factors)[c];
    inputs[2] = channel_constant(r, dtype, *bias);
  }
  const auto weights = scaled_weights(r, *p, *factors);
  if (!weights) return false;
  inputs[1] = *weights;
  return rebuild(r, id, p->node.op, std::move(inputs));
}

// conv(x, w, b) + t = conv(x, w, b + t)
Result<bool> shift(Rewriter& r, NodeId id) {
  const auto m = match_constant_right(r, r.node(id), BinaryOp::kAdd);
  if (!m || !same_type_as_output(r, id, m->value)) return false;
  const auto p = product_below(r, m->value);
  if (!p || !p->has_bias_input) return false;
  auto bias = per_channel(r, m->constant, p->rank, p->channel_axis, p->channels);
  if (!bias) return false;
  std::vector<ValueId> inputs = p->node.inputs;
  if (inputs.size() > 2 && inputs[2] != kNoValue) {
    const auto before = per_channel(r, inputs[2], 1, 0, p->channels);
    if (!before) return false;
    for (size_t c = 0; c < bias->size(); ++c) (*bias)[c] += (*before)[c];
  }
  inputs.resize(3, kNoValue);
  inputs[2] = channel_constant(r, r.type(m->constant).dtype, *bias);
  return rebuild(r, id, p->node.op, std::move(inputs));
}

// (matmul(x, w) + b) * s = matmul(x, w * s) + b * s
Result<bool> scale_after_bias(Rewriter& r, NodeId id) {
  const auto m = match_constant_right(r, r.node(id), BinaryOp::kMul);
  if (!m || !same_type_as_output(r, id, m->value) || !r.single_use(m->value)) return false;
  const Node* sum = r.producer<Binary>(m->value);
  const auto biased = sum ? match_constant_right(r, *sum, BinaryOp::kAdd) : std::nullopt;
  if (!biased || !same_type_as_output(r, id, biased->value)) return false;
  const auto p = product_below(r, biased->value);
  if (!p || p->has_bias_input) return false;
  const auto factors = per_channel(r, m->constant, p->rank, p->channel_axis, p->channels);
  auto bias = per_channel(r, biased->constant, p->rank, p->channel_axis, p->channels);
  if (!factors || !bias) return false;
  const DType dtype = r.type(biased->constant).dtype;
  for (size_t c = 0; c < bias->size(); ++c) (*bias)[c] *= (*factors)[c];
  const TensorType product_type = r.type(biased->value);
  const auto weights = scaled_weights(r, *p, *factors);
  if (!weights) return false;
  const ValueId product = r.add_typed(p->node.op, {p->node.inputs[0], *weights}, product_type);
  return rebuild(r, id, Binary{BinaryOp::kAdd}, {product, channel_constant(r, dtype, *bias)});
}

constexpr Rule kWeightRules[] = {
    {"scale", "conv(x, w, b) * s = conv(x, w * s, b * s), matmul(x, w) * s = matmul(x, w * s)",
     Exactness::kFolded, scale},
    {"shift", "conv(x, w, b) + t = conv(x, w, b + t)", Exactness::kFolded, shift},
    {"scale_after_bias", "(matmul(x, w) + b) * s = matmul(x, w * s) + b * s", Exactness::kFolded,
     scale_after_bias},
};

}  // namespace

std::span<const Rule> weight_rules() { return kWeightRules; }

Result<bool> fold_into_weights(Graph& graph, const PassContext& context) {
  return apply_rules(graph, context, kWeightRules);
}

}  // namespace frit::graph
