#include "codegen/cuda/emit.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "base/try.h"
#include "codegen/cuda/c_text.h"
#include "loop/build.h"
#include "loop/ranges.h"
#include "loop/text.h"

namespace frit::codegen {
namespace {

using base::append;
using base::text_of;
using loop::Buffer;
using loop::Expr;
using loop::ExprKind;
using loop::ExprNode;
using loop::LoopKind;
using loop::OpCode;
using loop::Space;
using loop::StmtKind;
using loop::StmtNode;

constexpr size_t kInlineChars = 72;  // longer texts get a name
constexpr int64_t kPackBytes = 16;   // widest access
constexpr const char* kAxes[] = {"x", "y", "z"};

class Emitter {
 public:
  explicit Emitter(const loop::LoopFn& fn) : fn_(fn) {}

  Result<CudaKernel> emit() {
    CudaKernel kernel;
    FRIT_ASSIGN(kernel.launch, loop::gpu_launch(fn_));
    launch_ = &kernel.launch;
    kernel.symbol = loop::kernel_symbol(fn_.family, loop::print(fn_));
    uses_.assign(fn_.context->expr_count(), 0);
    count_uses(*fn_.body);
    names_.resize(fn_.buffers.size());
    scopes_.emplace_back();
    signature(kernel.symbol);
    statement(*fn_.body);
    out_ += "}\n";
    if (!failed_.ok()) return std::move(failed_).error();
    kernel.source = cuda_prelude() + out_;
    return kernel;
  }

 private:
  // ---- text
  template <class... Ts>
  void line(const Ts&... parts) {
    out_.append(static_cast<size_t>(depth_) * 2, ' ');
    append(out_, parts...);
    out_ += '\n';
  }
  void fail(std::string what) {
    if (failed_.ok())
      failed_ = make_error(Code::kInternal, "emitting " + fn_.family + " for CUDA: " + std::move(what));
  }

  void signature(const std::string& symbol) {
    append(out_, "extern \"C\" __global__ void __launch_bounds__(", launch_->threads(), ")\n", symbol, "(");
    for (int32_t k = 0; k < fn_.arg_count; ++k) {
      const Buffer& b = fn_.buffers[static_cast<size_t>(k)];
      names_[static_cast<size_t>(k)] = text_of("b", k);
      append(out_, b.access == loop::Access::kRead ? "const " : "", c_memory_type(b.dtype), "* ",
             b.may_alias.empty() ? "__restrict__ " : "", "b", k, ", ");
    }
    for (int32_t k = 0; k < fn_.size_count; ++k) append(out_, "i64 s", k, ", ");
    out_ += "i64* error) {\n";
    depth_ = 1;
    if (launch_->shared_bytes > 0) line("extern __shared__ __align__(128) u8 shared[];");
    next_buffer_ = fn_.arg_count;
  }

  // ---- how often an expression is needed, in all statements
  void count_uses(const ExprNode* e) {
    if (!e || uses_[e->serial]++ > 0) return;
    for (const ExprNode* part : {e->a, e->b, e->c}) count_uses(part);
  }
  void count_uses(const StmtNode& s) {
    for (const Expr e : {s.a, s.b, s.c}) count_uses(e.node);
    for (const auto& child : s.body) count_uses(*child);
  }

  // ---- what is known about integers
  struct Var {
    std::vector<std::string> lanes;
    bool small = false;
  };
  static bool fits(loop::Range r) { return r.lo >= INT32_MIN + (1 << 20) && r.hi <= INT32_MAX - (1 << 20); }
  // Held in 32 bits, with all that it is made of.
  bool is_small(const ExprNode* e) {
    if (e->type.dtype != DType::kI64) return false;
    if (e->kind == ExprKind::kVar) return vars_[e->id].small;
    if (const auto it = small_.find(e); it != small_.end()) return it->second;
    bool small = ranges_.is_index({e}) && fits(ranges_.of({e}));
    for (const ExprNode* part : {e->a, e->b, e->c})
      small = small && (!part || part->type.dtype != DType::kI64 || is_small(part));
    if (e->kind == ExprKind::kSize || e->kind == ExprKind::kLoad || e->kind == ExprKind::kBitcast)
      small = false;
    if (e->kind == ExprKind::kCast) small = false;
    small_.emplace(e, small);
    return small;
  }
  CIntegers integers(const ExprNode* e) {
    const ExprNode* operand = e->a;
    if (is_float(operand->type.dtype) || operand->type.dtype == DType::kBool) return {};
    CIntegers how;
    how.index = e->type.dtype == DType::kI64 && ranges_.is_index({e});
    how.small = is_small(e);
    how.not_negative = ranges_.of({e->a}).lo >= 0 && (!e->b || ranges_.of({e->b}).lo >= 0);
    return how;
  }
  const char* held_type(const ExprNode* e) { return is_small(e) ? "i32" : c_type(e->type.dtype); }

  // ---- expressions. A named value holds until the scope ends where it was named; one that reads memory
  // holds for its statement only.
  struct Scope {
    std::map<std::pair<const ExprNode*, int32_t>, std::string> values;
  };

  bool reads_memory(const ExprNode* e) {
    if (!e || (!e->a && e->kind != ExprKind::kLoad)) return false;
    if (e->kind == ExprKind::kLoad) return true;
    if (const auto it = reads_.find(e); it != reads_.end()) return it->second;
    const bool reads = reads_memory(e->a) || reads_memory(e->b) || reads_memory(e->c);
    reads_.emplace(e, reads);
    return reads;
  }

  std::string value(const ExprNode* e, int32_t lane = 0) {
    switch (e->kind) {
      case ExprKind::kInt:
      case ExprKind::kFloat:
        return c_constant(e->bits, e->type.dtype);
      case ExprKind::kVar: {
        const Var& v = vars_[e->id];
        if (static_cast<size_t>(lane) < v.lanes.size()) return v.lanes[static_cast<size_t>(lane)];
        fail(text_of("variable v", e->id, " has no value"));
        return "0";
      }
      case ExprKind::kSize:
        return text_of("s", e->id);
      case ExprKind::kSplat:
        return value(e->a);
      default:
        break;
    }
    const auto key = std::make_pair(e, lane);
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto it = scope->values.find(key); it != scope->values.end()) return it->second;
    if (const auto it = fleeting_.find(key); it != fleeting_.end()) return it->second;
    if (e->kind == ExprKind::kLoad && e->type.lanes > 1 && load_packs(e)) return fleeting_.at(key);
    std::string text = compute(e, lane);
    if (uses_[e->serial] < 2 && text.size() <= kInlineChars) return text;
    return name(e, lane, text);
  }
  std::string name(const ExprNode* e, int32_t lane, const std::string& text) {
    std::string id = text_of("t", next_name_++);
    line("const ", held_type(e), " ", id, " = ", text, ";");
    (reads_memory(e) ? fleeting_ : scopes_.back().values)[{e, lane}] = id;
    return id;
  }

  std::string compute(const ExprNode* e, int32_t lane) {
    switch (e->kind) {
      case ExprKind::kUnary:
        return c_unary(e->op, e->type.dtype, value(e->a, lane), integers(e));
      case ExprKind::kBinary:
        return c_binary(e->op, e->a->type.dtype, value(e->a, lane), value(e->b, lane), integers(e));
      case ExprKind::kFma:
        return text_of("fused(", value(e->a, lane), ", ", value(e->b, lane), ", ", value(e->c, lane), ")");
      case ExprKind::kSelect:
        return text_of("(", value(e->a, lane), " ? ", value(e->b, lane), " : ", value(e->c, lane), ")");
      case ExprKind::kCast:
        return c_cast(e->a->type.dtype, e->type.dtype, value(e->a, lane));
      case ExprKind::kBitcast:
        return bitcast(e, lane);
      case ExprKind::kRamp:
        return ramp(e, lane);
      case ExprKind::kReduce:
        return reduce(e, 0, 1);
      case ExprKind::kShuffle: {
        const int32_t from = e->lanes[static_cast<size_t>(lane)], first = e->a->type.lanes;
        return from < first ? value(e->a, from) : value(e->b, from - first);
      }
      case ExprKind::kLoad:
        return load(e, lane);
      default:
        break;
    }
    fail("an expression of an unknown kind");
    return "0";
  }

  std::string bitcast(const ExprNode* e, int32_t lane) {
    if (e->type.lanes != e->a->type.lanes) fail("a change of lanes by a cast of bits");
    const std::string operand = value(e->a, lane);
    return text_of("bits_as<", c_type(e->type.dtype), ">((", c_type(e->a->type.dtype), ")", operand, ")");
  }
  std::string ramp(const ExprNode* e, int32_t lane) {
    const DType t = e->type.dtype;
    const std::string base = value(e->a);
    if (lane == 0 || e->bits == 0) return base;
    CIntegers how;
    how.index = t == DType::kI64 && ranges_.is_index({e});
    how.small = is_small(e);
    return c_binary(OpCode::kAdd, t, base, c_constant(lane * e->bits, t), how);
  }
  // v[i] op v[i + n/2] until one is left: lanes first, first + stride ...
  std::string reduce(const ExprNode* e, int32_t first, int32_t stride) {
    if (stride == e->a->type.lanes) return value(e->a, first);
    const std::string a = reduce(e, first, stride * 2), b = reduce(e, first + stride, stride * 2);
    return c_binary(e->op, e->type.dtype, a, b);
  }

  // ---- memory
  const Buffer& buffer(int32_t id) const { return fn_.buffers[static_cast<size_t>(id)]; }
  const std::string& name_of(int32_t id) const { return names_[static_cast<size_t>(id)]; }

  // Element `offset` behind a scalar index.
  static std::string plus(const std::string& index, int64_t offset) {
    return offset == 0 ? index : text_of(index, " + ", offset);
  }
  std::string element(int32_t id, const std::string& index) const {
    return text_of(name_of(id), "[", index, "]");
  }
  std::string from_memory(DType dtype, const std::string& text) const {
    return dtype == DType::kBool ? text_of("(", text, " != 0)") : text;
  }
  static std::string zero(DType dtype) {
    return dtype == DType::kBool                        ? "false"
           : is_float(dtype) && dtype_bytes(dtype) == 2 ? text_of("zero<", c_type(dtype), ">()")
                                                        : c_constant(0, dtype);
  }

  // Index of one lane of an access.
  std::string index_of(const Buffer& b, const ExprNode* index, int32_t lane) {
    if (b.space == Space::kRegister) {
      int64_t k = 0;
      if (b.lanes == 1) return value(index);
      if (loop::as_int({index}, &k)) return text_of(k * b.lanes + lane);
      return plus(text_of(value(index), " * ", b.lanes), lane);
    }
    return index->type.lanes > 1 ? value(index, lane) : plus(value(index), lane);
  }

  std::string load(const ExprNode* e, int32_t lane) {
    const Buffer& b = buffer(e->id);
    std::string text = from_memory(b.dtype, element(e->id, index_of(b, e->a, lane)));
    if (!e->b) return text;
    return text_of("(", value(e->b, e->b->type.lanes > 1 ? lane : 0), " ? ", text, " : ", zero(b.dtype), ")");
  }

  // Elements that one access may move: consecutive, and aligned for all values of the index.
  int32_t pack_lanes(const Buffer& b, const ExprNode* index, int32_t lanes) const {
    if (b.space == Space::kRegister || b.space == Space::kStack || index->type.lanes > 1 ||
        b.dtype == DType::kBool)
      return 1;
    const auto bytes = static_cast<int64_t>(dtype_bytes(b.dtype));
    const int64_t divisor = ranges_.divisor({index});
    int32_t n = 1;
    while (n * 2 <= lanes && lanes % (n * 2) == 0 && n * 2 * bytes <= kPackBytes &&
           b.align_bytes % (n * 2 * bytes) == 0 && divisor % (n * 2) == 0)
      n *= 2;
    return n;
  }
  bool load_packs(const ExprNode* e) {
    const Buffer& b = buffer(e->id);
    const int32_t lanes = e->type.lanes, n = pack_lanes(b, e->a, lanes);
    std::string mask;
    if (e->b && e->b->kind == ExprKind::kSplat) mask = value(e->b->a);
    if (n == 1 || (e->b && mask.empty())) {
      for (int32_t k = 0; k < lanes; ++k) name(e, k, load(e, k));
      return true;
    }
    const std::string index = value(e->a);
    for (int32_t k = 0; k < lanes; k += n) {
      const std::string id = text_of("t", next_name_++),
                        pack = text_of("Pack<", c_type(b.dtype), ", ", n, ">");
      if (mask.empty()) {
        line("const ", pack, " ", id, " = load_pack<", n, ">(", name_of(e->id), " + ", plus(index, k), ");");
      } else {
        line(pack, " ", id, " = {};");
        line("if (", mask, ") ", id, " = load_pack<", n, ">(", name_of(e->id), " + ", plus(index, k), ");");
      }
      for (int32_t i = 0; i < n; ++i) fleeting_[{e, k + i}] = text_of(id, ".v[", i, "]");
    }
    return true;
  }

  void store(const StmtNode& s) {
    const Buffer& b = buffer(s.id);
    const int32_t lanes = s.b->type.lanes;
    std::vector<std::string> values;
    for (int32_t k = 0; k < lanes; ++k) {
      std::string text = value(s.b.node, k);
      // Lanes are stored one after another: what is read from memory must be read before.
      if (lanes > 1 && reads_memory(s.b.node) && fleeting_.find({s.b.node, k}) == fleeting_.end())
        text = name(s.b.node, k, text);
      values.push_back(std::move(text));
    }
    const int32_t n =
        lanes > 1 && (!s.c || s.c->kind == ExprKind::kSplat) ? pack_lanes(b, s.a.node, lanes) : 1;
    if (n > 1) {
      const std::string index = value(s.a.node);
      const std::string guard = s.c ? text_of("if (", value(s.c->a), ") ") : "";
      for (int32_t k = 0; k < lanes; k += n) {
        std::string list;
        for (int32_t i = 0; i < n; ++i) append(list, i ? ", " : "", values[static_cast<size_t>(k + i)]);
        line(guard, "store_pack(", name_of(s.id), " + ", plus(index, k), ", Pack<", c_type(b.dtype), ", ", n,
             ">{{", list, "}});");
      }
      return;
    }
    for (int32_t k = 0; k < lanes; ++k) {
      const std::string target = element(s.id, index_of(b, s.a.node, k));
      const std::string guard =
          s.c ? text_of("if (", value(s.c.node, s.c->type.lanes > 1 ? k : 0), ") ") : "";
      line(guard, target, " = ", values[static_cast<size_t>(k)], ";");
    }
  }

  // ---- statements
  void statement(const StmtNode& s) {
    if (!failed_.ok()) return;
    if (join_pending_ && s.kind != StmtKind::kBlock) {
      join_pending_ = false;
      if (s.kind != StmtKind::kBarrier) line("barrier();");  // the end of a thread loop joins its threads
    }
    switch (s.kind) {
      case StmtKind::kBlock:
        for (const auto& child : s.body) statement(*child);
        return;
      case StmtKind::kLet:
        let(s);
        break;
      case StmtKind::kStore:
        store(s);
        break;
      case StmtKind::kFor:
        loop(s);
        break;
      case StmtKind::kIf:
        condition(s);
        break;
      case StmtKind::kAlloc:
        alloc(s);
        break;
      case StmtKind::kBarrier:
        line("barrier();");
        break;
      case StmtKind::kFail:
        line("if (", value(s.a.node), ") {");
        line("  fail(error, ", s.code, ", ", value(s.b.node), ", ", value(s.c.node), ");");
        line("  return;");
        line("}");
        break;
    }
    fleeting_.clear();
  }

  void scoped(const StmtNode& body) {
    scopes_.emplace_back();
    fleeting_.clear();
    ++depth_;
    statement(body);
    --depth_;
    fleeting_.clear();
    scopes_.pop_back();
  }

  Expr variable(int32_t id, loop::Type type) const {
    ExprNode node{.kind = ExprKind::kVar};
    node.type = type;
    node.id = id;
    return fn_.context->intern(std::move(node));
  }
  std::string new_variable() { return text_of("v", next_var_++); }

  void let(const StmtNode& s) {
    const ExprNode* e = s.a.node;
    Var var;
    var.small = is_small(e);
    for (int32_t k = 0; k < e->type.lanes; ++k) {
      std::string text = value(e, k);
      if (const bool is_name = text.find_first_of(" (<") == std::string::npos && fleeting_.count({e, k});
          is_name) {
        var.lanes.push_back(std::move(text));  // named for this very value: a second name would say nothing
        continue;
      }
      std::string id = new_variable();
      line("const ", var.small ? "i32" : c_type(e->type.dtype), " ", id, " = ", text, ";");
      var.lanes.push_back(std::move(id));
    }
    if (!is_float(e->type.dtype)) ranges_.define(variable(s.id, e->type), s.a);
    vars_[s.id] = std::move(var);
  }

  void loop(const StmtNode& s) {
    const std::string begin = value(s.a.node);
    std::string end = value(s.b.node);
    if (reads_memory(s.b.node) && fleeting_.count({s.b.node, 0}) == 0)
      end = name(s.b.node, 0, end);  // evaluated once
    const Expr v = variable(s.id, s.a->type);
    ranges_.bind(v, s.a, s.b, s.c->bits);
    Var var;
    const loop::Range range = ranges_.of(v);
    var.small = s.a->type.dtype == DType::kI64 && fits(range) && s.c->bits < (1 << 20) &&
                is_small(s.a.node) && is_small(s.b.node);
    const std::string id = new_variable();
    var.lanes.push_back(id);
    vars_[s.id] = var;
    const char* type = var.small ? "i32" : c_type(s.a->type.dtype);
    const char* axis = kAxes[s.gpu_axis];
    if (s.loop == LoopKind::kGpuBlock || s.loop == LoopKind::kGpuThread) {
      const bool thread = s.loop == LoopKind::kGpuThread;
      const bool only = s.body.size() == 1;
      if (!only) return fail("a gpu loop with several bodies");
      line("{");
      line("  const ", type, " ", id, " = (", type, ")", thread ? "threadIdx." : "blockIdx.", axis, ";");
      thread_depth_ += thread;
      scoped(*s.body[0]);
      thread_depth_ -= thread;
      line("}");
      join_pending_ = thread && thread_depth_ == 0;
      return;
    }
    if (s.loop == LoopKind::kUnrolled) line("#pragma unroll");
    line("for (", type, " ", id, " = ", begin, "; ", id, " < ", end, "; ", id, " += ", s.c->bits, ") {");
    scoped(*s.body[0]);
    line("}");
  }

  void condition(const StmtNode& s) {
    line("if (", value(s.a.node), ") {");
    scoped(*s.body[0]);
    if (s.body.size() > 1 && s.body[1]) {
      line("} else {");
      scoped(*s.body[1]);
    }
    line("}");
  }

  void alloc(const StmtNode& s) {
    const Buffer& b = buffer(s.id);
    std::string& name = names_[static_cast<size_t>(s.id)];
    name = text_of("b", next_buffer_++);
    int64_t count = 0;
    loop::as_int(b.size, &count);
    if (b.space == Space::kShared) {
      line(c_memory_type(b.dtype), "* const ", name, " = (", c_memory_type(b.dtype), "*)(shared + ",
           launch_->shared_offsets[static_cast<size_t>(s.id)], ");");
    } else {
      line(b.space == Space::kRegister ? c_type(b.dtype) : c_memory_type(b.dtype), " ", name, "[",
           count * b.lanes, "];");
    }
    statement(*s.body[0]);
  }

  const loop::LoopFn& fn_;
  const loop::GpuLaunch* launch_ = nullptr;
  std::string out_;
  int depth_ = 0, thread_depth_ = 0;
  bool join_pending_ = false;
  std::vector<int32_t> uses_;       // by serial
  std::vector<std::string> names_;  // of buffers
  std::unordered_map<int32_t, Var> vars_;
  std::unordered_map<const ExprNode*, bool> small_, reads_;
  std::vector<Scope> scopes_;
  std::map<std::pair<const ExprNode*, int32_t>, std::string> fleeting_;
  loop::Ranges ranges_;
  int64_t next_name_ = 0, next_var_ = 0, next_buffer_ = 0;
  Status failed_;
};

}  // namespace

Result<CudaKernel> emit_cuda(const loop::LoopFn& fn) { return Emitter(fn).emit(); }

}  // namespace frit::codegen
