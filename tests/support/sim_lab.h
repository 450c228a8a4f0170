// A machine on a simulated clock for tests of the tuner: kernels take the times that the test defines, with
// noise, interruptions and load from a seed, and fail where it says.
//
// A variant is timed by the product's own Sampler, so that batching is under test too. Time passes for
// compiling, running and checking; the budget is measured by the same clock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "support/exec_fakes.h"
#include "tuner/bench.h"
#include "tuner/sampler.h"

namespace frit::testing {

// Advances only when something takes time; can be read only in steps, and each reading costs.
class SimClock final : public base::Clock {
 public:
  int64_t grain_ns = 1, reading_ns = 25;

  int64_t now_ns() override {
    at_ns_ += static_cast<double>(reading_ns);
    return static_cast<int64_t>(at_ns_) / grain_ns * grain_ns;
  }
  int64_t wall_ns() override { return 1'700'000'000'000'000'000 + static_cast<int64_t>(at_ns_); }
  void sleep_ns(int64_t duration_ns) override { pass(static_cast<double>(duration_ns)); }
  void pass(double ns) { at_ns_ += ns; }
  double exact_ns() const { return at_ns_; }

 private:
  double at_ns_ = 1e9;
};

// A family of 64 points {a, b}; what it expects of them is drawn from the seed of the order, so that each
// seed has them tried in another order.
inline uint64_t& sim_order_seed() {
  static uint64_t seed = 1;
  return seed;
}
inline const codegen::Family& sim_family() {
  static const codegen::Family family = {
      "sim",
      3,
      [](const codegen::Group&, const codegen::BuildContext&, std::string*) { return true; },
      [](const codegen::Group&, const codegen::BuildContext&) {
        codegen::Space space;
        space.dims.push_back({"a", {0, 1, 2, 3, 4, 5, 6, 7}, "one thing"});
        space.dims.push_back({"b", {0, 1, 2, 3, 4, 5, 6, 7}, "another thing"});
        return space;
      },
      [](const codegen::Group&, const codegen::BuildContext&) {
        return codegen::Params{{"a", 0}, {"b", 0}};
      },
      [](const codegen::Group&, const codegen::Params& p, const codegen::BuildContext&) {
        codegen::Cost cost;
        cost.seconds = 1e-3 * (1 + 0.5 * base::uniform(sim_order_seed(),
                                                       static_cast<uint64_t>(8 * p.get("a") + p.get("b"))));
        return cost;
      },
      [](const codegen::Group&, const codegen::Params&, const codegen::BuildContext&)
          -> Result<loop::Program> { return make_error(Code::kUnsupported, "simulated"); }};
  return family;
}
inline int64_t sim_point(const codegen::Params& p) { return 8 * p.get("a") + p.get("b"); }

class SimLab final : public tuner::Lab {
 public:
  enum class Stage { kPrepare, kSample, kVerify };

  explicit SimLab(SimClock& clock, uint64_t seed = 1) : clock_(clock), random_(seed) {}

  // The true time of a kernel: of a group (by its elements) and a choice.
  std::function<double(int64_t elements, const codegen::Params&)> time_ns;
  // What multiplies it now: a load on the machine.
  std::function<double(double now_ns)> load;
  std::function<tuner::Verdict(const codegen::Params&, Stage)> fault;
  std::function<void(const codegen::Params&)> on_prepare;
  double noise = 0.01;          // relative, of each run
  double interruptions = 0.01;  // share of runs that take three times as long
  double compile_ns = 5e6;
  // Group by group of the plan: what a winner's time is multiplied by inside the whole model.
  std::vector<double> in_model;

  std::map<int64_t, int64_t> prepared;  // by elements of the group
  std::set<std::pair<int64_t, int64_t>> points_prepared;
  int comparisons = 0;
  const fusion::Plan* plan = nullptr;

  const codegen::Family* family(std::string_view name) const override {
    return name == "sim" ? &sim_family() : nullptr;
  }
  Result<std::unique_ptr<tuner::Bench>> bench(const fusion::PlanGroup& group) override {
    return std::unique_ptr<tuner::Bench>(std::make_unique<SimBench>(*this, group));
  }
  Result<tuner::CompareOutcome> compare(const std::vector<codegen::Params>& before,
                                        const std::vector<codegen::Params>& after, double seconds) override {
    ++comparisons;
    clock_.pass(seconds * 1e9);
    tuner::CompareOutcome out;
    for (size_t k = 0; k < before.size(); ++k) {
      const int64_t n = elements_of(plan->groups[k]);
      const double was = time_ns(n, before[k]);
      double is = time_ns(n, after[k]);
      if (k < in_model.size() && !(before[k] == after[k])) is *= in_model[k];
      out.group_before_ns.push_back(was);
      out.group_after_ns.push_back(is);
      out.before_ms += was * 1e-6;
      out.after_ms += is * 1e-6;
    }
    return out;
  }

  static int64_t elements_of(const fusion::PlanGroup& group) {
    const auto& g = group.group.graph;
    return graph::element_count(g.value(g.outputs[0]).type.shape).value();
  }

 private:
  struct SimVariant final : tuner::Variant {
    int64_t runs = 0;
  };

  class SimBench final : public tuner::Bench {
   public:
    SimBench(SimLab& lab, const fusion::PlanGroup& group)
        : lab_(lab),
          group_(group.group),
          elements_(elements_of(group)),
          sampler_(lab.clock_),
          space_(sim_family().space(group_, {})) {}
    const codegen::Family& family() const override { return sim_family(); }
    const codegen::Group& group() const override { return group_; }
    const codegen::Space& space() const override { return space_; }
    tuner::Verdict prepare(const codegen::Params& params, std::unique_ptr<tuner::Variant>* out) override {
      if (lab_.on_prepare) lab_.on_prepare(params);
      ++lab_.prepared[elements_];
      lab_.points_prepared.insert({elements_, sim_point(params)});
      lab_.clock_.pass(lab_.compile_ns);
      if (tuner::Verdict v = fault(params, Stage::kPrepare); !v.ok()) return v;
      auto variant = std::make_unique<SimVariant>();
      variant->params = params;
      *out = std::move(variant);
      return {};
    }
    tuner::Verdict sample(tuner::Variant& variant) override {
      if (tuner::Verdict v = fault(variant.params, Stage::kSample); !v.ok()) return v;
      auto time =
          sampler_.sample(static_cast<SimVariant&>(variant).runs, [&] { return run(variant.params); });
      variant.samples_ns.push_back(*time);
      return {};
    }
    tuner::Verdict verify(tuner::Variant& variant) override {
      lab_.clock_.pass(lab_.time_ns(elements_, variant.params));
      return fault(variant.params, Stage::kVerify);
    }

   private:
    tuner::Verdict fault(const codegen::Params& params, Stage stage) const {
      return lab_.fault ? lab_.fault(params, stage) : tuner::Verdict();
    }
    Status run(const codegen::Params& params) {
      double ns = lab_.time_ns(elements_, params);
      if (lab_.load) ns *= lab_.load(lab_.clock_.exact_ns());
      ns *= 1 + lab_.noise * lab_.normal_(lab_.random_);
      if (std::uniform_real_distribution<>()(lab_.random_) < lab_.interruptions) ns *= 3;
      lab_.clock_.pass(std::max(ns, 1.0));
      return {};
    }

    SimLab& lab_;
    const codegen::Group& group_;
    int64_t elements_;
    tuner::Sampler sampler_;
    codegen::Space space_;
  };

  SimClock& clock_;
  std::mt19937_64 random_;
  std::normal_distribution<> normal_;
};

// One group per entry: a node over as many elements.
inline std::shared_ptr<fusion::Plan> sim_plan(const std::vector<int64_t>& elements) {
  graph::Graph g;
  for (const int64_t n : elements) {
    const auto x = g.add_input(f32({n}));
    const auto node = g.add_node(graph::Unary{graph::UnaryOp::kNeg}, {x}, {f32({n})});
    g.outputs.push_back(g.node(node).outputs[0]);
  }
  g.output_names.resize(g.outputs.size());
  auto plan = plan_of(std::move(g));
  for (auto& group : plan->groups) group.family = "sim";
  return plan;
}

}  // namespace frit::testing
