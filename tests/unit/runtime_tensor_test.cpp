#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "frit/tensor.h"
#include "runtime/strided.h"

namespace frit {
namespace {

TEST(TensorTest, AllocatesZeroedAlignedMemory) {
  for (const int64_t n : {0, 1, 3, 1000, 1 << 20}) {
    auto t = Tensor::allocate(DType::kF32, {n});
    ASSERT_TRUE(t.ok());
    EXPECT_EQ(t->elements(), n);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(t->bytes()) % 64, 0u);
    for (const float v : t->values<float>()) ASSERT_EQ(v, 0.0f);
  }
  EXPECT_EQ(Tensor::allocate(DType::kI64, {})->size_bytes(), 8u);  // a scalar
}

TEST(TensorTest, RefusesShapesThatCannotBe) {
  EXPECT_EQ(Tensor::allocate(DType::kF32, {2, -1}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(Tensor::allocate(DType::kF32, {int64_t{1} << 40, int64_t{1} << 40}).error().code,
            Code::kInvalidArgument);
  EXPECT_EQ(Tensor::allocate(DType::kF32, {int64_t{1} << 50}).error().code, Code::kOutOfMemory);
}

TEST(TensorTest, HoldsValuesAndClonesThem) {
  auto t = Tensor::of(std::vector<int32_t>{1, 2, 3, 4, 5, 6}, {2, 3});
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->dtype(), DType::kI32);
  auto copy = t->clone();
  ASSERT_TRUE(copy.ok());
  t->values<int32_t>()[0] = 9;
  EXPECT_EQ(copy->values<int32_t>()[0], 1);
  EXPECT_EQ(copy->values<int32_t>()[5], 6);
  EXPECT_TRUE(copy->values<double>().empty());  // not the element's size
  const Tensor moved = std::move(*copy);
  EXPECT_EQ(moved.values<int32_t>()[1], 2);
  EXPECT_TRUE(moved.view().read_only);
  EXPECT_EQ(Tensor::of(std::vector<float>{1, 2}, {3}).error().message, "2 values for shape [3], expected 3");
}

TEST(TensorTest, KnowsTheElementTypeOfCppTypes) {
  EXPECT_EQ(dtype_of<float>(), DType::kF32);
  EXPECT_EQ(dtype_of<const double>(), DType::kF64);
  EXPECT_EQ(dtype_of<bool>(), DType::kBool);
  EXPECT_EQ(dtype_of<int8_t>(), DType::kI8);
  EXPECT_EQ(dtype_of<uint8_t>(), DType::kU8);
  EXPECT_EQ(dtype_of<long long>(), DType::kI64);
  EXPECT_EQ(dtype_of<uint16_t>(), DType::kU16);
  const float x[2] = {};
  EXPECT_TRUE(TensorView::of(x, {2}).read_only);
}

TEST(TensorTest, CopiesATransposedView) {
  const int16_t data[] = {0, 1, 2, 3, 4, 5};
  TensorView view = TensorView::of(data, {3, 2});
  view.strides = {1, 3};
  auto t = Tensor::copy_of(view);
  ASSERT_TRUE(t.ok());
  const int16_t expected[] = {0, 3, 1, 4, 2, 5};
  EXPECT_EQ(std::memcmp(t->bytes(), expected, sizeof expected), 0);
}

TEST(StridedTest, CopiesLikeTheObviousLoop) {
  const uint64_t seed = 20240601;
  RecordProperty("seed", static_cast<int>(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 500; ++round) {
    const size_t rank = random() % 5;
    const size_t bytes = size_t{1} << (random() % 4);
    std::vector<int64_t> shape, strides;
    for (size_t k = 0; k < rank; ++k) shape.push_back(static_cast<int64_t>(random() % 5));
    // Any strides for reading: overlapping, negative, zero.
    int64_t low = 0, high = 0;
    for (size_t k = 0; k < rank; ++k) {
      strides.push_back(static_cast<int64_t>(random() % 13) - 6);
      const int64_t reach = strides[k] * std::max<int64_t>(shape[k] - 1, 0);
      (reach < 0 ? low : high) += reach;
    }
    std::vector<std::byte> from(static_cast<size_t>(high - low + 1) * bytes);
    for (std::byte& b : from) b = static_cast<std::byte>(random());
    const std::byte* origin = from.data() + static_cast<size_t>(-low) * bytes;

    int64_t count = 1;
    for (const int64_t n : shape) count *= n;
    std::vector<std::byte> expected(static_cast<size_t>(count) * bytes), got(expected.size());
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, offset = 0;
      for (size_t k = rank; k-- > 0;) {
        offset += rest % shape[k] * strides[k];
        rest /= shape[k];
      }
      std::memcpy(expected.data() + static_cast<size_t>(i) * bytes,
                  origin + offset * static_cast<int64_t>(bytes), bytes);
    }
    runtime::copy_strided(got.data(), {}, origin, strides, shape, bytes);
    ASSERT_EQ(got, expected) << "seed " << seed << " round " << round;
  }
}

TEST(StridedTest, ScattersAndGathersBack) {
  std::vector<float> dense(24), spread(100, -1), back(24);
  for (size_t i = 0; i < dense.size(); ++i) dense[i] = static_cast<float>(i);
  const std::vector<int64_t> shape = {2, 3, 4}, strides = {50, 2, 7};
  runtime::copy_strided(reinterpret_cast<std::byte*>(spread.data()), strides,
                        reinterpret_cast<const std::byte*>(dense.data()), {}, shape, 4);
  EXPECT_EQ(spread[50 + 2 * 2 + 3 * 7], 23.0f);
  runtime::copy_strided(reinterpret_cast<std::byte*>(back.data()), {},
                        reinterpret_cast<const std::byte*>(spread.data()), strides, shape, 4);
  EXPECT_EQ(back, dense);
}

TEST(StridedTest, TellsRowMajorFromTheRest) {
  using Dims = std::vector<int64_t>;
  EXPECT_TRUE(runtime::is_row_major(Dims{2, 3}, Dims{}));
  EXPECT_TRUE(runtime::is_row_major(Dims{2, 3}, Dims{3, 1}));
  EXPECT_TRUE(runtime::is_row_major(Dims{1, 3}, Dims{77, 1}));  // its stride is never used
  EXPECT_TRUE(runtime::is_row_major(Dims{0, 3}, Dims{5, 5}));   // no element
  EXPECT_FALSE(runtime::is_row_major(Dims{2, 3}, Dims{1, 2}));
  EXPECT_FALSE(runtime::is_row_major(Dims{2, 3}, Dims{4, 1}));
}

TEST(StridedTest, ChecksViews) {
  float memory[64] = {};
  const auto message = [&](TensorView view, bool is_output) {
    const Status s = runtime::check_view(view, is_output, "t");
    return s.ok() ? std::string() : s.error().message;
  };
  TensorView good = TensorView::of(memory, {4, 4});
  EXPECT_EQ(message(good, true), "");
  TensorView v = good;
  v.strides = {1};
  EXPECT_EQ(message(v, false), "t has 1 strides, expected 2");
  v = good;
  v.shape = {4, -4};
  EXPECT_EQ(message(v, false), "t has the negative extent -4");
  v = good;
  v.data = nullptr;
  EXPECT_EQ(message(v, false), "t has no memory");
  v.shape = {0, 4};
  EXPECT_EQ(message(v, false), "");
  v = good;
  v.read_only = true;
  EXPECT_EQ(message(v, false), "");
  EXPECT_EQ(message(v, true), "t is memory that must not be written");
  v = good;
  v.strides = {0, 1};
  EXPECT_EQ(message(v, false), "");
  EXPECT_EQ(message(v, true), "t has strides by which elements share memory");
  v.strides = {3, 1};
  EXPECT_EQ(message(v, true), "t has strides by which elements share memory");
  v.strides = {1, 4};
  EXPECT_EQ(message(v, true), "");
  v.shape.assign(65, 1);
  v.strides.clear();
  EXPECT_EQ(message(v, false), "t has rank 65, expected at most 64");
}

}  // namespace
}  // namespace frit
