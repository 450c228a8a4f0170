// HostOp: a group without a kernel family, run by the evaluator on the plan's own buffers.
//
// For irregular operators (NonMaxSuppression, Unique, LSTM for now). Costs what the evaluator costs,
// allocations included; `counters.host_kernels` tells how many there are. It must not know kernels or where
// buffers come from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "fusion/plan.h"
#include "graph/tensor.h"

namespace frit::exec {

// Const methods are safe to call concurrently.
class HostOp {
 public:
  // Errors: kInternal when a value of the group is not row-major or has no constant shape.
  static Result<HostOp> make(const fusion::PlanGroup& group);

  size_t inputs() const { return inputs_.size(); }
  size_t outputs() const { return outputs_.size(); }

  // buffers: the inputs, then the outputs, row-major, of any alignment. Workers may be null.
  Status run(void* const* buffers, base::PoolLease* workers) const;

 private:
  struct Type {
    DType dtype = DType::kF32;
    graph::Extents shape;
  };
  static Result<Type> type_of(const graph::Value& value);

  std::shared_ptr<const graph::Graph> graph_;
  std::vector<Type> inputs_, outputs_;
};

}  // namespace frit::exec
