// Memory that generated code runs from: chunks cut into pages, each either writable or executable, never
// both.
//
// Third step of loading. A block is written while it cannot run and runs when it can no longer be written:
// the pages are made writable, filled, and made executable (mprotect). Where a policy forbids that change, a
// chunk is a memory file mapped executable, and a block's pages are mapped a second time, elsewhere, just to
// be filled. It must not know what it stores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "frit/result.h"

namespace frit::device {

enum class ExecutablePolicy : uint8_t {
  kAuto,     // protect, and from the first refusal on map twice
  kProtect,  // anonymous memory: read+write, then read+execute
  kDual,     // a memory file, mapped read+execute, and for filling read+write
};

// Safe to use from several threads at once.
class ExecutableMemory : public std::enable_shared_from_this<ExecutableMemory> {
 public:
  // Pages that hold one piece of code; given back when it dies. Keeps its memory's owner alive.
  class Block {
   public:
    Block() = default;
    Block(Block&& other) noexcept { *this = std::move(other); }
    Block& operator=(Block&& other) noexcept;
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    ~Block();

    const std::byte* data() const { return data_; }
    size_t size_bytes() const { return size_bytes_; }  // as asked for

   private:
    friend class ExecutableMemory;
    std::shared_ptr<ExecutableMemory> owner_;
    std::byte* data_ = nullptr;
    size_t size_bytes_ = 0;
  };

  // Maps nothing yet.
  static std::shared_ptr<ExecutableMemory> make(ExecutablePolicy policy = ExecutablePolicy::kAuto);
  ~ExecutableMemory();

  // A block of that many bytes. `fill` gets zeroed, page-aligned bytes to write and the address at which they
  // will run; its error is passed on. Errors: `device` when no policy lets us run code, `out_of_memory`.
  using Fill = std::function<Status(std::span<std::byte> out, uint64_t address)>;
  Result<Block> write(size_t size_bytes, const Fill& fill);

  struct Stats {
    size_t chunks = 0;
    size_t reserved_bytes = 0;  // address space
    size_t used_bytes = 0;      // whole pages of live blocks
    bool dual = false;          // blocks are now made by mapping twice
  };
  Stats stats() const;

 private:
  struct Range {
    size_t begin = 0, end = 0;
  };
  struct Chunk {
    std::byte* base = nullptr;
    size_t size_bytes = 0;
    int file = -1;            // of a dual chunk
    std::vector<Range> free;  // sorted, not adjacent
  };

  ExecutableMemory(ExecutablePolicy policy, size_t page_bytes) : policy_(policy), page_bytes_(page_bytes) {}

  Result<std::pair<Chunk*, size_t>> reserve(size_t bytes, bool dual);
  Result<Chunk> make_chunk(size_t bytes, bool dual) const;
  Result<Block> write_with(size_t size_bytes, const Fill& fill, bool dual, bool* refused);
  void give_back(std::byte* data, size_t bytes);
  static void put_free(Chunk& chunk, Range range);

  const ExecutablePolicy policy_;
  const size_t page_bytes_;
  mutable std::mutex mutex_;  // guards what follows; not held while a block is filled
  std::vector<std::unique_ptr<Chunk>> chunks_;
  size_t used_bytes_ = 0;
  bool dual_ = false;
  std::string refusal_;  // why dual_ was set
};

}  // namespace frit::device
