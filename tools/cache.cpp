// frit cache: looks into the tuning cache, checks it, moves decisions in and out.
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/seams.h"
#include "base/text.h"
#include "base/try.h"
#include "codegen/families/family.h"
#include "common.h"
#include "inputs.h"
#include "report.h"
#include "runtime/keys.h"
#include "runtime/model_impl.h"
#include "runtime/planning.h"
#include "runtime/setup.h"
#include "tuner/place.h"
#include "tuner/store.h"
#include "verbs.h"

namespace frit::tools {

namespace {

using json = nlohmann::ordered_json;

struct CacheArgs {
  CommonOptions common;
  InputOptions inputs;
  std::string key, model, file, max_age;
  uint64_t max_mb = 0;
  bool trust_objects = false, with_objects = false;
};

struct Open {
  base::SystemClock clock;
  base::SystemFileSystem files;
  base::SystemProcess process;
  base::SystemEnvironment environment;
  std::shared_ptr<LogSink> sink;
  std::unique_ptr<tuner::Store> store;
};

// The file that the options name; it is not made, and a bad one stays where it is, unless the verb writes.
Result<std::unique_ptr<Open>> open(const CacheArgs& args, bool writes) {
  auto out = std::make_unique<Open>();
  const auto option =
      args.common.cache.empty() ? std::nullopt : std::optional<std::string>(args.common.cache);
  const tuner::Place place = tuner::resolve_place(option, out->environment, out->files, out->process);
  if (place.kind != tuner::Place::Kind::kFile)
    return make_error(
        Code::kInvalidArgument,
        "there is no cache file: " + (place.note.empty() ? std::string("the cache is off") : place.note));
  out->sink = make_log(args.common.verbose);
  tuner::StoreOptions options;
  options.path = place.path;
  options.create = writes;
  options.leave_bad_file = !writes;
  for (const auto& family : codegen::family_table())
    options.families.push_back({family.name, family.version});
  // A verb that writes must not write to a stand-in in memory and say that it is done.
  const auto usable = [&]() -> Status {
    const tuner::StoreStatus status = out->store->status();
    if (!writes || status.mode == tuner::StoreMode::kReadWrite) return {};
    if (status.held)
      return make_error(Code::kBusy, "cache " + place.path + " is held by another process")
          .hinted("try again");
    return make_error(Code::kIo, "cache " + place.path + " cannot be written");
  };
  out->store = tuner::Store::open(options, {out->clock, out->files, out->process, base::Logger(out->sink)});
  FRIT_TRY(usable());
  return out;
}

std::string date(int64_t seconds) {
  if (seconds <= 0) return "-";
  const std::time_t t = seconds;
  std::tm parts{};
  gmtime_r(&t, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return text;
}

int ls(const CacheArgs& args) {
  auto o = open(args, false);
  if (!o.ok()) return fail(o.error());
  json rows = json::array();
  if (!args.common.json)
    std::printf("%-8s  %-9s  %-11s %-9s %11s %11s %6s  %-16s  %s\n", "key", "kind", "family", "state", "time",
                "heuristic", "trials", "last use", "params");
  for (const auto& l : (*o)->store->list()) {
    const bool decision = l.kind == tuner::KeyKind::kDecision;
    if (args.common.json) {
      rows.push_back({{"key", l.hash.hex()},
                      {"kind", tuner::key_kind_name(l.kind)},
                      {"family", l.family},
                      {"state", decision ? tuner::state_name(l.state) : ""},
                      {"params", l.params},
                      {"time_ms", l.time_ns * 1e-6},
                      {"heuristic_ms", l.heuristic_ns * 1e-6},
                      {"trials", l.trials},
                      {"bytes", l.bytes},
                      {"origin", l.origin},
                      {"last_use_s", l.last_use_s}});
      continue;
    }
    std::printf("%-8.8s  %-9s  %-11s %-9s %8.3f ms %8.3f ms %6lld  %-16s  %s\n", l.hash.hex().c_str(),
                tuner::key_kind_name(l.kind), l.family.c_str(), decision ? tuner::state_name(l.state) : "",
                l.time_ns * 1e-6, l.heuristic_ns * 1e-6, static_cast<long long>(l.trials),
                date(l.last_use_s).c_str(), l.params.c_str());
  }
  if (args.common.json)
    std::printf("%s\n", json{{"schema", "frit/cache-ls/1"}, {"records", rows}}.dump(2).c_str());
  return kDone;
}

json record_json(const tuner::Record& r) {
  json ingredients = json::object(), decisions = json::array(), plans = json::array(),
       objects = json::array(), trials = json::array();
  for (const auto& i : r.key.ingredients()) ingredients[i.name] = i.value;
  for (const auto& d : r.decisions)
    decisions.push_back({{"family", d.family},
                         {"family_version", d.family_version},
                         {"state", tuner::state_name(d.state)},
                         {"params", d.params},
                         {"origin", d.origin},
                         {"evidence", json::parse(tuner::evidence_text(d.evidence))}});
  for (const auto& p : r.plans) plans.push_back({{"version", p.version}, {"bytes", p.text.size()}});
  for (const auto& x : r.objects) objects.push_back({{"bytes", r.object_bytes}, {"compiler", x.compiler}});
  for (const auto& t : r.trials)
    trials.push_back({{"params", t.params},
                      {"outcome", tuner::outcome_name(t.outcome)},
                      {"time_ms", t.time_ns * 1e-6},
                      {"reason", t.reason}});
  return {{"key", r.key.hash().hex()},  {"kind", tuner::key_kind_name(r.key.kind())},
          {"ingredients", ingredients}, {"last_use_s", r.last_use_s},
          {"decisions", decisions},     {"plans", plans},
          {"objects", objects},         {"trials", trials}};
}

int show(const CacheArgs& args) {
  auto o = open(args, false);
  if (!o.ok()) return fail(o.error());
  auto records = (*o)->store->show(args.key);
  if (!records.ok()) return fail(records.error());
  if (records->empty()) return fail(make_error(Code::kNotFound, "no record's key begins with " + args.key));
  json rows = json::array();
  for (const auto& r : *records) {
    if (args.common.json) {
      rows.push_back(record_json(r));
      continue;
    }
    std::printf("%s %s, last used %s\n", tuner::key_kind_name(r.key.kind()), r.key.hash().hex().c_str(),
                date(r.last_use_s).c_str());
    for (const auto& d : r.decisions) {
      const auto& e = d.evidence;
      std::printf("  %s %s (version %d), %s: %s\n", tuner::state_name(d.state), d.family.c_str(),
                  d.family_version, d.origin.c_str(), d.params.c_str());
      std::printf("    %.3f ms +- %.3f (%lld samples); the heuristic took %.3f ms\n", e.time_ns * 1e-6,
                  e.spread_ns * 1e-6, static_cast<long long>(e.samples), e.heuristic_ns * 1e-6);
      if (!e.runner_up.empty())
        std::printf("    second: %s, %.3f ms\n", e.runner_up.c_str(), e.runner_up_ns * 1e-6);
      std::printf("    %lld trials, %lld failed, strategy %s\n", static_cast<long long>(e.trials),
                  static_cast<long long>(e.failures), e.strategy.c_str());
    }
    for (const auto& p : r.plans)
      std::printf("  plan of partitioner version %d, %zu bytes\n", p.version, p.text.size());
    for (const auto& x : r.objects)
      std::printf("  object, %llu bytes, by %s\n", static_cast<unsigned long long>(r.object_bytes),
                  x.compiler.c_str());
    for (const auto& i : r.key.ingredients()) {
      std::printf("  %s:\n", i.name.c_str());
      for (size_t at = 0; at < i.value.size();) {
        const size_t end = std::min(i.value.find('\n', at), i.value.size());
        std::printf("    %s\n", i.value.substr(at, end - at).c_str());
        at = end + 1;
      }
    }
    for (const auto& t : r.trials)
      std::printf("  trial %-50s %s %.3f ms %s\n", t.params.c_str(), tuner::outcome_name(t.outcome),
                  t.time_ns * 1e-6, t.reason.c_str());
  }
  if (args.common.json)
    std::printf("%s\n", json{{"schema", "frit/cache-show/1"}, {"records", rows}}.dump(2).c_str());
  return kDone;
}

// For each kernel of a model: exact, or the nearest record and the ingredients that differ.
int why(const CacheArgs& args) {
  auto numerics = parse_numerics(args.common.numerics);
  if (!numerics.ok()) return fail(numerics.error());
  auto options = model_options(args.common);
  if (!options.ok()) return fail(options.error());
  auto model = Model::load(args.model, *options);
  if (!model.ok()) return fail(model.error());
  runtime::Runtime& rt = *model->impl()->runtime;
  if (!rt.store()) return fail(make_error(Code::kInvalidArgument, "the cache is off"));
  SessionOptions session;
  session.threads = args.common.threads;
  session.numerics = *numerics;
  auto setup = runtime::resolve(session, rt);
  if (!setup.ok()) return fail(setup.error());
  auto shapes = input_shapes(*model, args.inputs);
  if (!shapes.ok()) return fail(shapes.error());
  auto bound = runtime::input_shapes(model->impl()->graph, *shapes);
  if (!bound.ok()) return fail(bound.error());
  auto graph = runtime::specialise(model->impl()->graph, *bound, setup->build.numerics);
  if (!graph.ok()) return fail(graph.error());
  auto planned = runtime::make_or_replay(rt, *std::move(graph), *setup);
  if (!planned.ok()) return fail(planned.error());
  json rows = json::array();
  int64_t missing = 0;
  for (size_t k = 0; k < planned->plan->groups.size(); ++k) {
    const auto& group = planned->plan->groups[k];
    if (group.family.empty()) continue;
    auto key = tuner::decision_key(group.group.text(), setup->parts, rt.target_parts());
    if (!key.ok()) return fail(key.error());
    const tuner::Explanation e = rt.store()->why(*key);
    missing += e.match != tuner::Match::kExact;
    const std::string name = group.group.node_names.empty() ? "" : group.group.node_names.back();
    if (args.common.json) {
      json row{{"group", k},
               {"family", group.family},
               {"node", name},
               {"match", tuner::match_name(e.match)},
               {"key", key->hash().hex()}};
      if (e.has_record) row["record"] = {{"state", tuner::state_name(e.state)}, {"params", e.params}};
      row["differences"] = json::array();
      for (const auto& d : e.differences)
        row["differences"].push_back({{"name", d.name}, {"ours", d.ours}, {"theirs", d.theirs}});
      rows.push_back(std::move(row));
      continue;
    }
    std::printf("%3zu  %-11s %-6s %s", k, group.family.c_str(), tuner::match_name(e.match), name.c_str());
    if (e.has_record && e.match != tuner::Match::kExact) std::printf("  nearest %.8s", e.key.hash().hex().c_str());
    if (e.has_record) std::printf("  %s: %s", tuner::state_name(e.state), e.params.c_str());
    std::printf(e.has_record ? "\n" : "  no record is like it\n");
    for (const auto& d : e.differences)
      if (d.name == "group")
        std::printf("       differs in the group's text\n");
      else
        std::printf("       differs in %s: here %s, there %s\n", d.name.c_str(),
                    d.ours.empty() ? "nothing" : d.ours.c_str(),
                    d.theirs.empty() ? "nothing" : d.theirs.c_str());
  }
  if (args.common.json)
    std::printf("%s\n",
                json{{"schema", "frit/cache-why/1"}, {"missing", missing}, {"groups", rows}}.dump(2).c_str());
  return missing ? kNo : kDone;
}

int stats(const CacheArgs& args) {
  auto o = open(args, false);
  if (!o.ok()) return fail(o.error());
  const tuner::StoreStats s = (*o)->store->stats();
  const tuner::StoreStatus status = (*o)->store->status();
  if (args.common.json) {
    std::printf("%s\n", json{{"schema", "frit/cache-stats/1"},
                             {"path", status.path},
                             {"missing", status.missing},
                             {"decisions", s.decisions},
                             {"tuned", s.tuned},
                             {"partial", s.partial},
                             {"heuristic", s.heuristic},
                             {"plans", s.plans},
                             {"trials", s.trials},
                             {"failed_trials", s.failed_trials},
                             {"objects", s.objects},
                             {"object_bytes", s.object_bytes},
                             {"misses", s.misses},
                             {"file_bytes", s.file_bytes}}
                            .dump(2)
                            .c_str());
    return kDone;
  }
  std::printf("%s%s\n", status.path.c_str(), status.missing ? " (not there)" : "");
  std::printf("%lld decisions: %lld tuned, %lld partial, %lld heuristic\n",
              static_cast<long long>(s.decisions), static_cast<long long>(s.tuned),
              static_cast<long long>(s.partial), static_cast<long long>(s.heuristic));
  std::printf(
      "%lld plans, %lld trials (%lld failed), %lld objects of %lld bytes, %lld noted misses, %lld bytes in "
      "use\n",
      static_cast<long long>(s.plans), static_cast<long long>(s.trials),
      static_cast<long long>(s.failed_trials), static_cast<long long>(s.objects),
      static_cast<long long>(s.object_bytes), static_cast<long long>(s.misses),
      static_cast<long long>(s.file_bytes));
  return kDone;
}

int verify(const CacheArgs& args) {
  auto o = open(args, false);
  if (!o.ok()) return fail(o.error());
  const tuner::StoreStatus status = (*o)->store->status();
  tuner::VerifyReport report = (*o)->store->verify();
  if (!status.bad_file.empty()) report.problems.push_back(status.bad_file);
  if (args.common.json)
    std::printf("%s\n", json{{"schema", "frit/cache-verify/1"},
                             {"path", status.path},
                             {"missing", status.missing},
                             {"rows", report.rows_checked},
                             {"problems", report.problems}}
                            .dump(2)
                            .c_str());
  else if (status.missing)
    std::printf("%s is not there: nothing to check\n", status.path.c_str());
  else
    std::printf("%s: %lld rows checked, %zu problems\n", status.path.c_str(),
                static_cast<long long>(report.rows_checked), report.problems.size());
  if (!args.common.json)
    for (const std::string& p : report.problems) std::printf("  %s\n", p.c_str());
  return report.ok() ? kDone : kNo;
}

int export_pack(const CacheArgs& args) {
  auto o = open(args, false);
  if (!o.ok()) return fail(o.error());
  auto report = (*o)->store->export_to(args.file, {.objects = args.with_objects});
  if (!report.ok()) return fail(report.error());
  if (args.common.json)
    std::printf("%s\n", json{{"schema", "frit/cache-export/1"},
                             {"file", args.file},
                             {"decisions", report->decisions},
                             {"plans", report->plans},
                             {"objects", report->objects},
                             {"content", report->content.hex()}}
                            .dump(2)
                            .c_str());
  else
    std::printf("%s: %lld decisions, %lld plans, %lld objects, content %s\n", args.file.c_str(),
                static_cast<long long>(report->decisions), static_cast<long long>(report->plans),
                static_cast<long long>(report->objects), report->content.hex().c_str());
  return kDone;
}

int import_pack(const CacheArgs& args) {
  auto o = open(args, true);
  if (!o.ok()) return fail(o.error());
  tuner::ImportOptions options;
  options.trust_objects = args.trust_objects;
  auto report = (*o)->store->import_from(args.file, options);
  if (!report.ok()) return fail(report.error());
  json rows = json::array();
  for (const auto& e : report->entries) {
    if (args.common.json)
      rows.push_back({{"kind", tuner::key_kind_name(e.kind)},
                      {"key", e.hash},
                      {"label", e.label},
                      {"outcome", tuner::import_outcome_name(e.outcome)},
                      {"reason", e.reason}});
    else
      std::printf("%-14s %-9s %-8.8s %s%s%s\n", tuner::import_outcome_name(e.outcome),
                  tuner::key_kind_name(e.kind), e.hash.c_str(), e.label.c_str(), e.reason.empty() ? "" : ": ",
                  e.reason.c_str());
  }
  if (args.common.json)
    std::printf("%s\n", json{{"schema", "frit/cache-import/1"},
                             {"added", report->added},
                             {"kept", report->kept},
                             {"replaced", report->replaced},
                             {"rejected", report->rejected},
                             {"entries", rows}}
                            .dump(2)
                            .c_str());
  else
    std::printf("%lld added, %lld kept, %lld replaced, %lld rejected\n",
                static_cast<long long>(report->added), static_cast<long long>(report->kept),
                static_cast<long long>(report->replaced), static_cast<long long>(report->rejected));
  return kDone;
}

int prune(const CacheArgs& args) {
  tuner::PruneOptions options;
  options.max_bytes = args.max_mb << 20;
  if (!args.max_age.empty()) {
    auto age = parse_duration(args.max_age);
    if (!age.ok()) return fail(Error(age.error()).with("--max-age"));
    options.max_age_s = static_cast<int64_t>(*age);
  }
  auto o = open(args, true);
  if (!o.ok()) return fail(o.error());
  auto report = (*o)->store->prune(options);
  if (!report.ok()) return fail(report.error());
  if (args.common.json)
    std::printf("%s\n", json{{"schema", "frit/cache-prune/1"},
                             {"decisions", report->decisions},
                             {"plans", report->plans},
                             {"trials", report->trials},
                             {"objects", report->objects},
                             {"damaged", report->damaged},
                             {"bytes_before", report->bytes_before},
                             {"bytes_after", report->bytes_after}}
                            .dump(2)
                            .c_str());
  else
    std::printf(
        "dropped %lld decisions, %lld plans, %lld trials, %lld objects, %lld damaged rows; %lld -> %lld "
        "bytes\n",
        static_cast<long long>(report->decisions), static_cast<long long>(report->plans),
        static_cast<long long>(report->trials), static_cast<long long>(report->objects),
        static_cast<long long>(report->damaged), static_cast<long long>(report->bytes_before),
        static_cast<long long>(report->bytes_after));
  return kDone;
}

}  // namespace

void add_cache(CLI::App& app, Invocation& invocation) {
  auto args = std::make_shared<CacheArgs>();
  CLI::App* verb =
      app.add_subcommand("cache", "look into the tuning cache, move decisions in and out")->group("Fleet");
  verb->require_subcommand(1);
  auto sub = [&](const char* name, const char* what, int (*action)(const CacheArgs&),
                 const std::string& examples) {
    CLI::App* s = verb->add_subcommand(name, what);
    s->add_option("--cache", args->common.cache, "a file or a folder")->type_name("PLACE");
    s->add_flag("--json", args->common.json, "one JSON object on stdout");
    s->footer("examples:\n" + examples);
    s->callback(
        [args, action, &invocation] { invocation.action = [args, action] { return action(*args); }; });
    return s;
  };
  sub("ls", "all records", ls, "  frit cache ls\n  frit cache ls --json");
  sub("show", "everything about a key", show, "  frit cache show 3f9a\n  frit cache show 3f9a --json")
      ->add_option("KEY", args->key, "the first digits of its hash")
      ->required()
      ->type_name("");
  CLI::App* why_verb =
      sub("why", "for each kernel of a model: hit, or what differs from the nearest record", why,
          "  frit cache why resnet50.onnx --threads 1\n  frit cache why resnet50.onnx --json");
  why_verb->add_option("MODEL", args->model, "an ONNX file")->required()->type_name("");
  why_verb
      ->add_option("--threads", args->common.threads,
                   "of one run; 0 (default): as many as this process may run")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  why_verb->add_option("--target", args->common.target, "cpu (default), or a baseline such as cpu:x86-64-v3")
      ->type_name("NAME");
  why_verb->add_option("--numerics", args->common.numerics, "strict, default or fast")->type_name("POLICY");
  why_verb->add_option("--shape", args->inputs.shapes, "NAME=1x128 for an input, NAME=128 for a dimension")
      ->allow_extra_args(false)
      ->type_name("SHAPE");
  sub("stats", "counts", stats, "  frit cache stats\n  frit cache stats --cache other.sqlite --json");
  sub("verify", "checks integrity and checksums; exit code 3 where something is wrong", verify,
      "  frit cache verify\n  frit cache verify --cache other.sqlite");
  CLI::App* export_verb =
      sub("export", "decisions and plan records as one file", export_pack,
          "  frit cache export winners.fritpack\n  frit cache export all.fritpack --objects");
  export_verb->add_option("FILE", args->file, "the pack to write")->required()->type_name("");
  export_verb->add_flag("--objects", args->with_objects, "machine code too");
  CLI::App* import_verb =
      sub("import", "decisions and plan records of a file", import_pack,
          "  frit cache import winners.fritpack\n  frit cache import all.fritpack --trust-objects");
  import_verb->add_option("FILE", args->file, "a pack that frit cache export wrote")
      ->required()
      ->type_name("");
  import_verb->add_flag("--trust-objects", args->trust_objects,
                        "take its machine code too: your own word for this file");
  CLI::App* prune_verb = sub("prune", "drops what was not used for longest", prune,
                             "  frit cache prune --max-mb 100\n  frit cache prune --max-age 2160h");
  prune_verb->add_option("--max-mb", args->max_mb, "size to stay below")->type_name("N");
  prune_verb->add_option("--max-age", args->max_age, "drop what was not used for so long")->type_name("TIME");
  verb->footer("examples:\n  frit cache ls\n  frit cache export winners.fritpack");
}

}  // namespace frit::tools
