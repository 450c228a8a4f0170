// The interpreter: runs a LoopFn slowly and suspiciously. It is the reference for the emitters and the
// families' tests.
//
// It checks what the program must guarantee: every index in bounds, no local element read before it is
// written, defined divisions and shifts, all threads of a block at the same barrier, and a barrier between two
// threads' uses of an element of shared memory, if one of them writes. It knows neither graphs
// nor machine code.
#pragma once

#include <memory>
#include <span>

#include "loop/program.h"

namespace frit::loop {

// The memory of one argument. Its address may have any alignment.
struct InterpBuffer {
  void* data = nullptr;
  int64_t size_bytes = 0;
};

struct InterpOptions {
  // Blocks and threads of gpu loops run last to first. A program may not depend on it.
  bool reverse = false;
  // Reading a local element that was never written gives garbage (all bits set) instead of an error.
  bool allow_uninitialised = false;
};

// What a `fail` statement reported; code 0: nothing.
struct InterpFailure {
  int64_t code = 0;
  int64_t a = 0;
  int64_t b = 0;
};

// Const methods are safe to call concurrently.
class Interpreter {
 public:
  // Verifies and compiles to bytecode.
  static Result<Interpreter> make(const LoopFn& fn);
  ~Interpreter();
  Interpreter(Interpreter&&) noexcept;
  Interpreter& operator=(Interpreter&&) noexcept;

  Result<int64_t> tile_count(std::span<const int64_t> sizes) const;

  // Runs tiles [first, last). A rule that the program broke at run time is kInternal with the node's text;
  // arguments that do not fit the signature are kInvalidArgument.
  Result<InterpFailure> run(std::span<const InterpBuffer> args, std::span<const int64_t> sizes, int64_t first,
                            int64_t last, const InterpOptions& options = {}) const;
  // All tiles.
  Result<InterpFailure> run(std::span<const InterpBuffer> args, std::span<const int64_t> sizes,
                            const InterpOptions& options = {}) const;

 private:
  struct Code;
  explicit Interpreter(std::unique_ptr<Code> code);
  std::unique_ptr<Code> code_;
};

// Runs a whole program on the group's inputs and outputs. Its own buffers start as garbage, the prepare
// phases run first; each phase is cut into `pieces` tile ranges that run in an order drawn from `seed` (as
// workers would).
struct ProgramRun {
  std::span<const InterpBuffer> inputs = {};
  std::span<const InterpBuffer> outputs = {};
  std::span<const int64_t> sizes = {};
  int pieces = 1;
  uint64_t seed = 1;
  InterpOptions options = {};
};
Result<InterpFailure> run_program(const Program& program, const ProgramRun& run);

}  // namespace frit::loop
