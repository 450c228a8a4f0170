#include "loop/build.h"

#include <algorithm>

#include "loop/scalar.h"

namespace frit::loop {

namespace {

// A node whose operands do not fit is made as it stands: the verifier reports it with its text.
Expr make(ExprKind kind, OpCode op, Type type, Expr a, Expr b = {}, Expr c = {}, int64_t bits = 0) {
  ExprNode node{.kind = kind};
  node.op = op;
  node.type = type;
  node.bits = bits;
  node.a = a.node;
  node.b = b.node;
  node.c = c.node;
  return a->context->intern(std::move(node));
}

// The bits of a constant or of a splat of one.
bool constant(Expr e, int64_t* bits) {
  if (!e) return false;
  const ExprNode* n = e->kind == ExprKind::kSplat ? e->a : e.node;
  if (!n || (n->kind != ExprKind::kInt && n->kind != ExprKind::kFloat)) return false;
  *bits = n->bits;
  return true;
}
bool constant_is(Expr e, double value) {
  int64_t bits = 0;
  if (!constant(e, &bits)) return false;
  const int64_t wanted = fold_cast(DType::kF64, e->type.dtype, std::bit_cast<int64_t>(value));
  return bits == wanted;
}

Expr const_like(Expr e, int64_t bits) { return const_bits(*e->context, bits, e->type); }
Expr bool_like(Expr e, bool value) { return const_bits(*e->context, value, {DType::kBool, e->type.lanes}); }

// a and b with equal lanes, where one of them is a scalar.
void match_lanes(Expr& a, Expr& b) {
  if (a->type.lanes == b->type.lanes) return;
  if (a->type.lanes == 1)
    a = splat(a, b->type.lanes);
  else if (b->type.lanes == 1)
    b = splat(b, a->type.lanes);
}

bool is_splat(Expr e) { return e->kind == ExprKind::kSplat; }
bool commutes(OpCode op, DType dtype) {
  switch (op) {
    case OpCode::kAdd:
    case OpCode::kMul:
    case OpCode::kAnd:
    case OpCode::kOr:
    case OpCode::kXor:
    case OpCode::kEq:
    case OpCode::kNe:
      return true;
    case OpCode::kMin:
    case OpCode::kMax:
      return !is_float(dtype);  // on floats a tie of zeros gives b
    default:
      return false;
  }
}
OpCode mirrored(OpCode op) {
  switch (op) {
    case OpCode::kLt:
      return OpCode::kGt;
    case OpCode::kLe:
      return OpCode::kGe;
    case OpCode::kGt:
      return OpCode::kLt;
    case OpCode::kGe:
      return OpCode::kLe;
    default:
      return op;
  }
}

// The result of `a op b` where it is a or a constant by an identity of the constant b, else null.
Expr fold_right_constant(OpCode op, Expr a, Expr b) {
  const DType dtype = a->type.dtype;
  int64_t bits = 0;
  if (!constant(b, &bits)) return {};
  if (is_float(dtype)) {
    // Only what holds for every a, -0.0 and NaN included.
    if (op == OpCode::kAdd && constant_is(b, -0.0)) return a;
    if (op == OpCode::kSub && constant_is(b, 0.0)) return a;
    if ((op == OpCode::kMul || op == OpCode::kDiv) && constant_is(b, 1.0)) return a;
    return {};
  }
  const bool zero = bits == 0, one = bits == 1;
  const bool ones = bits == canonical_bits(-1, dtype);
  switch (op) {
    case OpCode::kAdd:
    case OpCode::kSub:
    case OpCode::kXor:
    case OpCode::kShl:
    case OpCode::kLShr:
    case OpCode::kAShr:
      return zero ? a : Expr{};
    case OpCode::kMul:
      return one ? a : zero ? b : Expr{};
    case OpCode::kDiv:
    case OpCode::kFloorDiv:
      return one ? a : Expr{};
    case OpCode::kRem:
    case OpCode::kFloorMod:
      return one ? const_like(a, 0) : Expr{};
    case OpCode::kAnd:
      return zero ? b : ones ? a : Expr{};
    case OpCode::kOr:
      return zero ? a : ones ? b : Expr{};
    case OpCode::kEq:
      return dtype == DType::kBool ? (one ? a : unary(OpCode::kNot, a)) : Expr{};
    case OpCode::kNe:
      return dtype == DType::kBool ? (one ? unary(OpCode::kNot, a) : a) : Expr{};
    default:
      return {};
  }
}

// `a op a` for integers and masks.
Expr fold_equal(OpCode op, Expr a) {
  if (is_float(a->type.dtype)) return {};
  switch (op) {
    case OpCode::kSub:
    case OpCode::kXor:
      return const_like(a, 0);
    case OpCode::kMin:
    case OpCode::kMax:
    case OpCode::kAnd:
    case OpCode::kOr:
      return a;
    case OpCode::kEq:
    case OpCode::kLe:
    case OpCode::kGe:
      return bool_like(a, true);
    case OpCode::kNe:
    case OpCode::kLt:
    case OpCode::kGt:
      return bool_like(a, false);
    default:
      return {};
  }
}

// Integers: (x + c1) + c2, (x * c1) * c2, and a ramp with a splat or another ramp, which hold as they wrap.
Expr fold_nested(OpCode op, Expr a, Expr b) {
  int64_t c1 = 0, c2 = 0;
  const bool b_const = constant(b, &c2);
  if (b_const && a->kind == ExprKind::kBinary && a->op == op && (op == OpCode::kAdd || op == OpCode::kMul) &&
      constant({a->b}, &c1)) {
    int64_t bits = 0;
    fold_binary(op, a->type.dtype, c1, c2, &bits);
    return binary(op, {a->a}, const_like(a, bits));
  }
  const bool a_ramp = a->kind == ExprKind::kRamp, b_ramp = b->kind == ExprKind::kRamp;
  if (!a_ramp && !b_ramp) return {};
  const auto part = [](Expr e) { return Expr{e->a}; };
  const int32_t lanes = a->type.lanes;
  if (op == OpCode::kAdd || op == OpCode::kSub) {
    if (!(a_ramp || is_splat(a)) || !(b_ramp || is_splat(b))) return {};
    const int64_t sa = a_ramp ? a->bits : 0, sb = b_ramp ? b->bits : 0;
    const uint64_t step = op == OpCode::kAdd ? uint64_t(sa) + uint64_t(sb) : uint64_t(sa) - uint64_t(sb);
    return ramp(binary(op, part(a), part(b)), static_cast<int64_t>(step), lanes);
  }
  if (op == OpCode::kMul && b_const) {
    return ramp(binary(op, part(a), part(b)), static_cast<int64_t>(uint64_t(a->bits) * uint64_t(c2)), lanes);
  }
  return {};
}

}  // namespace

Expr const_bits(Context& c, int64_t bits, Type type) {
  ExprNode node{.kind = is_float(type.dtype) ? ExprKind::kFloat : ExprKind::kInt};
  node.type = {type.dtype, 1};
  node.bits = canonical_bits(bits, type.dtype);
  return splat(c.intern(std::move(node)), type.lanes);
}
Expr int_const(Context& c, int64_t value, DType dtype, int32_t lanes) {
  return const_bits(c, value, {dtype, lanes});
}
Expr float_const(Context& c, double value, DType dtype, int32_t lanes) {
  return const_bits(c, fold_cast(DType::kF64, dtype, std::bit_cast<int64_t>(value)), {dtype, lanes});
}
bool is_const(Expr e) {
  int64_t bits = 0;
  return constant(e, &bits);
}
bool as_int(Expr e, int64_t* value) { return e && !is_float(e->type.dtype) && constant(e, value); }

Expr unary(OpCode op, Expr a) {
  if (!a) return {};
  int64_t bits = 0, out = 0;
  if (constant(a, &bits) && fold_unary(op, a->type.dtype, bits, &out)) return const_like(a, out);
  if (is_splat(a)) return splat(unary(op, {a->a}), a->type.lanes);
  // ~~x and --x are x; abs and the roundings change nothing the second time.
  if (a->kind == ExprKind::kUnary && a->op == op && op != OpCode::kSqrt) {
    return op == OpCode::kNeg || op == OpCode::kNot ? Expr{a->a} : a;
  }
  return make(ExprKind::kUnary, op, a->type, a);
}

Expr binary(OpCode op, Expr a, Expr b) {
  if (!a || !b) return {};
  match_lanes(a, b);
  const Type type = is_comparison(op) ? Type{DType::kBool, a->type.lanes} : a->type;
  if (a->type != b->type) return make(ExprKind::kBinary, op, type, a, b);
  if (is_splat(a) && is_splat(b)) return splat(binary(op, {a->a}, {b->a}), a->type.lanes);
  const DType dtype = a->type.dtype;
  int64_t x = 0, y = 0, out = 0;
  const bool a_const = constant(a, &x), b_const = constant(b, &y);
  if (a_const && b_const && fold_binary(op, dtype, x, y, &out)) return const_bits(*a->context, out, type);
  const bool swappable = commutes(op, dtype) || (is_comparison(op) && op_allowed(op, dtype));
  if (a_const && !b_const && swappable) return binary(mirrored(op), b, a);
  // A constant goes to the left, where x86 needs no care for a NaN. Only equal zeros would tell the
  // difference.
  if (b_const && is_float(dtype) && (op == OpCode::kMin || op == OpCode::kMax)) {
    const double value = from_bits<double>(fold_cast(dtype, DType::kF64, y));
    if (value < 0 || value > 0) return a_const ? make(ExprKind::kBinary, op, type, a, b) : binary(op, b, a);
  }
  if (op_allowed(op, dtype)) {
    if (const Expr e = fold_right_constant(op, a, b)) return e;
    if (a == b) {
      if (const Expr e = fold_equal(op, a)) return e;
    }
    if (is_int(dtype)) {
      if (op == OpCode::kSub && b_const) return binary(OpCode::kAdd, a, unary(OpCode::kNeg, b));
      if (const Expr e = fold_nested(op, a, b)) return e;
    }
  }
  return make(ExprKind::kBinary, op, type, a, b);
}

Expr fma(Expr a, Expr b, Expr c) {
  if (!a || !b || !c) return {};
  match_lanes(a, b);
  match_lanes(a, c);
  match_lanes(b, c);
  if (a->type != b->type || a->type != c->type) return make(ExprKind::kFma, OpCode::kAdd, a->type, a, b, c);
  if (is_splat(a) && is_splat(b) && is_splat(c)) return splat(fma({a->a}, {b->a}, {c->a}), a->type.lanes);
  if (is_int(a->type.dtype)) return a * b + c;
  int64_t x = 0, y = 0, z = 0;
  if (constant(a, &x) && constant(b, &y) && constant(c, &z))
    return const_like(a, fold_fma(a->type.dtype, x, y, z));
  if (constant_is(b, 1.0)) return a + c;
  if (constant_is(a, 1.0)) return b + c;
  if (constant_is(c, -0.0)) return a * b;
  return make(ExprKind::kFma, OpCode::kAdd, a->type, a, b, c);
}

Expr select(Expr cond, Expr a, Expr b) {
  if (!cond || !a || !b) return {};
  match_lanes(a, b);
  match_lanes(cond, a);
  match_lanes(cond, b);
  if (a->type != b->type || cond->type != Type{DType::kBool, a->type.lanes}) {
    return make(ExprKind::kSelect, OpCode::kAdd, a->type, cond, a, b);
  }
  int64_t value = 0;
  if (constant(cond, &value)) return value ? a : b;
  if (a == b) return a;
  if (is_splat(cond) && is_splat(a) && is_splat(b))
    return splat(select({cond->a}, {a->a}, {b->a}), a->type.lanes);
  if (a->type.dtype == DType::kBool) {
    int64_t x = 0, y = 0;
    const bool ca = constant(a, &x), cb = constant(b, &y);
    if (ca && cb) return x ? cond : unary(OpCode::kNot, cond);
    if (ca) return x ? either(cond, b) : both(unary(OpCode::kNot, cond), b);
    if (cb) return y ? either(unary(OpCode::kNot, cond), a) : both(cond, a);
  }
  return make(ExprKind::kSelect, OpCode::kAdd, a->type, cond, a, b);
}

Expr cast(Expr a, DType to) {
  if (!a || a->type.dtype == to) return a;
  int64_t bits = 0;
  const Type type{to, a->type.lanes};
  if (constant(a, &bits)) return const_bits(*a->context, fold_cast(a->type.dtype, to, bits), type);
  if (is_splat(a)) return splat(cast({a->a}, to), a->type.lanes);
  return make(ExprKind::kCast, OpCode::kAdd, type, a);
}

Expr bitcast(Expr a, DType to) {
  if (!a || a->type.dtype == to) return a;
  const size_t from_bytes = dtype_bytes(a->type.dtype), to_bytes = dtype_bytes(to);
  const Type type{to, static_cast<int32_t>(std::max<size_t>(a->type.lanes * from_bytes / to_bytes, 1))};
  int64_t bits = 0;
  const bool masks = to == DType::kBool || a->type.dtype == DType::kBool;
  if (from_bytes == to_bytes && !masks) {
    if (constant(a, &bits)) return const_bits(*a->context, bits, type);
    if (is_splat(a)) return splat(bitcast({a->a}, to), a->type.lanes);
    if (a->kind == ExprKind::kBitcast && a->a->type.lanes == a->type.lanes) return bitcast({a->a}, to);
  }
  return make(ExprKind::kBitcast, OpCode::kAdd, type, a);
}

Expr splat(Expr a, int32_t lanes) {
  if (!a || lanes == a->type.lanes) return a;
  if (is_splat(a)) return splat({a->a}, lanes);
  return make(ExprKind::kSplat, OpCode::kAdd, {a->type.dtype, lanes}, a);
}

Expr ramp(Expr base, int64_t step, int32_t lanes) {
  if (!base || lanes == 1) return base;
  step = canonical_bits(step, base->type.dtype);
  if (step == 0) return splat(base, lanes);
  return make(ExprKind::kRamp, OpCode::kAdd, {base->type.dtype, lanes}, base, {}, {}, step);
}

Expr reduce(OpCode op, Expr a) {
  if (!a || a->type.lanes == 1) return a;
  if (is_splat(a) && a->type.dtype != DType::kBool && (op == OpCode::kMin || op == OpCode::kMax))
    return {a->a};
  if (is_splat(a) && (op == OpCode::kAnd || op == OpCode::kOr)) return {a->a};
  return make(ExprKind::kReduce, op, {a->type.dtype, 1}, a);
}

Expr shuffle(Expr a, Expr b, std::vector<int32_t> lanes) {
  if (!a) return {};
  if (!b) b = a;
  const int32_t n = a->type.lanes, total = n + b->type.lanes;
  const int32_t count = static_cast<int32_t>(lanes.size());
  const bool sound = a->type.dtype == b->type.dtype && count > 0 &&
                     std::all_of(lanes.begin(), lanes.end(), [&](int32_t l) { return l >= 0 && l < total; });
  if (sound) {
    if (is_splat(a) && (b == a || (is_splat(b) && b->a == a->a))) return splat({a->a}, count);
    bool identity_a = count == n, identity_b = count == b->type.lanes;
    for (int32_t i = 0; i < count; ++i) {
      identity_a = identity_a && lanes[i] == i;
      identity_b = identity_b && lanes[i] == n + i;
    }
    if (identity_a) return a;
    if (identity_b) return b;
    if (count == 1) {
      const Expr from = lanes[0] < n ? a : b;
      const int64_t lane = lanes[0] < n ? lanes[0] : lanes[0] - n;
      if (from->type.lanes == 1) return from;
      if (is_splat(from)) return {from->a};
      if (from->kind == ExprKind::kRamp)
        return Expr{from->a} + static_cast<int64_t>(uint64_t(lane) * uint64_t(from->bits));
    }
  }
  ExprNode node{.kind = ExprKind::kShuffle};
  node.type = {a->type.dtype, count};
  node.a = a.node;
  node.b = b.node;
  node.lanes = std::move(lanes);
  return a->context->intern(std::move(node));
}

Expr size_param(Context& c, int32_t id) {
  ExprNode node{.kind = ExprKind::kSize};
  node.id = id;
  return c.intern(std::move(node));
}

Expr load(Context& c, const Buffer& buffer, Expr index, int32_t lanes, Expr mask) {
  if (!index) return {};
  int64_t on = 0;
  if (constant(mask, &on) && mask->type.dtype == DType::kBool) {
    if (on)
      mask = {};
    else
      return const_bits(c, 0, {buffer.dtype, std::max(lanes, index->type.lanes)});
  }
  if (buffer.space == Space::kRegister) {
    lanes = buffer.lanes;
  } else {
    lanes = std::max(lanes, index->type.lanes);
    if (mask) lanes = std::max(lanes, mask->type.lanes);
    if (mask && mask->type.lanes == 1) mask = splat(mask, lanes);
    if (is_splat(index)) {
      if (!mask) return splat(load(c, buffer, {index->a}), lanes);
    } else if (index->kind == ExprKind::kRamp && index->bits == 1) {
      index = {index->a};
    }
  }
  ExprNode node{.kind = ExprKind::kLoad};
  node.type = {buffer.dtype, lanes};
  node.id = buffer.id;
  node.a = index.node;
  node.b = mask.node;
  return c.intern(std::move(node));
}

Expr rebuild(Expr e, Expr a, Expr b, Expr c) {
  switch (e->kind) {
    case ExprKind::kInt:
    case ExprKind::kFloat:
    case ExprKind::kVar:
    case ExprKind::kSize:
      return e;
    case ExprKind::kUnary:
      return unary(e->op, a);
    case ExprKind::kBinary:
      return binary(e->op, a, b);
    case ExprKind::kFma:
      return fma(a, b, c);
    case ExprKind::kSelect:
      return select(a, b, c);
    case ExprKind::kCast:
      return cast(a, e->type.dtype);
    case ExprKind::kBitcast:
      return bitcast(a, e->type.dtype);
    case ExprKind::kSplat:
      return splat(a, e->type.lanes);
    case ExprKind::kRamp:
      return ramp(a, e->bits, e->type.lanes);
    case ExprKind::kReduce:
      return reduce(e->op, a);
    case ExprKind::kShuffle:
      return shuffle(a, b, e->lanes);
    case ExprKind::kLoad:
      break;
  }
  // The index of a register buffer is scalar, so that only its lanes matter, and those are kept.
  Buffer buffer;
  buffer.id = e->id;
  buffer.dtype = e->type.dtype;
  return load(*e->context, buffer, a, e->type.lanes, b);
}

Expr operator+(Expr a, int64_t b) { return a ? a + int_const(*a->context, b, a->type.dtype) : a; }
Expr operator-(Expr a, int64_t b) { return a ? a - int_const(*a->context, b, a->type.dtype) : a; }
Expr operator*(Expr a, int64_t b) { return a ? a * int_const(*a->context, b, a->type.dtype) : a; }

}  // namespace frit::loop
