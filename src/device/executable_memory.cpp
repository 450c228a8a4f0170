#include "device/executable_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/text.h"
#include "base/try.h"

namespace frit::device {

namespace {

// Room for some hundred kernels; larger blocks get a chunk of their own.
constexpr size_t kChunkBytes = size_t{1} << 20;

Error failed(const char* call, int error) {
  const Code code = error == ENOMEM ? Code::kOutOfMemory : Code::kDevice;
  return make_error(code, base::text_of("executable memory: ", call, ": ", base::errno_text(error)));
}

// A memory file that may be executed. The flag that says so is younger (Linux 6.3) than the call.
int open_memory_file() {
#ifndef MFD_EXEC
  constexpr unsigned MFD_EXEC = 0x10;
#endif
  const int file = memfd_create("frit-kernels", MFD_CLOEXEC | MFD_EXEC);
  return file < 0 && errno == EINVAL ? memfd_create("frit-kernels", MFD_CLOEXEC) : file;
}

}  // namespace

std::shared_ptr<ExecutableMemory> ExecutableMemory::make(ExecutablePolicy policy) {
  std::shared_ptr<ExecutableMemory> memory(
      new ExecutableMemory(policy, static_cast<size_t>(sysconf(_SC_PAGESIZE))));
  memory->dual_ = policy == ExecutablePolicy::kDual;
  return memory;
}

// Blocks hold a reference, so none is left.
ExecutableMemory::~ExecutableMemory() {
  for (const std::unique_ptr<Chunk>& chunk : chunks_) {
    munmap(chunk->base, chunk->size_bytes);
    if (chunk->file >= 0) close(chunk->file);
  }
}

Result<ExecutableMemory::Chunk> ExecutableMemory::make_chunk(size_t bytes, bool dual) const {
  Chunk chunk;
  chunk.size_bytes = bytes;
  chunk.free.push_back({0, bytes});
  void* base = MAP_FAILED;
  if (dual) {
    chunk.file = open_memory_file();
    if (chunk.file < 0) return failed("memfd_create", errno);
    const char* call = "ftruncate";
    if (ftruncate(chunk.file, static_cast<off_t>(bytes)) == 0) {
      call = "mmap of a memory file for execution";
      base = mmap(nullptr, bytes, PROT_READ | PROT_EXEC, MAP_SHARED, chunk.file, 0);
    }
    if (base == MAP_FAILED) {
      const int error = errno;
      close(chunk.file);
      return failed(call, error);
    }
  } else {
    base = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return failed("mmap", errno);
  }
  chunk.base = static_cast<std::byte*>(base);
  return chunk;
}

// First fit over the chunks of the right kind, in the order in which they were made.
Result<std::pair<ExecutableMemory::Chunk*, size_t>> ExecutableMemory::reserve(size_t bytes, bool dual) {
  const std::lock_guard lock(mutex_);
  const auto take = [&](Chunk& chunk) -> size_t {
    for (size_t i = 0; i < chunk.free.size(); ++i) {
      Range& range = chunk.free[i];
      if (range.end - range.begin < bytes) continue;
      const size_t at = range.begin;
      range.begin += bytes;
      if (range.begin == range.end) chunk.free.erase(chunk.free.begin() + static_cast<ptrdiff_t>(i));
      used_bytes_ += bytes;
      return at;
    }
    return chunk.size_bytes;
  };
  for (const std::unique_ptr<Chunk>& chunk : chunks_) {
    if ((chunk->file >= 0) != dual) continue;
    if (const size_t at = take(*chunk); at != chunk->size_bytes) return std::pair(chunk.get(), at);
  }
  const size_t chunk_bytes = std::max(kChunkBytes, bytes);
  FRIT_ASSIGN(Chunk chunk, make_chunk(chunk_bytes, dual));
  chunks_.push_back(std::make_unique<Chunk>(std::move(chunk)));
  return std::pair(chunks_.back().get(), take(*chunks_.back()));
}

Result<ExecutableMemory::Block> ExecutableMemory::write_with(size_t size_bytes, const Fill& fill, bool dual,
                                                             bool* refused) {
  const size_t bytes = (size_bytes + page_bytes_ - 1) / page_bytes_ * page_bytes_;
  Result<std::pair<Chunk*, size_t>> place = reserve(bytes, dual);
  if (!place.ok()) {
    *refused = true;
    return std::move(place).error();
  }
  const auto [chunk, at] = *place;
  Block block;  // gives the pages back on every way out
  block.owner_ = shared_from_this();
  block.data_ = chunk->base + at;
  block.size_bytes_ = size_bytes;
  const auto address = reinterpret_cast<uint64_t>(block.data_);

  if (dual) {
    void* view =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, chunk->file, static_cast<off_t>(at));
    if (view == MAP_FAILED) return failed("mmap of a memory file for writing", errno);
    const Status filled = fill({static_cast<std::byte*>(view), size_bytes}, address);
    munmap(view, bytes);
    if (!filled.ok()) return filled.error();
  } else {
    if (mprotect(block.data_, bytes, PROT_READ | PROT_WRITE) != 0)
      return failed("mprotect for writing", errno);
    FRIT_TRY(fill({block.data_, size_bytes}, address));
    if (mprotect(block.data_, bytes, PROT_READ | PROT_EXEC) != 0) {
      *refused = errno != ENOMEM;
      return failed("mprotect for execution", errno);
    }
  }
  // Instruction caches that do not see stores (AArch64).
  __builtin___clear_cache(reinterpret_cast<char*>(block.data_), reinterpret_cast<char*>(block.data_) + bytes);
  return block;
}

Result<ExecutableMemory::Block> ExecutableMemory::write(size_t size_bytes, const Fill& fill) {
  if (size_bytes == 0) return make_error(Code::kInvalidArgument, "executable memory: a block of 0 bytes");
  if (size_bytes > std::numeric_limits<size_t>::max() / 4) {
    return make_error(Code::kOutOfMemory,
                      base::text_of("executable memory: a block of ", size_bytes, " bytes"));
  }
  bool dual = false;
  {
    const std::lock_guard lock(mutex_);
    dual = dual_;
  }
  bool refused = false;
  if (!dual) {
    Result<Block> block = write_with(size_bytes, fill, false, &refused);
    if (block.ok() || !refused || policy_ == ExecutablePolicy::kProtect) return block;
    const std::lock_guard lock(mutex_);
    dual_ = true;
    refusal_ = block.error().message;
    refused = false;
  }
  Result<Block> block = write_with(size_bytes, fill, true, &refused);
  if (block.ok() || !refused || policy_ == ExecutablePolicy::kDual) return block;
  const std::lock_guard lock(mutex_);
  return make_error(Code::kDevice, base::text_of(refusal_, "; ", block.error().message))
      .hinted(
          "the system forbids this process to run code that it generated (for example SELinux without execmem, "
          "or MemoryDenyWriteExecute= in its systemd unit)");
}

void ExecutableMemory::put_free(Chunk& chunk, Range range) {
  auto after = std::lower_bound(chunk.free.begin(), chunk.free.end(), range.begin,
                                [](const Range& r, size_t begin) { return r.begin < begin; });
  const bool joins_after = after != chunk.free.end() && after->begin == range.end;
  const bool joins_before = after != chunk.free.begin() && std::prev(after)->end == range.begin;
  if (joins_before && joins_after) {
    std::prev(after)->end = after->end;
    chunk.free.erase(after);
  } else if (joins_before) {
    std::prev(after)->end = range.end;
  } else if (joins_after) {
    after->begin = range.begin;
  } else {
    chunk.free.insert(after, range);
  }
}

void ExecutableMemory::give_back(std::byte* data, size_t size_bytes) {
  const size_t bytes = (size_bytes + page_bytes_ - 1) / page_bytes_ * page_bytes_;
  const std::lock_guard lock(mutex_);
  for (const std::unique_ptr<Chunk>& chunk : chunks_) {
    if (data < chunk->base || data >= chunk->base + chunk->size_bytes) continue;
    const auto begin = static_cast<size_t>(data - chunk->base);
    used_bytes_ -= bytes;
    // The next owner finds zeroes, and a stale pointer into the old code faults. Where the system does not
    // even allow that, the pages are never used again.
    const bool clean = chunk->file >= 0
                           ? fallocate(chunk->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                       static_cast<off_t>(begin), static_cast<off_t>(bytes)) == 0
                           : mmap(data, bytes, PROT_NONE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == data;
    if (clean) put_free(*chunk, {begin, begin + bytes});
    return;
  }
}

ExecutableMemory::Stats ExecutableMemory::stats() const {
  const std::lock_guard lock(mutex_);
  Stats stats;
  stats.chunks = chunks_.size();
  for (const std::unique_ptr<Chunk>& chunk : chunks_) stats.reserved_bytes += chunk->size_bytes;
  stats.used_bytes = used_bytes_;
  stats.dual = dual_;
  return stats;
}

ExecutableMemory::Block& ExecutableMemory::Block::operator=(Block&& other) noexcept {
  std::swap(owner_, other.owner_);
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

ExecutableMemory::Block::~Block() {
  if (owner_) owner_->give_back(data_, size_bytes_);
}

}  // namespace frit::device
