// The verifier: one wrong function per rule, with the message that must name it, and right ones that must
// pass.
#include "loop/verify.h"

#include <gtest/gtest.h>

#include "loop/build.h"
#include "loop/scratch.h"
#include "loop/text.h"

namespace frit::loop {
namespace {

std::string checked(const std::string& text) {
  const Result<LoopFn> fn = parse_loop_fn(text);
  if (!fn.ok()) return "does not parse: " + fn.error().message;
  const Status status = verify(*fn);
  return status.ok() ? "" : status.error().message;
}
std::string cpu(const std::string& body) {
  return "fn t sizes=1 scratch=0 {\n  arg b0 f32[64] read align=4\n  arg b1 f32[64] write align=4\n  arg b2 "
         "i64[8] read_write align=8\n  tile v0 < s0\n" +
         body + "}\n";
}
std::string gpu(const std::string& body) {
  return "fn t sizes=1 scratch=0 gpu {\n  arg b0 f32[64] read align=4\n  arg b1 f32[64] write align=4\n" +
         body + "}\n";
}

TEST(LoopVerify, AcceptsWhatTheHeaderAllows) {
  EXPECT_EQ(checked(cpu("")), "");
  EXPECT_EQ(checked(cpu(R"(
    for v1 = 0..s0 step 3 {
      alloc b3 f32x8[6] register align=64 {
        for v2 = 0..6 step 1 unrolled {
          let v3 = (v2 + 0)
          b3[v3] = b0[(v1 + v2)].8
        }
        for v4 = 0..2 step 1 unrolled {
          for v5 = 0..3 step 1 unrolled {
            b1[v5, (splat.8(v4) == ramp.8(v5, 1))] = fma(b3[((v4 * 3) + v5)], b3[floor_mod((v4 + (v5 * 5)), 6)], splat.8(1.0))
          }
        }
      }
    }
    fail 3 if (b2[0] < 0) with b2[0], 0
  )")),
            "");
  EXPECT_EQ(checked(gpu(R"(
    for v0 = 0..4 step 1 gpu_block.0 {
      alloc b2 f32[32] shared align=64 {
        for v1 = 0..32 step 1 gpu_thread.0 {
          b2[v1] = b0[v1]
          barrier
          alloc b3 f32[1] register align=4 {
            b3[0] = b2[(31 - v1)]
            b1[v1] = b3[0]
          }
        }
      }
    }
  )")),
            "");
}

TEST(LoopVerify, NamesEachBrokenRule) {
  const std::pair<std::string, const char*> cases[] = {
      // types
      {cpu("let v1 = (1 + 1.0)"), "'(1 + 1.0)': operands have types i64 and f32"},
      {cpu("let v1 = (splat.8(1) + splat.4(1))"), "operands have types i64x8 and i64x4"},
      {cpu("let v1 = (true + false)"), "no such operation on bool"},
      {cpu("let v1 = sqrt(1)"), "'sqrt(1)': no such operation on i64"},
      {cpu("let v1 = rem(1.0, 2.0)"), "no such operation on f32"},
      {cpu("let v1 = fma(1, 2, 3)"), "no such operation on i64"},
      {cpu("let v1 = select(1, 2, 3)"), "condition has type i64"},
      {cpu("let v1 = select(splat.2(true), 2, 3)"), "condition has type boolx2 for a value of i64"},
      {cpu("let v1 = bitcast.f64(1.0)"), "casts the bits of f32 to f64"},
      {cpu("let v1 = bitcast.u8(true)"), "masks have no bits"},
      {cpu("let v1 = splat.8(splat.4(1))"), "has an operand of 4 lanes"},
      {cpu("let v1 = ramp.8(1.0, 1)"), "no such operation on f32"},
      {cpu("let v1 = reduce.add(splat.6(1.0))"), "reduces 6 lanes"},
      {cpu("let v1 = reduce.sub(splat.4(1.0))"), "no such operation"},
      {cpu("let v1 = shuffle(splat.2(1), splat.2(2), [0 4])"), "takes lane 4"},
      {cpu("let v1 = shl(1, 64)"), "shifts 64 bits by 64"},
      {cpu("let v1 = lshr(splat.4(1:i8), splat.4(-1:i8))"), "shifts 8 bits by -1"},
      {cpu("let v1 = floor_div(v0, 0)"), "divides by zero"},
      // scopes
      {cpu("for v1 = 0..4 step 1 {\n}\nlet v2 = v1"), "'v1': is not bound here"},
      {cpu("if (v0 < 1) {\nlet v1 = 3\n}\nb1[v1] = 1.0"), "is not bound here"},
      {cpu("let v1 = s1"), "'s1': is not one of 1 sizes"},
      // loops
      {cpu("for v1 = 0..s0 step 1 unrolled {\n}"), "unrolled and has bounds that are not constant"},
      {cpu("for v1 = 0..4 step 0 {\n}"), "step is not a positive constant"},
      {cpu("for v1 = 0..4:i32 step 1 {\n}"), "differ in type"},
      {cpu("for v1:i32 = 0..4 step 1 {\n}"), "differ in type"},
      {cpu("for v1 = 0.0..1.0 step 1 {\n}"), "begins at a f32"},
      {cpu("for v1 = 0..4 step 1 gpu_block.0 {\n}"), "not for a gpu"},
      {cpu("barrier"), "not for a gpu"},
      {gpu("for v1 = 0..4 step 1 gpu_thread.3 {\n}"), "has no such axis"},
      {gpu("for v1 = 0..4 step 1 gpu_thread.0 {\nfor v2 = 0..4 step 1 gpu_block.0 {\n}\n}"),
       "block loop inside"},
      {cpu("if 1 {\n}"), "condition is i64"},
      // buffers
      {cpu("b0[0] = 1.0"), "writes b0, which is read-only"},
      {cpu("let v1 = b1[0]"), "'b1[0]': reads b1, which is write-only"},
      {cpu("b1[0] = 1"), "moves i64, b1 holds f32"},
      {cpu("b1[0.0] = 1.0"), "index has type f32"},
      {cpu("b1[splat.4(0)] = splat.8(1.0)"), "index has 4 lanes for 8"},
      {cpu("b1[0, true] = splat.8(1.0)"), "mask has type bool for 8 lanes"},
      {cpu("alloc b3 f32[4] stack align=64 {\n}\nlet v1 = b3[0]"), "used outside of its scope"},
      {cpu("alloc b3 f32[s0] stack align=64 {\n}"), "has the run-time size 's0'"},
      {cpu("alloc b3 f32[0] stack align=64 {\n}"), "has size 0"},
      {cpu("alloc b3 f32[4] stack align=3 {\n}"), "alignment 3"},
      {cpu("alloc b3 f32x4[4] stack align=64 {\n}"), "elements of 4 lanes"},
      {cpu("alloc b3 f32[4] shared align=64 {\n}"), "is shared in a function that is not for a gpu"},
      {cpu("alloc b3 f32[2000] stack align=64 {\n}"), "scratch_bytes is 0, its stack buffers need 8000"},
      {gpu("for v1 = 0..4 step 1 gpu_thread.0 {\nalloc b2 f32[4] shared align=64 {\n}\n}"),
       "inside of a thread loop"},
      {gpu("alloc b2 f32[4] register align=64 {\nfor v1 = 0..4 step 1 gpu_thread.0 {\nb2[0] = 1.0\n}\n}"),
       "across the border"},
      {"fn t sizes=0 scratch=0 {\n  arg b0 f32[4] write align=4 alias=1\n}\n", "may alias argument 1"},
      {"fn t sizes=0 scratch=0 {\n  arg b0 f32[4] write align=4 in_place\n}\n", "in place of nothing"},
      {"fn t sizes=0 scratch=0 {\n  arg b0 f32[4.0] write align=4\n}\n", "is f32, expected i64"},
      {"fn t sizes=0 scratch=0 {\n  arg b0 i64[4] read align=8\n  tile v0 < b0[0]\n}\n",
       "more than constants and sizes"},
      {"fn T sizes=0 scratch=0 {\n}\n", "characters other than"},
      // register buffers
      {cpu("alloc b3 f32[4] register align=4 {\nb3[v0] = 1.0\n}"), "not constant once loops are unrolled"},
      {cpu("alloc b3 f32[4] register align=4 {\nb3[4] = 1.0\n}"), "takes the value 4, its size is 4"},
      {cpu("alloc b3 f32[4] register align=4 {\nfor v1 = 0..3 step 1 unrolled {\nb3[((v1 * 2) - 1)] = "
           "1.0\n}\n}"),
       "takes the value -1"},
      {cpu("alloc b3 f32[4] register align=4 {\nfor v1 = 0..3 step 1 {\nb3[v1] = 1.0\n}\n}"),
       "not constant once"},
      {cpu("alloc b3 f32x8[4] register align=4 {\nb3[0] = 1.0\n}"), "moves 1 lanes, elements of b3 have 8"},
      {cpu("alloc b3 f32[4] register align=4 {\nb3[0, true] = 1.0\n}"),
       "masks an element of a register buffer"},
      // fail
      {cpu("fail 9 if true with 0, 0"), "unknown code 9"},
      {cpu("fail 1 if 1 with 0, 0"), "condition is i64"},
      {cpu("fail 1 if true with 0:i32, 0"), "has type i32, expected i64"},
  };
  for (const auto& [text, fragment] : cases) {
    const std::string message = checked(text);
    EXPECT_NE(message.find(fragment), std::string::npos)
        << text << "\nsays: " << message << "\nwants: " << fragment;
  }
}

TEST(LoopVerify, TreesThatNoTextGives) {
  LoopFn fn;
  EXPECT_FALSE(verify(fn).ok());
  fn.context = std::make_shared<Context>();
  EXPECT_FALSE(verify(fn).ok());
  fn.body = block({});
  EXPECT_TRUE(verify(fn).ok());
  fn.body = barrier();
  EXPECT_FALSE(verify(fn).ok());
  const auto with = [&](Stmt s) {
    auto node = std::make_shared<StmtNode>(StmtNode{.kind = StmtKind::kBlock});
    node->body = {std::move(s)};
    fn.body = node;
    return verify(fn).ok();
  };
  EXPECT_FALSE(with(nullptr));
  EXPECT_FALSE(with(let({}, int_const(*fn.context, 1))));
  EXPECT_FALSE(with(let(fn.context->new_var({}), {})));
  Context other;
  EXPECT_FALSE(with(let(fn.context->new_var({}), int_const(other, 1) + int_const(other, 2))));
  const Expr v = fn.context->new_var({});
  EXPECT_FALSE(with(let(v, v)));
  EXPECT_FALSE(with(block({let(v, int_const(*fn.context, 1)), let(v, int_const(*fn.context, 1))})));
  EXPECT_TRUE(with(let(v, int_const(*fn.context, 1))));
  EXPECT_FALSE(with(std::make_shared<StmtNode>(StmtNode{.kind = StmtKind::kFor})));
  EXPECT_FALSE(with(std::make_shared<StmtNode>(StmtNode{.kind = StmtKind::kAlloc})));
  EXPECT_FALSE(with(std::make_shared<StmtNode>(StmtNode{.kind = StmtKind::kStore})));
  EXPECT_FALSE(with(std::make_shared<StmtNode>(StmtNode{.kind = static_cast<StmtKind>(99)})));
  ExprNode vector_constant{.kind = ExprKind::kInt};
  vector_constant.type.lanes = 4;
  EXPECT_FALSE(with(let(fn.context->new_var({DType::kI64, 4}), fn.context->intern(vector_constant))));
}

TEST(LoopVerify, SharedPartsAreVisitedOnce) {
  LoopFn fn;
  Builder b(fn);
  const Buffer out = b.arg(DType::kI64, Access::kWrite, b.integer(4), 8);
  b.loop(0, 2, 1, LoopKind::kUnrolled, [&](Expr i) {
    Expr x = i;
    for (int n = 0; n < 1000; ++n) x = binary(OpCode::kXor, x * x, x);
    const Expr y = b.let(x);
    b.store(out, i, y);
  });
  b.finish();
  const Status status = verify(fn);
  EXPECT_TRUE(status.ok()) << status.error().message;
}

TEST(LoopVerify, ScratchOfNestedBuffersAddsUp) {
  LoopFn fn;
  Builder b(fn);
  b.loop(0, 2, 1, LoopKind::kSerial, [&](Expr) {
    b.local(Space::kStack, DType::kF32, 2000);
    b.local(Space::kStack, DType::kF32, 1025);
    b.local(Space::kStack, DType::kF32, 1024);  // 4 KiB: on the stack
    b.store(b.local(Space::kStack, DType::kF64, 600), b.integer(0), b.number(0, DType::kF64));
  });
  b.loop(0, 2, 1, LoopKind::kSerial,
         [&](Expr) { b.store(b.local(Space::kStack, DType::kF32, 5000), b.integer(0), b.number(0)); });
  b.finish();
  const ScratchLayout layout = scratch_layout(fn);
  EXPECT_EQ(layout.offsets, (std::vector<int64_t>{0, 8000, -1, 12160, 0}));
  EXPECT_EQ(fn.scratch_bytes, 20032);
  EXPECT_TRUE(verify(fn).ok());
}

TEST(LoopVerify, Programs) {
  const char* copy =
      "fn copy sizes=0 scratch=0 {\n  arg b0 f32[4] read align=4\n  arg b1 f32[4] write align=4\n  b1[0] = "
      "b0[0].4\n}\n";
  const auto make = [&] {
    Program p;
    p.buffers = {{BufferRole::kInput, 0, 0},
                 {BufferRole::kOutput, 0, 0},
                 {BufferRole::kPrepared, 0, 16},
                 {BufferRole::kScratch, 0, 16}};
    p.in_place = {-1};
    p.prepare.push_back({*parse_loop_fn(copy), {0, 2}, 0, 1});
    p.phases.push_back({*parse_loop_fn(copy), {2, 1}, 0, 1});
    return p;
  };
  EXPECT_TRUE(verify(make()).ok());
  const auto message = [&](auto change) {
    Program p = make();
    change(p);
    const Status s = verify(p);
    return s.ok() ? std::string() : s.error().text();
  };
  EXPECT_EQ(message([](Program& p) {
              p.phases[0].args = {0, 2};
            }),
            "phase 0: argument 1 writes an input or prepared buffer");
  EXPECT_EQ(message([](Program& p) {
              p.prepare[0].args = {0, 3};
            }),
            "prepare 0: argument 1 is an output or scratch, which does not exist at load");
  EXPECT_EQ(message([](Program& p) { p.phases[0].args = {0, 4}; }), "phase 0: argument 1 is buffer 4 of 4");
  EXPECT_EQ(message([](Program& p) { p.phases[0].args = {0}; }), "phase 0: has 1 buffers for 2 arguments");
  EXPECT_EQ(message([](Program& p) {
              p.phases[0].args = {1, 1};
            }),
            "phase 0: arguments 0 and 1 are one buffer, are written and not said to alias");
  EXPECT_EQ(message([](Program& p) { p.phases[0].grain = 0; }), "phase 0: grain is 0");
  EXPECT_EQ(message([](Program& p) { p.buffers[3] = p.buffers[0]; }),
            "program buffers 0 and 3 are the same input or output");
  EXPECT_EQ(message([](Program& p) { p.in_place = {-1, 0}; }), "in_place has 2 entries for 1 outputs");
}

}  // namespace
}  // namespace frit::loop
