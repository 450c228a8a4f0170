#include <gtest/gtest.h>

#include "exec/memory_plan.h"
#include "support/exec_fakes.h"

namespace frit::exec {
namespace {

using graph::BinaryOp;
using graph::Graph;
using graph::UnaryOp;
using graph::ValueId;
using testing::f32;

struct Made {
  CompiledPlan compiled;
  MemoryPlan memory;
};

Result<Made> make(std::shared_ptr<const fusion::Plan> plan, const MemoryOptions& options = {},
                  int64_t kind = 0) {
  const std::vector<codegen::Params> choices(plan->groups.size(), codegen::Params{{"kind", kind}});
  Made out;
  FRIT_ASSIGN(out.compiled, build_plan(plan, choices, nullptr, testing::fake_build_options()));
  FRIT_ASSIGN(out.memory, plan_memory(out.compiled, options));
  return out;
}

ValueId relu(Graph& g, ValueId x) { return g.add(graph::Unary{UnaryOp::kRelu}, {x}, g.value(x).type); }
ValueId add(Graph& g, ValueId a, ValueId b) {
  return g.add(graph::Binary{BinaryOp::kAdd}, {a, b}, g.value(a).type);
}

TEST(MemoryPlan, AChainRunsInPlaceAndEndsInTheCallersMemory) {
  Graph g;
  const ValueId x = g.add_input(f32({1000}));
  const ValueId a = relu(g, x), b = relu(g, a), c = relu(g, b), y = relu(g, c);
  g.outputs = {y};
  auto made = make(testing::plan_of(g));
  ASSERT_TRUE(made.ok()) << made.error().text();
  const MemoryPlan& m = made->memory;
  EXPECT_EQ(m.values[size_t(x)].kind, StorageKind::kInput);
  EXPECT_EQ(m.values[size_t(a)].kind, StorageKind::kArena);
  EXPECT_EQ(m.values[size_t(b)].offset, m.values[size_t(a)].offset);
  EXPECT_EQ(m.values[size_t(c)].offset, m.values[size_t(a)].offset);
  EXPECT_EQ(m.values[size_t(y)].kind, StorageKind::kOutput);
  EXPECT_EQ(m.in_place, 2);
  EXPECT_EQ(m.arena_bytes, (4000 + kOverReadBytes + 63) / 64 * 64);
  EXPECT_TRUE(m.copies.empty());
}

TEST(MemoryPlan, AValueThatIsReadLaterIsNotOverwritten) {
  Graph g;
  const ValueId x = g.add_input(f32({100}));
  const ValueId a = relu(g, x), b = relu(g, a), c = add(g, b, a), y = relu(g, c);
  g.outputs = {y};
  auto made = make(testing::plan_of(g));
  ASSERT_TRUE(made.ok()) << made.error().text();
  const MemoryPlan& m = made->memory;
  EXPECT_NE(m.values[size_t(b)].offset, m.values[size_t(a)].offset);
  EXPECT_EQ(m.values[size_t(c)].offset,
            m.values[size_t(b)].offset);  // b is input 0 of the sum and not read again
}

TEST(MemoryPlan, TheCallersInputIsOnlyOverwrittenWhenDonated) {
  Graph g;
  const ValueId x = g.add_input(f32({100}));
  const ValueId a = relu(g, x), y = relu(g, a);
  g.outputs = {y};
  auto plan = testing::plan_of(g);
  plan->groups[0].group.inputs[0].caller =
      false;  // fusion says so for donated inputs: the program offers in-place
  auto made = make(plan);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->memory.values[size_t(a)].kind, StorageKind::kArena);
  made = make(plan, {1, {true}});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->memory.values[size_t(a)].kind, StorageKind::kInput);
  EXPECT_EQ(made->memory.values[size_t(a)].index, 0);
  EXPECT_EQ(made->memory.arena_bytes, 0);
}

TEST(MemoryPlan, AnOutputIsNeverOverwrittenByALaterGroup) {
  Graph g;
  const ValueId x = g.add_input(f32({100}));
  const ValueId a = relu(g, x), b = relu(g, a);
  g.outputs = {a, b};
  auto made = make(testing::plan_of(g));
  ASSERT_TRUE(made.ok());
  const MemoryPlan& m = made->memory;
  EXPECT_EQ(m.values[size_t(a)].kind, StorageKind::kOutput);
  EXPECT_EQ(m.values[size_t(b)].kind, StorageKind::kOutput);
  EXPECT_EQ(m.values[size_t(a)].index, 0);
  EXPECT_EQ(m.values[size_t(b)].index, 1);
  EXPECT_EQ(m.in_place, 0);
}

TEST(MemoryPlan, OutputsThatAreInputsConstantsOrDuplicatesAreCopied) {
  Graph g;
  const ValueId x = g.add_input(f32({4}));
  const ValueId k = g.add_constant(f32({4}), graph::make_constant_of<float>({1, 2, 3, 4}));
  const ValueId y = relu(g, x);
  g.outputs = {x, y, k, y};
  auto made = make(testing::plan_of(g));
  ASSERT_TRUE(made.ok()) << made.error().text();
  const auto& copies = made->memory.copies;
  ASSERT_EQ(copies.size(), 3u);
  EXPECT_EQ(copies[0].output, 0);
  EXPECT_EQ(copies[0].value, x);
  EXPECT_EQ(copies[1].output, 2);
  EXPECT_EQ(copies[1].value, k);
  EXPECT_EQ(copies[2].output, 3);
  EXPECT_EQ(copies[2].value, y);
}

TEST(MemoryPlan, AnOutputThatIsReadPastItsEndIsMadeInTheArena) {
  Graph g;
  const ValueId x = g.add_input(f32({4}));
  const ValueId a = relu(g, x), b = relu(g, a);
  g.outputs = {a, b};
  CompiledPlan compiled = *build_plan(testing::plan_of(g), {}, nullptr, testing::fake_build_options());
  auto second = std::make_shared<BuiltGroup>(*compiled.groups[1]);
  second->program.phases[0].fn.buffers[0].over_read = true;
  compiled.groups[1] = second;
  auto m = plan_memory(compiled, {});
  ASSERT_TRUE(m.ok());
  EXPECT_EQ(m->values[size_t(a)].kind, StorageKind::kArena);
  ASSERT_EQ(m->copies.size(), 1u);
  EXPECT_EQ(m->copies[0].value, a);
  EXPECT_EQ(m->values[size_t(b)].kind, StorageKind::kOutput);
}

TEST(MemoryPlan, InPlaceNeedsTheFunctionsConsent) {
  Graph g;
  const ValueId x = g.add_input(f32({4}));
  const ValueId a = relu(g, x), b = relu(g, a), y = relu(g, b);
  g.outputs = {y};
  CompiledPlan compiled = *build_plan(testing::plan_of(g), {}, nullptr, testing::fake_build_options());
  ASSERT_EQ(plan_memory(compiled, {})->in_place, 1);
  auto second = std::make_shared<BuiltGroup>(*compiled.groups[1]);
  second->program.phases[0].fn.buffers[1].may_alias.clear();
  compiled.groups[1] = second;
  EXPECT_EQ(plan_memory(compiled, {})->in_place, 0);
}

TEST(MemoryPlan, ScratchLivesOneStepAndWorkersHaveTheirOwn) {
  Graph g;
  const ValueId x = g.add_input(f32({16}));
  const ValueId y = relu(g, x);
  g.outputs = {y};
  CompiledPlan compiled = *build_plan(testing::plan_of(g), {}, nullptr, testing::fake_build_options());
  auto group = std::make_shared<BuiltGroup>(*compiled.groups[0]);
  group->program.buffers.push_back({loop::BufferRole::kScratch, 0, 1000});
  group->program.phases[0].fn.scratch_bytes = 100;
  compiled.groups[0] = group;
  auto m = plan_memory(compiled, {3, {}});
  ASSERT_TRUE(m.ok());
  EXPECT_EQ(m->scratch[0].back(), 0);
  EXPECT_EQ(m->worker_scratch_bytes, 128);
  EXPECT_GE(m->worker_scratch_offset, 1000 + kOverReadBytes);
  EXPECT_EQ(m->arena_bytes, m->worker_scratch_offset + 3 * 128);
}

TEST(MemoryPlan, IndependentSerialKernelsShareAStep) {
  Graph g;
  const ValueId x = g.add_input(f32({1000}));
  const ValueId a = relu(g, x), b = relu(g, x), c = relu(g, x), d = relu(g, a), y = add(g, d, add(g, b, c));
  g.outputs = {y};
  auto made = make(testing::plan_of(g), {2, {}}, 3);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->memory.steps, (std::vector<int32_t>{0, 0, 1, 1, 2, 3}));
  EXPECT_NE(made->memory.values[size_t(a)].offset, made->memory.values[size_t(b)].offset);
  // Kernels that are split over the workers have a step each, and so has everything on one thread.
  EXPECT_EQ(make(testing::plan_of(g), {2, {}}, 0)->memory.step_count, 6);
  EXPECT_EQ(make(testing::plan_of(g), {1, {}}, 3)->memory.step_count, 6);
}

TEST(MemoryPlan, ProgramsThatDoNotFitThePlanAreRefused) {
  Graph g;
  const ValueId x = g.add_input(f32({16}));
  g.outputs = {relu(g, x)};
  const auto plan = testing::plan_of(g);
  const CompiledPlan compiled = *build_plan(plan, {}, nullptr, testing::fake_build_options());
  const auto refused = [&](auto change) {
    auto group = std::make_shared<BuiltGroup>(*compiled.groups[0]);
    change(*group);
    auto m = plan_memory({plan, {group}}, {});
    return m.ok() ? std::string() : m.error().text();
  };
  EXPECT_NE(refused([](BuiltGroup& b) { b.program.buffers[0].index = 7; }).find("input or output 7"),
            std::string::npos);
  EXPECT_NE(refused([](BuiltGroup& b) {
              loop::LoopFn& fn = b.program.phases[0].fn;
              fn.buffers[0].size = loop::int_const(*fn.context, 17);
            }).find("touches 17 f32 of a buffer of 64 bytes"),
            std::string::npos);
  EXPECT_NE(refused([](BuiltGroup& b) {
              b.program.phases[0].fn.buffers[0].align_bytes = 128;
            }).find("alignment 128"),
            std::string::npos);

  Graph unmade = g;
  unmade.outputs.push_back(unmade.add_value(f32({1})));
  auto m = plan_memory({[&] {
                          auto p = std::make_shared<fusion::Plan>(*plan);
                          p->graph = unmade;
                          return p;
                        }(),
                        compiled.groups},
                       {});
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(m.error().message, "no group makes output 1");
}

}  // namespace
}  // namespace frit::exec
