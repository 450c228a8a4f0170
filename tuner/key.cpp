#include "tuner/key.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "tuner/utf8.h"

namespace frit::tuner {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

bool is_name(std::string_view name) {
  if (name.empty() || !is_lower(name[0])) return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return is_lower(c) || is_digit(c) || c == '_'; });
}

Status check(const std::vector<Ingredient>& ingredients) {
  for (size_t i = 0; i < ingredients.size(); ++i) {
    const Ingredient& it = ingredients[i];
    if (!is_name(it.name)) {
      return make_error(Code::kInvalidArgument, base::text_of("ingredient name ", base::quoted(it.name),
                                                              " is not a lower-case word"));
    }
    if (!is_utf8(it.value)) {
      return make_error(Code::kInvalidArgument,
                        base::text_of("ingredient '", it.name, "' is not valid UTF-8"));
    }
    for (size_t j = 0; j < i; ++j) {
      if (ingredients[j].name == it.name) {
        return make_error(Code::kInvalidArgument, base::text_of("ingredient '", it.name, "' is given twice"));
      }
    }
  }
  return {};
}

const std::string* value_of(const std::vector<Ingredient>& ingredients, std::string_view name) {
  for (const Ingredient& it : ingredients) {
    if (it.name == name) return &it.value;
  }
  return nullptr;
}

// What must agree for a record to be near. The architecture and the numerics policy are in it, so that no
// record of another instruction set or of looser arithmetic is ever offered.
base::Hash128 kin_of(KeyKind kind, const std::vector<Ingredient>& ingredients) {
  base::Hasher hasher;
  hasher.add(static_cast<int32_t>(kind));
  hasher.add(
      std::string_view(kind == KeyKind::kDecision ? shape_free(ingredients[0].value) : ingredients[0].value));
  for (const char* name : {"numerics", "target", "arch"}) {
    const std::string* value = value_of(ingredients, name);
    hasher.add(std::string_view(value ? *value : std::string()));
  }
  return hasher.finish();
}

// Calls number(digits) for every run of digits that is a size, other(c) for every other character.
template <class Number, class Other>
void scan_sizes(std::string_view text, Number number, Other other) {
  const auto in_word = [](char c) {
    return is_digit(c) || is_lower(c) || (c >= 'A' && c <= 'Z') || c == '_' || c == '%' || c == '.';
  };
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && in_word(text[end])) ++end;
    if (end == i) {
      other(text[i++]);
      continue;
    }
    const bool numeric = is_digit(text[i]);
    while (i < end) {
      size_t stop = i;
      while (numeric && stop < end && is_digit(text[stop])) ++stop;
      if (stop > i) {
        number(text.substr(i, stop - i));
        i = stop;
      } else {
        other(text[i++]);
      }
    }
  }
}

void append_target(std::vector<Ingredient>& out, const TargetParts& target) {
  out.push_back({"target", target.target});
  out.push_back({"arch", target.arch});
  out.push_back({"features", target.features});
  out.push_back({"cpu_vendor", target.cpu_vendor});
  out.push_back({"cpu_family", target.cpu_family});
  out.push_back({"cpu_model", target.cpu_model});
  out.push_back({"multiprocessors", target.multiprocessors});
}

void append_session(std::vector<Ingredient>& out, const SessionParts& session) {
  out.push_back({"numerics", session.numerics});
  out.push_back({"objective", session.objective});
  out.push_back({"instances", base::text_of(session.instances)});
  out.push_back({"threads", base::text_of(session.threads)});
  out.push_back({"shared_cores", session.shared_cores ? "1" : "0"});
}

}  // namespace

std::string ingredients_text(const std::vector<Ingredient>& ingredients) {
  std::string out;
  for (const Ingredient& it : ingredients)
    base::append(out, it.name, ' ', it.value.size(), '\n', it.value, '\n');
  return out;
}

Result<std::vector<Ingredient>> parse_ingredients(std::string_view text) {
  const auto malformed = [&](const char* what) {
    return make_error(Code::kCorrupt, base::text_of("list of ingredients: ", what));
  };
  std::vector<Ingredient> out;
  while (!text.empty()) {
    const size_t line = text.find('\n');
    const size_t space = text.substr(0, line).find(' ');
    if (line == std::string_view::npos || space == std::string_view::npos) return malformed("no header line");
    const std::string_view digits = text.substr(space + 1, line - space - 1);
    const auto length = base::parse_number<uint64_t>(digits);
    if (!length || (digits.size() > 1 && digits[0] == '0')) return malformed("bad length");
    const std::string_view rest = text.substr(line + 1);
    if (rest.empty() || *length > rest.size() - 1 || rest[*length] != '\n') return malformed("cut short");
    out.push_back({std::string(text.substr(0, space)), std::string(rest.substr(0, *length))});
    text = rest.substr(*length + 1);
  }
  FRIT_TRY(check(out));
  return out;
}

const char* key_kind_name(KeyKind kind) {
  switch (kind) {
    case KeyKind::kDecision:
      return "decision";
    case KeyKind::kPlan:
      return "plan";
    case KeyKind::kBinary:
      return "object";
  }
  return "unknown";
}

Result<Key> Key::make(KeyKind kind, std::vector<Ingredient> ingredients) {
  if (ingredients.empty()) return make_error(Code::kInvalidArgument, "a key has no ingredients");
  FRIT_TRY(check(ingredients));
  Key key;
  key.kind_ = kind;
  key.ingredients_ = std::move(ingredients);
  key.text_ = ingredients_text(key.ingredients_);
  key.hash_ = base::hash128(key.text_);
  if (kind != KeyKind::kBinary) {
    key.kin_ = kin_of(kind, key.ingredients_);
    key.subject_ = base::hash128(key.ingredients_[0].value);
  }
  return key;
}

Result<Key> Key::parse(KeyKind kind, std::string_view text) {
  FRIT_ASSIGN(std::vector<Ingredient> ingredients, parse_ingredients(text));
  return make(kind, std::move(ingredients));
}

const std::string* Key::find(std::string_view name) const { return value_of(ingredients_, name); }

std::vector<Difference> diff(const std::vector<Ingredient>& ours, const std::vector<Ingredient>& theirs) {
  std::vector<Difference> out;
  for (const Ingredient& it : ours) {
    const std::string* other = value_of(theirs, it.name);
    if (!other || *other != it.value) out.push_back({it.name, it.value, other ? *other : std::string()});
  }
  for (const Ingredient& it : theirs) {
    if (!value_of(ours, it.name)) out.push_back({it.name, std::string(), it.value});
  }
  return out;
}

std::string shape_free(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  scan_sizes(
      text, [&](std::string_view) { out += '#'; }, [&](char c) { out += c; });
  return out;
}

std::vector<int64_t> sizes_in(std::string_view text) {
  std::vector<int64_t> out;
  scan_sizes(
      text,
      [&](std::string_view digits) {
        out.push_back(base::parse_number<int64_t>(digits).value_or(std::numeric_limits<int64_t>::max()));
      },
      [](char) {});
  return out;
}

Result<Key> decision_key(std::string group_text, const SessionParts& session, const TargetParts& target) {
  std::vector<Ingredient> all{{"group", std::move(group_text)}};
  append_session(all, session);
  append_target(all, target);
  return Key::make(KeyKind::kDecision, std::move(all));
}

Result<Key> plan_key(std::string_view graph_text, const SessionParts& session, const TargetParts& target) {
  std::vector<Ingredient> all{{"graph", base::hash128(graph_text).hex()}};
  append_session(all, session);
  append_target(all, target);
  return Key::make(KeyKind::kPlan, std::move(all));
}

Result<Key> binary_key(std::string_view program_text, int abi_version, std::string flags,
                       const TargetParts& target) {
  return Key::make(KeyKind::kBinary, {{"code", base::hash128(program_text).hex()},
                                      {"abi", base::text_of(abi_version)},
                                      {"flags", std::move(flags)},
                                      {"arch", target.arch},
                                      {"features", target.features}});
}

}  // namespace frit::tuner
