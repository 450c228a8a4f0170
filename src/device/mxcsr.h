// FlushDenormals: while it lives, this thread's float arithmetic treats denormals as zero; the setting that
// it found comes back at its end.
//
// exec opens one around a run, and pool threads around their part, unless the numerics policy is strict. It
// touches only the two flush bits (MXCSR's FTZ and DAZ, FPCR's FZ and FZ16): rounding mode, masks and sticky
// flags stay the caller's. Costs a few nanoseconds, and nothing but a read when the bits are right already.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace frit::device {

class FlushDenormals {
 public:
  // on = false asks for IEEE denormals instead (strict), whatever the caller had set.
  explicit FlushDenormals(bool on = true) : found_(read() & kBits) { set(on ? kBits : 0); }
  ~FlushDenormals() { set(found_); }
  // For the enter and leave hooks of pool threads, which cannot hold a scope.
  static void begin_on_thread() { set(kBits); }
  static void end_on_thread() { set(0); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr uint64_t kBits = 0x8040;  // FTZ: results; DAZ: operands
  static uint64_t read() { return _mm_getcsr(); }
  static void write(uint64_t value) { _mm_setcsr(static_cast<uint32_t>(value)); }
#elif defined(__aarch64__)
  static constexpr uint64_t kBits = (uint64_t{1} << 24) | (uint64_t{1} << 19);  // FZ, FZ16
  static uint64_t read() {
    uint64_t value = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void write(uint64_t value) { __asm__ volatile("msr fpcr, %0" : : "r"(value) : "memory"); }
#else
#error "frit knows x86-64 and AArch64"
#endif
  static void set(uint64_t bits) {
    const uint64_t now = read();
    if ((now & kBits) != bits) write((now & ~kBits) | bits);
  }

  const uint64_t found_;
};

}  // namespace frit::device
