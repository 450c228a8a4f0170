// Params: the tunable choice for one kernel, a flat ordered list of named integers, with a text form
// ("mr=6 nv=4 kc=768"). Space: which Params are legal, as data: values per name plus constraints.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frit/result.h"

namespace frit::codegen {

class Params {
 public:
  Params() = default;
  Params(std::initializer_list<std::pair<std::string, int64_t>> items) : items_(items) {}
  void set(std::string_view name, int64_t value);
  bool has(std::string_view name) const;
  int64_t get(std::string_view name) const;              // 0 when absent; families check has() where that matters
  int64_t get_or(std::string_view name, int64_t fallback) const;
  const std::vector<std::pair<std::string, int64_t>>& items() const { return items_; }
  std::string text() const;
  static Result<Params> parse(std::string_view text);
  bool operator==(const Params&) const = default;

 private:
  std::vector<std::pair<std::string, int64_t>> items_;
};

struct SpaceDim {
  std::string name;
  std::vector<int64_t> values;
  std::string meaning;  // one line for `frit explain --space`
};

struct Constraint {
  std::string text;  // "mr*nv + nv + 1 <= 31"
  std::function<bool(const Params&)> holds;
};

struct Space {
  std::vector<SpaceDim> dims;
  std::vector<Constraint> constraints;

  int64_t raw_size() const;                 // product of the dims
  bool legal(const Params& params) const;   // values listed and all constraints hold
  std::vector<Params> enumerate(size_t limit = 1 << 20) const;  // legal points, first dim slowest
};

}  // namespace frit::codegen
