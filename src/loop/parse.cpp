#include <charconv>
#include <string>

#include "base/text.h"
#include "base/try.h"
#include "loop/build.h"
#include "loop/scalar.h"
#include "loop/text.h"
#include "loop/tokens.h"

namespace frit::loop {

namespace {

constexpr int kMaxDepth = 1000;   // of the text
constexpr int kMaxHeight = 4000;  // of an expression, abbreviations expanded: later walks recurse

// Nodes are interned as written: the makers' folding would change a text that is not folded.
class Parser : Tokens {
 public:
  explicit Parser(std::string_view text) : Tokens(text) {}

  Result<LoopFn> whole_function() {
    LoopFn fn = function();
    if (ok() && at_ != end_) error("text after the function");
    return finish(std::move(fn));
  }

  Result<Program> program() {
    Program p;
    expect_word("program");
    while (ok() && accept_word("buffer")) {
      ProgramBuffer b;
      const std::string_view role = word();
      if (role == "input")
        b.role = BufferRole::kInput;
      else if (role == "output")
        b.role = BufferRole::kOutput;
      else if (role == "prepared")
        b.role = BufferRole::kPrepared;
      else if (role == "scratch")
        b.role = BufferRole::kScratch;
      else
        error("expected a buffer role");
      b.index = small_integer();
      b.size_bytes = attribute("bytes");
      p.buffers.push_back(b);
    }
    while (ok() && accept_word("in_place")) p.in_place.push_back(small_integer());
    while (ok() && accept_word("prepare")) p.prepare.push_back(phase());
    while (ok() && accept_word("phase")) p.phases.push_back(phase());
    expect_word("end");
    if (ok() && at_ != end_) error("text after the program");
    return finish(std::move(p));
  }

 private:
  // ---- expressions
  Expr node(ExprKind kind, Type type, Expr a = {}, Expr b = {}, Expr c = {}, OpCode op = OpCode::kAdd,
            int64_t bits = 0) {
    if (!ok()) return {};
    ExprNode n{.kind = kind};
    n.op = op;
    n.type = type;
    n.bits = bits;
    n.a = a.node;
    n.b = b.node;
    n.c = c.node;
    return intern(std::move(n));
  }
  Expr intern(ExprNode n) {
    int height = 0;
    for (const ExprNode* part : {n.a, n.b, n.c}) {
      if (part) height = std::max(height, heights_[part->serial] + 1);
    }
    if (height > kMaxHeight) error("expression nested too deeply");
    if (!ok()) return {};
    const Expr e = context_->intern(std::move(n));
    if (e->serial >= heights_.size()) heights_.resize(e->serial + 256);
    heights_[e->serial] = height;
    return e;
  }
  Type type_of(Expr e) const { return e ? e->type : Type{}; }
  Expr binary(OpCode op, Expr a, Expr b) {
    const Type type = is_comparison(op) ? Type{DType::kBool, type_of(a).lanes} : type_of(a);
    return node(ExprKind::kBinary, type, a, b, {}, op);
  }

  Expr constant_bits(int64_t bits, DType dtype) {
    const ExprKind kind = is_float(dtype) ? ExprKind::kFloat : ExprKind::kInt;
    if (canonical_bits(bits, dtype) != bits) error("constant does not fit its type");
    return node(kind, {dtype, 1}, {}, {}, {}, OpCode::kAdd, bits);
  }
  Expr number() {
    const char* p = at_;
    if (p < end_ && *p == '-') ++p;
    bool real = std::string_view(p, static_cast<size_t>(end_ - p)).substr(0, 3) == "inf";
    if (real) p += 3;
    while (p < end_ && is_digit(*p)) ++p;
    if (p + 1 < end_ && *p == '.' && is_digit(p[1])) {
      real = true;
      for (++p; p < end_ && is_digit(*p); ++p) {
      }
    }
    if (p < end_ && *p == 'e') {
      real = true;
      for (++p; p < end_ && (is_digit(*p) || *p == '-' || *p == '+'); ++p) {
      }
    }
    const char* start = at_;
    at_ = p;
    const bool typed = peek() == ':';
    DType dtype = real ? DType::kF32 : DType::kI64;
    if (typed)
      ++at_, dtype = this->dtype();
    else
      space();
    if (!ok()) return {};
    if (dtype == DType::kBool || real != is_float(dtype)) {
      error("number and its type do not agree");
      return {};
    }
    int64_t bits = 0;
    std::from_chars_result r{};
    const auto read = [&](auto value) {
      r = std::from_chars(start, p, value);
      return value;
    };
    if (dtype == DType::kF32)
      bits = to_bits(read(float{}));
    else if (dtype == DType::kF64)
      bits = to_bits(read(double{}));
    else if (real)
      bits = fold_cast(DType::kF64, dtype, to_bits(read(double{})));
    else if (dtype == DType::kU64)
      bits = static_cast<int64_t>(read(uint64_t{}));
    else
      bits = read(int64_t{});
    if (r.ec != std::errc() || r.ptr != p) error("bad number");
    return constant_bits(bits, dtype);
  }

  Expr call_arg(bool last) {
    Expr e = expr();
    expect(last ? ')' : ',');
    return e;
  }
  struct Element {
    int32_t id = -1;
    Expr index, mask;
  };
  // b0[index] or b0[index, mask]; leaves the position right behind the bracket, where a load's lanes may
  // follow.
  Element element() {
    Element e;
    e.id = numbered('b');
    if (ok() && e.id >= static_cast<int32_t>(buffers_.size()))
      error(base::text_of("b", e.id, " is not declared"));
    expect('[');
    e.index = expr();
    if (accept(',')) e.mask = expr();
    if (peek() == ']')
      ++at_;
    else
      error("expected ']'");
    return e;
  }
  Expr load() {
    const Element e = element();
    if (!ok()) return {};
    const Buffer& b = buffers_[e.id];
    ExprNode n{.kind = ExprKind::kLoad};
    n.id = e.id;
    n.a = e.index.node;
    n.b = e.mask.node;
    n.type = {b.dtype, b.space == Space::kRegister ? b.lanes : type_of(e.index).lanes};
    if (at_ + 1 < end_ && *at_ == '.' && is_digit(at_[1])) ++at_, n.type.lanes = lanes();
    space();
    return intern(std::move(n));
  }

  Expr expr() {
    if (++depth_ > kMaxDepth) error("nested too deeply");
    const Expr e = ok() ? inner() : Expr{};
    --depth_;
    return e;
  }

  Expr inner() {
    const char c = peek();
    if (c == '(') return infix();
    if (is_digit(c) || c == '-') return number();
    if (c == '$') {
      const int32_t id = numbered('$');
      if (!ok()) return {};
      if (id >= static_cast<int32_t>(names_.size()) || !names_[id])
        error(base::text_of("$", id, " is not defined"));
      return ok() ? names_[id] : Expr{};
    }
    const std::string_view w = peek_word();
    if (w.size() > 1 && is_digit(w[1])) {
      if (c == 'v') {
        const int32_t id = numbered('v');
        if (!ok()) return {};
        if (id >= static_cast<int32_t>(vars_.size()) || !vars_[id])
          error(base::text_of("v", id, " is not bound"));
        return ok() ? vars_[id] : Expr{};
      }
      if (c == 'b') return load();
      if (c == 's') {
        const int32_t id = numbered('s');
        if (!ok()) return {};
        ExprNode n{.kind = ExprKind::kSize};
        n.id = id;
        return intern(std::move(n));
      }
    }
    return call();
  }

  Expr infix() {
    expect('(');
    const Expr a = expr();
    const char c = peek();
    OpCode op = OpCode::kAdd;
    if (ok()) ++at_;
    const bool equals = ok() && peek() == '=';
    if (c == '+')
      op = OpCode::kAdd;
    else if (c == '-')
      op = OpCode::kSub;
    else if (c == '*')
      op = OpCode::kMul;
    else if (c == '/')
      op = OpCode::kDiv;
    else if (c == '=' && equals)
      op = OpCode::kEq;
    else if (c == '!' && equals)
      op = OpCode::kNe;
    else if (c == '<')
      op = equals ? OpCode::kLe : OpCode::kLt;
    else if (c == '>')
      op = equals ? OpCode::kGe : OpCode::kGt;
    else
      error("expected an operator");
    if (is_comparison(op) && equals) ++at_;
    space();
    const Expr b = expr();
    expect(')');
    return binary(op, a, b);
  }

  Expr call() {
    const std::string_view w = peek_word();
    at_ += w.size();
    if (w == "true" || w == "false" || w == "inf" || w == "bits") {
      if (w == "inf") {
        at_ -= w.size();
        return number();
      }
      space();
      if (w != "bits") return constant_bits(w == "true", DType::kBool);
      const int64_t bits = integer();
      expect(':');
      return constant_bits(bits, dtype());
    }
    std::string_view suffix;
    if (peek() == '.') {
      ++at_;
      suffix = peek_word();
      at_ += suffix.size();
    }
    space();
    expect('(');
    if (!ok()) return {};
    if (!suffix.empty()) return suffixed_call(w, suffix);
    if (w == "fma" || w == "select") {
      const Expr a = call_arg(false), b = call_arg(false), c = call_arg(true);
      const bool is_fma = w == "fma";
      return node(is_fma ? ExprKind::kFma : ExprKind::kSelect, type_of(is_fma ? a : b), a, b, c);
    }
    if (w == "shuffle") return shuffle();
    for (int i = 0; i <= static_cast<int>(OpCode::kGe); ++i) {
      const OpCode op = static_cast<OpCode>(i);
      if (w != opcode_name(op)) continue;
      const Expr a = call_arg(is_unary(op));
      if (is_unary(op)) return node(ExprKind::kUnary, type_of(a), a, {}, {}, op);
      return binary(op, a, call_arg(true));
    }
    error(base::text_of("unknown operation '", w, "'"));
    return {};
  }

  Expr suffixed_call(std::string_view w, std::string_view suffix) {
    if (w == "splat" || w == "ramp") {
      const auto n = base::parse_number<int32_t>(suffix);
      if (!n || *n < 1 || *n > kMaxLanes) error("lanes out of range");
      if (w == "splat") {
        const Expr a = call_arg(true);
        return node(ExprKind::kSplat, {type_of(a).dtype, n.value_or(1)}, a);
      }
      const Expr a = call_arg(false);
      const int64_t step = integer();
      expect(')');
      return node(ExprKind::kRamp, {type_of(a).dtype, n.value_or(1)}, a, {}, {}, OpCode::kAdd, step);
    }
    if (w == "cast" || w == "bitcast") {
      const DType to = dtype_of(suffix);
      const Expr a = call_arg(true);
      int32_t n = type_of(a).lanes;
      if (w == "cast") return node(ExprKind::kCast, {to, n}, a);
      n = static_cast<int32_t>(static_cast<size_t>(n) * dtype_bytes(type_of(a).dtype) / dtype_bytes(to));
      return node(ExprKind::kBitcast, {to, std::max(n, 1)}, a);
    }
    if (w == "reduce") {
      const Expr a = call_arg(true);
      for (int i = static_cast<int>(OpCode::kAdd); i < static_cast<int>(OpCode::kEq); ++i) {
        const OpCode op = static_cast<OpCode>(i);
        if (suffix == opcode_name(op)) return node(ExprKind::kReduce, {type_of(a).dtype, 1}, a, {}, {}, op);
      }
    }
    error(base::text_of("unknown operation '", w, ".", suffix, "'"));
    return {};
  }

  Expr shuffle() {
    const Expr a = call_arg(false), b = call_arg(false);
    ExprNode n{.kind = ExprKind::kShuffle};
    expect('[');
    while (ok() && peek() != ']' && n.lanes.size() < static_cast<size_t>(kMaxLanes))
      n.lanes.push_back(small_integer());
    expect(']');
    expect(')');
    if (!ok()) return {};
    n.type = {type_of(a).dtype, static_cast<int32_t>(n.lanes.size())};
    n.a = a.node;
    n.b = b.node;
    return intern(std::move(n));
  }

  // ---- statements
  Expr bind(int32_t id, Type type) {
    if (!ok() || id < 0) return {};
    if (id >= static_cast<int32_t>(vars_.size())) vars_.resize(id + 1);
    if (vars_[id]) {
      error(base::text_of("v", id, " is bound twice"));
      return {};
    }
    ExprNode n{.kind = ExprKind::kVar};
    n.type = type;
    n.id = context_->var_count();
    return vars_[id] = intern(std::move(n));
  }
  void name() {
    const int32_t id = numbered('$');
    expect('=');
    const Expr e = expr();
    if (!ok()) return;
    if (id >= static_cast<int32_t>(names_.size())) names_.resize(id + 1);
    if (names_[id]) error(base::text_of("$", id, " is defined twice"));
    names_[id] = e;
  }
  Buffer buffer_head() {
    Buffer b;
    b.id = numbered('b');
    if (ok() && b.id != static_cast<int32_t>(buffers_.size())) error("buffers must be numbered in order");
    std::string_view type = peek_word();
    at_ += type.size();
    space();
    const size_t x = type.find('x');
    if (x != std::string_view::npos) {
      const auto n = base::parse_number<int32_t>(type.substr(x + 1));
      if (!n || *n < 1 || *n > kMaxLanes) error("lanes out of range");
      b.lanes = n.value_or(1);
      type = type.substr(0, x);
    }
    if (ok()) b.dtype = dtype_of(type);
    expect('[');
    b.size = expr();
    expect(']');
    return b;
  }
  void argument() {
    Buffer b = buffer_head();
    const std::string_view access = word();
    if (access == "read")
      b.access = Access::kRead;
    else if (access == "write")
      b.access = Access::kWrite;
    else if (access == "read_write")
      b.access = Access::kReadWrite;
    else
      error("expected read, write or read_write");
    b.align_bytes = static_cast<int32_t>(attribute("align"));
    if (accept_word("alias")) {
      expect('=');
      b.may_alias = numbers();
    }
    b.in_place = accept_word("in_place");
    b.over_read = accept_word("over_read");
    buffers_.push_back(b);
  }
  Stmt body_block() {
    expect('{');
    if (++depth_ > kMaxDepth) error("nested too deeply");
    StmtNode node{.kind = StmtKind::kBlock};
    while (ok() && !accept('}')) {
      if (peek() == '$')
        name();
      else
        node.body.push_back(statement());
    }
    --depth_;
    return std::make_shared<const StmtNode>(std::move(node));
  }

  Stmt statement() {
    StmtNode s{.kind = StmtKind::kBarrier};
    const std::string_view w = peek_word();
    if (w.size() > 1 && w[0] == 'b' && is_digit(w[1])) {
      const Element e = element();
      space();
      s.kind = StmtKind::kStore;
      s.id = e.id;
      s.a = e.index;
      s.c = e.mask;
      expect('=');
      s.b = expr();
    } else if (accept_word("let")) {
      const int32_t id = numbered('v');
      expect('=');
      s.kind = StmtKind::kLet;
      s.a = expr();
      const Expr var = bind(id, type_of(s.a));
      s.id = var ? var->id : -1;
    } else if (accept_word("for")) {
      loop(s);
    } else if (accept_word("if")) {
      s.kind = StmtKind::kIf;
      s.a = expr();
      s.body.push_back(body_block());
      if (accept_word("else")) s.body.push_back(body_block());
    } else if (accept_word("alloc")) {
      alloc(s);
    } else if (accept_word("fail")) {
      s.kind = StmtKind::kFail;
      s.code = integer();
      expect_word("if");
      s.a = expr();
      expect_word("with");
      s.b = expr();
      expect(',');
      s.c = expr();
    } else if (!accept_word("barrier")) {
      error("expected a statement");
    }
    return std::make_shared<const StmtNode>(std::move(s));
  }

  void loop(StmtNode& s) {
    s.kind = StmtKind::kFor;
    const int32_t id = numbered('v');
    Type type;
    if (accept(':')) type.dtype = dtype();
    expect('=');
    s.a = expr();
    expect('.');
    expect('.');
    s.b = expr();
    expect_word("step");
    const int64_t step = integer();
    if (accept_word("unrolled")) {
      s.loop = LoopKind::kUnrolled;
    } else if (peek() == 'g') {
      s.loop = accept_word("gpu_block") ? LoopKind::kGpuBlock : LoopKind::kGpuThread;
      if (s.loop == LoopKind::kGpuThread) expect_word("gpu_thread");
      expect('.');
      s.gpu_axis = small_integer();
    }
    const Expr var = bind(id, type);
    if (!ok()) return;
    s.id = var->id;
    s.c = constant_bits(step, type.dtype);
    s.body.push_back(body_block());
  }

  void alloc(StmtNode& s) {
    s.kind = StmtKind::kAlloc;
    Buffer b = buffer_head();
    b.access = Access::kReadWrite;
    const std::string_view space_name = word();
    if (space_name == "stack")
      b.space = Space::kStack;
    else if (space_name == "register")
      b.space = Space::kRegister;
    else if (space_name == "shared")
      b.space = Space::kShared;
    else
      error("expected stack, register or shared");
    b.align_bytes = static_cast<int32_t>(attribute("align"));
    s.id = b.id;
    buffers_.push_back(std::move(b));
    s.body.push_back(body_block());
  }

  LoopFn function() {
    LoopFn fn;
    fn.context = std::make_shared<Context>();
    context_ = fn.context.get();
    vars_.clear();
    names_.clear();
    heights_.assign(256, 0);
    buffers_.clear();
    expect_word("fn");
    fn.family = word();
    if (fn.family == "_") fn.family.clear();
    fn.size_count = static_cast<int32_t>(attribute("sizes"));
    fn.scratch_bytes = attribute("scratch");
    fn.gpu = accept_word("gpu");
    expect('{');
    while (ok() && (peek() == '$' || peek_word() == "arg")) {
      if (peek() == '$')
        name();
      else if (accept_word("arg"))
        argument();
    }
    fn.arg_count = static_cast<int32_t>(buffers_.size());
    while (ok() && (peek() == '$' || peek_word() == "tile")) {
      if (peek() == '$') {
        name();
      } else if (accept_word("tile")) {
        const int32_t id = numbered('v');
        expect('<');
        const Expr extent = expr();
        fn.tiles.push_back({bind(id, Type{}), extent});
      }
    }
    StmtNode node{.kind = StmtKind::kBlock};
    while (ok() && !accept('}')) {
      if (peek() == '$')
        name();
      else
        node.body.push_back(statement());
    }
    fn.body = std::make_shared<const StmtNode>(std::move(node));
    fn.buffers = std::move(buffers_);
    return fn;
  }

  Phase phase() {
    Phase p;
    expect_word("args");
    expect('=');
    p.args = numbers();
    p.threads = static_cast<int32_t>(attribute("threads"));
    p.grain = attribute("grain");
    p.fn = function();
    return p;
  }

  int depth_ = 0;
  Context* context_ = nullptr;
  std::vector<Expr> vars_, names_;
  std::vector<int> heights_;  // by serial
  std::vector<Buffer> buffers_;
};

}  // namespace

Result<LoopFn> parse_loop_fn(std::string_view text) { return Parser(text).whole_function(); }
Result<Program> parse_program(std::string_view text) { return Parser(text).program(); }

}  // namespace frit::loop
