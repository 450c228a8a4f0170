// Workbench: the bench of this process: one group made runnable by itself, with random data in place of its
// neighbours, for measuring and checking choices. Everything goes through exec's own plan and executor, so
// that what is measured is what is served.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/seams.h"
#include "base/thread_pool.h"
#include "exec/context.h"
#include "exec/kernel_source.h"
#include "graph/tensor.h"
#include "tuner/bench.h"
#include "tuner/guarded_io.h"
#include "tuner/reference.h"
#include "tuner/sampler.h"

namespace frit::tuner {

class Workbench final : public Bench {
 public:
  struct Options {
    codegen::BuildContext build;
    exec::KernelProvider* provider = nullptr;
    base::Clock* clock = nullptr;
    base::PoolLease* workers = nullptr;  // null: one thread
    bool cold_weights = false;  // in the model, weights come from memory: they are evicted before each run
    bool closed_pages = false;  // checks with pages without access: only where a fault may end the process
    int64_t check_work = Reference::kMaxWork;  // beyond it, outputs are checked at chosen elements
    uint64_t seed = 1;
  };
  static Result<std::unique_ptr<Workbench>> make(const fusion::PlanGroup& group, const Options& options);

  const codegen::Family& family() const override { return *family_; }
  const codegen::Group& group() const override { return plan_->groups[0].group; }
  const codegen::Space& space() const override { return space_; }
  Verdict prepare(const codegen::Params& params, std::unique_ptr<Variant>* out) override;
  Verdict sample(Variant& variant) override;
  Verdict verify(Variant& variant) override;
  void trim() override { constants_->trim(); }

 private:
  explicit Workbench(const Options& options) : options_(options), sampler_(*options.clock) {}
  Status run(exec::ExecContext& context, const GuardedIo& io) const;
  Verdict check(Variant& variant, GuardedIo& io);
  void evict() const;

  Options options_;
  Sampler sampler_;
  std::shared_ptr<const fusion::Plan> plan_;
  const codegen::Family* family_ = nullptr;
  codegen::Space space_;
  std::unique_ptr<exec::ConstantStore> constants_;
  std::vector<graph::HostTensor> inputs_;
  std::optional<GuardedIo> io_;
  std::optional<Reference> reference_;
};

}  // namespace frit::tuner
