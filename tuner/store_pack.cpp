// Store's export and import.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "tuner/merge.h"
#include "tuner/pack.h"
#include "tuner/store.h"
#include "tuner/store_impl.h"

namespace frit::tuner {
namespace {

constexpr std::string_view kSqliteMagic("SQLite format 3\0", 16);

// A record that another layer holds too counts once: the better one.
class Collection {
 public:
  void add(PackEntry entry) {
    const auto [at, is_new] = index_.try_emplace(identity(entry), entries_.size());
    if (is_new) {
      entries_.push_back(std::move(entry));
      return;
    }
    PackEntry& existing = entries_[at->second];
    const bool better = entry.key.kind() == KeyKind::kDecision
                            ? compare(entry.decision, existing.decision) < 0
                        : entry.key.kind() == KeyKind::kPlan ? compare(entry.plan, existing.plan) < 0
                                                             : false;
    if (better) existing = std::move(entry);
  }
  std::vector<PackEntry> take() { return std::move(entries_); }

 private:
  static std::string identity(const PackEntry& it) {
    return base::text_of(static_cast<int>(it.key.kind()), it.key.hash().hex(), it.decision.family_version,
                         it.plan.version, it.decision.family);
  }
  std::unordered_map<std::string, size_t> index_;
  std::vector<PackEntry> entries_;
};

Status collect_kind(sql::Database& db, KeyKind kind, int64_t* damaged, Collection* out) {
  return rows::each_key(db, kind, damaged, [&](const rows::KeyEntry& it) -> Status {
    rows::KeyRow row;
    if (kind == KeyKind::kDecision) {
      FRIT_ASSIGN(auto all, rows::decisions_of(db, it.key, &row, damaged));
      for (auto& one : all) out->add({it.key, std::move(one.decision), {}, {}});
    } else if (kind == KeyKind::kPlan) {
      FRIT_ASSIGN(auto all, rows::plans_of(db, it.key, &row, damaged));
      for (auto& one : all) out->add({it.key, {}, std::move(one.plan), {}});
    } else {
      FRIT_ASSIGN(auto object, rows::object_of(db, it.key, &row, damaged));
      if (object) out->add({it.key, {}, {}, *std::move(object)});
    }
    return {};
  });
}

// Every kind is tried, also when another cannot be read.
Status collect(sql::Database& db, bool objects, int64_t* damaged, Collection* out) {
  Status result;
  for (const KeyKind kind : {KeyKind::kDecision, KeyKind::kPlan, KeyKind::kBinary}) {
    if (kind == KeyKind::kBinary && !objects) continue;
    if (Status read = collect_kind(db, kind, damaged, out); !read.ok()) result = std::move(read);
  }
  return result;
}

class Importer {
 public:
  Importer(sql::Database& db, const ImportOptions& options, base::Hash128 content, int64_t now_s)
      : db_(db), options_(options), content_(content.hex()), now_s_(now_s) {}

  Status take(const PackLine& line, ImportEntry* out) {
    if (!line.error.empty()) {
      out->reason = line.error;
      return {};
    }
    const PackEntry& entry = line.entry;
    out->kind = entry.key.kind();
    out->hash = entry.key.hash().hex();
    out->label = label_of(entry);
    for (const Ingredient& here : options_.here) {
      const std::string* theirs = entry.key.find(here.name);
      if (theirs != nullptr && *theirs != here.value)
        out->differing.push_back({here.name, here.value, *theirs});
    }
    switch (entry.key.kind()) {
      case KeyKind::kDecision:
        return decision(entry, out);
      case KeyKind::kPlan:
        return plan(entry, out);
      case KeyKind::kBinary:
        return object(entry, out);
    }
    return {};
  }

 private:
  // The order: < 0 where the incoming record is better than the existing one.
  bool keep(int order, const char* why, ImportEntry* out) {
    if (order >= 0) {
      out->outcome = ImportOutcome::kKeptExisting;
      out->reason =
          order == 0 ? "the same record is there already" : base::text_of("the existing record has ", why);
      return true;
    }
    out->outcome = ImportOutcome::kReplaced;
    out->reason = base::text_of("it has ", why);
    return false;
  }

  Status decision(const PackEntry& entry, ImportEntry* out) {
    rows::KeyRow row;
    FRIT_ASSIGN(const auto all, rows::decisions_of(db_, entry.key, &row, &damaged_));
    out->outcome = ImportOutcome::kAdded;
    for (const auto& it : all) {
      if (it.decision.family != entry.decision.family ||
          it.decision.family_version != entry.decision.family_version) {
        continue;
      }
      const char* why = nullptr;
      const int order = compare(entry.decision, it.decision, &why);
      if (keep(order, why, out)) return {};
    }
    Decision incoming = entry.decision;
    incoming.origin = base::text_of("pack:", content_);
    FRIT_ASSIGN(const int64_t key_id, rows::ensure_key(db_, entry.key, now_s_));
    return rows::write_decision(db_, entry.key, key_id, incoming);
  }

  Status plan(const PackEntry& entry, ImportEntry* out) {
    rows::KeyRow row;
    FRIT_ASSIGN(const auto all, rows::plans_of(db_, entry.key, &row, &damaged_));
    out->outcome = ImportOutcome::kAdded;
    for (const auto& it : all) {
      if (it.plan.version != entry.plan.version) continue;
      const char* why = nullptr;
      const int order = compare(entry.plan, it.plan, &why);
      if (keep(order, why, out)) return {};
    }
    PlanRecord incoming = entry.plan;
    incoming.origin = base::text_of("pack:", content_);
    FRIT_ASSIGN(const int64_t key_id, rows::ensure_key(db_, entry.key, now_s_));
    return rows::write_plan(db_, entry.key, key_id, incoming);
  }

  Status object(const PackEntry& entry, ImportEntry* out) {
    if (!options_.trust_objects) {
      out->outcome = ImportOutcome::kRejected;
      out->reason = "native code is taken only from a pack that is trusted explicitly";
      return {};
    }
    rows::KeyRow row;
    FRIT_ASSIGN(const auto existing, rows::object_of(db_, entry.key, &row, &damaged_));
    if (existing) {
      out->outcome = ImportOutcome::kKeptExisting;
      out->reason = existing->bytes == entry.object.bytes ? "the same object is there already"
                                                          : "there is an object for the same code already";
      return {};
    }
    Object incoming = entry.object;
    incoming.origin = base::text_of("trusted:", content_);
    out->outcome = ImportOutcome::kAdded;
    FRIT_ASSIGN(const int64_t key_id, rows::ensure_key(db_, entry.key, now_s_));
    return rows::write_object(db_, entry.key, key_id, incoming);
  }

  sql::Database& db_;
  const ImportOptions& options_;
  const std::string content_;
  const int64_t now_s_;
  int64_t damaged_ = 0;
};

void count(ImportReport* report) {
  for (const ImportEntry& it : report->entries) {
    switch (it.outcome) {
      case ImportOutcome::kAdded:
        ++report->added;
        break;
      case ImportOutcome::kKeptExisting:
        ++report->kept;
        break;
      case ImportOutcome::kReplaced:
        ++report->replaced;
        break;
      case ImportOutcome::kRejected:
        ++report->rejected;
        break;
    }
  }
}

}  // namespace

Result<std::string> Store::export_text(const ExportOptions& options, ExportReport* report) {
  if (!impl_->is_ours())
    return make_error(Code::kUnsupported, "the cache cannot be used in a child process after fork");
  Collection collection;
  {
    const Impl::Locked locked(*impl_);
    impl_->each_layer([&](sql::Database& db) {
      return collect(db, options.objects && impl_->native_code_in(db), &impl_->damaged_rows, &collection);
    });
  }
  ExportReport counts;
  std::string text = write_pack(collection.take(), &counts);
  if (report != nullptr) *report = counts;
  return text;
}

Result<ExportReport> Store::export_to(const std::string& path, const ExportOptions& options) {
  ExportReport report;
  FRIT_ASSIGN(const std::string text, export_text(options, &report));
  FRIT_TRY(impl_->seams().files.write_atomic(path, text));
  return report;
}

Result<ImportReport> Store::import_text(std::string_view text, const ImportOptions& options) {
  if (!impl_->is_ours())
    return make_error(Code::kUnsupported, "the cache cannot be used in a child process after fork");
  FRIT_ASSIGN(const Pack pack, read_pack(text));
  const Impl::Locked locked(*impl_);
  Impl& impl = *impl_;
  const auto not_kept = [&] {
    return make_error(
        Code::kIo, base::text_of("nothing was imported: cache ", impl.options().path, " cannot be written"));
  };
  if (!impl.is_persistent()) return not_kept();
  ImportReport report;
  FRIT_TRY(impl.write([&](sql::Database& db) -> Status {
    // All or nothing, in the file or not at all.
    if (!impl.is_persistent()) return not_kept();
    report = ImportReport();
    Importer importer(db, options, pack.content, impl.now_s());
    for (const PackLine& line : pack.lines) {
      ImportEntry entry;
      FRIT_TRY(importer.take(line, &entry));
      report.entries.push_back(std::move(entry));
    }
    return {};
  }));
  report.content = pack.content;
  count(&report);
  return report;
}

Result<ImportReport> Store::import_from(const std::string& path, const ImportOptions& options) {
  std::string text;
  // Looked at through SQLite: path may be a database that this process has open.
  const auto header = sql::read_database_header(path, impl_->options().vfs);
  if (!header.ok() || !std::string_view(*header).starts_with(kSqliteMagic)) {
    FRIT_ASSIGN(text, impl_->seams().files.read(path));
  } else {
    // Another cache file, such as one that was set aside: what can still be read of it.
    sql::Fault fault = sql::Fault::kNone;
    FRIT_ASSIGN(
        const auto db,
        sql::Database::open(
            path, {.read_only = true, .busy_ms = impl_->options().busy_ms, .vfs = impl_->options().vfs},
            &fault));
    FRIT_ASSIGN(const Classified found, classify(*db, cache_schema()));
    if (found.kind == FileKind::kForeign)
      return make_error(Code::kCorrupt, base::text_of("it ", found.why)).with(path);
    Collection collection;
    int64_t damaged = 0;
    const Status read = collect(*db, options.trust_objects, &damaged, &collection);
    ExportReport counts;
    text = write_pack(collection.take(), &counts);
    if (!read.ok() && counts.decisions + counts.plans + counts.objects == 0)
      return Error(read.error()).with(path);
  }
  return import_text(text, options).with(path);
}

}  // namespace frit::tuner
