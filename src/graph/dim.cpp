#include "graph/dim.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

#include "base/hash.h"
#include "graph/dim_terms.h"

namespace frit::graph {
namespace {

bool is_non_negative_within(const Dim& d, int depth);

using Kind = DimAtom::Kind;
using Map = DimTerms::Map;

// Squaring a size n times would otherwise cost 2^n.
constexpr size_t kMaxWeight = 512;
// Proofs by cases over min and max stop here.
constexpr int kMaxCaseDepth = 4;
constexpr size_t kMaxCaseWeight = 64;
constexpr int kMaxDivisionSteps = 256;
// Beyond this, merging nested divisions could overflow the coefficients.
constexpr int64_t kMaxMergedDivisor = int64_t{1} << 31;

int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t wrap_neg(int64_t a) { return static_cast<int64_t>(-static_cast<uint64_t>(a)); }

int64_t floor_div_int(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return wrap_neg(a);
  const int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

int compare_atoms(const DimAtom& a, const DimAtom& b) {
  if (&a == &b) return 0;
  if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
  if (int c = a.name.compare(b.name); c != 0) return c;
  if (a.args.size() != b.args.size()) return a.args.size() < b.args.size() ? -1 : 1;
  for (size_t i = 0; i < a.args.size(); ++i) {
    if (int c = DimTerms::compare(a.args[i], b.args[i]); c != 0) return c;
  }
  return 0;
}

int compare_products(const DimProduct& a, const DimProduct& b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    if (int c = compare_atoms(*a[i], *b[i]); c != 0) return c;
  }
  return 0;
}

bool atom_less(const std::shared_ptr<const DimAtom>& a, const std::shared_ptr<const DimAtom>& b) {
  return compare_atoms(*a, *b) < 0;
}

// Stands for an expression that is too large to keep.
Dim opaque(std::string_view operation, const Dim& a, const Dim& b) {
  base::Hasher hasher;
  hasher.add(operation).add(std::string_view(a.text())).add(std::string_view(b.text()));
  return Dim::symbol("?x" + hasher.finish().hex());
}
bool is_too_large(const Dim& a, const Dim& b) {
  return DimTerms::weight_of(a) + DimTerms::weight_of(b) > kMaxWeight;
}

void add_term(Map& map, const DimProduct& product, int64_t coefficient) {
  auto [it, inserted] = map.try_emplace(product, coefficient);
  if (!inserted) it->second = wrap_add(it->second, coefficient);
  if (it->second == 0) map.erase(it);
}

DimProduct multiply(const DimProduct& a, const DimProduct& b) {
  DimProduct out;
  out.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out), atom_less);
  return out;
}

// a / b as multisets of atoms; none when b is not contained in a.
std::optional<DimProduct> divide(const DimProduct& a, const DimProduct& b) {
  DimProduct out;
  if (!std::includes(a.begin(), a.end(), b.begin(), b.end(), atom_less)) return std::nullopt;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out), atom_less);
  return out;
}

// q with q * b == a exactly, by long division on the leading terms.
std::optional<Dim> divide_exactly(const Dim& a, const Dim& b) {
  const Map divisor = DimTerms::of(b);
  if (divisor.empty()) return std::nullopt;
  const auto& [lead_product, lead_coefficient] = *divisor.rbegin();
  Map rest = DimTerms::of(a);
  Map quotient;
  for (int step = 0; !rest.empty(); ++step) {
    const auto [product, coefficient] = *rest.rbegin();
    const auto factor = divide(product, lead_product);
    if (step == kMaxDivisionSteps || !factor) return std::nullopt;
    if (lead_coefficient != -1 && coefficient % lead_coefficient != 0) return std::nullopt;
    const int64_t k = floor_div_int(coefficient, lead_coefficient);
    add_term(quotient, *factor, k);
    for (const auto& [p, c] : divisor) add_term(rest, multiply(p, *factor), wrap_neg(wrap_mul(c, k)));
  }
  return DimTerms::make(std::move(quotient));
}

Dim floor_div_by_constant(const Dim& a, int64_t c) {
  if (c == 1) return a;
  // Coefficients are reduced to [0, c): floor((c*q + r) / c) == q + floor(r / c).
  Map quotient, rest;
  for (const auto& [product, k] : DimTerms::of(a)) {
    const int64_t q = floor_div_int(k, c);
    if (q != 0) add_term(quotient, product, q);
    if (k != wrap_mul(q, c)) add_term(rest, product, wrap_add(k, wrap_neg(wrap_mul(q, c))));
  }
  Dim whole = DimTerms::make(std::move(quotient));
  const Dim r = DimTerms::make(rest);
  if (r.is_constant()) return whole;

  // floor((g*m + k) / (g*d)) == floor((m + floor(k/g)) / d)
  int64_t g = c;
  for (const auto& [product, k] : rest) {
    if (!product.empty()) g = std::gcd(g, k);
  }
  if (g > 1) {
    Map reduced;
    for (const auto& [product, k] : rest) {
      if (const int64_t q = floor_div_int(k, g); q != 0) add_term(reduced, product, q);
    }
    return whole + floor_div(DimTerms::make(std::move(reduced)), Dim(c / g));
  }
  // floor((y + floor(x / d)) / c) == floor((d*y + x) / (d*c)) for d > 0
  for (const auto& [product, k] : rest) {
    if (k != 1 || product.size() != 1 || product[0]->kind != Kind::kFloorDiv) continue;
    const auto d = product[0]->args[1].constant();
    if (!d || *d <= 0 || *d >= kMaxMergedDivisor || c >= kMaxMergedDivisor || *d * c >= kMaxMergedDivisor)
      continue;
    Map others = rest;
    others.erase(product);
    return whole + floor_div(Dim(*d) * DimTerms::make(std::move(others)) + product[0]->args[0], Dim(*d * c));
  }
  return whole + DimTerms::atom(Kind::kFloorDiv, {}, {r, Dim(c)});
}

// The common factor of all terms of both operands: gcd of the coefficients, intersection of the products.
std::pair<DimProduct, int64_t> common_factor(const Map& a, const Map& b) {
  DimProduct product = a.begin()->first;
  int64_t g = 0;
  for (const Map* map : {&a, &b}) {
    for (const auto& [p, k] : *map) {
      DimProduct both;
      std::set_intersection(product.begin(), product.end(), p.begin(), p.end(), std::back_inserter(both),
                            atom_less);
      product = std::move(both);
      // gcd of the most negative number is not representable; 1 is always a common factor.
      g = k == std::numeric_limits<int64_t>::min() ? 1 : std::gcd(g, k);
    }
  }
  return {std::move(product), g == 0 ? 1 : g};
}

Dim floor_div_by_symbols(const Dim& a, const Dim& b) {
  if (a.constant() == 0) return 0;
  if (auto q = divide_exactly(a, b)) return *q;
  const Map numerator = DimTerms::of(a), divisor = DimTerms::of(b);
  if (const auto [product, g] = common_factor(numerator, divisor); !product.empty() || g > 1) {
    auto reduce = [&product = product, g = g](const Map& map) {
      Map out;
      for (const auto& [p, k] : map) add_term(out, *divide(p, product), k / g);
      return DimTerms::make(std::move(out));
    };
    return floor_div(reduce(numerator), reduce(divisor));
  }
  if (divisor.size() == 1) {
    const auto& [product, c] = *divisor.begin();
    Map quotient, rest;
    for (const auto& [p, k] : numerator) {
      const auto factor = divide(p, product);
      const int64_t q = factor ? floor_div_int(k, c) : 0;
      if (q != 0) add_term(quotient, *factor, q);
      if (const int64_t r = wrap_add(k, wrap_neg(wrap_mul(q, c))); r != 0) add_term(rest, p, r);
    }
    if (!quotient.empty())
      return DimTerms::make(std::move(quotient)) + floor_div(DimTerms::make(std::move(rest)), b);
  }
  return DimTerms::atom(Kind::kFloorDiv, {}, {a, b});
}

// The only atom of a Dim that is exactly one atom of this kind.
const DimAtom* as_atom(const Dim& d, Kind kind) {
  const Map* map = DimTerms::get(d);
  if (!map || map->size() != 1) return nullptr;
  const auto& [product, k] = *map->begin();
  return k == 1 && product.size() == 1 && product[0]->kind == kind ? product[0].get() : nullptr;
}

Dim extremum(Kind kind, const Dim& a, const Dim& b) {
  // By value: the difference of far ends (INT64_MIN means "from the start") would wrap.
  if (a.is_constant() && b.is_constant()) return (a.value() < b.value()) == (kind == Kind::kMin) ? a : b;
  if (is_too_large(a, b)) return opaque(kind == Kind::kMin ? "min" : "max", std::min(a, b), std::max(a, b));
  const Kind opposite = kind == Kind::kMin ? Kind::kMax : Kind::kMin;
  std::vector<Dim> args;
  for (const Dim* d : {&a, &b}) {
    if (const DimAtom* same = as_atom(*d, kind)) {
      args.insert(args.end(), same->args.begin(), same->args.end());
    } else {
      args.push_back(*d);
    }
  }
  std::sort(args.begin(), args.end());
  args.erase(std::unique(args.begin(), args.end()), args.end());

  auto is_redundant = [&](const Dim& d) {
    for (const Dim& other : args) {
      if (other == d) continue;
      if (is_non_negative(kind == Kind::kMin ? d - other : other - d)) return true;
      // max(x, min(x, y)) == x and its mirror image
      if (const DimAtom* inner = as_atom(d, opposite)) {
        if (std::find(inner->args.begin(), inner->args.end(), other) != inner->args.end()) return true;
      }
    }
    return false;
  };
  std::vector<Dim> kept;
  for (const Dim& d : args) {
    if (!is_redundant(d)) kept.push_back(d);
  }
  if (kept.empty()) return args[0];
  if (kept.size() == 1) return kept[0];
  return DimTerms::atom(kind, {}, std::move(kept));
}

bool is_atom_non_negative(const DimAtom& atom) {
  switch (atom.kind) {
    case Kind::kSymbol:
      return true;
    case Kind::kMax:
      return std::any_of(atom.args.begin(), atom.args.end(), is_non_negative);
    case Kind::kFloorDiv:
    case Kind::kMin:
      return std::all_of(atom.args.begin(), atom.args.end(), is_non_negative);
  }
  return false;
}

bool has_only_non_negative_terms(const Map& map) {
  return std::all_of(map.begin(), map.end(), [](const auto& term) {
    return term.second >= 0 && std::all_of(term.first.begin(), term.first.end(),
                                           [](const auto& atom) { return is_atom_non_negative(*atom); });
  });
}

bool is_non_negative_within(const Dim& d, int depth) {
  const Map* map = DimTerms::get(d);
  if (!map) return d.value() >= 0;
  if (has_only_non_negative_terms(*map)) return true;
  if (depth == 0 || DimTerms::weight_of(d) > kMaxCaseWeight) return false;
  // A linear min or max is replaced by its arguments. Where the sum is smallest for the smallest argument
  // (+min, -max) all of them must do, and that decides; otherwise one that does is a lower bound.
  for (const bool all : {true, false}) {
    for (const auto& [product, k] : *map) {
      if (product.size() != 1) continue;
      const DimAtom& atom = *product[0];
      if (atom.kind != (all == (k > 0) ? Kind::kMin : Kind::kMax)) continue;
      Map others = *map;
      others.erase(product);
      const Dim rest = DimTerms::make(std::move(others));
      auto holds = [&, k = k](const Dim& arg) {
        return is_non_negative_within(rest + arg * Dim(k), depth - 1);
      };
      if (all) return std::all_of(atom.args.begin(), atom.args.end(), holds);
      if (std::any_of(atom.args.begin(), atom.args.end(), holds)) return true;
    }
  }
  return false;
}

Dim bind_atom(const std::shared_ptr<const DimAtom>& atom, const std::map<std::string, int64_t>& sizes) {
  switch (atom->kind) {
    case Kind::kSymbol: {
      const auto it = sizes.find(atom->name);
      return it == sizes.end() ? Dim::symbol(atom->name) : Dim(it->second);
    }
    case Kind::kFloorDiv:
      return floor_div(atom->args[0].bind(sizes), atom->args[1].bind(sizes));
    case Kind::kMin:
    case Kind::kMax:
      break;
  }
  Dim out = atom->args[0].bind(sizes);
  for (size_t i = 1; i < atom->args.size(); ++i) out = extremum(atom->kind, out, atom->args[i].bind(sizes));
  return out;
}

}  // namespace

bool DimProductLess::operator()(const DimProduct& a, const DimProduct& b) const {
  return compare_products(a, b) < 0;
}

Dim DimTerms::make(Map terms) {
  std::erase_if(terms, [](const auto& term) { return term.second == 0; });
  Dim out;
  if (terms.empty()) return out;
  if (terms.size() == 1 && terms.begin()->first.empty()) {
    out.constant_ = terms.begin()->second;
  } else {
    size_t weight = 0;
    for (const auto& [product, k] : terms) {
      ++weight;
      for (const auto& atom : product) weight += atom->weight;
    }
    out.terms_ = std::make_shared<const DimTerms>(DimTerms{std::move(terms), weight});
  }
  return out;
}

Map DimTerms::of(const Dim& d) {
  if (d.terms_) return d.terms_->terms;
  Map out;
  if (d.constant_ != 0) out.emplace(DimProduct{}, d.constant_);
  return out;
}

Dim DimTerms::atom(Kind kind, std::string name, std::vector<Dim> args) {
  size_t weight = 1;
  for (const Dim& arg : args) weight += weight_of(arg);
  Map map;
  map.emplace(
      DimProduct{std::make_shared<const DimAtom>(DimAtom{kind, std::move(name), std::move(args), weight})},
      1);
  return make(std::move(map));
}

int DimTerms::compare(const Dim& a, const Dim& b) {
  if (a.terms_ == b.terms_) return a.constant_ < b.constant_ ? -1 : a.constant_ > b.constant_ ? 1 : 0;
  if (!a.terms_ || !b.terms_) return a.terms_ ? 1 : -1;
  const Map &x = a.terms_->terms, &y = b.terms_->terms;
  if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
  for (auto i = x.begin(), j = y.begin(); i != x.end(); ++i, ++j) {
    if (int c = compare_products(i->first, j->first); c != 0) return c;
    if (i->second != j->second) return i->second < j->second ? -1 : 1;
  }
  return 0;
}

Dim::Dim(int64_t value) : constant_(value) {}
Dim Dim::symbol(std::string name) { return DimTerms::atom(Kind::kSymbol, std::move(name), {}); }

bool Dim::is_constant() const { return terms_ == nullptr; }
std::optional<int64_t> Dim::constant() const { return terms_ ? std::nullopt : std::optional(constant_); }
int64_t Dim::value() const { return constant_; }

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return wrap_add(a.constant_, b.constant_);
  if (is_too_large(a, b)) return opaque("+", a, b);
  Map map = DimTerms::of(a);
  for (const auto& [product, k] : DimTerms::of(b)) add_term(map, product, k);
  return DimTerms::make(std::move(map));
}

Dim operator-(const Dim& a, const Dim& b) { return a + b * Dim(-1); }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return wrap_mul(a.constant_, b.constant_);
  const Map x = DimTerms::of(a), y = DimTerms::of(b);
  if (!a.is_constant() && !b.is_constant() &&
      x.size() * DimTerms::weight_of(b) + y.size() * DimTerms::weight_of(a) > kMaxWeight) {
    return opaque("*", std::min(a, b), std::max(a, b));
  }
  Map map;
  for (const auto& [p, k] : x) {
    for (const auto& [q, m] : y) add_term(map, multiply(p, q), wrap_mul(k, m));
  }
  return DimTerms::make(std::move(map));
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (is_too_large(a, b)) return opaque("/", a, b);
  if (!b.is_constant()) return floor_div_by_symbols(a, b);
  const int64_t c = b.constant_;
  if (a.is_constant() || c == 0) return floor_div_int(a.is_constant() ? a.constant_ : 0, c);
  if (c == std::numeric_limits<int64_t>::min()) return DimTerms::atom(Kind::kFloorDiv, {}, {a, b});
  return c < 0 ? floor_div_by_constant(a * Dim(-1), -c) : floor_div_by_constant(a, c);
}

Dim ceil_div(const Dim& a, const Dim& b) {
  if (b.is_constant() && b.constant_ > 0) return floor_div(a + b - Dim(1), b);
  return floor_div(a * Dim(-1), b) * Dim(-1);
}

Dim mod(const Dim& a, const Dim& b) { return a - b * floor_div(a, b); }
Dim min(const Dim& a, const Dim& b) { return extremum(Kind::kMin, a, b); }
Dim max(const Dim& a, const Dim& b) { return extremum(Kind::kMax, a, b); }
bool operator==(const Dim& a, const Dim& b) { return DimTerms::compare(a, b) == 0; }
bool operator<(const Dim& a, const Dim& b) { return DimTerms::compare(a, b) < 0; }

Dim Dim::bind(const std::map<std::string, int64_t>& sizes) const {
  if (!terms_ || sizes.empty()) return *this;
  Dim sum;
  for (const auto& [product, k] : terms_->terms) {
    Dim term(k);
    for (const auto& atom : product) term = term * bind_atom(atom, sizes);
    sum = sum + term;
  }
  return sum;
}

void Dim::collect_symbols(std::vector<std::string>& out) const {
  if (!terms_) return;
  for (const auto& [product, k] : terms_->terms) {
    for (const auto& atom : product) {
      if (atom->kind == Kind::kSymbol && std::find(out.begin(), out.end(), atom->name) == out.end()) {
        out.push_back(atom->name);
      }
      for (const Dim& arg : atom->args) arg.collect_symbols(out);
    }
  }
}

bool is_non_negative(const Dim& d) { return is_non_negative_within(d, kMaxCaseDepth); }

std::optional<bool> decide_less(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return a.value() < b.value();
  const Dim difference = b - a;
  if (is_non_negative(difference - Dim(1))) return true;
  if (is_non_negative(Dim(0) - difference)) return false;
  return std::nullopt;
}

std::optional<bool> decide_equal(const Dim& a, const Dim& b) {
  if (a == b) return true;
  if (a.is_constant() && b.is_constant()) return false;
  if (is_non_negative(b - a - Dim(1)) || is_non_negative(a - b - Dim(1))) return false;
  return std::nullopt;
}

std::optional<std::vector<int64_t>> constant_shape(const Shape& shape) {
  std::vector<int64_t> out;
  for (const Dim& d : shape) {
    if (!d.is_constant()) return std::nullopt;
    out.push_back(d.value());
  }
  return out;
}

Dim element_count(const Shape& shape) {
  Dim out(1);
  for (const Dim& d : shape) out = out * d;
  return out;
}

}  // namespace frit::graph
