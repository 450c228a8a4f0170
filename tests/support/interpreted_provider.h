// Kernels that are the LoopFn interpreter: everything above the compiler runs without one, and a test may
// spoil what a kernel does.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/try.h"
#include "loop/interp.h"
#include "support/exec_fakes.h"

namespace frit::testing {

class InterpretedProvider final : public exec::KernelProvider {
 public:
  // Called after each launch of a function, once for all of its tiles or for a part of them.
  std::function<void(const loop::LoopFn&, const device::KernelArgs&)> after;

  Result<std::shared_ptr<const device::Kernel>> kernel(const loop::LoopFn& fn) override {
    FRIT_ASSIGN(loop::Interpreter made, loop::Interpreter::make(fn));
    auto interpreter = std::make_shared<const loop::Interpreter>(std::move(made));
    ++kernels_;
    std::vector<int64_t> bytes;
    for (int32_t k = 0; k < fn.arg_count; ++k) {
      const loop::Buffer& buffer = fn.buffers[static_cast<size_t>(k)];
      bytes.push_back(elements_of(buffer) * static_cast<int64_t>(dtype_bytes(buffer.dtype)));
    }
    KernelBody body = [this, fn, interpreter, bytes](const device::KernelArgs& args) -> int32_t {
      std::vector<loop::InterpBuffer> buffers;
      for (size_t k = 0; k < bytes.size(); ++k) buffers.push_back({args.buffers[k], bytes[k]});
      const std::span<const int64_t> sizes(args.sizes, static_cast<size_t>(fn.size_count));
      loop::InterpOptions options;
      options.allow_uninitialised = true;
      const auto failure = interpreter->run(buffers, sizes, args.first_tile, args.last_tile, options);
      if (!failure.ok()) return static_cast<int32_t>(device::KernelStatus::kBadValue);
      if (failure->code != 0) return static_cast<int32_t>(failure->code);
      if (after) after(fn, args);
      return 0;
    };
    return device::Kernel::from_function(Trampolines::install(std::move(body)), "frit_" + fn.family,
                                         exec::kernel_shape(fn));
  }
  exec::KernelCounters counters() const override { return {kernels_, 0}; }

 private:
  int64_t kernels_ = 0;
};

}  // namespace frit::testing
