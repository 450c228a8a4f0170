// Bench: where the variants of one group are compiled, timed and checked. Lab: makes benches, and compares
// whole models.
//
// The seam between the search and what runs kernels: tune.cpp knows nothing else of it. Workbench and
// LocalLab do it in this process; an isolated worker stands behind the same interface, and so do the tests'
// machines on a simulated clock. It must not know keys, records or budgets.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/families/family.h"
#include "frit/result.h"
#include "fusion/plan.h"
#include "tuner/compare.h"
#include "tuner/records.h"

namespace frit::tuner {

// What came of a step with a variant. Anything but kMeasured is recorded as the trial's outcome, and the
// variant is not tried again.
struct Verdict {
  Outcome outcome = Outcome::kMeasured;
  std::string reason;
  bool ok() const { return outcome == Outcome::kMeasured; }
};

// A choice, compiled and ready to run.
struct Variant {
  virtual ~Variant() = default;
  codegen::Params params;
  std::vector<double> samples_ns;  // of one run each, all that were taken, in order
  double median_ns() const;
  double spread_ns() const;  // median absolute deviation
};

class Bench {
 public:
  virtual ~Bench() = default;
  virtual const codegen::Family& family() const = 0;
  virtual const codegen::Group& group() const = 0;
  virtual const codegen::Space& space() const = 0;

  // Builds and compiles exactly this choice.
  virtual Verdict prepare(const codegen::Params& params, std::unique_ptr<Variant>* out) = 0;
  // Appends one sample; the first one of a variant warms up before.
  virtual Verdict sample(Variant& variant) = 0;
  // Compares with the reference evaluator: kWrongAnswer says where they differ, kOutOfBounds where it wrote.
  virtual Verdict verify(Variant& variant) = 0;
  // Frees what was made for variants that are gone.
  virtual void trim() {}
};

class Lab {
 public:
  virtual ~Lab() = default;
  virtual const codegen::Family* family(std::string_view name) const { return codegen::family_named(name); }
  virtual Result<std::unique_ptr<Bench>> bench(const fusion::PlanGroup& group) = 0;
  // The whole model with two sets of choices, interleaved, for about `seconds`.
  virtual Result<CompareOutcome> compare(const std::vector<codegen::Params>& before,
                                         const std::vector<codegen::Params>& after, double seconds) = 0;
};

}  // namespace frit::tuner
