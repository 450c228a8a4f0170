#include "loop/scalar.h"

namespace frit::loop {

int64_t canonical_bits(int64_t bits, DType dtype) {
  return with_type(dtype, [&](auto tag) { return to_bits(from_bits<decltype(tag)>(bits)); });
}

bool fold_unary(OpCode op, DType dtype, int64_t a, int64_t* out) {
  if (!is_unary(op) || !op_allowed(op, dtype)) return false;
  *out = with_type(dtype, [&](auto tag) {
    using T = decltype(tag);
    return with_unary_op(op, [&](auto code) { return to_bits(apply_unary<code(), T>(from_bits<T>(a))); });
  });
  return true;
}

bool fold_binary(OpCode op, DType dtype, int64_t a, int64_t b, int64_t* out) {
  if (is_unary(op) || !op_allowed(op, dtype)) return false;
  return with_type(dtype, [&](auto tag) {
    using T = decltype(tag);
    const T x = from_bits<T>(a), y = from_bits<T>(b);
    return with_binary_op(op, [&](auto code) {
      if constexpr (is_comparison(code())) {
        *out = compare<code()>(x, y);
        return true;
      } else {
        if (!binary_defined<code()>(x, y)) return false;
        *out = to_bits(apply_binary<code()>(x, y));
        return true;
      }
    });
  });
}

int64_t fold_fma(DType dtype, int64_t a, int64_t b, int64_t c) {
  return with_type(dtype, [&](auto tag) {
    using T = decltype(tag);
    return to_bits(apply_fma(from_bits<T>(a), from_bits<T>(b), from_bits<T>(c)));
  });
}

int64_t fold_cast(DType from, DType to, int64_t a) {
  return with_type(from, [&](auto source) {
    return with_type(to, [&](auto target) {
      return to_bits(apply_cast<decltype(target)>(from_bits<decltype(source)>(a)));
    });
  });
}

}  // namespace frit::loop
