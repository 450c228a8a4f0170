// A worker whose compiler is the interpreter, and a part of whose kernels misbehave, each in its own way: for
// isolation_test.cpp.
#include <signal.h>

#include <cstdlib>
#include <cstring>

#include "base/hash.h"
#include "loop/text.h"
#include "support/interpreted_provider.h"
#include "tuner/worker/bench_server.h"
#include "tuner/worker/guard.h"

namespace {

using frit::testing::InterpretedProvider;

void misbehave(const frit::loop::LoopFn& fn, const frit::device::KernelArgs& args) {
  volatile int zero = 0;
  const int64_t n = frit::testing::elements_of(fn.buffers[static_cast<size_t>(fn.arg_count - 1)]);
  float* out = static_cast<float*>(args.buffers[fn.arg_count - 1]);
  switch (frit::base::hash128(frit::loop::print(fn)).lo % 12) {
    case 0:
      *reinterpret_cast<volatile int*>(zero + 8l) = 1;
      break;
    case 1:
      __builtin_trap();
    case 2:
      while (zero == 0) {
      }
      break;
    case 3:
      raise(SIGSTOP);
      break;
    case 4:
      out[n - 1] += 0.01f;
      break;
    case 5:
      out[n] = 0;
      break;
    case 6:
    case 8: {
      std::vector<std::string> bombs;
      for (;;) bombs.emplace_back(16 << 20, 'x');
    }
    case 7:
      std::fputs("LLVM ERROR: Cannot select: something\n", stderr);
      std::abort();
    default:
      break;
  }
}

}  // namespace

extern "C" const char* __asan_default_options() { return "handle_segv=0:handle_abort=0:handle_sigill=0"; }
extern "C" const char* __tsan_default_options() { return "handle_segv=0:handle_abort=0:handle_sigill=0"; }

int main(int argc, char** argv) {
  if (!frit::tuner::worker::enter(argc, argv)) return 2;
  frit::base::SystemClock clock;
  frit::tuner::worker::BenchServer server(
      [](const frit::device::Target&) -> frit::Result<std::unique_ptr<frit::exec::KernelProvider>> {
        auto provider = std::make_unique<InterpretedProvider>();
        provider->after = misbehave;
        return std::unique_ptr<frit::exec::KernelProvider>(std::move(provider));
      },
      clock);
  frit::tuner::worker::serve([&](std::string_view request) { return server.answer(request); });
  return 0;
}
