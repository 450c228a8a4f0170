// Random problems for each kernel family: graphs that fuse into one group of it, ragged and hostile.
#pragma once

#include <cstdint>
#include <ostream>
#include <vector>

#include "graph/ir.h"
#include "graph/tensor.h"

namespace frit::testing {

struct ProblemKind {
  int number;
  const char* name;
  const char* family;  // that some group of the plan must have; "" for any
  bool special;   // every fifth seed has huge and tiny values too; the others' have just NaN and infinities
  bool in_place;  // some of 100 problems are computed in place
  graph::Graph (*make)(uint64_t seed);
};
inline std::ostream& operator<<(std::ostream& out, const ProblemKind& kind) { return out << kind.name; }

// A fifth of the problems have NaN and infinities, in constants too.
inline bool is_special(uint64_t seed) { return seed % 5 == 4; }

const std::vector<ProblemKind>& problem_kinds();

// One per input of the graph that kind.make(seed) gave.
std::vector<graph::HostTensor> problem_inputs(const graph::Graph& graph, uint64_t seed,
                                              const ProblemKind& kind);

}  // namespace frit::testing
