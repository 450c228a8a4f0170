#include <unordered_set>

#include "loop/build.h"
#include "loop/scalar.h"
#include "loop/simplify.h"

namespace frit::loop {

namespace {

class FunctionSimplifier {
 public:
  FunctionSimplifier(const LoopFn& fn, const Ranges& sizes) : fn_(fn), ranges_(sizes) {}

  LoopFn run() {
    LoopFn out = fn_;
    for (Buffer& b : out.buffers) b.size = apply(b.size);
    for (TileDim& tile : out.tiles) {
      tile.extent = apply(tile.extent);
      ranges_.bind(tile.var, zero_like(tile.var), tile.extent);
      int64_t extent = 0;
      if (as_int(tile.extent, &extent) && extent == 1) replacements_[tile.var->id] = zero_like(tile.var);
    }
    fn_.buffers = out.buffers;
    out.body = fn_.body ? as_block(visit(*fn_.body)) : nullptr;
    return out;
  }

 private:
  Expr apply(Expr e) const { return e ? simplify(e, ranges_, replacements_) : e; }
  Expr zero_like(Expr e) const { return int_const(*fn_.context, 0, e->type.dtype); }
  Expr var_of(int32_t id, Type type) const {
    ExprNode node{.kind = ExprKind::kVar};
    node.type = type;
    node.id = id;
    return fn_.context->intern(std::move(node));
  }
  static Stmt as_block(Stmt s) { return s && s->kind == StmtKind::kBlock ? s : block({std::move(s)}); }

  Stmt visit(const StmtNode& s) {
    switch (s.kind) {
      case StmtKind::kBlock: {
        std::vector<Stmt> body;
        for (const Stmt& child : s.body) {
          if (Stmt out = visit(*child)) body.push_back(std::move(out));
        }
        return block(std::move(body));
      }
      case StmtKind::kFor:
        return loop(s);
      case StmtKind::kIf:
        return branch(s);
      case StmtKind::kLet:
        return let(s);
      case StmtKind::kStore:
        return store(fn_.buffers[static_cast<size_t>(s.id)], apply(s.a), apply(s.b), apply(s.c));
      case StmtKind::kAlloc: {
        Stmt body = visit(*s.body[0]);
        if (body->body.empty()) return nullptr;
        return alloc(fn_.buffers[static_cast<size_t>(s.id)], std::move(body));
      }
      case StmtKind::kBarrier:
        return barrier();
      case StmtKind::kFail:
        return fail(apply(s.a), static_cast<FailCode>(s.code), apply(s.b), apply(s.c));
    }
    return nullptr;
  }

  Stmt loop(const StmtNode& s) {
    const Expr begin = apply(s.a), end = apply(s.b);
    const Expr var = var_of(s.id, begin->type);
    if (ranges_.proves_le(end, begin)) return nullptr;
    if (ranges_.proves_lt(begin, end) && ranges_.proves_le(end - begin, s.c)) {
      if (ranges_.reads_memory(begin)) return block({loop::let(var, begin), visit(*s.body[0])});
      replacements_[s.id] = begin;
      return visit(*s.body[0]);
    }
    ranges_.bind(var, begin, end, s.c->bits);
    Stmt body = visit(*s.body[0]);
    if (body->body.empty()) return nullptr;
    return for_loop(var, begin, end, s.c->bits, s.loop, std::move(body), s.gpu_axis);
  }

  // Facts of a condition hold in its branch only.
  Stmt visit_assuming(const StmtNode& s, Expr cond) {
    const Ranges outside = ranges_;
    ranges_.assume(cond);
    Stmt out = visit(s);
    ranges_ = outside;
    return out;
  }
  static Expr negation(Expr cond) {
    if (cond->kind != ExprKind::kBinary || is_float(cond->a->type.dtype)) return {};
    const Expr a{cond->a}, b{cond->b};
    switch (cond->op) {
      case OpCode::kLt:
        return ge(a, b);
      case OpCode::kLe:
        return gt(a, b);
      case OpCode::kGt:
        return le(a, b);
      case OpCode::kGe:
        return lt(a, b);
      case OpCode::kNe:
        return eq(a, b);
      default:
        return {};
    }
  }
  Stmt branch(const StmtNode& s) {
    const Expr cond = apply(s.a);
    int64_t value = 0;
    if (as_int(cond, &value)) {
      if (!value && s.body.size() < 2) return nullptr;
      return visit(*s.body[value ? 0 : 1]);
    }
    Stmt yes = visit_assuming(*s.body[0], cond);
    Stmt no = s.body.size() > 1 ? visit_assuming(*s.body[1], negation(cond)) : nullptr;
    if (yes->body.empty() && (!no || no->body.empty())) return nullptr;
    return if_then(cond, std::move(yes), std::move(no));
  }

  static bool is_plain(Expr e) {
    return is_const(e) || e->kind == ExprKind::kVar || e->kind == ExprKind::kSize;
  }
  Stmt let(const StmtNode& s) {
    const Expr value = apply(s.a);
    if (is_plain(value)) {
      replacements_[s.id] = value;
      return nullptr;
    }
    // Of splats and ramps the scalar is named, so that what they are stays known.
    if (value->kind == ExprKind::kSplat || value->kind == ExprKind::kRamp) {
      const Expr base{value->a};
      const Expr named = is_plain(base) ? base : fn_.context->new_var(base->type);
      replacements_[s.id] = rebuild(value, named, {}, {});
      if (named == base) return nullptr;
      ranges_.define(named, base);
      return loop::let(named, base);
    }
    const Expr var = var_of(s.id, value->type);
    ranges_.define(var, value);
    return loop::let(var, value);
  }

  LoopFn fn_;
  Ranges ranges_;
  Replacements replacements_;
};

// Backwards, so that a let has been asked for before it is met.
class DeadCode {
 public:
  Stmt prune(const Stmt& s) {
    if (s->kind == StmtKind::kLet && !used_.count(s->id)) return nullptr;
    if (s->kind == StmtKind::kBlock) {
      std::vector<Stmt> kept;
      for (auto it = s->body.rbegin(); it != s->body.rend(); ++it) {
        if (Stmt child = prune(*it)) kept.push_back(std::move(child));
      }
      return block({kept.rbegin(), kept.rend()});
    }
    StmtNode node = *s;
    bool has_body = node.body.empty();
    for (auto it = node.body.rbegin(); it != node.body.rend(); ++it) {
      *it = prune(*it);
      has_body = has_body || !(*it)->body.empty();
    }
    if (!has_body) return nullptr;
    for (const Expr e : {node.a, node.b, node.c}) use(e.node);
    return std::make_shared<const StmtNode>(std::move(node));
  }

 private:
  void use(const ExprNode* e) {
    if (!e || !seen_.insert(e).second) return;
    if (e->kind == ExprKind::kVar) used_.insert(e->id);
    use(e->a);
    use(e->b);
    use(e->c);
  }
  std::unordered_set<const ExprNode*> seen_;
  std::unordered_set<int32_t> used_;
};

}  // namespace

LoopFn simplify(const LoopFn& fn, const Ranges& sizes) {
  LoopFn out = FunctionSimplifier(fn, sizes).run();
  if (out.body) out.body = DeadCode().prune(out.body);
  return out;
}
LoopFn simplify(const LoopFn& fn) { return simplify(fn, Ranges()); }

}  // namespace frit::loop
