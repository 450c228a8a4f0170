// Known contents of small integer tensors: what a shape computation gives, element by element, as
// expressions.
//
// Tensors of a float dtype take part while all elements are whole numbers, since exporters compute sizes in
// floating point (Shape -> Cast -> Mul -> Floor -> Cast).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "graph/infer_context.h"

namespace frit::graph {
namespace {

using Known = std::optional<std::vector<Dim>>;

// A tensor with constant shape and known elements.
struct Contents {
  std::vector<int64_t> shape;
  std::vector<Dim> data;
};

size_t count_of(const std::vector<int64_t>& shape) {
  size_t n = 1;
  for (int64_t d : shape) n *= static_cast<size_t>(d);
  return n;
}

// The shape, when it is constant and small.
std::optional<std::vector<int64_t>> small_shape(const Shape& shape) {
  auto dims = constant_shape(shape);
  if (!dims) return std::nullopt;
  int64_t count = 1;
  for (int64_t d : *dims) {
    if (d < 0 || d > static_cast<int64_t>(kMaxKnownElements)) return std::nullopt;
    count *= d;
    if (count > static_cast<int64_t>(kMaxKnownElements)) return std::nullopt;
  }
  return dims;
}

std::optional<Contents> contents(const InferContext& c, size_t i) {
  if (!c.has(i)) return std::nullopt;
  auto shape = small_shape(c.shape(i));
  auto data = c.known(i);
  if (!shape || !data || data->size() != count_of(*shape)) return std::nullopt;
  return Contents{std::move(*shape), std::move(*data)};
}

// Calls f(index) for every index of the shape, in row-major order.
template <class F>
void for_each_index(const std::vector<int64_t>& shape, F&& f) {
  const size_t total = count_of(shape);
  std::vector<int64_t> index(shape.size(), 0);
  for (size_t n = 0; n < total; ++n) {
    f(index);
    for (size_t k = shape.size(); k-- > 0;) {
      if (++index[k] < shape[k]) break;
      index[k] = 0;
    }
  }
}

size_t offset_of(const std::vector<int64_t>& shape, const std::vector<int64_t>& index) {
  size_t at = 0;
  for (size_t k = 0; k < shape.size(); ++k)
    at = at * static_cast<size_t>(shape[k]) + static_cast<size_t>(index[k]);
  return at;
}

// The element that broadcasting puts at `index` of a tensor with at least x's rank.
const Dim& broadcast_at(const Contents& x, const std::vector<int64_t>& index) {
  size_t at = 0;
  const size_t skip = index.size() - x.shape.size();
  for (size_t k = 0; k < x.shape.size(); ++k) {
    at = at * static_cast<size_t>(x.shape[k]) + static_cast<size_t>(x.shape[k] == 1 ? 0 : index[skip + k]);
  }
  return x.data[at];
}

// Whether a value of this type can be exactly d (a symbolic one is a size, and assumed to fit).
bool fits(DType t, const Dim& d) {
  const auto v = d.constant();
  if (!v) return true;
  auto within = [&](int64_t low, int64_t high) { return *v >= low && *v <= high; };
  switch (t) {
    case DType::kF32:
      return within(-(1 << 24), 1 << 24);
    case DType::kF64:
      return within(-(int64_t{1} << 53), int64_t{1} << 53);
    case DType::kF16:
      return within(-2048, 2048);
    case DType::kBF16:
      return within(-256, 256);
    case DType::kI8:
      return within(INT8_MIN, INT8_MAX);
    case DType::kI16:
      return within(INT16_MIN, INT16_MAX);
    case DType::kI32:
      return within(INT32_MIN, INT32_MAX);
    case DType::kI64:
      return true;
    case DType::kU8:
      return within(0, UINT8_MAX);
    case DType::kU16:
      return within(0, UINT16_MAX);
    case DType::kU32:
      return within(0, UINT32_MAX);
    case DType::kU64:
      return within(0, INT64_MAX);
    case DType::kBool:
      return within(0, 1);
  }
  return false;
}

std::optional<int64_t> whole_number(double v) {
  if (!(std::fabs(v) <= 9007199254740992.0) || v != std::floor(v)) return std::nullopt;
  return static_cast<int64_t>(v);
}

std::optional<int64_t> decode(DType t, const std::byte* bytes) {
  auto read = [bytes]<class T>(T value) {
    std::memcpy(&value, bytes, sizeof value);
    return value;
  };
  switch (t) {
    case DType::kF32:
      return whole_number(static_cast<double>(read(float{})));
    case DType::kF64:
      return whole_number(read(double{}));
    case DType::kF16:
    case DType::kBF16:
      return std::nullopt;  // nobody computes shapes in these
    case DType::kI8:
      return read(int8_t{});
    case DType::kI16:
      return read(int16_t{});
    case DType::kI32:
      return read(int32_t{});
    case DType::kI64:
      return read(int64_t{});
    case DType::kU8:
      return read(uint8_t{});
    case DType::kU16:
      return read(uint16_t{});
    case DType::kU32:
      return read(uint32_t{});
    case DType::kU64: {
      const uint64_t v = read(uint64_t{});
      if (v > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
      return static_cast<int64_t>(v);
    }
    case DType::kBool:
      return read(uint8_t{}) != 0;
  }
  return std::nullopt;
}

std::optional<Dim> from_decision(std::optional<bool> decision, bool negate = false) {
  if (!decision) return std::nullopt;
  return Dim(*decision != negate ? 1 : 0);
}

bool both_sizes(const Dim& a, const Dim& b) { return is_non_negative(a) && is_non_negative(b - 1); }

std::optional<Dim> divide(DType t, const Dim& a, const Dim& b) {
  if (b == Dim(0)) return std::nullopt;
  Dim q = floor_div(a, b);
  if (q * b == a || (!is_float(t) && both_sizes(a, b))) return q;
  if (is_float(t) || !a.is_constant() || !b.is_constant()) return std::nullopt;
  return b == Dim(-1) ? Dim(0) - a : Dim(a.value() / b.value());
}

std::optional<Dim> power(const Dim& a, const Dim& b) {
  const auto n = b.constant();
  if (!n || *n < 0 || *n > 16) return std::nullopt;
  Dim out(1);
  for (int64_t i = 0; i < *n; ++i) out = out * a;
  return out;
}

std::optional<Dim> eval_unary(UnaryOp op, const Dim& x) {
  switch (op) {
    case UnaryOp::kNeg:
      return Dim(0) - x;
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kRound:
      return x;
    case UnaryOp::kRelu:
      return max(x, 0);
    case UnaryOp::kAbs:
      if (is_non_negative(x)) return x;
      if (is_non_negative(Dim(0) - x)) return Dim(0) - x;
      return std::nullopt;
    case UnaryOp::kNot:
      if (x.is_constant()) return Dim(x == Dim(0) ? 1 : 0);
      return std::nullopt;
    case UnaryOp::kSign:
      if (x.is_constant()) return Dim((x.value() > 0) - (x.value() < 0));
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<Dim> eval_binary(BinaryOp op, DType t, const Dim& a, const Dim& b) {
  const bool constants = a.is_constant() && b.is_constant();
  switch (op) {
    case BinaryOp::kAdd:
      return a + b;
    case BinaryOp::kSub:
      return a - b;
    case BinaryOp::kMul:
      return a * b;
    case BinaryOp::kDiv:
      return divide(t, a, b);
    case BinaryOp::kPow:
      return power(a, b);
    case BinaryOp::kMin:
      return min(a, b);
    case BinaryOp::kMax:
      return max(a, b);
    case BinaryOp::kModFloor:
      if (b != Dim(0) && (constants || both_sizes(a, b))) return mod(a, b);
      return std::nullopt;
    case BinaryOp::kModTrunc:
      if (b == Dim(0)) return std::nullopt;
      if (both_sizes(a, b)) return mod(a, b);
      if (constants) return Dim(b == Dim(-1) ? 0 : a.value() % b.value());
      return std::nullopt;
    case BinaryOp::kEq:
      return from_decision(decide_equal(a, b));
    case BinaryOp::kNe:
      return from_decision(decide_equal(a, b), true);
    case BinaryOp::kLt:
      return from_decision(decide_less(a, b));
    case BinaryOp::kGe:
      return from_decision(decide_less(a, b), true);
    case BinaryOp::kGt:
      return from_decision(decide_less(b, a));
    case BinaryOp::kLe:
      return from_decision(decide_less(b, a), true);
    case BinaryOp::kAnd:
    case BinaryOp::kBitAnd:
      if (constants) return Dim(a.value() & b.value());
      return std::nullopt;
    case BinaryOp::kOr:
    case BinaryOp::kBitOr:
      if (constants) return Dim(a.value() | b.value());
      return std::nullopt;
    case BinaryOp::kXor:
    case BinaryOp::kBitXor:
      if (constants) return Dim(a.value() ^ b.value());
      return std::nullopt;
    case BinaryOp::kShl:
    case BinaryOp::kShr:
      return std::nullopt;
  }
  return std::nullopt;
}

// One overload per op whose contents can be followed; each returns the elements of output 0 in `shape`.
class Follow {
 public:
  Follow(const InferContext& c, const TensorType& type, std::vector<int64_t> shape)
      : c_(c), type_(type), shape_(std::move(shape)) {}

  Known operator()(const Unary& op) const {
    const auto x = contents(c_, 0);
    if (!x) return std::nullopt;
    return each([&](const auto& index) { return eval_unary(op.op, broadcast_at(*x, index)); });
  }
  Known operator()(const Binary& op) const {
    const auto a = contents(c_, 0), b = contents(c_, 1);
    if (!a || !b) return std::nullopt;
    return each([&](const auto& index) {
      return eval_binary(op.op, c_.dtype(0), broadcast_at(*a, index), broadcast_at(*b, index));
    });
  }
  Known operator()(const Select&) const {
    const auto condition = contents(c_, 0), then = contents(c_, 1), otherwise = contents(c_, 2);
    if (!condition) return std::nullopt;
    return each([&](const auto& index) -> std::optional<Dim> {
      const auto chosen = broadcast_at(*condition, index).constant();
      const auto& from = chosen.value_or(0) != 0 ? then : otherwise;
      if (!chosen || !from) return std::nullopt;
      return broadcast_at(*from, index);
    });
  }
  Known operator()(const Cast& op) const {
    const auto x = contents(c_, 0);
    if (!x) return std::nullopt;
    return each([&](const auto& index) -> std::optional<Dim> {
      const Dim& d = broadcast_at(*x, index);
      if (op.to == DType::kBool) return from_decision(decide_equal(d, 0), true);
      return d;
    });
  }
  Known operator()(const Clip&) const {
    const auto x = contents(c_, 0), low = contents(c_, 1), high = contents(c_, 2);
    if (!x || (c_.has(1) && !low) || (c_.has(2) && !high)) return std::nullopt;
    return each([&](const auto& index) -> std::optional<Dim> {
      Dim d = broadcast_at(*x, index);
      if (low) d = max(d, low->data[0]);
      if (high) d = min(d, high->data[0]);
      return d;
    });
  }
  Known operator()(const Reduce& op) const {
    const auto x = contents(c_, 0);
    if (!x || x->data.empty() || op.op == ReduceOp::kMean) return std::nullopt;
    std::vector<std::optional<Dim>> out(count_of(shape_));
    for_each_index(x->shape, [&](const std::vector<int64_t>& index) {
      std::vector<int64_t> target;
      for (size_t k = 0; k < index.size(); ++k) {
        const bool reduced =
            std::find(op.axes.begin(), op.axes.end(), static_cast<int64_t>(k)) != op.axes.end();
        if (!reduced) target.push_back(index[k]);
        if (reduced && op.keepdims) target.push_back(0);
      }
      const Dim& d = x->data[offset_of(x->shape, index)];
      auto& slot = out[offset_of(shape_, target)];
      slot = !slot                      ? d
             : op.op == ReduceOp::kSum  ? *slot + d
             : op.op == ReduceOp::kProd ? *slot * d
             : op.op == ReduceOp::kMax  ? max(*slot, d)
                                        : min(*slot, d);
    });
    return checked(std::move(out));
  }
  Known operator()(const CumSum& op) const {
    const auto x = contents(c_, 0);
    if (!x) return std::nullopt;
    const auto axis = static_cast<size_t>(op.axis);
    return each([&](const std::vector<int64_t>& index) -> std::optional<Dim> {
      Dim sum;
      std::vector<int64_t> at = index;
      for (at[axis] = 0; at[axis] < x->shape[axis]; ++at[axis]) {
        const int64_t behind = op.reverse ? at[axis] - index[axis] : index[axis] - at[axis];
        if (behind > 0 || (behind == 0 && !op.exclusive)) sum = sum + x->data[offset_of(x->shape, at)];
      }
      return sum;
    });
  }
  Known operator()(const Reshape&) const {
    auto x = contents(c_, 0);
    if (!x || x->data.size() != count_of(shape_)) return std::nullopt;
    return std::move(x->data);
  }
  Known operator()(const Transpose& op) const {
    return mapped([&](const auto& index) {
      std::vector<int64_t> at(index.size());
      for (size_t k = 0; k < index.size(); ++k) at[static_cast<size_t>(op.perm[k])] = index[k];
      return at;
    });
  }
  Known operator()(const Expand&) const {
    const auto x = contents(c_, 0);
    if (!x) return std::nullopt;
    return each([&](const auto& index) -> std::optional<Dim> { return broadcast_at(*x, index); });
  }
  Known operator()(const Slice& op) const {
    const auto starts = constant_shape(op.starts);
    if (!starts) return std::nullopt;
    return mapped([&](const auto& index) {
      std::vector<int64_t> at(index.size());
      for (size_t k = 0; k < index.size(); ++k) at[k] = (*starts)[k] + index[k] * op.steps[k];
      return at;
    });
  }
  Known operator()(const DynamicSlice&) const {
    std::vector<int64_t> starts(shape_.size(), 0), steps(shape_.size(), 1);
    const auto first = c_.known(1), stop = c_.known(2), axes = c_.known(3), stride = c_.known(4);
    if (!first || !stop || (c_.has(3) && !axes) || (c_.has(4) && !stride)) return std::nullopt;
    for (size_t i = 0; i < first->size(); ++i) {
      if (axes && !(*axes)[i].is_constant()) return std::nullopt;
      int64_t axis = axes ? (*axes)[i].value() : static_cast<int64_t>(i);
      if (axis < 0) axis += static_cast<int64_t>(shape_.size());
      const auto k = static_cast<size_t>(axis);
      const auto step = stride ? (*stride)[i].constant() : 1;
      if (!step) return std::nullopt;
      const auto bounds = slice_bounds(c_.shape(0)[k], (*first)[i], (*stop)[i], *step);
      if (!bounds || !bounds->start.is_constant()) return std::nullopt;
      starts[k] = bounds->start.value();
      steps[k] = *step;
    }
    return mapped([&](const auto& index) {
      std::vector<int64_t> at(index.size());
      for (size_t k = 0; k < index.size(); ++k) at[k] = starts[k] + index[k] * steps[k];
      return at;
    });
  }
  Known operator()(const Concat& op) const {
    const auto axis = static_cast<size_t>(op.axis);
    std::vector<Contents> parts;
    for (size_t i = 0; i < c_.node().inputs.size(); ++i) {
      auto part = contents(c_, i);
      if (!part) return std::nullopt;
      parts.push_back(std::move(*part));
    }
    return each([&](std::vector<int64_t> index) -> std::optional<Dim> {
      for (const Contents& part : parts) {
        if (index[axis] < part.shape[axis]) {
          for (size_t k = 0; k < index.size(); ++k) {
            if (index[k] >= part.shape[k]) return std::nullopt;
          }
          return part.data[offset_of(part.shape, index)];
        }
        index[axis] -= part.shape[axis];
      }
      return std::nullopt;
    });
  }
  Known operator()(const Tile&) const {
    const auto x = contents(c_, 0);
    if (!x) return std::nullopt;
    return mapped([&](const auto& index) {
      std::vector<int64_t> at(index.size());
      for (size_t k = 0; k < index.size(); ++k) at[k] = index[k] % x->shape[k];
      return at;
    });
  }
  Known operator()(const Gather& op) const {
    const auto indices = contents(c_, 1);
    if (!indices) return std::nullopt;
    const auto axis = static_cast<size_t>(op.axis);
    const size_t depth = indices->shape.size();
    return mapped([&](const std::vector<int64_t>& index) {
      const std::vector<int64_t> which(index.begin() + op.axis,
                                       index.begin() + op.axis + static_cast<int64_t>(depth));
      std::vector<int64_t> at(index.begin(), index.begin() + op.axis);
      at.push_back(position(indices->data[offset_of(indices->shape, which)], axis));
      at.insert(at.end(), index.begin() + op.axis + static_cast<int64_t>(depth), index.end());
      return at;
    });
  }
  Known operator()(const GatherElements& op) const {
    const auto indices = contents(c_, 1);
    if (!indices) return std::nullopt;
    const auto axis = static_cast<size_t>(op.axis);
    return mapped([&](const std::vector<int64_t>& index) {
      std::vector<int64_t> at = index;
      at[axis] = position(indices->data[offset_of(indices->shape, index)], axis);
      return at;
    });
  }
  Known operator()(const ShapeOf& op) const {
    return std::vector<Dim>(c_.shape(0).begin() + op.start, c_.shape(0).begin() + op.end);
  }
  Known operator()(const Range&) const {
    const auto start = c_.known(0), delta = c_.known(2);
    if (!start || !delta || start->size() != 1 || delta->size() != 1) return std::nullopt;
    return each(
        [&](const auto& index) -> std::optional<Dim> { return (*start)[0] + (*delta)[0] * Dim(index[0]); });
  }
  Known operator()(const Iota& op) const {
    return each(
        [&](const auto& index) -> std::optional<Dim> { return Dim(index[static_cast<size_t>(op.axis)]); });
  }
  Known operator()(const Fill& op) const {
    std::byte bytes[sizeof op.bits];
    std::memcpy(bytes, &op.bits, sizeof op.bits);
    const auto value = decode(type_.dtype, bytes);
    if (!value) return std::nullopt;
    return std::vector<Dim>(count_of(shape_), Dim(*value));
  }
  template <class Other>
  Known operator()(const Other&) const {
    return std::nullopt;
  }

 private:
  // The elements f(index); none as soon as one is not known or does not fit the type.
  template <class F>
  Known each(F&& f) const {
    std::vector<std::optional<Dim>> out;
    for_each_index(shape_, [&](const std::vector<int64_t>& index) { out.push_back(f(index)); });
    return checked(std::move(out));
  }
  // Element `index` is x[source(index)].
  template <class F>
  Known mapped(F&& source) const {
    const auto x = contents(c_, 0);
    if (!x) return std::nullopt;
    return each([&](const std::vector<int64_t>& index) -> std::optional<Dim> {
      const std::vector<int64_t> at = source(index);
      for (size_t k = 0; k < at.size(); ++k) {
        if (at[k] < 0 || at[k] >= x->shape[k]) return std::nullopt;
      }
      return x->data[offset_of(x->shape, at)];
    });
  }
  Known checked(std::vector<std::optional<Dim>> elements) const {
    std::vector<Dim> out;
    for (auto& d : elements) {
      if (!d || !fits(type_.dtype, *d)) return std::nullopt;
      out.push_back(std::move(*d));
    }
    return out;
  }
  // A constant index along an axis of input 0, counted from the end when negative; -1 when it is not known.
  int64_t position(const Dim& index, size_t axis) const {
    const auto i = index.constant();
    if (!i) return -1;
    return *i < 0 ? *i + c_.shape(0)[axis].constant().value_or(0) : *i;
  }

  const InferContext& c_;
  const TensorType& type_;
  std::vector<int64_t> shape_;
};

}  // namespace

std::optional<std::vector<Dim>> known_contents(const Graph& graph, ValueId id) {
  const Value& v = graph.value(id);
  if (v.known || !v.is_constant()) return v.known;
  const auto shape = small_shape(v.type.shape);
  const size_t size = dtype_bytes(v.type.dtype);
  if (!shape || v.constant->size_bytes != count_of(*shape) * size) return std::nullopt;
  std::vector<Dim> out;
  for (size_t i = 0; i < count_of(*shape); ++i) {
    const auto value = decode(v.type.dtype, v.constant->bytes + i * size);
    if (!value) return std::nullopt;
    out.emplace_back(*value);
  }
  return out;
}

std::vector<std::optional<std::vector<Dim>>> infer_known(const InferContext& c, const Types& types) {
  std::vector<Known> out(types.size());
  if (const Split* split = std::get_if<Split>(&c.node().op)) {
    const auto x = contents(c, 0);
    const auto axis = static_cast<size_t>(split->axis);
    int64_t begin = 0;
    for (size_t j = 0; x && j < types.size(); ++j) {
      const auto shape = small_shape(types[j].shape);
      if (!shape) break;
      std::vector<Dim> part;
      for_each_index(*shape, [&](std::vector<int64_t> index) {
        index[axis] += begin;
        if (index[axis] < x->shape[axis]) part.push_back(x->data[offset_of(x->shape, index)]);
      });
      if (part.size() == count_of(*shape)) out[j] = std::move(part);
      begin += (*shape)[axis];
    }
    return out;
  }
  if (types.empty()) return out;
  if (auto shape = small_shape(types[0].shape))
    out[0] = std::visit(Follow(c, types[0], std::move(*shape)), c.node().op);
  return out;
}

}  // namespace frit::graph
