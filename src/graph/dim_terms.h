// The inside of Dim: atoms, products of atoms, and the sum of products. Shared by dim.cpp (arithmetic) and
// dim_text.cpp (printing and parsing); nothing else may look here.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/dim.h"

namespace frit::graph {

// One opaque factor.
struct DimAtom {
  enum class Kind {
    kSymbol,    // name
    kFloorDiv,  // args[0] / args[1], rounded down
    kMin,       // two or more args, sorted
    kMax,       // two or more args, sorted
  };
  Kind kind;
  std::string name;
  std::vector<Dim> args;
  size_t weight = 1;  // 1 + the weights of the args
};
using DimProduct = std::vector<std::shared_ptr<const DimAtom>>;  // sorted; empty for the constant term

// By degree, then by the first smaller atom: an order that multiplication preserves, so that it serves
// polynomial division too.
struct DimProductLess {
  bool operator()(const DimProduct& a, const DimProduct& b) const;
};

struct DimTerms {
  using Map = std::map<DimProduct, int64_t, DimProductLess>;
  Map terms;          // no zero coefficients; never only the empty product
  size_t weight = 0;  // terms plus the weights of their atoms: the size of the expression written out

  // The Dim of any map; zero coefficients are dropped.
  static Dim make(Map terms);
  // The terms of any Dim, a constant included.
  static Map of(const Dim& d);
  // None for a constant.
  static const Map* get(const Dim& d) { return d.terms_ ? &d.terms_->terms : nullptr; }
  static Dim atom(DimAtom::Kind kind, std::string name, std::vector<Dim> args);
  static size_t weight_of(const Dim& d) { return d.terms_ ? d.terms_->weight : 1; }
  static int compare(const Dim& a, const Dim& b);
};

}  // namespace frit::graph
