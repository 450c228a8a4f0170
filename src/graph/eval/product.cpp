#include "graph/eval/product.h"

namespace frit::graph::eval {
namespace {

// Sixteen sums that the compiler keeps in registers and computes two at a time.
template <class C>
void multiply_tile(const C* a, const C* b, int64_t depth, C (&sums)[kTile][kTile]) {
  C acc[kTile][kTile] = {};
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t i = 0; i < kTile; ++i) {
      for (int64_t j = 0; j < kTile; ++j) acc[i][j] += a[k * kTile + i] * b[k * kTile + j];
    }
  }
  for (int64_t i = 0; i < kTile; ++i) {
    for (int64_t j = 0; j < kTile; ++j) sums[i][j] = acc[i][j];
  }
}

template <class C>
void multiply_panels(const Panels<C>& a, const Panels<C>& b, std::vector<C>& out) {
  out.resize(static_cast<size_t>(a.rows() * b.rows()));
  for (int64_t j0 = 0; j0 < b.rows(); j0 += kTile) {
    for (int64_t i0 = 0; i0 < a.rows(); i0 += kTile) {
      C sums[kTile][kTile];
      multiply_tile(a.group(i0), b.group(j0), a.depth(), sums);
      for (int64_t i = i0; i < std::min(i0 + kTile, a.rows()); ++i) {
        for (int64_t j = j0; j < std::min(j0 + kTile, b.rows()); ++j) {
          out[static_cast<size_t>(i * b.rows() + j)] = sums[i - i0][j - j0];
        }
      }
    }
  }
}

}  // namespace

void multiply(const Panels<double>& a, const Panels<double>& b, std::vector<double>& out) {
  multiply_panels(a, b, out);
}
void multiply(const Panels<uint64_t>& a, const Panels<uint64_t>& b, std::vector<uint64_t>& out) {
  multiply_panels(a, b, out);
}

}  // namespace frit::graph::eval
