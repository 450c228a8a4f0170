// GuardedIo: memory for a kernel's inputs and outputs in which a stray access shows.
//
// Outputs are poisoned (NaN in every float type, -1 in every integer) and fenced by canaries, inputs are
// fenced by NaN, so that what is not written, written outside or read outside ends as a wrong answer. kRoomy
// keeps a page of canaries on both sides: a stray store is found and harms nothing. kFront and kEnd put a
// page without access there, so that any stray access is a fault: only for processes that may die of it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/memory.h"
#include "exec/exec_plan.h"
#include "frit/result.h"
#include "graph/tensor.h"

namespace frit::tuner {

enum class Fence { kRoomy, kFront, kEnd };

class GuardedIo {
 public:
  // inputs: as they lie in memory, copied. Sizes and alignment classes are the plan's.
  static Result<GuardedIo> make(const exec::ExecPlan& plan, const std::vector<graph::HostTensor>& inputs,
                                Fence fence);

  const std::vector<const void*>& inputs() const { return inputs_; }
  const std::vector<void*>& outputs() const { return outputs_; }

  void poison_outputs();
  // After a check that failed: fences and inputs as they were, so that the next one is not blamed.
  void restore();
  // kInternal where something outside of an output was written, or an input.
  Status check() const;

 private:
  struct Area {
    base::GuardedBuffer buffer;
    std::byte* data = nullptr;
    size_t size_bytes = 0;
  };
  static Result<Area> make_area(size_t size_bytes, size_t alignment, Fence fence, uint8_t fill);
  static void fill_fence(const Area& area, uint8_t fill);
  static Status check_fence(const Area& area, uint8_t fill, const char* what, size_t number);

  std::vector<Area> in_, out_;
  std::vector<graph::HostTensor> contents_;  // of the inputs: they must stay as they are
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
};

}  // namespace frit::tuner
