#include "codegen/families/params.h"

#include <algorithm>
#include <charconv>

namespace frit::codegen {

void Params::set(std::string_view name, int64_t value) {
  for (auto& item : items_)
    if (item.first == name) {
      item.second = value;
      return;
    }
  items_.emplace_back(name, value);
}

bool Params::has(std::string_view name) const {
  return std::any_of(items_.begin(), items_.end(), [&](const auto& item) { return item.first == name; });
}

int64_t Params::get(std::string_view name) const { return get_or(name, 0); }

int64_t Params::get_or(std::string_view name, int64_t fallback) const {
  for (const auto& item : items_)
    if (item.first == name) return item.second;
  return fallback;
}

std::string Params::text() const {
  std::string out;
  for (const auto& [name, value] : items_) {
    if (!out.empty()) out += ' ';
    out += name + "=" + std::to_string(value);
  }
  return out;
}

Result<Params> Params::parse(std::string_view text) {
  Params params;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    const std::string_view item = text.substr(0, space);
    text = space == std::string_view::npos ? std::string_view{} : text.substr(space + 1);
    if (item.empty()) continue;
    const size_t equals = item.find('=');
    int64_t value = 0;
    const char* end = item.data() + item.size();
    if (equals == 0 || equals == std::string_view::npos ||
        std::from_chars(item.data() + equals + 1, end, value).ptr != end || equals + 1 == item.size())
      return make_error(Code::kCorrupt, "params: '" + std::string(item) + "' is not name=integer");
    if (params.has(item.substr(0, equals))) return make_error(Code::kCorrupt, "params: '" + std::string(item.substr(0, equals)) + "' is given twice");
    params.items_.emplace_back(item.substr(0, equals), value);
  }
  return params;
}

int64_t Space::raw_size() const {
  int64_t n = 1;
  for (const SpaceDim& dim : dims) n *= static_cast<int64_t>(dim.values.size());
  return n;
}

bool Space::legal(const Params& params) const {
  if (params.items().size() != dims.size()) return false;
  for (size_t k = 0; k < dims.size(); ++k) {
    const auto& [name, value] = params.items()[k];
    if (name != dims[k].name || std::find(dims[k].values.begin(), dims[k].values.end(), value) == dims[k].values.end()) return false;
  }
  return std::all_of(constraints.begin(), constraints.end(), [&](const Constraint& c) { return c.holds(params); });
}

std::vector<Params> Space::enumerate(size_t limit) const {
  std::vector<Params> out;
  std::vector<size_t> at(dims.size(), 0);
  for (const SpaceDim& dim : dims)
    if (dim.values.empty()) return out;
  while (out.size() < limit) {
    Params params;
    for (size_t k = 0; k < dims.size(); ++k) params.set(dims[k].name, dims[k].values[at[k]]);
    if (std::all_of(constraints.begin(), constraints.end(), [&](const Constraint& c) { return c.holds(params); })) out.push_back(std::move(params));
    size_t k = dims.size();
    while (k > 0 && ++at[k - 1] == dims[k - 1].values.size()) at[--k] = 0;
    if (k == 0) break;
  }
  return out;
}

}  // namespace frit::codegen
