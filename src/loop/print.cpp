#include <charconv>
#include <cmath>

#include "base/text.h"
#include "loop/scalar.h"
#include "loop/text.h"

namespace frit::loop {

namespace {

constexpr const char* kSpaceNames[] = {"global", "stack", "register", "shared"};
constexpr const char* kLoopNames[] = {"", " unrolled", " gpu_block", " gpu_thread"};
constexpr const char* kAccessNames[] = {"read", "write", "read_write"};
constexpr const char* kRoleNames[] = {"input", "output", "prepared", "scratch"};

const char* infix(OpCode op) {
  switch (op) {
    case OpCode::kAdd:
      return " + ";
    case OpCode::kSub:
      return " - ";
    case OpCode::kMul:
      return " * ";
    case OpCode::kDiv:
      return " / ";
    case OpCode::kEq:
      return " == ";
    case OpCode::kNe:
      return " != ";
    case OpCode::kLt:
      return " < ";
    case OpCode::kLe:
      return " <= ";
    case OpCode::kGt:
      return " > ";
    case OpCode::kGe:
      return " >= ";
    default:
      return nullptr;
  }
}

bool is_leaf(const ExprNode* e) { return !e->a && e->kind != ExprKind::kLoad; }
bool is_small(const ExprNode* e) {
  return (!e->a || is_leaf(e->a)) && (!e->b || is_leaf(e->b)) && (!e->c || is_leaf(e->c));
}

constexpr int32_t kInlineHeight = 100;  // taller parts get a name too, so that the parser need not recurse far

class Printer {
 public:
  // Without a function: variables and buffers by their ids, no abbreviations, cut at a depth.
  explicit Printer(const LoopFn* fn) : fn_(fn) {}

  std::string out;

  void function() {
    const LoopFn& fn = *fn_;
    const uint64_t exprs = fn.context ? fn.context->expr_count() : 0;
    uses_.assign(exprs, 0);
    names_.assign(exprs, -1);
    heights_.assign(exprs, 0);
    vars_.assign(fn.context ? fn.context->var_count() : 0, -1);
    buffers_.assign(fn.buffers.size(), -1);
    for (int32_t i = 0; i < fn.arg_count && i < static_cast<int32_t>(fn.buffers.size()); ++i) {
      buffers_[i] = next_buffer_++;
      count(fn.buffers[i].size.node);
    }
    for (const TileDim& tile : fn.tiles) count(tile.extent.node);
    if (fn.body) count(*fn.body);

    text("fn ");
    text(fn.family.empty() ? "_" : fn.family);
    text(" sizes=");
    number(fn.size_count);
    text(" scratch=");
    number(fn.scratch_bytes);
    if (fn.gpu) text(" gpu");
    text(" {\n");
    depth_ = 1;
    for (int32_t i = 0; i < fn.arg_count && i < static_cast<int32_t>(fn.buffers.size()); ++i)
      argument(fn.buffers[i]);
    for (const TileDim& tile : fn.tiles) {
      define(tile.extent.node);
      indent();
      text("tile ");
      bind(tile.var ? tile.var->id : -1);
      text(" < ");
      expr(tile.extent.node);
      text("\n");
    }
    if (fn.body) body(*fn.body);
    text("}\n");
  }

  void expr(const ExprNode* e) {
    if (!e) return text("null");
    if (fn_ && names_[e->serial] >= 0) {
      text("$");
      return number(names_[e->serial]);
    }
    if (!fn_ && level_ > 5 && !is_leaf(e)) return text("...");
    ++level_;
    inner(*e);
    --level_;
  }

  void statement(const StmtNode& s) {
    switch (s.kind) {
      case StmtKind::kBlock:
        return text("{");
      case StmtKind::kFor:
        text("for ");
        bind(s.id);
        if (s.c && s.c->type.dtype != DType::kI64) {
          text(":");
          text(dtype_name(s.c->type.dtype));
        }
        text(" = ");
        expr(s.a.node);
        text("..");
        expr(s.b.node);
        text(" step ");
        number(s.c ? s.c->bits : 0);
        text(kLoopNames[static_cast<size_t>(s.loop)]);
        if (s.loop >= LoopKind::kGpuBlock) {
          text(".");
          number(s.gpu_axis);
        }
        return;
      case StmtKind::kIf:
        text("if ");
        return expr(s.a.node);
      case StmtKind::kLet:
        text("let ");
        bind(s.id);
        text(" = ");
        return expr(s.a.node);
      case StmtKind::kStore:
        element(s.id, s.a.node, s.c.node);
        text(" = ");
        return expr(s.b.node);
      case StmtKind::kAlloc:
        text("alloc ");
        if (fn_ && s.id >= 0 && s.id < static_cast<int32_t>(buffers_.size())) {
          if (buffers_[s.id] < 0) buffers_[s.id] = next_buffer_++;
          const Buffer& b = fn_->buffers[s.id];
          buffer_type(b);
          text(" ");
          text(kSpaceNames[static_cast<size_t>(b.space)]);
          text(" align=");
          return number(b.align_bytes);
        }
        return buffer(s.id);
      case StmtKind::kBarrier:
        return text("barrier");
      case StmtKind::kFail:
        text("fail ");
        number(s.code);
        text(" if ");
        expr(s.a.node);
        text(" with ");
        expr(s.b.node);
        text(", ");
        return expr(s.c.node);
    }
  }

 private:
  void text(std::string_view s) { out += s; }
  template <class T>
  void number(T value) {
    char digits[32];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  }
  void indent() { out.append(static_cast<size_t>(depth_) * 2, ' '); }

  // ---- numbering
  void bind(int32_t id) {
    if (fn_ && id >= 0 && id < static_cast<int32_t>(vars_.size())) {
      if (vars_[id] < 0) vars_[id] = next_var_++;
      id = vars_[id];
    }
    text("v");
    number(id);
  }
  void buffer(int32_t id) {
    if (fn_ && id >= 0 && id < static_cast<int32_t>(buffers_.size())) {
      if (buffers_[id] < 0) buffers_[id] = next_buffer_++;
      id = buffers_[id];
    }
    text("b");
    number(id);
  }

  // ---- abbreviations: parts that occur more than once get a name before the statement where they first
  // occur
  void count(const ExprNode* e) {
    if (!e || is_leaf(e)) return;
    uint8_t& uses = uses_[e->serial];
    if (uses < 2) ++uses;
    if (uses > 1) return;
    count(e->a);
    count(e->b);
    count(e->c);
  }
  void count(const StmtNode& s) {
    count(s.a.node);
    count(s.b.node);
    count(s.c.node);
    for (const Stmt& child : s.body) {
      if (child) count(*child);
    }
  }
  void define(const ExprNode* e) {
    if (!e || is_leaf(e) || uses_[e->serial] > 2 || names_[e->serial] >= 0) return;
    const bool many = uses_[e->serial] == 2 && !is_small(e);
    uses_[e->serial] = 3;  // looked at
    int32_t height = 0;
    for (const ExprNode* part : {e->a, e->b, e->c}) {
      define(part);
      if (part) height = std::max(height, heights_[part->serial] + 1);
    }
    heights_[e->serial] = height;
    if (!many && height < kInlineHeight) return;
    heights_[e->serial] = 0;
    indent();
    text("$");
    number(next_name_);
    text(" = ");
    inner(*e);
    text("\n");
    names_[e->serial] = next_name_++;
  }

  // ---- parts
  void element(int32_t id, const ExprNode* index, const ExprNode* mask) {
    buffer(id);
    text("[");
    expr(index);
    if (mask) {
      text(", ");
      expr(mask);
    }
    text("]");
  }
  void call(std::string_view name, const ExprNode& e) {
    text(name);
    text("(");
    expr(e.a);
    if (e.b) text(", "), expr(e.b);
    if (e.c) text(", "), expr(e.c);
    text(")");
  }
  void lanes_call(std::string_view name, const ExprNode& e) {
    text(name);
    text(".");
    number(e.type.lanes);
    text("(");
    expr(e.a);
    if (e.kind == ExprKind::kRamp) text(", "), number(e.bits);
    text(")");
  }

  void constant(const ExprNode& e) {
    const DType dtype = e.type.dtype;
    if (dtype == DType::kBool) return text(e.bits ? "true" : "false");
    if (e.kind == ExprKind::kInt) {
      if (dtype == DType::kU64)
        number(static_cast<uint64_t>(e.bits));
      else
        number(e.bits);
      if (dtype == DType::kI64) return;
    } else {
      const size_t start = out.size();
      bool is_nan = false;
      with_type(dtype, [&](auto tag) {
        using T = decltype(tag);
        const auto value = to_compute(from_bits<T>(e.bits));
        if constexpr (kIsFloat<T>) {
          is_nan = std::isnan(value);
          if (!is_nan) number(value);
        }
      });
      if (is_nan) {
        text("bits ");
        number(e.bits);
      } else if (out.find_first_not_of("-0123456789", start) == std::string::npos) {
        text(".0");
      }
      if (dtype == DType::kF32 && !is_nan) return;
    }
    text(":");
    text(dtype_name(dtype));
  }

  void inner(const ExprNode& e) {
    switch (e.kind) {
      case ExprKind::kInt:
      case ExprKind::kFloat:
        return constant(e);
      case ExprKind::kVar:
        return bind(e.id);
      case ExprKind::kSize:
        text("s");
        return number(e.id);
      case ExprKind::kUnary:
        return call(opcode_name(e.op), e);
      case ExprKind::kBinary:
        if (const char* op = infix(e.op)) {
          text("(");
          expr(e.a);
          text(op);
          expr(e.b);
          return text(")");
        }
        return call(opcode_name(e.op), e);
      case ExprKind::kFma:
        return call("fma", e);
      case ExprKind::kSelect:
        return call("select", e);
      case ExprKind::kCast:
        text("cast.");
        return call(dtype_name(e.type.dtype), e);
      case ExprKind::kBitcast:
        text("bitcast.");
        return call(dtype_name(e.type.dtype), e);
      case ExprKind::kSplat:
        return lanes_call("splat", e);
      case ExprKind::kRamp:
        return lanes_call("ramp", e);
      case ExprKind::kReduce:
        text("reduce.");
        return call(opcode_name(e.op), e);
      case ExprKind::kLoad: {
        element(e.id, e.a, e.b);
        const bool known = fn_ && e.id >= 0 && e.id < static_cast<int32_t>(fn_->buffers.size());
        const bool wide = known && fn_->buffers[e.id].space == Space::kRegister;
        const int32_t usual = wide ? fn_->buffers[e.id].lanes : e.a ? e.a->type.lanes : 1;
        if (e.type.lanes != usual) text("."), number(e.type.lanes);
        return;
      }
      case ExprKind::kShuffle: {
        text("shuffle(");
        expr(e.a);
        text(", ");
        expr(e.b);
        text(", [");
        for (size_t i = 0; i < e.lanes.size(); ++i) {
          if (i) text(" ");
          number(e.lanes[i]);
        }
        return text("])");
      }
    }
  }

  void buffer_type(const Buffer& b) {
    buffer(b.id);
    text(" ");
    text(dtype_name(b.dtype));
    if (b.lanes != 1) text("x"), number(b.lanes);
    text("[");
    expr(b.size.node);
    text("]");
  }
  void argument(const Buffer& b) {
    define(b.size.node);
    indent();
    text("arg ");
    buffer_type(b);
    text(" ");
    text(kAccessNames[static_cast<size_t>(b.access)]);
    text(" align=");
    number(b.align_bytes);
    for (size_t i = 0; i < b.may_alias.size(); ++i) {
      text(i ? "," : " alias=");
      number(b.may_alias[i]);
    }
    if (b.in_place) text(" in_place");
    if (b.over_read) text(" over_read");
    text("\n");
  }

  void body(const StmtNode& s) {
    if (s.kind == StmtKind::kBlock) {
      for (const Stmt& child : s.body) {
        if (child) body(*child);
      }
      return;
    }
    define(s.a.node);
    define(s.b.node);
    if (s.kind != StmtKind::kFor) define(s.c.node);
    indent();
    statement(s);
    if (s.kind == StmtKind::kFor || s.kind == StmtKind::kIf || s.kind == StmtKind::kAlloc) {
      for (size_t i = 0; i < s.body.size(); ++i) {
        if (i) indent(), text("} else");
        text(" {\n");
        ++depth_;
        if (s.body[i]) body(*s.body[i]);
        --depth_;
      }
      indent();
      text("}");
    }
    text("\n");
  }

  const LoopFn* fn_;
  int depth_ = 0;
  int level_ = 0;
  std::vector<uint8_t> uses_;  // by serial: 0, 1, 2 = many, 3 = looked at
  std::vector<int32_t> names_, heights_, vars_, buffers_;
  int32_t next_name_ = 0, next_var_ = 0, next_buffer_ = 0;
};

void print_phase(std::string& out, const char* head, const Phase& phase) {
  base::append(out, head, " args=", base::join(phase.args, ","), " threads=", phase.threads,
               " grain=", phase.grain, "\n", print(phase.fn));
}

}  // namespace

std::string print(const LoopFn& fn) {
  Printer printer(&fn);
  printer.out.reserve(4096);
  printer.function();
  return std::move(printer.out);
}

std::string print(const Program& program) {
  std::string out = "program\n";
  for (const ProgramBuffer& b : program.buffers) {
    base::append(out, "buffer ", kRoleNames[static_cast<size_t>(b.role)], " ", b.index,
                 " bytes=", b.size_bytes, "\n");
  }
  for (const int32_t i : program.in_place) base::append(out, "in_place ", i, "\n");
  for (const Phase& p : program.prepare) print_phase(out, "prepare", p);
  for (const Phase& p : program.phases) print_phase(out, "phase", p);
  return out + "end\n";
}

base::Hash128 text_hash(const LoopFn& fn) { return base::hash128(print(fn)); }
base::Hash128 text_hash(const Program& program) { return base::hash128(print(program)); }

std::string brief(Expr e) {
  Printer printer(nullptr);
  printer.expr(e.node);
  return std::move(printer.out);
}

std::string brief(const StmtNode& stmt) {
  Printer printer(nullptr);
  printer.statement(stmt);
  return std::move(printer.out);
}

std::string kernel_symbol(std::string_view family, std::string_view text) {
  return base::text_of("frit_", family, "_", base::hash128(text).hex().substr(0, 16));
}

}  // namespace frit::loop
