// ConstantStore: what was made from a Model's constants at load, shared by all its plans and sessions.
//
// A block is found by what it was made from (identity of the constants, text of the functions), so equal
// packing happens once. The store pins what plans use, for the Model's life or until trim(). It must not know
// how blocks are made (constants.h).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/memory.h"
#include "frit/result.h"

namespace frit::exec {

// Several buffers in one piece of memory, each aligned to 64 bytes and with room behind it to over-read.
class ConstantBlock {
 public:
  static Result<std::shared_ptr<ConstantBlock>> make(std::span<const int64_t> sizes_bytes);

  std::byte* data(size_t buffer) const { return memory_.data() + offsets_[buffer]; }
  int64_t size_bytes() const { return static_cast<int64_t>(memory_.size_bytes()); }

 private:
  base::AlignedBuffer memory_;
  std::vector<int64_t> offsets_;
};
using SharedBlock = std::shared_ptr<const ConstantBlock>;

// All members may be called from several threads at once.
class ConstantStore {
 public:
  SharedBlock find(const base::Hash128& key) const;
  // Two threads may make the same block at once: the first one is kept and returned to both.
  SharedBlock add(const base::Hash128& key, SharedBlock block);
  void pin(std::span<const SharedBlock> blocks);
  // Lets go of what no plan holds any more.
  void trim();
  int64_t size_bytes() const;  // of all living blocks
  std::vector<SharedBlock> blocks() const;  // the living ones; for measurements that must find them cold

 private:
  mutable std::mutex mutex_;
  std::unordered_map<base::Hash128, std::weak_ptr<const ConstantBlock>> blocks_;
  std::vector<SharedBlock> pinned_;  // sorted by address, unique
};

}  // namespace frit::exec
