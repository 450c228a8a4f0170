// What Store is asked while models run and are tuned: decisions, plans, trials, objects, misses.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "tuner/merge.h"
#include "tuner/near.h"
#include "tuner/store.h"
#include "tuner/store_impl.h"
#include "tuner/utf8.h"

namespace frit::tuner {
namespace {

constexpr size_t kLargestText = size_t{16} << 20;
constexpr size_t kLargestReason = 4096;
constexpr size_t kLargestObject = size_t{64} << 20;

Error after_fork() {
  return make_error(Code::kUnsupported, "the cache cannot be used in a child process after fork");
}

Status check_kind(const Key& key, KeyKind kind) {
  if (key.kind() == kind && !key.ingredients().empty()) return {};
  return make_error(Code::kInternal, base::text_of("key of a ", key_kind_name(key.kind()),
                                                   ", expected one of a ", key_kind_name(kind)));
}

Status check_text(const char* what, const std::string& text) {
  if (text.size() > kLargestText) {
    return make_error(Code::kInvalidArgument, base::text_of(what, " has ", text.size(), " bytes, at most ",
                                                            kLargestText, " are kept"));
  }
  if (!is_utf8(text)) return make_error(Code::kInvalidArgument, base::text_of(what, " is not valid UTF-8"));
  return {};
}

Status check_provenance(const Provenance& provenance) {
  // The text form must be readable again.
  return parse_ingredients(ingredients_text(provenance)).ok()
             ? Status()
             : make_error(Code::kInvalidArgument,
                          "provenance has a name that is no lower-case word, or is not UTF-8");
}

// SQLite stores neither NaN nor the sign of zero.
double storable(double value) { return std::isfinite(value) ? value + 0.0 : 0.0; }

struct Best {
  DecisionHit hit;
  void offer(const DecisionHit& other) {
    if (hit.match == Match::kMiss || other.distance < hit.distance ||
        (other.distance == hit.distance && compare(other.decision, hit.decision) < 0)) {
      hit = other;
    }
  }
};

int version_in(const StoreOptions& options, const std::string& family) {
  const auto it = std::find_if(options.families.begin(), options.families.end(),
                               [&](const FamilyVersion& row) { return row.family == family; });
  return it == options.families.end() ? 0 : it->version;
}

Difference version_difference(const char* name, int ours, int theirs) {
  return {name, base::text_of(ours), base::text_of(theirs)};
}

}  // namespace

DecisionHit Store::get_decision(const Key& key) {
  DecisionHit out;
  if (!impl_->is_ours() || !check_kind(key, KeyKind::kDecision).ok()) return out;
  const Impl::Locked locked(*impl_);
  Impl& impl = *impl_;

  Best older;
  bool found = false;
  impl.each_layer([&](sql::Database& db) -> Status {
    rows::KeyRow key_row;
    FRIT_ASSIGN(const auto all, rows::decisions_of(db, key, &key_row, &impl.damaged_rows));
    bool used = false;
    for (const auto& row : all) {
      if (!impl.is_known(row.decision.family)) continue;
      if (impl.is_current(row.decision)) {
        // Layers come oldest first; within one the better record counts.
        if (!used || compare(row.decision, out.decision) < 0) {
          if (found && row.decision.state < out.decision.state) continue;
          out.decision = row.decision;
          found = used = true;
        }
      } else {
        DecisionHit hit{Match::kNear, row.decision, 0, {}};
        const int ours = version_in(impl.options(), row.decision.family);
        hit.distance =
            kOtherVersionDistance + provenance_distance(impl.options().here, row.decision.provenance);
        hit.differences = {version_difference("family_version", ours, row.decision.family_version)};
        older.offer(hit);
      }
    }
    if (used) impl.touch(db, key_row);
    return {};
  });
  if (found) {
    out.match = Match::kExact;
    ++impl.exact_hits;
    return out;
  }

  impl.each_layer([&](sql::Database& db) -> Status {
    FRIT_ASSIGN(const auto all, rows::candidates(db, key, rows::Relation::kKin, &impl.damaged_rows));
    for (const auto& it : all) {
      // What nobody measured says nothing about another problem.
      if (it.key == key || it.decision.state == State::kHeuristic || !impl.is_known(it.decision.family))
        continue;
      DecisionHit hit{Match::kNear, it.decision, 0, {}};
      hit.distance = key_distance(key.ingredients(), it.key.ingredients()) +
                     provenance_distance(impl.options().here, it.decision.provenance);
      hit.differences = diff(key.ingredients(), it.key.ingredients());
      if (it.decision.state == State::kPartial) hit.distance += kPartialDistance;
      if (!impl.is_current(it.decision)) {
        hit.distance += kOtherVersionDistance;
        hit.differences.push_back(version_difference(
            "family_version", version_in(impl.options(), it.decision.family), it.decision.family_version));
      }
      older.offer(hit);
    }
    return {};
  });
  ++(older.hit.match == Match::kNear ? impl.near_hits : impl.lookups_missed);
  return older.hit;
}

Result<PutOutcome> put_decision_row(sql::Database& db, const Key& key, const Decision& decision,
                                    const std::vector<Decision>& elsewhere,
                                    const std::function<bool(const Decision&)>& is_current, int64_t now_s,
                                    int64_t* damaged) {
  // What this build would have found for the key, so what the new decision stands against.
  const auto rivals = [&](const Decision& it) {
    return it.family == decision.family ? it.family_version == decision.family_version : is_current(it);
  };
  FRIT_ASSIGN(const int64_t key_id, rows::ensure_key(db, key, now_s));
  rows::KeyRow key_row;
  FRIT_ASSIGN(const auto all, rows::decisions_of(db, key, &key_row, damaged));
  for (const Decision& it : elsewhere) {
    if (rivals(it) && it.state > decision.state) return PutOutcome::kKeptExisting;
  }
  PutOutcome outcome = PutOutcome::kAdded;
  for (const auto& row : all) {
    if (!rivals(row.decision)) continue;
    if (row.decision.state > decision.state) return PutOutcome::kKeptExisting;
    outcome = PutOutcome::kReplaced;
  }
  for (const auto& row : all) {
    if (rivals(row.decision)) FRIT_TRY(rows::delete_decision(db, row.id));
  }
  FRIT_TRY(rows::write_decision(db, key, key_id, decision));
  if (decision.state == State::kTuned) FRIT_TRY(rows::delete_miss(db, key_id));
  return outcome;
}

Result<PutOutcome> Store::put_decision(const Key& key, const Decision& decision) {
  FRIT_TRY(check_kind(key, KeyKind::kDecision));
  if (decision.family.empty()) return make_error(Code::kInvalidArgument, "a decision names no family");
  FRIT_TRY(check_text("the decision's family", decision.family));
  FRIT_TRY(check_text("the decision's params", decision.params));
  FRIT_TRY(check_text("the decision's origin", decision.origin));
  FRIT_TRY(check_provenance(decision.provenance));
  if (!impl_->is_ours()) return after_fork();
  const Impl::Locked locked(*impl_);
  Impl& impl = *impl_;
  Decision row = decision;
  if (row.created_s == 0) row.created_s = impl.now_s();
  PutOutcome outcome = PutOutcome::kAdded;
  const auto is_current = [&](const Decision& it) { return impl.is_current(it); };
  std::vector<Decision> under;
  impl.each_layer([&](sql::Database& db) -> Status {
    if (&db == &impl.top()) return {};
    rows::KeyRow key_row;
    FRIT_ASSIGN(auto all, rows::decisions_of(db, key, &key_row, &impl.damaged_rows));
    for (auto& it : all) under.push_back(std::move(it.decision));
    return {};
  });
  FRIT_TRY(impl.write([&](sql::Database& db) -> Status {
    FRIT_ASSIGN(outcome, put_decision_row(db, key, row, under, is_current, impl.now_s(), &impl.damaged_rows));
    return {};
  }));
  return outcome;
}

Status Store::erase_decision(const Key& key) {
  FRIT_TRY(check_kind(key, KeyKind::kDecision));
  if (!impl_->is_ours()) return after_fork();
  const Impl::Locked locked(*impl_);
  return impl_->write([&](sql::Database& db) -> Status {
    rows::KeyRow key_row;
    FRIT_ASSIGN(const auto all, rows::decisions_of(db, key, &key_row, &impl_->damaged_rows));
    for (const auto& row : all) FRIT_TRY(rows::delete_decision(db, row.id));
    return {};
  });
}

PlanHit Store::get_plan(const Key& key, int version) {
  PlanHit best;
  if (!impl_->is_ours() || !check_kind(key, KeyKind::kPlan).ok()) return best;
  const Impl::Locked locked(*impl_);
  Impl& impl = *impl_;
  const auto offer = [&](PlanHit hit) {
    if (best.match == Match::kMiss || hit.distance < best.distance ||
        (hit.distance == best.distance && compare(hit.plan, best.plan) < 0)) {
      best = std::move(hit);
    }
  };
  impl.each_layer([&](sql::Database& db) -> Status {
    rows::KeyRow key_row;
    FRIT_ASSIGN(const auto all, rows::plans_of(db, key, &key_row, &impl.damaged_rows));
    for (const auto& row : all) {
      if (row.plan.version == version) {
        best = {Match::kExact, row.plan, 0, {}};
        impl.touch(db, key_row);
      } else if (best.match != Match::kExact) {
        offer({Match::kNear,
               row.plan,
               kOtherVersionDistance,
               {version_difference("plan_version", version, row.plan.version)}});
      }
    }
    return {};
  });
  if (best.match == Match::kExact) return best;
  impl.each_layer([&](sql::Database& db) -> Status {
    FRIT_ASSIGN(const auto all, rows::candidates(db, key, rows::Relation::kKin, &impl.damaged_rows));
    for (const auto& it : all) {
      if (it.key == key) continue;
      PlanHit hit{Match::kNear, it.plan, 0, diff(key.ingredients(), it.key.ingredients())};
      hit.distance = key_distance(key.ingredients(), it.key.ingredients()) +
                     provenance_distance(impl.options().here, it.plan.provenance);
      if (it.plan.version != version) {
        hit.distance += kOtherVersionDistance;
        hit.differences.push_back(version_difference("plan_version", version, it.plan.version));
      }
      offer(std::move(hit));
    }
    return {};
  });
  return best;
}

Result<PutOutcome> Store::put_plan(const Key& key, const PlanRecord& plan) {
  FRIT_TRY(check_kind(key, KeyKind::kPlan));
  FRIT_TRY(check_text("the plan's text", plan.text));
  FRIT_TRY(check_text("the plan's origin", plan.origin));
  FRIT_TRY(check_provenance(plan.provenance));
  if (!impl_->is_ours()) return after_fork();
  const Impl::Locked locked(*impl_);
  Impl& impl = *impl_;
  PlanRecord row = plan;
  if (row.created_s == 0) row.created_s = impl.now_s();
  PutOutcome outcome = PutOutcome::kAdded;
  FRIT_TRY(impl.write([&](sql::Database& db) -> Status {
    FRIT_ASSIGN(const int64_t key_id, rows::ensure_key(db, key, impl.now_s()));
    rows::KeyRow key_row;
    FRIT_ASSIGN(const auto all, rows::plans_of(db, key, &key_row, &impl.damaged_rows));
    outcome = PutOutcome::kAdded;
    for (const auto& it : all) {
      if (it.plan.version == row.version) outcome = PutOutcome::kReplaced;
    }
    return rows::write_plan(db, key, key_id, row);
  }));
  return outcome;
}

Status Store::put_trial(const Key& key, const Trial& trial) {
  FRIT_TRY(check_kind(key, KeyKind::kDecision));
  FRIT_TRY(check_text("the trial's family", trial.family));
  FRIT_TRY(check_text("the trial's params", trial.params));
  FRIT_TRY(check_provenance(trial.provenance));
  if (!impl_->is_ours()) return after_fork();
  const Impl::Locked locked(*impl_);
  Trial row = trial;
  row.reason = as_utf8(std::move(row.reason), kLargestReason);
  row.time_ns = storable(row.time_ns);
  row.spread_ns = storable(row.spread_ns);
  if (row.created_s == 0) row.created_s = impl_->now_s();
  return impl_->write([&](sql::Database& db) -> Status {
    FRIT_ASSIGN(const int64_t key_id, rows::ensure_key(db, key, impl_->now_s()));
    return rows::append_trial(db, key, key_id, row);
  });
}

std::vector<Trial> Store::trials_of(const Key& key) {
  std::vector<Trial> out;
  if (!impl_->is_ours() || !check_kind(key, KeyKind::kDecision).ok()) return out;
  const Impl::Locked locked(*impl_);
  impl_->each_layer([&](sql::Database& db) -> Status {
    FRIT_ASSIGN(auto all, rows::trials_of(db, key, &impl_->damaged_rows));
    std::move(all.begin(), all.end(), std::back_inserter(out));
    return {};
  });
  return out;
}

std::optional<Object> Store::get_object(const Key& key) {
  std::optional<Object> out;
  if (!impl_->is_ours() || !check_kind(key, KeyKind::kBinary).ok()) return out;
  const Impl::Locked locked(*impl_);
  Impl& impl = *impl_;
  impl.each_layer([&](sql::Database& db) -> Status {
    if (!impl.native_code_in(db)) return {};
    rows::KeyRow key_row;
    FRIT_ASSIGN(auto found, rows::object_of(db, key, &key_row, &impl.damaged_rows));
    if (!found) return {};
    impl.touch(db, key_row);
    out = std::move(found);
    return {};
  });
  ++(out ? impl.object_hits : impl.object_misses);
  return out;
}

Status Store::put_object(const Key& key, const Object& object) {
  FRIT_TRY(check_kind(key, KeyKind::kBinary));
  if (object.bytes.empty() || object.bytes.size() > kLargestObject) {
    return make_error(Code::kInvalidArgument, base::text_of("the object has ", object.bytes.size(),
                                                            " bytes, expected 1 to ", kLargestObject));
  }
  FRIT_TRY(check_text("the object's emitter", object.emitter));
  FRIT_TRY(check_text("the object's compiler", object.compiler));
  FRIT_TRY(check_text("the object's origin", object.origin));
  if (!impl_->is_ours()) return after_fork();
  const Impl::Locked locked(*impl_);
  Impl& impl = *impl_;
  // Nobody would take it from there again.
  if (!impl.native_code_in(impl.top())) return {};
  Object row = object;
  if (row.created_s == 0) row.created_s = impl.now_s();
  return impl.write([&](sql::Database& db) -> Status {
    FRIT_ASSIGN(const int64_t key_id, rows::ensure_key(db, key, impl.now_s()));
    return rows::write_object(db, key, key_id, row);
  });
}

Status Store::note_miss(const Key& key) {
  FRIT_TRY(check_kind(key, KeyKind::kDecision));
  if (!impl_->is_ours()) return after_fork();
  const Impl::Locked locked(*impl_);
  return impl_->write([&](sql::Database& db) -> Status {
    const int64_t now = impl_->now_s();
    FRIT_ASSIGN(const int64_t key_id, rows::ensure_key(db, key, now));
    return rows::add_miss(db, key_id, {key, 1, now, now});
  });
}

std::vector<Miss> Store::misses() {
  std::vector<Miss> out;
  if (!impl_->is_ours()) return out;
  const Impl::Locked locked(*impl_);
  impl_->each_layer([&](sql::Database& db) -> Status {
    FRIT_ASSIGN(auto all, rows::misses(db, &impl_->damaged_rows));
    for (Miss& it : all) {
      const auto same =
          std::find_if(out.begin(), out.end(), [&](const Miss& other) { return other.key == it.key; });
      if (same == out.end()) {
        out.push_back(std::move(it));
      } else {
        same->count += it.count;
        same->last_seen_s = it.last_seen_s;
      }
    }
    return {};
  });
  std::stable_sort(out.begin(), out.end(), [](const Miss& a, const Miss& b) { return a.count > b.count; });
  return out;
}

Status copy_rows(sql::Database& from, sql::Database& to,
                 const std::function<bool(const Decision&)>& is_current) {
  int64_t damaged = 0;
  FRIT_TRY(rows::each_key(from, KeyKind::kDecision, &damaged, [&](const rows::KeyEntry& it) -> Status {
    rows::KeyRow row;
    FRIT_ASSIGN(const int64_t key_id, rows::ensure_key(to, it.key, it.last_use_s));
    FRIT_ASSIGN(const auto decisions, rows::decisions_of(from, it.key, &row, &damaged));
    for (const auto& decision : decisions) {
      FRIT_TRY(put_decision_row(to, it.key, decision.decision, {}, is_current, it.last_use_s, &damaged));
    }
    FRIT_ASSIGN(const auto trials, rows::trials_of(from, it.key, &damaged));
    for (const auto& trial : trials) FRIT_TRY(rows::append_trial(to, it.key, key_id, trial));
    return {};
  }));
  FRIT_TRY(rows::each_key(from, KeyKind::kPlan, &damaged, [&](const rows::KeyEntry& it) -> Status {
    rows::KeyRow row;
    FRIT_ASSIGN(const int64_t key_id, rows::ensure_key(to, it.key, it.last_use_s));
    FRIT_ASSIGN(const auto plans, rows::plans_of(from, it.key, &row, &damaged));
    for (const auto& plan : plans) FRIT_TRY(rows::write_plan(to, it.key, key_id, plan.plan));
    return {};
  }));
  FRIT_TRY(rows::each_key(from, KeyKind::kBinary, &damaged, [&](const rows::KeyEntry& it) -> Status {
    rows::KeyRow row;
    FRIT_ASSIGN(const int64_t key_id, rows::ensure_key(to, it.key, it.last_use_s));
    FRIT_ASSIGN(const auto object, rows::object_of(from, it.key, &row, &damaged));
    if (object) FRIT_TRY(rows::write_object(to, it.key, key_id, *object));
    return {};
  }));
  FRIT_ASSIGN(const auto misses, rows::misses(from, &damaged));
  for (const Miss& it : misses) {
    FRIT_ASSIGN(const int64_t key_id, rows::ensure_key(to, it.key, it.last_seen_s));
    FRIT_TRY(rows::add_miss(to, key_id, it));
  }
  return {};
}

}  // namespace frit::tuner
