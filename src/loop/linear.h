// A linear form: constant + sum of coefficient * atom, where atoms are expressions that are not sums. Internal to the
// simplifier.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>

#include "loop/ir.h"
#include "loop/simplify.h"

namespace frit::loop {

struct BySerial {
  bool operator()(const ExprNode* a, const ExprNode* b) const { return a->serial < b->serial; }
};

struct Linear {
  int64_t constant = 0;
  std::map<const ExprNode*, int64_t, BySerial> terms;

  void add(const Linear& other, int64_t factor);
  void add(const ExprNode* atom, int64_t coefficient);
  bool is_constant() const { return terms.empty(); }
};

class Simplifier {
 public:
  explicit Simplifier(const Ranges& ranges) : ranges_(ranges) {}

  Expr simplify(Expr e);
  Linear linear(Expr e);                     // of a scalar integer expression
  std::optional<Interval> range(const Linear& form);
  std::optional<Interval> range(const ExprNode* atom);

 private:
  Expr rebuild(Context& c, const Linear& form, DType dtype);
  Expr walk(Expr e);
  Linear divide(const ExprNode* e, const Linear& x, int64_t c);
  Linear remainder(const ExprNode* e, const Linear& x, int64_t c);
  Linear extremum(const ExprNode* e);
  Expr compare(Expr e);
  void recombine(Linear& form);

  const Ranges& ranges_;
  std::unordered_map<const ExprNode*, Expr> memo_;
  std::unordered_map<const ExprNode*, Linear> forms_;
};

}  // namespace frit::loop
