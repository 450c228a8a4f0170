#include "tuner/records.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tuner/store_reports.h"

namespace frit::tuner {
namespace {

using Json = nlohmann::json;

void put(Json& out, const char* name, double value) {
  if (std::isfinite(value) && value != 0) out[name] = value;
}
void put(Json& out, const char* name, int64_t value) {
  if (value != 0) out[name] = value;
}
void put(Json& out, const char* name, const std::string& value) {
  if (!value.empty()) out[name] = value;
}

void take(const Json& in, const char* name, double& value) {
  const auto it = in.find(name);
  if (it != in.end() && it->is_number()) value = it->get<double>();
}
void take(const Json& in, const char* name, int64_t& value) {
  const auto it = in.find(name);
  if (it != in.end() && it->is_number_integer()) value = it->get<int64_t>();
}
void take(const Json& in, const char* name, std::string& value) {
  const auto it = in.find(name);
  if (it != in.end() && it->is_string()) value = it->get<std::string>();
}

}  // namespace

std::string evidence_text(const Evidence& evidence) {
  Json out = Json::object();
  put(out, "time_ns", evidence.time_ns);
  put(out, "spread_ns", evidence.spread_ns);
  put(out, "heuristic_ns", evidence.heuristic_ns);
  put(out, "runner_up_ns", evidence.runner_up_ns);
  put(out, "runner_up", evidence.runner_up);
  put(out, "samples", evidence.samples);
  put(out, "trials", evidence.trials);
  put(out, "failures", evidence.failures);
  put(out, "strategy", evidence.strategy);
  put(out, "machine", evidence.machine);
  if (!evidence.notes.empty()) {
    Json notes = Json::array();
    for (const Ingredient& it : evidence.notes) notes.push_back(Json::array({it.name, it.value}));
    out["notes"] = std::move(notes);
  }
  // Replacing what is not UTF-8 keeps dump() from throwing.
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Evidence parse_evidence(std::string_view text) {
  Evidence out;
  const Json in = Json::parse(text, nullptr, false);
  if (!in.is_object()) return out;
  take(in, "time_ns", out.time_ns);
  take(in, "spread_ns", out.spread_ns);
  take(in, "heuristic_ns", out.heuristic_ns);
  take(in, "runner_up_ns", out.runner_up_ns);
  take(in, "runner_up", out.runner_up);
  take(in, "samples", out.samples);
  take(in, "trials", out.trials);
  take(in, "failures", out.failures);
  take(in, "strategy", out.strategy);
  take(in, "machine", out.machine);
  if (const auto notes = in.find("notes"); notes != in.end() && notes->is_array()) {
    for (const Json& it : *notes) {
      if (it.is_array() && it.size() == 2 && it[0].is_string() && it[1].is_string()) {
        out.notes.push_back({it[0].get<std::string>(), it[1].get<std::string>()});
      }
    }
  }
  return out;
}

const char* state_name(State state) {
  switch (state) {
    case State::kHeuristic:
      return "heuristic";
    case State::kPartial:
      return "partial";
    case State::kTuned:
      return "tuned";
  }
  return "unknown";
}

const char* match_name(Match match) {
  switch (match) {
    case Match::kMiss:
      return "miss";
    case Match::kNear:
      return "near";
    case Match::kExact:
      return "exact";
  }
  return "unknown";
}

const char* outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kMeasured:
      return "measured";
    case Outcome::kCompileError:
      return "compile error";
    case Outcome::kCrash:
      return "crash";
    case Outcome::kTimeout:
      return "timeout";
    case Outcome::kWrongAnswer:
      return "wrong answer";
    case Outcome::kOutOfBounds:
      return "wrote out of bounds";
    case Outcome::kMemory:
      return "too much memory";
    case Outcome::kRunError:
      return "run-time error";
    case Outcome::kIllegal:
      return "no legal program";
  }
  return "unknown";
}

const char* store_mode_name(StoreMode mode) {
  switch (mode) {
    case StoreMode::kReadWrite:
      return "read-write";
    case StoreMode::kReadOnly:
      return "read-only";
    case StoreMode::kMemory:
      return "memory";
  }
  return "unknown";
}

const char* import_outcome_name(ImportOutcome outcome) {
  switch (outcome) {
    case ImportOutcome::kAdded:
      return "added";
    case ImportOutcome::kKeptExisting:
      return "kept existing";
    case ImportOutcome::kReplaced:
      return "replaced";
    case ImportOutcome::kRejected:
      return "rejected";
  }
  return "unknown";
}

}  // namespace frit::tuner
