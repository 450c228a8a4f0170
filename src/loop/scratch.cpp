#include "loop/scratch.h"

#include "loop/build.h"

namespace frit::loop {

ScratchLayout scratch_layout(const LoopFn& fn) {
  ScratchLayout layout;
  layout.offsets.assign(fn.buffers.size(), -1);
  for (const Buffer& buffer : fn.buffers) {
    int64_t count = 0;
    if (buffer.space != Space::kStack || !as_int(buffer.size, &count)) continue;
    const int64_t bytes = count * static_cast<int64_t>(dtype_bytes(buffer.dtype));
    if (bytes <= kMaxStackBufferBytes) continue;
    layout.offsets[static_cast<size_t>(buffer.id)] = layout.bytes;
    layout.bytes += (bytes + 63) / 64 * 64;
  }
  return layout;
}

}  // namespace frit::loop
