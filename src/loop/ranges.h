// What is known about variables and sizes, and what follows for expressions: bounds, divisors, orderings.
//
// Loops and tiles put their facts in, the simplifier asks. Bounds are of the mathematical value; an i64
// expression over loop variables, tiles, sizes and constants (an index) counts as never overflowing (ir.h),
// every other one as wrapping wherever its bounds do not exclude it. An i64 variable of which nothing was
// said counts as an index without bounds.
#pragma once

#include <cstdint>
#include <limits>
#include <unordered_map>

#include "loop/ir.h"

namespace frit::loop {

// Inclusive bounds; the extreme values stand for "unbounded".
struct Range {
  static constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  int64_t lo = kMin;
  int64_t hi = kMax;
  bool is_single() const { return lo == hi && lo != kMin && lo != kMax; }
  bool operator==(const Range&) const = default;
};

Range sum_of(Range a, Range b);
Range product_of(Range a, Range b);
Range floor_quotient_of(Range a, Range b);  // b > 0

class Ranges {
 public:
  // A variable or a size. Sizes are >= 0 unless told otherwise.
  void set(Expr leaf, Range range);
  // Inclusive. An empty range says that the code around the variable never runs; it is taken as [low, low].
  void set(Expr leaf, int64_t low, int64_t high) { set(leaf, Range{low, high < low ? low : high}); }
  // A loop variable: begin, begin + step ... < end. A tile variable has begin 0.
  void bind(Expr var, Expr begin, Expr end, int64_t step = 1);
  // A let.
  void define(Expr var, Expr value);
  // Takes over what a condition says that holds from here on: comparisons of a variable, and their
  // conjunctions.
  void assume(Expr cond);

  // Bounds of a scalar integer expression, or of all lanes of a vector.
  Range of(Expr e) const;
  // A positive number that divides every value of it (0: the value is always 0).
  int64_t divisor(Expr e) const;
  // Made of constants, sizes and variables of loops and tiles alone.
  bool is_index(Expr e) const;
  // The operation at its top does not wrap: its value is the mathematical one of its operands' values.
  bool is_exact(Expr e) const;

  // Holds a load: its value now need not be its value later.
  bool reads_memory(Expr e) const;

  // True where it can be proved for scalars; false says nothing.
  bool proves_le(Expr a, Expr b) const;  // a <= b
  bool proves_lt(Expr a, Expr b) const;  // a < b

  struct Fact {
    Range range;
    bool index = false;
    int64_t divisor = 1;
    Expr end;         // exclusive bound of a loop variable
    Expr definition;  // of a let
  };
  const Fact* find(const ExprNode* var) const;

 private:
  struct Known {
    Range range;
    bool index = false;
    bool exact = false;
    bool reads = false;
    int64_t divisor = 1;
  };
  const Known& known(const ExprNode* e) const;
  Known compute(const ExprNode* e) const;
  Range compute_range(const ExprNode* e, bool* wraps) const;
  int64_t compute_divisor(const ExprNode* e, bool exact) const;

  std::unordered_map<int32_t, Fact> vars_;
  std::unordered_map<int32_t, Range> sizes_;
  mutable std::unordered_map<const ExprNode*, Known> memo_;  // looked up only, never iterated
};

}  // namespace frit::loop
