// Matrix products.
#include "base/text.h"
#include "onnx/importers.h"

namespace frit::onnx {

// numpy.matmul: a vector on the left is a row, on the right a column; its dimension vanishes from the result.
void import_matmul(NodeContext& c) {
  ValueId a = c.in(0), b = c.in(1);
  if (!c.expect_rank(a, 1, INT64_MAX, "A") || !c.expect_rank(b, 1, INT64_MAX, "B")) return;
  const bool row = c.rank(a) == 1, column = c.rank(b) == 1;
  if (row) a = c.unsqueeze(a, {0});
  if (column) b = c.unsqueeze(b, {1});
  const ValueId y = c.emit(graph::MatMul{}, {a, b});
  Ints gone;
  if (row) gone.push_back(c.rank(y) - 2);
  if (column) gone.push_back(c.rank(y) - 1);
  c.out(0, c.squeeze(y, gone));
}

void import_gemm(NodeContext& c) {
  if (!c.expect_rank(c.in(0), 2, 2, "A") || !c.expect_rank(c.in(1), 2, 2, "B")) return;
  std::vector<ValueId> inputs = {c.in(0), c.in(1)};
  if (c.has(2)) inputs.push_back(c.in(2));
  c.out(0, c.emit(graph::Gemm{c.attr_float("alpha", 1.0f), c.attr_float("beta", 1.0f),
                              c.attr_int("transA", 0) != 0, c.attr_int("transB", 0) != 0},
                  inputs));
}

}  // namespace frit::onnx
