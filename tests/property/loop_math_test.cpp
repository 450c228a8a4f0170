// math.h against the C library in double (and long double for pow), over samples of all bit patterns: the largest error
// in ulp of the f32 result. FRIT_MATH_STRIDE=1 in the environment goes through all 2^32 values.
#include "loop/math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>

#include "loop/build.h"
#include "loop/interp.h"

namespace frit::loop {
namespace {

constexpr int32_t kLanes = 256;
constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

using Unary = std::function<Expr(Expr)>;

// Evaluates f over vectors of any length.
class Evaluator {
 public:
  explicit Evaluator(const Unary& f) {
    LoopFn fn;
    Builder b(fn);
    const Buffer in = b.arg(DType::kF32, Access::kRead, b.integer(kLanes), 4);
    const Buffer out = b.arg(DType::kF32, Access::kWrite, b.integer(kLanes), 4);
    b.store(out, b.integer(0), f(load(b.context(), in, b.integer(0), kLanes)));
    b.finish();
    auto made = Interpreter::make(fn);
    EXPECT_TRUE(made.ok()) << made.error().text();
    interpreter_.emplace(std::move(*made));
  }
  void run(float* in, float* out) const {
    const InterpBuffer args[] = {{in, kLanes * 4}, {out, kLanes * 4}};
    const auto result = interpreter_->run(args, {});
    ASSERT_TRUE(result.ok()) << result.error().text();
  }
  float operator()(float x) const {
    float in[kLanes], out[kLanes];
    for (float& v : in) v = x;
    run(in, out);
    return out[kLanes - 1];
  }

 private:
  std::optional<Interpreter> interpreter_;
};

// |got - want| in units of the last place of want as an f32; infinite where only one of them is finite or NaN.
double error_ulp(float got, double want) {
  const float rounded = static_cast<float>(want);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) && std::isnan(got) ? 0 : HUGE_VAL;
  if (got == rounded) return 0;
  if (std::isinf(got) || std::isinf(rounded)) {
    // One step beyond the largest finite value counts as its neighbour.
    const double edge = std::ldexp(1.0, 128);
    const double a = std::isinf(got) ? std::copysign(edge, got) : got, b = std::isinf(rounded) ? std::copysign(edge, want) : want;
    return std::abs(a - b) / std::ldexp(1.0, 104) > 2 ? HUGE_VAL : std::abs(a - b) / std::ldexp(1.0, 104);
  }
  int exponent = 0;
  std::frexp(want, &exponent);
  return std::abs(got - want) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

uint64_t stride() {
  const char* text = std::getenv("FRIT_MATH_STRIDE");
  return text ? std::strtoull(text, nullptr, 10) : 1009;  // a prime: all exponents, varied mantissas
}

struct Worst {
  double ulp = 0;
  float at = 0, got = 0;
  double want = 0;
};
Worst worst_error(const Unary& f, const std::function<double(double)>& reference, float lo = -kInf, float hi = kInf) {
  const Evaluator evaluate(f);
  Worst worst;
  float in[kLanes], out[kLanes];
  int filled = 0;
  const auto flush = [&] {
    for (int i = filled; i < kLanes; ++i) in[i] = 0;
    evaluate.run(in, out);
    for (int i = 0; i < filled; ++i) {
      const double want = reference(in[i]);
      const double error = error_ulp(out[i], want);
      if (error > worst.ulp) worst = {error, in[i], out[i], want};
    }
    filled = 0;
  };
  const uint64_t step = stride();
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += step) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (x < lo || x > hi) continue;
    in[filled++] = x;
    if (filled == kLanes) flush();
  }
  flush();
  testing::Test::RecordProperty("ulp", std::to_string(worst.ulp));
  return worst;
}

#define EXPECT_ULP(worst, bound)                                                                        \
  do {                                                                                                  \
    const Worst w_ = (worst);                                                                           \
    EXPECT_LE(w_.ulp, bound) << "at " << w_.at << " got " << w_.got << " want " << w_.want;             \
  } while (0)

double sigmoid_of(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

TEST(LoopMath, Exp) {
  EXPECT_ULP(worst_error(math::exp, [](double x) { return std::exp(x); }), 1.6);
  const Evaluator f(math::exp);
  EXPECT_EQ(f(0), 1);
  EXPECT_EQ(f(-kInf), 0);
  EXPECT_EQ(f(kInf), kInf);
  EXPECT_TRUE(std::isnan(f(kNan)));
  EXPECT_EQ(f(88.8f), kInf);
  EXPECT_EQ(f(-103.9f), std::numeric_limits<float>::denorm_min());
}

TEST(LoopMath, ExpOfNonpositiveHasTheSameBits) {
  const Evaluator f(math::exp), g(math::exp_nonpositive);
  for (float x = 0; x > -110; x -= 0.37f) EXPECT_EQ(f(x), g(x));
  EXPECT_EQ(g(-kInf), 0);
  EXPECT_TRUE(std::isnan(g(kNan)));
}

TEST(LoopMath, Exp2) {
  EXPECT_ULP(worst_error(math::exp2, [](double x) { return std::exp2(x); }), 1.2);
  const Evaluator f(math::exp2);
  for (int n = -149; n < 128; ++n) EXPECT_EQ(f(static_cast<float>(n)), std::ldexp(1.0f, n));
  EXPECT_EQ(f(128), kInf);
  EXPECT_EQ(f(-kInf), 0);
}

TEST(LoopMath, Expm1) {
  EXPECT_ULP(worst_error(math::expm1, [](double x) { return std::expm1(x); }), 1.6);
  const Evaluator f(math::expm1);
  EXPECT_EQ(f(-kInf), -1);
  EXPECT_EQ(f(kInf), kInf);
}

TEST(LoopMath, Log) {
  EXPECT_ULP(worst_error(math::log, [](double x) { return std::log(x); }), 1.1);
  const Evaluator f(math::log);
  EXPECT_EQ(f(1), 0);
  EXPECT_EQ(f(0), -kInf);
  EXPECT_EQ(f(-0.0f), -kInf);
  EXPECT_EQ(f(kInf), kInf);
  EXPECT_TRUE(std::isnan(f(-1)));
  EXPECT_TRUE(std::isnan(f(-kInf)));
  EXPECT_TRUE(std::isnan(f(kNan)));
}

TEST(LoopMath, Tanh) {
  EXPECT_ULP(worst_error(math::tanh, [](double x) { return std::tanh(x); }), 1.9);
  const Evaluator f(math::tanh);
  EXPECT_EQ(f(kInf), 1);
  EXPECT_EQ(f(-kInf), -1);
  EXPECT_TRUE(std::signbit(f(-0.0f)));
  EXPECT_TRUE(std::isnan(f(kNan)));
}

TEST(LoopMath, Sigmoid) {
  EXPECT_ULP(worst_error(math::sigmoid, sigmoid_of), 2);
  const Evaluator f(math::sigmoid);
  EXPECT_EQ(f(0), 0.5f);
  EXPECT_EQ(f(kInf), 1);
  EXPECT_EQ(f(-kInf), 0);
  EXPECT_TRUE(std::isnan(f(kNan)));
}

TEST(LoopMath, Erf) {
  EXPECT_ULP(worst_error(math::erf, [](double x) { return std::erf(x); }), 1.8);
  const Evaluator f(math::erf);
  EXPECT_EQ(f(kInf), 1);
  EXPECT_EQ(f(-kInf), -1);
  EXPECT_TRUE(std::signbit(f(-0.0f)));
  EXPECT_TRUE(std::isnan(f(kNan)));
}

TEST(LoopMath, OtherFloatTypesGoByWayOfF32) {
  Context c;
  const Expr h = c.new_var({DType::kF16, 8});
  EXPECT_EQ(math::exp(h)->type, (Type{DType::kF16, 8}));
  EXPECT_EQ(math::exp(h), cast(math::exp(cast(h, DType::kF32)), DType::kF16));
}

}  // namespace
}  // namespace frit::loop
