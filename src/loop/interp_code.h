// Bytecode of the interpreter: what interp_compile makes and interp_ops executes. Private to src/loop.
//
// A value lives in a frame at a fixed byte offset, its lanes one behind the other. Each instruction is one
// function over all lanes; control flow is relative jumps, so that a gpu thread is just a frame and a
// position.
#pragma once

#include <string>
#include <vector>

#include "loop/ir.h"

namespace frit::loop::interp {

inline constexpr int32_t kMaxLanes = 4096;

struct Thread;
struct Instr;
// Executes one instruction, answers the next one; null: the thread stopped, Thread::stop says why.
using Handler = const Instr* (*)(Thread&, const Instr*);

struct Instr {
  Handler run = nullptr;
  uint32_t dst = 0, a = 0, b = 0, c = 0;  // byte offsets into the frame
  int32_t lanes = 1;
  int32_t buffer = -1;
  int32_t jump = 0;  // relative
  int32_t flag = 0;
  int64_t imm = 0;
};

// Who used an element of shared memory since the last barrier.
struct SharedUse {
  int32_t epoch = -1;   // barriers passed when it was last used
  int32_t writer = -1;  // thread, or -1
  int32_t reader = -1;  // thread, -1: none, kSeveral
};
inline constexpr int32_t kSeveral = -2;

struct Memory {
  uint8_t* data = nullptr;
  uint8_t* written = nullptr;  // one byte per element; null: all are
  SharedUse* uses = nullptr;   // one per element of shared memory, else null
  int64_t size = 0;            // elements that may be accessed
  int64_t readable = 0;        // size, or more where over-reading is allowed
  int64_t present = 0;         // elements that there really are; beyond, reads give garbage
};

enum class Stop : uint8_t { kRunning, kDone, kThreadDone, kFork, kBarrier, kFail, kError };

struct Thread {
  uint8_t* frame = nullptr;
  Memory* memories = nullptr;
  const Instr* at = nullptr;  // where it stopped
  bool reverse = false;
  bool allow_uninitialised = false;
  int32_t number = 0;              // among the threads of its block
  const int32_t* epoch = nullptr;  // barriers that the block has passed
  Stop stop = Stop::kRunning;
  const char* error = nullptr;  // kError: what is wrong; the number that shows it, and its limit
  int64_t error_value = 0, error_limit = 0;
};

// Null where the dtype has no such operation (the verifier lets none through).
Handler unary_handler(OpCode op, DType dtype);
Handler binary_handler(OpCode op, DType dtype);  // dst = a op b
Handler fma_handler(DType dtype);                // dst = a * b + c
Handler select_handler(DType dtype);             // dst = a ? b : c
Handler cast_handler(DType from, DType to);
Handler splat_handler(DType dtype);
Handler ramp_handler(DType dtype);               // step in imm
Handler reduce_handler(OpCode op, DType dtype);  // lanes of a
Handler shuffle_handler(DType dtype);            // imm: the ExprNode
Handler copy_handler();                          // imm bytes
struct AccessShape {
  bool gather = false;  // index has as many lanes as the value
  bool mask = false;
  bool whole = false;  // element of a register buffer
};
Handler load_handler(DType dtype, AccessShape shape);   // dst = buffer[a], mask b
Handler store_handler(DType dtype, AccessShape shape);  // buffer[a] = b, mask c
Handler alloc_handler();                                // imm: bytes of one element
// Loops: dst: variable, a: begin, b: end, c: i64 trips left, imm: step, lanes: the variable's dtype, flag:
// whether InterpOptions::reverse turns it round.
Handler loop_enter_handler();            // jump: exit
Handler loop_next_handler(DType dtype);  // jump: body
Handler branch_handler();                // jumps where mask a is false
Handler jump_handler();
Handler fail_handler();                                // where a: stops
Handler stop_handler();                                // flag: the Stop
int64_t trip_count(const Thread& t, const Instr* in);  // of a loop_enter instruction or a fork
void set_loop_var(Thread& t, const Instr* in, int64_t trip);

struct Origin {
  Expr expr;
  const StmtNode* stmt = nullptr;
};
struct Local {
  int32_t buffer = -1;
  bool shared = false;
  int64_t offset = 0, written_offset = 0;  // into the arena of its kind
  int64_t uses_offset = 0;                 // shared only
  int64_t elements = 0;
};
struct Bytecode {
  LoopFn fn;
  std::vector<Instr> code;
  std::vector<Origin> origins;       // of each instruction
  std::vector<uint8_t> frame;        // as it starts: constants set
  std::vector<uint32_t> size_slots;  // of run-time sizes
  std::vector<uint32_t> tile_slots;
  std::vector<Local> locals;
  int64_t private_bytes = 0, shared_bytes = 0;  // of the arenas, their written flags included
};
Bytecode compile(const LoopFn& fn);

}  // namespace frit::loop::interp
