#include "exec/constant_store.h"

#include <algorithm>

#include "base/try.h"
#include "exec/memory_plan.h"

namespace frit::exec {

Result<std::shared_ptr<ConstantBlock>> ConstantBlock::make(std::span<const int64_t> sizes_bytes) {
  auto out = std::make_shared<ConstantBlock>();
  int64_t total = 0;
  for (const int64_t size : sizes_bytes) {
    out->offsets_.push_back(total);
    total += (size + kOverReadBytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
  }
  FRIT_ASSIGN(out->memory_, base::AlignedBuffer::make(static_cast<size_t>(total), {kBufferAlignment, true}));
  return out;
}

SharedBlock ConstantStore::find(const base::Hash128& key) const {
  const std::lock_guard lock(mutex_);
  const auto it = blocks_.find(key);
  return it == blocks_.end() ? nullptr : it->second.lock();
}

SharedBlock ConstantStore::add(const base::Hash128& key, SharedBlock block) {
  const std::lock_guard lock(mutex_);
  std::weak_ptr<const ConstantBlock>& slot = blocks_[key];
  if (SharedBlock first = slot.lock()) return first;
  slot = block;
  return block;
}

void ConstantStore::pin(std::span<const SharedBlock> blocks) {
  const std::lock_guard lock(mutex_);
  pinned_.insert(pinned_.end(), blocks.begin(), blocks.end());
  std::sort(pinned_.begin(), pinned_.end());
  pinned_.erase(std::unique(pinned_.begin(), pinned_.end()), pinned_.end());
}

void ConstantStore::trim() {
  std::vector<SharedBlock> dropped;  // freed after the lock is released
  const std::lock_guard lock(mutex_);
  dropped.swap(pinned_);
  for (SharedBlock& block : dropped) {
    if (block.use_count() > 1) pinned_.push_back(std::move(block));
  }
  std::erase_if(blocks_, [](const auto& item) { return item.second.expired(); });
}

std::vector<SharedBlock> ConstantStore::blocks() const {
  const std::lock_guard lock(mutex_);
  std::vector<SharedBlock> living;
  for (const auto& [key, block] : blocks_)
    if (SharedBlock b = block.lock()) living.push_back(std::move(b));
  return living;
}

int64_t ConstantStore::size_bytes() const {
  const std::lock_guard lock(mutex_);
  int64_t total = 0;
  for (const auto& [key, block] : blocks_) {
    if (const SharedBlock living = block.lock()) total += living->size_bytes();
  }
  return total;
}

}  // namespace frit::exec
