// frit-worker: compiles, times and checks variants for a tuner that must not die of them. Started by the
// tuner only.
#include <cstdio>

#include "base/seams.h"
#include "exec/compile.h"
#include "tuner/worker/bench_server.h"
#include "tuner/worker/guard.h"

namespace {

// --codegen=PATH: of libfrit-codegen, as the tuner found it.
std::string option(int argc, char** argv, std::string_view name) {
  for (int k = 1; k < argc; ++k)
    if (std::string_view(argv[k]).starts_with(name)) return argv[k] + name.size();
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (!frit::tuner::worker::enter(argc, argv)) {
    std::fputs("frit-worker is started by frit; there is nothing to do for it here\n", stderr);
    return 2;
  }
  frit::base::SystemClock clock;
  const std::string codegen = option(argc, argv, "--codegen=");
  frit::tuner::worker::BenchServer server(
      [&](const frit::device::Target& target) -> frit::Result<std::unique_ptr<frit::exec::KernelProvider>> {
        frit::exec::CodegenProvider::Options options;
        options.target = target;
        options.open_library = [codegen] {
          frit::base::SystemEnvironment environment;
          return frit::device::CodegenLibrary::open(codegen, environment);
        };
        auto made = frit::exec::CodegenProvider::make(std::move(options));
        if (!made.ok()) return std::move(made).error();
        return std::unique_ptr<frit::exec::KernelProvider>(*std::move(made));
      },
      clock);
  frit::tuner::worker::serve([&](std::string_view request) { return server.answer(request); });
  return 0;
}
