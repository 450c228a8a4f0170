// Every kernel family for AArch64. Always: its kernels compile to objects that the loader takes
// (check_object: laid out and relocated, no external symbols). In the full test set: they run under an
// emulator, every buffer against a page without access, and give the interpreter's bits and the evaluator's
// values.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "device/elf_object.h"
#include "exec/interpret.h"
#include "graph/eval.h"
#include "graph/text.h"
#include "loop/text.h"
#include "support/compiled.h"
#include "support/guarded.h"
#include "support/problems.h"
#ifdef FRIT_TEST_RUNNER
#include "support/aarch64_runner.h"
#endif

namespace frit {
namespace {

const char* const kTargets[] = {"cpu:aarch64", "cpu:neoverse-n1", "cpu:neoverse-v2"};

// A problem with its programs for AArch64.
struct Built {
  graph::Graph graph;
  testing::CompiledOptions options;
  testing::CompiledGraph compiled;
  std::string text;
};

void build(const testing::ProblemKind& kind, uint64_t seed, Built& out) {
  std::mt19937_64 random(seed);
  random.discard(1000);
  out.graph = kind.make(seed);
  out.options.target = device::parse_target(kTargets[random() % 3]).value_or_throw();
  out.options.numerics = random() % 3 == 0 ? Numerics::kStrict : Numerics::kDefault;
  out.options.interpret = true;  // programs only: this process cannot run the kernels
  out.text = std::string(kind.name) + " seed " + std::to_string(seed) + " " + out.options.target.text() +
             " " + numerics_name(out.options.numerics) + "\n";
  out.options.choose = [&](const fusion::PlanGroup& group, const codegen::BuildContext& context) {
    const codegen::Params params = testing::any_choice(group, context, random);
    out.text += group.family + ": " + params.text() + "\n";
    return params;
  };
  auto compiled = testing::compile_graph(out.graph, out.options);
  out.text += graph::print(out.graph);
  ASSERT_TRUE(compiled.ok()) << compiled.error().text() << "\n" << out.text;
  out.compiled = *std::move(compiled);
}

uint64_t seed_of(const testing::ProblemKind& kind, int i) {
  const char* only = std::getenv("FRIT_TEST_SEED");
  return only ? std::strtoull(only, nullptr, 10)
              : 1000 * static_cast<uint64_t>(kind.number) + static_cast<uint64_t>(i);
}

TEST(KernelsForAarch64, EveryFamilyCompiles) {
  const auto library = testing::open_codegen();
  ASSERT_TRUE(library.ok()) << library.error().text();
  std::set<std::string> families;
  std::map<uint32_t, int> relocations;
  for (const testing::ProblemKind& kind : testing::problem_kinds()) {
    for (int i = 0; i < 5; ++i) {
      Built built;
      ASSERT_NO_FATAL_FAILURE(build(kind, seed_of(kind, i), built));
      for (const auto& group : built.compiled.plan.groups) {
        if (!group) continue;
        for (const auto* phases : {&group->program.prepare, &group->program.phases}) {
          for (const loop::Phase& phase : *phases) {
            const auto object =
                (*library)->compile_object(loop::print(phase.fn), built.options.target.text());
            ASSERT_TRUE(object.ok()) << object.error().text() << "\n" << built.text;
            families.insert(phase.fn.family);
            const auto elf = device::parse_elf(std::as_bytes(std::span<const char>(*object)));
            ASSERT_TRUE(elf.ok());
            EXPECT_EQ(elf->arch, device::Arch::kAarch64);
            for (const auto& r : elf->relocations) ++relocations[r.type];
          }
        }
      }
    }
  }
  for (const char* family : {"matmul", "conv", "depthwise", "pool", "reduce", "normalize", "pointwise"})
    EXPECT_TRUE(families.count(family)) << family;
  constexpr uint32_t kPrel32 = 261, kAdrpPage = 275;  // unwind tables; pages of constants
  EXPECT_GT(relocations[kPrel32], 0);
  EXPECT_GT(relocations[kAdrpPage], 0);
}

#ifdef FRIT_TEST_RUNNER
class KernelsOnAarch64 : public ::testing::TestWithParam<testing::ProblemKind> {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "frit_kernels_aarch64_" + std::to_string(getpid());
    std::filesystem::create_directory(folder_);
    library_ = testing::open_codegen().value_or_throw();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<int32_t> launch(const device::Target& target, base::GuardSide side, const loop::LoopFn& fn,
                         const device::KernelArgs& args, std::span<const size_t> bytes) {
    if (args.first_tile == args.last_tile) return 0;  // a process for nothing
    const std::string text = loop::print(fn);
    auto object = library_->compile_object(text, target.text());
    if (!object.ok()) return std::move(object).error();
    aarch64::Run run;
    run.object = folder_ + "/kernel.o";
    std::ofstream(run.object, std::ios::binary)
        .write(object->data(), static_cast<std::streamsize>(object->size()));
    const auto elf = device::parse_elf(std::as_bytes(std::span<const char>(*object)));
    constexpr uint8_t kGlobal = 1;
    for (const auto& symbol : elf->symbols)
      if (symbol.binding == kGlobal) run.symbol = symbol.name;
    run.first_tile = args.first_tile;
    run.last_tile = args.last_tile;
    run.scratch_bytes = fn.scratch_bytes;
    for (size_t k = 0; k < bytes.size(); ++k) {
      const auto* from = static_cast<const std::byte*>(args.buffers[k]);
      run.buffers.emplace_back(from, from + bytes[k]);
      run.guards.push_back((side == base::GuardSide::kFront ? "front" : "end") +
                           std::to_string(fn.buffers[k].align_bytes));
    }
    const std::string why = aarch64::run(run, FRIT_TEST_EMULATOR, FRIT_TEST_RUNNER, folder_);
    if (!why.empty()) return make_error(Code::kDevice, why);
    for (size_t k = 0; k < bytes.size(); ++k)
      if (bytes[k]) std::memcpy(args.buffers[k], run.buffers[k].data(), bytes[k]);
    std::copy(run.error, run.error + device::kErrorWords, args.error);
    return run.status;
  }

  std::string folder_;
  std::shared_ptr<const device::CodegenLibrary> library_;
};

TEST_P(KernelsOnAarch64, AgreeWithTheEvaluator) {
  const char* text = std::getenv("FRIT_TEST_PROBLEMS");
  const int count = std::getenv("FRIT_TEST_SEED") ? 1 : text ? std::atoi(text) : 40;
  testing::GuardedCounts counts;
  for (int i = 0; i < count; ++i) {
    const uint64_t seed = seed_of(GetParam(), i);
    Built built;
    ASSERT_NO_FATAL_FAILURE(build(GetParam(), seed, built));
    const auto inputs = testing::problem_inputs(built.graph, seed, GetParam());
    const auto want = graph::evaluate(built.graph, inputs);
    ASSERT_TRUE(want.ok()) << want.error().text();
    const auto interpreted = exec::interpret_plan(built.compiled.plan, inputs);
    ASSERT_TRUE(interpreted.ok()) << interpreted.error().text() << "\n" << built.text;
    testing::GuardedOptions guarded;
    guarded.side = i % 2 ? base::GuardSide::kFront : base::GuardSide::kEnd;
    guarded.seed = seed;
    guarded.max_pieces = 2;
    guarded.in_place = false;  // every buffer is a file of its own
    guarded.launch = [&](const loop::LoopFn& fn, const device::KernelArgs& args,
                         std::span<const size_t> bytes) {
      return launch(built.options.target, guarded.side, fn, args, bytes);
    };
    const auto got = testing::run_guarded(built.compiled.plan, inputs, guarded, &counts);
    ASSERT_TRUE(got.ok()) << got.error().text() << "\n" << built.text;
    for (size_t k = 0; k < want->size(); ++k) {
      std::string where;
      ASSERT_LE(testing::largest_difference((*got)[k], (*want)[k], &where),
                testing::usual_bound((*got)[k].dtype()))
          << where << "\n"
          << built.text;
      const auto difference = testing::different_bits((*got)[k], (*interpreted)[k]);
      ASSERT_FALSE(difference) << "output " << k << " " << *difference << "\n" << built.text;
    }
  }
  EXPECT_GE(counts.kernels, count / 2);
}

INSTANTIATE_TEST_SUITE_P(All, KernelsOnAarch64, ::testing::ValuesIn(testing::problem_kinds()),
                         [](const auto& info) { return std::string(info.param.name); });
#endif

}  // namespace
}  // namespace frit
