// What CUDA gives a kernel, as ordinary C++: the text that codegen/cuda emits is compiled behind this and
// runs one thread of a block at a time, each as a fiber that hands over at a barrier. Included by generated
// code only (cuda_host_test.cpp); it knows no more of frit than the prelude asks for.
#pragma once

#include <ucontext.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#define __device__
#define __global__
#define __shared__
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define FRIT_WIDEN_F16(r, b) ((r) = static_cast<float>(std::bit_cast<_Float16>(b)))
#define FRIT_NARROW_F16(b, x) ((b) = std::bit_cast<unsigned short>(static_cast<_Float16>(x)))

struct Place {
  unsigned x = 0, y = 0, z = 0;
};
inline Place blockIdx, threadIdx;

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  Place place;
  bool done = false;
};
inline ucontext_t scheduler;
inline Fiber* current = nullptr;

inline void __syncthreads() { swapcontext(&current->context, &scheduler); }

inline unsigned long long atomicCAS(unsigned long long* at, unsigned long long expected,
                                    unsigned long long wanted) {
  const unsigned long long old = *at;
  if (old == expected) *at = wanted;
  return old;
}
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __double2float_rz(double x) {
  const float f = static_cast<float>(x);
  return std::fabs(static_cast<double>(f)) > std::fabs(x) ? std::nextafter(f, 0.0f) : f;
}

constexpr size_t kStackBytes = 64 * 1024;
constexpr size_t kSharedBytes = 256 * 1024;
extern unsigned char shared[kSharedBytes] __attribute__((aligned(128)));

// The kernel that the fibers run: set before they start.
struct Kernel {
  virtual ~Kernel() = default;
  virtual void run() = 0;
};
inline Kernel* kernel = nullptr;

inline void run_fiber() {
  kernel->run();
  current->done = true;
  swapcontext(&current->context, &scheduler);
}

// reverse: threads run last to first. A kernel may not depend on it.
inline void launch(Kernel& what, const long long* grid, const long long* block, long long shared_bytes,
                   bool reverse) {
  kernel = &what;
  std::vector<Fiber> fibers(static_cast<size_t>(block[0] * block[1] * block[2]));
  for (Fiber& f : fibers) f.stack.reset(new char[kStackBytes]);
  for (long long b = 0; b < grid[0] * grid[1] * grid[2]; ++b) {
    blockIdx = {static_cast<unsigned>(b % grid[0]), static_cast<unsigned>(b / grid[0] % grid[1]),
                static_cast<unsigned>(b / grid[0] / grid[1])};
    std::memset(shared, 0xff, static_cast<size_t>(shared_bytes));
    for (size_t t = 0; t < fibers.size(); ++t) {
      Fiber& f = fibers[t];
      const auto i = static_cast<long long>(t);
      f.place = {static_cast<unsigned>(i % block[0]), static_cast<unsigned>(i / block[0] % block[1]),
                 static_cast<unsigned>(i / block[0] / block[1])};
      f.done = false;
      getcontext(&f.context);
      f.context.uc_stack.ss_sp = f.stack.get();
      f.context.uc_stack.ss_size = kStackBytes;
      f.context.uc_link = nullptr;
      makecontext(&f.context, run_fiber, 0);
    }
    for (size_t running = fibers.size(); running > 0;) {
      for (size_t k = 0; k < fibers.size(); ++k) {
        Fiber& f = fibers[reverse ? fibers.size() - 1 - k : k];
        if (f.done) continue;
        current = &f;
        threadIdx = f.place;
        swapcontext(&scheduler, &f.context);
        running -= f.done;
      }
    }
  }
}
