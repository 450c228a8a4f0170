// Runtime: what one Model holds of the machine: seams, log, target, cache, compiler, threads.
//
// Made from ModelOptions, passed down by reference; nothing in src/runtime reaches the system otherwise. It
// must not know graphs or plans. All const members, and what they give out, may be used from several threads
// at once.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "base/cpu_count.h"
#include "base/log.h"
#include "base/thread_pool.h"
#include "base/trace.h"
#include "device/codegen_library.h"
#include "device/target.h"
#include "exec/compile.h"
#include "frit/options.h"
#include "frit/result.h"
#include "runtime/headers.h"
#include "runtime/object_cache.h"
#include "runtime/seams.h"
#include "tuner/place.h"
#include "tuner/store.h"

namespace frit::runtime {

class Runtime {
 public:
  // seams outlive the Runtime. The target need
  // not be able to run here. Errors: kInvalidArgument (target, other headers), kOutOfMemory.
  static Result<std::shared_ptr<Runtime>> make(const ModelOptions& options, const Seams& seams,
                                               base::TraceRecorder* trace = nullptr);
  // With the system's seams.
  static Result<std::shared_ptr<Runtime>> make(const ModelOptions& options,
                                               base::TraceRecorder* trace = nullptr);
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  const Seams& seams() const { return seams_; }
  const base::Logger& log() const { return log_; }
  base::TraceRecorder* trace() const { return trace_; }
  const Owner& owner() const { return owner_; }
  const device::Target& target() const { return target_; }
  const tuner::TargetParts& target_parts() const { return target_parts_; }
  const tuner::Provenance& provenance() const { return provenance_; }
  const base::CpuCounts& cpus() const { return cpus_; }

  tuner::Store* store() const { return store_.get(); }  // null: the cache is off
  const tuner::Place& place() const { return place_; }
  exec::CodegenProvider& provider() const { return *provider_; }
  bool compiler_open() const { return compiler_open_.load(std::memory_order_relaxed); }
  // The compiler, opened if need be. Errors: kNotFound.
  Result<std::shared_ptr<const device::CodegenLibrary>> compiler();

  // Workers to build with, the caller among them; starts threads if need be.
  Result<base::PoolLease> build_workers();
  const base::ThreadPool& pool() const { return pool_; }

 private:
  explicit Runtime(const Seams& seams) : seams_(seams) {}

  const Seams seams_;
  std::shared_ptr<SystemSeams> system_;  // where seams_ point to, if they are the system's
  Owner owner_;
  base::Logger log_;
  base::TraceRecorder* trace_ = nullptr;
  device::Target target_;
  tuner::TargetParts target_parts_;
  tuner::Provenance provenance_;
  base::CpuCounts cpus_;
  tuner::Place place_;
  std::unique_ptr<tuner::Store> store_;
  std::string codegen_option_;
  bool compile_ = true;
  int build_threads_ = 1;
  std::atomic<bool> compiler_open_{false};
  std::mutex compiler_mutex_;  // held while libfrit-codegen is opened, which all who wait need too
  std::shared_ptr<const device::CodegenLibrary> compiler_;
  std::unique_ptr<StoreObjectCache> objects_;
  std::mutex reserve_mutex_;
  base::ThreadPool pool_;
  std::unique_ptr<exec::CodegenProvider> provider_;
};

}  // namespace frit::runtime
