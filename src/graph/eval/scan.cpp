#include <algorithm>
#include <numeric>

#include "graph/eval/arith.h"
#include "graph/eval/call.h"
#include "graph/eval/index.h"

namespace frit::graph::eval {
namespace {

// Whether a goes before b in descending order; NaN is the greatest value, as in numpy's sort.
template <class C>
bool is_greater(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  }
  return a > b;
}

}  // namespace

Result<Outputs> run(const CumSum& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(1, 1));
  const HostTensor& x = call.in(0);
  FRIT_TRY(call.expect_axis(op.axis, x.rank()));
  FRIT_ASSIGN(HostTensor out, call.allocate(x.dtype(), x.shape()));
  const AxisView view(x.shape(), op.axis);
  with_compute_type(x.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t k = 0; k < view.inner; ++k) {
        C sum = 0;
        for (int64_t step = 0; step < view.extent; ++step) {
          const int64_t i = op.reverse ? view.extent - 1 - step : step;
          const int64_t at = (o * view.extent + i) * view.inner + k;
          C value;
          load(x, at, 1, &value);
          const C with_value = wrap_add(sum, value);
          store(out, at, 1, op.exclusive ? &sum : &with_value);
          sum = with_value;
        }
      }
    }
  });
  return single(std::move(out));
}

// Equal values are taken and listed in the order of their indices. The result is sorted whether asked for or
// not.
Result<Outputs> run(const TopK& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(2, 2));
  FRIT_TRY(call.expect_integers(1));
  const HostTensor& x = call.in(0);
  FRIT_TRY(call.expect_axis(op.axis, x.rank()));
  if (call.in(1).elements() != 1)
    return bad(text_of("k has ", call.in(1).elements(), " elements, expected 1"));
  const int64_t k = call.in(1).as_int64(0);
  const AxisView view(x.shape(), op.axis);
  if (k < 0 || k > view.extent) {
    return bad(text_of("k is ", k, ", expected 0 to ", view.extent, ", the extent of axis ", op.axis));
  }
  Extents shape = x.shape();
  shape[static_cast<size_t>(op.axis)] = k;
  FRIT_ASSIGN(HostTensor values, call.allocate(x.dtype(), shape));
  FRIT_ASSIGN(HostTensor indices, call.allocate(DType::kI64, shape));
  with_compute_type(x.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    std::vector<C> line(static_cast<size_t>(view.extent));
    std::vector<int64_t> order(line.size());
    for (int64_t o = 0; o < view.outer; ++o) {
      for (int64_t inner = 0; inner < view.inner; ++inner) {
        for (int64_t i = 0; i < view.extent; ++i) {
          load(x, (o * view.extent + i) * view.inner + inner, 1, &line[static_cast<size_t>(i)]);
        }
        std::iota(order.begin(), order.end(), int64_t{0});
        std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
          const C a = line[static_cast<size_t>(i)], b = line[static_cast<size_t>(j)];
          return op.largest ? is_greater(a, b) : is_greater(b, a);
        });
        for (int64_t i = 0; i < k; ++i) {
          const int64_t at = (o * k + i) * view.inner + inner;
          const int64_t index = order[static_cast<size_t>(i)];
          store(values, at, 1, &line[static_cast<size_t>(index)]);
          store(indices, at, 1, &index);
        }
      }
    }
  });
  Outputs out;
  out.push_back(std::move(values));
  out.push_back(std::move(indices));
  return out;
}

}  // namespace frit::graph::eval
