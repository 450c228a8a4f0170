// Do two graphs compute the same? Runs both by the evaluator on the same data and compares.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "graph/ir.h"
#include "graph/tensor.h"

namespace frit::testing {

struct DataOptions {
  uint64_t seed = 1;
  std::map<std::string, int64_t> sizes;  // named sizes; others are 3
  int64_t low = -4, high = 4;            // range of integer inputs, inclusive
  bool positive = false;                 // floats in (0.1, 2) instead of about a normal distribution
  bool special = false;                  // some floats are NaN, infinities, zeros of both signs, tiny or huge
};
// One tensor per input of the graph.
std::vector<graph::HostTensor> random_data(const graph::Graph& graph, const DataOptions& options);

struct Agreement {
  bool exact = false;        // the same bits, but that all NaNs are equal
  bool zeros_equal = false;  // with exact: -0 equals +0
  double tolerance = 2e-5;   // else: of each output's largest magnitude; integers and bools are exact
  bool may_fail = false;     // the evaluator may refuse both graphs (an index out of range, division by zero)
};

// Empty when they agree; else one sentence about the first difference, or about why the evaluator failed.
std::string disagreement(const graph::Graph& a, const graph::Graph& b,
                         std::span<const graph::HostTensor> inputs, const Agreement& how);

}  // namespace frit::testing
