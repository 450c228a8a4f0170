// Random problems for each kernel family: graphs that fuse into one group of it, ragged and hostile.
#pragma once

#include <cstdint>
#include <ostream>
#include <vector>

#include "graph/ir.h"

namespace frit::testing {

struct ProblemKind {
  int number;
  const char* name;
  const char* family;  // that some group of the plan must have; "" for any
  bool special;        // NaN and infinities in the inputs are legal
  graph::Graph (*make)(uint64_t seed);
};
inline std::ostream& operator<<(std::ostream& out, const ProblemKind& kind) { return out << kind.name; }

const std::vector<ProblemKind>& problem_kinds();

}  // namespace frit::testing
