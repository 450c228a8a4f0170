// Run-time sizes: one kernel called with many extents and strides, by the interpreter and by machine code:
// the same bits, whatever the split of its tiles, with every buffer as long as the sizes say and a page
// without access behind it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <random>

#include "base/memory.h"
#include "codegen/cpu/compile.h"
#include "device/kernel_abi.h"
#include "device/object_loader.h"
#include "device/target.h"
#include "loop/build.h"
#include "loop/evaluate.h"
#include "loop/interp.h"
#include "loop/simplify.h"
#include "loop/text.h"
#include "loop/verify.h"

namespace frit::loop {
namespace {

using base::GuardedBuffer;
using base::GuardSide;
using Sizes = std::vector<int64_t>;

struct Case {
  const char* name;
  int32_t size_count;
  std::function<void(Builder&, const Sizes&)> build;
  // Elements of each argument, the last one written, for given sizes.
  std::function<Sizes(const Sizes&)> elements;
  std::vector<Sizes> sizes;
};

Expr size(Builder& b, int32_t id) { return size_param(b.context(), id); }
Expr ceil_div(Builder& b, Expr a, int64_t by) { return floor_div(a + (by - 1), b.integer(by)); }
Expr tail(Builder& b, Expr start, Expr limit, int32_t lanes) {
  return b.let(lt(ramp(start, 1, lanes), splat(limit, lanes)));
}

// out[r, c] = in[r, c] * 2 + r, rows s0, columns s1, the input's rows s2 apart; vectors and a masked tail.
void strided_rows(Builder& b, const Sizes&) {
  constexpr int32_t kLanes = 8;
  const Buffer in =
      b.arg(DType::kF32, Access::kRead, max(b.integer(0), (size(b, 0) - 1) * size(b, 2) + size(b, 1)), 4);
  const Buffer out = b.arg(DType::kF32, Access::kWrite, size(b, 0) * size(b, 1), 4);
  const Expr row = b.tile(size(b, 0)), piece = b.tile(ceil_div(b, size(b, 1), 2 * kLanes));
  const Expr begin = b.let(piece * (2 * kLanes)), end = b.let(min(begin + 2 * kLanes, size(b, 1)));
  const auto one = [&](Expr c, Expr mask) {
    const Expr x = load(b.context(), in, row * size(b, 2) + c, kLanes, mask);
    b.store(out, row * size(b, 1) + c, x * b.number(2) + splat(cast(row, DType::kF32), kLanes), mask);
  };
  b.loop(begin, end - (kLanes - 1), kLanes, LoopKind::kSerial, [&](Expr c) { one(c, {}); });
  const Expr rest = b.let(begin + floor_div(end - begin, b.integer(kLanes)) * kLanes);
  b.if_then(lt(rest, end), [&] { one(rest, tail(b, rest, end, kLanes)); });
}

// out[r] = sum over c of in[c, r]: the reduced axis is strided, its sum kept in a register across a loop of
// s1 steps; the sum is negated where s1 is odd.
void strided_sums(Builder& b, const Sizes&) {
  const Buffer in = b.arg(DType::kF64, Access::kRead, size(b, 0) * size(b, 1), 8);
  const Buffer out = b.arg(DType::kF64, Access::kWrite, size(b, 0), 8);
  const Expr r = b.tile(size(b, 0));
  const Buffer sum = b.local(Space::kRegister, DType::kF64, 1);
  const auto now = [&] { return load(b.context(), sum, b.integer(0)); };
  b.store(sum, b.integer(0), b.number(0, DType::kF64));
  b.loop(b.integer(0), size(b, 1), 1, LoopKind::kSerial,
         [&](Expr c) { b.store(sum, b.integer(0), now() + load(b.context(), in, c * size(b, 0) + r)); });
  b.if_then(eq(floor_mod(size(b, 1), b.integer(2)), b.integer(1)),
            [&] { b.store(sum, b.integer(0), unary(OpCode::kNeg, now())); });
  b.store(out, r, now());
}

// c[s0, s1] = a[s0, s2] b[s2, s1]: two rows by one vector in registers, ragged in both, scratch for a row of
// b.
void product(Builder& b, const Sizes&) {
  constexpr int32_t kLanes = 4, kRows = 2;
  const Expr m = size(b, 0), n = size(b, 1), k = size(b, 2);
  const Buffer a = b.arg(DType::kF32, Access::kRead, m * k, 4);
  const Buffer w = b.arg(DType::kF32, Access::kRead, k * n, 4);
  const Buffer c = b.arg(DType::kF32, Access::kWrite, m * n, 4);
  const Expr row = b.let(b.tile(ceil_div(b, m, kRows)) * kRows),
             column = b.let(b.tile(ceil_div(b, n, kLanes)) * kLanes);
  const Expr mask = tail(b, column, n, kLanes);
  const auto rows = [&](int64_t count) {
    const Buffer acc = b.local(Space::kRegister, DType::kF32, count, kLanes);
    const auto at = [&](int64_t i) { return load(b.context(), acc, b.integer(i), kLanes); };
    for (int64_t i = 0; i < count; ++i)
      b.store(acc, b.integer(i), float_const(b.context(), 0, DType::kF32, kLanes));
    b.loop(b.integer(0), k, 1, LoopKind::kSerial, [&](Expr t) {
      const Expr v = b.let(load(b.context(), w, t * n + column, kLanes, mask));
      for (int64_t i = 0; i < count; ++i)
        b.store(acc, b.integer(i), fma(splat(load(b.context(), a, (row + i) * k + t), kLanes), v, at(i)));
    });
    for (int64_t i = 0; i < count; ++i) b.store(c, (row + i) * n + column, at(i), mask);
  };
  b.if_then(
      le(row + kRows, m), [&] { rows(kRows); }, [&] { rows(1); });
}

// out[i] = table[index[i]] with a check against s1, bytes: no masked move on most targets. Scratch by way of
// a stack buffer larger than 4 KiB.
void gathered_bytes(Builder& b, const Sizes&) {
  constexpr int32_t kLanes = 16;
  const Buffer index = b.arg(DType::kI64, Access::kRead, size(b, 0), 8);
  const Buffer table = b.arg(DType::kU8, Access::kRead, size(b, 1), 1);
  const Buffer out = b.arg(DType::kU8, Access::kWrite, size(b, 0), 1);
  const Expr start = b.let(b.tile(ceil_div(b, size(b, 0), kLanes)) * kLanes);
  const Expr mask = tail(b, start, size(b, 0), kLanes);
  const Buffer kept = b.local(Space::kStack, DType::kI64, 1024);
  // Indices of any size become legal: the table has at least one element where there is an index.
  const Expr legal = floor_mod(load(b.context(), index, start, kLanes, mask), splat(size(b, 1), kLanes));
  b.store(kept, b.integer(64), legal);
  b.store(out, start, load(b.context(), table, load(b.context(), kept, b.integer(64), kLanes), kLanes, mask),
          mask);
}

const std::vector<Sizes> kMatrices = {{0, 5, 5},    {1, 0, 0},     {1, 1, 1},     {1, 17, 20},
                                      {2, 16, 16},  {3, 31, 31},   {5, 32, 37},   {7, 33, 33},
                                      {13, 7, 100}, {4, 100, 101}, {2, 257, 300}, {31, 3, 3}};

std::vector<Case> cases() {
  return {
      {"strided_rows", 3, strided_rows,
       [](const Sizes& s) {
         return Sizes{std::max<int64_t>(0, (s[0] - 1) * s[2] + s[1]), s[0] * s[1]};
       },
       kMatrices},
      {"strided_sums",
       2,
       strided_sums,
       [](const Sizes& s) {
         return Sizes{s[0] * s[1], s[0]};
       },
       {{0, 3}, {1, 0}, {1, 1}, {3, 7}, {17, 2}, {2, 64}, {100, 13}}},
      {"product", 3, product,
       [](const Sizes& s) {
         return Sizes{s[0] * s[2], s[2] * s[1], s[0] * s[1]};
       },
       kMatrices},
      {"gathered_bytes",
       2,
       gathered_bytes,
       [](const Sizes& s) {
         return Sizes{s[0], s[1], s[0]};
       },
       {{0, 0}, {1, 1}, {15, 3}, {16, 200}, {17, 256}, {100, 7}}},
  };
}

LoopFn function_of(const Case& c) {
  LoopFn fn;
  fn.family = c.name;
  fn.size_count = c.size_count;
  Builder b(fn);
  c.build(b, {});
  b.finish();
  return fn;
}

class Machine {
 public:
  Machine(const LoopFn& fn, const device::Target& target) {
    const auto object = codegen::compile_kernel(fn, "frit_sizes_0", target, {});
    EXPECT_TRUE(object.ok()) << object.error().text();
    if (!object.ok()) return;
    loaded_ = device::ObjectLoader::make()
                  .value_or_throw()
                  .load(std::as_bytes(std::span(*object)))
                  .value_or_throw();
    entry_ = reinterpret_cast<device::KernelEntry>(const_cast<void*>(loaded_->symbol("frit_sizes_0")));
  }
  device::KernelEntry entry() const { return entry_; }

 private:
  std::shared_ptr<const device::LoadedObject> loaded_;
  device::KernelEntry entry_ = nullptr;
};

// Arguments for one call: each against a page without access, filled from the seed but for the last.
std::vector<GuardedBuffer> make_arguments(const LoopFn& fn, const Sizes& elements, GuardSide side,
                                          uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<GuardedBuffer> out;
  for (size_t k = 0; k < elements.size(); ++k) {
    const size_t bytes = static_cast<size_t>(elements[k]) * dtype_bytes(fn.buffers[k].dtype);
    out.push_back(
        GuardedBuffer::make(bytes, static_cast<size_t>(fn.buffers[k].align_bytes), side).value_or_throw());
    if (k + 1 == elements.size()) continue;
    for (int64_t i = 0; i < elements[k]; ++i) {
      const int64_t v = static_cast<int64_t>(random() % 2001) - 1000;
      switch (fn.buffers[k].dtype) {
        case DType::kF32:
          out[k].as<float>()[i] = static_cast<float>(v) / 512;
          break;
        case DType::kF64:
          out[k].as<double>()[i] = static_cast<double>(v) / 512;
          break;
        case DType::kI64:
          out[k].as<int64_t>()[i] = v;
          break;
        default:
          out[k].as<uint8_t>()[i] = static_cast<uint8_t>(v);
          break;
      }
    }
  }
  return out;
}

void check(const Case& c, const LoopFn& fn, const device::Target& target) {
  const std::string where = std::string(c.name) + " on " + target.name + "\n" + print(fn);
  const Status verified = verify(fn);
  ASSERT_TRUE(verified.ok()) << where << verified.error().text();
  const auto interpreter = Interpreter::make(fn);
  ASSERT_TRUE(interpreter.ok()) << where;
  const Machine machine(fn, target);
  ASSERT_TRUE(machine.entry()) << where;
  uint64_t seed = 1;
  for (const Sizes& sizes : c.sizes) {
    for (const GuardSide side : {GuardSide::kFront, GuardSide::kEnd}) {
      const Sizes elements = c.elements(sizes);
      const auto want = make_arguments(fn, elements, GuardSide::kEnd, ++seed),
                 got = make_arguments(fn, elements, side, seed);
      std::vector<InterpBuffer> args;
      std::vector<void*> pointers;
      for (size_t k = 0; k < want.size(); ++k) {
        args.push_back({want[k].data(), static_cast<int64_t>(want[k].size_bytes())});
        pointers.push_back(got[k].data());
      }
      const auto ran = interpreter->run(args, sizes);
      ASSERT_TRUE(ran.ok()) << where << ran.error().text();
      const auto tiles = interpreter->tile_count(sizes);
      ASSERT_TRUE(tiles.ok());
      // In three pieces, the last one first.
      const auto scratch =
          GuardedBuffer::make(static_cast<size_t>(fn.scratch_bytes), 64, side).value_or_throw();
      int64_t error[device::kErrorWords] = {};
      const int64_t cuts[] = {0, *tiles / 3, *tiles / 2, *tiles};
      for (int piece = 2; piece >= 0; --piece) {
        const device::KernelArgs call{pointers.data(), sizes.data(),   cuts[piece],
                                      cuts[piece + 1], scratch.data(), error};
        ASSERT_EQ(machine.entry()(&call), 0) << where;
      }
      for (size_t k = 0; k < want.size(); ++k) {
        ASSERT_TRUE(got[k].check().ok()) << where << "argument " << k;
        if (want[k].size_bytes() == 0) continue;
        ASSERT_EQ(std::memcmp(want[k].data(), got[k].data(), want[k].size_bytes()), 0)
            << where << "argument " << k << " of sizes " << sizes[0] << ", " << sizes[1];
      }
    }
  }
}

TEST(LoopSizes, OneKernelForAllSizes) {
  for (const char* name : {"cpu", "cpu:x86-64-v3"}) {
    const auto target = device::parse_target(name).value_or_throw();
    for (const Case& c : cases()) {
      LoopFn fn = function_of(c);
      check(c, fn, target);
      check(c, simplify(fn), target);
      // And by way of text, as a kernel reaches the compiler.
      auto parsed = parse_loop_fn(print(fn));
      ASSERT_TRUE(parsed.ok()) << parsed.error().text();
      EXPECT_EQ(print(*parsed), print(fn));
      EXPECT_EQ(parsed->size_count, c.size_count);
    }
  }
}

// The interpreter's own checks with run-time sizes: arguments that are shorter than the sizes say.
TEST(LoopSizes, TheInterpreterChecksArgumentsAgainstSizes) {
  const Case c = cases()[0];
  const LoopFn fn = function_of(c);
  const auto interpreter = Interpreter::make(fn);
  ASSERT_TRUE(interpreter.ok());
  std::vector<float> in(10), out(10);
  const InterpBuffer args[] = {{in.data(), 40}, {out.data(), 40}};
  EXPECT_TRUE(interpreter->run(args, Sizes{2, 5, 5}).ok());
  EXPECT_EQ(*interpreter->tile_count(Sizes{2, 5, 5}), 2);
  EXPECT_FALSE(interpreter->run(args, Sizes{2, 5, 6}).ok());
  EXPECT_FALSE(interpreter->run(args, Sizes{3, 5, 5}).ok());
  EXPECT_FALSE(interpreter->run(args, Sizes{2, 5}).ok());
}

}  // namespace
}  // namespace frit::loop
