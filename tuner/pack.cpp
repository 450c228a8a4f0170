#include "tuner/pack.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "tuner/base64.h"

namespace frit::tuner {
namespace {

using Json = nlohmann::json;

constexpr int kPackVersion = 1;

std::string line_of(const Json& json) {
  // Replacing what is not UTF-8 keeps dump() from throwing; the store lets none in.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json pairs_of(const std::vector<Ingredient>& ingredients) {
  Json out = Json::array();
  for (const Ingredient& it : ingredients) out.push_back(Json::array({it.name, it.value}));
  return out;
}

Result<std::vector<Ingredient>> pairs_from(const Json& json, const char* name) {
  const auto malformed = [&] {
    return make_error(Code::kCorrupt, base::text_of("'", name, "' is no list of pairs"));
  };
  const auto it = json.find(name);
  if (it == json.end() || !it->is_array()) return malformed();
  std::vector<Ingredient> out;
  for (const Json& pair : *it) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
      return malformed();
    out.push_back({pair[0].get<std::string>(), pair[1].get<std::string>()});
  }
  return out;
}

Result<std::string> text_from(const Json& json, const char* name) {
  const auto it = json.find(name);
  if (it == json.end() || !it->is_string()) {
    return make_error(Code::kCorrupt, base::text_of("'", name, "' is not a text"));
  }
  return it->get<std::string>();
}

Result<int64_t> integer_from(const Json& json, const char* name, int64_t least, int64_t most) {
  const auto it = json.find(name);
  const bool fits = it != json.end() && it->is_number_integer() &&
                    !(it->is_number_unsigned() &&
                      it->get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
  const int64_t value = fits ? it->get<int64_t>() : least;
  if (!fits || value < least || value > most) {
    return make_error(Code::kCorrupt,
                      base::text_of("'", name, "' is not an integer from ", least, " to ", most));
  }
  return value;
}

Json json_of(const PackEntry& entry) {
  Json out = Json::object();
  out["record"] = key_kind_name(entry.key.kind());
  out["hash"] = entry.key.hash().hex();
  out["key"] = pairs_of(entry.key.ingredients());
  switch (entry.key.kind()) {
    case KeyKind::kDecision:
      out["family"] = entry.decision.family;
      out["version"] = entry.decision.family_version;
      out["state"] = state_name(entry.decision.state);
      out["params"] = entry.decision.params;
      out["evidence"] = Json::parse(evidence_text(entry.decision.evidence), nullptr, false);
      out["provenance"] = pairs_of(entry.decision.provenance);
      out["created"] = entry.decision.created_s;
      break;
    case KeyKind::kPlan:
      out["version"] = entry.plan.version;
      out["plan"] = entry.plan.text;
      out["evidence"] = Json::parse(evidence_text(entry.plan.evidence), nullptr, false);
      out["provenance"] = pairs_of(entry.plan.provenance);
      out["created"] = entry.plan.created_s;
      break;
    case KeyKind::kBinary:
      out["emitter"] = entry.object.emitter;
      out["compiler"] = entry.object.compiler;
      out["created"] = entry.object.created_s;
      out["bytes_hash"] = base::hash128(entry.object.bytes).hex();
      out["bytes"] = base64(entry.object.bytes);
      break;
  }
  return out;
}

Result<State> state_from(const Json& json) {
  FRIT_ASSIGN(const std::string name, text_from(json, "state"));
  for (const State state : {State::kHeuristic, State::kPartial, State::kTuned}) {
    if (name == state_name(state)) return state;
  }
  return make_error(Code::kCorrupt, base::text_of("state ", base::quoted(name), " is unknown"));
}

Evidence evidence_from(const Json& json) {
  const auto it = json.find("evidence");
  return it == json.end() ? Evidence()
                          : parse_evidence(it->dump(-1, ' ', false, Json::error_handler_t::replace));
}

Result<Provenance> provenance_from(const Json& json) {
  FRIT_ASSIGN(Provenance out, pairs_from(json, "provenance"));
  // Names that cannot be stored are refused here, with the entry.
  FRIT_TRY(parse_ingredients(ingredients_text(out)).ok()
               ? Status()
               : make_error(Code::kCorrupt, "'provenance' has a bad name"));
  return out;
}

constexpr int64_t kMaxVersion = std::numeric_limits<int>::max();
constexpr int64_t kMaxTime = int64_t{1} << 53;

Status read_entry(const Json& json, PackEntry* out) {
  if (!json.is_object()) return make_error(Code::kCorrupt, "the line is no JSON object");
  FRIT_ASSIGN(const std::string record, text_from(json, "record"));
  KeyKind kind = KeyKind::kDecision;
  if (record == key_kind_name(KeyKind::kPlan)) {
    kind = KeyKind::kPlan;
  } else if (record == key_kind_name(KeyKind::kBinary)) {
    kind = KeyKind::kBinary;
  } else if (record != key_kind_name(KeyKind::kDecision)) {
    return make_error(Code::kUnsupported, base::text_of("record of the unknown kind ", base::quoted(record)));
  }
  FRIT_ASSIGN(std::vector<Ingredient> ingredients, pairs_from(json, "key"));
  FRIT_ASSIGN(out->key, Key::make(kind, std::move(ingredients)));
  FRIT_ASSIGN(const std::string hash, text_from(json, "hash"));
  if (hash != out->key.hash().hex()) {
    return make_error(Code::kCorrupt,
                      base::text_of("'hash' is ", base::quoted(hash), ", expected ", out->key.hash().hex()));
  }
  FRIT_ASSIGN(const int64_t created, integer_from(json, "created", -kMaxTime, kMaxTime));
  switch (kind) {
    case KeyKind::kDecision: {
      Decision& d = out->decision;
      FRIT_ASSIGN(d.family, text_from(json, "family"));
      if (d.family.empty()) return make_error(Code::kCorrupt, "'family' is empty");
      FRIT_ASSIGN(const int64_t version, integer_from(json, "version", 0, kMaxVersion));
      d.family_version = static_cast<int>(version);
      FRIT_ASSIGN(d.state, state_from(json));
      FRIT_ASSIGN(d.params, text_from(json, "params"));
      FRIT_ASSIGN(d.provenance, provenance_from(json));
      d.evidence = evidence_from(json);
      d.created_s = created;
      break;
    }
    case KeyKind::kPlan: {
      PlanRecord& p = out->plan;
      FRIT_ASSIGN(const int64_t version, integer_from(json, "version", 0, kMaxVersion));
      p.version = static_cast<int>(version);
      FRIT_ASSIGN(p.text, text_from(json, "plan"));
      FRIT_ASSIGN(p.provenance, provenance_from(json));
      p.evidence = evidence_from(json);
      p.created_s = created;
      break;
    }
    case KeyKind::kBinary: {
      Object& o = out->object;
      FRIT_ASSIGN(o.emitter, text_from(json, "emitter"));
      FRIT_ASSIGN(o.compiler, text_from(json, "compiler"));
      FRIT_ASSIGN(const std::string coded, text_from(json, "bytes"));
      auto bytes = from_base64(coded);
      if (!bytes || bytes->empty()) return make_error(Code::kCorrupt, "'bytes' is no base64");
      FRIT_ASSIGN(const std::string bytes_hash, text_from(json, "bytes_hash"));
      if (bytes_hash != base::hash128(*bytes).hex())
        return make_error(Code::kCorrupt, "'bytes' do not match their hash");
      o.bytes = *std::move(bytes);
      o.created_s = created;
      break;
    }
  }
  return {};
}

auto order_of(const PackEntry& it) {
  return std::tuple(static_cast<int>(it.key.kind()), it.key.hash(), std::string_view(it.decision.family),
                    it.decision.family_version + it.plan.version);
}

}  // namespace

std::string label_of(const PackEntry& entry) {
  switch (entry.key.kind()) {
    case KeyKind::kDecision:
      return base::text_of(entry.decision.family, " ", entry.decision.params);
    case KeyKind::kPlan:
      return base::text_of("plan, version ", entry.plan.version);
    case KeyKind::kBinary:
      return base::text_of("object, ", entry.object.bytes.size(), " bytes");
  }
  return {};
}

std::string write_pack(std::vector<PackEntry> entries, ExportReport* report) {
  std::sort(entries.begin(), entries.end(),
            [](const PackEntry& a, const PackEntry& b) { return order_of(a) < order_of(b); });
  ExportReport counts;
  std::string body;
  base::Hasher choices;
  for (const PackEntry& entry : entries) {
    body += line_of(json_of(entry));
    choices.add(static_cast<int32_t>(entry.key.kind())).add(entry.key.hash().hi).add(entry.key.hash().lo);
    switch (entry.key.kind()) {
      case KeyKind::kDecision:
        ++counts.decisions;
        choices.add(std::string_view(entry.decision.family))
            .add(int64_t{entry.decision.family_version})
            .add(std::string_view(entry.decision.params));
        break;
      case KeyKind::kPlan:
        ++counts.plans;
        choices.add(int64_t{entry.plan.version}).add(std::string_view(entry.plan.text));
        break;
      case KeyKind::kBinary:
        ++counts.objects;
        choices.add(std::string_view(entry.object.bytes));
        break;
    }
  }
  counts.content = base::hash128(body);
  counts.choices = choices.finish();
  Json manifest = Json::object();
  manifest["frit_pack"] = kPackVersion;
  manifest["decisions"] = counts.decisions;
  manifest["plans"] = counts.plans;
  manifest["objects"] = counts.objects;
  manifest["content"] = counts.content.hex();
  manifest["choices"] = counts.choices.hex();
  *report = counts;
  return line_of(manifest) + body;
}

Result<Pack> read_pack(std::string_view text) {
  const size_t end = text.find('\n');
  const Json manifest =
      end == std::string_view::npos ? Json() : Json::parse(text.substr(0, end), nullptr, false);
  if (!manifest.is_object() || !manifest.contains("frit_pack")) {
    return make_error(Code::kCorrupt, "it is no frit pack: its first line is no manifest");
  }
  const auto version = integer_from(manifest, "frit_pack", 1, kMaxVersion);
  if (!version.ok()) return version.error();
  if (*version > kPackVersion) {
    return make_error(Code::kUnsupported, base::text_of("it is a pack of version ", *version,
                                                        ", this build reads ", kPackVersion));
  }
  FRIT_ASSIGN(const std::string expected, text_from(manifest, "content"));
  Pack out;
  std::string_view body = text.substr(end + 1);
  out.content = base::hash128(body);
  if (out.content.hex() != expected) {
    return make_error(Code::kCorrupt, base::text_of("it is damaged: its content has the hash ",
                                                    out.content.hex(), ", its manifest says ", expected));
  }
  while (!body.empty()) {
    const size_t stop = std::min(body.find('\n'), body.size());
    PackLine line;
    const Json json = Json::parse(body.substr(0, stop), nullptr, false);
    if (const Status read = read_entry(json, &line.entry); !read.ok()) line.error = read.error().text();
    out.lines.push_back(std::move(line));
    body.remove_prefix(std::min(stop + 1, body.size()));
  }
  return out;
}

}  // namespace frit::tuner
