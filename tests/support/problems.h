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
  bool special;        // every fifth seed gets NaN, infinities and huge values, in ops that do not add or multiply them
  graph::Graph (*make)(uint64_t seed);
};
inline std::ostream& operator<<(std::ostream& out, const ProblemKind& kind) { return out << kind.name; }

inline bool is_special(uint64_t seed) { return seed % 5 == 4; }

const std::vector<ProblemKind>& problem_kinds();

}  // namespace frit::testing
