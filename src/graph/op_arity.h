// How many inputs and outputs each op takes. The first min_inputs must be present; later ones may be
// kNoValue.
#pragma once

#include "graph/op.h"

namespace frit::graph {

struct Arity {
  int min_inputs, max_inputs;  // max -1: any number
  int min_outputs, max_outputs;
};
Arity op_arity(const Op& op);

}  // namespace frit::graph
