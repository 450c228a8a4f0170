// cpu_relax: the pause of a spin loop. Part of the thread pool's hand-off.
#pragma once

namespace frit::base {

inline void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::
                   : "memory");  // `yield` is a no-op on most cores; isb waits about as long as x86's pause
#endif
}

}  // namespace frit::base
