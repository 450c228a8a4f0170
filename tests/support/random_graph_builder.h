// The inside of random_graph(): one step per method, each of which adds a node or none. Private to
// tests/support.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <random>
#include <vector>

#include "graph/infer.h"
#include "support/random_graph.h"

namespace frit::testing {

using namespace graph;  // NOLINT: these files only speak of graphs

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // [0, n); plain arithmetic, because the standard distributions differ between libraries.
  int64_t below(int64_t n) { return static_cast<int64_t>(engine_() % static_cast<uint64_t>(n)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool one_in(int64_t n) { return below(n) == 0; }
  double unit() { return static_cast<double>(engine_() >> 11) / 9007199254740992.0; }
  template <class T>
  const T& pick(const std::vector<T>& items) {
    return items[static_cast<size_t>(below(static_cast<int64_t>(items.size())))];
  }

 private:
  std::mt19937_64 engine_;
};

void store_number(DType dtype, double value, std::byte* out);
std::vector<std::byte> random_bytes(DType dtype, int64_t count, Random& random, bool special);

class Builder {
 public:
  Builder(uint64_t seed, const RandomGraphOptions& options) : random_(seed), options_(options) {}

  Graph run();

 private:
  using Ids = std::vector<ValueId>;

  // ---- values ----
  Dim dim() {
    if (options_.symbols && random_.one_in(4)) return Dim::symbol(random_.one_in(2) ? "n" : "m");
    if (options_.empty && random_.one_in(40)) return 0;
    return random_.one_in(5) ? 1 : random_.between(1, options_.max_dim);
  }
  Shape shape(size_t rank) {
    Shape out;
    for (size_t k = 0; k < rank; ++k) out.push_back(dim());
    return out;
  }
  size_t any_rank() { return static_cast<size_t>(random_.between(0, 4)); }
  DType any_float() { return random_.pick(options_.floats); }
  DType any_int() {
    return random_.pick(
        std::vector<DType>{DType::kI64, DType::kI64, DType::kI32, DType::kI8, DType::kU8, DType::kI16});
  }
  void new_input() {
    const DType dtype = !options_.integers || !random_.one_in(4) ? any_float()
                        : random_.one_in(4)                      ? DType::kBool
                                                                 : any_int();
    keep(g_.add_input({dtype, shape(any_rank()), {}}));
  }
  ValueId constant(DType dtype, Shape s) {
    int64_t count = 1;
    for (const Dim& d : s) count *= d.value();
    return g_.add_constant({dtype, std::move(s), {}},
                           make_constant(random_bytes(dtype, count, random_, false)));
  }
  ValueId ints(const std::vector<int64_t>& values) {
    return g_.add_constant({DType::kI64, {static_cast<int64_t>(values.size())}, {}},
                           make_constant_of(values));
  }
  ValueId int_scalar(int64_t v) {
    return g_.add_constant({DType::kI64, {}, {}}, make_constant_of<int64_t>({v}));
  }
  ValueId number(DType dtype, double v) {
    std::vector<std::byte> bytes(dtype_bytes(dtype));
    store_number(dtype, v, bytes.data());
    return g_.add_constant({dtype, {}, {}}, make_constant(std::move(bytes)));
  }
  void keep(ValueId id) {
    const auto count = element_count(g_.value(id).type.shape).constant();
    // Shapes must stay small, whatever is tiled and concatenated.
    if (!count || *count <= 4096) pool_.push_back(id);
  }

  const TensorType& type(ValueId id) const { return g_.value(id).type; }
  size_t rank(ValueId id) const { return type(id).shape.size(); }
  const Dim& dim_of(ValueId id, int64_t axis) const { return type(id).shape[static_cast<size_t>(axis)]; }

  // A value that the predicate accepts, newer ones more often; kNoValue if there is none.
  template <class F>
  ValueId pick_if(F&& accept) {
    Ids fit;
    for (ValueId id : pool_) {
      if (accept(type(id))) fit.push_back(id);
    }
    if (fit.empty()) return kNoValue;
    const auto n = static_cast<int64_t>(fit.size());
    return fit[static_cast<size_t>(std::max(random_.below(n), random_.below(n)))];
  }
  ValueId pick_any() {
    return pick_if([](const TensorType&) { return true; });
  }
  ValueId pick_float(size_t min_rank = 0) {
    return pick_if([&](const TensorType& t) { return is_float(t.dtype) && t.shape.size() >= min_rank; });
  }
  ValueId pick_numeric(size_t min_rank = 0) {
    return pick_if(
        [&](const TensorType& t) { return t.dtype != DType::kBool && t.shape.size() >= min_rank; });
  }
  ValueId pick_ranked(size_t min_rank) {
    return pick_if([&](const TensorType& t) { return t.shape.size() >= min_rank; });
  }
  // x-shaped but for some axes of size 1 and some leading axes left out: broadcasts to x's shape. A constant
  // where it can.
  ValueId partner(ValueId x) {
    if (random_.one_in(3)) {
      const ValueId other = pick_if([&](const TensorType& t) {
        return t.dtype == type(x).dtype &&
               (t.shape == type(x).shape || t.shape.empty() || t.shape == Shape{1});
      });
      if (other != kNoValue) return other;
    }
    Shape s = type(x).shape;
    s.erase(s.begin(), s.begin() + random_.below(static_cast<int64_t>(s.size()) + 1) * random_.below(2));
    for (Dim& d : s) {
      if (!d.is_constant() || random_.one_in(4)) d = 1;
    }
    return constant(type(x).dtype, std::move(s));
  }
  int64_t axis_of(ValueId x) { return random_.below(static_cast<int64_t>(rank(x))); }

  // Adds the node if the shape rules take it and its results stay small.
  bool put(Op op, Ids inputs, std::vector<TensorType> declared = {TensorType{}}) {
    const bool missing = std::any_of(inputs.begin(), inputs.end(), [](ValueId id) { return id < kNoValue; });
    if (missing) return false;
    const size_t values_before = g_.values.size();
    auto id = add_inferred(g_, std::move(op), std::move(inputs), std::move(declared));
    if (!id.ok()) return false;
    for (ValueId out : g_.node(*id).outputs) {
      if (options_.empty || element_count(type(out).shape) != Dim(0)) continue;
      g_.nodes.pop_back();
      g_.values.resize(values_before);
      return false;
    }
    for (ValueId out : g_.node(*id).outputs) keep(out);
    return true;
  }
  ValueId put_one(Op op, Ids inputs, TensorType declared = {}) {
    const size_t before = g_.nodes.size();
    if (!put(std::move(op), std::move(inputs), {std::move(declared)})) return kNoValue;
    return g_.nodes[before].outputs[0];
  }

  // ---- steps ----
  void unary();
  void binary();
  void divide();
  void compare_and_select();
  void bit_ops();
  void cast();
  void reduce();
  int64_t filled_axis(ValueId x);
  void arg_reduce();
  void cumsum();
  void matmul();
  void conv();
  void lstm();
  void reshape();
  void transpose();
  void slice();
  void concat();
  void pad();
  void expand_or_tile();
  void gather();
  void resize();
  void generate();
  void computed_reshape();
  void composite();
  void nonzero();
  std::vector<std::function<void()>> make_steps();

  Random random_;
  const RandomGraphOptions& options_;
  Graph g_;
  Ids pool_;
};

}  // namespace frit::testing
