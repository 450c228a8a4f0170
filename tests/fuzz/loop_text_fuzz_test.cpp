// Texts of the loop IR, damaged: parsing, verifying, simplifying and printing never crash, and what parses
// prints back.
#include "support/fuzz_driver.h"

#include "loop/interp.h"
#include "loop/simplify.h"
#include "loop/text.h"
#include "loop/verify.h"

namespace {

using frit::fuzz::Bytes;

uint64_t parsed_count = 0, verified_count = 0, refused_count = 0;

void check(const frit::loop::LoopFn& fn) {
  const std::string text = frit::loop::print(fn);
  const auto again = frit::loop::parse_loop_fn(text);
  if (!again.ok() || frit::loop::print(*again) != text) std::abort();
  if (!frit::loop::verify(fn).ok()) return;
  ++verified_count;
  if (!frit::loop::verify(frit::loop::simplify(fn)).ok()) std::abort();
  if (!frit::loop::Interpreter::make(fn).ok()) std::abort();
}

void one_input(std::span<const std::byte> input) {
  const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
  const auto fn = frit::loop::parse_loop_fn(text);
  const auto program = frit::loop::parse_program(text);
  if (fn.ok()) check(*fn);
  if (program.ok()) {
    for (const auto& phase : program->phases) check(phase.fn);
    (void)frit::loop::verify(*program).ok();
  }
  ++(fn.ok() || program.ok() ? parsed_count : refused_count);
}

std::vector<Bytes> corpus() {
  const char* texts[] = {
      R"(fn pointwise sizes=1 scratch=0 {
  arg b0 f32[(s0 * 64)] read align=64
  arg b1 f32[(s0 * 64)] write align=64 alias=0 in_place over_read
  tile v0 < s0
  for v1 = 0..64 step 16 {
    $0 = ((v0 * 64) + v1)
    let v2 = b0[$0].16
    b1[$0] = fma(v2, splat.16(2.0), max(v2, splat.16(0.0)))
  }
}
)",
      R"(fn all sizes=2 scratch=8192 gpu {
  arg b0 f16[64] read align=2
  arg b1 i64[64] read_write align=8
  tile v0 < floor_div((s0 + 15), 16)
  for v1 = 0..s1 step 1 gpu_block.1 {
    alloc b2 f32[128] shared align=64 {
      for v2:i32 = 0:i32..4:i32 step 1 gpu_thread.0 {
        barrier
        alloc b3 f32x8[4] register align=64 {
          for v3 = 0..4 step 1 unrolled {
            b3[v3] = splat.8(-0.0)
          }
          b3[0] = cast.f32(b0[ramp.8(v1, 2), splat.8((v1 < 3))])
        }
      }
    }
  }
  fail 1 if (b1[0] >= 64) with 1, b1[0]
  alloc b4 i64[1024] stack align=64 {
    b4[floor_mod(b1[2], 8)] = select((b1[1] != 0), reduce.add(b1[0].4), bitcast.i64(1.5:f64))
    b1[3] = shuffle(b4[0].2, splat.2(rem(v0, 3)), [3])
  }
}
)",
      R"(program
buffer input 0 bytes=0
buffer output 0 bytes=0
in_place -1
phase args=0,1 threads=0 grain=4
fn t sizes=0 scratch=0 {
  arg b0 f32[4] read align=4
  arg b1 f32[4] write align=4
  b1[0] = b0[0].4
}
end
)"};
  std::vector<Bytes> seeds;
  for (const char* text : texts) {
    const auto* bytes = reinterpret_cast<const std::byte*>(text);
    seeds.emplace_back(bytes, bytes + std::strlen(text));
  }
  return seeds;
}

}  // namespace

#if defined(FRIT_LIBFUZZER)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  one_input(std::as_bytes(std::span(data, size)));
  return 0;
}
#else
int main(int argc, char** argv) {
  const int result = frit::fuzz::run(argc, argv, corpus(), one_input);
  std::printf("parsed %llu, verified %llu, refused %llu\n", static_cast<unsigned long long>(parsed_count),
              static_cast<unsigned long long>(verified_count),
              static_cast<unsigned long long>(refused_count));
  // A fuzz test that reaches nothing would prove nothing.
  return result != 0 || verified_count < 3 || refused_count == 0;
}
#endif
