// frit devices: what this machine is to frit, and what would stop it here.
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/seams.h"
#include "common.h"
#include "device/doctor.h"
#include "report.h"
#include "tuner/place.h"
#include "verbs.h"

namespace frit::tools {

namespace {

int devices(const CommonOptions& common) {
  base::SystemFileSystem files;
  base::SystemProcess process;
  base::SystemEnvironment environment;
  device::DoctorReport report = device::examine(files, process, environment);
  const tuner::Place place =
      tuner::resolve_place(common.cache.empty() ? std::nullopt : std::optional<std::string>(common.cache),
                           environment, files, process);
  device::DoctorRow cache;
  cache.topic = "cache";
  cache.value = place.kind == tuner::Place::Kind::kFile  ? place.path + " (" + place.source + ")"
                : place.kind == tuner::Place::Kind::kOff ? "off"
                                                         : "memory";
  cache.hint = place.note;
  if (place.kind != tuner::Place::Kind::kFile) cache.verdict = device::Verdict::kNote;
  report.rows.push_back(cache);
  bool bad = false;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const auto& row : report.rows) {
    bad = bad || row.verdict == device::Verdict::kBad;
    if (common.json) {
      rows.push_back({{"topic", row.topic},
                      {"verdict", device::verdict_name(row.verdict)},
                      {"value", row.value},
                      {"details", row.details},
                      {"hint", row.hint}});
      continue;
    }
    std::printf("%-5s %-18s %s\n", device::verdict_name(row.verdict), row.topic.c_str(), row.value.c_str());
    for (const auto& detail : row.details) std::printf("      %-18s   %s\n", "", detail.c_str());
    if (!row.hint.empty()) std::printf("      %-18s   hint: %s\n", "", row.hint.c_str());
  }
  if (common.json)
    std::printf("%s\n", nlohmann::ordered_json{{"schema", "frit/devices/1"},
                                               {"target", report.host.text()},
                                               {"threads", report.threads},
                                               {"rows", rows}}
                            .dump(2)
                            .c_str());
  return bad ? kNo : kDone;
}

}  // namespace

void add_devices(CLI::App& app, Invocation& invocation) {
  auto args = std::make_shared<CommonOptions>();
  CLI::App* verb = app.add_subcommand("devices", "what this machine is, and what would stop frit here")
                       ->group("Understand");
  verb->add_option("--cache", args->cache, "tuning cache: a file, a folder, or off")->type_name("PLACE");
  verb->add_flag("--json", args->json, "one JSON object on stdout");
  verb->footer("examples:\n  frit devices\n  frit devices --json");
  verb->callback([args, &invocation] { invocation.action = [args] { return devices(*args); }; });
}

}  // namespace frit::tools
