// Makers for expressions and statements. They check types, fold constants and apply the identities that need
// no knowledge of ranges (x+0, x*1, 0*i for integers, splat of splat), so that families may write naive index
// arithmetic.
#pragma once

#include <functional>
#include <vector>

#include "loop/ir.h"

namespace frit::loop {

// ---- constants
Expr int_const(Context& c, int64_t value, DType dtype = DType::kI64, int32_t lanes = 1);
Expr float_const(Context& c, double value, DType dtype = DType::kF32, int32_t lanes = 1);
Expr const_bits(Context& c, int64_t bits, Type type);
bool is_const(Expr e);                // kInt or kFloat, or a splat of one
bool as_int(Expr e, int64_t* value);  // integer constant (or splat of one)

// ---- arithmetic. Scalars are splatted to the lanes of the other operand; dtypes must agree.
Expr unary(OpCode op, Expr a);
Expr binary(OpCode op, Expr a, Expr b);
Expr fma(Expr a, Expr b, Expr c);
Expr select(Expr cond, Expr a, Expr b);
Expr cast(Expr a, DType to);
Expr bitcast(Expr a, DType to);
Expr splat(Expr a, int32_t lanes);
Expr ramp(Expr base, int64_t step, int32_t lanes);
Expr reduce(OpCode op, Expr a);
Expr shuffle(Expr a, Expr b, std::vector<int32_t> lanes);
Expr size_param(Context& c, int32_t id);
Expr load(Context& c, const Buffer& buffer, Expr index, int32_t lanes = 1, Expr mask = {});

// e with other operands (null where e has none), folded like by its maker.
Expr rebuild(Expr e, Expr a, Expr b, Expr c);

inline Expr operator+(Expr a, Expr b) { return binary(OpCode::kAdd, a, b); }
inline Expr operator-(Expr a, Expr b) { return binary(OpCode::kSub, a, b); }
inline Expr operator*(Expr a, Expr b) { return binary(OpCode::kMul, a, b); }
inline Expr operator/(Expr a, Expr b) { return binary(OpCode::kDiv, a, b); }
inline Expr floor_div(Expr a, Expr b) { return binary(OpCode::kFloorDiv, a, b); }
inline Expr floor_mod(Expr a, Expr b) { return binary(OpCode::kFloorMod, a, b); }
inline Expr min(Expr a, Expr b) { return binary(OpCode::kMin, a, b); }
inline Expr max(Expr a, Expr b) { return binary(OpCode::kMax, a, b); }
inline Expr lt(Expr a, Expr b) { return binary(OpCode::kLt, a, b); }
inline Expr le(Expr a, Expr b) { return binary(OpCode::kLe, a, b); }
inline Expr gt(Expr a, Expr b) { return binary(OpCode::kGt, a, b); }
inline Expr ge(Expr a, Expr b) { return binary(OpCode::kGe, a, b); }
inline Expr eq(Expr a, Expr b) { return binary(OpCode::kEq, a, b); }
inline Expr ne(Expr a, Expr b) { return binary(OpCode::kNe, a, b); }
inline Expr both(Expr a, Expr b) { return binary(OpCode::kAnd, a, b); }
inline Expr either(Expr a, Expr b) { return binary(OpCode::kOr, a, b); }
// With an integer constant of the other operand's type.
Expr operator+(Expr a, int64_t b);
Expr operator-(Expr a, int64_t b);
Expr operator*(Expr a, int64_t b);

// ---- statements
Stmt block(std::vector<Stmt> body);
Stmt for_loop(Expr var, Expr begin, Expr end, int64_t step, LoopKind kind, Stmt body, int32_t gpu_axis = 0);
Stmt if_then(Expr cond, Stmt then, Stmt otherwise = nullptr);
Stmt let(Expr var, Expr value);
Stmt store(const Buffer& buffer, Expr index, Expr value, Expr mask = {});
Stmt alloc(const Buffer& buffer, Stmt body);
Stmt barrier();
Stmt fail(Expr cond, FailCode code, Expr a, Expr b);

// Collects statements in order, with scopes written as lambdas:
//   Builder b(fn);  Expr x = b.let(value);  b.loop(0, n, 1, LoopKind::kSerial, [&](Expr i) { b.store(out, i,
//   x); });
class Builder {
 public:
  explicit Builder(LoopFn& fn);
  Context& context() { return *fn_.context; }
  LoopFn& fn() { return fn_; }

  // Declares the next argument; all arguments come before the first local buffer.
  Buffer arg(DType dtype, Access access, Expr size, int32_t align_bytes);
  Expr tile(Expr extent);  // appends a tile dimension, returns its variable
  Expr tile(int64_t extent);
  Buffer local(Space space, DType dtype, int64_t size, int32_t lanes = 1,
               int32_t align_bytes = 64);  // alloc around what follows in this scope

  Expr let(Expr value);  // constants and variables are returned as they are
  void store(const Buffer& buffer, Expr index, Expr value, Expr mask = {});
  void loop(Expr begin, Expr end, int64_t step, LoopKind kind, const std::function<void(Expr)>& body,
            int32_t gpu_axis = 0);
  void loop(int64_t begin, int64_t end, int64_t step, LoopKind kind, const std::function<void(Expr)>& body);
  void if_then(Expr cond, const std::function<void()>& then, const std::function<void()>& otherwise = {});
  void fail_if(Expr cond, FailCode code, Expr a, Expr b);
  void barrier();
  Expr integer(int64_t value, DType dtype = DType::kI64) { return int_const(context(), value, dtype); }
  Expr number(double value, DType dtype = DType::kF32) { return float_const(context(), value, dtype); }

  // Closes the body and states the scratch that its stack buffers need; the builder must not be used
  // afterwards.
  void finish();

 private:
  void push(Stmt stmt);
  Stmt close();  // closes the innermost scope, and first those of local() inside of it
  Stmt collect(const std::function<void()>& body);
  LoopFn& fn_;
  struct Scope;
  std::vector<std::shared_ptr<Scope>> scopes_;
};

}  // namespace frit::loop
