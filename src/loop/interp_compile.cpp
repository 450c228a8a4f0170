#include <algorithm>
#include <bit>
#include <cstring>

#include "loop/build.h"
#include "loop/interp_code.h"
#include "loop/scalar.h"

namespace frit::loop::interp {

namespace {

constexpr uint32_t kConstant =
    0x80000000u;  // offset into the constants, which are placed behind the frame at the end
constexpr uint32_t kNone = 0xffffffffu;

// Takes only what the verifier accepts.
class Compiler {
 public:
  explicit Compiler(const LoopFn& fn) {
    code_.fn = fn;
    slots_.assign(fn.context->expr_count(), kNone);
    reads_.assign(fn.context->expr_count(), 0);
    vars_.assign(static_cast<size_t>(fn.context->var_count()), kNone);
  }

  Bytecode run() {
    const LoopFn& fn = code_.fn;
    for (int32_t i = 0; i < fn.size_count; ++i) code_.size_slots.push_back(reserve(Type{}));
    for (const TileDim& tile : fn.tiles) {
      const uint32_t slot = reserve(Type{});
      code_.tile_slots.push_back(slot);
      vars_[static_cast<size_t>(tile.var->id)] = slot;
    }
    statement(*fn.body);
    emit(stop_handler(), {}).flag = static_cast<int32_t>(Stop::kDone);
    place_constants();
    return std::move(code_);
  }

 private:
  // ---- frame
  static uint32_t value_bytes(Type t) {
    return static_cast<uint32_t>(dtype_bytes(t.dtype)) * static_cast<uint32_t>(t.lanes);
  }
  uint32_t reserve(Type t) {
    const uint32_t bytes = std::max(value_bytes(t), 1u);
    const uint32_t align = std::min(std::bit_ceil(bytes), 64u);
    top_ = (top_ + align - 1) / align * align;
    const uint32_t slot = top_;
    top_ += bytes;
    frame_bytes_ = std::max(frame_bytes_, top_);
    return slot;
  }
  uint32_t constant(Expr e) {
    const ExprNode* scalar = e->kind == ExprKind::kSplat ? e->a : e.node;
    const size_t size = dtype_bytes(e->type.dtype);
    constants_.resize((constants_.size() + 63) / 64 * 64);
    const uint32_t slot = static_cast<uint32_t>(constants_.size()) | kConstant;
    for (int32_t i = 0; i < e->type.lanes; ++i) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(&scalar->bits);  // little-endian
      constants_.insert(constants_.end(), bytes, bytes + size);
    }
    return slot;
  }
  void place_constants() {
    const uint32_t base = (frame_bytes_ + 63) / 64 * 64;
    for (Instr& in : code_.code) {
      for (uint32_t* offset : {&in.a, &in.b, &in.c}) {
        if (*offset & kConstant) *offset = base + (*offset & ~kConstant);
      }
    }
    code_.frame.assign(base + constants_.size(), 0);
    std::copy(constants_.begin(), constants_.end(), code_.frame.begin() + base);
  }

  Instr& emit(Handler handler, Origin origin) {
    code_.code.push_back({});
    code_.code.back().run = handler;
    code_.origins.push_back(origin);
    return code_.code.back();
  }
  int32_t here() const { return static_cast<int32_t>(code_.code.size()); }
  void jump_to(int32_t from, int32_t target) { code_.code[static_cast<size_t>(from)].jump = target - from; }

  // ---- expressions. A value stays in its slot until the scope ends where it was computed; one that reads
  // memory holds for its statement only.
  uint32_t slot_of(Expr e) {
    if (e->kind == ExprKind::kVar) return vars_[static_cast<size_t>(e->id)];
    if (e->kind == ExprKind::kSize) return code_.size_slots[static_cast<size_t>(e->id)];
    uint32_t& known = slots_[e->serial];
    if (known != kNone) return known;
    uint32_t slot = kNone;
    if (is_const(e)) {
      slot = constant(e);
    } else {
      slot = compute(e);
      bool reads = e->kind == ExprKind::kLoad;
      for (const ExprNode* part : {e->a, e->b, e->c}) reads = reads || (part && reads_[part->serial]);
      reads_[e->serial] = reads;
      (reads ? fleeting_ : scoped_).push_back(e->serial);
    }
    return slots_[e->serial] = slot;
  }
  void forget(std::vector<uint64_t>& list, size_t down_to) {
    for (; list.size() > down_to; list.pop_back()) slots_[list.back()] = kNone;
  }
  uint32_t operand(const ExprNode* e) { return e ? slot_of({e}) : 0; }
  uint32_t index_of(const ExprNode* e) {
    const uint32_t slot = operand(e);
    if (e->type.dtype == DType::kI64) return slot;
    const Type wide{DType::kI64, e->type.lanes};
    const uint32_t dst = reserve(wide);
    Instr& in = emit(cast_handler(e->type.dtype, wide.dtype), {{e}});
    in.a = slot;
    in.dst = dst;
    in.lanes = wide.lanes;
    return dst;
  }
  AccessShape shape(int32_t buffer, const ExprNode* index, const ExprNode* mask) const {
    const bool whole = code_.fn.buffers[static_cast<size_t>(buffer)].space == Space::kRegister;
    return {index->type.lanes > 1, mask != nullptr, whole};
  }

  uint32_t compute(Expr e) {
    if (e->kind == ExprKind::kLoad) {
      const uint32_t index = index_of(e->a), mask = operand(e->b);
      const uint32_t dst = reserve(e->type);
      Instr& in = emit(load_handler(e->type.dtype, shape(e->id, e->a, e->b)), {e});
      in.a = index;
      in.b = mask;
      in.buffer = e->id;
      return finish(in, e, dst);
    }
    const uint32_t a = operand(e->a), b = operand(e->b), c = operand(e->c);
    const uint32_t dst = reserve(e->type);
    Instr& in = emit(handler_of(*e.node), {e});
    in.a = a;
    in.b = b;
    in.c = c;
    in.imm = e->bits;
    if (e->kind == ExprKind::kShuffle) in.imm = reinterpret_cast<int64_t>(e.node);
    if (e->kind == ExprKind::kBitcast) in.imm = value_bytes(e->type);
    finish(in, e, dst);
    if (e->kind == ExprKind::kReduce) in.lanes = e->a->type.lanes;
    return dst;
  }
  static uint32_t finish(Instr& in, Expr e, uint32_t dst) {
    in.dst = dst;
    in.lanes = e->type.lanes;
    return dst;
  }
  static Handler handler_of(const ExprNode& e) {
    switch (e.kind) {
      case ExprKind::kUnary:
        return unary_handler(e.op, e.type.dtype);
      case ExprKind::kBinary:
        return binary_handler(e.op, e.a->type.dtype);
      case ExprKind::kFma:
        return fma_handler(e.type.dtype);
      case ExprKind::kSelect:
        return select_handler(e.type.dtype);
      case ExprKind::kCast:
        return cast_handler(e.a->type.dtype, e.type.dtype);
      case ExprKind::kSplat:
        return splat_handler(e.type.dtype);
      case ExprKind::kRamp:
        return ramp_handler(e.type.dtype);
      case ExprKind::kReduce:
        return reduce_handler(e.op, e.type.dtype);
      case ExprKind::kShuffle:
        return shuffle_handler(e.type.dtype);
      default:
        return copy_handler();
    }
  }

  // ---- statements
  void scope(const StmtNode& s) {
    const size_t scoped = scoped_.size();
    const uint32_t top = top_;
    statement(s);
    forget(scoped_, scoped);
    top_ = top;
  }
  void end_statement() { forget(fleeting_, 0); }

  void statement(const StmtNode& s) {
    switch (s.kind) {
      case StmtKind::kBlock:
        for (const Stmt& child : s.body) {
          if (child->kind == StmtKind::kBlock)
            scope(*child);
          else
            statement(*child);
        }
        return;
      case StmtKind::kLet:
        vars_[static_cast<size_t>(s.id)] = slot_of(s.a);
        return end_statement();
      case StmtKind::kStore:
        return store(s);
      case StmtKind::kIf:
        return branch(s);
      case StmtKind::kFor:
        return loop(s);
      case StmtKind::kAlloc:
        return alloc(s);
      case StmtKind::kBarrier:
        emit(stop_handler(), {{}, &s}).flag = static_cast<int32_t>(Stop::kBarrier);
        return;
      case StmtKind::kFail: {
        const uint32_t cond = slot_of(s.a), a = slot_of(s.b), b = slot_of(s.c);
        Instr& in = emit(fail_handler(), {{}, &s});
        in.a = cond;
        in.b = a;
        in.c = b;
        in.imm = s.code;
        return end_statement();
      }
    }
  }

  void store(const StmtNode& s) {
    const uint32_t index = index_of(s.a.node), value = slot_of(s.b), mask = operand(s.c.node);
    Instr& in = emit(store_handler(s.b->type.dtype, shape(s.id, s.a.node, s.c.node)), {{}, &s});
    in.a = index;
    in.b = value;
    in.c = mask;
    in.buffer = s.id;
    in.lanes = s.b->type.lanes;
    end_statement();
  }

  void branch(const StmtNode& s) {
    const uint32_t cond = slot_of(s.a);
    end_statement();
    const int32_t at = here();
    emit(branch_handler(), {{}, &s}).a = cond;
    scope(*s.body[0]);
    if (s.body.size() == 1) return jump_to(at, here());
    const int32_t over = here();
    emit(jump_handler(), {{}, &s});
    jump_to(at, here());
    scope(*s.body[1]);
    jump_to(over, here());
  }

  void loop(const StmtNode& s) {
    const DType dtype = s.a->type.dtype;
    const uint32_t begin = slot_of(s.a), end = slot_of(s.b);
    end_statement();
    const uint32_t var = reserve(s.a->type), trips = reserve(Type{});
    vars_[static_cast<size_t>(s.id)] = var;
    const bool threads = s.loop == LoopKind::kGpuThread;
    const int32_t enter = here();
    {
      Instr& in = emit(threads ? stop_handler() : loop_enter_handler(), {{}, &s});
      in.dst = var;
      in.a = begin;
      in.b = end;
      in.c = trips;
      in.imm = s.c->bits;
      in.lanes = static_cast<int32_t>(dtype);
      in.flag = threads ? static_cast<int32_t>(Stop::kFork) : s.loop == LoopKind::kGpuBlock;
    }
    scope(*s.body[0]);
    const int32_t next = here();
    Instr& in = emit(threads ? stop_handler() : loop_next_handler(dtype), {{}, &s});
    in.dst = var;
    in.c = trips;
    in.imm = s.c->bits;
    in.flag = threads ? static_cast<int32_t>(Stop::kThreadDone) : s.loop == LoopKind::kGpuBlock;
    jump_to(next, enter + 1);
    jump_to(enter, here());
  }

  void alloc(const StmtNode& s) {
    const Buffer& b = code_.fn.buffers[static_cast<size_t>(s.id)];
    Local local;
    local.buffer = s.id;
    local.shared = b.space == Space::kShared;
    as_int(b.size, &local.elements);
    const int64_t element = static_cast<int64_t>(dtype_bytes(b.dtype)) * b.lanes;
    int64_t& top = local.shared ? shared_top_ : private_top_;
    int64_t& most = local.shared ? code_.shared_bytes : code_.private_bytes;
    const int64_t before = top;
    const auto take = [&](int64_t bytes) {
      const int64_t offset = top;
      top += (bytes + 63) / 64 * 64;
      most = std::max(most, top);
      return offset;
    };
    local.offset = take(local.elements * element);
    local.written_offset = take(local.elements);
    if (local.shared) local.uses_offset = take(local.elements * static_cast<int64_t>(sizeof(SharedUse)));
    code_.locals.push_back(local);
    Instr& in = emit(alloc_handler(), {{}, &s});
    in.buffer = s.id;
    in.imm = element;
    scope(*s.body[0]);
    top = before;
  }

  Bytecode code_;
  std::vector<uint32_t> slots_, vars_;
  std::vector<uint8_t> reads_;
  std::vector<uint64_t> scoped_, fleeting_;
  std::vector<uint8_t> constants_;
  uint32_t top_ = 0, frame_bytes_ = 0;
  int64_t private_top_ = 0, shared_top_ = 0;
};

}  // namespace

Bytecode compile(const LoopFn& fn) { return Compiler(fn).run(); }

}  // namespace frit::loop::interp
