// What `frit cache` asks of Store: why, list, show, stats, verify, prune.
#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "tuner/near.h"
#include "tuner/store.h"
#include "tuner/store_impl.h"

namespace frit::tuner {
namespace {

Result<int64_t> count_trials(sql::Database& db, int64_t key_id) {
  sql::Query query = db.query("SELECT count(*) FROM trials WHERE key_id = ?", key_id);
  const int64_t count = query.next() ? query.integer(0) : 0;
  if (!query.ok()) return query.error();
  return count;
}

Listing listing_of(const rows::KeyEntry& it) {
  Listing out;
  out.kind = it.key.kind();
  out.hash = it.key.hash();
  out.last_use_s = it.last_use_s;
  return out;
}

Status list_decisions(sql::Database& db, int64_t* damaged, std::vector<Listing>* out) {
  return rows::each_key(db, KeyKind::kDecision, damaged, [&](const rows::KeyEntry& it) -> Status {
    rows::KeyRow row;
    FRIT_ASSIGN(const auto decisions, rows::decisions_of(db, it.key, &row, damaged));
    Listing listing = listing_of(it);
    FRIT_ASSIGN(listing.trials, count_trials(db, it.id));
    for (const auto& [id, decision] : decisions) {
      listing.family = decision.family;
      listing.version = decision.family_version;
      listing.state = decision.state;
      listing.params = decision.params;
      listing.time_ns = decision.evidence.time_ns;
      listing.heuristic_ns = decision.evidence.heuristic_ns;
      listing.origin = decision.origin;
      listing.created_s = decision.created_s;
      out->push_back(listing);
    }
    // A search that has not come to a decision yet.
    if (decisions.empty() && listing.trials > 0) out->push_back(listing);
    return {};
  });
}

Status list_plans(sql::Database& db, int64_t* damaged, std::vector<Listing>* out) {
  return rows::each_key(db, KeyKind::kPlan, damaged, [&](const rows::KeyEntry& it) -> Status {
    rows::KeyRow row;
    FRIT_ASSIGN(const auto plans, rows::plans_of(db, it.key, &row, damaged));
    for (const auto& [id, plan] : plans) {
      Listing listing = listing_of(it);
      listing.version = plan.version;
      listing.bytes = plan.text.size();
      listing.time_ns = plan.evidence.time_ns;
      listing.heuristic_ns = plan.evidence.heuristic_ns;
      listing.origin = plan.origin;
      listing.created_s = plan.created_s;
      out->push_back(std::move(listing));
    }
    return {};
  });
}

Status list_objects(sql::Database& db, int64_t* damaged, std::vector<Listing>* out) {
  return rows::each_key(db, KeyKind::kBinary, damaged, [&](const rows::KeyEntry& it) -> Status {
    rows::KeyRow row;
    FRIT_ASSIGN(const auto object, rows::object_of(db, it.key, &row, damaged));
    if (!object) return {};
    Listing listing = listing_of(it);
    listing.bytes = object->bytes.size();
    listing.origin = object->origin;
    listing.created_s = object->created_s;
    out->push_back(std::move(listing));
    return {};
  });
}

struct Nearest {
  Explanation best;
  void offer(Explanation other) {
    const auto order = [](const Explanation& it) { return std::pair(it.differences.size(), it.distance); };
    if (!best.has_record || order(other) < order(best)) best = std::move(other);
  }
};

Explanation explain(Match match, const Key& record, const Decision& decision) {
  Explanation out;
  out.match = match;
  out.has_record = true;
  out.key = record;
  out.family = decision.family;
  out.version = decision.family_version;
  out.state = decision.state;
  out.params = decision.params;
  return out;
}

Explanation explain(Match match, const Key& record, const PlanRecord& plan) {
  Explanation out;
  out.match = match;
  out.has_record = true;
  out.key = record;
  out.version = plan.version;
  out.state = State::kTuned;
  return out;
}

void add_integrity(sql::Database& db, std::vector<std::string>* problems) {
  sql::Query query = db.query("PRAGMA integrity_check(20)");
  while (query.next()) {
    if (query.text(0) != "ok") problems->push_back(base::text_of("file: ", query.text(0)));
  }
  if (!query.ok()) problems->push_back(base::text_of("file: ", query.error().message));
}

void add_count(sql::Database& db, const char* sql, const char* what, std::vector<std::string>* problems) {
  const auto count = db.integer(sql);
  if (!count.ok()) {
    problems->push_back(count.error().text());
  } else if (*count > 0) {
    problems->push_back(base::text_of(*count, " ", what));
  }
}

// Every row of a kind is read through the same code that lookups use, so what lookups would skip is a problem
// here.
Status check_rows(sql::Database& db, VerifyReport* report) {
  struct Table {
    KeyKind kind;
    const char* what;
  };
  for (const Table& table : {Table{KeyKind::kDecision, "decisions or trials"}, Table{KeyKind::kPlan, "plans"},
                             Table{KeyKind::kBinary, "objects"}}) {
    int64_t bad_keys = 0, bad_rows = 0;
    FRIT_TRY(rows::each_key(db, table.kind, &bad_keys, [&](const rows::KeyEntry& it) -> Status {
      ++report->rows_checked;
      rows::KeyRow row;
      const int64_t before = bad_rows;
      if (table.kind == KeyKind::kDecision) {
        FRIT_ASSIGN(const auto decisions, rows::decisions_of(db, it.key, &row, &bad_rows));
        FRIT_ASSIGN(const auto trials, rows::trials_of(db, it.key, &bad_rows));
        report->rows_checked += static_cast<int64_t>(decisions.size() + trials.size());
      } else if (table.kind == KeyKind::kPlan) {
        FRIT_ASSIGN(const auto plans, rows::plans_of(db, it.key, &row, &bad_rows));
        report->rows_checked += static_cast<int64_t>(plans.size());
      } else {
        FRIT_ASSIGN(const auto object, rows::object_of(db, it.key, &row, &bad_rows));
        report->rows_checked += object ? 1 : 0;
      }
      if (bad_rows != before) {
        report->problems.push_back(base::text_of("key ", it.key.hash().hex(), ": ", bad_rows - before, " ",
                                                 table.what, " do not match their checksum"));
      }
      return {};
    }));
    if (bad_keys > 0) {
      report->problems.push_back(
          base::text_of(bad_keys, " ", key_kind_name(table.kind), " keys do not match their hash"));
    }
  }
  return {};
}

}  // namespace

Explanation Store::why(const Key& key) {
  if (!impl_->is_ours() || key.ingredients().empty()) return {};
  const Impl::Locked locked(*impl_);
  Impl& impl = *impl_;
  Nearest nearest;
  Explanation exact;
  impl.each_layer([&](sql::Database& db) -> Status {
    rows::KeyRow row;
    if (key.kind() == KeyKind::kBinary) {
      FRIT_ASSIGN(const auto object, rows::object_of(db, key, &row, &impl.damaged_rows));
      if (object && impl.native_code_in(db)) {
        exact.match = Match::kExact;
        exact.has_record = true;
        exact.key = key;
      }
      return {};
    }
    if (key.kind() == KeyKind::kDecision) {
      FRIT_ASSIGN(const auto all, rows::decisions_of(db, key, &row, &impl.damaged_rows));
      for (const auto& it : all) {
        if (impl.is_current(it.decision)) {
          if (!exact.has_record || it.decision.state >= exact.state)
            exact = explain(Match::kExact, key, it.decision);
          continue;
        }
        Explanation older =
            explain(impl.is_known(it.decision.family) ? Match::kNear : Match::kMiss, key, it.decision);
        older.distance = kOtherVersionDistance;
        std::string ours = "unknown family";
        for (const FamilyVersion& known : impl.options().families) {
          if (known.family == it.decision.family) ours = base::text_of(known.version);
        }
        older.differences = {{"family_version", ours, base::text_of(it.decision.family_version)}};
        nearest.offer(std::move(older));
      }
    } else {
      FRIT_ASSIGN(const auto all, rows::plans_of(db, key, &row, &impl.damaged_rows));
      for (const auto& it : all) exact = explain(Match::kExact, key, it.plan);
    }
    // The same problem under other numerics or on another architecture explains a miss too.
    for (const rows::Relation relation : {rows::Relation::kKin, rows::Relation::kSubject}) {
      FRIT_ASSIGN(const auto all, rows::candidates(db, key, relation, &impl.damaged_rows));
      for (const auto& it : all) {
        if (it.key == key) continue;
        const bool decision = key.kind() == KeyKind::kDecision;
        const bool offered =
            it.key.kin() == key.kin() &&
            (!decision || (it.decision.state != State::kHeuristic && impl.is_known(it.decision.family)));
        const Match match = offered ? Match::kNear : Match::kMiss;
        Explanation other = decision ? explain(match, it.key, it.decision) : explain(match, it.key, it.plan);
        other.differences = diff(key.ingredients(), it.key.ingredients());
        other.distance = key_distance(key.ingredients(), it.key.ingredients());
        nearest.offer(std::move(other));
      }
    }
    return {};
  });
  return exact.has_record ? exact : nearest.best;
}

std::vector<Listing> Store::list() {
  std::vector<Listing> out;
  if (!impl_->is_ours()) return out;
  const Impl::Locked locked(*impl_);
  impl_->each_layer([&](sql::Database& db) -> Status {
    FRIT_TRY(list_decisions(db, &impl_->damaged_rows, &out));
    FRIT_TRY(list_plans(db, &impl_->damaged_rows, &out));
    return list_objects(db, &impl_->damaged_rows, &out);
  });
  std::stable_sort(out.begin(), out.end(), [](const Listing& a, const Listing& b) {
    return std::tie(a.kind, a.hash) < std::tie(b.kind, b.hash);
  });
  return out;
}

Result<std::vector<Record>> Store::show(std::string_view prefix) {
  const bool hexadecimal = std::all_of(
      prefix.begin(), prefix.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (prefix.size() < 4 || prefix.size() > 32 || !hexadecimal) {
    return make_error(Code::kInvalidArgument, base::text_of("key ", base::quoted(prefix),
                                                            " is not 4 to 32 lower-case hexadecimal digits"));
  }
  std::vector<Record> out;
  if (!impl_->is_ours()) return out;
  const Impl::Locked locked(*impl_);
  int64_t* damaged = &impl_->damaged_rows;
  impl_->each_layer([&](sql::Database& db) -> Status {
    FRIT_ASSIGN(const auto keys, rows::keys_with_prefix(db, prefix, damaged));
    for (const auto& it : keys) {
      Record record;
      record.key = it.key;
      record.last_use_s = it.last_use_s;
      rows::KeyRow row;
      if (it.key.kind() == KeyKind::kDecision) {
        FRIT_ASSIGN(auto decisions, rows::decisions_of(db, it.key, &row, damaged));
        for (auto& decision : decisions) record.decisions.push_back(std::move(decision.decision));
        FRIT_ASSIGN(record.trials, rows::trials_of(db, it.key, damaged));
      } else if (it.key.kind() == KeyKind::kPlan) {
        FRIT_ASSIGN(auto plans, rows::plans_of(db, it.key, &row, damaged));
        for (auto& plan : plans) record.plans.push_back(std::move(plan.plan));
      } else {
        FRIT_ASSIGN(auto object, rows::object_of(db, it.key, &row, damaged));
        if (object) {
          record.object_bytes = object->bytes.size();
          object->bytes.clear();
          record.objects.push_back(*std::move(object));
        }
      }
      out.push_back(std::move(record));
    }
    return {};
  });
  return out;
}

StoreStats Store::stats() {
  StoreStats out;
  if (!impl_->is_ours()) return out;
  const Impl::Locked locked(*impl_);
  Impl& impl = *impl_;
  impl.each_layer([&](sql::Database& db) -> Status {
    const auto add = [&](int64_t* sum, const char* sql) -> Status {
      FRIT_ASSIGN(const int64_t count, db.integer(sql));
      *sum += count;
      return {};
    };
    FRIT_TRY(add(&out.tuned, "SELECT count(*) FROM decisions WHERE state = 2"));
    FRIT_TRY(add(&out.partial, "SELECT count(*) FROM decisions WHERE state = 1"));
    FRIT_TRY(add(&out.heuristic, "SELECT count(*) FROM decisions WHERE state = 0"));
    FRIT_TRY(add(&out.plans, "SELECT count(*) FROM plans"));
    FRIT_TRY(add(&out.trials, "SELECT count(*) FROM trials"));
    FRIT_TRY(add(&out.failed_trials, "SELECT count(*) FROM trials WHERE outcome <> 0"));
    FRIT_TRY(add(&out.objects, "SELECT count(*) FROM objects"));
    FRIT_TRY(add(&out.object_bytes, "SELECT coalesce(sum(length(bytes)), 0) FROM objects"));
    FRIT_TRY(add(&out.misses, "SELECT count(*) FROM misses"));
    if (impl.is_file(db)) {
      FRIT_ASSIGN(out.file_bytes, used_bytes(db));
    }
    return {};
  });
  out.decisions = out.tuned + out.partial + out.heuristic;
  out.exact_hits = impl.exact_hits;
  out.near_hits = impl.near_hits;
  out.lookups_missed = impl.lookups_missed;
  out.object_hits = impl.object_hits;
  out.object_misses = impl.object_misses;
  out.damaged_rows = impl.damaged_rows;
  return out;
}

VerifyReport Store::verify() {
  VerifyReport report;
  if (!impl_->is_ours()) return report;
  const Impl::Locked locked(*impl_);
  Impl& impl = *impl_;
  const StoreStatus status = impl.status();
  if (!status.bad_file.empty()) report.problems.push_back(status.bad_file);
  if (!status.set_aside.empty()) report.problems.push_back(status.warning);
  if (!impl.is_persistent() && !impl.has_file() && !status.missing && status.bad_file.empty()) {
    report.problems.push_back(status.warning);
  }
  impl.each_file([&](sql::Database& db) {
    add_integrity(db, &report.problems);
    if (const Status checked = check_rows(db, &report); !checked.ok()) {
      report.problems.push_back(checked.error().text());
    }
    add_count(db, "SELECT count(*) FROM decisions WHERE key_id NOT IN (SELECT id FROM keys)",
              "decisions without a key", &report.problems);
    add_count(db, "SELECT count(*) FROM plans WHERE key_id NOT IN (SELECT id FROM keys)",
              "plans without a key", &report.problems);
    add_count(db, "SELECT count(*) FROM trials WHERE key_id NOT IN (SELECT id FROM keys)",
              "trials without a key", &report.problems);
    add_count(db, "SELECT count(*) FROM objects WHERE key_id NOT IN (SELECT id FROM keys)",
              "objects without a key", &report.problems);
  });
  return report;
}

Result<PruneReport> Store::prune(const PruneOptions& options) {
  if (!impl_->is_ours())
    return make_error(Code::kUnsupported, "the cache cannot be used in a child process after fork");
  const Impl::Locked locked(*impl_);
  if (!impl_->is_persistent()) {
    // Nothing to prune is no failure, a file that cannot be written is.
    if (impl_->status().missing) return PruneReport();
    return make_error(Code::kIo, base::text_of("cache ", impl_->options().path, " cannot be written"));
  }
  impl_->write_uses();
  return prune_database(impl_->top(), options, impl_->now_s(), impl_->options().busy_ms);
}

}  // namespace frit::tuner
