#include "runtime/planning.h"

#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "fusion/version.h"
#include "graph/infer.h"
#include "graph/passes.h"
#include "graph/text.h"

namespace frit::runtime {

namespace {

// Whether a record may be replayed under the session's policy.
bool is_usable(const tuner::PlanHit& hit, const Setup& setup) {
  if (hit.match == tuner::Match::kExact) return true;
  if (hit.match == tuner::Match::kMiss) return false;
  // Another partitioner's plan for the very same key has its groups' decisions beside it; one for other
  // threads or another machine has not.
  const bool is_older = hit.differences.size() == 1 && hit.differences[0].name == "plan_version";
  if (!is_older) return false;
  return setup.on_miss != OnMiss::kTune && (setup.on_miss != OnMiss::kError || setup.accept_near);
}

void keep(Runtime& runtime, const tuner::Key& key, const fusion::Plan& plan) {
  tuner::PlanRecord record;
  record.version = fusion::kPartitionerVersion;
  record.text = plan.record();
  record.provenance = runtime.provenance();
  if (const auto put = runtime.store()->put_plan(key, record); !put.ok()) {
    runtime.log().trace("runtime", "the plan is not kept: ", put.error().text());
  }
}

}  // namespace

Result<graph::Graph> specialise(const graph::Graph& graph, const InputShapes& shapes, Numerics numerics) {
  FRIT_ASSIGN(const auto sizes, bind_inputs(graph, shapes));
  graph::Graph out = graph;
  FRIT_TRY(graph::bind_sizes(out, sizes));
  graph::PassContext context;
  context.numerics = numerics;
  FRIT_TRY(graph::run_passes(out, context));
  return out;
}

Result<Planned> make_or_replay(Runtime& runtime, graph::Graph graph, const Setup& setup) {
  const fusion::FusionOptions options{setup.build, true};
  std::optional<tuner::Key> key;
  if (runtime.store()) {
    FRIT_ASSIGN(key, tuner::plan_key(graph::print(graph), setup.parts, runtime.target_parts()));
    const tuner::PlanHit hit = runtime.store()->get_plan(*key, fusion::kPartitionerVersion);
    if (is_usable(hit, setup)) {
      auto plan = fusion::plan_from_record(graph, hit.plan.text, options);
      if (plan.ok()) {
        return Planned{std::make_shared<const fusion::Plan>(*std::move(plan)),
                       hit.match == tuner::Match::kExact ? Match::kExact : Match::kNear};
      }
      runtime.log().warn(
          "runtime", "the plan in the cache does not fit its graph, making a new one: ", plan.error().text());
    }
  }
  if (setup.on_miss == OnMiss::kError) {
    return make_error(Code::kNotFound,
                      base::text_of("the cache has no plan for this graph of ", graph.nodes.size(),
                                    " nodes and ", setup.build.threads, " threads"))
        .hinted("tune the model for these shapes and threads first, or import a cache that has it");
  }
  FRIT_ASSIGN(fusion::Plan plan, fusion::make_plan(std::move(graph), options));
  if (key) keep(runtime, *key, plan);
  return Planned{std::make_shared<const fusion::Plan>(std::move(plan)), Match::kMiss};
}

}  // namespace frit::runtime
