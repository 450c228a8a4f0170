// ExecPlan: a compiled plan made ready to run: a flat vector of launches, and where each of their pointers
// comes from.
//
// Immutable, shared by all sessions and threads that run the same shapes; what changes during a run is in an
// ExecContext. Built from a CompiledPlan (build.h), the memory plan and the Model's constants; executor.h
// runs it. It holds all that it needs: plan and programs may be dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exec/build.h"
#include "exec/constants.h"
#include "exec/host_ops.h"
#include "exec/memory_plan.h"
#include "exec/run_error.h"
#include "frit/numerics.h"

namespace frit::exec {

struct ExecOptions {
  int threads = 1;  // most workers of a run
  Numerics numerics = Numerics::kDefault;
  std::vector<bool> donated;           // per graph input: runs may overwrite the caller's memory
  bool physical_io = false;  // inputs and outputs are in their values' layouts: a group by itself, for measuring
  base::PoolLease* workers = nullptr;  // for packing; null: the calling thread alone
  StopToken stop;
  base::TraceRecorder* trace = nullptr;
};

// A launch of one phase. Several with disjoint workers make a step.
struct Dispatch {
  device::KernelEntry entry = nullptr;  // null: host op
  int32_t pointers = 0;                 // its first pointer in the context's table
  int32_t workers = 1;                  // most that it is split over
  int64_t tiles = 1, grain = 1;
  int32_t group = 0;  // of the plan, for names and timing
  int32_t host_op = -1;
};

struct Step {
  int32_t first = 0, count = 1;  // dispatches; more than one run side by side, a worker each
};

// Where an entry of the pointer table comes from.
struct PointerSource {
  StorageKind kind = StorageKind::kUnused;
  int32_t index = -1;                // caller's input or output
  int64_t offset = -1;               // in the arena
  const std::byte* fixed = nullptr;  // constants
};

// The caller's memory for one graph input or output.
struct BindingInfo {
  int64_t size_bytes = 0;
  int64_t align_bytes = 1;     // less aligned memory is staged
  bool staged = false;         // always, since a kernel reads past its end
  std::vector<int32_t> slots;  // entries of the pointer table that hold its address
};

class ExecPlan {
 public:
  static Result<std::shared_ptr<const ExecPlan>> make(const CompiledPlan& compiled, ConstantStore& constants,
                                                      const ExecOptions& options);

  int threads() const { return threads_; }
  bool flush_denormals() const { return flush_denormals_; }
  std::span<const Step> steps() const { return steps_; }
  std::span<const Dispatch> dispatches() const { return dispatches_; }
  std::span<const PointerSource> pointers() const { return pointers_; }
  std::span<const BindingInfo> inputs() const { return inputs_; }
  std::span<const BindingInfo> outputs() const { return outputs_; }
  const HostOp& host_op(int32_t number) const { return host_ops_[static_cast<size_t>(number)]; }

  struct Copy {
    int32_t output = 0;
    PointerSource from;
  };
  std::span<const Copy> copies() const { return copies_; }

  int64_t arena_bytes() const { return arena_bytes_; }
  int64_t worker_scratch_offset() const { return worker_scratch_offset_; }
  int64_t worker_scratch_bytes() const { return worker_scratch_bytes_; }

  // The group's name for traces and profiles, and the error that a kernel's words stand for.
  const std::string& label(int32_t group) const { return groups_[static_cast<size_t>(group)].label; }
  Error error_of(const Dispatch& dispatch, std::span<const int64_t, device::kErrorWords> words) const;

  // For counters and `explain`.
  int32_t kernels() const { return static_cast<int32_t>(dispatches_.size() - host_ops_.size()); }
  int32_t host_kernels() const { return static_cast<int32_t>(host_ops_.size()); }
  int32_t in_place() const { return in_place_; }
  int32_t load_launches() const { return constants_.launches; }
  int64_t original_constant_bytes() const { return constants_.original_bytes; }

 private:
  friend class ExecPlanBuilder;
  struct GroupInfo {
    std::string label;
    std::vector<ErrorSite> sites;
  };

  ExecPlan() = default;

  int threads_ = 1;
  bool flush_denormals_ = true;
  std::vector<Step> steps_;
  std::vector<Dispatch> dispatches_;
  std::vector<PointerSource> pointers_;
  std::vector<BindingInfo> inputs_, outputs_;
  std::vector<Copy> copies_;
  std::vector<HostOp> host_ops_;
  std::vector<GroupInfo> groups_;
  std::vector<std::shared_ptr<const device::Kernel>> kernels_;  // keep the code mapped
  PreparedConstants constants_;                                 // keeps the constants
  int64_t arena_bytes_ = 0, worker_scratch_offset_ = 0, worker_scratch_bytes_ = 0;
  int32_t in_place_ = 0;
};

}  // namespace frit::exec
