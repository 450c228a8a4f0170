#include "graph/passes/match.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/try.h"
#include "graph/eval/element.h"
#include "graph/infer.h"

namespace frit::graph {
namespace {

constexpr int64_t kSplatScanElems = 4096;
constexpr int64_t kMapElems = 1 << 16;

// Row-major strides of `shape` read as if it had `result`'s rank, 0 along broadcast axes.
std::vector<int64_t> broadcast_strides(const Extents& shape, const Extents& result) {
  std::vector<int64_t> strides(result.size(), 0);
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    const size_t axis = result.size() - shape.size() + i;
    if (shape[i] != 1) strides[axis] = stride;
    stride *= shape[i];
  }
  return strides;
}

}  // namespace

std::optional<HostTensor> constant_tensor(const Graph& graph, ValueId id) {
  if (id == kNoValue) return std::nullopt;
  const Value& v = graph.value(id);
  if (!v.is_constant() || !v.type.layout.is_plain()) return std::nullopt;
  auto extents = constant_shape(v.type.shape);
  if (!extents) return std::nullopt;
  const auto count = checked_element_count(*extents);
  if (!count.ok() || static_cast<size_t>(*count) * dtype_bytes(v.type.dtype) != v.constant->size_bytes)
    return std::nullopt;
  if (v.constant->bytes == nullptr && *count > 0) return std::nullopt;
  return HostTensor::view(v.type.dtype, std::move(*extents), v.constant->bytes, v.constant);
}

std::optional<double> splat_value(const Graph& graph, ValueId id) {
  while (id != kNoValue) {
    const Value& v = graph.value(id);
    if (v.producer == kNoNode) break;
    const Node& node = graph.node(v.producer);
    if (!std::holds_alternative<Expand>(node.op) && !std::holds_alternative<Reshape>(node.op))
      return std::nullopt;
    id = node.inputs[0];
  }
  const auto tensor = constant_tensor(graph, id);
  if (!tensor || tensor->elements() < 1 || tensor->elements() > kSplatScanElems) return std::nullopt;
  const size_t width = dtype_bytes(tensor->dtype());
  for (int64_t i = 1; i < tensor->elements(); ++i) {
    if (std::memcmp(tensor->bytes(), tensor->bytes() + static_cast<size_t>(i) * width, width) != 0)
      return std::nullopt;
  }
  return tensor->as_double(0);
}

bool is_splat(const Graph& graph, ValueId id, double number) {
  const auto found = splat_value(graph, id);
  return found && *found == number && std::signbit(*found) == std::signbit(number);
}

std::optional<std::vector<int64_t>> constant_ints(const Graph& graph, ValueId id) {
  if (const auto tensor = constant_tensor(graph, id)) {
    if (is_float(tensor->dtype()) || tensor->elements() > kSplatScanElems) return std::nullopt;
    return tensor->as_int64s();
  }
  if (id == kNoValue || is_float(graph.value(id).type.dtype)) return std::nullopt;
  const auto known = known_contents(graph, id);
  if (!known) return std::nullopt;
  std::vector<int64_t> out;
  for (const Dim& d : *known) {
    if (!d.is_constant()) return std::nullopt;
    out.push_back(d.value());
  }
  return out;
}

std::shared_ptr<const ConstantData> make_splat(DType dtype, int64_t count, double number) {
  const size_t width = dtype_bytes(dtype);
  std::vector<std::byte> bytes(static_cast<size_t>(count) * width);
  eval::with_storage_type(dtype, [&](auto tag) {
    const auto element = eval::to_storage<typename decltype(tag)::type>(number);
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(bytes.data() + static_cast<size_t>(i) * width, &element, width);
  });
  return make_constant(std::move(bytes));
}

ValueId add_scalar(Rewriter& r, DType dtype, double number) {
  return r.add_constant({dtype, {}, {}}, make_splat(dtype, 1, number));
}

std::optional<ValueId> map_constant(Rewriter& r, ValueId a, const MapOne& f) {
  const auto x = constant_tensor(r.graph(), a);
  if (!x || x->elements() > kMapElems || !is_float(x->dtype())) return std::nullopt;
  auto out = HostTensor::allocate(x->dtype(), x->shape());
  if (!out.ok()) return std::nullopt;
  for (int64_t i = 0; i < x->elements(); ++i) {
    const auto y = f(x->as_double(i));
    if (!y) return std::nullopt;
    eval::store(*out, i, 1, &*y);
  }
  const std::byte* bytes = out->bytes();
  return r.add_constant(r.type(a), make_constant({bytes, bytes + out->size_bytes()}));
}

std::optional<ValueId> map_constants(Rewriter& r, ValueId a, ValueId b, const MapTwo& f) {
  const auto x = constant_tensor(r.graph(), a), y = constant_tensor(r.graph(), b);
  if (!x || !y || !is_float(x->dtype()) || x->dtype() != y->dtype()) return std::nullopt;
  const auto shape = broadcast_shapes(r.shape(a), r.shape(b));
  if (!shape) return std::nullopt;
  const Extents extents = *constant_shape(*shape);
  const auto count = checked_element_count(extents);
  if (!count.ok() || *count > kMapElems) return std::nullopt;
  auto out = HostTensor::allocate(x->dtype(), extents);
  if (!out.ok()) return std::nullopt;
  const auto sx = broadcast_strides(x->shape(), extents), sy = broadcast_strides(y->shape(), extents);
  for (int64_t i = 0; i < *count; ++i) {
    int64_t rest = i, at_x = 0, at_y = 0;
    for (size_t axis = extents.size(); axis-- > 0;) {
      const int64_t index = rest % extents[axis];
      rest /= extents[axis];
      at_x += index * sx[axis];
      at_y += index * sy[axis];
    }
    const auto z = f(x->as_double(at_x), y->as_double(at_y));
    if (!z) return std::nullopt;
    eval::store(*out, i, 1, &*z);
  }
  const std::byte* bytes = out->bytes();
  return r.add_constant({x->dtype(), *shape, {}}, make_constant({bytes, bytes + out->size_bytes()}));
}

ValueId reshape_constant(Rewriter& r, ValueId constant, Shape shape) {
  return r.add_constant({r.type(constant).dtype, std::move(shape), {}}, r.value(constant).constant);
}

bool commutes(const Op& op) {
  const auto* binary = std::get_if<Binary>(&op);
  if (!binary) return false;
  switch (binary->op) {
    case BinaryOp::kAdd:
    case BinaryOp::kMul:
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kXor:
    case BinaryOp::kBitAnd:
    case BinaryOp::kBitOr:
    case BinaryOp::kBitXor:
    case BinaryOp::kEq:
    case BinaryOp::kNe:
      return true;
    default:
      return false;
  }
}

bool same_shape(const Rewriter& r, ValueId a, ValueId b) { return r.shape(a) == r.shape(b); }

bool is_one(const Dim& dim) { return dim == Dim(1); }

bool has_one_element(const Shape& shape) { return std::all_of(shape.begin(), shape.end(), is_one); }

std::optional<int64_t> constant_elements(const Shape& shape) { return element_count(shape).constant(); }

std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape out(rank, Dim(1));
  for (size_t i = 0; i < rank; ++i) {  // from the last axis
    const Dim x = i < a.size() ? a[a.size() - 1 - i] : Dim(1);
    const Dim y = i < b.size() ? b[b.size() - 1 - i] : Dim(1);
    Dim& z = out[rank - 1 - i];
    if (x == y || is_one(y))
      z = x;
    else if (is_one(x))
      z = y;
    else
      return std::nullopt;
  }
  return out;
}

std::optional<WithConstant> match_constant_right(const Rewriter& r, const Node& node, BinaryOp op) {
  const auto* binary = std::get_if<Binary>(&node.op);
  if (!binary || binary->op != op || !r.value(node.inputs[1]).is_constant()) return std::nullopt;
  return WithConstant{node.inputs[0], node.inputs[1]};
}

bool is_normal_in(DType dtype, double number) {
  const double magnitude = std::fabs(number);
  switch (dtype) {
    case DType::kF64:
      return magnitude >= 0x1p-1022 && magnitude < INFINITY;
    case DType::kF32:
      return magnitude >= 0x1p-126 && magnitude <= 0x1.fffffep127;
    case DType::kBF16:
      return magnitude >= 0x1p-126 && magnitude <= 0x1.fep127;
    case DType::kF16:
      return magnitude >= 0x1p-14 && magnitude <= 65504;
    default:
      return false;
  }
}

bool is_power_of_two(double number) {
  int exponent = 0;
  return std::isfinite(number) && std::fabs(std::frexp(number, &exponent)) == 0.5;
}

Result<bool> finish(Rewriter& r, NodeId id, Result<ValueId> made) {
  FRIT_ASSIGN(const ValueId y, std::move(made));
  r.replace(r.node(id).outputs[0], y);
  return true;
}

Result<bool> becomes(Rewriter& r, NodeId id, ValueId x) {
  const TensorType type = r.type(r.node(id).outputs[0]);
  if (r.shape(x) != type.shape) x = r.add_typed(Expand{}, {x}, type);
  r.replace(r.node(id).outputs[0], x);
  return true;
}

}  // namespace frit::graph
