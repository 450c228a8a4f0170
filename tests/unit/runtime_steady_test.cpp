// In steady state a run allocates nothing: counted by replacing the allocator of this program.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include "support/session_testing.h"

namespace {

std::atomic<int64_t> allocations{0};

void* counted(size_t size, size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* p = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment + alignment);
  if (!p) throw std::bad_alloc();
  return p;
}

}  // namespace

void* operator new(size_t size) { return counted(size, 16); }
void* operator new[](size_t size) { return counted(size, 16); }
void* operator new(size_t size, std::align_val_t a) { return counted(size, static_cast<size_t>(a)); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return counted(size, 16); }
void* operator new(size_t size, std::align_val_t a, const std::nothrow_t&) noexcept {
  return counted(size, static_cast<size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }

namespace frit::testing {
namespace {

TEST(SteadyTest, RunsAllocateNothing) {
  auto model = Model::from_graph(small_net(), model_options());
  for (const int threads : {1, 2}) {
    auto session = Session::create(*model, {.threads = threads});
    const Tensor x = random_tensor({64, 24}, 3);
    Tensor y = Tensor::allocate(DType::kF32, {64, 10}).value_or_throw(),
           s = Tensor::allocate(DType::kF32, {64, 1}).value_or_throw();
    std::vector<float> columns(640);
    TensorView strided = TensorView::of(columns.data(), {64, 10});
    strided.strides = {1, 64};
    const TensorView in[] = {x.view()}, out[] = {y.view(), s.view()}, out_strided[] = {strided, s.view()};
    for (int k = 0; k < 3; ++k) {
      ASSERT_TRUE(session->run(in, out).ok());
      ASSERT_TRUE(session->run(in, out_strided).ok());
    }
    const int64_t before = allocations;
    EXPECT_GT(before, 0);
    bool ok = true;
    for (int k = 0; k < 200; ++k) ok = ok && session->run(in, out).ok() && session->run(in, out_strided).ok();
    const int64_t after = allocations;
    EXPECT_TRUE(ok);
    EXPECT_EQ(after - before, 0) << threads << " threads";
  }
}

}  // namespace
}  // namespace frit::testing
