#include "unit/eval_testing.h"

namespace frit::graph::testing {

HostTensor cast(const HostTensor& x, DType to) { return run_one(Cast{to}, {x}); }

HostTensor ramp(Extents shape, float step, float start) {
  auto count = checked_element_count(shape);
  EXPECT_TRUE(count.ok());
  std::vector<float> values(count.ok() ? static_cast<size_t>(*count) : 0);
  for (size_t i = 0; i < values.size(); ++i) values[i] = start + step * static_cast<float>(i);
  return f32(std::move(shape), values);
}

HostTensor pattern(Extents shape, int64_t seed) {
  HostTensor out = ramp(std::move(shape));
  std::vector<float> values(static_cast<size_t>(out.elements()));
  for (int64_t i = 0; i < out.elements(); ++i) {
    values[static_cast<size_t>(i)] = static_cast<float>((37 * i + 11 * seed) % 23 - 11) / 8;
  }
  return f32(out.shape(), values);
}

HostTensor noise(Extents shape, uint64_t seed, DType dtype) {
  auto count = checked_element_count(shape);
  EXPECT_TRUE(count.ok());
  std::vector<double> values(count.ok() ? static_cast<size_t>(*count) : 0);
  uint64_t state = seed * 2654435761u + 88172645463325252u;
  for (double& v : values) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    v = static_cast<double>(state >> 11) * 0x1p-52 - 1;
  }
  return of_type(dtype, std::move(shape), values);
}

namespace {

Result<std::vector<HostTensor>> evaluate_op(const Op& op, const Inputs& inputs,
                                            const std::vector<TensorType>& types) {
  std::vector<const HostTensor*> pointers;
  for (const auto& input : inputs) pointers.push_back(input ? &*input : nullptr);
  return evaluate_node(op, pointers, types);
}

}  // namespace

std::vector<HostTensor> run(const Op& op, const Inputs& inputs, const std::vector<TensorType>& types) {
  auto out = evaluate_op(op, inputs, types);
  EXPECT_TRUE(out.ok()) << out.error().text();
  return out.ok() ? *std::move(out) : std::vector<HostTensor>();
}

HostTensor run_one(const Op& op, const Inputs& inputs, const std::vector<TensorType>& types) {
  auto out = run(op, inputs, types);
  return out.empty() ? HostTensor() : out[0];
}

std::string error_of(const Op& op, const Inputs& inputs, const std::vector<TensorType>& types) {
  auto out = evaluate_op(op, inputs, types);
  EXPECT_FALSE(out.ok()) << "gave " << out->front().type_text();
  return out.ok() ? std::string() : out.error().text();
}

namespace {

bool same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

}  // namespace

void expect_same(const HostTensor& actual, DType dtype, const Extents& shape,
                 const std::vector<double>& expected) {
  EXPECT_EQ(dtype_name(actual.dtype()), dtype_name(dtype));
  ASSERT_EQ(actual.shape(), shape) << actual.type_text();
  ASSERT_EQ(actual.elements(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    const double value = actual.as_double(static_cast<int64_t>(i));
    EXPECT_TRUE(same(value, expected[i]))
        << "element " << i << " is " << value << ", expected " << expected[i];
  }
}

void expect_f32(const HostTensor& actual, const Extents& shape, const std::vector<double>& expected) {
  expect_same(actual, DType::kF32, shape, expected);
}

void expect_i64(const HostTensor& actual, const Extents& shape, const std::vector<int64_t>& expected) {
  EXPECT_EQ(actual.dtype(), DType::kI64);
  ASSERT_EQ(actual.shape(), shape);
  EXPECT_EQ(actual.as_int64s(), expected);
}

void expect_near(const HostTensor& actual, const Extents& shape, const std::vector<double>& expected,
                 double tolerance) {
  ASSERT_EQ(actual.shape(), shape) << actual.type_text();
  ASSERT_EQ(actual.elements(), static_cast<int64_t>(expected.size()));
  double largest = 1;
  for (double v : expected) largest = std::isfinite(v) ? std::max(largest, std::fabs(v)) : largest;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double value = actual.as_double(static_cast<int64_t>(i));
    const bool close = std::isfinite(expected[i]) ? std::fabs(value - expected[i]) <= tolerance * largest
                                                  : same(value, expected[i]);
    EXPECT_TRUE(close) << "element " << i << " is " << value << ", expected " << expected[i];
  }
}

void expect_equal(const HostTensor& actual, const HostTensor& expected) {
  ASSERT_EQ(actual.type_text(), expected.type_text());
  EXPECT_EQ(
      expected.elements() == 0 ? 0 : std::memcmp(actual.bytes(), expected.bytes(), expected.size_bytes()), 0);
}

}  // namespace frit::graph::testing
