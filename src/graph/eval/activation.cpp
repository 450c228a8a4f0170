// Composites that map each element of one tensor: evaluated whole, so that their decompositions can be
// checked.
#include <array>
#include <cmath>

#include "graph/eval/arith.h"
#include "graph/eval/call.h"
#include "graph/eval/index.h"

namespace frit::graph::eval {
namespace {

template <class F>
Result<Outputs> map_floats(const Call& call, F f) {
  FRIT_TRY(call.expect_inputs(1, 1));
  const HostTensor& x = call.in(0);
  if (!is_float(x.dtype())) return bad(text_of("is not defined for ", dtype_name(x.dtype())));
  FRIT_ASSIGN(HostTensor out, call.allocate(x.dtype(), x.shape()));
  std::array<double, kChunk> chunk;
  for (int64_t start = 0; start < x.elements(); start += kChunk) {
    const int64_t count = std::min(kChunk, x.elements() - start);
    load(x, start, count, chunk.data());
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) chunk[i] = f(chunk[i]);
    store(out, start, count, chunk.data());
  }
  return single(std::move(out));
}

template <class C>
C clamp_between(C x, C low, C high) {
  return min_of(max_of(x, low), high);
}

}  // namespace

Result<Outputs> run(const Gelu& op, const Call& call) {
  if (op.tanh) {
    return map_floats(call, [](double x) {
      const double inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
      return 0.5 * x * (1 + std::tanh(inner));
    });
  }
  // x * Phi(x); erfc keeps the relative accuracy of the left tail, where 1 + erf cancels.
  return map_floats(call, [](double x) { return 0.5 * x * std::erfc(-x * M_SQRT1_2); });
}

Result<Outputs> run(const HardSigmoid& op, const Call& call) {
  const double alpha = op.alpha, beta = op.beta;
  return map_floats(call, [=](double x) { return clamp_between(alpha * x + beta, 0.0, 1.0); });
}

Result<Outputs> run(const HardSwish&, const Call& call) {
  return map_floats(call, [](double x) { return x * clamp_between(x / 6 + 0.5, 0.0, 1.0); });
}

Result<Outputs> run(const LeakyRelu& op, const Call& call) {
  const double alpha = op.alpha;
  return map_floats(call, [=](double x) { return x < 0 ? alpha * x : x; });
}

Result<Outputs> run(const Clip&, const Call& call) {
  FRIT_TRY(call.expect_inputs(1, 3));
  const HostTensor& x = call.in(0);
  for (size_t i = 1; i < 3; ++i) {
    if (!call.has(i)) continue;
    FRIT_TRY(call.expect_same_dtype(0, i));
    if (call.in(i).elements() != 1) {
      return bad(text_of("input ", i, " has ", call.in(i).elements(), " elements, expected 1"));
    }
  }
  FRIT_ASSIGN(HostTensor out, call.allocate(x.dtype(), x.shape()));
  with_compute_type(x.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    C low{}, high{};
    if (call.has(1)) load(call.in(1), 0, 1, &low);
    if (call.has(2)) load(call.in(2), 0, 1, &high);
    std::array<C, kChunk> chunk;
    for (int64_t start = 0; start < x.elements(); start += kChunk) {
      const int64_t count = std::min(kChunk, x.elements() - start);
      load(x, start, count, chunk.data());
      for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
        if (call.has(1)) chunk[i] = max_of(chunk[i], low);
        if (call.has(2)) chunk[i] = min_of(chunk[i], high);
      }
      store(out, start, count, chunk.data());
    }
  });
  return single(std::move(out));
}

}  // namespace frit::graph::eval
