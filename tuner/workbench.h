// Workbench: one group made runnable by itself, with random data in place of its neighbours, for measuring and checking
// choices. Everything goes through exec's own plan and executor, so that what is measured is what is served.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/seams.h"
#include "base/thread_pool.h"
#include "codegen/families/family.h"
#include "exec/context.h"
#include "exec/kernel_source.h"
#include "frit/result.h"
#include "fusion/plan.h"
#include "graph/tensor.h"

namespace frit::tuner {

// A choice, compiled and with memory of its own.
struct Candidate {
  codegen::Params params;
  std::unique_ptr<exec::ExecContext> context;
  std::vector<double> samples_ns;  // all that were taken, in order
  double median_ns() const;
  double spread_ns() const;        // median absolute deviation
};

class Workbench {
 public:
  struct Options {
    codegen::BuildContext build;
    exec::KernelProvider* provider = nullptr;
    base::Clock* clock = nullptr;
    base::PoolLease* workers = nullptr;  // null: one thread
    bool cold_weights = false;           // in the model, weights come from memory: they are evicted before each sample
    uint64_t seed = 1;
  };
  static Result<std::unique_ptr<Workbench>> make(const fusion::PlanGroup& group, Options options);

  // Builds and compiles; the Program is the family's for these params. Errors say why the choice cannot be used.
  Result<std::unique_ptr<Candidate>> prepare(const codegen::Params& params);
  // One sample: a run, or a batch of runs where one is too short for the clock.
  Status sample(Candidate& candidate);
  // Runs with poisoned outputs and compares with the reference: the evaluator where that is quick, else the same family
  // with its smallest strict tile. Error kInternal says where they differ.
  Status verify(Candidate& candidate);
  // Frees what was packed for candidates that are gone.
  void trim() { constants_->trim(); }
  const codegen::Space& space() const { return space_; }
  const codegen::Family& family() const { return *family_; }
  const codegen::Group& group() const { return plan_->groups[0].group; }

 private:
  Workbench() = default;
  Status run(Candidate& candidate);
  Status make_reference();
  void evict() const;
  Result<std::shared_ptr<const exec::ExecPlan>> plan_for(const codegen::Params& params, Numerics numerics);

  Options options_;
  std::shared_ptr<const fusion::Plan> plan_;
  const codegen::Family* family_ = nullptr;
  codegen::Space space_;
  std::unique_ptr<exec::ConstantStore> constants_;
  std::vector<graph::HostTensor> inputs_, outputs_, reference_;
  bool has_reference_ = false;
  int64_t batch_ = 1;
};

}  // namespace frit::tuner
