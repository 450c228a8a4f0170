#include "loop/gpu.h"

#include <algorithm>

#include "base/text.h"
#include "base/try.h"
#include "loop/build.h"
#include "loop/text.h"

namespace frit::loop {

namespace {

constexpr int64_t kSharedAlign = 16;  // widest access

class Reader {
 public:
  explicit Reader(const LoopFn& fn) : fn_(fn) {
    out_.block = {};  // none seen yet
    out_.shared_offsets.assign(fn.buffers.size(), -1);
  }

  Result<GpuLaunch> run() {
    if (!fn_.gpu) return make_error(Code::kUnsupported, "the function is not for a gpu");
    if (!fn_.tiles.empty())
      return make_error(Code::kUnsupported, "a gpu function has tiles, expected block loops");
    if (fn_.scratch_bytes > 0)
      return make_error(Code::kUnsupported, "a gpu function has scratch, expected none");
    FRIT_TRY(visit(*fn_.body, Place::kGrid, 0));
    // What stands in an outer thread loop is done by all threads of the inner ones: values may, effects may
    // not.
    if (outermost_effect_ && outermost_depth_ < deepest_)
      return wrong(*outermost_effect_, "stands outside of the innermost threads");
    for (int64_t& n : out_.block) n = std::max<int64_t>(n, 1);
    return std::move(out_);
  }

 private:
  enum class Place { kGrid, kBlock, kThread };

  static Error wrong(const StmtNode& s, const char* what) {
    return make_error(Code::kUnsupported, base::text_of("'", brief(s), "': ", what));
  }
  static bool of_sizes(const ExprNode* e) {
    if (!e) return true;
    if (e->kind == ExprKind::kVar || e->kind == ExprKind::kLoad) return false;
    return of_sizes(e->a) && of_sizes(e->b) && of_sizes(e->c);
  }

  Status loop(const StmtNode& s, Place place, int64_t shared) {
    const bool blocks = s.loop == LoopKind::kGpuBlock, threads = s.loop == LoopKind::kGpuThread;
    if (!blocks && !threads) {
      if (place != Place::kThread) return wrong(s, "is a loop outside of the threads");
      return visit(*s.body[0], place, shared);
    }
    int64_t begin = 0, step = 0, end = 0;
    if (!as_int(s.a, &begin) || !as_int(s.c, &step) || begin != 0 || step != 1)
      return wrong(s, "does not count from 0 in steps of 1");
    const auto axis = static_cast<size_t>(s.gpu_axis);
    if (blocks) {
      if (place != Place::kGrid) return wrong(s, "is a block loop inside of a block");
      if (out_.grid[axis]) return wrong(s, "is the second block loop of its axis");
      if (!of_sizes(s.b.node)) return wrong(s, "has a bound of more than constants and sizes");
      out_.grid[axis] = s.b;
      return visit(*s.body[0], Place::kGrid, shared);
    }
    if (!as_int(s.b, &end) || end < 1) return wrong(s, "has a bound that is not a positive constant");
    if (in_thread_axis_[axis]) return wrong(s, "is inside of another thread loop of its axis");
    if (out_.block[axis] != 0 && out_.block[axis] != end)
      return wrong(s, "differs in extent from another of its axis");
    out_.block[axis] = end;
    in_thread_axis_[axis] = true;
    deepest_ = std::max(deepest_, ++depth_);
    Status done = visit(*s.body[0], Place::kThread, shared);
    --depth_;
    in_thread_axis_[axis] = false;
    return done;
  }

  Status visit(const StmtNode& s, Place place, int64_t shared) {
    switch (s.kind) {
      case StmtKind::kBlock:
        for (const Stmt& child : s.body) FRIT_TRY(visit(*child, place, shared));
        return {};
      case StmtKind::kFor:
        return loop(s, place, shared);
      case StmtKind::kAlloc: {
        const Buffer& b = fn_.buffers[static_cast<size_t>(s.id)];
        if (b.space == Space::kShared) {
          place = Place::kBlock;
          int64_t count = 0;
          as_int(b.size, &count);
          const int64_t align = std::max<int64_t>(std::min<int64_t>(b.align_bytes, 128), kSharedAlign);
          shared = (shared + align - 1) / align * align;
          out_.shared_offsets[static_cast<size_t>(s.id)] = shared;
          shared += count * static_cast<int64_t>(dtype_bytes(b.dtype));
          out_.shared_bytes = std::max(out_.shared_bytes, shared);
        } else if (place != Place::kThread) {
          return wrong(s, "is private memory outside of the threads");
        }
        return visit(*s.body[0], place, shared);
      }
      case StmtKind::kLet:
      case StmtKind::kBarrier:
        return {};
      case StmtKind::kIf:
        if (place != Place::kThread) return wrong(s, "is a condition outside of the threads");
        for (const Stmt& child : s.body) FRIT_TRY(visit(*child, place, shared));
        return {};
      case StmtKind::kStore:
      case StmtKind::kFail:
        if (place != Place::kThread) return wrong(s, "stands outside of the threads");
        if (!outermost_effect_ || depth_ < outermost_depth_) {
          outermost_effect_ = &s;
          outermost_depth_ = depth_;
        }
        return {};
    }
    return {};
  }

  const LoopFn& fn_;
  GpuLaunch out_;
  bool in_thread_axis_[3] = {};
  int depth_ = 0, deepest_ = 0;  // of thread loops
  const StmtNode* outermost_effect_ = nullptr;
  int outermost_depth_ = 0;
};

}  // namespace

Result<GpuLaunch> gpu_launch(const LoopFn& fn) { return Reader(fn).run(); }

}  // namespace frit::loop
