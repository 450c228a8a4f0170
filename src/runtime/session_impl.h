// Session::Impl: the sets of shapes that a session has prepared, and how runs find theirs.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "frit/session.h"
#include "runtime/model_impl.h"
#include "runtime/prepared.h"
#include "runtime/setup.h"

namespace frit {
inline namespace FRIT_ABI {

struct Session::Impl {
  Impl(const Model& of, runtime::Setup with) : model(of), setup(std::move(with)) {}

  runtime::Runtime& runtime() const { return *model.impl()->runtime; }

  std::shared_ptr<runtime::Prepared> find(std::span<const TensorView> inputs);
  std::shared_ptr<runtime::Prepared> find(const runtime::InputShapes& shapes);
  // Found, or made; one thread makes at a time.
  Result<std::shared_ptr<runtime::Prepared>> prepare(runtime::InputShapes shapes, const StopToken& stop);
  // Checks everything but the shapes of outputs, which the result knows.
  Result<std::shared_ptr<runtime::Prepared>> prepare_for(std::span<const TensorView> inputs,
                                                         const StopToken& stop);
  Status check_outputs(const runtime::Prepared& prepared, std::span<const TensorView> outputs) const;

  const Model model;
  const runtime::Setup setup;
  base::ThreadPool pool;

 private:
  void keep(std::shared_ptr<runtime::Prepared> made);

 public:
  // Never held together with `preparing`, nor while kernels run.
  mutable std::mutex mutex;
  std::vector<std::shared_ptr<runtime::Prepared>> sets;
  std::shared_ptr<const runtime::Prepared> latest;  // prepared last, for stats
  int64_t uses = 0;
  int64_t exact_hits = 0, near_hits = 0, misses = 0, trials = 0;
  std::mutex preparing;
};

}  // namespace FRIT_ABI
}  // namespace frit
