// Values of integer expressions that are constant once unrolled loops are expanded; for the verifier's check
// of register buffers. Private to src/loop.
#pragma once

#include <string>
#include <vector>

#include "loop/ir.h"

namespace frit::loop {

// What the verifier knows about a variable.
struct Binding {
  bool bound = false;
  Type type;
  // Of an unrolled loop: its values. Of a let: the value, where that is constant once loops are expanded.
  bool unrolled = false;
  int64_t begin = 0, end = 0, step = 1;
  const ExprNode* constant = nullptr;
};

class UnrolledValues {
 public:
  explicit UnrolledValues(const std::vector<Binding>& vars) : vars_(vars) {}

  // Empty where the index is within [0, size) for all values of the loops' variables, else what is wrong with
  // it.
  std::string outside(Expr index, int64_t size);

 private:
  bool affine_range(const ExprNode* e, int64_t* lo, int64_t* hi);
  void collect(const ExprNode* e);
  bool evaluate(const ExprNode* e, int64_t* out);

  const std::vector<Binding>& vars_;
  std::vector<int32_t> free_;    // unrolled variables of the index
  std::vector<int64_t> values_;  // theirs, by id
  int64_t visits_ = 0;
};

}  // namespace frit::loop
