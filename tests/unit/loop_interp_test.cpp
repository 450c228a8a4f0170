// The interpreter: results, and each rule that a program can break at run time.
#include "loop/interp.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <numeric>

#include "loop/build.h"
#include "loop/text.h"

namespace frit::loop {
namespace {

struct Ran {
  std::string error;
  InterpFailure failure;
};

template <class... Ts>
Ran run(const std::string& text, std::vector<int64_t> sizes, InterpOptions options,
        std::vector<Ts>&... args) {
  const Result<LoopFn> fn = parse_loop_fn(text);
  if (!fn.ok()) return {fn.error().text(), {}};
  const Result<Interpreter> interpreter = Interpreter::make(*fn);
  if (!interpreter.ok()) return {interpreter.error().text(), {}};
  const std::vector<InterpBuffer> buffers{
      InterpBuffer{args.data(), static_cast<int64_t>(args.size() * sizeof(Ts))}...};
  const Result<InterpFailure> result = interpreter->run(buffers, sizes, options);
  if (!result.ok()) return {result.error().text(), {}};
  return {"", *result};
}

std::vector<float> iota(size_t n) {
  std::vector<float> v(n);
  std::iota(v.begin(), v.end(), 0.0f);
  return v;
}

constexpr const char* kMatmul = R"(fn mm sizes=3 scratch=0 {
  arg b0 f32[(s0 * s2)] read align=4
  arg b1 f32[(s2 * s1)] read align=4
  arg b2 f32[(s0 * s1)] write align=4
  tile v0 < s0
  for v1 = 0..s1 step 4 {
    let v2 = (ramp.4(v1, 1) < splat.4(s1))
    alloc b3 f32x4[1] register align=16 {
      b3[0] = splat.4(0.0)
      for v3 = 0..s2 step 1 {
        b3[0] = fma(splat.4(b0[((v0 * s2) + v3)]), b1[((v3 * s1) + v1), v2].4, b3[0])
      }
      b2[((v0 * s1) + v1), v2] = b3[0]
    }
  }
}
)";

TEST(LoopInterp, MatmulWithMaskedTail) {
  const int64_t m = 5, n = 7, k = 3;
  std::vector<float> a = iota(m * k), b = iota(k * n), c(m * n, -1);
  const Ran ran = run(kMatmul, {m, n, k}, {}, a, b, c);
  ASSERT_EQ(ran.error, "");
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float want = 0;
      for (int64_t x = 0; x < k; ++x) want = std::fma(a[i * k + x], b[x * n + j], want);
      EXPECT_EQ(c[i * n + j], want) << i << "," << j;
    }
  }
}

TEST(LoopInterp, AnySplitOfTilesGivesTheSame) {
  const std::vector<int64_t> sizes{5, 7, 3};
  std::vector<float> a = iota(15), b = iota(21), whole(35), parts(35);
  ASSERT_EQ(run(kMatmul, sizes, {}, a, b, whole).error, "");
  const Interpreter interpreter = *Interpreter::make(*parse_loop_fn(kMatmul));
  const InterpBuffer args[] = {{a.data(), 60}, {b.data(), 84}, {parts.data(), 140}};
  for (const auto& [first, last] : {std::pair<int64_t, int64_t>{3, 5}, {0, 0}, {0, 1}, {1, 3}, {5, 5}}) {
    ASSERT_TRUE(interpreter.run(args, sizes, first, last).ok());
  }
  EXPECT_EQ(whole, parts);
  EXPECT_FALSE(interpreter.run(args, sizes, 4, 6).ok());
  EXPECT_FALSE(interpreter.run(args, sizes, -1, 2).ok());
}

TEST(LoopInterp, TilesAreRowMajor) {
  const std::string text =
      "fn t sizes=1 scratch=0 {\n  arg b0 i64[64] write align=8\n  tile v0 < s0\n  tile v1 < 3\n  b0[((v0 * "
      "3) + v1)] = ((v0 * 10) + v1)\n}\n";
  std::vector<int64_t> out(64, -1);
  ASSERT_EQ(run(text, {2}, {}, out).error, "");
  EXPECT_EQ((std::vector<int64_t>(out.begin(), out.begin() + 7)),
            (std::vector<int64_t>{0, 1, 2, 10, 11, 12, -1}));
  std::vector<int64_t> none(64, -1);
  ASSERT_EQ(run(text, {0}, {}, none).error, "");
  ASSERT_EQ(run(text, {-4}, {}, none).error, "");
  EXPECT_EQ(none[0], -1);
}

std::string over(const std::string& body) {
  return "fn t sizes=1 scratch=0 {\n  arg b0 f32[8] read align=4\n  arg b1 f32[8] write align=4\n  arg b2 "
         "i64[4] read_write align=8\n" +
         body + "}\n";
}

TEST(LoopInterp, BrokenRulesNameTheNode) {
  const std::pair<std::string, const char*> cases[] = {
      {over("b1[s0] = 1.0"), "'b1[s0] = 1.0': index is outside of the buffer: 8 of 8"},
      {over("b1[0] = b0[(0 - s0)]"), "index is outside of the buffer: -8 of 8"},
      {over("b1[0] = reduce.add(b0[5].4)"), "'b0[5].4': index is outside of the buffer: 8 of 8"},
      {over("b1[ramp.4(s0, -8)] = splat.4(1.0)"), "outside of the buffer: 8 of 8"},
      {over("let v0 = b0[ramp.4(2, 2)]"), "outside of the buffer: 8 of 8"},
      {over("b2[0] = floor_div(1, (s0 - 8))"), "undefined division or shift by 0"},
      {over("b2[0] = shl(1, (s0 * 8))"), "undefined division or shift by 64"},
      {over("alloc b3 f32[4] register align=4 {\nb1[0] = b3[2]\n}"),
       "'b3[2]': element was never written: 2 of 4"},
      {over("alloc b3 f32[8] stack align=4 {\nb3[0] = splat.4(1.0)\nb1[0] = b3[1].4\n}"),
       "element was never written: 4 of 8"},
      {over("for v0 = 0..2 step 1 {\nalloc b3 f32[1] register align=4 {\nif (v0 == 0) {\nb3[0] = "
            "1.0\n}\nb1[0] = b3[0]\n}\n}"),
       "never written: 0 of 1"},
  };
  for (const auto& [text, fragment] : cases) {
    std::vector<float> a(8), b(8);
    std::vector<int64_t> c(4);
    const Ran ran = run(text, {8}, {}, a, b, c);
    EXPECT_NE(ran.error.find(fragment), std::string::npos) << text << "\nsays: " << ran.error;
  }
}

TEST(LoopInterp, MasksGuardMemory) {
  std::vector<float> a = iota(8), b(8, -1);
  std::vector<int64_t> c(4);
  // Lanes beyond the end are masked off: they read 0 and write nothing.
  const std::string text = over(
      "let v0 = (ramp.8(4, 1) < splat.8(8))\n"
      "let v1 = b0[4, v0].8\n"
      "b1[4, v0] = (v1 + splat.8(1.0))\n"
      "b1[0] = reduce.add(v1)\n"
      "b1[ramp.4(1, 100), (ramp.4(1, 100) < splat.4(8))] = splat.4(9.0)\n");
  ASSERT_EQ(run(text, {8}, {}, a, b, c).error, "");
  EXPECT_EQ(b, (std::vector<float>{22, 9, -1, -1, 5, 6, 7, 8}));
}

TEST(LoopInterp, UninitialisedMayBeAllowed) {
  std::vector<float> a(8), b(8);
  std::vector<int64_t> c(4);
  const std::string text = over("alloc b3 f32[8] stack align=4 {\nb3[0] = 1.0\nb1[0] = b3[0].2\n}");
  ASSERT_EQ(run(text, {8}, {.allow_uninitialised = true}, a, b, c).error, "");
  EXPECT_EQ(b[0], 1.0f);
  EXPECT_TRUE(std::isnan(b[1]));
}

TEST(LoopInterp, OverReadOnlyWhereStated) {
  for (const bool allowed : {false, true}) {
    const std::string t =
        std::string("fn t sizes=0 scratch=0 {\n  arg b0 f32[3] read align=4") +
        (allowed ? " over_read" : "") +
        "\n  arg b1 f32[1] write align=4\n  let v0 = b0[2].4\n  b1[0] = shuffle(v0, v0, [0])\n}\n";
    std::vector<float> a = iota(3), b(1);
    EXPECT_EQ(run(t, {}, {}, a, b).error.empty(), allowed);
    if (allowed) {
      EXPECT_EQ(b[0], 2.0f);
    }
  }
}

TEST(LoopInterp, FailStopsWithItsValues) {
  std::vector<float> a(8), b(8);
  std::vector<int64_t> c{0, 1, 7, 2};
  const std::string text =
      over("for v0 = 0..4 step 1 {\nfail 1 if (b2[v0] >= 4) with b2[v0], 4\nb1[v0] = 1.0\n}");
  const Ran ran = run(text, {8}, {}, a, b, c);
  ASSERT_EQ(ran.error, "");
  EXPECT_EQ(ran.failure.code, kIndexOutOfRange);
  EXPECT_EQ(ran.failure.a, 7);
  EXPECT_EQ(ran.failure.b, 4);
  EXPECT_EQ(b, (std::vector<float>{1, 1, 0, 0, 0, 0, 0, 0}));
}

TEST(LoopInterp, ArgumentsMustFitTheSignature) {
  std::vector<float> small(4), b(8);
  std::vector<int64_t> c(4);
  EXPECT_NE(
      run(over(""), {8}, {}, small, b, c).error.find("argument 0 has 16 bytes, expected 8 elements of f32"),
      std::string::npos);
  EXPECT_NE(run(over(""), {8}, {}, b, c).error.find("3 arguments and 1 sizes, got 2 and 1"),
            std::string::npos);
}

TEST(LoopInterp, LoadsAreReadAgainInEachStatement) {
  std::vector<float> a(8), b(8);
  std::vector<int64_t> c{1, 0, 0, 0};
  const std::string text = over(
      "b2[0] = (b2[0] + 1)\nb2[1] = (b2[0] + 1)\nlet v0 = (b2[0] + 1)\nb2[0] = 100\nb2[2] = v0\nb2[3] = "
      "(b2[0] + 1)\n");
  ASSERT_EQ(run(text, {8}, {}, a, b, c).error, "");
  EXPECT_EQ(c, (std::vector<int64_t>{100, 3, 3, 101}));
}

TEST(LoopInterp, ScopesReuseSlotsSafely) {
  std::vector<float> a(8), b(8);
  std::vector<int64_t> c(4);
  // The same expression inside and after a branch that is not taken, and lets that outlive inner scopes.
  const std::string text = over(
      "if (s0 < 0) {\nb2[0] = ((s0 * 3) + 1)\n}\n"
      "b2[1] = ((s0 * 3) + 1)\n"
      "let v0 = ((s0 * 5) + 1)\n"
      "for v1 = 0..3 step 1 {\nlet v2 = ((v1 * 7) + v0)\nb2[0] = v2\n}\n"
      "b2[2] = v0\nb2[3] = ((s0 * 5) + 1)\n");
  ASSERT_EQ(run(text, {8}, {}, a, b, c).error, "");
  EXPECT_EQ(c, (std::vector<int64_t>{55, 25, 41, 41}));
}

TEST(LoopInterp, NarrowLoopsAndShuffles) {
  const std::string text =
      "fn t sizes=0 scratch=0 {\n  arg b0 i32[8] write align=4\n"
      "  for v0:i32 = 1:i32..8:i32 step 3 unrolled {\n    b0[v0] = (v0 * 2:i32)\n  }\n"
      "  b0[2] = shuffle(ramp.4(10:i32, 1), splat.2(7:i32), [3 4])\n"
      "  b0[0] = reduce.max(ramp.4(5:i32, -2))\n}\n";
  std::vector<int32_t> out(8, -1);
  ASSERT_EQ(run(text, {}, {}, out).error, "");
  EXPECT_EQ(out, (std::vector<int32_t>{5, 2, 13, 7, 8, -1, -1, 14}));
}

TEST(LoopInterp, ReductionIsTheStatedTree) {
  const std::string text =
      "fn t sizes=0 scratch=0 {\n  arg b0 f32[4] read align=4\n  arg b1 f32[1] write align=4\n  b1[0] = "
      "reduce.add(b0[0].4)\n}\n";
  std::vector<float> a{1e8f, 1.0f, -1e8f, 1.0f}, out(1);
  ASSERT_EQ(run(text, {}, {}, a, out).error, "");
  EXPECT_EQ(out[0], 2.0f);  // (a0 + a2) + (a1 + a3)
}

constexpr const char* kReverse = R"(fn rev sizes=1 scratch=0 gpu {
  arg b0 f32[(s0 * 32)] read align=4
  arg b1 f32[(s0 * 32)] write align=4
  for v0 = 0..s0 step 1 gpu_block.0 {
    alloc b2 f32[32] shared align=64 {
      for v1 = 0..4 step 1 gpu_thread.1 {
        for v2 = 0..8 step 1 gpu_thread.0 {
          let v3 = ((v1 * 8) + v2)
          b2[v3] = b0[((v0 * 32) + v3)]
          barrier
          alloc b3 f32[1] register align=4 {
            b3[0] = b2[(31 - v3)]
            barrier
            b2[v3] = (b3[0] + 1.0)
          }
          barrier
          b1[((v0 * 32) + v3)] = b2[v3]
        }
      }
    }
  }
}
)";

TEST(LoopInterp, ThreadsMeetAtBarriers) {
  for (const bool reverse : {false, true}) {
    std::vector<float> a = iota(96), b(96);
    ASSERT_EQ(run(kReverse, {3}, {.reverse = reverse}, a, b).error, "");
    for (size_t i = 0; i < 96; ++i) EXPECT_EQ(b[i], static_cast<float>(i / 32 * 32 + 31 - i % 32 + 1)) << i;
  }
}

TEST(LoopInterp, BarriersBetweenThreadLoops) {
  const std::string text = R"(fn t sizes=0 scratch=0 gpu {
  arg b0 f32[8] write align=4
  for v0 = 0..1 step 1 gpu_block.0 {
    alloc b1 f32[8] shared align=64 {
      for v1 = 0..8 step 1 gpu_thread.0 {
        b1[v1] = cast.f32(v1)
      }
      barrier
      for v2 = 0..8 step 1 gpu_thread.0 {
        b0[v2] = b1[(7 - v2)]
      }
    }
  }
}
)";
  std::vector<float> out(8);
  ASSERT_EQ(run(text, {}, {}, out).error, "");
  EXPECT_EQ(out, (std::vector<float>{7, 6, 5, 4, 3, 2, 1, 0}));
}

TEST(LoopInterp, RacesAreErrors) {
  const auto body = [](const char* inside) {
    return std::string(
               "fn t sizes=0 scratch=0 gpu {\n  arg b0 f32[8] write align=4\n  for v0 = 0..2 step 1 "
               "gpu_block.0 {\n"
               "alloc b1 f32[8] shared align=64 {\nfor v1 = 0..8 step 1 gpu_thread.0 {\n") +
           inside + "}\n}\n}\n}\n";
  };
  std::vector<float> out(8);
  for (const bool reverse : {false, true}) {
    const auto races = [&](const char* inside) {
      return run(body(inside), {}, {.reverse = reverse, .allow_uninitialised = true}, out)
                 .error.find("without a barrier between") != std::string::npos;
    };
    // Written by one, read by another, in either order; written by two.
    EXPECT_TRUE(races("b1[v1] = 1.0\nb0[v1] = b1[(7 - v1)]"));
    EXPECT_FALSE(races("b1[v1] = 1.0\nbarrier\nb0[v1] = b1[(7 - v1)]"));
    EXPECT_TRUE(races("b0[v1] = b1[(7 - v1)]\nb1[v1] = 1.0"));
    EXPECT_FALSE(races("b0[v1] = b1[(7 - v1)]\nbarrier\nb1[v1] = 1.0"));
    EXPECT_TRUE(races("b1[0] = 1.0"));
    // Read by many is no race, and a thread's own elements are its own.
    EXPECT_FALSE(races("b0[v1] = (b1[0] + b1[3])"));
    EXPECT_FALSE(races("b1[v1] = 1.0\nb1[v1] = (b1[v1] + b1[v1])\nb0[v1] = b1[v1]"));
    EXPECT_TRUE(races("b0[v1] = b1[3]\nif (v1 == 3) {\nb1[3] = 2.0\n}"));
  }
}

TEST(LoopInterp, DivergentBarriersAreErrors) {
  const auto body = [](const char* inside) {
    return std::string(
               "fn t sizes=0 scratch=0 gpu {\n  arg b0 i64[8] write align=8\n  for v0 = 0..8 step 1 "
               "gpu_thread.0 {\n") +
           inside + "}\n}\n";
  };
  std::vector<int64_t> out(8);
  EXPECT_NE(run(body("if (v0 < 4) {\nbarrier\n}\nb0[v0] = 1"), {}, {}, out)
                .error.find("has ended before the barrier"),
            std::string::npos);
  EXPECT_NE(
      run(body("if (v0 < 4) {\nbarrier\n} else {\nbarrier\n}"), {}, {}, out).error.find("different barriers"),
      std::string::npos);
  EXPECT_EQ(run(body("b0[v0] = v0\nbarrier"), {}, {}, out).error, "");
  EXPECT_EQ(out[7], 7);
}

TEST(LoopInterp, ProgramsConnectPhases) {
  const char* twice =
      "fn twice sizes=1 scratch=0 {\n  arg b0 f32[s0] read align=4\n  arg b1 f32[s0] write align=4\n  tile "
      "v0 < s0\n  b1[v0] = (b0[v0] * 2.0)\n}\n";
  Program p;
  p.buffers = {{BufferRole::kInput, 0, 0},
               {BufferRole::kOutput, 0, 0},
               {BufferRole::kPrepared, 0, 40},
               {BufferRole::kScratch, 0, 40}};
  p.prepare.push_back({*parse_loop_fn(twice), {0, 2}, 0, 1});
  p.phases.push_back({*parse_loop_fn(twice), {2, 3}, 0, 3});
  p.phases.push_back({*parse_loop_fn(twice), {3, 1}, 0, 4});
  for (int pieces = 1; pieces <= 6; ++pieces) {
    std::vector<float> in = iota(10), out(10);
    const InterpBuffer inputs[] = {{in.data(), 40}}, outputs[] = {{out.data(), 40}};
    const int64_t sizes[] = {10};
    const auto result =
        run_program(p, {.inputs = inputs, .outputs = outputs, .sizes = sizes, .pieces = pieces});
    ASSERT_TRUE(result.ok()) << result.error().text();
    for (size_t i = 0; i < 10; ++i) EXPECT_EQ(out[i], 8.0f * static_cast<float>(i));
  }
}

TEST(LoopInterp, IsFastEnoughForTests) {
  const int64_t m = 64, n = 256, k = 256;
  std::vector<float> a(m * k, 1), b(k * n, 2), c(m * n);
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(run(kMatmul, {m, n, k}, {}, a, b, c).error, "");
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  RecordProperty("fma_lanes_per_us", std::to_string(static_cast<double>(m * n * k) / seconds * 1e-6));
  EXPECT_EQ(c[0], 512.0f);
}

}  // namespace
}  // namespace frit::loop
