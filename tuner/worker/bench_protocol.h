// What a tuner and its worker say to each other about one group: JSON objects, one question and one answer at
// a time.
//
//   {"op": "open", ...BenchSpec}                    -> {"outcome": 0}
//   {"op": "prepare", "id": 7, "params": "mr=6"}    -> {"outcome": 0} or {"outcome": 1, "reason": "..."}
//   {"op": "sample", "id": 7}                       -> {"outcome": 0, "ns": 1234.5}
//   {"op": "verify", "id": 7}                       -> {"outcome": 0}
// Each may have "drop": [ids of variants that are gone] and "trim": true. Outcomes are those of trials
// (records.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "codegen/families/family.h"
#include "frit/result.h"
#include "fusion/plan.h"

namespace frit::tuner::worker {

// All that a worker needs to make the bench that its tuner would have made.
struct BenchSpec {
  std::string target;  // its canonical text
  Numerics numerics = Numerics::kDefault;
  int threads = 1;
  bool cold_weights = false;
  uint64_t seed = 1;
  fusion::PlanGroup group;  // the group itself and its family; nothing of the plan around it

  std::string to_json() const;  // a whole "open" question
  static Result<BenchSpec> from_json(std::string_view text);
};

}  // namespace frit::tuner::worker
