#include "base/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "base/try.h"

namespace frit::base {
namespace {

size_t page_bytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

// Of a size or an address; 0 where it does not fit.
uintptr_t round_up(uintptr_t value, size_t alignment) {
  const uintptr_t sum = value + (alignment - 1);
  return sum < value ? 0 : sum & ~(uintptr_t{alignment} - 1);
}

std::byte* align_up(std::byte* p, size_t alignment) {
  return p + (round_up(reinterpret_cast<uintptr_t>(p), alignment) - reinterpret_cast<uintptr_t>(p));
}

Status check_alignment(size_t alignment) {
  if (std::has_single_bit(alignment)) return {};
  return make_error(Code::kInvalidArgument, text_of("alignment is ", alignment, ", expected a power of two"));
}

Error out_of_memory(size_t size_bytes) {
  return make_error(Code::kOutOfMemory, text_of("cannot allocate ", size_bytes, " bytes"));
}

// Differs from byte to byte, so that a store of one repeated value is seen.
std::byte canary(const std::byte* at) {
  return static_cast<std::byte>(0xa5 ^ (reinterpret_cast<uintptr_t>(at) * 37 & 0xff));
}

}  // namespace

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this == &other) return *this;
  if (data_) munmap(data_, size_bytes_);
  data_ = std::exchange(other.data_, nullptr);
  size_bytes_ = std::exchange(other.size_bytes_, 0);
  return *this;
}

Mapping::~Mapping() {
  if (data_) munmap(data_, size_bytes_);
}

Result<Mapping> Mapping::make(size_t size_bytes) {
  Mapping out;
  if (size_bytes == 0) return out;
  void* p = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return out_of_memory(size_bytes);
  out.data_ = static_cast<std::byte*>(p);
  out.size_bytes_ = size_bytes;
  return out;
}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  mapping_ = std::move(other.mapping_);
  data_ = std::exchange(other.data_, nullptr);
  size_bytes_ = std::exchange(other.size_bytes_, 0);
  return *this;
}

Result<AlignedBuffer> AlignedBuffer::make(size_t size_bytes, Options options) {
  FRIT_TRY(check_alignment(options.alignment));
  AlignedBuffer out;
  if (size_bytes == 0) return out;
  size_t alignment = options.alignment;
  // The length is rounded too: the kernel gives a huge page only where all of it is mapped.
  const bool huge = options.huge_pages && size_bytes >= kHugePageBytes;
  if (huge && alignment < kHugePageBytes) alignment = kHugePageBytes;
  const size_t length = round_up(size_bytes, huge ? kHugePageBytes : page_bytes());
  const size_t slack = alignment > page_bytes() ? alignment : 0;
  if (length == 0 || length + slack < length) return out_of_memory(size_bytes);
  FRIT_ASSIGN(out.mapping_, Mapping::make(length + slack));
  out.data_ = align_up(out.mapping_.data(), alignment);
  out.size_bytes_ = size_bytes;
  if (huge) madvise(out.data_, length, MADV_HUGEPAGE);
  return out;
}

GuardedBuffer& GuardedBuffer::operator=(GuardedBuffer&& other) noexcept {
  mapping_ = std::move(other.mapping_);
  open_begin_ = std::exchange(other.open_begin_, nullptr);
  open_end_ = std::exchange(other.open_end_, nullptr);
  data_ = std::exchange(other.data_, nullptr);
  size_bytes_ = std::exchange(other.size_bytes_, 0);
  return *this;
}

Result<GuardedBuffer> GuardedBuffer::make(size_t size_bytes, size_t alignment, GuardSide side) {
  FRIT_TRY(check_alignment(alignment));
  const size_t page = page_bytes();
  // Accessible are whole pages, none for zero bytes; they begin aligned when the alignment is beyond a page.
  const size_t open = round_up(size_bytes, page);
  const size_t slack = alignment > page ? alignment : 0;
  const size_t total = open + slack + 2 * page;
  if (open < size_bytes || total < open) return out_of_memory(size_bytes);

  GuardedBuffer out;
  FRIT_ASSIGN(out.mapping_, Mapping::make(total));
  std::byte* first = out.mapping_.data();
  out.open_begin_ = align_up(first + page, std::max(alignment, page));
  out.open_end_ = out.open_begin_ + open;
  out.data_ = out.open_begin_;
  if (side == GuardSide::kEnd && alignment < page) {
    const auto highest = reinterpret_cast<uintptr_t>(out.open_end_ - size_bytes);
    out.data_ = out.open_end_ - size_bytes - (highest & (alignment - 1));
  }
  out.size_bytes_ = size_bytes;
  if (mprotect(first, static_cast<size_t>(out.open_begin_ - first), PROT_NONE) != 0 ||
      mprotect(out.open_end_, static_cast<size_t>(first + total - out.open_end_), PROT_NONE) != 0) {
    return make_error(Code::kOutOfMemory, text_of("cannot protect a guard page: ", errno_text(errno)));
  }
  for (std::byte* p = out.open_begin_; p < out.data_; ++p) *p = canary(p);
  for (std::byte* p = out.data_ + size_bytes; p < out.open_end_; ++p) *p = canary(p);
  out.fill_poison();
  return out;
}

void GuardedBuffer::fill_poison() const {
  if (size_bytes_ != 0) std::memset(data_, 0xff, size_bytes_);
}

Status GuardedBuffer::check() const {
  // The byte nearest to the data is what a stray store most likely hit; it names the distance.
  for (const std::byte* p = data_; p > open_begin_;) {
    --p;
    if (*p != canary(p)) {
      return make_error(Code::kInternal,
                        text_of("a store ", data_ - p, " bytes before a buffer of ", size_bytes_, " bytes"));
    }
  }
  for (const std::byte* p = data_ + size_bytes_; p < open_end_; ++p) {
    if (*p != canary(p)) {
      return make_error(Code::kInternal, text_of("a store ", p - (data_ + size_bytes_),
                                                 " bytes past a buffer of ", size_bytes_, " bytes"));
    }
  }
  return {};
}

}  // namespace frit::base
