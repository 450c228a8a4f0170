// Dim: one dimension of a shape, an integer expression over named sizes.
//
// Kept in a canonical sum-of-products form, so that equal expressions compare equal: (s+1)-1 == s, 2*s/2 == s.
// Floor division, minimum and maximum that do not simplify are opaque factors. Values are small and immutable.
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
  friend Dim floor_div(const Dim& a, const Dim& b);  // rounds toward minus infinity; b must not be constant 0
  friend Dim ceil_div(const Dim& a, const Dim& b);
  friend Dim mod(const Dim& a, const Dim& b);
  friend Dim min(const Dim& a, const Dim& b);
  friend Dim max(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b);
  friend bool operator<(const Dim& a, const Dim& b);  // a total order for containers, no arithmetic meaning

  // Replaces symbols by values; symbols that are not named stay.
  Dim bind(const std::map<std::string, int64_t>& sizes) const;
  void collect_symbols(std::vector<std::string>& out) const;

  // "128", "seq", "(past+1)", "(2*seq+1)/2": parses back to an equal Dim.
  std::string text() const;
  static Result<Dim> parse(std::string_view text);

 private:
  struct Atom;  // symbol, or floor_div / min / max of two Dims
  // product of atoms (sorted) -> coefficient; the empty product is the constant term
  using Terms = std::map<std::vector<std::shared_ptr<const Atom>>, int64_t, struct ProductLess>;
  std::shared_ptr<const struct DimTerms> terms_;
};

using Shape = std::vector<Dim>;

std::string shape_text(const Shape& shape);             // "[1,seq,768]"
std::optional<std::vector<int64_t>> constant_shape(const Shape& shape);  // none when a dimension is not constant
Dim element_count(const Shape& shape);

}  // namespace frit::graph
