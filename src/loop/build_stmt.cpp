#include <algorithm>

#include "loop/build.h"

#include "loop/scratch.h"

namespace frit::loop {

namespace {

Stmt make(StmtNode node) { return std::make_shared<const StmtNode>(std::move(node)); }
bool is_empty(const Stmt& s) { return !s || (s->kind == StmtKind::kBlock && s->body.empty()); }
// Bodies of loops, branches and allocs are blocks.
Stmt as_block(Stmt s) {
  if (!s) return block({});
  return s->kind == StmtKind::kBlock ? s : block({std::move(s)});
}

}  // namespace

Stmt block(std::vector<Stmt> body) {
  StmtNode node{.kind = StmtKind::kBlock};
  for (Stmt& s : body) {
    if (is_empty(s)) continue;
    if (s->kind == StmtKind::kBlock)
      node.body.insert(node.body.end(), s->body.begin(), s->body.end());
    else
      node.body.push_back(std::move(s));
  }
  return make(std::move(node));
}

Stmt for_loop(Expr var, Expr begin, Expr end, int64_t step, LoopKind kind, Stmt body, int32_t gpu_axis) {
  StmtNode node{.kind = StmtKind::kFor};
  node.body.push_back(as_block(std::move(body)));
  node.loop = kind;
  node.id = var ? var->id : -1;
  node.gpu_axis = gpu_axis;
  node.a = begin;
  node.b = end;
  if (var) node.c = int_const(*var->context, step, var->type.dtype);
  return make(std::move(node));
}

Stmt if_then(Expr cond, Stmt then, Stmt otherwise) {
  int64_t value = 0;
  if (as_int(cond, &value) && cond->type == Type{DType::kBool, 1}) return as_block(value ? then : otherwise);
  StmtNode node{.kind = StmtKind::kIf};
  node.a = cond;
  node.body.push_back(as_block(std::move(then)));
  if (!is_empty(otherwise)) node.body.push_back(as_block(std::move(otherwise)));
  return make(std::move(node));
}

Stmt let(Expr var, Expr value) {
  StmtNode node{.kind = StmtKind::kLet};
  node.id = var ? var->id : -1;
  node.a = value;
  return make(std::move(node));
}

Stmt store(const Buffer& buffer, Expr index, Expr value, Expr mask) {
  int64_t on = 0;
  if (mask && mask->type.dtype == DType::kBool && as_int(mask, &on)) {
    if (!on) return block({});
    mask = {};
  }
  if (buffer.space == Space::kRegister) {
    if (value) value = splat(value, buffer.lanes);
  } else if (index && value) {
    if (index->kind == ExprKind::kRamp && index->bits == 1) index = {index->a};
    const int32_t lanes = std::max({index->type.lanes, value->type.lanes, mask ? mask->type.lanes : 1});
    if (value->type.lanes == 1) value = splat(value, lanes);
    if (mask && mask->type.lanes == 1) mask = splat(mask, lanes);
  }
  StmtNode node{.kind = StmtKind::kStore};
  node.id = buffer.id;
  node.a = index;
  node.b = value;
  node.c = mask;
  return make(std::move(node));
}

Stmt alloc(const Buffer& buffer, Stmt body) {
  StmtNode node{.kind = StmtKind::kAlloc};
  node.id = buffer.id;
  node.body.push_back(as_block(std::move(body)));
  return make(std::move(node));
}

Stmt barrier() { return make({.kind = StmtKind::kBarrier}); }

Stmt fail(Expr cond, FailCode code, Expr a, Expr b) {
  int64_t value = 0;
  if (as_int(cond, &value) && !value) return block({});
  StmtNode node{.kind = StmtKind::kFail};
  node.a = cond;
  node.b = a;
  node.c = b;
  node.code = code;
  return make(std::move(node));
}

// A scope is a block under construction. local() opens one inside of the current one, which closes with it.
struct Builder::Scope {
  std::vector<Stmt> body;
  int32_t alloc = -1;  // buffer whose alloc this scope is the body of
};

Builder::Builder(LoopFn& fn) : fn_(fn) {
  if (!fn_.context) fn_.context = std::make_shared<Context>();
  scopes_.push_back(std::make_shared<Scope>());
}

void Builder::push(Stmt stmt) {
  if (!is_empty(stmt)) scopes_.back()->body.push_back(std::move(stmt));
}

Stmt Builder::close() {
  for (;;) {
    Stmt body = block(std::move(scopes_.back()->body));
    const int32_t buffer = scopes_.back()->alloc;
    scopes_.pop_back();
    if (buffer < 0) return body;
    push(loop::alloc(fn_.buffers[buffer], std::move(body)));
  }
}

Stmt Builder::collect(const std::function<void()>& body) {
  scopes_.push_back(std::make_shared<Scope>());
  if (body) body();
  return close();
}

Buffer Builder::arg(DType dtype, Access access, Expr size, int32_t align_bytes) {
  Buffer buffer;
  buffer.id = static_cast<int32_t>(fn_.buffers.size());
  buffer.dtype = dtype;
  buffer.size = size;
  buffer.align_bytes = align_bytes;
  buffer.access = access;
  fn_.buffers.push_back(buffer);
  fn_.arg_count = static_cast<int32_t>(fn_.buffers.size());
  return buffer;
}

Expr Builder::tile(Expr extent) {
  const Expr var = context().new_var({DType::kI64, 1});
  fn_.tiles.push_back({var, extent});
  return var;
}
Expr Builder::tile(int64_t extent) { return tile(integer(extent)); }

Buffer Builder::local(Space space, DType dtype, int64_t size, int32_t lanes, int32_t align_bytes) {
  Buffer buffer;
  buffer.id = static_cast<int32_t>(fn_.buffers.size());
  buffer.dtype = dtype;
  buffer.lanes = lanes;
  buffer.space = space;
  buffer.size = integer(size);
  buffer.align_bytes = align_bytes;
  buffer.access = Access::kReadWrite;
  fn_.buffers.push_back(buffer);
  scopes_.push_back(std::make_shared<Scope>());
  scopes_.back()->alloc = buffer.id;
  return buffer;
}

Expr Builder::let(Expr value) {
  if (!value || is_const(value) || value->kind == ExprKind::kVar || value->kind == ExprKind::kSize)
    return value;
  const Expr var = context().new_var(value->type);
  push(loop::let(var, value));
  return var;
}

void Builder::store(const Buffer& buffer, Expr index, Expr value, Expr mask) {
  push(loop::store(buffer, index, value, mask));
}

void Builder::loop(Expr begin, Expr end, int64_t step, LoopKind kind, const std::function<void(Expr)>& body,
                   int32_t gpu_axis) {
  const Expr var = context().new_var({begin ? begin->type.dtype : DType::kI64, 1});
  Stmt inner = collect([&] { body(var); });
  push(for_loop(var, begin, end, step, kind, std::move(inner), gpu_axis));
}
void Builder::loop(int64_t begin, int64_t end, int64_t step, LoopKind kind,
                   const std::function<void(Expr)>& body) {
  loop(integer(begin), integer(end), step, kind, body);
}

void Builder::if_then(Expr cond, const std::function<void()>& then, const std::function<void()>& otherwise) {
  Stmt yes = collect(then);
  Stmt no = otherwise ? collect(otherwise) : nullptr;
  push(loop::if_then(cond, std::move(yes), std::move(no)));
}

void Builder::fail_if(Expr cond, FailCode code, Expr a, Expr b) { push(loop::fail(cond, code, a, b)); }
void Builder::barrier() { push(loop::barrier()); }

void Builder::finish() {
  fn_.body = close();
  fn_.scratch_bytes = scratch_layout(fn_).bytes;
}

}  // namespace frit::loop
