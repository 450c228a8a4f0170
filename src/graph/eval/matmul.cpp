#include "graph/eval/arith.h"
#include "graph/eval/call.h"
#include "graph/eval/index.h"
#include "graph/eval/product.h"

namespace frit::graph::eval {
namespace {

// One operand as a set of matrices [rows, depth] (or, transposed in memory, [depth, rows]).
struct Operand {
  const HostTensor& tensor;
  bool depth_first;  // element (row, k) is at k * rows + row
  int64_t rows, depth;

  template <class C>
  Panels<C> pack(int64_t offset, int64_t first_row, int64_t count) const {
    Panels<C> panels(count, depth);
    if (depth_first) {
      for (int64_t k = 0; k < depth; ++k) panels.set_column(k, tensor, offset + k * rows + first_row);
    } else {
      for (int64_t i = 0; i < count; ++i) panels.set_row(i, tensor, offset + (first_row + i) * depth);
    }
    return panels;
  }
};

// For each batch: out = finish(sum over k of a(i, k) * b(j, k), i, j), out row-major [batches, a.rows,
// b.rows].
template <class C, class Finish>
void multiply_batches(const Call& call, const Operand& a, const std::vector<int64_t>& a_offsets,
                      const Operand& b, const std::vector<int64_t>& b_offsets, HostTensor& out,
                      Finish finish) {
  const int64_t block = block_extent(a.depth);
  const int64_t row_blocks = (a.rows + block - 1) / block, column_blocks = (b.rows + block - 1) / block;
  const int64_t blocks = row_blocks * column_blocks;
  call.parallel(static_cast<int64_t>(a_offsets.size()) * blocks, [&](int64_t task) {
    const int64_t batch = task / blocks;
    const int64_t i0 = task % blocks / column_blocks * block, j0 = task % column_blocks * block;
    const int64_t row_count = std::min(block, a.rows - i0), column_count = std::min(block, b.rows - j0);
    std::vector<C> sums;
    multiply(a.pack<C>(a_offsets[static_cast<size_t>(batch)], i0, row_count),
             b.pack<C>(b_offsets[static_cast<size_t>(batch)], j0, column_count), sums);
    for (int64_t i = 0; i < row_count; ++i) {
      C* row = sums.data() + i * column_count;
      for (int64_t j = 0; j < column_count; ++j) row[j] = finish(row[j], i0 + i, j0 + j);
      store(out, (batch * a.rows + i0 + i) * b.rows + j0, column_count, row);
    }
  });
}

// Where each batch's matrix starts.
std::vector<int64_t> batch_offsets(const Extents& from, const Extents& to, int64_t matrix_elements) {
  Extents strides = broadcast_strides(from, to);
  Walker walker(to, strides);
  std::vector<int64_t> out(static_cast<size_t>(product(to)));
  for (int64_t& offset : out) {
    offset = walker.offset() * matrix_elements;
    walker.next();
  }
  return out;
}

}  // namespace

Result<Outputs> run(const MatMul&, const Call& call) {
  FRIT_TRY(call.expect_inputs(2, 2));
  FRIT_TRY(call.expect_same_dtype(0, 1));
  const HostTensor& a = call.in(0);
  const HostTensor& b = call.in(1);
  if (a.rank() < 2 || b.rank() < 2 || a.shape().back() != b.dim(b.rank() - 2)) {
    return bad(text_of("operands ", a.type_text(), " and ", b.type_text(), " do not multiply"));
  }
  if (a.dtype() == DType::kBool) return bad("is not defined for bool");
  const int64_t m = a.dim(a.rank() - 2), depth = a.shape().back(), n = b.shape().back();
  const Extents a_batch(a.shape().begin(), a.shape().end() - 2),
      b_batch(b.shape().begin(), b.shape().end() - 2);
  FRIT_ASSIGN(const Extents batch, broadcast_shapes(a_batch, b_batch));
  Extents shape = batch;
  shape.push_back(m);
  shape.push_back(n);
  FRIT_ASSIGN(HostTensor out, call.allocate(a.dtype(), shape));
  if (out.elements() == 0) return single(std::move(out));
  with_compute_type(a.dtype(), [&](auto tag) {
    using C = ProductType<typename decltype(tag)::type>;
    multiply_batches<C>(call, {a, false, m, depth}, batch_offsets(a_batch, batch, m * depth),
                        {b, true, n, depth}, batch_offsets(b_batch, batch, depth * n), out,
                        [](C sum, int64_t, int64_t) { return sum; });
  });
  return single(std::move(out));
}

// alpha * a * b + beta * c. Integers multiply by alpha and beta through double only where these are not 1.
Result<Outputs> run(const Gemm& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(2, 3));
  FRIT_TRY(call.expect_same_dtype(0, 1));
  FRIT_TRY(call.expect_rank(0, 2));
  FRIT_TRY(call.expect_rank(1, 2));
  const HostTensor& a = call.in(0);
  const HostTensor& b = call.in(1);
  const int64_t m = a.dim(op.trans_a ? 1 : 0), depth = a.dim(op.trans_a ? 0 : 1);
  const int64_t n = b.dim(op.trans_b ? 0 : 1);
  if (b.dim(op.trans_b ? 1 : 0) != depth) {
    return bad(text_of("operands ", a.type_text(), op.trans_a ? " (transposed)" : "", " and ", b.type_text(),
                       op.trans_b ? " (transposed)" : "", " do not multiply"));
  }
  if (a.dtype() == DType::kBool) return bad("is not defined for bool");
  const Extents shape = {m, n};
  Extents c_strides = {0, 0};
  if (call.has(2)) {
    FRIT_TRY(call.expect_same_dtype(0, 2));
    if (!broadcasts_to(call.in(2).shape(), shape)) {
      return bad(text_of("input 2 is ", call.in(2).type_text(), ", which does not broadcast to ",
                         extents_text(shape)));
    }
    c_strides = broadcast_strides(call.in(2).shape(), shape);
  }
  FRIT_ASSIGN(HostTensor out, call.allocate(a.dtype(), shape));
  if (out.elements() == 0) return single(std::move(out));
  with_compute_type(a.dtype(), [&](auto tag) {
    using Element = typename decltype(tag)::type;
    using C = ProductType<Element>;
    const auto scaled = [](C value, float factor) -> C {
      if (factor == 1.0f) return value;
      if constexpr (std::is_same_v<C, double>)
        return factor * value;
      else
        return static_cast<C>(
            truncate_to_integer<Element>(static_cast<double>(static_cast<Element>(value)) * factor));
    };
    multiply_batches<C>(call, {a, op.trans_a, m, depth}, {0}, {b, !op.trans_b, n, depth}, {0}, out,
                        [&](C sum, int64_t i, int64_t j) {
                          sum = scaled(sum, op.alpha);
                          if (!call.has(2)) return sum;
                          C addend;
                          load(call.in(2), i * c_strides[0] + j * c_strides[1], 1, &addend);
                          return wrap_add(sum, scaled(addend, op.beta));
                        });
  });
  return single(std::move(out));
}

}  // namespace frit::graph::eval
