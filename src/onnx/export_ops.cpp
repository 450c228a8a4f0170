// What each graph op is in ONNX (opset 20).
#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/text.h"
#include "base/try.h"
#include "onnx/dtypes.h"
#include "onnx/node_writer.h"

namespace frit::onnx {
namespace {

using base::text_of;
using graph::Dim;
using graph::Shape;

const char* unary_name(graph::UnaryOp op) {
  constexpr const char* kNames[] = {
      "Neg",  "Abs",  "Sign", "Not",   "BitwiseNot", "Floor", "Ceil",  "Round", "Sqrt", "Reciprocal",
      "Exp",  "Log",  "Erf",  "Tanh",  "Sigmoid",    "Sin",   "Cos",   "Tan",   "Asin", "Acos",
      "Atan", "Sinh", "Cosh", "Asinh", "Acosh",      "Atanh", "IsNaN", "IsInf", "Relu"};
  return kNames[static_cast<size_t>(op)];
}

const char* reduce_name(graph::ReduceOp op) {
  constexpr const char* kNames[] = {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"};
  return kNames[static_cast<size_t>(op)];
}

const char* pad_name(graph::PadMode mode) {
  constexpr const char* kNames[] = {"constant", "reflect", "edge", "wrap"};
  return kNames[static_cast<size_t>(mode)];
}
const char* scatter_name(graph::ScatterOp op) {
  constexpr const char* kNames[] = {"none", "add", "mul", "max", "min"};
  return kNames[static_cast<size_t>(op)];
}

// ---- shapes as inputs
// --------------------------------------------------------------------------------------------------

// The i64[1] that holds one dimension while the model runs: a constant, or the dimension of a graph input
// that is that symbol.
Result<std::string> dim_input(NodeWriter& w, const Dim& dim) {
  if (dim.is_constant()) return w.ints({dim.value()});
  for (graph::ValueId id : w.graph().inputs) {
    const Shape& shape = w.graph().value(id).type.shape;
    for (size_t a = 0; a < shape.size(); ++a)
      if (shape[a] == dim)
        return w.temp("Shape", {w.name_of(id)},
                      {{"start", static_cast<int64_t>(a)}, {"end", static_cast<int64_t>(a) + 1}});
  }
  return make_error(Code::kUnsupported,
                    "size " + dim.text() + " cannot be written: no input has that dimension");
}

// A shape as an i64 vector.
Result<std::string> shape_input(NodeWriter& w, const Shape& shape) {
  if (const auto sizes = graph::constant_shape(shape)) return w.ints(*sizes);
  Names parts;
  for (const Dim& dim : shape) {
    FRIT_ASSIGN(std::string part, dim_input(w, dim));
    parts.push_back(std::move(part));
  }
  return w.temp("Concat", parts, {{"axis", int64_t{0}}});
}

// A Reshape's shape input: where one dimension is not known it can be inferred, unless a 0 forbids it.
Result<std::string> reshape_input(NodeWriter& w, const Shape& shape) {
  std::vector<int64_t> sizes;
  int unknown = 0;
  bool zero = false;
  for (const Dim& dim : shape) {
    zero |= dim == Dim(0);
    unknown += !dim.is_constant();
    sizes.push_back(dim.constant().value_or(-1));
  }
  return unknown == 1 && !zero ? Result<std::string>(w.ints(sizes)) : shape_input(w, shape);
}

// ---- one function per op; those of one line are in the visitor
// ------------------------------------------------------------

Status write_binary(NodeWriter& w, graph::BinaryOp op) {
  using B = graph::BinaryOp;
  const Names in = w.ins();
  switch (op) {
    case B::kNe:
      w.finish("Not", {w.temp("Equal", in)});
      return {};
    case B::kModFloor:
      if (is_float(w.type(0).dtype)) {  // a - floor(a / b) * b; ONNX has it for floats from opset 28 on
        const std::string quotient = w.temp("Floor", {w.temp("Div", in)});
        w.finish("Sub", {in[0], w.temp("Mul", {quotient, in[1]})});
      } else {
        w.finish("Mod", in, {{"fmod", int64_t{0}}});
      }
      return {};
    case B::kModTrunc:
      w.finish("Mod", in, {{"fmod", int64_t{1}}});
      return {};
    case B::kShl:
    case B::kShr:
      if (!is_unsigned_int(w.type(0).dtype))
        return make_error(Code::kUnsupported, "shifts of signed integers cannot be written for opset 20");
      w.finish("BitShift", in, {{"direction", std::string(op == B::kShl ? "LEFT" : "RIGHT")}});
      return {};
    default:
      break;
  }
  constexpr const char* kNames[] = {
      "Add", "Sub",   "Mul", "Div",  "Pow",         "Min",       "Max",           "",
      "",    "And",   "Or",  "Xor",  "BitwiseAnd",  "BitwiseOr", "BitwiseXor",    "",
      "",    "Equal", "",    "Less", "LessOrEqual", "Greater",   "GreaterOrEqual"};
  w.finish(kNames[static_cast<size_t>(op)], in);
  return {};
}

// ONNX sums and reduces integers of 32 and 64 bits only; cutting a wider sum gives the wrapped narrow one.
void write_widened(NodeWriter& w, std::string_view op, const std::string& parameter,
                   const Attributes& attributes) {
  const DType dtype = w.type(0).dtype;
  if (is_float(dtype) || dtype_bytes(dtype) >= 4) {
    w.finish(op, {w.in(0), parameter}, attributes);
    return;
  }
  const std::string wide = w.temp("Cast", {w.in(0)}, {{"to", int64_t{dtype_to_onnx(DType::kI32)}}});
  const std::string result = w.temp(op, {wide, parameter}, attributes);
  w.finish("Cast", {result}, {{"to", int64_t{dtype_to_onnx(dtype)}}});
}

Status write_top_k(NodeWriter& w, const graph::TopK& op) {
  const std::string k = w.type(1).shape.empty() ? w.temp("Reshape", {w.in(1), w.ints({1})}) : w.in(1);
  w.finish("TopK", {w.in(0), k},
           {{"axis", op.axis}, {"largest", int64_t{op.largest}}, {"sorted", int64_t{op.sorted}}});
  return {};
}

Status write_conv_transpose(NodeWriter& w, const graph::ConvTranspose& op) {
  w.finish("ConvTranspose", w.ins(),
           {{"strides", op.strides},
            {"pads", op.pads},
            {"dilations", op.dilations},
            {"output_padding", op.output_padding},
            {"group", op.groups}});
  return {};
}

Status write_pool(NodeWriter& w, const graph::Pool& op) {
  Attributes a = {{"kernel_shape", op.kernel},
                  {"strides", op.strides},
                  {"pads", op.pads},
                  {"dilations", op.dilations},
                  {"ceil_mode", int64_t{op.ceil_mode}}};
  const bool average = op.op == graph::PoolOp::kAvg;
  if (average) a.push_back({"count_include_pad", int64_t{op.count_include_pad}});
  w.finish(average ? "AveragePool" : "MaxPool", {w.in(0)}, a);
  return {};
}

Status write_reshape(NodeWriter& w, const graph::Reshape& op) {
  std::string shape = w.in(1);
  if (!w.has(1)) {
    FRIT_ASSIGN(shape, reshape_input(w, w.out_type().shape));
  }
  // Shapes of ours say 0 where they mean 0.
  w.finish("Reshape", {w.in(0), shape}, {{"allowzero", int64_t{op.allowzero || !w.has(1)}}});
  return {};
}

Status write_expand(NodeWriter& w) {
  std::string shape = w.in(1);
  if (!w.has(1)) {
    FRIT_ASSIGN(shape, shape_input(w, w.out_type().shape));
  }
  w.finish("Expand", {w.in(0), shape});
  return {};
}

Status write_slice(NodeWriter& w, const graph::Slice& op) {
  const Shape &from = w.type(0).shape, &to = w.out_type().shape;
  std::vector<int64_t> starts, ends, axes, steps;
  for (size_t a = 0; a < from.size(); ++a) {
    if (op.starts[a] == Dim(0) && op.steps[a] == 1 && from[a] == to[a]) continue;
    if (!op.starts[a].is_constant() || !to[a].is_constant())
      return make_error(Code::kUnsupported,
                        text_of("the slice of axis ", a, " cannot be written: its bounds ",
                                op.starts[a].text(), " and ", to[a].text(), " are not constant"));
    const int64_t start = op.starts[a].value(), end = start + to[a].value() * op.steps[a];
    starts.push_back(start);
    // Going down past the first element has no number: -1 would mean the last one.
    ends.push_back(op.steps[a] < 0 && end < 0 ? INT64_MIN : end);
    axes.push_back(static_cast<int64_t>(a));
    steps.push_back(op.steps[a]);
  }
  w.finish("Slice", {w.in(0), w.ints(starts), w.ints(ends), w.ints(axes), w.ints(steps)});
  return {};
}

Status write_pad(NodeWriter& w, const graph::Pad& op) {
  std::vector<int64_t> pads = op.before;
  pads.insert(pads.end(), op.after.begin(), op.after.end());
  w.finish("Pad", {w.in(0), w.ints(pads), w.in(1)}, {{"mode", std::string(pad_name(op.mode))}});
  return {};
}

Status write_resize(NodeWriter& w, const graph::Resize& op) {
  constexpr const char* kModes[] = {"nearest", "linear", "cubic"};
  constexpr const char* kCoords[] = {"half_pixel", "pytorch_half_pixel",   "align_corners",
                                     "asymmetric", "half_pixel_symmetric", "tf_crop_and_resize"};
  constexpr const char* kNearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  if (op.coord == graph::ResizeCoord::kTfCropAndResize)
    return make_error(Code::kUnsupported, "a resize that crops cannot be written");
  std::string scales, sizes;
  if (w.has(1)) {
    (op.by_scales ? scales : sizes) = w.in(1);
  } else if (!op.scales.empty()) {
    scales = w.floats(op.scales);
  } else {
    FRIT_ASSIGN(sizes, shape_input(w, w.out_type().shape));
  }
  w.finish("Resize", {w.in(0), "", scales, sizes},
           {{"mode", std::string(kModes[static_cast<size_t>(op.mode)])},
            {"coordinate_transformation_mode", std::string(kCoords[static_cast<size_t>(op.coord)])},
            {"nearest_mode", std::string(kNearest[static_cast<size_t>(op.nearest)])},
            {"cubic_coeff_a", op.cubic_a},
            {"exclude_outside", int64_t{op.exclude_outside}}});
  return {};
}

// Range along the axis, reshaped and expanded.
Status write_iota(NodeWriter& w, const graph::Iota& op) {
  const Shape& shape = w.out_type().shape;
  FRIT_ASSIGN(const std::string size, dim_input(w, shape[static_cast<size_t>(op.axis)]));
  const std::string limit = w.temp("Reshape", {size, w.ints({})});
  const std::string range = w.temp("Range", {w.bits(DType::kI64, 0), limit, w.bits(DType::kI64, 1)});
  std::vector<int64_t> line(shape.size(), 1);
  line[static_cast<size_t>(op.axis)] = -1;
  FRIT_ASSIGN(const std::string full, shape_input(w, shape));
  w.finish("Expand", {w.temp("Reshape", {range, w.ints(line)}), full});
  return {};
}

Status write_fill(NodeWriter& w, const graph::Fill& op) {
  std::string shape = w.in(0);
  if (!w.has(0)) {
    FRIT_ASSIGN(shape, shape_input(w, w.out_type().shape));
  }
  w.finish("Expand", {w.bits(w.out_type().dtype, op.bits), shape});
  return {};
}

Status write_split(NodeWriter& w, const graph::Split& op) {
  Attributes a = {{"axis", op.axis}};
  if (!w.has(1)) a.push_back({"num_outputs", static_cast<int64_t>(w.node().outputs.size())});
  w.finish("Split", {w.in(0), w.in(1)}, a);
  return {};
}

Status write_lstm(NodeWriter& w, const graph::Lstm& op) {
  constexpr const char* kDirections[] = {"forward", "reverse", "bidirectional"};
  Attributes a = {{"hidden_size", op.hidden},
                  {"direction", std::string(kDirections[static_cast<size_t>(op.direction)])}};
  if (op.input_forget) a.push_back({"input_forget", int64_t{1}});
  if (op.clip != 0) a.push_back({"clip", op.clip});
  w.finish("LSTM", w.ins(), a);
  return {};
}

// Status of an op that is exactly one ONNX operator.
struct Visitor {
  NodeWriter& w;

  Status plain(std::string_view op, const Attributes& a = {}) const {
    w.finish(op, w.ins(), a);
    return {};
  }
  Status operator()(const graph::Unary& op) const { return plain(unary_name(op.op)); }
  Status operator()(const graph::Binary& op) const { return write_binary(w, op.op); }
  Status operator()(const graph::Select&) const { return plain("Where"); }
  Status operator()(const graph::Cast& op) const {
    return plain("Cast", {{"to", int64_t{dtype_to_onnx(op.to)}}});
  }
  Status operator()(const graph::Reduce& op) const {
    write_widened(w, reduce_name(op.op), w.ints(op.axes), {{"keepdims", int64_t{op.keepdims}}});
    return {};
  }
  Status operator()(const graph::ArgReduce& op) const {
    return plain(op.max ? "ArgMax" : "ArgMin", {{"axis", op.axis},
                                                {"keepdims", int64_t{op.keepdims}},
                                                {"select_last_index", int64_t{op.select_last}}});
  }
  Status operator()(const graph::CumSum& op) const {
    write_widened(w, "CumSum", w.bits(DType::kI64, static_cast<uint64_t>(op.axis)),
                  {{"exclusive", int64_t{op.exclusive}}, {"reverse", int64_t{op.reverse}}});
    return {};
  }
  Status operator()(const graph::TopK& op) const { return write_top_k(w, op); }
  Status operator()(const graph::MatMul&) const { return plain("MatMul"); }
  Status operator()(const graph::Conv& op) const {
    return plain(
        "Conv",
        {{"strides", op.strides}, {"pads", op.pads}, {"dilations", op.dilations}, {"group", op.groups}});
  }
  Status operator()(const graph::ConvTranspose& op) const { return write_conv_transpose(w, op); }
  Status operator()(const graph::Pool& op) const { return write_pool(w, op); }
  Status operator()(const graph::Reshape& op) const { return write_reshape(w, op); }
  Status operator()(const graph::Transpose& op) const { return plain("Transpose", {{"perm", op.perm}}); }
  Status operator()(const graph::Expand&) const { return write_expand(w); }
  Status operator()(const graph::Slice& op) const { return write_slice(w, op); }
  Status operator()(const graph::DynamicSlice&) const { return plain("Slice"); }
  Status operator()(const graph::Concat& op) const { return plain("Concat", {{"axis", op.axis}}); }
  Status operator()(const graph::Pad& op) const { return write_pad(w, op); }
  Status operator()(const graph::DynamicPad& op) const {
    return plain("Pad", {{"mode", std::string(pad_name(op.mode))}});
  }
  Status operator()(const graph::Tile&) const { return plain("Tile"); }
  Status operator()(const graph::Gather& op) const { return plain("Gather", {{"axis", op.axis}}); }
  Status operator()(const graph::GatherElements& op) const {
    return plain("GatherElements", {{"axis", op.axis}});
  }
  Status operator()(const graph::GatherND& op) const {
    return plain("GatherND", {{"batch_dims", op.batch_dims}});
  }
  Status operator()(const graph::ScatterElements& op) const {
    return plain("ScatterElements",
                 {{"axis", op.axis}, {"reduction", std::string(scatter_name(op.reduction))}});
  }
  Status operator()(const graph::ScatterND& op) const {
    return plain("ScatterND", {{"reduction", std::string(scatter_name(op.reduction))}});
  }
  Status operator()(const graph::Resize& op) const { return write_resize(w, op); }
  Status operator()(const graph::Range&) const { return plain("Range"); }
  Status operator()(const graph::Iota& op) const { return write_iota(w, op); }
  Status operator()(const graph::ShapeOf& op) const {
    return plain("Shape", {{"start", op.start}, {"end", op.end}});
  }
  Status operator()(const graph::Fill& op) const { return write_fill(w, op); }
  Status operator()(const graph::NonZero&) const { return plain("NonZero"); }
  Status operator()(const graph::BatchNorm& op) const {
    return plain("BatchNormalization", {{"epsilon", op.epsilon}});
  }
  Status operator()(const graph::LayerNorm& op) const {
    return plain("LayerNormalization", {{"axis", op.axis}, {"epsilon", op.epsilon}});
  }
  Status operator()(const graph::Softmax& op) const {
    return plain(op.log ? "LogSoftmax" : "Softmax", {{"axis", op.axis}});
  }
  Status operator()(const graph::Gelu& op) const {
    return plain("Gelu", {{"approximate", std::string(op.tanh ? "tanh" : "none")}});
  }
  Status operator()(const graph::Gemm& op) const {
    return plain("Gemm", {{"alpha", op.alpha},
                          {"beta", op.beta},
                          {"transA", int64_t{op.trans_a}},
                          {"transB", int64_t{op.trans_b}}});
  }
  Status operator()(const graph::HardSigmoid& op) const {
    return plain("HardSigmoid", {{"alpha", op.alpha}, {"beta", op.beta}});
  }
  Status operator()(const graph::HardSwish&) const { return plain("HardSwish"); }
  Status operator()(const graph::LeakyRelu& op) const { return plain("LeakyRelu", {{"alpha", op.alpha}}); }
  Status operator()(const graph::Clip&) const { return plain("Clip"); }
  Status operator()(const graph::Split& op) const { return write_split(w, op); }
  Status operator()(const graph::Lstm& op) const { return write_lstm(w, op); }
};

}  // namespace

Status export_node(NodeWriter& w) { return std::visit(Visitor{w}, w.node().op); }

}  // namespace frit::onnx
