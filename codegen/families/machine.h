// The numbers that the cost models of all families share. They rank choices and weigh fusions before anything is
// measured; they are typical figures per feature set, never those of one machine, and never enter a key.
#pragma once

#include <algorithm>

#include "device/target.h"

namespace frit::codegen {

struct Machine {
  double flops = 0;             // fp32 multiply-adds, counted twice, on all threads
  double bytes_per_second = 0;  // to and from memory beyond L2
  double dispatch_seconds = 0;  // one more kernel: dispatch, and a barrier with several threads
};

inline Machine machine_of(const device::Target& target, int threads) {
  if (target.is_gpu()) return {target.gpu().flops, target.gpu().bytes_per_second, target.gpu().launch_seconds};
  const double t = std::max(1, threads);
  const double lanes = target.vector_bytes() / 4.0;
  Machine m;
  m.flops = t * 3.0e9 * lanes * 2 * 2;
  m.bytes_per_second = 16e9 * (1 + 0.5 * (t - 1));
  m.dispatch_seconds = threads > 1 ? 1.5e-6 : 0.3e-6;
  return m;
}

}  // namespace frit::codegen
