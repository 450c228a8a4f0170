// Aligned and guarded memory. A touch of a guard page is tried in a child process.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "base/memory.h"

namespace frit::base {
namespace {

const auto kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));

bool is_aligned(const void* p, size_t alignment) { return reinterpret_cast<uintptr_t>(p) % alignment == 0; }

bool faults(const std::function<void()>& touch) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, [](int) { _exit(42); });
    touch();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 42;
}

TEST(AlignedBuffer, SizesAndAlignments) {
  for (const size_t size : {size_t{1}, size_t{63}, size_t{4096}, size_t{4097}, 3 * kHugePageBytes + 1}) {
    for (const size_t alignment : {size_t{1}, size_t{64}, size_t{4096}, kHugePageBytes}) {
      for (const bool huge : {false, true}) {
        Result<AlignedBuffer> buffer = AlignedBuffer::make(size, {alignment, huge});
        ASSERT_TRUE(buffer.ok()) << size << " " << alignment;
        EXPECT_EQ(buffer->size_bytes(), size);
        EXPECT_TRUE(is_aligned(buffer->data(), alignment));
        const size_t at_least = huge && size >= kHugePageBytes ? kHugePageBytes : alignment;
        EXPECT_TRUE(is_aligned(buffer->data(), at_least));
        EXPECT_EQ(buffer->data()[0], std::byte{0});
        EXPECT_EQ(buffer->data()[size - 1], std::byte{0});
        std::memset(buffer->data(), 1, size);
      }
    }
  }
}

TEST(AlignedBuffer, EmptyMovedAndRefused) {
  Result<AlignedBuffer> empty = AlignedBuffer::make(0);
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty->bytes().empty());
  AlignedBuffer a = *AlignedBuffer::make(100);
  a.as<int>()[24] = 7;
  AlignedBuffer b = std::move(a);
  EXPECT_EQ(b.as<int>()[24], 7);
  EXPECT_EQ(a.size_bytes(), 0u);  // NOLINT: moved from on purpose
  b = AlignedBuffer();
  EXPECT_EQ(b.data(), nullptr);
  for (const size_t alignment : {size_t{0}, size_t{3}, size_t{96}}) {
    const Result<AlignedBuffer> odd = AlignedBuffer::make(8, {alignment, false});
    ASSERT_FALSE(odd.ok());
    EXPECT_EQ(odd.error().code, Code::kInvalidArgument);
  }
  for (const size_t size : {SIZE_MAX, SIZE_MAX - 4096, SIZE_MAX / 2}) {
    const Result<AlignedBuffer> big = AlignedBuffer::make(size, {kHugePageBytes, true});
    ASSERT_FALSE(big.ok());
    EXPECT_EQ(big.error().code, Code::kOutOfMemory);
  }
}

TEST(GuardedBuffer, AgainstThePageAtBothSides) {
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{4}, size_t{60}, size_t{4096}, size_t{4099}, size_t{12292}}) {
    for (const size_t alignment :
         {size_t{1}, size_t{4}, size_t{64}, size_t{4096}, size_t{8192}, kHugePageBytes}) {
      for (const GuardSide side : {GuardSide::kFront, GuardSide::kEnd}) {
        SCOPED_TRACE(::testing::Message()
                     << size << " bytes, alignment " << alignment << ", side " << int(side));
        Result<GuardedBuffer> buffer = GuardedBuffer::make(size, alignment, side);
        ASSERT_TRUE(buffer.ok());
        std::byte* data = buffer->data();
        EXPECT_TRUE(is_aligned(data, alignment));
        for (const std::byte b : buffer->bytes()) ASSERT_EQ(b, std::byte{0xff});
        std::memset(data, 0x5a, size);
        EXPECT_TRUE(buffer->check().ok());
        buffer->fill_poison();
        EXPECT_TRUE(buffer->check().ok());
      }
    }
  }
}

TEST(GuardedBuffer, AsNearAsTheAlignmentAllows) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{60}, size_t{4096}, size_t{4099}}) {
    for (const size_t alignment : {size_t{1}, size_t{4}, size_t{64}, size_t{8192}}) {
      SCOPED_TRACE(::testing::Message() << size << " bytes, alignment " << alignment);
      const GuardedBuffer front = *GuardedBuffer::make(size, alignment, GuardSide::kFront);
      EXPECT_TRUE(faults([&] { *const_cast<volatile std::byte*>(front.data() - 1) = std::byte{0}; }));
      EXPECT_EQ(faults([&] { *const_cast<volatile std::byte*>(front.data()) = std::byte{0}; }), size == 0);

      const GuardedBuffer end = *GuardedBuffer::make(size, alignment, GuardSide::kEnd);
      const size_t gap =
          (std::min(alignment, kPage) - size % std::min(alignment, kPage)) % std::min(alignment, kPage);
      EXPECT_TRUE(faults([&] { *const_cast<volatile std::byte*>(end.data() + size + gap) = std::byte{0}; }));
      EXPECT_EQ(faults([&] { *const_cast<volatile std::byte*>(end.data() + size - 1) = std::byte{0}; }),
                size == 0);
      // A read past the end faults too.
      EXPECT_TRUE(faults([&] { (void)*const_cast<volatile std::byte*>(end.data() + size + gap); }));
    }
  }
}

TEST(GuardedBuffer, CanariesSayWhere) {
  const GuardedBuffer end = *GuardedBuffer::make(100, 64, GuardSide::kEnd);
  for (const ptrdiff_t at : {ptrdiff_t{100}, ptrdiff_t{127}, ptrdiff_t{-1}, ptrdiff_t{-64}}) {
    const std::byte kept = end.data()[at];
    end.data()[at] = kept ^ std::byte{0x10};
    const Status status = end.check();
    ASSERT_FALSE(status.ok()) << at;
    EXPECT_EQ(status.error().code, Code::kInternal);
    const std::string expected =
        at < 0 ? std::to_string(-at) + " bytes before" : std::to_string(at - 100) + " bytes past";
    EXPECT_NE(status.error().message.find(expected), std::string::npos) << status.error().message;
    end.data()[at] = kept;
    EXPECT_TRUE(end.check().ok());
  }
  // A memset that runs over cannot hit all canaries by luck, whatever its byte.
  for (int value = 0; value < 256; ++value) {
    GuardedBuffer front = *GuardedBuffer::make(10, 1, GuardSide::kFront);
    std::memset(front.data(), value, 12);
    EXPECT_FALSE(front.check().ok()) << value;
  }
}

TEST(GuardedBuffer, RefusesNonsense) {
  EXPECT_EQ(GuardedBuffer::make(8, 3, GuardSide::kEnd).error().code, Code::kInvalidArgument);
  EXPECT_EQ(GuardedBuffer::make(SIZE_MAX - 10, 64, GuardSide::kEnd).error().code, Code::kOutOfMemory);
  EXPECT_EQ(GuardedBuffer::make(SIZE_MAX / 2, 64, GuardSide::kFront).error().code, Code::kOutOfMemory);
}

}  // namespace
}  // namespace frit::base
