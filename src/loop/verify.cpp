#include "loop/verify.h"

#include <bit>

#include "base/text.h"
#include "loop/build.h"
#include "loop/scalar.h"
#include "loop/scratch.h"
#include "loop/text.h"
#include "loop/unrolled_values.h"

namespace frit::loop {

namespace {

constexpr int32_t kMaxLanes = 4096;
constexpr int64_t kMaxUnrolledTrips = 1 << 20;

constexpr uint8_t kGood = 1, kOfSizes = 2, kUnrollConstant = 4;

bool is_index(Type t) { return t.dtype == DType::kI64 || t.dtype == DType::kI32; }

std::string type_text(Type t) {
  return t.lanes == 1 ? dtype_name(t.dtype) : base::text_of(dtype_name(t.dtype), "x", t.lanes);
}

class Verifier {
 public:
  explicit Verifier(const LoopFn& fn) : fn_(fn) {}

  Status run() {
    if (!fn_.context) return make_error(Code::kInternal, "function has no context");
    good_.assign(fn_.context->expr_count(), 0);
    vars_.resize(static_cast<size_t>(fn_.context->var_count()));
    states_.resize(fn_.buffers.size());
    if (!header() || !body()) return std::move(error_);
    return {};
  }

 private:
  template <class... Ts>
  bool fail(const Ts&... parts) {
    error_ = make_error(Code::kInternal, base::text_of(parts...));
    return false;
  }
  template <class... Ts>
  bool fail_at(Expr e, const Ts&... parts) {
    return fail("'", brief(e), "': ", parts...);
  }
  template <class... Ts>
  bool fail_at(const StmtNode& s, const Ts&... parts) {
    return fail("'", brief(s), "': ", parts...);
  }

  // ---- signature
  bool header() {
    for (const char c : fn_.family) {
      if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_') {
        return fail("family '", fn_.family, "' has characters other than a-z, 0-9 and _");
      }
    }
    if (fn_.arg_count < 0 || fn_.arg_count > static_cast<int32_t>(fn_.buffers.size())) {
      return fail("arg_count is ", fn_.arg_count, " of ", fn_.buffers.size(), " buffers");
    }
    if (fn_.size_count < 0) return fail("size_count is ", fn_.size_count);
    for (size_t i = 0; i < fn_.buffers.size(); ++i) {
      if (!buffer(fn_.buffers[i], static_cast<int32_t>(i))) return false;
    }
    for (const TileDim& tile : fn_.tiles) {
      if (!tile.var || tile.var->kind != ExprKind::kVar || tile.var->type != Type{}) {
        return fail("tile variable '", brief(tile.var), "' is not an i64 variable");
      }
      if (!signature_value(tile.extent, "tile extent")) return false;
      if (!bind(tile.var->id, Type{})) return false;
    }
    const int64_t needed = scratch_layout(fn_).bytes;
    if (fn_.scratch_bytes < needed) {
      return fail("scratch_bytes is ", fn_.scratch_bytes, ", its stack buffers need ", needed);
    }
    return true;
  }

  // Sizes and extents: i64, of constants and size parameters.
  bool signature_value(Expr e, const char* what) {
    if (!expr(e)) return false;
    if (e->type != Type{}) return fail(what, " '", brief(e), "' is ", type_text(e->type), ", expected i64");
    if (!has(e.node, kOfSizes)) return fail(what, " '", brief(e), "' uses more than constants and sizes");
    return true;
  }

  bool buffer(const Buffer& b, int32_t index) {
    const std::string name = base::text_of("buffer b", index);
    if (b.id != index) return fail(name, " has the id ", b.id);
    if (b.align_bytes < 1 || !std::has_single_bit(static_cast<uint32_t>(b.align_bytes))) {
      return fail(name, " has alignment ", b.align_bytes, ", expected a power of two");
    }
    if (b.lanes < 1 || b.lanes > kMaxLanes || (b.lanes > 1 && b.space != Space::kRegister)) {
      return fail(name, " has elements of ", b.lanes, " lanes");
    }
    if (!b.size) return fail(name, " has no size");
    if (!signature_value(b.size, "buffer size")) return false;
    const bool is_arg = index < fn_.arg_count;
    if (is_arg != (b.space == Space::kGlobal)) {
      return fail(name, is_arg ? " is an argument that is not global" : " is global and not an argument");
    }
    if (is_arg) {
      for (const int32_t other : b.may_alias) {
        if (other < 0 || other >= fn_.arg_count || other == index)
          return fail(name, " may alias argument ", other);
      }
      if (b.in_place && b.may_alias.empty()) return fail(name, " is in place of nothing");
      return true;
    }
    int64_t size = 0;
    if (!as_int(b.size, &size))
      return fail(name, " is local and has the run-time size '", brief(b.size), "'");
    if (size < 1 || size > (int64_t{1} << 40)) return fail(name, " has size ", size);
    if (b.space == Space::kShared && !fn_.gpu)
      return fail(name, " is shared in a function that is not for a gpu");
    return true;
  }

  // ---- scopes
  // What was found good stays so until a scope that it may depend on closes.
  struct Mark {
    size_t good, bound, allocated;
  };
  Mark open() const { return {marked_.size(), bound_.size(), allocated_.size()}; }
  void close(const Mark& mark) {
    for (; marked_.size() > mark.good; marked_.pop_back()) good_[marked_.back()] = 0;
    for (; bound_.size() > mark.bound; bound_.pop_back())
      vars_[static_cast<size_t>(bound_.back())].bound = false;
    for (; allocated_.size() > mark.allocated; allocated_.pop_back()) states_[allocated_.back()].live = false;
  }
  bool bind(int32_t id, Type type) {
    if (id < 0 || id >= static_cast<int32_t>(vars_.size())) return fail("variable v", id, " is unknown");
    Binding& b = vars_[static_cast<size_t>(id)];
    if (seen_binding(id)) return fail("variable v", id, " is bound twice");
    b = Binding{};
    b.bound = true;
    b.type = type;
    bound_.push_back(id);
    return true;
  }
  bool seen_binding(int32_t id) {
    if (ever_.size() < vars_.size()) ever_.resize(vars_.size());
    const bool seen = ever_[static_cast<size_t>(id)] != 0;
    ever_[static_cast<size_t>(id)] = 1;
    return seen;
  }

  // ---- expressions
  bool expr(Expr e) {
    if (!e) return fail("an operand is missing");
    if (e->context != fn_.context.get()) return fail_at(e, "belongs to another context");
    if (good_[e->serial]) return true;
    if (++height_ > 6000) return fail("expression nested too deeply");
    const bool ok = operands(e) && typed(e);
    --height_;
    if (!ok) return false;
    good_[e->serial] = static_cast<uint8_t>(kGood | kinds_of(*e.node));
    marked_.push_back(e->serial);
    return true;
  }
  bool has(const ExprNode* e, uint8_t flag) const { return (good_[e->serial] & flag) != 0; }
  // What a good expression is made of.
  uint8_t kinds_of(const ExprNode& e) const {
    uint8_t flags = kOfSizes | kUnrollConstant;
    for (const ExprNode* part : {e.a, e.b, e.c}) {
      if (part) flags &= good_[part->serial];
    }
    switch (e.kind) {
      case ExprKind::kInt:
        return flags;
      case ExprKind::kSize:
        return kOfSizes;
      case ExprKind::kLoad:
        return 0;
      case ExprKind::kVar: {
        const Binding& v = vars_[static_cast<size_t>(e.id)];
        return v.unrolled || v.constant ? kUnrollConstant : 0;
      }
      case ExprKind::kUnary:
      case ExprKind::kBinary:
      case ExprKind::kSelect:
      case ExprKind::kCast:
        return e.type.lanes == 1 && !is_float(e.type.dtype) ? flags : flags & kOfSizes;
      default:
        return flags & kOfSizes;
    }
  }
  bool operands(Expr e) {
    int expected = 0;
    switch (e->kind) {
      case ExprKind::kInt:
      case ExprKind::kFloat:
      case ExprKind::kVar:
      case ExprKind::kSize:
        break;
      case ExprKind::kUnary:
      case ExprKind::kCast:
      case ExprKind::kBitcast:
      case ExprKind::kSplat:
      case ExprKind::kRamp:
      case ExprKind::kReduce:
        expected = 1;
        break;
      case ExprKind::kBinary:
      case ExprKind::kShuffle:
        expected = 2;
        break;
      case ExprKind::kFma:
      case ExprKind::kSelect:
        expected = 3;
        break;
      case ExprKind::kLoad:
        expected = e->b ? 2 : 1;
        break;
    }
    const ExprNode* parts[] = {e->a, e->b, e->c};
    for (int i = 0; i < 3; ++i) {
      if ((parts[i] != nullptr) != (i < expected)) return fail_at(e, "has a missing or superfluous operand");
      if (parts[i] && !expr({parts[i]})) return false;
    }
    if (e->type.lanes < 1 || e->type.lanes > kMaxLanes) return fail_at(e, "has ", e->type.lanes, " lanes");
    return true;
  }
  bool has_type(Expr e, Type expected) {
    if (e->type == expected) return true;
    return fail_at(e, "has type ", type_text(e->type), ", expected ", type_text(expected));
  }
  bool same_types(Expr e, const ExprNode* a, const ExprNode* b) {
    if (a->type == b->type) return true;
    return fail_at(e, "operands have types ", type_text(a->type), " and ", type_text(b->type));
  }

  bool typed(Expr e) {
    const Type type = e->type;
    switch (e->kind) {
      case ExprKind::kInt:
      case ExprKind::kFloat:
        if (type.lanes != 1) return fail_at(e, "is a constant of ", type.lanes, " lanes");
        if (is_float(type.dtype) != (e->kind == ExprKind::kFloat) ||
            canonical_bits(e->bits, type.dtype) != e->bits) {
          return fail_at(e, "is no canonical constant of ", type_text(type));
        }
        return true;
      case ExprKind::kVar: {
        const bool known = e->id >= 0 && e->id < static_cast<int32_t>(vars_.size());
        if (!known || !vars_[static_cast<size_t>(e->id)].bound) return fail_at(e, "is not bound here");
        return has_type(e, vars_[static_cast<size_t>(e->id)].type);
      }
      case ExprKind::kSize:
        if (e->id < 0 || e->id >= fn_.size_count)
          return fail_at(e, "is not one of ", fn_.size_count, " sizes");
        return has_type(e, Type{});
      case ExprKind::kUnary:
        if (!is_unary(e->op) || !op_allowed(e->op, type.dtype)) return no_op(e);
        return has_type(e, e->a->type);
      case ExprKind::kBinary:
        return binary(e);
      case ExprKind::kFma:
        if (!is_float(type.dtype)) return no_op(e);
        return same_types(e, e->a, e->b) && same_types(e, e->a, e->c) && has_type(e, e->a->type);
      case ExprKind::kSelect:
        if (e->a->type != Type{DType::kBool, type.lanes}) {
          return fail_at(e, "condition has type ", type_text(e->a->type), " for a value of ",
                         type_text(type));
        }
        return same_types(e, e->b, e->c) && has_type(e, e->b->type);
      case ExprKind::kCast:
        return has_type(e, {type.dtype, e->a->type.lanes});
      case ExprKind::kBitcast:
        return bitcast(e);
      case ExprKind::kSplat:
      case ExprKind::kRamp:
        if (e->a->type.lanes != 1) return fail_at(e, "has an operand of ", e->a->type.lanes, " lanes");
        if (e->kind == ExprKind::kRamp && !is_int(type.dtype)) return no_op(e);
        return has_type(e, {e->a->type.dtype, type.lanes});
      case ExprKind::kLoad:
        return load(e);
      case ExprKind::kReduce:
        return reduce(e);
      case ExprKind::kShuffle:
        return shuffle(e);
    }
    return fail("expression of an unknown kind");
  }
  bool no_op(Expr e) { return fail_at(e, "no such operation on ", type_text(e->type)); }

  bool binary(Expr e) {
    const Type operand = e->a->type;
    if (is_unary(e->op) || e->op > OpCode::kGe || !op_allowed(e->op, operand.dtype)) {
      return fail_at(e, "no such operation on ", type_text(operand));
    }
    if (!same_types(e, e->a, e->b)) return false;
    int64_t b = 0;
    if (as_int({e->b}, &b)) {
      const bool shift = e->op == OpCode::kShl || e->op == OpCode::kLShr || e->op == OpCode::kAShr;
      const int64_t width = static_cast<int64_t>(dtype_bytes(operand.dtype)) * 8;
      if (shift && (b < 0 || b >= width)) return fail_at(e, "shifts ", width, " bits by ", b);
      const bool divides = e->op == OpCode::kDiv || e->op == OpCode::kRem || e->op == OpCode::kFloorDiv ||
                           e->op == OpCode::kFloorMod;
      if (divides && b == 0) return fail_at(e, "divides by zero");
    }
    return has_type(e, is_comparison(e->op) ? Type{DType::kBool, operand.lanes} : operand);
  }
  bool bitcast(Expr e) {
    const Type from = e->a->type, to = e->type;
    if (from.dtype == DType::kBool || to.dtype == DType::kBool)
      return fail_at(e, "masks have no bits to cast");
    if (static_cast<size_t>(from.lanes) * dtype_bytes(from.dtype) ==
        static_cast<size_t>(to.lanes) * dtype_bytes(to.dtype)) {
      return true;
    }
    return fail_at(e, "casts the bits of ", type_text(from), " to ", type_text(to));
  }
  bool reduce(Expr e) {
    const Type from = e->a->type;
    switch (e->op) {
      case OpCode::kAdd:
      case OpCode::kMul:
      case OpCode::kMin:
      case OpCode::kMax:
      case OpCode::kAnd:
      case OpCode::kOr:
      case OpCode::kXor:
        break;
      default:
        return no_op(e);
    }
    if (!op_allowed(e->op, from.dtype)) return fail_at(e, "no such operation on ", type_text(from));
    if (!std::has_single_bit(static_cast<uint32_t>(from.lanes))) {
      return fail_at(e, "reduces ", from.lanes, " lanes, expected a power of two");
    }
    return has_type(e, {from.dtype, 1});
  }
  bool shuffle(Expr e) {
    if (e->a->type.dtype != e->b->type.dtype) return same_types(e, e->a, e->b);
    if (e->lanes.size() != static_cast<size_t>(e->type.lanes)) {
      return fail_at(e, "has ", e->lanes.size(), " lane numbers for ", e->type.lanes, " lanes");
    }
    for (const int32_t lane : e->lanes) {
      if (lane < 0 || lane >= e->a->type.lanes + e->b->type.lanes) return fail_at(e, "takes lane ", lane);
    }
    return has_type(e, {e->a->type.dtype, e->type.lanes});
  }

  // ---- buffers
  struct BufferState {
    bool live = false, ever = false;
    int thread_depth = 0;
  };
  template <class Node>
  const Buffer* reachable(const Node& at, int32_t id) {
    if (id < 0 || id >= static_cast<int32_t>(fn_.buffers.size())) {
      fail_at(at, "b", id, " is unknown");
      return nullptr;
    }
    const Buffer& b = fn_.buffers[static_cast<size_t>(id)];
    const BufferState& state = states_[static_cast<size_t>(id)];
    if (id >= fn_.arg_count && !state.live) {
      fail_at(at, "b", id, " is used outside of its scope");
      return nullptr;
    }
    const bool own = b.space == Space::kStack || b.space == Space::kRegister;
    if (own && state.thread_depth != thread_depth_) {
      fail_at(at, "b", id, " is private and used across the border of a thread loop");
      return nullptr;
    }
    return &b;
  }
  // The access of a value of `type` at an index under a mask.
  template <class Node>
  bool element(const Node& at, const Buffer& b, Type type, Expr index, Expr mask) {
    if (type.dtype != b.dtype) {
      return fail_at(at, "moves ", type_text(type), ", b", b.id, " holds ", dtype_name(b.dtype));
    }
    if (!is_index(index->type))
      return fail_at(at, "index has type ", type_text(index->type), ", expected i64 or i32");
    if (mask && mask->type != Type{DType::kBool, type.lanes}) {
      return fail_at(at, "mask has type ", type_text(mask->type), " for ", type.lanes, " lanes");
    }
    if (b.space == Space::kRegister) {
      if (mask) return fail_at(at, "masks an element of a register buffer");
      if (index->type.lanes != 1 || type.lanes != b.lanes) {
        return fail_at(at, "moves ", type.lanes, " lanes, elements of b", b.id, " have ", b.lanes);
      }
      return register_index(at, b, index);
    }
    if (index->type.lanes != 1 && index->type.lanes != type.lanes) {
      return fail_at(at, "index has ", index->type.lanes, " lanes for ", type.lanes);
    }
    return true;
  }
  bool load(Expr e) {
    const Buffer* b = reachable(e, e->id);
    if (!b) return false;
    if (b->access == Access::kWrite) return fail_at(e, "reads b", e->id, ", which is write-only");
    return element(e, *b, e->type, {e->a}, {e->b});
  }

  // ---- register buffers: constant indices within bounds once unrolled loops are expanded
  template <class Node>
  bool register_index(const Node& at, const Buffer& b, Expr index) {
    if (!has(index.node, kUnrollConstant)) {
      return fail_at(at, "index of a register buffer is not constant once loops are unrolled");
    }
    int64_t size = 0;
    as_int(b.size, &size);
    const std::string wrong = UnrolledValues(vars_).outside(index, size);
    return wrong.empty() || fail_at(at, "index of a register buffer ", wrong);
  }

  // ---- statements
  bool body() {
    if (!fn_.body) return fail("function has no body");
    if (fn_.body->kind != StmtKind::kBlock) return fail("the body is not a block");
    return statement(*fn_.body);
  }
  bool scoped(const StmtNode& s, size_t most) {
    if (s.body.empty() || s.body.size() > most) return fail_at(s, "has ", s.body.size(), " bodies");
    for (const Stmt& child : s.body) {
      if (!child || child->kind != StmtKind::kBlock) return fail_at(s, "has a body that is not a block");
      const Mark mark = open();
      if (!statement(*child)) return false;
      close(mark);
    }
    return true;
  }
  bool statement(const StmtNode& s) {
    if (s.kind == StmtKind::kBlock) {
      if (++depth_ > 1000) return fail("statements nested too deeply");
      for (const Stmt& child : s.body) {
        if (!child) return fail("a statement is missing");
        const Mark mark = open();
        if (!statement(*child)) return false;
        if (child->kind == StmtKind::kBlock) close(mark);
      }
      --depth_;
      return true;
    }
    switch (s.kind) {
      case StmtKind::kFor:
        return loop(s);
      case StmtKind::kIf:
        if (!expr(s.a)) return false;
        if (s.a->type != Type{DType::kBool, 1}) return fail_at(s, "condition is ", type_text(s.a->type));
        return scoped(s, 2);
      case StmtKind::kLet:
        return let(s);
      case StmtKind::kStore:
        return store(s);
      case StmtKind::kAlloc:
        return alloc(s);
      case StmtKind::kBarrier:
        return fn_.gpu || fail("barrier in a function that is not for a gpu");
      case StmtKind::kFail:
        if (!expr(s.a) || !expr(s.b) || !expr(s.c)) return false;
        if (s.code < kIndexOutOfRange || s.code > kBadValue)
          return fail_at(s, "has the unknown code ", s.code);
        if (s.a->type != Type{DType::kBool, 1}) return fail_at(s, "condition is ", type_text(s.a->type));
        return has_type(s.b, Type{}) && has_type(s.c, Type{});
      case StmtKind::kBlock:
        break;
    }
    return fail("statement of an unknown kind");
  }

  bool loop(const StmtNode& s) {
    if (!expr(s.a) || !expr(s.b) || !expr(s.c)) return false;
    const Type type = s.a->type;
    if (type.lanes != 1 || !is_int(type.dtype)) return fail_at(s, "begins at a ", type_text(type));
    if (s.b->type != type || s.c->type != type) return fail_at(s, "begin, end and step differ in type");
    int64_t begin = 0, end = 0, step = 0;
    if (!as_int(s.c, &step) || step < 1) return fail_at(s, "step is not a positive constant");
    const bool constant = as_int(s.a, &begin) && as_int(s.b, &end);
    if (s.loop == LoopKind::kUnrolled && !constant)
      return fail_at(s, "is unrolled and has bounds that are not constant");
    int64_t distance = 0;
    if (s.loop == LoopKind::kUnrolled &&
        (__builtin_sub_overflow(end, begin, &distance) || distance / step > kMaxUnrolledTrips)) {
      return fail_at(s, "is unrolled more than ", kMaxUnrolledTrips, " times");
    }
    const bool on_gpu = s.loop == LoopKind::kGpuBlock || s.loop == LoopKind::kGpuThread;
    if (on_gpu && (!fn_.gpu || s.gpu_axis < 0 || s.gpu_axis > 2)) {
      return fail_at(s, fn_.gpu ? "has no such axis" : "is a gpu loop in a function that is not for a gpu");
    }
    if (s.loop == LoopKind::kGpuBlock && thread_depth_ > 0)
      return fail_at(s, "is a block loop inside of a thread loop");
    const Mark mark = open();
    if (!bind(s.id, type)) return false;
    Binding& v = vars_[static_cast<size_t>(s.id)];
    v.unrolled = s.loop == LoopKind::kUnrolled;
    v.begin = begin;
    v.end = end;
    v.step = step;
    thread_depth_ += s.loop == LoopKind::kGpuThread;
    if (!scoped(s, 1)) return false;
    thread_depth_ -= s.loop == LoopKind::kGpuThread;
    close(mark);
    return true;
  }
  bool let(const StmtNode& s) {
    if (!expr(s.a) || !bind(s.id, s.a->type)) return false;
    if (has(s.a.node, kUnrollConstant)) vars_[static_cast<size_t>(s.id)].constant = s.a.node;
    return true;
  }
  bool store(const StmtNode& s) {
    if (!expr(s.a) || !expr(s.b) || (s.c && !expr(s.c))) return false;
    const Buffer* b = reachable(s, s.id);
    if (!b) return false;
    if (b->access == Access::kRead) return fail_at(s, "writes b", s.id, ", which is read-only");
    return element(s, *b, s.b->type, s.a, s.c);
  }
  bool alloc(const StmtNode& s) {
    if (s.id < fn_.arg_count || s.id >= static_cast<int32_t>(fn_.buffers.size())) {
      return fail_at(s, "b", s.id, " is not a local buffer");
    }
    BufferState& state = states_[static_cast<size_t>(s.id)];
    if (state.ever) return fail_at(s, "b", s.id, " is allocated twice");
    if (fn_.buffers[static_cast<size_t>(s.id)].space == Space::kShared && thread_depth_ > 0) {
      return fail_at(s, "b", s.id, " is shared and allocated inside of a thread loop");
    }
    const Mark mark = open();
    state.live = state.ever = true;
    state.thread_depth = thread_depth_;
    allocated_.push_back(static_cast<size_t>(s.id));
    if (!scoped(s, 1)) return false;
    close(mark);
    return true;
  }

  const LoopFn& fn_;
  Error error_;
  std::vector<uint8_t> good_;  // by serial: flags
  std::vector<uint8_t> ever_;  // by variable
  std::vector<uint64_t> marked_;
  std::vector<Binding> vars_;
  std::vector<int32_t> bound_;
  std::vector<BufferState> states_;
  std::vector<size_t> allocated_;
  int height_ = 0, depth_ = 0, thread_depth_ = 0;
};

}  // namespace

Status verify(const LoopFn& fn) { return Verifier(fn).run(); }

}  // namespace frit::loop
