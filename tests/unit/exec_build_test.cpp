#include <gtest/gtest.h>

#include "exec/build.h"
#include "support/exec_fakes.h"

namespace frit::exec {
namespace {

using codegen::Params;
using graph::Graph;
using graph::UnaryOp;
using graph::ValueId;
using testing::f32;
using testing::FakeProvider;

std::shared_ptr<fusion::Plan> two_relus(int64_t first, int64_t second) {
  Graph g;
  const ValueId x = g.add_input(f32({first}), "x");
  const ValueId z = g.add_input(f32({second}), "z");
  g.outputs = {g.add(graph::Unary{UnaryOp::kRelu}, {x}, f32({first}), "y"),
               g.add(graph::Unary{UnaryOp::kRelu}, {z}, f32({second}), "w")};
  g.nodes[0].name = "first";
  g.nodes[0].source_op = "Relu";
  return testing::plan_of(g);
}

class Build : public ::testing::Test {
 protected:
  void SetUp() override {
    provider.make_body = [](const loop::LoopFn& fn) { return testing::elementwise_body(fn); };
  }
  FakeProvider provider;
};

TEST_F(Build, EqualGroupsAreBuiltOnce) {
  auto built = build_plan(two_relus(100, 100), {}, &provider, testing::fake_build_options());
  ASSERT_TRUE(built.ok()) << built.error().text();
  EXPECT_EQ(built->groups[0], built->groups[1]);
  EXPECT_EQ(provider.asked, 1);
  EXPECT_EQ(built->groups[0]->params.text(), "kind=0");
  EXPECT_TRUE(built->groups[0]->replaced.empty());

  auto other = build_plan(two_relus(100, 101), {}, &provider, testing::fake_build_options());
  ASSERT_TRUE(other.ok());
  EXPECT_NE(other->groups[0], other->groups[1]);
}

TEST_F(Build, EqualGroupsWithDifferentChoicesAreNotShared) {
  const std::vector<Params> choices = {Params{{"kind", 0}}, Params{{"kind", 3}}};
  auto built = build_plan(two_relus(100, 100), choices, &provider, testing::fake_build_options());
  ASSERT_TRUE(built.ok());
  EXPECT_NE(built->groups[0], built->groups[1]);
  EXPECT_EQ(built->groups[1]->program.phases[0].threads, 1);
}

TEST_F(Build, AChoiceThatDoesNotCompileIsReplacedByTheHeuristic) {
  for (const int64_t kind : {1, 2}) {
    const std::vector<Params> choices = {Params{{"kind", kind}}, Params{}};
    auto built = build_plan(two_relus(8, 8), choices, &provider, testing::fake_build_options());
    ASSERT_TRUE(built.ok()) << built.error().text();
    EXPECT_EQ(built->groups[0]->params.text(), "kind=0");
    EXPECT_NE(built->groups[0]->replaced.find(kind == 1 ? "kind=1: the compiler gave up"
                                                        : "kind=2: kind 2 is not for"),
              std::string::npos)
        << built->groups[0]->replaced;
  }
}

const codegen::Family* bad_heuristic() {
  static const codegen::Family family = [] {
    codegen::Family f = testing::elementwise_family();
    f.heuristic = [](const codegen::Group&, const codegen::BuildContext&) { return Params{{"kind", 1}}; };
    return f;
  }();
  return &family;
}

TEST_F(Build, TheSpaceIsTriedWhereTheHeuristicFailsToo) {
  BuildOptions options = testing::fake_build_options();
  options.family = [](std::string_view) { return bad_heuristic(); };
  auto built = build_plan(two_relus(8, 8), {}, &provider, options);
  ASSERT_TRUE(built.ok()) << built.error().text();
  EXPECT_EQ(built->groups[0]->params.text(), "kind=0");

  options.more_tries = 0;
  built = build_plan(two_relus(8, 8), {}, &provider, options);
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.error().code, Code::kUnsupported);
  EXPECT_EQ(built.error().text(),
            "Relu \"first\" (ew): no choice of family ew could be built: kind=1: the compiler gave up");
}

TEST_F(Build, ErrorsThatNoOtherChoiceCuresArePassedOn) {
  class NoCompiler final : public KernelProvider {
   public:
    Result<std::shared_ptr<const device::Kernel>> kernel(const loop::LoopFn&) override {
      ++asked;
      return make_error(Code::kNotFound, "no libfrit-codegen");
    }
    KernelCounters counters() const override { return {}; }
    int asked = 0;
  } none;
  auto built = build_plan(two_relus(8, 8), {}, &none, testing::fake_build_options());
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.error().code, Code::kNotFound);
  EXPECT_EQ(none.asked, 1);
}

TEST_F(Build, UnknownFamiliesAndWrongCountsAreErrors) {
  auto plan = two_relus(8, 8);
  plan->groups[1].family = "nonesuch";
  auto built = build_plan(plan, {}, &provider, testing::fake_build_options());
  ASSERT_FALSE(built.ok());
  EXPECT_NE(built.error().text().find("there is no kernel family \"nonesuch\""), std::string::npos);
  const std::vector<Params> one(1);
  EXPECT_FALSE(build_plan(two_relus(8, 8), one, &provider, testing::fake_build_options()).ok());
}

TEST_F(Build, StopsOnRequest) {
  StopSource source;
  source.request_stop();
  BuildOptions options = testing::fake_build_options();
  options.stop = source.token();
  auto built = build_plan(two_relus(8, 8), {}, &provider, options);
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.error().code, Code::kCancelled);
  EXPECT_EQ(provider.asked, 0);
}

TEST_F(Build, ManyWorkersBuildTheSame) {
  Graph g;
  for (int64_t n = 1; n <= 40; ++n) {
    const ValueId x = g.add_input(f32({n % 20 + 1}));
    g.outputs.push_back(g.add(graph::Unary{UnaryOp::kRelu}, {x}, g.value(x).type));
  }
  const auto plan = testing::plan_of(g);
  auto pool = base::ThreadPool::open();
  ASSERT_TRUE(pool.ok());
  ASSERT_TRUE(pool->reserve(4).ok());
  auto lease = pool->acquire(4);
  ASSERT_TRUE(lease.ok());
  BuildOptions options = testing::fake_build_options();
  options.workers = &*lease;
  auto built = build_plan(plan, {}, &provider, options);
  ASSERT_TRUE(built.ok()) << built.error().text();
  EXPECT_EQ(provider.asked, 20);
  for (size_t k = 0; k < 20; ++k) {
    ASSERT_NE(built->groups[k], nullptr);
    EXPECT_EQ(built->groups[k], built->groups[k + 20]);
  }
}

TEST_F(Build, WithoutAProviderThereAreProgramsOnly) {
  auto built = build_plan(two_relus(8, 8), {}, nullptr, testing::fake_build_options());
  ASSERT_TRUE(built.ok());
  EXPECT_EQ(built->groups[0]->program.phases.size(), 1u);
  EXPECT_TRUE(built->groups[0]->phases.empty());
}

TEST_F(Build, HostOpsAreLeftAlone) {
  auto plan = two_relus(8, 8);
  plan->groups[0].family.clear();
  auto built = build_plan(plan, {}, &provider, testing::fake_build_options());
  ASSERT_TRUE(built.ok());
  EXPECT_EQ(built->groups[0], nullptr);
  EXPECT_EQ(group_label(*plan, 0), "Relu \"first\" (host op)");
}

}  // namespace
}  // namespace frit::exec
