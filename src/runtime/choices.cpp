#include "runtime/choices.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "codegen/families/family.h"

namespace frit::runtime {

namespace {

class Chooser {
 public:
  Chooser(Runtime& runtime, const fusion::Plan& plan, const Setup& setup)
      : runtime_(runtime), plan_(plan), setup_(setup) {}

  Result<std::vector<GroupChoice>> run() {
    std::vector<GroupChoice> out(plan_.groups.size());
    std::map<std::string, size_t> first;  // of equal groups
    std::vector<size_t> refused;
    for (size_t g = 0; g < out.size(); ++g) {
      if (plan_.groups[g].family.empty()) continue;
      std::string text = plan_.groups[g].group.text();
      const auto [it, is_new] = first.emplace(std::move(text), g);
      if (is_new) {
        FRIT_ASSIGN(out[g], choice(plan_.groups[g], it->first));
      } else {
        out[g] = out[it->second];
      }
      if (setup_.on_miss != OnMiss::kError) continue;
      if (out[g].match == Match::kMiss) refused.push_back(g);
    }
    if (!refused.empty()) {
      return make_error(Code::kNotFound,
                        base::text_of("the cache has no decision for ", refused.size(), " of ", out.size(),
                                      " groups, the first of them ", exec::group_label(plan_, refused[0])))
          .hinted("tune the model for these shapes and threads first, or import a cache that has them");
    }
    return out;
  }

 private:
  Result<GroupChoice> choice(const fusion::PlanGroup& group, const std::string& text) {
    GroupChoice out;
    tuner::Store* const store = runtime_.store();
    if (!store) return out;
    FRIT_ASSIGN(out.key, tuner::decision_key(text, setup_.parts, runtime_.target_parts()));
    const tuner::DecisionHit hit = store->get_decision(*out.key);
    if (hit.match != tuner::Match::kMiss) take(group, hit, out);
    if (out.match != Match::kExact && setup_.on_miss == OnMiss::kBackground) {
      if (const Status s = store->note_miss(*out.key); !s.ok()) {
        runtime_.log().trace("runtime", "a miss is not noted: ", s.error().text());
      }
    }
    return out;
  }

  bool may_use(const tuner::DecisionHit& hit) const {
    if (hit.match == tuner::Match::kExact) return true;
    if (hit.match == tuner::Match::kMiss || hit.distance > tuner::kUsableDistance) return false;
    return setup_.on_miss != OnMiss::kTune && (setup_.on_miss != OnMiss::kError || setup_.accept_near);
  }

  // A record of another family, or whose params are not in the space here, is no hit.
  void take(const fusion::PlanGroup& group, const tuner::DecisionHit& hit, GroupChoice& out) {
    const codegen::Family* family = codegen::family_named(group.family);
    if (!family || hit.decision.family != group.family) return;
    auto params = codegen::Params::parse(hit.decision.params);
    if (!params.ok() || !family->space(group.group, setup_.build).legal(*params)) {
      if (hit.match == tuner::Match::kExact) {
        runtime_.log().warn("runtime", "the cache says ", base::quoted(hit.decision.params),
                            " for a group of family ", group.family, ", which is not legal here");
      }
      return;
    }
    out.seed = *params;
    if (!may_use(hit)) return;
    out.params = *std::move(params);
    out.match = hit.match == tuner::Match::kExact ? Match::kExact : Match::kNear;
    if (out.match != Match::kExact) return;
    out.state = hit.decision.state;
    out.evidence = hit.decision.evidence;
  }

  Runtime& runtime_;
  const fusion::Plan& plan_;
  const Setup& setup_;
};

}  // namespace

Result<std::vector<GroupChoice>> choose(Runtime& runtime, const fusion::Plan& plan, const Setup& setup) {
  return Chooser(runtime, plan, setup).run();
}

void record(Runtime& runtime, const exec::CompiledPlan& compiled, const std::vector<GroupChoice>& choices) {
  if (!runtime.store()) return;
  std::set<base::Hash128> done;
  for (size_t g = 0; g < choices.size(); ++g) {
    const GroupChoice& choice = choices[g];
    if (!choice.key || choice.match == Match::kExact || choice.kept || !compiled.groups[g]) continue;
    if (!done.insert(choice.key->hash()).second) continue;
    const codegen::Family* family = codegen::family_named(compiled.plan->groups[g].family);
    if (!family) continue;
    tuner::Decision row;
    row.state = tuner::State::kHeuristic;
    row.family = family->name;
    row.family_version = family->version;
    row.params = compiled.groups[g]->params.text();
    row.evidence.strategy = choice.match == Match::kNear ? "near" : "heuristic";
    row.provenance = runtime.provenance();
    if (const auto put = runtime.store()->put_decision(*choice.key, row); !put.ok()) {
      runtime.log().trace("runtime", "a decision is not kept: ", put.error().text());
    }
  }
}

}  // namespace frit::runtime
