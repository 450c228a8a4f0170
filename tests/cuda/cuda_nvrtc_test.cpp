// NVRTC compiles what is emitted, for every architecture, and the cubins can be launched there: every
// operation on every type, random problems of each family with params from the whole space. Skipped where
// there is no NVRTC.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "codegen/cuda/cubin.h"
#include "codegen/cuda/emit.h"
#include "codegen/cuda/nvrtc.h"
#include "device/shared_libraries.h"
#include "fusion/plan.h"
#include "graph/infer.h"
#include "graph/passes.h"
#include "loop/build.h"
#include "loop/scalar.h"
#include "loop/text.h"
#include "loop/verify.h"
#include "support/fill_models.h"
#include "support/problems.h"

namespace frit {
namespace {

using codegen::Nvrtc;
using codegen::NvrtcOutput;

// One for all tests; null where there is none, and then why.
std::shared_ptr<const Nvrtc> open_nvrtc(std::string* why) {
  base::SystemEnvironment environment;
  base::SystemFileSystem files;
  auto opened = Nvrtc::open(device::nvrtc_candidates(environment, files));
  if (opened.ok()) return *opened;
  *why = opened.error().text();
  return nullptr;
}

class CudaNvrtc : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { nvrtc_ = open_nvrtc(&why_); }
  static void TearDownTestSuite() { nvrtc_.reset(); }
  void SetUp() override {
    if (!nvrtc_) GTEST_SKIP() << why_;
    for (const auto& arch : device::gpu_archs()) {
      if (std::find(nvrtc_->archs().begin(), nvrtc_->archs().end(), arch.sm) == nvrtc_->archs().end())
        GTEST_SKIP() << nvrtc_->version() << " does not compile for " << arch.name()
                     << ", expected CUDA 12.8 or later";
    }
  }

  // Compiles a function for one architecture and checks its cubin.
  void compile(const loop::LoopFn& fn, const device::GpuArch& arch, Numerics numerics,
               codegen::CubinKernel* out = nullptr) {
    ASSERT_TRUE(loop::verify(fn).ok()) << loop::verify(fn).error().text();
    const auto kernel = codegen::emit_cuda(fn);
    ASSERT_TRUE(kernel.ok()) << kernel.error().text() << "\n" << loop::print(fn);
    const std::string text = kernel->source.substr(std::string(codegen::cuda_prelude()).size());
    const auto cubin = nvrtc_->compile(kernel->source, kernel->symbol, arch, numerics, NvrtcOutput::kCubin);
    ASSERT_TRUE(cubin.ok()) << cubin.error().text() << "\n" << text;
    const auto facts = codegen::read_cubin(cubin->bytes);
    ASSERT_TRUE(facts.ok()) << facts.error().text();
    EXPECT_EQ(facts->symbol, kernel->symbol);
    EXPECT_EQ(facts->sm, arch.sm);
    EXPECT_GT(facts->registers, 0);
    EXPECT_GT(facts->code_bytes, 0);
    EXPECT_EQ(facts->max_threads, kernel->launch.threads());
    EXPECT_TRUE(codegen::check_cubin(*facts, kernel->launch, arch).ok())
        << codegen::check_cubin(*facts, kernel->launch, arch).error().text();
    // What the compiler says itself. No array is left that has to live in memory, and registers go there only
    // around the calls that an IEEE division makes for rare operands.
    EXPECT_LE(facts->stack_bytes, 32) << fn.family << " on " << arch.name() << "\n"
                                      << cubin->log << "\n"
                                      << text;
    EXPECT_NE(cubin->log.find(std::to_string(facts->stack_bytes) + " bytes stack frame"), std::string::npos)
        << cubin->log;
    EXPECT_NE(cubin->log.find("Used " + std::to_string(facts->registers) + " registers"), std::string::npos)
        << cubin->log;
    EXPECT_EQ(cubin->log.find("warning"), std::string::npos) << cubin->log;
    ++compiled_;
    if (out) *out = *facts;
  }

  static std::shared_ptr<const Nvrtc> nvrtc_;
  static std::string why_;
  int compiled_ = 0;
};
std::shared_ptr<const Nvrtc> CudaNvrtc::nvrtc_;
std::string CudaNvrtc::why_;

const device::GpuArch& arch_of(uint64_t k) { return device::gpu_archs()[k % device::gpu_archs().size()]; }

// out[i] = some sum of each operation's results on the elements of a and b.
loop::LoopFn every_operation(DType dtype) {
  loop::LoopFn fn;
  fn.context = std::make_shared<loop::Context>();
  fn.family = std::string("ops_") + dtype_name(dtype);
  fn.gpu = true;
  loop::Builder b(fn);
  const auto a = b.arg(dtype, loop::Access::kRead, b.integer(64), 256),
             c = b.arg(dtype, loop::Access::kRead, b.integer(64), 256);
  const auto out = b.arg(dtype, loop::Access::kWrite, b.integer(64 * 64), 256);
  const auto masks = b.arg(DType::kBool, loop::Access::kWrite, b.integer(64 * 64), 256);
  const auto wide = b.arg(DType::kF64, loop::Access::kWrite, b.integer(64 * 64), 256);
  b.loop(b.integer(0), b.integer(64), 1, loop::LoopKind::kGpuThread, [&](loop::Expr t) {
    loop::Expr x = b.let(loop::load(b.context(), a, t)), y = b.let(loop::load(b.context(), c, t));
    int64_t slot = 0;
    const auto keep = [&](loop::Expr v) {
      if (v->type.dtype == dtype)
        b.store(out, t * 64 + slot, v);
      else if (v->type.dtype == DType::kBool)
        b.store(masks, t * 64 + slot, v);
      else
        b.store(wide, t * 64 + slot, loop::cast(v, DType::kF64));
      ++slot;
    };
    for (auto op = loop::OpCode::kNeg; op <= loop::OpCode::kGe;
         op = static_cast<loop::OpCode>(static_cast<int>(op) + 1)) {
      if (!loop::op_allowed(op, dtype)) continue;
      keep(loop::is_unary(op) ? loop::unary(op, x) : loop::binary(op, x, y));
    }
    if (is_float(dtype)) keep(loop::fma(x, y, x));
    keep(loop::select(loop::ne(x, y), x, y));
    for (int k = 0; k <= static_cast<int>(DType::kBool); ++k) keep(loop::cast(x, static_cast<DType>(k)));
  });
  b.finish();
  return fn;
}

TEST_F(CudaNvrtc, EveryOperationOnEveryType) {
  for (int k = 0; k <= static_cast<int>(DType::kBool); ++k)
    compile(every_operation(static_cast<DType>(k)), arch_of(static_cast<uint64_t>(k)),
            k % 2 ? Numerics::kStrict : Numerics::kDefault);
  EXPECT_EQ(compiled_, 13);
}

TEST_F(CudaNvrtc, AProgramThatDoesNotCompileSaysWhy) {
  const auto bad =
      nvrtc_->compile("this is no program", "bad", arch_of(0), Numerics::kDefault, NvrtcOutput::kCubin);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code, Code::kInternal);
  EXPECT_NE(bad.error().text().find("bad.cu(1): error"), std::string::npos) << bad.error().text();
  device::GpuArch old = arch_of(0);
  old.sm = 35;
  EXPECT_EQ(nvrtc_->compile("", "old", old, Numerics::kDefault, NvrtcOutput::kCubin).error().code,
            Code::kUnsupported);
}

TEST_F(CudaNvrtc, PtxNamesTheArchitecture) {
  const auto kernel = codegen::emit_cuda(every_operation(DType::kF32));
  ASSERT_TRUE(kernel.ok());
  const auto ptx =
      nvrtc_->compile(kernel->source, kernel->symbol, arch_of(1), Numerics::kStrict, NvrtcOutput::kPtx);
  ASSERT_TRUE(ptx.ok()) << ptx.error().text();
  EXPECT_NE(ptx->bytes.find(".target sm_90"), std::string::npos);
  EXPECT_NE(ptx->bytes.find(".visible .entry " + kernel->symbol), std::string::npos);
  // IEEE division and roots, and an fma only where one is written.
  EXPECT_NE(ptx->bytes.find("div.rn.f32"), std::string::npos);
  EXPECT_NE(ptx->bytes.find("sqrt.rn.f32"), std::string::npos);
  EXPECT_EQ(ptx->bytes.find("approx"), std::string::npos);
  EXPECT_EQ(ptx->bytes.find(".ftz"), std::string::npos);
}

// A cut or spoilt cubin gives an error or some facts, never a crash.
TEST_F(CudaNvrtc, SpoiltCubinsAreSurvived) {
  const auto kernel = codegen::emit_cuda(every_operation(DType::kI8));
  ASSERT_TRUE(kernel.ok());
  const auto cubin =
      nvrtc_->compile(kernel->source, kernel->symbol, arch_of(0), Numerics::kDefault, NvrtcOutput::kCubin);
  ASSERT_TRUE(cubin.ok()) << cubin.error().text();
  for (size_t size = 0; size < cubin->bytes.size(); size += 7)
    EXPECT_FALSE(codegen::read_cubin(cubin->bytes.substr(0, size)).ok()) << size;
  std::mt19937_64 random(20261201);
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = cubin->bytes;
    for (int k = 0; k < 4; ++k) bytes[random() % (k < 2 ? 64 : bytes.size())] = static_cast<char>(random());
    const auto read = codegen::read_cubin(bytes);
    EXPECT_TRUE(read.ok() || read.error().code == Code::kCorrupt) << read.error().text();
  }
}

// Of random problems: each different kernel once, the architectures in turn.
class CudaNvrtcFamilies : public CudaNvrtc, public ::testing::WithParamInterface<const char*> {};

TEST_P(CudaNvrtcFamilies, CompileAndFit) {
  const char* text = std::getenv("FRIT_TEST_KERNELS");
  const int wanted = text ? std::atoi(text) : 24;
  std::set<std::string> seen;
  for (uint64_t seed = 0; static_cast<int>(seen.size()) < wanted && seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    const auto& arch = arch_of(seen.size());
    const auto target = device::parse_target("cuda:" + arch.name()).value_or_throw();
    fusion::FusionOptions options;
    options.build.target = &target;
    options.build.numerics = seed % 3 == 0 ? Numerics::kStrict : Numerics::kDefault;
    graph::Graph g;
    for (const auto& kind : testing::problem_kinds())
      if (std::string(kind.name) == GetParam()) g = kind.make(seed);
    const auto plan = fusion::make_plan(std::move(g), options);
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    for (const auto& group : plan->groups) {
      const codegen::Family* family = codegen::family_named(group.family);
      if (!family) continue;
      const auto points = family->space(group.group, options.build).enumerate(1 << 16);
      const auto params = random() % 3 == 0 ? family->heuristic(group.group, options.build)
                                            : points[random() % points.size()];
      const auto program = family->build(group.group, params, options.build);
      ASSERT_TRUE(program.ok()) << program.error().text();
      for (const auto& phase : program->phases) {
        if (!seen.insert(loop::print(phase.fn)).second) continue;
        SCOPED_TRACE(group.family + " " + params.text() + " seed " + std::to_string(seed));
        compile(phase.fn, arch, options.build.numerics);
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GE(static_cast<int>(seen.size()), wanted);
}

INSTANTIATE_TEST_SUITE_P(All, CudaNvrtcFamilies,
                         ::testing::Values("Pointwise", "Movement", "Reduce", "Normalize", "Matmul"));

// Groups of real networks, with the params that a run without tuning takes.
class CudaNvrtcNetworks : public CudaNvrtc, public ::testing::WithParamInterface<const char*> {};

TEST_P(CudaNvrtcNetworks, CompileAndFit) {
  base::SystemFileSystem files;
  const auto model = test::load_test_model(files, FRIT_TEST_DATA "/models", GetParam());
  ASSERT_TRUE(model.ok()) << model.error().text();
  auto graph = test::import_filled(files, *model);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  std::map<std::string, int64_t> sizes;
  for (graph::ValueId id : graph->inputs) {
    const auto& shape = graph->value(id).type.shape;
    for (const auto& input : model->cases[0].inputs)
      for (size_t k = 0; input.name == graph->value(id).name && k < shape.size(); ++k) {
        std::vector<std::string> symbols;
        shape[k].collect_symbols(symbols);
        if (symbols.size() == 1) sizes[symbols[0]] = input.shape[k];
      }
  }
  ASSERT_TRUE(graph::bind_sizes(*graph, sizes).ok());
  ASSERT_TRUE(graph::run_passes(*graph, {}).ok());
  const auto target = device::parse_target("cuda:sm_90").value_or_throw();
  fusion::FusionOptions options;
  options.build.target = &target;
  const auto plan = fusion::make_plan(*std::move(graph), options);
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  std::set<std::string> seen, families;
  for (const auto& group : plan->groups) {
    const codegen::Family* family = codegen::family_named(group.family);
    if (!family) continue;  // a convolution: no schedule yet
    const auto program =
        family->build(group.group, family->heuristic(group.group, options.build), options.build);
    ASSERT_TRUE(program.ok()) << program.error().text();
    for (const auto& phase : program->phases) {
      if (seen.size() >= 16 || !seen.insert(loop::print(phase.fn)).second) continue;
      families.insert(group.family);
      SCOPED_TRACE(group.family + " of " + group.group.node_names[0]);
      for (const auto& arch : device::gpu_archs()) {
        compile(phase.fn, arch, Numerics::kDefault);
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GE(families.size(), 3u);
  EXPECT_GE(seen.size(), 5u);
}

INSTANTIATE_TEST_SUITE_P(All, CudaNvrtcNetworks, ::testing::Values("resnet50", "minilm_l6"));

}  // namespace
}  // namespace frit
