// math.h against the C library in double (and long double for pow), over samples of all bit patterns: the
// largest error in ulp of the f32 result. FRIT_MATH_STRIDE=1 in the environment goes through all 2^32 values.
#include "loop/math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <set>

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

// |got - want| in units of the last place of want as an f32; infinite where only one of them is finite or
// NaN.
double error_ulp(float got, double want) {
  const float rounded = static_cast<float>(want);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) && std::isnan(got) ? 0 : HUGE_VAL;
  if (got == rounded) return 0;
  if (std::isinf(got) || std::isinf(rounded)) {
    // One step beyond the largest finite value counts as its neighbour.
    const double edge = std::ldexp(1.0, 128);
    const double a = std::isinf(got) ? std::copysign(edge, got) : got,
                 b = std::isinf(rounded) ? std::copysign(edge, want) : want;
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
Worst worst_error(const Unary& f, const std::function<double(double)>& reference, float lo = -kInf,
                  float hi = kInf) {
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

#define EXPECT_ULP(worst, bound)                                                            \
  do {                                                                                      \
    const Worst w_ = (worst);                                                               \
    EXPECT_LE(w_.ulp, bound) << "at " << w_.at << " got " << w_.got << " want " << w_.want; \
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

TEST(LoopMath, Log1p) {
  EXPECT_ULP(worst_error(math::log1p, [](double x) { return std::log1p(x); }), 1.8);
  const Evaluator f(math::log1p);
  EXPECT_EQ(f(-1), -kInf);
  EXPECT_EQ(f(kInf), kInf);
  EXPECT_TRUE(std::isnan(f(-1.5f)));
  EXPECT_TRUE(std::signbit(f(-0.0f)));
}

TEST(LoopMath, Sinh) {
  EXPECT_ULP(worst_error(math::sinh, [](double x) { return std::sinh(x); }), 2);
}
TEST(LoopMath, Cosh) {
  EXPECT_ULP(worst_error(math::cosh, [](double x) { return std::cosh(x); }), 1.6);
}
TEST(LoopMath, Asinh) {
  EXPECT_ULP(worst_error(math::asinh, [](double x) { return std::asinh(x); }), 2);
}
TEST(LoopMath, Acosh) {
  EXPECT_ULP(worst_error(math::acosh, [](double x) { return std::acosh(x); }), 2);
}
TEST(LoopMath, Atanh) {
  EXPECT_ULP(worst_error(math::atanh, [](double x) { return std::atanh(x); }), 2);
}
TEST(LoopMath, Asin) {
  EXPECT_ULP(worst_error(math::asin, [](double x) { return std::asin(x); }), 2);
}
TEST(LoopMath, Acos) {
  EXPECT_ULP(worst_error(math::acos, [](double x) { return std::acos(x); }), 1.4);
}
TEST(LoopMath, Atan) {
  EXPECT_ULP(worst_error(math::atan, [](double x) { return std::atan(x); }), 1.4);
}

TEST(LoopMath, SinInCodyWaiteRange) {
  EXPECT_ULP(worst_error(
                 math::sin, [](double x) { return std::sin(x); }, -0x1p16f, 0x1p16f),
             1.7);
}
TEST(LoopMath, Sin) {
  EXPECT_ULP(worst_error(math::sin, [](double x) { return std::sin(x); }), 1.7);
}
TEST(LoopMath, Cos) {
  EXPECT_ULP(worst_error(math::cos, [](double x) { return std::cos(x); }), 1.7);
}
TEST(LoopMath, Tan) {
  EXPECT_ULP(worst_error(math::tan, [](double x) { return std::tan(x); }), 2.1);
}

// Two arguments at once: pow over pairs of every kind.
struct PowSample {
  float x, y;
};
std::vector<float> pow_of(const std::vector<PowSample>& samples) {
  LoopFn fn;
  Builder b(fn);
  const Buffer xs = b.arg(DType::kF32, Access::kRead, b.integer(kLanes), 4),
               ys = b.arg(DType::kF32, Access::kRead, b.integer(kLanes), 4);
  const Buffer out = b.arg(DType::kF32, Access::kWrite, b.integer(kLanes), 4);
  Context& c = b.context();
  b.store(out, b.integer(0), math::pow(load(c, xs, b.integer(0), kLanes), load(c, ys, b.integer(0), kLanes)));
  b.finish();
  const auto interpreter = Interpreter::make(fn);
  EXPECT_TRUE(interpreter.ok()) << interpreter.error().text();
  std::vector<float> results;
  float x[kLanes] = {}, y[kLanes] = {}, z[kLanes] = {};
  const InterpBuffer args[] = {{x, sizeof x}, {y, sizeof y}, {z, sizeof z}};
  for (size_t i = 0; i < samples.size(); i += kLanes) {
    const size_t n = std::min<size_t>(kLanes, samples.size() - i);
    for (size_t k = 0; k < n; ++k) x[k] = samples[i + k].x, y[k] = samples[i + k].y;
    EXPECT_TRUE(interpreter->run(args, {}).ok());
    results.insert(results.end(), z, z + n);
  }
  return results;
}

TEST(LoopMath, PowHasAllSpecialCases) {
  const float values[] = {0.0f,        -0.0f,    1,         -1,     0.5f,    -0.5f,      2,
                          -2,          3,        -3,        2.5f,   -2.5f,   1e10f,      -1e10f,
                          16777216,    16777215, -16777215, 1e-40f, -1e-40f, 1.0000001f, 0.9999999f,
                          -1.0000001f, kInf,     -kInf,     kNan,   127,     128,        -149,
                          -150,        3.4e38f,  -3.4e38f,  1e-20f, 7};
  std::vector<PowSample> samples;
  for (const float x : values) {
    for (const float y : values) samples.push_back({x, y});
  }
  const std::vector<float> got = pow_of(samples);
  for (size_t i = 0; i < samples.size(); ++i) {
    const double want = std::pow(static_cast<double>(samples[i].x), static_cast<double>(samples[i].y));
    EXPECT_LE(error_ulp(got[i], want), 4)
        << samples[i].x << " ^ " << samples[i].y << " got " << got[i] << " want " << want;
    if (static_cast<float>(want) == 0) {
      EXPECT_EQ(std::signbit(got[i]), std::signbit(want)) << samples[i].x << " ^ " << samples[i].y;
    }
  }
}

TEST(LoopMath, Pow) {
  // Bases of all magnitudes with exponents that keep the result in range, so that errors show where they are
  // largest.
  std::mt19937_64 random(7);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::vector<PowSample> samples;
  const uint64_t count = (uint64_t{1} << 32) / (stride() * 4);
  for (uint64_t i = 0; i < count; ++i) {
    const float x = i % 4 == 0 ? static_cast<float>(1 + (uniform() - 0.5) * 0.01)
                               : std::bit_cast<float>(static_cast<uint32_t>(random() % 0x7f800000));
    const double log = std::log2(static_cast<double>(x));
    const double y = log == 0 ? uniform() * 100 : (uniform() * 277 - 149) / log;
    samples.push_back({x, static_cast<float>(y)});
  }
  const std::vector<float> got = pow_of(samples);
  Worst worst;
  for (size_t i = 0; i < samples.size(); ++i) {
    const double want = static_cast<double>(
        std::pow(static_cast<long double>(samples[i].x), static_cast<long double>(samples[i].y)));
    const double error = error_ulp(got[i], want);
    if (error > worst.ulp) worst = {error, samples[i].x, got[i], want};
  }
  RecordProperty("ulp", std::to_string(worst.ulp));
  EXPECT_ULP(worst, 2.7);
}

// The costs that math.h states: operations but for constants, splats and casts of bits.
TEST(LoopMath, CostsAsStated) {
  const auto ops = [](Expr e) {
    std::set<const ExprNode*> seen;
    int count = 0;
    const std::function<void(const ExprNode*)> walk = [&](const ExprNode* n) {
      if (!n || !seen.insert(n).second) return;
      count += n->a && n->kind != ExprKind::kBitcast && n->kind != ExprKind::kSplat;
      walk(n->a);
      walk(n->b);
      walk(n->c);
    };
    walk(e.node);
    return count;
  };
  Context c;
  const Expr x = c.new_var({DType::kF32, 16}), y = c.new_var({DType::kF32, 16});
  EXPECT_EQ(ops(math::exp(x)), 16);
  EXPECT_EQ(ops(math::exp_nonpositive(x)), 15);
  EXPECT_EQ(ops(math::exp2(x)), 15);
  EXPECT_EQ(ops(math::expm1(x)), 33);
  EXPECT_EQ(ops(math::log(x)), 27);
  EXPECT_EQ(ops(math::tanh(x)), 22);
  EXPECT_EQ(ops(math::sigmoid(x)), 29);
  EXPECT_EQ(ops(math::erf(x)), 25);
  EXPECT_EQ(ops(math::log1p(x)), 35);
  EXPECT_EQ(ops(math::sinh(x)), 34);
  EXPECT_EQ(ops(math::cosh(x)), 24);
  EXPECT_EQ(ops(math::asinh(x)), 62);
  EXPECT_EQ(ops(math::acosh(x)), 67);
  EXPECT_EQ(ops(math::atanh(x)), 47);
  EXPECT_EQ(ops(math::sin(x)), 103);
  EXPECT_EQ(ops(math::cos(x)), 102);
  EXPECT_EQ(ops(math::tan(x)), 111);
  EXPECT_EQ(ops(math::asin(x)), 18);
  EXPECT_EQ(ops(math::acos(x)), 23);
  EXPECT_EQ(ops(math::atan(x)), 20);
  EXPECT_EQ(ops(math::pow(x, y)), 95);
}

TEST(LoopMath, OtherFloatTypesGoByWayOfF32) {
  Context c;
  const Expr h = c.new_var({DType::kF16, 8});
  EXPECT_EQ(math::exp(h)->type, (Type{DType::kF16, 8}));
  EXPECT_EQ(math::exp(h), cast(math::exp(cast(h, DType::kF32)), DType::kF16));
}

}  // namespace
}  // namespace frit::loop
