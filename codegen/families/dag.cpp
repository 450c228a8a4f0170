#include "codegen/families/dag.h"

#include <cstring>

#include "codegen/families/scalar_ops.h"
#include "loop/affine.h"

namespace frit::codegen {

using graph::Node;
using graph::ValueId;
using loop::Expr;
using loop::ExprKind;

bool Dag::Key::operator<(const Key& o) const {
  if (value != o.value) return value < o.value;
  if (guard != o.guard) return guard < o.guard;
  return index < o.index;
}

Dag::Dag(const Group& group, loop::Builder& builder, int32_t lanes)
    : group_(group), builder_(builder), lanes_(lanes), lane_(lanes == 1 ? builder.integer(0) : builder.context().new_var({DType::kI64, 1})) {
  if (lanes > 1) note_range(lane_, 0, lanes - 1);
  shapes_.reserve(group.graph.values.size());
  for (const auto& value : group.graph.values) {
    std::vector<int64_t> shape;
    for (const auto& d : value.type.shape) shape.push_back(d.value());
    shapes_.push_back(std::move(shape));
  }
}

void Dag::note_range(Expr var, int64_t low, int64_t high) { ranges_.set(var, low, high); }
void Dag::bind_buffer(ValueId value, const loop::Buffer& buffer) { buffers_.insert_or_assign(value, buffer); }
void Dag::bind(ValueId value, std::function<Expr(const Index&)> at) { functions_.insert_or_assign(value, std::move(at)); }

bool Dag::varies(Expr e) {
  if (!e) return false;
  if (e->type.lanes > 1) return true;
  if ((lanes_ > 1 && e == lane_) || proxies_.count(e.node)) return true;
  if (auto it = varies_.find(e.node); it != varies_.end()) return it->second;
  bool v = varies(Expr{e->a}) || varies(Expr{e->b}) || varies(Expr{e->c});
  varies_.emplace(e.node, v);
  return v;
}

Expr Dag::proxy(Expr per_lane, int64_t low, int64_t high) {
  Expr var = builder_.context().new_var({DType::kI64, 1});
  note_range(var, low, high);
  proxies_.emplace(var.node, per_lane);
  return var;
}

Expr Dag::vectorize(Expr e) {
  if (e->type.lanes > 1) return e;
  if (!varies(e)) return lanes_ == 1 ? e : loop::splat(e, lanes_);
  if (auto it = proxies_.find(e.node); it != proxies_.end()) return it->second;
  if (e == lane_) return loop::ramp(builder_.integer(0), 1, lanes_);
  if (e->type.dtype != DType::kBool && !is_float(e->type.dtype)) {
    bool pure = true;  // a proxy inside makes the affine form wrong
    for (const auto& [var, value] : proxies_) pure = pure && !loop::depends_on(e, Expr{var});
    if (pure) {
      if (auto step = loop::stride_in(e, lane_, ranges_))
        return loop::ramp(simplify(loop::substitute(e, lane_, builder_.integer(0))), *step, lanes_);
    }
  }
  auto v = [&](const loop::ExprNode* n) { return vectorize(Expr{n}); };
  switch (e->kind) {
    case ExprKind::kUnary: return loop::unary(e->op, v(e->a));
    case ExprKind::kBinary: return loop::binary(e->op, v(e->a), v(e->b));
    case ExprKind::kFma: return loop::fma(v(e->a), v(e->b), v(e->c));
    case ExprKind::kSelect: return loop::select(v(e->a), v(e->b), v(e->c));
    case ExprKind::kCast: return loop::cast(v(e->a), e->type.dtype);
    case ExprKind::kBitcast: return loop::bitcast(v(e->a), e->type.dtype);
    default: return e;  // loads and variables that vary are proxies
  }
}

Expr Dag::condition(Expr c) { return varies(c) ? vectorize(c) : c; }

Expr Dag::all_of(Expr a, Expr b) {
  if (!a) return b;
  if (!b) return a;
  return loop::both(a, b);
}

Index Dag::delinearize(Expr linear, const std::vector<int64_t>& shape) {
  Index index(shape.size());
  for (size_t k = shape.size(); k-- > 0;) {
    int64_t n = shape[k] > 0 ? shape[k] : 1;
    Expr size = builder_.integer(n);
    index[k] = k == 0 ? linear : simplify(loop::floor_mod(linear, size));
    linear = simplify(loop::floor_div(linear, size));
  }
  return index;
}

Expr Dag::linearize(const Index& index, const std::vector<int64_t>& shape) {
  Expr linear = builder_.integer(0);
  for (size_t k = 0; k < shape.size(); ++k) linear = linear * shape[k] + index[k];
  return simplify(linear);
}

// Axes are matched up in runs of equal products first, so that only what a reshape really mixes is divided.
Index Dag::reshape_index(const Index& index, const std::vector<int64_t>& from, const std::vector<int64_t>& to) {
  Index out;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    size_t i0 = i, j0 = j;
    int64_t a = i < from.size() ? from[i++] : 1;
    int64_t b = j < to.size() ? to[j++] : 1;
    while (a != b && (i < from.size() || j < to.size())) {
      if ((a < b && i < from.size()) || j == to.size()) a *= from[i++];
      else b *= to[j++];
    }
    if (i == i0 + 1 && j == j0 + 1) {
      out.push_back(index[i0]);
      continue;
    }
    Index part(index.begin() + static_cast<long>(i0), index.begin() + static_cast<long>(i));
    std::vector<int64_t> part_from(from.begin() + static_cast<long>(i0), from.begin() + static_cast<long>(i));
    std::vector<int64_t> part_to(to.begin() + static_cast<long>(j0), to.begin() + static_cast<long>(j));
    Index split = delinearize(linearize(part, part_from), part_to);
    out.insert(out.end(), split.begin(), split.end());
  }
  return out;
}

Expr Dag::address(ValueId value, const Index& index) {
  const auto& shape = shapes_[static_cast<size_t>(value)];
  const auto& order = group_.graph.value(value).type.layout.order;
  Expr linear = builder_.integer(0);
  for (size_t k = 0; k < shape.size(); ++k) {
    size_t axis = order.empty() ? k : static_cast<size_t>(order[k]);
    linear = linear * shape[axis] + index[axis];
  }
  return simplify(linear);
}

Expr Dag::load(const loop::Buffer& buffer, DType dtype, Expr address, Expr guard) {
  loop::Context& c = builder_.context();
  Expr raw;
  if (!varies(address)) {
    if (guard && guard->type.lanes > 1) guard = loop::reduce(loop::OpCode::kOr, guard);
    raw = loop::load(c, buffer, address, 1, guard);
  } else {
    Expr mask = all_of(guard, tail_);
    if (mask && mask->type.lanes == 1 && lanes_ > 1) mask = loop::splat(mask, lanes_);
    Expr index = vectorize(address);
    if (index->kind == ExprKind::kRamp && index->bits == 1) index = Expr{index->a};
    raw = loop::load(c, buffer, index, lanes_, mask);
  }
  raw = builder_.let(raw);
  return dtype == DType::kBool && buffer.dtype != DType::kBool ? loop::cast(raw, DType::kBool) : raw;
}

namespace {

int64_t element_bits(const graph::Value& value, int64_t i) {
  const std::byte* at = value.constant->bytes + static_cast<size_t>(i) * dtype_bytes(value.type.dtype);
  switch (value.type.dtype) {
    case DType::kI8: { int8_t v; std::memcpy(&v, at, 1); return v; }
    case DType::kI16: { int16_t v; std::memcpy(&v, at, 2); return v; }
    case DType::kI32: { int32_t v; std::memcpy(&v, at, 4); return v; }
    default: break;
  }
  uint64_t bits = 0;
  std::memcpy(&bits, at, dtype_bytes(value.type.dtype));
  return static_cast<int64_t>(bits);
}

}  // namespace

Expr Dag::constant(const graph::Value& value, const Index& index) {
  loop::Context& c = builder_.context();
  const loop::Type type{value.type.dtype, 1};
  const int64_t count = static_cast<int64_t>(value.constant->size_bytes / dtype_bytes(value.type.dtype));
  bool uniform = count > 0;
  for (int64_t i = 1; i < count && uniform; ++i) uniform = element_bits(value, i) == element_bits(value, 0);
  if (uniform) return loop::const_bits(c, element_bits(value, 0), type);
  std::vector<int64_t> shape;
  for (const auto& d : value.type.shape) shape.push_back(d.value());
  Expr linear = linearize(index, shape);
  Expr wide = varies(linear) ? vectorize(linear) : linear;
  Expr out = loop::const_bits(c, count > 0 ? element_bits(value, count - 1) : 0, type);
  for (int64_t i = count - 2; i >= 0; --i) {
    Expr here = loop::eq(wide, loop::int_const(c, i, DType::kI64, wide->type.lanes));
    out = loop::select(here, loop::const_bits(c, element_bits(value, i), {type.dtype, wide->type.lanes}), out);
  }
  return out;
}

Expr Dag::at(ValueId value, const Index& index, Expr guard) {
  Key key{value, guard.node, {}};
  for (Expr e : index) key.index.push_back(e.node);
  if (auto it = memo_.find(key); it != memo_.end()) return it->second;
  const graph::Value& v = group_.graph.value(value);
  Expr result;
  if (auto fn = functions_.find(value); fn != functions_.end()) {
    result = fn->second(index);
  } else if (auto buffer = buffers_.find(value); buffer != buffers_.end()) {
    result = load(buffer->second, v.type.dtype, address(value, index), guard);
  } else if (v.is_constant()) {
    result = constant(v, index);
  } else {
    result = compute(group_.graph.node(v.producer), v.output_index, index, guard);
  }
  memo_.emplace(std::move(key), result);
  return result;
}

Expr Dag::at_broadcast(ValueId operand, ValueId result, const Index& index, Expr guard) {
  const auto& from = shape(operand);
  const size_t lead = shape(result).size() - from.size();
  Index own(from.size());
  for (size_t k = 0; k < from.size(); ++k)
    own[k] = from[k] == 1 ? builder_.integer(0) : index[lead + k];
  return at(operand, own, guard);
}

Expr Dag::gathered_axis(ValueId indices, const Index& at_index, int64_t extent, Expr guard) {
  Expr raw = at(indices, at_index, guard);
  if (raw->type.dtype != DType::kI64) raw = loop::cast(raw, DType::kI64);
  Expr zero = loop::int_const(builder_.context(), 0, DType::kI64, raw->type.lanes);
  Expr size = loop::int_const(builder_.context(), extent, DType::kI64, raw->type.lanes);
  Expr wrapped = builder_.let(loop::select(loop::lt(raw, zero), raw + size, raw));
  Expr bad = loop::either(loop::lt(wrapped, zero), loop::ge(wrapped, size));
  Expr active = raw->type.lanes > 1 ? all_of(guard, tail_) : guard;
  if (active) {
    if (active->type.lanes > 1 && bad->type.lanes == 1) active = loop::reduce(loop::OpCode::kOr, active);
    bad = loop::both(bad, active);
  }
  Expr worst = raw;
  if (bad->type.lanes > 1) {
    worst = loop::reduce(loop::OpCode::kMax, loop::select(bad, raw, loop::int_const(builder_.context(), INT64_MIN, DType::kI64, raw->type.lanes)));
    bad = loop::reduce(loop::OpCode::kOr, bad);
  }
  builder_.fail_if(bad, loop::kIndexOutOfRange, worst, builder_.integer(extent));
  if (wrapped->type.lanes > 1) return proxy(wrapped, 0, extent - 1);
  note_range(wrapped, 0, extent - 1);  // the same in every lane: loads with it stay contiguous
  return wrapped;
}

// The divisor with 1 in place of zero, behind a check that fails the run when a lane that counts is zero.
Expr Dag::checked_divisor(Expr b, Expr guard) {
  int64_t known = 0;
  if (loop::as_int(b, &known) && known != 0) return b;
  loop::Context& c = builder_.context();
  b = builder_.let(b);
  Expr zero = loop::eq(b, loop::int_const(c, 0, b->type.dtype, b->type.lanes));
  Expr bad = zero;
  if (Expr active = b->type.lanes > 1 ? all_of(guard, tail_) : guard; active) {
    if (active->type.lanes > 1 && bad->type.lanes == 1) active = loop::reduce(loop::OpCode::kOr, active);
    bad = loop::both(bad, active);
  }
  if (bad->type.lanes > 1) bad = loop::reduce(loop::OpCode::kOr, bad);
  builder_.fail_if(bad, loop::kDivisionByZero, builder_.integer(0), builder_.integer(0));
  return loop::select(zero, loop::int_const(c, 1, b->type.dtype, b->type.lanes), b);
}

Expr Dag::concat(const Node& node, const Index& index, Expr guard) {
  const auto axis = static_cast<size_t>(std::get<graph::Concat>(node.op).axis);
  int64_t begin = 0;
  std::vector<std::pair<Expr, Expr>> parts;  // (lies before its end, value)
  for (ValueId input : node.inputs) {
    const int64_t n = shape(input)[axis];
    if (n == 0) continue;
    Expr before_end = simplify(loop::lt(index[axis], builder_.integer(begin + n)));
    Expr after_begin = simplify(loop::ge(index[axis], builder_.integer(begin)));
    int64_t decided = 0;
    if (loop::as_int(before_end, &decided) && decided == 0) { begin += n; continue; }
    if (loop::as_int(after_begin, &decided) && decided == 0) break;
    Expr inside = simplify(loop::both(after_begin, before_end));
    Index own = index;
    own[axis] = simplify(index[axis] - begin);
    Expr g = loop::as_int(inside, &decided) ? guard : all_of(guard, condition(inside));
    parts.emplace_back(condition(before_end), at(input, own, g));
    begin += n;
  }
  if (parts.empty()) return loop::const_bits(builder_.context(), 0, {group_.graph.value(node.outputs[0]).type.dtype, 1});
  Expr out = parts.back().second;
  for (size_t k = parts.size() - 1; k-- > 0;) out = loop::select(parts[k].first, parts[k].second, out);
  return out;
}

Expr Dag::pad(const Node& node, const Index& index, Expr guard) {
  const auto& op = std::get<graph::Pad>(node.op);
  const auto& from = shape(node.inputs[0]);
  Index own(index.size());
  Expr inside;
  for (size_t k = 0; k < index.size(); ++k) {
    Expr i = simplify(index[k] - op.before[k]);
    const int64_t n = from[k];
    if (op.before[k] == 0 && op.after[k] <= 0) { own[k] = i; continue; }
    Expr last = builder_.integer(n - 1), zero = builder_.integer(0);
    switch (op.mode) {
      case graph::PadMode::kConstant: {
        Expr in = simplify(loop::both(loop::ge(i, zero), loop::le(i, last)));
        int64_t decided = 0;
        if (!(loop::as_int(in, &decided) && decided != 0)) inside = all_of(inside, in);
        break;
      }
      case graph::PadMode::kEdge: i = loop::max(loop::min(i, last), zero); break;
      case graph::PadMode::kReflect:
        i = loop::select(loop::lt(i, zero), zero - i, i);
        i = loop::select(loop::gt(i, last), builder_.integer(2 * (n - 1)) - i, i);
        break;
      case graph::PadMode::kWrap: i = loop::floor_mod(i, builder_.integer(n)); break;
    }
    own[k] = simplify(i);
  }
  if (!inside) return at(node.inputs[0], own, guard);
  inside = condition(simplify(inside));
  Expr value = at(node.inputs[0], own, all_of(guard, inside));
  const DType dtype = group_.graph.value(node.outputs[0]).type.dtype;
  Expr fill = node.inputs.size() > 1 && node.inputs[1] != graph::kNoValue
                  ? at(node.inputs[1], Index(shape(node.inputs[1]).size(), builder_.integer(0)), {})
                  : loop::const_bits(builder_.context(), 0, {dtype, 1});
  return loop::select(inside, value, fill);
}

namespace {

// The source coordinate of output position i, in f32 as ONNX defines it.
Expr source_coordinate(loop::Builder& b, const graph::Resize& op, Expr i, float scale, int64_t in, int64_t out) {
  Expr x = loop::cast(i, DType::kF32);
  auto num = [&](double v) { return b.number(v); };
  switch (op.coord) {
    case graph::ResizeCoord::kAsymmetric: return x / num(scale);
    case graph::ResizeCoord::kAlignCorners:
      return out == 1 ? num(0) : x * num(static_cast<float>(in - 1)) / num(static_cast<float>(out - 1));
    case graph::ResizeCoord::kPytorchHalfPixel:
      if (out == 1) return num(0);
      [[fallthrough]];
    default: return (x + num(0.5)) / num(scale) - num(0.5);
  }
}

Expr nearest_index(graph::ResizeNearest mode, Expr x, loop::Builder& b) {
  using loop::OpCode;
  switch (mode) {
    case graph::ResizeNearest::kFloor: return loop::unary(OpCode::kFloor, x);
    case graph::ResizeNearest::kCeil: return loop::unary(OpCode::kCeil, x);
    case graph::ResizeNearest::kRoundPreferCeil: return loop::unary(OpCode::kFloor, x + b.number(0.5));
    case graph::ResizeNearest::kRoundPreferFloor: return loop::unary(OpCode::kCeil, x - b.number(0.5));
  }
  return x;
}

}  // namespace

Expr Dag::resize(const Node& node, const Index& index, Expr guard) {
  const auto& op = std::get<graph::Resize>(node.op);
  const auto& from = shape(node.inputs[0]);
  const auto& to = shape(node.outputs[0]);
  struct Tap { Expr index; Expr weight; };  // no weight: 1
  std::vector<std::vector<Tap>> taps(index.size());
  for (size_t k = 0; k < index.size(); ++k) {
    const int64_t in = from[k], out = to[k];
    const float scale = op.scales.empty() ? static_cast<float>(out) / static_cast<float>(in) : op.scales[k];
    if (in == out && scale == 1.0f) { taps[k].push_back({index[k], {}}); continue; }
    const bool nearest = op.mode == graph::ResizeMode::kNearest;
    const bool whole = out % in == 0 && scale == static_cast<float>(out / in);
    const bool floors = (op.coord == graph::ResizeCoord::kAsymmetric && op.nearest == graph::ResizeNearest::kFloor) ||
                        (op.coord == graph::ResizeCoord::kHalfPixel && (op.nearest == graph::ResizeNearest::kRoundPreferFloor ||
                                                                         op.nearest == graph::ResizeNearest::kRoundPreferCeil));
    if (nearest && whole && floors) {
      taps[k].push_back({simplify(loop::floor_div(index[k], builder_.integer(out / in))), {}});
      continue;
    }
    Expr x = source_coordinate(builder_, op, index[k], scale, in, out);
    Expr zero = builder_.integer(0), last = builder_.integer(in - 1);
    auto clamp = [&](Expr e) { return loop::max(loop::min(e, last), zero); };
    if (nearest) {
      taps[k].push_back({clamp(loop::cast(nearest_index(op.nearest, x, builder_), DType::kI64)), {}});
      continue;
    }
    x = loop::max(loop::min(x, builder_.number(static_cast<float>(in - 1))), builder_.number(0));
    Expr low = loop::unary(loop::OpCode::kFloor, x);
    Expr i0 = clamp(loop::cast(low, DType::kI64));
    Expr t = condition(x - low);
    Expr one = builder_.number(1);
    taps[k].push_back({i0, loop::binary(loop::OpCode::kSub, one, t)});
    taps[k].push_back({loop::min(i0 + 1, last), t});
  }
  // All combinations of taps, axis 0 outermost, interpolating along the last axis first.
  std::function<Expr(size_t, Index)> blend = [&](size_t k, Index own) -> Expr {
    if (k == index.size()) return at(node.inputs[0], own, guard);
    Expr sum;
    for (const Tap& tap : taps[k]) {
      own[k] = tap.index;
      Expr v = blend(k + 1, own);
      if (!tap.weight) return v;
      sum = sum ? loop::fma(v, tap.weight, sum) : v * tap.weight;
    }
    return sum;
  };
  return blend(0, Index(index.size()));
}

Expr Dag::compute(const Node& node, int32_t output, const Index& index, Expr guard) {
  const ValueId out = node.outputs[static_cast<size_t>(output)];
  auto operand = [&](size_t k) { return at_broadcast(node.inputs[k], out, index, guard); };
  if (const auto* op = std::get_if<graph::Unary>(&node.op)) return emit_unary(op->op, operand(0));
  if (const auto* op = std::get_if<graph::Binary>(&node.op)) {
    Expr a = operand(0), b = operand(1);
    const bool divides = op->op == graph::BinaryOp::kDiv || op->op == graph::BinaryOp::kModFloor || op->op == graph::BinaryOp::kModTrunc;
    if (!divides || is_float(a->type.dtype)) return emit_binary(op->op, a, b);
    return emit_binary(op->op, a, checked_divisor(b, guard));
  }
  if (std::get_if<graph::Select>(&node.op)) {
    Expr c = operand(0), a = operand(1), b = operand(2);
    return loop::select(c, a, b);
  }
  if (const auto* op = std::get_if<graph::Cast>(&node.op)) return emit_cast(operand(0), op->to);
  if (std::get_if<graph::Reshape>(&node.op))
    return at(node.inputs[0], reshape_index(index, shape(out), shape(node.inputs[0])), guard);
  if (const auto* op = std::get_if<graph::Transpose>(&node.op)) {
    Index own(index.size());
    for (size_t k = 0; k < index.size(); ++k) own[static_cast<size_t>(op->perm[k])] = index[k];
    return at(node.inputs[0], own, guard);
  }
  if (std::get_if<graph::Expand>(&node.op)) return operand(0);
  if (const auto* op = std::get_if<graph::Slice>(&node.op)) {
    Index own(index.size());
    for (size_t k = 0; k < index.size(); ++k) own[k] = simplify(index[k] * op->steps[k] + op->starts[k].value());
    return at(node.inputs[0], own, guard);
  }
  if (std::get_if<graph::Concat>(&node.op)) return concat(node, index, guard);
  if (std::get_if<graph::Pad>(&node.op)) return pad(node, index, guard);
  if (std::get_if<graph::Resize>(&node.op)) return resize(node, index, guard);
  if (const auto* op = std::get_if<graph::Gather>(&node.op)) {
    const auto axis = static_cast<size_t>(op->axis);
    const size_t rank = shape(node.inputs[1]).size();
    Index where(index.begin() + op->axis, index.begin() + op->axis + static_cast<long>(rank));
    Index own(index.begin(), index.begin() + op->axis);
    own.push_back(gathered_axis(node.inputs[1], where, shape(node.inputs[0])[axis], guard));
    own.insert(own.end(), index.begin() + op->axis + static_cast<long>(rank), index.end());
    return at(node.inputs[0], own, guard);
  }
  if (const auto* op = std::get_if<graph::GatherElements>(&node.op)) {
    const auto axis = static_cast<size_t>(op->axis);
    Index own = index;
    own[axis] = gathered_axis(node.inputs[1], index, shape(node.inputs[0])[axis], guard);
    return at(node.inputs[0], own, guard);
  }
  if (const auto* op = std::get_if<graph::Iota>(&node.op)) {
    Expr i = index[static_cast<size_t>(op->axis)];
    return varies(i) ? vectorize(i) : i;
  }
  const auto& fill = std::get<graph::Fill>(node.op);
  return loop::const_bits(builder_.context(), static_cast<int64_t>(fill.bits), {group_.graph.value(out).type.dtype, 1});
}

void Dag::store(ValueId value, const Index& index, Expr element) {
  store_to(buffers_.at(value), value, index, element);
}

void Dag::store_to(const loop::Buffer& buffer, ValueId value, const Index& index, Expr element) {
  store_at(buffer, address(value, index), element);
}

void Dag::store_at(const loop::Buffer& buffer, Expr where, Expr element) {
  if (buffer.dtype != element->type.dtype) element = loop::cast(element, buffer.dtype);
  where = simplify(where);
  if (lanes_ == 1 || (!varies(where) && element->type.lanes == 1)) {
    builder_.store(buffer, where, element);
    return;
  }
  if (element->type.lanes == 1) element = loop::splat(element, lanes_);
  Expr to = vectorize(where);
  if (to->kind == ExprKind::kRamp && to->bits == 1) to = Expr{to->a};
  builder_.store(buffer, to, element, tail_);
}

bool dag_can_evaluate(const graph::Graph& graph, const Node& node, std::string* why_not) {
  auto no = [&](std::string why) {
    if (why_not) *why_not = std::move(why);
    return false;
  };
  const DType result = graph.value(node.outputs[0]).type.dtype;
  if (graph::is_pointwise(node.op)) {
    const ValueId first = node.inputs[node.inputs.size() > 1 ? 1 : 0];
    const DType operand = graph.value(first).type.dtype;
    return can_emit(node.op, operand, result) || no(graph::op_name(node.op) + " on " + dtype_name(operand) + " has no vector form");
  }
  if (graph::is_view_like(node.op)) return true;
  if (const auto* op = std::get_if<graph::Pad>(&node.op)) {
    if (op->mode != graph::PadMode::kConstant && op->mode != graph::PadMode::kEdge)
      for (size_t k = 0; k < op->before.size(); ++k) {
        const int64_t n = graph.value(node.inputs[0]).type.shape[k].value();
        if (op->mode == graph::PadMode::kReflect && (op->before[k] >= n || op->after[k] >= n) && (op->before[k] > 0 || op->after[k] > 0))
          return no("reflection past a whole period");
      }
    return true;
  }
  if (const auto* op = std::get_if<graph::Resize>(&node.op)) {
    if (op->mode == graph::ResizeMode::kCubic) return no("cubic resize is a host op");
    if (op->mode == graph::ResizeMode::kLinear && result != DType::kF32) return no("linear resize of other types than f32");
    if (op->coord == graph::ResizeCoord::kTfCropAndResize || op->coord == graph::ResizeCoord::kHalfPixelSymmetric)
      return no("this coordinate transformation is a host op");
    return true;
  }
  if (std::get_if<graph::Concat>(&node.op) || std::get_if<graph::Gather>(&node.op) || std::get_if<graph::GatherElements>(&node.op) ||
      std::get_if<graph::Iota>(&node.op) || std::get_if<graph::Fill>(&node.op))
    return true;
  return no(graph::op_name(node.op) + " is neither pointwise nor an index map");
}

}  // namespace frit::codegen
