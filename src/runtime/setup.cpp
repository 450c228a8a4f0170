#include "runtime/setup.h"

#include <cmath>

#include "base/text.h"
#include "base/try.h"
#include "runtime/keys.h"

namespace frit::runtime {

namespace {

constexpr int kMostThreads = 1024;
constexpr int kMostContexts = 1024;
constexpr int kMostShapeSets = 4096;
constexpr int kDefaultContexts = 4;
constexpr int kDefaultShapeSets = 8;

Status in_range(const char* name, int value, int most) {
  if (value >= 0 && value <= most) return {};
  return make_error(Code::kInvalidArgument, base::text_of(name, " is ", value, ", expected 0 to ", most));
}

}  // namespace

Result<Setup> resolve(const SessionOptions& options, const Runtime& runtime) {
  FRIT_TRY(in_range("threads", options.threads, kMostThreads));
  FRIT_TRY(in_range("contexts", options.contexts, kMostContexts));
  FRIT_TRY(in_range("shape_sets", options.shape_sets, kMostShapeSets));
  if (std::isnan(options.budget_s) || options.budget_s < 0) {
    return make_error(Code::kInvalidArgument,
                      base::text_of("budget_s is ", options.budget_s, ", expected seconds, 0 or more"));
  }
  if (options.numerics > Numerics::kFast || options.on_miss > OnMiss::kError) {
    return make_error(Code::kInvalidArgument, "numerics or on_miss is not one of its enumerators");
  }
  if (options.numerics == Numerics::kFast) {
    runtime.log().info("runtime", "numerics fast is the same as default on a CPU for now");
  }
  Setup out;
  out.build.target = &runtime.target();
  out.build.numerics = effective_numerics(options.numerics);
  out.build.threads = options.threads > 0 ? options.threads : runtime.cpus().threads;
  out.parts = session_parts(out.build.numerics, out.build.threads, out.build.threads > runtime.cpus().cores);
  out.on_miss = options.on_miss;
  out.continue_partial = options.continue_partial;
  out.accept_near = options.accept_near;
  out.budget_s = options.budget_s;
  out.contexts = options.contexts > 0 ? options.contexts : kDefaultContexts;
  out.shape_sets = options.shape_sets > 0 ? options.shape_sets : kDefaultShapeSets;
  out.progress = options.progress;
  out.stop = options.stop;
  return out;
}

}  // namespace frit::runtime
