// Rules of reductions, scans and TopK.
#include "graph/infer_context.h"

namespace frit::graph {

Result<Types> infer_op(const Reduce& op, InferContext& c) {
  FRIT_TRY(c.require_dtype(0, is_numeric(c.dtype(0)), "a numeric type"));
  if (op.axes.empty()) return c.fail("axes is empty, expected at least one axis");
  for (size_t i = 0; i < op.axes.size(); ++i) {
    FRIT_TRY(c.require_axis(op.axes[i], c.rank(0)));
    if (i > 0 && op.axes[i] <= op.axes[i - 1])
      return c.fail("axes [", base::join(op.axes), "] are not sorted and unique");
  }
  Shape out;
  size_t next = 0;
  for (size_t k = 0; k < c.rank(0); ++k) {
    const bool reduced = next < op.axes.size() && op.axes[next] == static_cast<int64_t>(k);
    if (reduced) ++next;
    if (!reduced) {
      out.push_back(c.shape(0)[k]);
    } else if (op.keepdims) {
      out.push_back(1);
    }
  }
  return Types{make_type(c.dtype(0), std::move(out))};
}

Result<Types> infer_op(const ArgReduce& op, InferContext& c) {
  FRIT_TRY(c.require_dtype(0, is_numeric(c.dtype(0)), "a numeric type"));
  FRIT_TRY(c.require_axis(op.axis, c.rank(0)));
  Shape out = c.shape(0);
  if (op.keepdims) {
    out[static_cast<size_t>(op.axis)] = 1;
  } else {
    out.erase(out.begin() + op.axis);
  }
  return Types{make_type(DType::kI64, std::move(out))};
}

Result<Types> infer_op(const CumSum& op, InferContext& c) {
  FRIT_TRY(c.require_dtype(0, is_numeric(c.dtype(0)), "a numeric type"));
  FRIT_TRY(c.require_axis(op.axis, c.rank(0)));
  return Types{make_type(c.dtype(0), c.shape(0))};
}

Result<Types> infer_op(const TopK& op, InferContext& c) {
  FRIT_TRY(c.require_dtype(0, is_numeric(c.dtype(0)), "a numeric type"));
  FRIT_TRY(c.require_index_type(1));
  FRIT_TRY(c.require_axis(op.axis, c.rank(0)));
  const auto axis = static_cast<size_t>(op.axis);
  const auto count = element_count(c.shape(1)).constant();
  if (count && *count != 1) return c.fail("k has shape ", shape_text(c.shape(1)), ", expected one element");
  Shape out = c.shape(0);
  const Dim available = out[axis];
  const auto k = c.known(1);
  out[axis] = k && k->size() == 1 ? (*k)[0] : c.data_dependent(0, out.size(), axis);
  if (out[axis].constant().value_or(0) < 0 || decide_less(available, out[axis]) == true) {
    return c.fail("k is ", out[axis].text(), ", but axis ", op.axis, " has ", available.text(), " elements");
  }
  return Types{make_type(c.dtype(0), out), make_type(DType::kI64, out)};
}

}  // namespace frit::graph
