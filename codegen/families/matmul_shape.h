// What a matmul group multiplies, as the CPU's and the GPU's schedule see it: the sizes of the product with a
// batch that B does not have folded into M, and the element of A, B or the result that a position in the
// product stands for.
#pragma once

#include <vector>

#include "codegen/families/dag.h"
#include "codegen/families/family.h"
#include "codegen/families/gemm.h"

namespace frit::codegen {

struct MatmulShape {
  GemmProblem problem;
  std::vector<int64_t> batch;  // output's leading dimensions
  int64_t rows = 0;            // M of one matrix
  bool folded = false;         // the batch is part of problem.m
  int64_t b_batch = 1;
  bool constant_b = false;

  // The index of the output's leading dimensions and row.
  Index row_index(Dag& dag, loop::Expr batch_index, loop::Expr m) const;
  // That of B's leading dimensions (those of the output; PhaseBuilder::broadcast drops what B does not have).
  Index b_index(Dag& dag, loop::Context& context, loop::Expr batch_index) const;
};

MatmulShape matmul_shape(const Group& group);

// The group's anchor is a matmul of f32 whose operands are views, with an epilogue after it.
bool accepts_matmul(const Group& group, std::string* why);

}  // namespace frit::codegen
