// LoopFn: one loop nest, the second of frit's two IRs: how to compute. Families (codegen/families) build it;
// the interpreter runs it; codegen/cpu emits LLVM IR from it and codegen/cuda emits CUDA C++. It knows
// nothing about graphs, machines or kernels' launch.
//
// What the nodes mean (the one place where it is stated):
// - Types are element type x lanes. A scalar has one lane. Operands of an arithmetic node have equal types;
// `splat`
//   makes lanes from a scalar. bool is a mask: comparisons give it, select / loads / stores take it.
// - Integers wrap (two's complement). `div` and `rem` truncate; `floor_div` and `floor_mod` round toward
// minus
//   infinity. A zero divisor, and the lowest value divided by -1, must be excluded by the program (see
//   `fail`). Shifts by
//   >= the width are undefined and rejected when constant. lshr and ashr look at the bits alone: lshr fills
//   with zeros, ashr with the top bit, whatever the sign of the type. But an i64 expression over variables of
//   loops and tiles, sizes and constants alone must not overflow: index arithmetic may be rearranged on that
//   ground.
// - Floats are IEEE, round to nearest even, never contracted or reassociated: only `fma` is fused. Denormals
// may be
//   flushed (the executor's MXCSR decides). NaN payloads are unspecified.
// - min(a,b) = a < b ? a : b and max(a,b) = a > b ? a : b, so ties give b; but a NaN in either operand gives
// NaN.
//   neg and abs of a float change its sign bit only. f16 and bf16 compute in f32 (fma: f64) and round to the
//   type.
// - Float to integer casts truncate. i32 and i64: NaN and out-of-range values give the lowest integer. Other
// integers:
//   the i64 so obtained wraps; but u64 takes [2^63, 2^64) as it is. Integer casts wrap. To bool: != 0 (NaN:
//   true). From bool: 0 or 1. Float to float rounds once, to nearest even; integers reach f16 and bf16 by way
//   of f64.
// - Constants: `bits` is sign-extended (signed), zero-extended (unsigned, bool, float encodings). The makers
// give vector
//   constants as a splat of the scalar.
// - Every operand is evaluated, also those of select (guard a load by its mask). An expression is evaluated
// where its
//   statement stands; only statements write memory, so the order inside of an expression does not matter, and
//   a node that occurs several times in one statement has one value there.
// - Operand types: shifts take both operands of one type. fma nodes are of floats (the maker writes a * b + c
// for
//   integers). rem, floor_div, floor_mod are of integers, the roundings and sqrt of floats, not also of bool.
//   reduce has the binary ops that are associative on the reals (add, mul, min, max, and, or, xor). A loop or
//   tile variable is a scalar integer.
// - load(buffer, index, lanes, mask): the index (i64, or i32 sign-extended) counts elements of the buffer's
// dtype. A
//   scalar index with n lanes reads n consecutive elements; an index of n lanes gathers. The mask is bool of
//   as many lanes; lanes whose mask is false read nothing and give 0. Reading outside of the buffer's size is
//   a bug of the program (the interpreter reports it). A register buffer is read and written whole elements
//   at a time: scalar index, the lanes of its element, no mask.
// - store is the mirror image; lanes that are masked off write nothing. Scatter with equal indices: the last
// lane wins.
// - reduce(op, v): a fixed tree: v[i] op v[i + n/2] for i < n/2, until one lane is left. n is a power of two.
// - shuffle(a, b, idx): lane i is lane idx[i] of a ++ b.
// - Statements run in order. A loop runs for var = begin, begin + step ... < end; begin, end are evaluated
// once.
//   kUnrolled loops have constant bounds and are expanded by the emitter. kGpuBlock / kGpuThread run in any
//   order, with `barrier` between phases of threads of one block.
// - A `let` binds a value for the statements after it in its block, evaluated once, where it stands.
// - A register buffer's elements are indexed by constants once unrolled loops are expanded and live as SSA
// values; they
//   start undefined. Its element may have lanes.
// - fail(cond, code, a, b): where the scalar cond is true, the kernel stores code, a, b in its error word and
// returns
//   at once. It is how bad run-time data (an index out of range) is reported; buffers may be half written.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "frit/dtype.h"
#include "frit/result.h"

namespace frit::loop {

struct Type {
  DType dtype = DType::kI64;
  int32_t lanes = 1;
  auto operator<=>(const Type&) const = default;
};

enum class ExprKind : uint8_t {
  kInt,      // integer or bool constant: `bits`
  kFloat,    // float constant: bits of the dtype's own encoding in `bits` (f32: low 32)
  kVar,      // loop variable or let: `id`
  kSize,     // run-time size parameter: `id`, i64
  kUnary,    // `op` of a
  kBinary,   // a `op` b
  kFma,      // a * b + c, rounded once
  kSelect,   // a ? b : c
  kCast,     // a converted to `type`
  kBitcast,  // a's bits as `type` (equal total size)
  kSplat,    // scalar a in every lane
  kRamp,     // a + i * bits (signed step) in lane i; a is an integer scalar
  kLoad,     // buffer `id`; a = index, b = mask or null
  kReduce,   // lanes of a by `op`
  kShuffle,  // of a and b by `lanes`
};

enum class OpCode : uint8_t {
  // unary
  kNeg,
  kNot /* bitwise; logical on bool */,
  kAbs,
  kSqrt,
  kFloor,
  kCeil,
  kTrunc,
  kRoundEven,
  // binary
  kAdd,
  kSub,
  kMul,
  kDiv,
  kRem,
  kFloorDiv,
  kFloorMod,
  kMin,
  kMax,
  kAnd,
  kOr,
  kXor,
  kShl,
  kLShr,
  kAShr,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe /* float comparisons are ordered but kNe */,
};
const char* opcode_name(OpCode op);

class Context;

struct ExprNode {
  ExprKind kind;
  OpCode op = OpCode::kAdd;
  Type type = {};
  int64_t bits = 0;  // constant bits, ramp step
  int32_t id = -1;   // variable, size, buffer
  const ExprNode* a = nullptr;
  const ExprNode* b = nullptr;
  const ExprNode* c = nullptr;
  std::vector<int32_t> lanes = {};  // shuffle
  Context* context = nullptr;
  uint64_t serial = 0;  // creation order; deterministic
};

// A hash-consed, immutable expression: equality is identity. Owned by its Context.
struct Expr {
  const ExprNode* node = nullptr;
  explicit operator bool() const { return node != nullptr; }
  const ExprNode* operator->() const { return node; }
  friend bool operator==(Expr a, Expr b) { return a.node == b.node; }
};

enum class Space : uint8_t { kGlobal, kStack, kRegister, kShared };
enum class LoopKind : uint8_t { kSerial, kUnrolled, kGpuBlock, kGpuThread };
enum class Access : uint8_t { kRead, kWrite, kReadWrite };

struct Buffer {
  int32_t id = -1;
  DType dtype = DType::kF32;
  int32_t lanes = 1;  // of one element; > 1 only for register buffers
  Space space = Space::kGlobal;
  Expr size;                // elements that may be touched (constant for all but global)
  int32_t align_bytes = 4;  // alignment class of the base address
  // arguments only:
  Access access = Access::kRead;
  std::vector<int32_t>
      may_alias;  // argument buffers that may overlap it; none: it overlaps no other argument
  bool in_place =
      false;  // may be the very same memory as may_alias: each element is read before it is overwritten
  bool over_read =
      false;  // its layout pads it: reading up to 64 bytes past `size` is allowed (packed weights, arena)
};

enum class StmtKind : uint8_t { kBlock, kFor, kIf, kLet, kStore, kAlloc, kBarrier, kFail };

struct StmtNode;
using Stmt = std::shared_ptr<const StmtNode>;
struct StmtNode {
  StmtKind kind;
  std::vector<Stmt> body = {};  // block: statements; for / if / alloc: one block (if: then[, else])
  LoopKind loop = LoopKind::kSerial;
  int32_t id = -1;              // for, let: variable; store, alloc: buffer
  int32_t gpu_axis = 0;         // for gpu loops: 0 x, 1 y, 2 z
  Expr a = {}, b = {}, c = {};  // for: begin, end, step(constant) | if: cond | let: value | store: index,
                                // value, mask | fail: cond, a, b
  int64_t code = 0;             // fail: error code
};

// Run-time data errors (StmtKind::kFail), reported through the kernel's error word.
enum FailCode : int64_t { kIndexOutOfRange = 1, kDivisionByZero = 2, kBadValue = 3 };

// Owns expressions; numbers variables and buffers. Not thread-safe; cheap to make.
class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Expr intern(ExprNode node);
  Expr new_var(Type type);
  int32_t var_count() const;    // one more than the largest variable id
  uint64_t expr_count() const;  // one more than the largest serial

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct TileDim {
  Expr var;     // bound to the tile's coordinate while the body runs
  Expr extent;  // number of tiles along it; constant or an expression over sizes
};

// One kernel. The body runs once per tile, in any split of the linear (row-major, last fastest) tile range
// [first, last).
struct LoopFn {
  std::shared_ptr<Context> context;
  std::string family;           // names the symbol: frit_<family>_<hash>
  std::vector<Buffer> buffers;  // all, indexed by id; the first `arg_count` are the arguments, in order
  int32_t arg_count = 0;
  int32_t size_count = 0;      // run-time sizes
  std::vector<TileDim> tiles;  // empty: one tile
  Stmt body;
  int64_t scratch_bytes = 0;  // per worker, 64-byte aligned; stack buffers larger than 4 KiB live there
  bool gpu = false;
};

}  // namespace frit::loop
