// CodegenProvider: the KernelProvider of a real process: memory, then the object cache, then the compiler.
//
// A kernel is made once per process for as long as anybody holds it, however many plans, threads and equal
// groups ask. No lock is held across a compile or a load. libfrit-codegen is opened at the first compile,
// never before.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/log.h"
#include "base/trace.h"
#include "device/codegen_library.h"
#include "device/object_loader.h"
#include "device/target.h"
#include "exec/kernel_source.h"

namespace frit::exec {

class CodegenProvider final : public KernelProvider {
 public:
  struct Options {
    device::Target target;
    // Opens the compiler; asked at the first compile, again only if it failed. Empty: there is no compiler.
    std::function<Result<std::shared_ptr<const device::CodegenLibrary>>()> open_library;
    ObjectCache* cache = nullptr;  // outlives the provider; null: none
    device::LoaderOptions loader;
    base::Logger log;
    base::TraceRecorder* trace = nullptr;  // outlives the provider; null: none
  };
  static Result<std::unique_ptr<CodegenProvider>> make(Options options);

  Result<std::shared_ptr<const device::Kernel>> kernel(const loop::LoopFn& fn) override;
  KernelCounters counters() const override;

 private:
  // One per key that was ever asked for and not swept: made by one thread while the others wait.
  struct Slot {
    bool busy = false;
    std::weak_ptr<const device::Kernel> kernel;
  };

  CodegenProvider(Options options, device::ObjectLoader loader)
      : options_(std::move(options)), loader_(std::move(loader)) {}

  Result<std::shared_ptr<const device::Kernel>> make_kernel(const loop::LoopFn& fn, const std::string& text,
                                                            base::Hash128 key);
  Result<std::shared_ptr<const device::Kernel>> load(const loop::LoopFn& fn, const std::string& object);
  Result<std::shared_ptr<const device::CodegenLibrary>> library();
  void sweep();  // under mutex_

  const Options options_;
  const device::ObjectLoader loader_;
  mutable std::mutex mutex_;
  std::condition_variable made_;
  std::unordered_map<base::Hash128, Slot> slots_;  // never iterated where the order could show
  size_t sweep_at_ = 256;
  KernelCounters counters_;
  std::mutex library_mutex_;  // held while libfrit-codegen is opened, which all who wait need too
  std::shared_ptr<const device::CodegenLibrary> library_;
};

}  // namespace frit::exec
