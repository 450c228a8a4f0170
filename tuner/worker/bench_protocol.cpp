#include "tuner/worker/bench_protocol.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/try.h"
#include "graph/text.h"

namespace frit::tuner::worker {

using Json = nlohmann::json;

std::string BenchSpec::to_json() const {
  Json constant = Json::array(), caller = Json::array();
  for (const auto& input : group.group.inputs) {
    constant.push_back(input.constant);
    caller.push_back(input.caller);
  }
  return Json{{"op", "open"},
              {"target", target},
              {"numerics", static_cast<int>(numerics)},
              {"threads", threads},
              {"cold_weights", cold_weights},
              {"seed", seed},
              {"family", group.family},
              {"graph", graph::print(group.group.graph)},
              {"anchor", group.group.anchor},
              {"constant", constant},
              {"caller", caller}}
      .dump();
}

Result<BenchSpec> BenchSpec::from_json(std::string_view text) {
  const Json in = Json::parse(text, nullptr, false);
  const auto bad = [](const char* what) {
    return make_error(Code::kInvalidArgument,
                      base::text_of("the description of a bench has no valid ", what));
  };
  const auto has = [&](const char* name, bool (Json::*is)() const noexcept) {
    return in.is_object() && in.contains(name) && (in[name].*is)();
  };
  BenchSpec out;
  for (const char* name : {"target", "family", "graph"})
    if (!has(name, &Json::is_string)) return bad(name);
  for (const char* name : {"numerics", "threads", "seed", "anchor"})
    if (!has(name, &Json::is_number_integer)) return bad(name);
  if (!has("cold_weights", &Json::is_boolean)) return bad("cold_weights");
  out.target = in["target"];
  out.group.family = in["family"];
  const int numerics = in["numerics"];
  if (numerics < 0 || numerics > static_cast<int>(Numerics::kFast)) return bad("numerics");
  out.numerics = static_cast<Numerics>(numerics);
  out.threads = in["threads"];
  out.seed = in["seed"];
  out.cold_weights = in["cold_weights"];
  codegen::Group& group = out.group.group;
  FRIT_ASSIGN(group.graph, graph::parse(in["graph"].get<std::string>()));
  group.anchor = in["anchor"];
  if (group.anchor < graph::kNoNode || group.anchor >= static_cast<graph::NodeId>(group.graph.nodes.size()))
    return bad("anchor");
  for (const char* name : {"constant", "caller"})
    if (!has(name, &Json::is_array) || in[name].size() != group.graph.inputs.size()) return bad(name);
  for (size_t k = 0; k < group.graph.inputs.size(); ++k) {
    if (!in["constant"][k].is_boolean() || !in["caller"][k].is_boolean()) return bad("constant or caller");
    group.inputs.push_back({in["constant"][k].get<bool>(), in["caller"][k].get<bool>()});
  }
  out.group.inputs = group.graph.inputs;
  out.group.outputs = group.graph.outputs;
  for (size_t id = 0; id < group.graph.nodes.size(); ++id)
    out.group.nodes.push_back(static_cast<graph::NodeId>(id));
  return out;
}

}  // namespace frit::tuner::worker
