// Short ways to write a tensor, run one op and state what must come out; shared by the evaluator's tests.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "graph/eval.h"

namespace frit::graph::testing {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class T>
HostTensor tensor(DType dtype, Extents shape, const std::vector<T>& values) {
  auto made = HostTensor::of(dtype, std::move(shape), values);
  EXPECT_TRUE(made.ok()) << made.error().text();
  return made.ok() ? *made : HostTensor();
}
inline HostTensor f32(Extents shape, std::vector<float> values) {
  return tensor(DType::kF32, std::move(shape), values);
}
inline HostTensor f64(Extents shape, std::vector<double> values) {
  return tensor(DType::kF64, std::move(shape), values);
}
inline HostTensor i64(Extents shape, std::vector<int64_t> values) {
  return tensor(DType::kI64, std::move(shape), values);
}
inline HostTensor i32(Extents shape, std::vector<int32_t> values) {
  return tensor(DType::kI32, std::move(shape), values);
}
inline HostTensor i8(Extents shape, std::vector<int8_t> values) {
  return tensor(DType::kI8, std::move(shape), values);
}
inline HostTensor u8(Extents shape, std::vector<uint8_t> values) {
  return tensor(DType::kU8, std::move(shape), values);
}
inline HostTensor u64(Extents shape, std::vector<uint64_t> values) {
  return tensor(DType::kU64, std::move(shape), values);
}
inline HostTensor boolean(Extents shape, std::vector<uint8_t> values) {
  return tensor(DType::kBool, std::move(shape), values);
}
// Any type from doubles, by rounding as Cast does.
HostTensor cast(const HostTensor& x, DType to);
inline HostTensor of_type(DType dtype, Extents shape, std::vector<double> values) {
  return cast(f64(std::move(shape), std::move(values)), dtype);
}
// 0, step, 2 * step ... : distinct values where only positions matter.
HostTensor ramp(Extents shape, float step = 1, float start = 0);
// Small multiples of 1/8 that look irregular: ((37 i + 11 seed) mod 23 - 11) / 8. Products and sums of a few
// are exact.
HostTensor pattern(Extents shape, int64_t seed);
// Reproducible values in [-1, 1).
HostTensor noise(Extents shape, uint64_t seed, DType dtype = DType::kF32);

using Inputs = std::vector<std::optional<HostTensor>>;
inline constexpr std::nullopt_t kAbsent = std::nullopt;
inline TensorType type_of(DType dtype, std::vector<int64_t> shape) {
  return TensorType{dtype, Shape(shape.begin(), shape.end()), {}};
}

// Runs one op; a failure fails the test and gives an empty list.
std::vector<HostTensor> run(const Op& op, const Inputs& inputs, const std::vector<TensorType>& types = {});
// The first result.
HostTensor run_one(const Op& op, const Inputs& inputs, const std::vector<TensorType>& types = {});
// Runs one op that must fail; its message.
std::string error_of(const Op& op, const Inputs& inputs, const std::vector<TensorType>& types = {});

// Exact, but every NaN equals every NaN; -0 and 0 differ.
void expect_same(const HostTensor& actual, DType dtype, const Extents& shape,
                 const std::vector<double>& expected);
void expect_f32(const HostTensor& actual, const Extents& shape, const std::vector<double>& expected);
void expect_i64(const HostTensor& actual, const Extents& shape, const std::vector<int64_t>& expected);
// Within `tolerance`, relative to the largest expected magnitude or 1.
void expect_near(const HostTensor& actual, const Extents& shape, const std::vector<double>& expected,
                 double tolerance = 2e-6);
void expect_equal(const HostTensor& actual, const HostTensor& expected);  // type and bytes

}  // namespace frit::graph::testing
