// The block product under matmul and convolution: rows of a times rows of b, packed so that the inner loop is
// dense.
//
// Floats are multiplied and summed in double, in the order of k; integers in uint64_t, whose wrap-around is
// that of any narrower type. Small tasks (one block of the result each, packed by the task itself) keep this
// simple, cache-friendly and parallel without shared state.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "graph/eval/element.h"

namespace frit::graph::eval {

inline constexpr int64_t kTile = 4;  // a tile of 4 x 4 sums lives in registers

// Rows and columns of the result per task: as many as keep a packed operand within about 2 MiB.
inline int64_t block_extent(int64_t depth) {
  const int64_t fit = (int64_t{1} << 18) / std::max<int64_t>(depth, 1) / kTile * kTile;
  return std::clamp<int64_t>(fit, kTile, 128);
}

template <class C>
using ProductType = std::conditional_t<std::is_same_v<C, double>, double, uint64_t>;

// Rows of `depth` numbers, stored as groups of kTile rows with k outermost inside; missing rows of the last
// group are 0.
template <class C>
class Panels {
 public:
  Panels(int64_t rows, int64_t depth)
      : rows_(rows), depth_(depth), data_(static_cast<size_t>((rows + kTile - 1) / kTile * kTile * depth)) {}
  int64_t rows() const { return rows_; }
  int64_t depth() const { return depth_; }
  C& at(int64_t row, int64_t k) {
    return data_[static_cast<size_t>((row / kTile * depth_ + k) * kTile + row % kTile)];
  }
  const C* group(int64_t first_row) const { return data_.data() + static_cast<size_t>(first_row * depth_); }

  // Row `row` = `depth` consecutive elements of the tensor from `start`.
  void set_row(int64_t row, const HostTensor& tensor, int64_t start) {
    line_.resize(static_cast<size_t>(depth_));
    load(tensor, start, depth_, line_.data());
    for (int64_t k = 0; k < depth_; ++k) at(row, k) = line_[static_cast<size_t>(k)];
  }
  // Number k of all rows = consecutive elements of the tensor from `start`.
  void set_column(int64_t k, const HostTensor& tensor, int64_t start) {
    line_.resize(static_cast<size_t>(rows_));
    load(tensor, start, rows_, line_.data());
    for (int64_t row = 0; row < rows_; ++row) at(row, k) = line_[static_cast<size_t>(row)];
  }

 private:
  int64_t rows_, depth_;
  std::vector<C> data_;
  std::vector<C> line_;
};

// out[i * b.rows() + j] = sum over k of a(i, k) * b(j, k). Both have the same depth.
void multiply(const Panels<double>& a, const Panels<double>& b, std::vector<double>& out);
void multiply(const Panels<uint64_t>& a, const Panels<uint64_t>& b, std::vector<uint64_t>& out);

}  // namespace frit::graph::eval
