// Random functions by the interpreter and by machine code: the same bits in memory, NaN payloads aside.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include "codegen/cpu/compile.h"
#include "device/kernel_abi.h"
#include "device/object_loader.h"
#include "device/target.h"
#include "loop/build.h"
#include "loop/interp.h"
#include "loop/math.h"
#include "loop/scalar.h"
#include "loop/simplify.h"
#include "loop/text.h"
#include "loop/verify.h"

namespace frit::loop {
namespace {

constexpr int kTypes = 13;
constexpr int64_t kElements = 256;

uint64_t seed() {
  const char* text = std::getenv("FRIT_TEST_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 4711;
}

// Typed expressions over one input buffer per dtype. What the header leaves undefined is avoided by
// construction.
class Generator {
 public:
  Generator(Builder& b, uint64_t seed, std::vector<Buffer> inputs)
      : b_(b), c_(b.context()), random_(seed), inputs_(std::move(inputs)) {}
  int64_t draw(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  DType dtype() { return static_cast<DType>(draw(kTypes)); }
  int32_t lanes() {
    static constexpr int32_t kLanes[] = {1, 1, 2, 4, 8, 16, 3, 32};
    return kLanes[draw(8)];
  }

  Expr value(Type t, int depth) {
    if (depth <= 0) return leaf(t);
    switch (draw(14)) {
      case 0:
        return leaf(t);
      case 1:
        return any_cast(t, depth);
      case 2:
        return select(value({DType::kBool, t.lanes}, depth - 1), value(t, depth - 1), value(t, depth - 1));
      case 3:
        return t.lanes > 1 ? splat(value({t.dtype, 1}, depth - 1), t.lanes) : leaf(t);
      case 4:
        return shuffled(t, depth);
      case 5:
        return t.lanes == 1 ? reduced(t, depth) : value(t, depth - 1);
      case 6:
      case 7:
        return one_operand(t, depth);
      case 8:
        return t.dtype == DType::kBool ? compared(t, depth)
               : is_float(t.dtype)     ? fma(value(t, depth - 1), value(t, depth - 1), value(t, depth - 1))
                                       : two_operands(t, depth);
      case 9:
        return same_bits(t, depth);
      case 10:
        return t.dtype == DType::kBool ? compared(t, depth) : two_operands(t, depth);
      default:
        return two_operands(t, depth);
    }
  }
  Expr index(int32_t lanes) {  // within the buffers
    if (lanes == 1) return b_.integer(draw(kElements - 40));
    if (lanes > 48 || draw(3)) return ramp(b_.integer(draw(64)), lanes > 32 ? 1 : draw(5), lanes);
    const Expr loaded =
        load(c_, inputs_[static_cast<size_t>(DType::kU8)], b_.integer(draw(kElements - lanes)), lanes);
    return cast(loaded, draw(2) ? DType::kI64 : DType::kI32);
  }

 private:
  Expr leaf(Type t) {
    if (draw(4) == 0) return const_bits(c_, static_cast<int64_t>(random_()) >> draw(60), t);
    const Buffer& in = inputs_[static_cast<size_t>(t.dtype)];
    const Expr mask = draw(4) == 0 ? value({DType::kBool, t.lanes}, 1) : Expr{};
    if (t.lanes > 1 && draw(3) == 0) return load(c_, in, index(t.lanes), t.lanes, mask);
    return load(c_, in, b_.integer(draw(kElements - t.lanes + 1)), t.lanes, mask);
  }
  Expr any_cast(Type t, int depth) { return cast(value({dtype(), t.lanes}, depth - 1), t.dtype); }
  Expr shuffled(Type t, int depth) {
    const int32_t n = std::max<int32_t>(1, lanes()), m = std::max<int32_t>(1, lanes());
    std::vector<int32_t> picks;
    for (int32_t i = 0; i < t.lanes; ++i) picks.push_back(static_cast<int32_t>(draw(n + m)));
    return shuffle(value({t.dtype, n}, depth - 1), value({t.dtype, m}, depth - 1), picks);
  }
  Expr reduced(Type t, int depth) {
    static constexpr OpCode kOps[] = {OpCode::kAdd, OpCode::kMul, OpCode::kMin, OpCode::kMax,
                                      OpCode::kAnd, OpCode::kOr,  OpCode::kXor};
    OpCode op = kOps[draw(7)];
    while (!op_allowed(op, t.dtype)) op = kOps[draw(7)];
    static constexpr int32_t kLanes[] = {2, 4, 8, 16};
    return reduce(op, value({t.dtype, kLanes[draw(4)]}, depth - 1));
  }
  Expr same_bits(Type t, int depth) {
    if (t.dtype == DType::kBool) return value(t, depth - 1);
    const DType from = dtype();
    const size_t bytes = static_cast<size_t>(t.lanes) * dtype_bytes(t.dtype);
    // Not from floats: a NaN's payload is nobody's promise.
    if (from == DType::kBool || is_float(from) || bytes % dtype_bytes(from) != 0 ||
        bytes / dtype_bytes(from) > 64)
      return value(t, depth - 1);
    return bitcast(value({from, static_cast<int32_t>(bytes / dtype_bytes(from))}, depth - 1), t.dtype);
  }
  Expr one_operand(Type t, int depth) {
    OpCode op = static_cast<OpCode>(draw(static_cast<int64_t>(OpCode::kRoundEven) + 1));
    while (!op_allowed(op, t.dtype)) op = t.dtype == DType::kBool ? OpCode::kNot : OpCode::kNeg;
    return unary(op, value(t, depth - 1));
  }
  Expr compared(Type t, int depth) {
    const Type operand{dtype(), t.lanes};
    OpCode op = static_cast<OpCode>(static_cast<int64_t>(OpCode::kEq) + draw(6));
    if (!op_allowed(op, operand.dtype)) op = OpCode::kNe;
    return binary(op, value(operand, depth - 1), value(operand, depth - 1));
  }
  Expr two_operands(Type t, int depth) {
    OpCode op = static_cast<OpCode>(static_cast<int64_t>(OpCode::kAdd) + draw(15));
    while (!op_allowed(op, t.dtype)) op = static_cast<OpCode>(static_cast<int64_t>(OpCode::kAdd) + draw(15));
    const Expr a = value(t, depth - 1);
    Expr b = value(t, depth - 1);
    const int64_t width = static_cast<int64_t>(dtype_bytes(t.dtype)) * 8;
    if (op == OpCode::kShl || op == OpCode::kLShr || op == OpCode::kAShr) {
      b = binary(OpCode::kAnd, b, int_const(c_, width - 1, t.dtype, t.lanes));
    } else if (!is_float(t.dtype) && (op == OpCode::kDiv || op == OpCode::kRem || op == OpCode::kFloorDiv ||
                                      op == OpCode::kFloorMod)) {
      // Not zero and not -1: bit 0 on, and bit 1 off.
      b = binary(OpCode::kAnd, binary(OpCode::kOr, b, int_const(c_, 1, t.dtype, t.lanes)),
                 int_const(c_, ~int64_t{2}, t.dtype, t.lanes));
      if (draw(2)) b = int_const(c_, draw(2) ? 8 : 7, t.dtype, t.lanes);
    }
    return binary(op, a, b);
  }

  Builder& b_;
  Context& c_;
  std::mt19937_64 random_;
  std::vector<Buffer> inputs_;
};

// Memory of one run: inputs of each dtype, then outputs.
struct Memory {
  std::vector<std::vector<uint8_t>> buffers;
  std::vector<void*> pointers() {
    std::vector<void*> p;
    for (auto& b : buffers) p.push_back(b.data());
    return p;
  }
};
int64_t random_bits(DType t, std::mt19937_64& random) {
  const double special[] = {0.0, -0.0, 1,    -1,    0.5,      2.5,       -3.5, 1e-40, -65504, 65520,
                            3e9, -3e9, 1e19, -1e19, HUGE_VAL, -HUGE_VAL, NAN,  127.5, 300};
  switch (random() % 4) {
    case 0:
      return is_float(t) ? fold_cast(DType::kF64, t, to_bits(special[random() % 19]))
                         : canonical_bits(static_cast<int64_t>(random() % 7) - 3, t);
    case 1:
      return canonical_bits(static_cast<int64_t>(random()), t);
    default:
      if (!is_float(t)) return canonical_bits(static_cast<int64_t>(random()) >> (random() % 60), t);
      return fold_cast(DType::kF64, t,
                       to_bits(static_cast<double>(static_cast<int64_t>(random()) >> 40) / 4096.0));
  }
}
Memory random_memory(uint64_t seed) {
  std::mt19937_64 random(seed);
  Memory m;
  for (int t = 0; t < kTypes; ++t) {
    const size_t size = dtype_bytes(static_cast<DType>(t));
    std::vector<uint8_t> bytes(size * kElements);
    for (int64_t i = 0; i < kElements; ++i) {
      int64_t bits = random_bits(static_cast<DType>(t), random);
      if (static_cast<DType>(t) == DType::kU8 && bits > 200) bits -= 100;  // the gathers' indices
      std::memcpy(bytes.data() + static_cast<size_t>(i) * size, &bits, size);
    }
    m.buffers.push_back(bytes);
  }
  for (int t = 0; t < kTypes; ++t)
    m.buffers.emplace_back(dtype_bytes(static_cast<DType>(t)) * kElements, uint8_t{0});
  return m;
}
bool same_element(DType t, const uint8_t* a, const uint8_t* b) {
  int64_t x = 0, y = 0;
  std::memcpy(&x, a, dtype_bytes(t));
  std::memcpy(&y, b, dtype_bytes(t));
  if (x == y) return true;
  if (!is_float(t)) return false;
  const auto is_nan = [&](int64_t bits) {
    return std::isnan(from_bits<double>(fold_cast(t, DType::kF64, bits)));
  };
  return is_nan(x) && is_nan(y);
}

struct Function {
  LoopFn fn;
  std::vector<Buffer> inputs, outputs;
};
Function declare() {
  Function f;
  f.fn.family = "random";
  Builder b(f.fn);
  for (int t = 0; t < kTypes; ++t) {
    Buffer in = b.arg(static_cast<DType>(t), Access::kRead, b.integer(kElements),
                      static_cast<int32_t>(dtype_bytes(static_cast<DType>(t))));
    f.inputs.push_back(in);
  }
  for (int t = 0; t < kTypes; ++t) {
    f.outputs.push_back(b.arg(static_cast<DType>(t), Access::kWrite, b.integer(kElements),
                              static_cast<int32_t>(dtype_bytes(static_cast<DType>(t)))));
  }
  return f;
}

void check(const LoopFn& fn, uint64_t which, const device::Target& target) {
  const std::string where =
      "seed " + std::to_string(seed()) + " case " + std::to_string(which) + "\n" + print(fn);
  const Status verified = verify(fn);
  ASSERT_TRUE(verified.ok()) << where << verified.error().text();
  Memory want = random_memory(which), got = random_memory(which);
  const auto interpreter = Interpreter::make(fn);
  ASSERT_TRUE(interpreter.ok()) << where << interpreter.error().text();
  std::vector<InterpBuffer> args;
  for (auto& b : want.buffers) args.push_back({b.data(), static_cast<int64_t>(b.size())});
  const auto ran = interpreter->run(args, {});
  ASSERT_TRUE(ran.ok()) << where << ran.error().text();

  const auto object = codegen::compile_kernel(fn, "frit_random_0", target, {});
  ASSERT_TRUE(object.ok()) << where << object.error().text();
  const auto loader = device::ObjectLoader::make();
  ASSERT_TRUE(loader.ok());
  const auto loaded = loader->load({reinterpret_cast<const std::byte*>(object->data()), object->size()});
  ASSERT_TRUE(loaded.ok()) << where << loaded.error().text();
  const auto entry =
      reinterpret_cast<device::KernelEntry>(const_cast<void*>((*loaded)->symbol("frit_random_0")));
  ASSERT_TRUE(entry);
  std::vector<void*> pointers = got.pointers();
  std::vector<int64_t> scratch(static_cast<size_t>(fn.scratch_bytes) / 8 + 16);
  int64_t error[device::kErrorWords] = {};
  const device::KernelArgs kernel_args{pointers.data(), nullptr, 0, 1, scratch.data(), error};
  ASSERT_EQ(entry(&kernel_args), 0) << where;
  for (int t = 0; t < kTypes; ++t) {
    const DType dtype = static_cast<DType>(t);
    const size_t size = dtype_bytes(dtype), at = static_cast<size_t>(kTypes + t);
    for (size_t i = 0; i < static_cast<size_t>(kElements); ++i) {
      const uint8_t* a = got.buffers[at].data() + i * size;
      const uint8_t* b = want.buffers[at].data() + i * size;
      int64_t x = 0, y = 0;
      std::memcpy(&x, a, size);
      std::memcpy(&y, b, size);
      ASSERT_TRUE(same_element(dtype, a, b))
          << where << target.name << ": " << dtype_name(dtype) << " element " << i << ": machine " << std::hex
          << x << ", interpreter " << y;
    }
  }
}

std::vector<device::Target> targets() {
  std::vector<device::Target> out{device::host_target()};
  if (auto v3 = device::parse_target("cpu:x86-64-v3"); v3.ok()) out.push_back(*v3);
  return out;
}

TEST(LoopEmit, RandomExpressions) {
  const auto on = targets();
  const int count = std::getenv("FRIT_TEST_PROBLEMS") ? std::atoi(std::getenv("FRIT_TEST_PROBLEMS")) : 100;
  for (int n = 0; n < count && !HasFatalFailure(); ++n) {
    Function f = declare();
    LoopFn fn = f.fn;
    Builder b(fn);
    Generator g(b, seed() * 1000003 + static_cast<uint64_t>(n), f.inputs);
    for (int s = 0; s < 4; ++s) {
      const Type t{g.dtype(), g.lanes()};
      const Expr value = g.draw(2) ? b.let(g.value(t, 4)) : g.value(t, 4);
      const Expr mask = g.draw(4) == 0 ? g.value({DType::kBool, t.lanes}, 2) : Expr{};
      const Expr index = g.draw(3) == 0 ? g.index(t.lanes) : b.integer(s * 40);
      b.store(f.outputs[static_cast<size_t>(t.dtype)], index, value, mask);
    }
    b.finish();
    check(fn, static_cast<uint64_t>(n), on[static_cast<size_t>(n) % on.size()]);
    if (n % 4 == 0) check(simplify(fn), static_cast<uint64_t>(n), on[0]);
  }
}

TEST(LoopEmit, MathFunctions) {
  using Function1 = Expr (*)(Expr);
  const Function1 functions[] = {math::exp,   math::exp_nonpositive,
                                 math::exp2,  math::expm1,
                                 math::log,   math::log1p,
                                 math::tanh,  math::sigmoid,
                                 math::erf,   math::sinh,
                                 math::cosh,  math::asinh,
                                 math::acosh, math::atanh,
                                 math::sin,   math::cos,
                                 math::tan,   math::asin,
                                 math::acos,  math::atan};
  uint64_t which = 0;
  for (const device::Target& target : targets()) {
    for (const Function1 function : functions) {
      Function f = declare();
      LoopFn fn = f.fn;
      Builder b(fn);
      b.loop(0, 256, 16, LoopKind::kSerial, [&](Expr i) {
        b.store(f.outputs[0], i, function(load(b.context(), f.inputs[0], i, 16)));
        b.store(f.outputs[2], i, function(load(b.context(), f.inputs[2], i, 16)));
      });
      b.finish();
      check(fn, which++, target);
    }
    Function f = declare();
    LoopFn fn = f.fn;
    Builder b(fn);
    b.loop(0, 240, 16, LoopKind::kSerial, [&](Expr i) {
      b.store(f.outputs[0], i,
              math::pow(load(b.context(), f.inputs[0], i, 16), load(b.context(), f.inputs[0], i + 7, 16)));
    });
    b.finish();
    check(fn, which++, target);
  }
}

}  // namespace
}  // namespace frit::loop
