#include "codegen/cpu/unroll.h"

#include <unordered_map>

#include "loop/build.h"

namespace frit::codegen {
namespace {

using loop::Expr;
using loop::ExprKind;
using loop::ExprNode;
using loop::LoopKind;
using loop::Stmt;
using loop::StmtKind;
using loop::StmtNode;

// Variables that stand for something else here, and what expressions became under that. A nested scope sees the outer
// bindings and starts with an empty memo: expressions are rebuilt once per iteration of an unrolled loop.
class Scope {
 public:
  Scope(loop::Context& context, const Scope* outer) : context_(context), outer_(outer) {}

  void bind(Expr var, Expr value) { bound_[var.node] = value; }

  Expr rewrite(const ExprNode* e) {
    if (!e) return {};
    if (auto it = memo_.find(e); it != memo_.end()) return it->second;
    Expr r = rebuild(e);
    memo_.emplace(e, r);
    return r;
  }

  Stmt statement(const Stmt& s) {
    if (!s) return s;
    switch (s->kind) {
      case StmtKind::kBlock: {
        std::vector<Stmt> body;
        body.reserve(s->body.size());
        for (const Stmt& child : s->body) flatten(statement(child), body);
        return loop::block(std::move(body));
      }
      case StmtKind::kLet: {
        Expr value = rewrite(s->a.node);
        Expr fresh = context_.new_var(value->type);
        bind(variable(s->id, s->a->type), fresh);
        memo_.clear();
        return loop::let(fresh, value);
      }
      case StmtKind::kFor: return loop(s);
      default: break;
    }
    auto copy = std::make_shared<StmtNode>(*s);
    copy->a = rewrite(s->a.node);
    copy->b = rewrite(s->b.node);
    copy->c = rewrite(s->c.node);
    for (Stmt& child : copy->body) {
      Scope inner(context_, this);
      child = inner.statement(child);
    }
    return copy;
  }

 private:
  static void flatten(Stmt s, std::vector<Stmt>& out) {
    if (s && s->kind == StmtKind::kBlock) out.insert(out.end(), s->body.begin(), s->body.end());
    else if (s) out.push_back(std::move(s));
  }

  Stmt loop(const Stmt& s) {
    Expr begin = rewrite(s->a.node), end = rewrite(s->b.node);
    int64_t lo = 0, hi = 0, step = 1;
    loop::as_int(s->c, &step);
    Expr var = variable(s->id, s->c->type);
    Scope inner(context_, this);
    if (s->loop == LoopKind::kUnrolled && loop::as_int(begin, &lo) && loop::as_int(end, &hi)) {
      std::vector<Stmt> body;
      for (int64_t i = lo; i < hi; i += step) {
        Scope iteration(context_, this);
        iteration.bind(var, loop::int_const(context_, i, var->type.dtype));
        flatten(iteration.statement(s->body[0]), body);
      }
      return loop::block(std::move(body));
    }
    Expr fresh = context_.new_var(var->type);
    inner.bind(var, fresh);
    return loop::for_loop(fresh, begin, end, step, s->loop == LoopKind::kUnrolled ? LoopKind::kSerial : s->loop,
                          inner.statement(s->body[0]), s->gpu_axis);
  }

  // The variable as the body's expressions know it: interning finds the same node.
  Expr variable(int32_t id, loop::Type type) {
    ExprNode n{};
    n.kind = ExprKind::kVar;
    n.type = type;
    n.id = id;
    return context_.intern(n);
  }

  const Expr* lookup(const ExprNode* var) const {
    for (const Scope* s = this; s; s = s->outer_)
      if (auto it = s->bound_.find(var); it != s->bound_.end()) return &it->second;
    return nullptr;
  }

  Expr rebuild(const ExprNode* e) {
    switch (e->kind) {
      case ExprKind::kInt:
      case ExprKind::kFloat:
      case ExprKind::kSize: return Expr{e};
      case ExprKind::kVar: {
        const Expr* to = lookup(e);
        return to ? *to : Expr{e};
      }
      default: break;
    }
    Expr a = rewrite(e->a), b = rewrite(e->b), c = rewrite(e->c);
    if (a.node == e->a && b.node == e->b && c.node == e->c) return Expr{e};
    switch (e->kind) {
      case ExprKind::kUnary: return loop::unary(e->op, a);
      case ExprKind::kBinary: return loop::binary(e->op, a, b);
      case ExprKind::kFma: return loop::fma(a, b, c);
      case ExprKind::kSelect: return loop::select(a, b, c);
      case ExprKind::kCast: return loop::cast(a, e->type.dtype);
      case ExprKind::kBitcast: return loop::bitcast(a, e->type.dtype);
      case ExprKind::kSplat: return loop::splat(a, e->type.lanes);
      case ExprKind::kRamp: return loop::ramp(a, e->bits, e->type.lanes);
      case ExprKind::kReduce: return loop::reduce(e->op, a);
      case ExprKind::kShuffle: return loop::shuffle(a, b, e->lanes);
      default: break;  // kLoad keeps its buffer, type and mask position
    }
    ExprNode n = *e;
    n.a = a.node;
    n.b = b.node;
    n.c = c.node;
    return context_.intern(n);
  }

  loop::Context& context_;
  const Scope* outer_;
  std::unordered_map<const ExprNode*, Expr> bound_;
  std::unordered_map<const ExprNode*, Expr> memo_;
};

}  // namespace

Stmt expand_unrolled(loop::Context& context, const Stmt& stmt) { return Scope(context, nullptr).statement(stmt); }

}  // namespace frit::codegen
