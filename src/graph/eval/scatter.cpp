#include "graph/eval/arith.h"
#include "graph/eval/call.h"
#include "graph/eval/index.h"
#include "graph/eval/indices.h"

namespace frit::graph::eval {
namespace {

template <class C>
C combine(ScatterOp op, C old, C update) {
  switch (op) {
    case ScatterOp::kAdd:
      return wrap_add(old, update);
    case ScatterOp::kMul:
      return wrap_mul(old, update);
    case ScatterOp::kMax:
      return max_of(old, update);
    case ScatterOp::kMin:
      return min_of(old, update);
    case ScatterOp::kNone:
      break;
  }
  return update;
}

// A copy of x in which runs of `run` elements at offsets[i] are combined with the updates' run i, in order:
// of several updates of one element the last one stays, or all take part in one sum that is rounded once.
Result<Outputs> scatter(const Call& call, ScatterOp op, const std::vector<int64_t>& offsets, int64_t run) {
  const HostTensor& x = call.in(0);
  const HostTensor& updates = call.in(2);
  FRIT_ASSIGN(HostTensor out, call.allocate(x.dtype(), x.shape()));
  const size_t size = dtype_bytes(x.dtype());
  if (x.elements() > 0) std::memcpy(out.mutable_bytes(), x.bytes(), x.size_bytes());
  if (run == 0) return single(std::move(out));
  if (op == ScatterOp::kNone) {
    const size_t run_bytes = static_cast<size_t>(run) * size;
    for (size_t i = 0; i < offsets.size(); ++i) {
      std::memcpy(out.mutable_bytes() + static_cast<size_t>(offsets[i]) * size,
                  updates.bytes() + i * run_bytes, run_bytes);
    }
    return single(std::move(out));
  }
  with_compute_type(x.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    std::vector<C> values(static_cast<size_t>(x.elements())), line(static_cast<size_t>(run));
    load(x, 0, x.elements(), values.data());
    for (size_t i = 0; i < offsets.size(); ++i) {
      load(updates, static_cast<int64_t>(i) * run, run, line.data());
      for (size_t k = 0; k < line.size(); ++k) {
        C& value = values[static_cast<size_t>(offsets[i]) + k];
        value = combine(op, value, line[k]);
      }
    }
    store(out, 0, out.elements(), values.data());
  });
  return single(std::move(out));
}

}  // namespace

Result<Outputs> run(const ScatterElements& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(3, 3));
  FRIT_TRY(call.expect_integers(1));
  FRIT_TRY(call.expect_same_dtype(0, 2));
  const HostTensor& x = call.in(0);
  const HostTensor& indices = call.in(1);
  FRIT_TRY(call.expect_axis(op.axis, x.rank()));
  FRIT_TRY(expect_index_shape(call, 1, op.axis));
  if (call.in(2).shape() != indices.shape()) {
    return bad(text_of("updates are ", call.in(2).type_text(), ", indices ", indices.type_text()));
  }
  FRIT_ASSIGN(std::vector<int64_t> at, read_indices(indices, x.dim(op.axis), op.axis));
  const Extents strides = row_major_strides(x.shape());
  const size_t axis = static_cast<size_t>(op.axis);
  Walker walker(indices.shape(), strides);
  for (int64_t& index : at) {
    index = walker.offset() + (index - walker.coords()[axis]) * strides[axis];
    walker.next();
  }
  return scatter(call, op.reduction, at, 1);
}

Result<Outputs> run(const ScatterND& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(3, 3));
  FRIT_TRY(call.expect_integers(1));
  FRIT_TRY(call.expect_same_dtype(0, 2));
  const HostTensor& x = call.in(0);
  const HostTensor& indices = call.in(1);
  if (indices.rank() < 1 || indices.shape().back() > x.rank()) {
    return bad(text_of("indices ", indices.type_text(), " do not index ", x.type_text()));
  }
  const int64_t length = indices.shape().back();
  Extents expected(indices.shape().begin(), indices.shape().end() - 1);
  expected.insert(expected.end(), x.shape().begin() + length, x.shape().end());
  if (call.in(2).shape() != expected) {
    return bad(text_of("updates are ", call.in(2).type_text(), ", expected ", extents_text(expected)));
  }
  FRIT_ASSIGN(const std::vector<int64_t> at, read_index_tuples(indices, x.shape(), 0));
  return scatter(call, op.reduction, at, product(x.shape(), length, x.rank()));
}

}  // namespace frit::graph::eval
