#include "loop/scratch.h"

#include <algorithm>

#include "loop/build.h"

namespace frit::loop {

namespace {

void visit(const LoopFn& fn, const Stmt& stmt, int64_t used, ScratchLayout& layout) {
  if (!stmt) return;
  if (stmt->kind == StmtKind::kAlloc && stmt->id >= 0 && stmt->id < static_cast<int32_t>(fn.buffers.size())) {
    const Buffer& b = fn.buffers[static_cast<size_t>(stmt->id)];
    int64_t count = 0;
    if (b.space == Space::kStack && as_int(b.size, &count)) {
      const int64_t bytes = count * static_cast<int64_t>(dtype_bytes(b.dtype));
      if (bytes > kMaxStackBufferBytes) {
        layout.offsets[static_cast<size_t>(stmt->id)] = used;
        used += (bytes + 63) / 64 * 64;
        layout.bytes = std::max(layout.bytes, used);
      }
    }
  }
  for (const Stmt& child : stmt->body) visit(fn, child, used, layout);
}

}  // namespace

ScratchLayout scratch_layout(const LoopFn& fn) {
  ScratchLayout layout;
  layout.offsets.assign(fn.buffers.size(), -1);
  visit(fn, fn.body, 0, layout);
  return layout;
}

}  // namespace frit::loop
