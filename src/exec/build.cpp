#include "exec/build.h"

#include <atomic>
#include <map>
#include <optional>
#include <utility>

#include "base/stop.h"
#include "base/text.h"
#include "base/try.h"
#include "loop/text.h"
#include "loop/verify.h"

namespace frit::exec {

namespace {

// Whether another choice may do where this one failed.
bool is_of_choice(const Error& error) {
  return error.code == Code::kUnsupported || error.code == Code::kInternal;
}

class GroupBuilder {
 public:
  GroupBuilder(const fusion::PlanGroup& group, const codegen::Family& family, KernelProvider* provider,
               const BuildOptions& options)
      : group_(group), family_(family), provider_(provider), options_(options) {}

  Result<std::shared_ptr<const BuiltGroup>> build(const codegen::Params& wanted) {
    std::string why;
    for (const codegen::Params& params : first_choices(wanted)) {
      if (auto done = attempt(params, why)) return *std::move(done);
    }
    for (const codegen::Params& params : more_choices()) {
      if (auto done = attempt(params, why)) return *std::move(done);
    }
    return make_error(Code::kUnsupported,
                      base::text_of("no choice of family ", family_.name, " could be built: ", why));
  }

 private:
  using Done = std::optional<Result<std::shared_ptr<const BuiltGroup>>>;

  std::vector<codegen::Params> first_choices(const codegen::Params& wanted) {
    codegen::Params usual = family_.heuristic(group_.group, options_.context);
    if (wanted.items().empty() || wanted == usual) return {std::move(usual)};
    return {wanted, std::move(usual)};
  }

  // From all over the space: neighbours tend to fail for the same reason.
  std::vector<codegen::Params> more_choices() {
    constexpr size_t kListed = 4096;
    const auto legal = family_.space(group_.group, options_.context).enumerate(kListed);
    const size_t wanted = std::min(legal.size(), static_cast<size_t>(std::max(options_.more_tries, 0)));
    std::vector<codegen::Params> out;
    for (size_t k = 0; k < wanted; ++k) out.push_back(legal[k * legal.size() / wanted]);
    return out;
  }

  // Nothing: the choice does not do, go on with the next.
  Done attempt(const codegen::Params& params, std::string& why) {
    if (Status s = base::check_stop(options_.stop); !s.ok()) return std::move(s).error();
    auto built = build_with(params);
    if (!built.ok() && is_of_choice(built.error())) {
      if (why.empty()) why = base::text_of(params.text(), ": ", built.error().text());
      options_.log.warn("exec", "group of family ", family_.name, " cannot be built with ", params.text(),
                        ": ", built.error().text());
      return std::nullopt;
    }
    if (!built.ok()) return std::move(built).error();
    built->replaced = why;
    return std::make_shared<const BuiltGroup>(*std::move(built));
  }

  Result<BuiltGroup> build_with(const codegen::Params& params) {
    BuiltGroup out;
    out.params = params;
    FRIT_ASSIGN(out.program, family_.build(group_.group, params, options_.context));
    FRIT_TRY(loop::verify(out.program));
    out.program_hash = loop::text_hash(out.program);
    if (!provider_) return out;
    FRIT_TRY(kernels(out.program.prepare, out.prepare));
    FRIT_TRY(kernels(out.program.phases, out.phases));
    return out;
  }

  Status kernels(const std::vector<loop::Phase>& phases,
                 std::vector<std::shared_ptr<const device::Kernel>>& out) {
    for (const loop::Phase& phase : phases) {
      FRIT_ASSIGN(auto kernel, provider_->kernel(phase.fn));
      if (kernel->shape().sizes != 0 || kernel->shape().tiles < 0) {
        return make_error(Code::kUnsupported,
                          base::text_of("kernel ", kernel->name(), " takes run-time sizes, expected none"));
      }
      out.push_back(std::move(kernel));
    }
    return {};
  }

  const fusion::PlanGroup& group_;
  const codegen::Family& family_;
  KernelProvider* const provider_;
  const BuildOptions& options_;
};

// One for all groups of equal text and choice.
struct Task {
  size_t group = 0;  // the first of them
  codegen::Params wanted;
  std::optional<Result<std::shared_ptr<const BuiltGroup>>> result;
};

}  // namespace

std::string group_label(const fusion::Plan& plan, size_t group) {
  const fusion::PlanGroup& g = plan.groups[group];
  std::string out;
  for (const graph::NodeId id : g.nodes) {
    const graph::Node& node = plan.graph.node(id);
    // The anchor says what the group is; without one, the first node that has a name.
    if (out.empty() ||
        (g.group.anchor != graph::kNoNode && g.group.graph.node(g.group.anchor).name == node.name)) {
      if (node.name.empty() && !out.empty()) continue;
      out = node.source_op.empty() ? graph::op_name(node.op) : node.source_op;
      if (!node.name.empty()) base::append(out, " ", base::quoted(node.name));
    }
  }
  if (out.empty()) out = "empty group";
  return out + " (" + (g.family.empty() ? "host op" : g.family) + ")";
}

Result<CompiledPlan> build_plan(std::shared_ptr<const fusion::Plan> plan,
                                std::span<const codegen::Params> choices, KernelProvider* provider,
                                const BuildOptions& options) {
  if (!choices.empty() && choices.size() != plan->groups.size()) {
    return make_error(Code::kInternal,
                      base::text_of(choices.size(), " choices for ", plan->groups.size(), " groups"));
  }
  CompiledPlan out;
  out.plan = std::move(plan);
  out.groups.resize(out.plan->groups.size());

  std::vector<Task> tasks;
  std::vector<int64_t> task_of(out.groups.size(), -1);
  std::map<std::string, size_t> known;
  for (size_t g = 0; g < out.groups.size(); ++g) {
    const fusion::PlanGroup& group = out.plan->groups[g];
    if (group.family.empty()) continue;
    const codegen::Params wanted = choices.empty() ? codegen::Params() : choices[g];
    const auto [it, is_new] =
        known.emplace(group.family + "\n" + wanted.text() + "\n" + group.group.text(), tasks.size());
    if (is_new) tasks.push_back({g, wanted, std::nullopt});
    task_of[g] = static_cast<int64_t>(it->second);
  }

  std::atomic<size_t> next{0};
  const auto work = [&](int, int) {
    for (size_t k = next.fetch_add(1); k < tasks.size(); k = next.fetch_add(1)) {
      Task& task = tasks[k];
      const fusion::PlanGroup& group = out.plan->groups[task.group];
      const codegen::Family* family = options.family ? options.family(group.family) : nullptr;
      if (!family) {
        task.result = make_error(Code::kUnsupported,
                                 base::text_of("there is no kernel family ", base::quoted(group.family)));
        continue;
      }
      base::TraceSpan span(options.trace, "exec", "build ",
                           [&] { return group_label(*out.plan, task.group); });
      task.result = GroupBuilder(group, *family, provider, options).build(task.wanted);
    }
  };
  if (options.workers) {
    options.workers->run(work);
  } else {
    work(0, 1);
  }
  for (Task& task : tasks) {
    if (!task.result->ok()) return std::move(*task.result).error().with(group_label(*out.plan, task.group));
  }
  for (size_t g = 0; g < out.groups.size(); ++g) {
    if (task_of[g] >= 0) out.groups[g] = **tasks[static_cast<size_t>(task_of[g])].result;
  }
  return out;
}

}  // namespace frit::exec
