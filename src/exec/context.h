// ExecContext: what one run of an ExecPlan changes: its arena, its pointer table, and memory for what the
// caller's does not fit. ContextPool: the bounded set of them that the threads of a session share.
//
// A context serves one run at a time; the plan is shared. Everything is allocated here, so that runs allocate
// nothing. It must not know how kernels are launched (executor.h).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/memory.h"
#include "exec/exec_plan.h"
#include "exec/launch.h"

namespace frit::exec {

class ExecContext {
 public:
  static Result<std::unique_ptr<ExecContext>> make(std::shared_ptr<const ExecPlan> plan);

  const ExecPlan& plan() const { return *plan_; }
  // After a run: where output k is, the caller's memory where that was given, else memory of this context
  // that is valid until its next run.
  const std::byte* output(size_t k) const { return results_[k]; }
  int64_t size_bytes() const;

 private:
  friend class Executor;

  // The caller's pointer for an input or output, and where the kernels find it.
  struct Binding {
    const std::byte* caller = nullptr;
    std::byte* bound = nullptr;  // caller's, or staging
    bool known = false;          // both, and the pointer table, are as the last run left them
    base::AlignedBuffer staging;
  };

  std::shared_ptr<const ExecPlan> plan_;
  base::AlignedBuffer arena_;
  std::vector<void*> table_;
  std::vector<WorkerState> workers_;
  std::vector<Binding> inputs_, outputs_;
  bool checked_ = false;  // that the bound memory does not overlap
  std::vector<const std::byte*> results_;
};

// All members may be called from several threads at once. Contexts that are lent out keep the plan, not the
// pool, alive: give them back before the pool goes.
class ContextPool {
 public:
  // At most `most` runs at a time.
  ContextPool(std::shared_ptr<const ExecPlan> plan, int most)
      : plan_(std::move(plan)), most_(most < 1 ? 1 : most) {}

  class Lease {
   public:
    Lease(Lease&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), context_(std::move(other.context_)) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    ExecContext& operator*() const { return *context_; }
    ExecContext* operator->() const { return context_.get(); }

   private:
    friend class ContextPool;
    Lease(ContextPool* pool, std::unique_ptr<ExecContext> context)
        : pool_(pool), context_(std::move(context)) {}
    ContextPool* pool_;
    std::unique_ptr<ExecContext> context_;
  };

  // The context that was used last among the free ones, else a new one, else waits for one. Errors:
  // kCancelled, kOutOfMemory.
  Result<Lease> acquire(const StopToken& stop = {});
  // Makes sure that one context is there, so that the first run allocates nothing.
  Status warm();
  // Frees the contexts that are not in use.
  void trim();
  int64_t size_bytes() const;  // of all contexts
  const std::shared_ptr<const ExecPlan>& plan() const { return plan_; }

 private:
  void give_back(std::unique_ptr<ExecContext> context);

  const std::shared_ptr<const ExecPlan> plan_;
  const int most_;
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<ExecContext>> free_;  // capacity most_: giving back allocates nothing
  int made_ = 0;
  int64_t size_bytes_ = 0;
};

}  // namespace frit::exec
