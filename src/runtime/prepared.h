// Prepared: one set of input shapes of a session, ready to run; and how it is made.
//
// prepare() is the whole way from a model's graph to launchable kernels; run() binds the caller's views,
// takes free workers and goes. Runs may happen on several threads at once. It must not know how sessions find
// it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/memory.h"
#include "base/seams.h"
#include "base/thread_pool.h"
#include "base/trace.h"
#include "exec/context.h"
#include "exec/exec_plan.h"
#include "frit/stats.h"
#include "frit/tensor.h"
#include "runtime/model_impl.h"
#include "runtime/setup.h"
#include "runtime/shapes.h"

namespace frit::runtime {

class Prepared {
 public:
  // Looks at `stop` between steps. Errors: see Session::prepare.
  static Result<std::shared_ptr<Prepared>> make(const Model::Impl& model, const Setup& setup,
                                                InputShapes shapes, const StopToken& stop);

  // For profiles: what to note down of a run. It costs two readings of the clock per kernel, and spans
  // allocate.
  struct Observe {
    std::span<int64_t> kernel_ns;          // per dispatch of the plan, added to; empty: off
    base::TraceRecorder* trace = nullptr;  // a span per kernel; null: off
  };
  // The views have the right count, types and shapes (check_inputs, check_outputs).
  Status run(const base::ThreadPool& pool, std::span<const TensorView> inputs,
             std::span<const TensorView> outputs, const StopToken& stop, const Observe& observe);

  const InputShapes& inputs() const { return inputs_; }
  const std::vector<std::vector<int64_t>>& outputs() const { return outputs_; }
  bool matches(std::span<const TensorView> inputs) const;

  const exec::ExecPlan& plan() const { return *contexts_.plan(); }
  const std::vector<GroupInfo>& groups() const { return groups_; }
  int64_t arena_bytes() const { return contexts_.size_bytes(); }
  double prepare_ms() const { return prepare_ms_; }
  int64_t trials() const { return trials_; }
  void trim();

  std::atomic<int64_t> last_use{0};  // the session's

 private:
  // Per context: pointers for the executor, and row-major memory for views that are not.
  struct Slot {
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    std::vector<base::AlignedBuffer> staged_inputs, staged_outputs;
  };
  class SlotLease;

  Prepared(std::shared_ptr<const exec::ExecPlan> plan, int contexts, base::Clock* clock);
  std::unique_ptr<Slot> make_slot() const;

  exec::ContextPool contexts_;
  base::Clock* const clock_;  // the runtime's
  std::mutex slots_mutex_;
  std::vector<std::unique_ptr<Slot>> slots_;  // free ones; room for as many as there are contexts
  InputShapes inputs_;
  std::vector<std::vector<int64_t>> outputs_;
  std::vector<GroupInfo> groups_;
  double prepare_ms_ = 0;
  int64_t trials_ = 0;
};

}  // namespace frit::runtime
