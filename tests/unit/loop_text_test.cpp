// Texts: what parses prints back, numbers are positions, malformed texts are errors with a place.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "loop/build.h"
#include "loop/scalar.h"
#include "loop/text.h"

namespace frit::loop {
namespace {

constexpr const char* kPointwise = R"(fn pointwise sizes=1 scratch=0 {
  arg b0 f32[(s0 * 64)] read align=64
  arg b1 f32[(s0 * 64)] write align=64 alias=0 in_place over_read
  tile v0 < s0
  for v1 = 0..64 step 16 {
    $0 = ((v0 * 64) + v1)
    let v2 = b0[$0].16
    b1[$0] = fma(v2, splat.16(2.0), max(v2, splat.16(0.0)))
  }
}
)";

constexpr const char* kEverything = R"(fn all sizes=2 scratch=4096 gpu {
  $0 = ((s0 * s1) + 1)
  arg b0 f16[$0] read align=2
  arg b1 i32[$0] read_write align=4
  tile v0 < floor_div((s0 + 15), 16)
  tile v1 < 3
  for v2 = 0..s1 step 1 gpu_block.1 {
    alloc b2 f32[128] shared align=64 {
      for v3:i32 = 0:i32..4:i32 step 1 gpu_thread.0 {
        barrier
        alloc b3 f32x8[4] register align=64 {
          for v4 = 0..4 step 1 unrolled {
            b3[v4] = splat.8(-0.0)
          }
          b3[0] = cast.f32(b0[ramp.8(v1, 2), splat.8((v1 < 3))])
        }
      }
    }
  }
}
)";

std::string round_trip(std::string_view text) {
  Result<LoopFn> fn = parse_loop_fn(text);
  EXPECT_TRUE(fn.ok()) << (fn.ok() ? "" : fn.error().text());
  return fn.ok() ? print(*fn) : "";
}

std::string with_body(const std::string& body) {
  return "fn t sizes=1 scratch=0 {\n  arg b0 f32[64] read align=4\n  arg b1 i64[64] read_write align=8\n"
         "  tile v0 < 4\n" +
         body + "}\n";
}

TEST(LoopText, ParsesAndPrintsBack) {
  EXPECT_EQ(round_trip(kPointwise), kPointwise);
  EXPECT_EQ(round_trip(kEverything), kEverything);
}

TEST(LoopText, PrintsEveryKindOfNodeBack) {
  const std::string text = with_body(R"(  let v1 = (v0 < 3)
  let v2 = select(v1, 1:u8, 255:u8)
  let v3 = cast.f16(v2)
  let v4 = bitcast.u8(splat.4(1.5))
  let v5 = reduce.add(b0[v0].8)
  let v6 = shuffle(b0[0].4, b0[4].4, [0 7 1 6])
  let v7 = b0[ramp.4(v0, 3), splat.4(v1)]
  let v8 = not(v1)
  let v9 = and(v1, (v5 != inf))
  let v10 = sqrt(abs(neg(round_even(v5))))
  let v11 = floor_mod(shl(v0, 1), 18446744073709551615:u64)
  let v12 = 0.1:f64
  let v13 = bits 2143289345:f32
  let v14 = -inf:bf16
  if v1 {
    b1[v0] = 1
  } else {
    b1[v0, v1] = rem(v0, 3)
  }
  fail 1 if (b1[v0] >= 64) with 1, b1[v0]
  alloc b2 f32x8[2] register align=64 {
    b2[0] = splat.8(1e+20)
    for v15:i32 = 0:i32..4:i32 step 2 unrolled {
      b2[1] = b2[0]
    }
  }
  alloc b3 f32[16] shared align=64 {
    for v16 = 0..4 step 1 gpu_block.1 {
      for v17 = 0..4 step 1 gpu_thread.0 {
        barrier
      }
    }
  }
)");
  EXPECT_EQ(round_trip(text), text);
}

TEST(LoopText, NumbersArePositions) {
  const std::string text =
      "fn t sizes=0 scratch=0 {\n  arg b0 f32[8] write align=4\n  tile v7 < 8\n  let v3 = (v7 + 1)\n  b0[v3] "
      "= 1.0\n}\n";
  EXPECT_EQ(round_trip(text),
            "fn t sizes=0 scratch=0 {\n  arg b0 f32[8] write align=4\n  tile v0 < 8\n  let v1 = (v0 + 1)\n  "
            "b0[v1] = 1.0\n}\n");
}

TEST(LoopText, OrderOfConstructionDoesNotShow) {
  const auto build = [](bool swapped) {
    LoopFn fn;
    fn.family = "t";
    Builder b(fn);
    const Buffer out = b.arg(DType::kI64, Access::kWrite, b.integer(64), 8);
    Expr x, y;
    const Expr t = b.tile(8);
    if (swapped)
      b.context().new_var({}), y = t * 3 + 5, x = t * 2 + 1;
    else
      x = t * 2 + 1, y = t * 3 + 5;
    b.store(out, t, (x * y + x) * (x * y));
    b.finish();
    return print(fn);
  };
  EXPECT_EQ(build(false), build(true));
}

TEST(LoopText, SharedPartsArePrintedOnce) {
  LoopFn fn;
  fn.family = "t";
  Builder b(fn);
  const Buffer out = b.arg(DType::kF32, Access::kWrite, b.integer(64), 4);
  Expr x = load(b.context(), out, b.tile(8));
  for (int i = 0; i < 200; ++i) x = x * x + x;
  b.store(out, b.integer(0), x);
  b.finish();
  const std::string text = print(fn);
  EXPECT_LT(text.size(), 20000u);
  EXPECT_EQ(round_trip(text), text);
}

TEST(LoopText, LongChainsParse) {
  LoopFn fn;
  Builder b(fn);
  const Buffer out = b.arg(DType::kF32, Access::kReadWrite, b.integer(4096), 4);
  Expr sum = b.number(0);
  for (int i = 0; i < 3000; ++i) sum = sum + load(b.context(), out, b.integer(i));
  b.store(out, b.integer(0), sum);
  b.finish();
  const std::string text = print(fn);
  EXPECT_EQ(round_trip(text), text);
}

TEST(LoopText, FloatsKeepTheirBits) {
  const DType types[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16};
  for (const DType dtype : types) {
    uint64_t state = 12345;
    for (int n = 0; n < 2000; ++n) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      int64_t bits = canonical_bits(static_cast<int64_t>(state >> (n % 3 ? 0 : 9)) ^ (n < 70 ? n : 0), dtype);
      if (n == 1) bits = 1;
      if (n == 2) bits = canonical_bits(-1, dtype);
      LoopFn fn;
      Builder b(fn);
      const Buffer out = b.arg(dtype, Access::kWrite, b.integer(1), 8);
      b.store(out, b.integer(0), const_bits(b.context(), bits, {dtype, 1}));
      b.finish();
      Result<LoopFn> back = parse_loop_fn(print(fn));
      ASSERT_TRUE(back.ok()) << back.error().text();
      ASSERT_EQ(back->body->body.at(0)->b->bits, bits) << print(fn);
    }
  }
}

TEST(LoopText, ErrorsNameThePlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "line 1, column 1: expected 'fn'"},
      {"fn t sizes=0 scratch=0 {", "expected a statement"},
      {"fn t sizes=0 scratch=0 {\n  let v0 = (1 + v1)\n}\n", "line 2, column 19: v1 is not bound"},
      {"fn t sizes=0 scratch=0 {\n  let v0 = 1\n  let v0 = 2\n}\n", "v0 is bound twice"},
      {"fn t sizes=0 scratch=0 {\n  b0[0] = 1\n}\n", "b0 is not declared"},
      {"fn t sizes=0 scratch=0 {\n  let v0 = $3\n}\n", "$3 is not defined"},
      {"fn t sizes=0 scratch=0 {\n  let v0 = 256:u8\n}\n", "does not fit"},
      {"fn t sizes=0 scratch=0 {\n  let v0 = frob(1)\n}\n", "unknown operation 'frob'"},
      {"fn t sizes=0 scratch=0 {\n  let v0 = splat.0(1)\n}\n", "lanes out of range"},
      {"fn t sizes=0 scratch=0 {\n  let v0 = (1 ? 2)\n}\n", "expected an operator"},
      {"fn t sizes=0 scratch=0 {\n  let v0 = -i\n}\n", "bad number"},
      {"fn t sizes=0 scratch=0 {\n  let v99999999 = 1\n}\n", "out of range"},
      {"fn t sizes=0 scratch=0 {\n  arg b1 f32[1] read align=4\n}\n", "numbered in order"},
      {"fn t sizes=0 scratch=0 {\n}\nx", "text after the function"},
  };
  for (const auto& [text, fragment] : cases) {
    const Result<LoopFn> fn = parse_loop_fn(text);
    ASSERT_FALSE(fn.ok()) << text;
    EXPECT_EQ(fn.error().code, Code::kCorrupt);
    EXPECT_NE(fn.error().message.find(fragment), std::string::npos) << text << "\n" << fn.error().message;
  }
}

TEST(LoopText, DeepTextsAreRefused) {
  std::string deep = "fn t sizes=0 scratch=0 {\n  let v0 = ";
  for (int i = 0; i < 100000; ++i) deep += "neg(";
  EXPECT_FALSE(parse_loop_fn(deep).ok());
  std::string tall = "fn t sizes=0 scratch=0 {\n  $0 = (s0 + 1)\n";
  for (int i = 1; i < 10000; ++i)
    tall += "  $" + std::to_string(i) + " = ($" + std::to_string(i - 1) + " + 1)\n";
  EXPECT_FALSE(parse_loop_fn(tall + "}\n").ok());
}

// Every truncation and many single-byte changes give an error or a function, never a crash.
TEST(LoopText, DamagedTextsNeverCrash) {
  const std::string text = kEverything;
  for (size_t n = 0; n < text.size(); ++n) {
    EXPECT_EQ(parse_loop_fn(text.substr(0, n)).ok(), n + 1 == text.size())
        << n;  // the last byte is a newline
    for (const char c : {'0', '(', '}', '.', 'x', ' ', '-'}) {
      std::string damaged = text;
      damaged[n] = c;
      if (const auto fn = parse_loop_fn(damaged); fn.ok()) {
        EXPECT_FALSE(print(*fn).empty());
      }
    }
  }
}

TEST(LoopText, Programs) {
  Program p;
  p.buffers = {{BufferRole::kInput, 0, 0},
               {BufferRole::kOutput, 0, 0},
               {BufferRole::kPrepared, 0, 256},
               {BufferRole::kScratch, 0, 64}};
  p.in_place = {-1};
  p.prepare.push_back({*parse_loop_fn(kPointwise), {0, 2}, 1, 4});
  p.phases.push_back({*parse_loop_fn(kPointwise), {2, 1}, 0, 1});
  const std::string text = print(p);
  Result<Program> back = parse_program(text);
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(print(*back), text);
  EXPECT_EQ(back->buffers, p.buffers);
  EXPECT_EQ(back->prepare.at(0).args, (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(back->phases.at(0).grain, 1);
  EXPECT_EQ(text_hash(p), text_hash(*back));
  p.phases[0].grain = 2;
  EXPECT_NE(text_hash(p), text_hash(*back));
  EXPECT_FALSE(parse_program(text.substr(0, text.size() - 5)).ok());
}

TEST(LoopText, BriefTextsAreBounded) {
  Context c;
  Expr x = c.new_var({DType::kF32, 1});
  EXPECT_EQ(brief(x * float_const(c, 2)), "(v0 * 2.0)");
  for (int i = 0; i < 100; ++i) x = x * x;
  EXPECT_LT(brief(x).size(), 2000u);
  EXPECT_EQ(brief(Expr{}), "null");
}

// The text crosses the border to the compiler once per kernel.
}  // namespace
}  // namespace frit::loop
