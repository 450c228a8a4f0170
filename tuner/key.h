// Key: what a record of the tuning cache is found by. An ordered list of named ingredients and the hash of
// its text (format: schemas/key.md), so that a miss can be explained by the ingredients that differ.
//
// Made by exec and the tuner from group text, options and target; looked up in the store. It knows neither
// SQL nor what an ingredient means, except for the few names that decide which records may be near (kin).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "frit/result.h"

namespace frit::tuner {

struct Ingredient {
  std::string name;   // [a-z][a-z0-9_]*
  std::string value;  // any UTF-8 text
  bool operator==(const Ingredient&) const = default;
};

// Text form of a list of ingredients, and back; parsing fails on anything that printing does not produce.
std::string ingredients_text(const std::vector<Ingredient>& ingredients);
Result<std::vector<Ingredient>> parse_ingredients(std::string_view text);

enum class KeyKind : int { kDecision = 1, kPlan = 2, kBinary = 3 };  // persisted
const char* key_kind_name(KeyKind kind);

class Key {
 public:
  Key() = default;
  // Names that are not unique or not of the right form, values that are not UTF-8 and an empty list are
  // errors.
  static Result<Key> make(KeyKind kind, std::vector<Ingredient> ingredients);
  static Result<Key> parse(KeyKind kind, std::string_view text);

  KeyKind kind() const { return kind_; }
  const std::vector<Ingredient>& ingredients() const { return ingredients_; }
  const std::string* find(std::string_view name) const;  // null when there is no such ingredient
  const std::string& text() const { return text_; }
  base::Hash128 hash() const { return hash_; }
  // Records of equal kin may be near each other; records of equal subject are about the same group or graph.
  base::Hash128 kin() const { return kin_; }
  base::Hash128 subject() const { return subject_; }

  bool operator==(const Key& other) const { return kind_ == other.kind_ && text_ == other.text_; }

 private:
  KeyKind kind_ = KeyKind::kDecision;
  std::vector<Ingredient> ingredients_;
  std::string text_;
  base::Hash128 hash_, kin_, subject_;
};

struct Difference {
  std::string name;
  std::string ours;  // empty where the ingredient is absent
  std::string theirs;
  bool operator==(const Difference&) const = default;
};

// By name: first in the order of ours, then what only theirs has.
std::vector<Difference> diff(const std::vector<Ingredient>& ours, const std::vector<Ingredient>& theirs);

// The text with sizes erased: schemas/key.md.
std::string shape_free(std::string_view text);
// The numbers that shape_free erased, in order; a number that does not fit counts as the largest.
std::vector<int64_t> sizes_in(std::string_view text);

// The target part of a key.
struct TargetParts {
  std::string target = "cpu";                     // cpu, cuda
  std::string arch;                               // x86_64, aarch64, sm_90
  std::string features;                           // sorted, one space between
  std::string cpu_vendor, cpu_family, cpu_model;  // empty for a named baseline and on a GPU
  std::string multiprocessors;                    // empty on a CPU
};

// How a session runs its kernels.
struct SessionParts {
  std::string numerics = "default";
  std::string objective = "latency";
  int instances = 1;
  int threads = 1;
  bool shared_cores = false;  // whether two of the threads share a core
};

Result<Key> decision_key(std::string group_text, const SessionParts& session, const TargetParts& target);
// The graph's text enters by its hash: it may be megabytes long.
Result<Key> plan_key(std::string_view graph_text, const SessionParts& session, const TargetParts& target);
Result<Key> binary_key(std::string_view program_text, int abi_version, std::string flags,
                       const TargetParts& target);

}  // namespace frit::tuner
