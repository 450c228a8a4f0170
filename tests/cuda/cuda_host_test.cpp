// The emitted text itself: kernels of random problems are compiled as host C++ behind host_shim.h, all in one
// file, and must give the very bits that the interpreter gives for the LoopFn.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>
#include <set>

#include "base/half.h"
#include "base/text.h"
#include "codegen/cuda/emit.h"
#include "codegen/families/phase.h"
#include "device/kernel_abi.h"
#include "fusion/plan.h"
#include "loop/build.h"
#include "loop/interp.h"
#include "loop/text.h"
#include "support/problems.h"
#include "support/temp_folder.h"

namespace frit {
namespace {

using base::text_of;

struct Case {
  std::string what;
  codegen::Group group;
  loop::Program program;
  codegen::CudaKernel kernel;
};

const char* memory_type(DType t) { return t == DType::kBool ? "u8" : dtype_name(t); }

// Kernels of one kind of problems with params from the whole space, until there are `wanted` different ones.
void collect(const char* kind, size_t wanted, std::vector<Case>& cases, std::set<std::string>& symbols) {
  const auto target = device::parse_target("cuda:sm_90").value_or_throw();
  fusion::FusionOptions options;
  options.build.target = &target;
  size_t found = 0;
  for (uint64_t seed = 500; found < wanted && seed < 1000; ++seed) {
    std::mt19937_64 random(seed);
    options.build.numerics = seed % 3 == 0 ? Numerics::kStrict : Numerics::kDefault;
    graph::Graph g;
    for (const auto& k : testing::problem_kinds())
      if (std::string(k.name) == kind) g = k.make(seed);
    auto plan = fusion::make_plan(std::move(g), options);
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    for (const auto& group : plan->groups) {
      const codegen::Family* family = codegen::family_named(group.family);
      if (!family) continue;
      const auto points = family->space(group.group, options.build).enumerate(1 << 16);
      const auto params = points[random() % points.size()];
      auto program = family->build(group.group, params, options.build);
      ASSERT_TRUE(program.ok()) << program.error().text();
      ASSERT_EQ(program->phases.size(), 1u);
      auto kernel = codegen::emit_cuda(program->phases[0].fn);
      ASSERT_TRUE(kernel.ok()) << kernel.error().text();
      if (!symbols.insert(kernel->symbol).second) continue;
      ++found;
      cases.push_back({text_of(kind, " seed ", seed, ", ", group.family, " ", params.text()), group.group,
                       *std::move(program), *std::move(kernel)});
    }
  }
  EXPECT_GE(found, wanted) << kind;
}

// One file: shim, prelude, kernels, and a function per kernel that launches it.
std::string source_of(const std::vector<Case>& cases) {
  const std::string prelude = codegen::cuda_prelude();
  std::string out = "#include \"cuda/host_shim.h\"\n" + prelude + "u8 shared[kSharedBytes];\n";
  for (size_t k = 0; k < cases.size(); ++k) {
    out += cases[k].kernel.source.substr(prelude.size());
    const loop::LoopFn& fn = cases[k].program.phases[0].fn;
    std::string arguments;
    for (int32_t a = 0; a < fn.arg_count; ++a)
      base::append(arguments, "(", memory_type(fn.buffers[static_cast<size_t>(a)].dtype), "*)a[", a, "], ");
    base::append(out, "struct Kernel", k, " : Kernel {\n  void** a;\n  i64* error;\n  void run() override { ",
                 cases[k].kernel.symbol, "(", arguments, "error); }\n};\n", "extern \"C\" void run_", k,
                 "(void** a, i64* error, const i64* grid, const i64* block, i64 shared_bytes, bool reverse) "
                 "{\n  Kernel",
                 k,
                 " kernel;\n  kernel.a = a;\n  kernel.error = error;\n  launch(kernel, grid, block, "
                 "shared_bytes, reverse);\n}\n");
  }
  return out;
}

std::vector<std::byte> random_values(const graph::TensorType& type, int64_t count, std::mt19937_64& random) {
  const size_t bytes = dtype_bytes(type.dtype);
  std::vector<std::byte> out(static_cast<size_t>(count) * bytes);
  for (int64_t i = 0; i < count; ++i) {
    if (type.dtype == DType::kF32) {
      float v = static_cast<float>(static_cast<int64_t>(random() % 4001) - 2000) / 700.0f;
      if (random() % 97 == 0) v = std::numeric_limits<float>::infinity();
      if (random() % 97 == 0) v = std::numeric_limits<float>::quiet_NaN();
      std::memcpy(&out[static_cast<size_t>(i) * bytes], &v, bytes);
    } else if (type.dtype == DType::kF16 || type.dtype == DType::kBF16) {
      const float v = static_cast<float>(static_cast<int64_t>(random() % 401) - 200) / 16.0f;
      const uint16_t bits = type.dtype == DType::kF16 ? base::float_to_f16(v) : base::float_to_bf16(v);
      std::memcpy(&out[static_cast<size_t>(i) * bytes], &bits, bytes);
    } else {
      const uint64_t v = type.dtype == DType::kBool ? random() % 2 : random() % 3;
      std::memcpy(&out[static_cast<size_t>(i) * bytes], &v, bytes);
    }
  }
  return out;
}

using Values = std::vector<std::vector<std::byte>>;

// Equal bits, but any NaN for a NaN.
void expect_same(const Values& got, const Values& want, const codegen::Group& group,
                 const std::string& what) {
  for (size_t k = 0; k < want.size(); ++k) {
    const DType t = group.graph.value(group.graph.outputs[k]).type.dtype;
    if (t == DType::kF16 || t == DType::kBF16) {
      const auto widen = t == DType::kF16 ? base::f16_to_float : base::bf16_to_float;
      for (size_t i = 0; i + 2 <= want[k].size(); i += 2) {
        uint16_t g = 0, w = 0;
        std::memcpy(&g, &got[k][i], 2);
        std::memcpy(&w, &want[k][i], 2);
        if (std::isnan(widen(g)) && std::isnan(widen(w))) continue;
        ASSERT_EQ(g, w) << what << " output " << k << " element " << i / 2;
      }
      continue;
    }
    if (t != DType::kF32) {
      EXPECT_TRUE(got[k] == want[k]) << what << " output " << k;
      continue;
    }
    for (size_t i = 0; i + 4 <= want[k].size(); i += 4) {
      float g = 0, w = 0;
      std::memcpy(&g, &got[k][i], 4);
      std::memcpy(&w, &want[k][i], 4);
      if (std::isnan(g) && std::isnan(w)) continue;
      ASSERT_EQ(std::memcmp(&g, &w, 4), 0)
          << what << " output " << k << " element " << i / 4 << ": " << g << ", the interpreter gives " << w;
    }
  }
}

TEST(CudaHost, TheTextComputesWhatTheFunctionSays) {
  const char* text = std::getenv("FRIT_TEST_KERNELS");
  const auto wanted = static_cast<size_t>(text ? std::atoi(text) : 12);
  std::vector<Case> cases;
  std::set<std::string> symbols;
  for (const char* kind : {"Pointwise", "Movement", "Reduce", "Normalize", "Matmul"}) {
    collect(kind, wanted, cases, symbols);
    if (HasFatalFailure()) return;
  }
  const testing::TempFolder folder;
  const std::string file = folder / "kernels.cpp", library = folder / "kernels.so", log = folder / "log.txt";
  std::ofstream(file) << source_of(cases);
  const std::string command = text_of(
      FRIT_TEST_CXX
      " -std=c++20 -O1 -fPIC -shared -w -ffp-contract=off -fno-strict-aliasing -I" FRIT_TEST_DATA " -o ",
      library, " ", file, " 2> ", log);
  if (std::system(command.c_str()) != 0) {
    std::ifstream said(log);
    FAIL() << std::string(std::istreambuf_iterator<char>(said), {}).substr(0, 4000);
  }
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << dlerror();
  using Run = void (*)(void**, long long*, const long long*, const long long*, long long, bool);
  size_t elements = 0;
  for (size_t k = 0; k < cases.size(); ++k) {
    const Case& c = cases[k];
    const graph::Graph& g = c.group.graph;
    std::mt19937_64 random(k);
    Values inputs, want;
    std::vector<loop::InterpBuffer> in, out;
    for (graph::ValueId v : g.inputs)
      inputs.push_back(random_values(g.value(v).type, codegen::value_elements(g, v), random));
    for (graph::ValueId v : g.outputs)
      want.emplace_back(static_cast<size_t>(codegen::value_bytes(g, v)), std::byte{0xcd});
    for (auto& b : inputs) in.push_back({b.data(), static_cast<int64_t>(b.size())});
    for (auto& b : want) out.push_back({b.data(), static_cast<int64_t>(b.size())});
    loop::ProgramRun run;
    run.inputs = in;
    run.outputs = out;
    const auto failure = loop::run_program(c.program, run);
    ASSERT_TRUE(failure.ok()) << c.what << ": " << failure.error().text();
    const auto entry = reinterpret_cast<Run>(dlsym(handle, text_of("run_", k).c_str()));
    ASSERT_NE(entry, nullptr);
    long long grid[3], block[3];
    for (size_t a = 0; a < 3; ++a) {
      int64_t n = 1;
      if (c.kernel.launch.grid[a]) loop::as_int(c.kernel.launch.grid[a], &n);
      grid[a] = n;
      block[a] = c.kernel.launch.block[a];
    }
    for (const bool reverse : {false, true}) {
      // Bases as aligned as a GPU's: packs rely on it.
      std::vector<void*> arguments;
      std::vector<std::unique_ptr<std::byte, decltype(&std::free)>> memory;
      std::vector<std::byte*> results(want.size());
      for (int32_t id : c.program.phases[0].args) {
        const auto& b = c.program.buffers[static_cast<size_t>(id)];
        const bool input = b.role == loop::BufferRole::kInput;
        const auto& like = (input ? inputs : want)[static_cast<size_t>(b.index)];
        memory.emplace_back(static_cast<std::byte*>(std::aligned_alloc(256, (like.size() + 512) / 256 * 256)),
                            &std::free);
        if (input && !like.empty()) std::memcpy(memory.back().get(), like.data(), like.size());
        if (!input) results[static_cast<size_t>(b.index)] = memory.back().get();
        arguments.push_back(memory.back().get());
      }
      long long error[device::kErrorWords] = {};
      entry(arguments.data(), error, grid, block, c.kernel.launch.shared_bytes, reverse);
      EXPECT_EQ(error[device::kErrorCode], failure->code) << c.what;
      if (failure->code != 0) continue;
      Values got;
      for (size_t o = 0; o < want.size(); ++o) got.emplace_back(results[o], results[o] + want[o].size());
      for (const auto& values : got) elements += values.size() / 4;
      expect_same(got, want, c.group, c.what);
      if (HasFatalFailure())
        FAIL() << "\n"
               << c.kernel.source.substr(std::string(codegen::cuda_prelude()).size())
               << loop::print(c.program);
    }
  }
  EXPECT_GT(elements, 1000 * wanted) << "hardly anything was computed";
  dlclose(handle);
}

}  // namespace
}  // namespace frit
