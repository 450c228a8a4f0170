// Dim: one dimension of a shape, an integer expression over named sizes.
//
// Kept in a canonical sum-of-products form, so that equal expressions compare equal: (s+1)-1 == s, 2*s/2 == s.
// Floor division, minimum and maximum that do not simplify are opaque factors. Values are small and immutable.
// Sizes are assumed >= 0, and a divisor that is not constant is assumed != 0. Arithmetic wraps at 64 bits, so that
// hostile sizes are harmless here; whoever allocates checks magnitudes. An expression of more than about 500 parts is
// replaced by a symbol named after its hash, which bounds time and memory; binding sizes first avoids it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frit/result.h"

namespace frit::graph {

struct DimTerms;

class Dim {
 public:
  Dim() = default;                     // 0
  Dim(int64_t value);                  // NOLINT: a constant is the special case
  static Dim symbol(std::string name);

  bool is_constant() const;
  std::optional<int64_t> constant() const;
  // The constant's value; the dimension must be constant (checked by callers that run after shapes are bound).
  int64_t value() const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend Dim floor_div(const Dim& a, const Dim& b);  // rounds toward minus infinity; 0 for a constant divisor 0
  friend Dim ceil_div(const Dim& a, const Dim& b);
  friend Dim mod(const Dim& a, const Dim& b);
  friend Dim min(const Dim& a, const Dim& b);
  friend Dim max(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b);
  friend bool operator<(const Dim& a, const Dim& b);  // a total order for containers, no arithmetic meaning

  // Replaces symbols by values; symbols that are not named stay.
  Dim bind(const std::map<std::string, int64_t>& sizes) const;
  void collect_symbols(std::vector<std::string>& out) const;

  // "128", "seq", "(past+1)", "(2*seq+1)/2": parses back to an equal Dim. Symbols that are not plain words are quoted.
  std::string text() const;
  static Result<Dim> parse(std::string_view text);

 private:
  friend struct DimTerms;
  int64_t constant_ = 0;                   // the value while terms_ is empty
  std::shared_ptr<const DimTerms> terms_;  // set when at least one symbol takes part
};

// True when d >= 0 for every choice of sizes (sizes are never negative); false means "cannot tell".
bool is_non_negative(const Dim& d);
// Whether a < b, when that is the same for every choice of sizes.
std::optional<bool> decide_less(const Dim& a, const Dim& b);
std::optional<bool> decide_equal(const Dim& a, const Dim& b);

using Shape = std::vector<Dim>;

std::string shape_text(const Shape& shape);             // "[1,seq,768]"
std::optional<std::vector<int64_t>> constant_shape(const Shape& shape);  // none when a dimension is not constant
Dim element_count(const Shape& shape);

}  // namespace frit::graph
