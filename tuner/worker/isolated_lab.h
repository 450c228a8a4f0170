// IsolatedLab: variants are compiled, timed and checked in a worker process, and whoever kills it there is
// recorded with how it died; the search goes on with another worker.
//
// Behind the seam of bench.h, in LocalLab's place. What has been checked in a worker is then run in this
// process, where the whole model is compared. It must not know searches or records.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/seams.h"
#include "tuner/bench.h"
#include "tuner/worker/bench_protocol.h"
#include "tuner/worker/process.h"

namespace frit::tuner::worker {

// Where frit-worker is: the first of the option, FRIT_WORKER, beside this program, and ../libexec/frit as
// seen from it that is there. Errors: kNotFound with all paths that were tried.
Result<std::string> find_worker(const std::string& option, base::Environment& environment,
                                base::FileSystem& files, base::Process& process);

class IsolatedLab final : public Lab {
 public:
  struct Options {
    std::string program;
    std::vector<std::string> arguments;
    Limits limits;
    int64_t prepare_ns = 20'000'000'000;  // for compiling and packing
    int64_t run_ns = 10'000'000'000;      // for one sample, or one check
    base::Clock* clock = nullptr;
    base::Logger log;
    BenchSpec bench;  // all but its group
  };
  // whole_model: compares the choices when the search is over.
  IsolatedLab(Options options, Lab& whole_model) : options_(std::move(options)), whole_model_(whole_model) {}

  const codegen::Family* family(std::string_view name) const override { return whole_model_.family(name); }
  Result<std::unique_ptr<Bench>> bench(const fusion::PlanGroup& group) override;
  Result<CompareOutcome> compare(const std::vector<codegen::Params>& before,
                                 const std::vector<codegen::Params>& after, double seconds) override {
    return whole_model_.compare(before, after, seconds);
  }

 private:
  const Options options_;
  Lab& whole_model_;
};

}  // namespace frit::tuner::worker
