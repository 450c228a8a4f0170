#include <array>
#include <cmath>

#include "graph/eval/arith.h"
#include "graph/eval/call.h"
#include "graph/eval/index.h"

namespace frit::graph::eval {
namespace {

template <class C>
using Chunk = std::array<C, kChunk>;

// ---- unary
// -------------------------------------------------------------------------------------------------------

double sign_of(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x == 0 ? 0.0 : x; }

double apply_float(UnaryOp op, double x) {
  switch (op) {
    case UnaryOp::kNeg:
      return -x;
    case UnaryOp::kAbs:
      return std::fabs(x);
    case UnaryOp::kSign:
      return sign_of(x);
    case UnaryOp::kFloor:
      return std::floor(x);
    case UnaryOp::kCeil:
      return std::ceil(x);
    case UnaryOp::kRound:
      return std::nearbyint(x);
    case UnaryOp::kSqrt:
      return std::sqrt(x);
    case UnaryOp::kRecip:
      return 1.0 / x;
    case UnaryOp::kExp:
      return std::exp(x);
    case UnaryOp::kLog:
      return std::log(x);
    case UnaryOp::kErf:
      return std::erf(x);
    case UnaryOp::kTanh:
      return std::tanh(x);
    case UnaryOp::kSigmoid:
      return 1.0 / (1.0 + std::exp(-x));
    case UnaryOp::kSin:
      return std::sin(x);
    case UnaryOp::kCos:
      return std::cos(x);
    case UnaryOp::kTan:
      return std::tan(x);
    case UnaryOp::kAsin:
      return std::asin(x);
    case UnaryOp::kAcos:
      return std::acos(x);
    case UnaryOp::kAtan:
      return std::atan(x);
    case UnaryOp::kSinh:
      return std::sinh(x);
    case UnaryOp::kCosh:
      return std::cosh(x);
    case UnaryOp::kAsinh:
      return std::asinh(x);
    case UnaryOp::kAcosh:
      return std::acosh(x);
    case UnaryOp::kAtanh:
      return std::atanh(x);
    case UnaryOp::kIsNan:
      return std::isnan(x);
    case UnaryOp::kIsInf:
      return std::isinf(x);
    case UnaryOp::kRelu:
      return max_of(x, 0.0);
    case UnaryOp::kNot:
    case UnaryOp::kBitNot:
      break;
  }
  return 0;
}

template <class C>
C apply_integer(UnaryOp op, C x) {
  switch (op) {
    case UnaryOp::kNeg:
      return wrap_neg(x);
    case UnaryOp::kAbs:
      return x < 0 ? wrap_neg(x) : x;
    case UnaryOp::kSign:
      return x > 0 ? 1 : x == 0 ? 0 : static_cast<C>(-1);
    case UnaryOp::kNot:
      return x == 0;
    case UnaryOp::kBitNot:
      return ~x;
    case UnaryOp::kRelu:
      return x > 0 ? x : 0;
    default:
      return 0;
  }
}

bool is_defined(UnaryOp op, DType dtype) {
  switch (op) {
    case UnaryOp::kNot:
      return dtype == DType::kBool;
    case UnaryOp::kBitNot:
      return !is_float(dtype) && dtype != DType::kBool;
    case UnaryOp::kNeg:
    case UnaryOp::kAbs:
    case UnaryOp::kSign:
    case UnaryOp::kRelu:
      return dtype != DType::kBool;
    default:
      return is_float(dtype);
  }
}

// ---- binary
// ------------------------------------------------------------------------------------------------------

bool is_comparison(BinaryOp op) { return op >= BinaryOp::kEq && op <= BinaryOp::kGe; }
bool is_logical(BinaryOp op) { return op == BinaryOp::kAnd || op == BinaryOp::kOr || op == BinaryOp::kXor; }
bool is_bitwise(BinaryOp op) { return op >= BinaryOp::kBitAnd && op <= BinaryOp::kShr; }
bool divides(BinaryOp op) {
  return op == BinaryOp::kDiv || op == BinaryOp::kModFloor || op == BinaryOp::kModTrunc;
}

bool is_defined(BinaryOp op, DType dtype) {
  if (is_logical(op)) return dtype == DType::kBool;
  if (is_bitwise(op)) return !is_float(dtype) && dtype != DType::kBool;
  if (divides(op)) return dtype != DType::kBool;
  return true;
}

// A shift by the width or more, or by a negative amount, shifts everything out.
template <class C>
C shift_left(C a, C b) {
  return static_cast<uint64_t>(b) < 64 ? static_cast<C>(static_cast<uint64_t>(a) << b) : 0;
}
template <class C>
C shift_right(C a, C b) {
  return static_cast<uint64_t>(b) < 64 ? static_cast<C>(a >> b) : static_cast<C>(a < 0 ? -1 : 0);
}

// r[i] = a[i] op b[i]. Divisors of integers are not 0.
template <class C>
void apply(BinaryOp op, int64_t count, const C* a, const C* b, C* r) {
  const auto each = [&](auto f) {
    for (int64_t i = 0; i < count; ++i) r[i] = static_cast<C>(f(a[i], b[i]));
  };
  if constexpr (std::is_integral_v<C>) {
    switch (op) {
      case BinaryOp::kAnd:
        return each([](C x, C y) { return x != 0 && y != 0; });
      case BinaryOp::kOr:
        return each([](C x, C y) { return x != 0 || y != 0; });
      case BinaryOp::kXor:
        return each([](C x, C y) { return (x != 0) != (y != 0); });
      case BinaryOp::kBitAnd:
        return each([](C x, C y) { return x & y; });
      case BinaryOp::kBitOr:
        return each([](C x, C y) { return x | y; });
      case BinaryOp::kBitXor:
        return each([](C x, C y) { return x ^ y; });
      case BinaryOp::kShl:
        return each(shift_left<C>);
      case BinaryOp::kShr:
        return each(shift_right<C>);
      default:
        break;
    }
  }
  switch (op) {
    case BinaryOp::kAdd:
      return each(wrap_add<C>);
    case BinaryOp::kSub:
      return each(wrap_sub<C>);
    case BinaryOp::kMul:
      return each(wrap_mul<C>);
    case BinaryOp::kDiv:
      return each(divide<C>);
    case BinaryOp::kPow:
      return each(power<C>);
    case BinaryOp::kMin:
      return each(min_of<C>);
    case BinaryOp::kMax:
      return each(max_of<C>);
    case BinaryOp::kModFloor:
      return each(mod_floor<C>);
    case BinaryOp::kModTrunc:
      return each(mod_trunc<C>);
    case BinaryOp::kEq:
      return each([](C x, C y) { return x == y; });
    case BinaryOp::kNe:
      return each([](C x, C y) { return x != y; });
    case BinaryOp::kLt:
      return each([](C x, C y) { return x < y; });
    case BinaryOp::kLe:
      return each([](C x, C y) { return x <= y; });
    case BinaryOp::kGt:
      return each([](C x, C y) { return x > y; });
    case BinaryOp::kGe:
      return each([](C x, C y) { return x >= y; });
    default:
      return;  // is_defined() has refused the rest for floats
  }
}

// The type in which a op b is computed: the operands' own, but an integer to a float power goes through
// double.
DType compute_dtype(BinaryOp op, DType a, DType b) {
  return op == BinaryOp::kPow && is_float(b) ? DType::kF64 : a;
}

}  // namespace

Result<Outputs> run(const Unary& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(1, 1));
  const HostTensor& x = call.in(0);
  if (!is_defined(op.op, x.dtype())) return bad(text_of("is not defined for ", dtype_name(x.dtype())));
  const bool tests = op.op == UnaryOp::kIsNan || op.op == UnaryOp::kIsInf;
  FRIT_ASSIGN(HostTensor out, call.allocate(tests ? DType::kBool : x.dtype(), x.shape()));
  with_compute_type(x.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    Chunk<C> chunk;
    for (int64_t start = 0; start < x.elements(); start += kChunk) {
      const int64_t count = std::min(kChunk, x.elements() - start);
      load(x, start, count, chunk.data());
      for (int64_t i = 0; i < count; ++i) {
        C& value = chunk[static_cast<size_t>(i)];
        if constexpr (std::is_floating_point_v<C>)
          value = apply_float(op.op, value);
        else
          value = apply_integer(op.op, value);
      }
      store(out, start, count, chunk.data());
    }
  });
  return single(std::move(out));
}

Result<Outputs> run(const Binary& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(2, 2));
  const HostTensor& a = call.in(0);
  const HostTensor& b = call.in(1);
  if (op.op != BinaryOp::kPow) FRIT_TRY(call.expect_same_dtype(0, 1));
  if (!is_defined(op.op, a.dtype())) return bad(text_of("is not defined for ", dtype_name(a.dtype())));
  FRIT_ASSIGN(const Extents shape, broadcast_shapes(a.shape(), b.shape()));
  FRIT_ASSIGN(HostTensor out, call.allocate(is_comparison(op.op) ? DType::kBool : a.dtype(), shape));
  BroadcastReader read_a(a, shape), read_b(b, shape);
  int64_t zero_at = -1;
  with_compute_type(compute_dtype(op.op, a.dtype(), b.dtype()), [&](auto tag) {
    using C = typename decltype(tag)::type;
    Chunk<C> ca, cb, result;
    for (int64_t start = 0; start < out.elements(); start += kChunk) {
      const int64_t count = std::min(kChunk, out.elements() - start);
      read_a.read(start, count, ca.data());
      read_b.read(start, count, cb.data());
      if (std::is_integral_v<C> && divides(op.op)) {
        const auto end = cb.begin() + count;
        const auto zero = std::find(cb.begin(), end, C{0});
        if (zero != end) {
          zero_at = start + (zero - cb.begin());
          return;
        }
      }
      apply(op.op, count, ca.data(), cb.data(), result.data());
      store(out, start, count, result.data());
    }
  });
  if (zero_at >= 0) return bad(text_of("integer division by zero at element ", zero_at));
  return single(std::move(out));
}

Result<Outputs> run(const Select&, const Call& call) {
  FRIT_TRY(call.expect_inputs(3, 3));
  FRIT_TRY(call.expect_dtype(0, DType::kBool));
  FRIT_TRY(call.expect_same_dtype(1, 2));
  const HostTensor& condition = call.in(0);
  const HostTensor& a = call.in(1);
  const HostTensor& b = call.in(2);
  FRIT_ASSIGN(const Extents branches, broadcast_shapes(a.shape(), b.shape()));
  FRIT_ASSIGN(const Extents shape, broadcast_shapes(condition.shape(), branches));
  FRIT_ASSIGN(HostTensor out, call.allocate(a.dtype(), shape));
  BroadcastReader read_condition(condition, shape), read_a(a, shape), read_b(b, shape);
  with_compute_type(a.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    Chunk<uint64_t> chosen;
    Chunk<C> ca, cb;
    for (int64_t start = 0; start < out.elements(); start += kChunk) {
      const int64_t count = std::min(kChunk, out.elements() - start);
      read_condition.read(start, count, chosen.data());
      read_a.read(start, count, ca.data());
      read_b.read(start, count, cb.data());
      for (size_t i = 0; i < static_cast<size_t>(count); ++i) ca[i] = chosen[i] ? ca[i] : cb[i];
      store(out, start, count, ca.data());
    }
  });
  return single(std::move(out));
}

Result<Outputs> run(const Cast& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(1, 1));
  const HostTensor& x = call.in(0);
  FRIT_ASSIGN(HostTensor out, call.allocate(op.to, x.shape()));
  with_compute_type(x.dtype(), [&](auto tag) {
    using C = typename decltype(tag)::type;
    Chunk<C> chunk;
    for (int64_t start = 0; start < x.elements(); start += kChunk) {
      const int64_t count = std::min(kChunk, x.elements() - start);
      load(x, start, count, chunk.data());
      store(out, start, count, chunk.data());
    }
  });
  return single(std::move(out));
}

}  // namespace frit::graph::eval
