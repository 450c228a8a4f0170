#include "loop/interp.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "base/try.h"
#include "loop/evaluate.h"
#include "loop/interp_code.h"
#include "loop/text.h"
#include "loop/verify.h"

namespace frit::loop {

using interp::Bytecode;
using interp::Instr;
using interp::Memory;
using interp::Stop;
using interp::Thread;

namespace {

// One thread with its own copy of frame and private buffers. The first one runs the whole function; a thread
// loop replaces its thread by one child per iteration until all of them are through.
struct Fiber {
  Thread thread;
  std::vector<uint8_t> frame, arena;
  std::vector<Memory> memories;
  Fiber* parent = nullptr;
  const Instr* fork = nullptr;  // while it waits for its children
  int64_t children = 0;
  bool waits_at_barrier = false;
};

class Run {
 public:
  Run(const Bytecode& code, const InterpOptions& options) : code_(code), options_(options) {}

  Status prepare(std::span<const InterpBuffer> args, std::span<const int64_t> sizes) {
    const LoopFn& fn = code_.fn;
    if (args.size() != static_cast<size_t>(fn.arg_count) ||
        sizes.size() != static_cast<size_t>(fn.size_count)) {
      return make_error(Code::kInvalidArgument,
                        base::text_of("function has ", fn.arg_count, " arguments and ", fn.size_count,
                                      " sizes, got ", args.size(), " and ", sizes.size()));
    }
    auto root = std::make_unique<Fiber>();
    root->frame = code_.frame;
    root->memories.resize(fn.buffers.size());
    for (size_t i = 0; i < args.size(); ++i) {
      const Buffer& b = fn.buffers[i];
      const int64_t bytes = static_cast<int64_t>(dtype_bytes(b.dtype));
      FRIT_ASSIGN(const int64_t size, evaluate(b.size, sizes));
      if (size < 0 || size > args[i].size_bytes / bytes || (size > 0 && !args[i].data)) {
        return make_error(Code::kInvalidArgument,
                          base::text_of("argument ", i, " has ", args[i].size_bytes, " bytes, expected ",
                                        size, " elements of ", dtype_name(b.dtype)));
      }
      Memory& m = root->memories[i];
      m.data = static_cast<uint8_t*>(args[i].data);
      m.size = size;
      m.readable = size + (b.over_read ? 64 / bytes : 0);
      m.present = std::min(m.readable, args[i].size_bytes / bytes);
    }
    shared_.resize(static_cast<size_t>(code_.shared_bytes));
    root->arena.resize(static_cast<size_t>(code_.private_bytes));
    for (size_t i = 0; i < sizes.size(); ++i) set(*root, code_.size_slots[i], sizes[i]);
    bind_locals(*root);
    fibers_.push_back(std::move(root));
    return {};
  }

  void set_tile(size_t dim, int64_t coordinate) { set(*fibers_[0], code_.tile_slots[dim], coordinate); }

  Result<InterpFailure> run_tile() {
    Fiber* root = fibers_[0].get();
    root->thread.at = code_.code.data();
    std::vector<Fiber*> ready{root};
    while (!ready.empty()) {
      Fiber* f = ready.back();
      ready.pop_back();
      Thread& t = f->thread;
      t.stop = Stop::kRunning;
      for (const Instr* p = t.at; p;) p = p->run(t, p);
      switch (t.stop) {
        case Stop::kError:
          return broken(t, t.error_value, t.error_limit);
        case Stop::kFail: {
          const int64_t code = t.at->imm;
          return InterpFailure{code, get(*f, t.at->b), get(*f, t.at->c)};
        }
        case Stop::kFork:
          fork(*f, ready);
          break;
        case Stop::kThreadDone:
          if (Fiber* resumed = join(f)) ready.push_back(resumed);
          break;
        case Stop::kBarrier:
          // Between thread loops all threads of the block are at the same place anyway.
          if (f->parent)
            f->waits_at_barrier = true;
          else
            t.at += 1, ready.push_back(f);
          break;
        case Stop::kDone:
        case Stop::kRunning:
          break;
      }
      if (ready.empty() && fibers_.size() > 1) {
        if (Result<int> released = release(ready); !released.ok()) return std::move(released).error();
      }
    }
    return InterpFailure{};
  }

 private:
  static void set(Fiber& f, uint32_t slot, int64_t value) { std::memcpy(f.frame.data() + slot, &value, 8); }
  static int64_t get(const Fiber& f, uint32_t slot) {
    int64_t value = 0;
    std::memcpy(&value, f.frame.data() + slot, 8);
    return value;
  }
  void bind_locals(Fiber& f) {
    for (const interp::Local& local : code_.locals) {
      uint8_t* arena = local.shared ? shared_.data() : f.arena.data();
      // The arena is as aligned as its allocation, each part starts at a multiple of 64.
      auto* uses = local.shared ? reinterpret_cast<interp::SharedUse*>(arena + local.uses_offset) : nullptr;
      f.memories[static_cast<size_t>(local.buffer)] = {
          arena + local.offset, arena + local.written_offset, uses, local.elements, local.elements,
          local.elements};
    }
    f.thread.frame = f.frame.data();
    f.thread.memories = f.memories.data();
    f.thread.reverse = options_.reverse;
    f.thread.allow_uninitialised = options_.allow_uninitialised;
    f.thread.epoch = &epoch_;
  }

  void fork(Fiber& f, std::vector<Fiber*>& ready) {
    const Instr* in = f.thread.at;
    const int64_t trips = interp::trip_count(f.thread, in);
    f.children = trips;
    f.fork = in;
    if (!f.parent) ++epoch_;  // all threads of the block begin
    if (trips == 0) {
      f.thread.at = in + in->jump;
      ready.push_back(&f);
      return;
    }
    const size_t first = ready.size();
    for (int64_t i = 0; i < trips; ++i) {
      auto child = std::make_unique<Fiber>();
      child->frame = f.frame;
      child->arena = f.arena;
      child->memories = f.memories;
      child->parent = &f;
      child->thread.number = next_number_++;
      bind_locals(*child);
      child->thread.at = in;
      interp::set_loop_var(child->thread, in, i);
      child->thread.at = in + 1;
      ready.push_back(child.get());
      fibers_.push_back(std::move(child));
    }
    // The last of `ready` runs next.
    if (!options_.reverse) std::reverse(ready.begin() + static_cast<std::ptrdiff_t>(first), ready.end());
  }

  // The parent, where this was its last child.
  Fiber* join(Fiber* f) {
    Fiber* parent = f->parent;
    if (--parent->children > 0) return nullptr;
    std::erase_if(fibers_, [&](const auto& x) { return x->parent == parent; });
    parent->thread.at = parent->fork + parent->fork->jump;
    if (!parent->parent) ++epoch_;  // all of them have ended
    return parent;
  }

  // Nobody can run: all threads must be waiting at one barrier.
  Result<int> release(std::vector<Fiber*>& ready) {
    const Instr* at = nullptr;
    for (const auto& f : fibers_) {
      if (!f->waits_at_barrier) continue;
      if (at && at != f->thread.at) return broken_text(*at, "threads of a block wait at different barriers");
      at = f->thread.at;
    }
    if (!at) return 0;
    ++epoch_;
    for (const auto& f : fibers_) {
      const bool waits_for_children = f->children > 0;
      if (!f->waits_at_barrier && !waits_for_children)
        return broken_text(*at, "a thread of the block has ended before the barrier");
    }
    for (auto it = fibers_.begin(); it != fibers_.end(); ++it) {
      Fiber& f = **it;
      if (!f.waits_at_barrier) continue;
      f.waits_at_barrier = false;
      f.thread.at += 1;
      ready.push_back(&f);
    }
    if (!options_.reverse) std::reverse(ready.begin(), ready.end());
    return 0;
  }

  std::string node_text(const Instr& in) const {
    const interp::Origin& origin = code_.origins[static_cast<size_t>(&in - code_.code.data())];
    return origin.expr ? brief(origin.expr) : origin.stmt ? brief(*origin.stmt) : "";
  }
  Error broken_text(const Instr& in, std::string_view what) const {
    return make_error(Code::kInternal, base::text_of("'", node_text(in), "': ", what));
  }
  Error broken(const Thread& t, int64_t value, int64_t limit) const {
    if (limit == 0) return broken_text(*t.at, base::text_of(t.error, " ", value));
    return broken_text(*t.at, base::text_of(t.error, " ", value, " of ", limit));
  }

  const Bytecode& code_;
  const InterpOptions& options_;
  std::vector<std::unique_ptr<Fiber>> fibers_;  // the first runs the function
  std::vector<uint8_t> shared_;
  int32_t epoch_ = 0, next_number_ = 1;
};

}  // namespace

struct Interpreter::Code {
  Bytecode bytecode;
};

Interpreter::Interpreter(std::unique_ptr<Code> code) : code_(std::move(code)) {}
Interpreter::~Interpreter() = default;
Interpreter::Interpreter(Interpreter&&) noexcept = default;
Interpreter& Interpreter::operator=(Interpreter&&) noexcept = default;

Result<Interpreter> Interpreter::make(const LoopFn& fn) {
  FRIT_TRY(verify(fn));
  return Interpreter(std::make_unique<Code>(Code{interp::compile(fn)}));
}

Result<int64_t> Interpreter::tile_count(std::span<const int64_t> sizes) const {
  return loop::tile_count(code_->bytecode.fn, sizes);
}

Result<InterpFailure> Interpreter::run(std::span<const InterpBuffer> args, std::span<const int64_t> sizes,
                                       int64_t first, int64_t last, const InterpOptions& options) const {
  const LoopFn& fn = code_->bytecode.fn;
  Run run(code_->bytecode, options);
  FRIT_TRY(run.prepare(args, sizes));
  FRIT_ASSIGN(const int64_t count, tile_count(sizes));
  if (first < 0 || last > count) {
    return make_error(frit::Code::kInvalidArgument,
                      base::text_of("tiles ", first, " to ", last, " of ", count));
  }
  std::vector<int64_t> extents;
  for (const TileDim& tile : fn.tiles) {
    FRIT_ASSIGN(const int64_t extent, evaluate(tile.extent, sizes));
    extents.push_back(extent);
  }
  for (int64_t tile = first; tile < last; ++tile) {
    int64_t rest = tile;
    for (size_t d = extents.size(); d-- > 0; rest /= extents[d]) run.set_tile(d, rest % extents[d]);
    Result<InterpFailure> failure = run.run_tile();
    if (!failure.ok()) return std::move(failure).with(base::text_of("tile ", tile));
    if (failure->code != 0) return failure;
  }
  return InterpFailure{};
}

Result<InterpFailure> Interpreter::run(std::span<const InterpBuffer> args, std::span<const int64_t> sizes,
                                       const InterpOptions& options) const {
  FRIT_ASSIGN(const int64_t count, tile_count(sizes));
  return run(args, sizes, 0, count, options);
}

}  // namespace frit::loop
