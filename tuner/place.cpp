#include "tuner/place.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace frit::tuner {
namespace {

constexpr const char* kFileName = "cache.db";
constexpr uint32_t kWorldWritable = 0002;

std::string inside(std::string folder, std::string_view name) {
  if (!folder.ends_with('/')) folder += '/';
  return folder += name;
}

Place named(const std::string& value, const char* source, base::FileSystem& files) {
  if (value == "off") return {Place::Kind::kOff, {}, source, {}};
  const auto stat = files.stat(value);
  const bool folder = value.ends_with('/') || (stat.ok() && stat->is_folder);
  return {Place::Kind::kFile, folder ? inside(value, kFileName) : value, source, {}};
}

// Empty, or why nothing may be made under this path.
std::string objection(std::string path, base::FileSystem& files, base::Process& process) {
  while (path.size() > 1 && !files.exists(path)) {
    const size_t slash = path.rfind('/');
    path.resize(slash == 0 ? 1 : slash);
  }
  const auto stat = files.stat(path);
  if (!stat.ok()) return stat.error().text();
  if (!stat->is_folder) return base::text_of(path, " is no folder");
  if (stat->owner != process.user()) return base::text_of(path, " belongs to another user");
  if ((stat->mode & kWorldWritable) != 0) return base::text_of(path, " can be written by everybody");
  return {};
}

}  // namespace

Place resolve_place(const std::optional<std::string>& option, base::Environment& environment,
                    base::FileSystem& files, base::Process& process) {
  if (option && !option->empty()) return named(*option, "option", files);
  const auto set = [&](const char* name) { return environment.get(name).value_or(std::string()); };
  if (const std::string value = set("FRIT_CACHE"); !value.empty()) return named(value, "FRIT_CACHE", files);
  if (std::string value = set("CACHE_DIRECTORY"); !value.empty()) {
    value = value.substr(0, value.find(':'));
    if (value.starts_with('/')) return {Place::Kind::kFile, inside(value, kFileName), "CACHE_DIRECTORY", {}};
  }
  std::string objections;
  for (const auto& [name, below] : {std::pair("XDG_CACHE_HOME", "frit"), std::pair("HOME", ".cache/frit")}) {
    const std::string value = set(name);
    // The XDG specification tells to ignore relative paths.
    if (!value.starts_with('/')) continue;
    const std::string folder = inside(value, below);
    const std::string why_not = objection(folder, files, process);
    if (why_not.empty()) return {Place::Kind::kFile, inside(folder, kFileName), name, {}};
    base::append(objections, objections.empty() ? "" : "; ", name, ": ", why_not);
  }
  if (objections.empty()) objections = "neither HOME nor XDG_CACHE_HOME nor FRIT_CACHE is set";
  return {Place::Kind::kMemory,
          {},
          "none",
          base::text_of("tuning results are kept in memory only (", objections, ")")};
}

}  // namespace frit::tuner
