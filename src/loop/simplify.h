// Simplifies integer expressions under known ranges of variables: linear forms are collected, divisions and remainders
// that mixed-radix index arithmetic makes cancel, and comparisons that the ranges decide become constants.
//
//   (i*64 + j) / 64 -> i  and  (i*64 + j) % 64 -> j   for 0 <= j < 64
//   (x/c)*c + x%c   -> x
//
// Families use it while they build kernels, so that a reshape of a reshape costs no instruction.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "loop/ir.h"

namespace frit::loop {

struct Interval {
  int64_t low, high;  // inclusive
};

// What is known about variables. Those that are not set may be anything.
class Ranges {
 public:
  // An empty range (low > high) says that the code around the variable never runs; it is taken as [low, low].
  void set(Expr var, int64_t low, int64_t high) { known_[var.node] = {low, high < low ? low : high}; }
  std::optional<Interval> find(const ExprNode* var) const {
    auto it = known_.find(var);
    if (it == known_.end()) return std::nullopt;
    return it->second;
  }

 private:
  std::unordered_map<const ExprNode*, Interval> known_;
};

// An expression that is equal wherever the variables are in their ranges. Floats and vectors are walked, not changed.
Expr simplify(Expr e, const Ranges& ranges);

// Bounds of a scalar integer expression, none where nothing is known (or would overflow).
std::optional<Interval> range_of(Expr e, const Ranges& ranges);

}  // namespace frit::loop
