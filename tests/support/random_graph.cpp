#include "support/random_graph.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "base/half.h"
#include "graph/infer.h"

namespace frit::testing {
namespace {

using namespace graph;  // NOLINT: this file only speaks of graphs

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

void store_number(DType dtype, double value, std::byte* out) {
  auto put = [out](auto v) { std::memcpy(out, &v, sizeof v); };
  switch (dtype) {
    case DType::kF32:
      return put(static_cast<float>(value));
    case DType::kF64:
      return put(value);
    case DType::kF16:
      return put(base::double_to_f16(value));
    case DType::kBF16:
      return put(base::double_to_bf16(value));
    case DType::kBool:
      return put(static_cast<uint8_t>(value != 0));
    default:
      break;
  }
  // Little-endian two's complement of any width.
  const auto v = static_cast<int64_t>(value);
  std::memcpy(out, &v, dtype_bytes(dtype));
}

double special_number(Random& random) {
  const double values[] = {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(),
                           -0.0,
                           1.4e-45,
                           3e38,
                           -3e38};
  return values[random.below(7)];
}

std::vector<std::byte> random_bytes(DType dtype, int64_t count, Random& random, bool special) {
  std::vector<std::byte> bytes(static_cast<size_t>(count) * dtype_bytes(dtype));
  for (int64_t i = 0; i < count; ++i) {
    double v = 0;
    if (is_float(dtype)) {
      v = special && random.one_in(8) ? special_number(random) : 4 * random.unit() - 2;
    } else {
      v = static_cast<double>(dtype == DType::kBool ? random.below(2)
                                                    : random.between(is_signed_int(dtype) ? -3 : 0, 3));
    }
    store_number(dtype, v, bytes.data() + static_cast<size_t>(i) * dtype_bytes(dtype));
  }
  return bytes;
}

class Builder {
 public:
  Builder(uint64_t seed, const RandomGraphOptions& options) : random_(seed), options_(options) {}

  Graph run() {
    for (int64_t i = random_.between(1, 3); i > 0; --i) new_input();
    const std::vector<std::function<void()>> steps = make_steps();
    // A step may find nothing that fits; the bound only matters for options that exclude almost everything.
    for (int tries = 0; static_cast<int>(g_.nodes.size()) < options_.nodes && tries < options_.nodes * 50;
         ++tries) {
      random_.pick(steps)();
      if (random_.one_in(8)) new_input();
    }
    const auto uses = collect_uses(g_);
    for (const Node& node : g_.nodes) {
      for (ValueId id : node.outputs) {
        if (uses[static_cast<size_t>(id)].empty() || random_.one_in(10)) g_.outputs.push_back(id);
      }
    }
    if (g_.outputs.empty()) g_.outputs.push_back(g_.inputs[0]);
    compact(g_);
    return std::move(g_);
  }

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
  void unary() {
    static constexpr UnaryOp kTame[] = {UnaryOp::kNeg,     UnaryOp::kAbs,   UnaryOp::kSign, UnaryOp::kFloor,
                                        UnaryOp::kCeil,    UnaryOp::kRound, UnaryOp::kErf,  UnaryOp::kTanh,
                                        UnaryOp::kSigmoid, UnaryOp::kSin,   UnaryOp::kCos,  UnaryOp::kAtan,
                                        UnaryOp::kRelu,    UnaryOp::kRelu};
    static constexpr UnaryOp kWild[] = {UnaryOp::kSqrt, UnaryOp::kRecip, UnaryOp::kExp,   UnaryOp::kLog,
                                        UnaryOp::kTan,  UnaryOp::kAsin,  UnaryOp::kAcos,  UnaryOp::kSinh,
                                        UnaryOp::kCosh, UnaryOp::kAsinh, UnaryOp::kAcosh, UnaryOp::kAtanh};
    const ValueId x = pick_float();
    if (x == kNoValue) return;
    if (!options_.tame && random_.one_in(2)) {
      put(Unary{kWild[random_.below(std::size(kWild))]}, {x});
    } else if (random_.one_in(5)) {  // exp where it cannot overflow
      const ValueId negative = put_one(Unary{UnaryOp::kNeg}, {put_one(Unary{UnaryOp::kAbs}, {x})});
      put(Unary{UnaryOp::kExp}, {negative});
    } else {
      put(Unary{kTame[random_.below(std::size(kTame))]}, {x});
    }
  }
  void binary() {
    static constexpr BinaryOp kOps[] = {BinaryOp::kAdd, BinaryOp::kAdd, BinaryOp::kSub, BinaryOp::kMul,
                                        BinaryOp::kMul, BinaryOp::kMin, BinaryOp::kMax};
    const ValueId x = pick_numeric();
    if (x == kNoValue) return;
    Ids inputs{x, partner(x)};
    if (random_.one_in(3)) std::swap(inputs[0], inputs[1]);
    put(Binary{kOps[random_.below(std::size(kOps))]}, inputs);
  }
  void divide() {
    const ValueId x = pick_numeric();
    if (x == kNoValue) return;
    if (!options_.tame && is_float(type(x).dtype)) {
      put(Binary{random_.one_in(2) ? BinaryOp::kDiv : BinaryOp::kPow}, {x, partner(x)});
      return;
    }
    static constexpr BinaryOp kOps[] = {BinaryOp::kDiv, BinaryOp::kModFloor, BinaryOp::kModTrunc};
    const double divisor = static_cast<double>(random_.between(1, 3)) + (is_float(type(x).dtype) ? 0.5 : 0);
    put(Binary{kOps[is_float(type(x).dtype) ? 0 : random_.below(3)]}, {x, number(type(x).dtype, divisor)});
  }
  void compare_and_select() {
    const ValueId x = pick_numeric();
    if (x == kNoValue || !options_.integers) return;
    const ValueId y = partner(x);
    static constexpr BinaryOp kOps[] = {BinaryOp::kEq, BinaryOp::kNe, BinaryOp::kLt,
                                        BinaryOp::kLe, BinaryOp::kGt, BinaryOp::kGe};
    const ValueId condition = put_one(Binary{kOps[random_.below(std::size(kOps))]}, {x, y});
    if (condition == kNoValue) return;
    if (random_.one_in(3)) {
      const ValueId other = pick_if([&](const TensorType& t) { return t.dtype == DType::kBool; });
      put(Binary{random_.pick(std::vector<BinaryOp>{BinaryOp::kAnd, BinaryOp::kOr, BinaryOp::kXor})},
          {condition, other});
    }
    if (random_.one_in(4)) put(Unary{UnaryOp::kNot}, {condition});
    put(Select{}, {condition, x, y});
  }
  void bit_ops() {
    const ValueId x =
        pick_if([](const TensorType& t) { return !is_float(t.dtype) && t.dtype != DType::kBool; });
    if (x == kNoValue) return;
    static constexpr BinaryOp kOps[] = {BinaryOp::kBitAnd, BinaryOp::kBitOr, BinaryOp::kBitXor};
    if (random_.one_in(3)) {
      put(Unary{UnaryOp::kBitNot}, {x});
    } else if (random_.one_in(3)) {
      put(Binary{random_.one_in(2) ? BinaryOp::kShl : BinaryOp::kShr},
          {x, number(type(x).dtype, static_cast<double>(random_.below(4)))});
    } else {
      put(Binary{kOps[random_.below(std::size(kOps))]}, {x, partner(x)});
    }
  }
  void cast() {
    const ValueId x = pick_any();
    if (x == kNoValue) return;
    const DType from = type(x).dtype;
    const DType to = random_.one_in(2)   ? any_float()
                     : random_.one_in(5) ? DType::kBool
                     : random_.one_in(2) ? DType::kI64
                                         : DType::kI32;
    // Floats may be too large for an integer; bound them first.
    if (is_float(from) && !is_float(to) && to != DType::kBool) {
      put(Cast{to}, {put_one(Clip{}, {x, number(from, -100), number(from, 100)})});
    } else {
      put(Cast{to}, {x});
    }
  }
  void reduce() {
    const ValueId x = pick_numeric(1);
    if (x == kNoValue) return;
    std::vector<int64_t> axes;
    for (int64_t k = 0; k < static_cast<int64_t>(rank(x)); ++k) {
      if (random_.one_in(2)) axes.push_back(k);
    }
    if (axes.empty()) axes.push_back(axis_of(x));
    auto op = static_cast<ReduceOp>(random_.below(options_.tame || !is_float(type(x).dtype) ? 4 : 5));
    if (op == ReduceOp::kMean && !is_float(type(x).dtype))
      op = ReduceOp::kSum;  // of no integers it is undefined
    put(Reduce{op, axes, random_.one_in(2)}, {x});
  }
  // An axis that is certainly not empty, so that an index exists; -1 if there is none.
  int64_t filled_axis(ValueId x) {
    const int64_t axis = axis_of(x);
    return dim_of(x, axis).constant().value_or(0) > 0 ? axis : -1;
  }
  void arg_reduce() {
    const ValueId x = pick_numeric(1);
    if (x == kNoValue) return;
    const int64_t axis = filled_axis(x);
    if (axis < 0) return;
    if (random_.one_in(3)) {
      const int64_t k = random_.between(1, dim_of(x, axis).value());
      put(TopK{axis, random_.one_in(2), true}, {x, ints({k})}, {TensorType{}, TensorType{}});
    } else {
      put(ArgReduce{random_.one_in(2), axis, random_.one_in(2), random_.one_in(2)}, {x});
    }
  }
  void cumsum() {
    const ValueId x = pick_numeric(1);
    if (x != kNoValue) put(CumSum{axis_of(x), random_.one_in(2), random_.one_in(2)}, {x});
  }
  void matmul() {
    const ValueId x = pick_float(2);
    if (x == kNoValue) return;
    const Dim& k = dim_of(x, static_cast<int64_t>(rank(x)) - 1);
    if (!k.is_constant()) return;
    Shape s{k, random_.between(1, options_.max_dim)};
    if (random_.one_in(3) && rank(x) > 2 && dim_of(x, static_cast<int64_t>(rank(x)) - 3).is_constant()) {
      s.insert(s.begin(), dim_of(x, static_cast<int64_t>(rank(x)) - 3));
    }
    const ValueId w = constant(type(x).dtype, s);
    if (options_.composites && random_.one_in(3)) {
      const bool transpose = random_.one_in(2) && s.size() == 2;
      const ValueId weight = transpose ? constant(type(x).dtype, {s[1], s[0]}) : w;
      put(Gemm{0.5f, random_.one_in(2) ? 1.f : 0.25f, false, transpose},
          {x, weight, random_.one_in(2) ? kNoValue : constant(type(x).dtype, {s.back()})});
    } else {
      put(MatMul{}, {x, w});
    }
  }
  void conv() {
    const ValueId x = pick_float(3);
    if (x == kNoValue) return;
    const size_t spatial = rank(x) - 2;
    const auto channels = dim_of(x, 1).constant();
    if (!channels || *channels == 0) return;
    const int64_t groups = random_.one_in(3) ? *channels : 1;
    std::vector<int64_t> strides, dilations, pads(2 * spatial), kernel;
    for (size_t k = 0; k < spatial; ++k) {
      strides.push_back(random_.between(1, 2));
      dilations.push_back(random_.one_in(4) ? 2 : 1);
      kernel.push_back(random_.between(1, 3));
      pads[k] = random_.between(0, 1);
      pads[k + spatial] = random_.between(0, 1);
    }
    const int64_t what = random_.below(4);
    if (what == 0) {
      // A window of padding alone would make the maximum -inf, and the average of nothing.
      for (size_t k = 0; k < spatial; ++k) {
        kernel[k] = std::max(kernel[k], std::max(pads[k], pads[k + spatial]) + 1);
        dilations[k] = 1;
      }
      put(Pool{random_.one_in(2) ? PoolOp::kMax : PoolOp::kAvg, kernel, strides, pads, dilations,
               random_.one_in(3), random_.one_in(2)},
          {x});
      return;
    }
    const bool transposed = what == 1;
    const int64_t out_channels = groups * random_.between(1, 3);
    Shape w = transposed ? Shape{*channels, out_channels / groups} : Shape{out_channels, *channels / groups};
    w.insert(w.end(), kernel.begin(), kernel.end());
    Ids inputs{x, constant(type(x).dtype, w)};
    if (random_.one_in(2)) inputs.push_back(constant(type(x).dtype, {out_channels}));
    if (transposed) {
      put(ConvTranspose{strides, pads, dilations, std::vector<int64_t>(spatial, 0), groups}, inputs);
    } else {
      put(Conv{strides, pads, dilations, groups}, inputs);
    }
  }
  void lstm() {
    const ValueId x = pick_float(3);
    if (x == kNoValue || rank(x) != 3 || !dim_of(x, 2).is_constant()) return;
    const bool both = random_.one_in(3);
    const int64_t hidden = random_.between(1, 3), directions = both ? 2 : 1;
    const DType t = type(x).dtype;
    Ids inputs{x, constant(t, {directions, 4 * hidden, dim_of(x, 2)}),
               constant(t, {directions, 4 * hidden, hidden})};
    if (random_.one_in(2)) inputs.push_back(constant(t, {directions, 8 * hidden}));
    const Direction direction = both                ? Direction::kBidirectional
                                : random_.one_in(2) ? Direction::kForward
                                                    : Direction::kReverse;
    put(Lstm{hidden, direction, false, 0}, inputs,
        std::vector<TensorType>(static_cast<size_t>(random_.between(1, 3))));
  }
  void reshape() {
    const ValueId x = pick_any();
    if (x == kNoValue) return;
    const auto dims = constant_shape(type(x).shape);
    std::vector<int64_t> wanted;
    if (dims && random_.one_in(2)) {
      // Factors of the element count in another order.
      wanted = *dims;
      for (size_t k = wanted.size(); k > 1; --k)
        std::swap(wanted[k - 1], wanted[static_cast<size_t>(random_.below(static_cast<int64_t>(k)))]);
      if (wanted.size() >= 2 && random_.one_in(2)) {
        wanted[0] *= wanted[1];
        wanted.erase(wanted.begin() + 1);
      }
      if (random_.one_in(2))
        wanted.insert(wanted.begin() + random_.below(static_cast<int64_t>(wanted.size()) + 1), 1);
    } else {
      for (size_t k = 0; k < rank(x) && random_.one_in(2); ++k) wanted.push_back(0);
      wanted.push_back(-1);
    }
    put(Reshape{std::find(wanted.begin(), wanted.end(), -1) == wanted.end()}, {x, ints(wanted)});
  }
  void transpose() {
    const ValueId x = pick_ranked(2);
    if (x == kNoValue) return;
    std::vector<int64_t> perm(rank(x));
    std::iota(perm.begin(), perm.end(), 0);
    for (size_t k = perm.size(); k > 1; --k)
      std::swap(perm[k - 1], perm[static_cast<size_t>(random_.below(static_cast<int64_t>(k)))]);
    put(Transpose{perm}, {x});
  }
  void slice() {
    const ValueId x = pick_ranked(1);
    if (x == kNoValue) return;
    if (options_.dynamic && random_.one_in(3)) {
      put(DynamicSlice{}, {x, ints({random_.between(-4, 4)}), ints({random_.between(-4, 9)}),
                           ints({axis_of(x)}), ints({random_.one_in(3) ? -1 : random_.between(1, 2)})});
      return;
    }
    Slice op;
    Shape out = type(x).shape;
    for (Dim& d : out) {
      op.starts.emplace_back(0);
      op.steps.push_back(1);
      if (!d.is_constant() || d.value() == 0 || random_.one_in(2)) continue;
      const int64_t size = d.value(), start = random_.below(size);
      const bool backwards = random_.one_in(3);
      const int64_t step = random_.between(1, 2), room = backwards ? start : size - 1 - start;
      op.starts.back() = start;
      op.steps.back() = backwards ? -step : step;
      d = random_.between(options_.empty && random_.one_in(20) ? 0 : 1, room / step + 1);
    }
    const DType t = type(x).dtype;
    put(std::move(op), {x}, {TensorType{t, std::move(out), {}}});
  }
  void concat() {
    const ValueId x = pick_ranked(1);
    if (x == kNoValue) return;
    const int64_t axis = axis_of(x);
    Ids inputs{x};
    for (int64_t i = random_.between(0, 2); i > 0; --i) {
      const ValueId same = pick_if([&](const TensorType& t) {
        if (t.dtype != type(x).dtype || t.shape.size() != rank(x)) return false;
        for (size_t k = 0; k < t.shape.size(); ++k) {
          if (static_cast<int64_t>(k) != axis && t.shape[k] != type(x).shape[k]) return false;
        }
        return true;
      });
      inputs.push_back(same);
    }
    put(Concat{axis}, inputs);
  }
  void pad() {
    const ValueId x = pick_ranked(1);
    if (x == kNoValue) return;
    const auto mode = static_cast<PadMode>(random_.one_in(2) ? 0 : random_.below(4));
    std::vector<int64_t> before(rank(x), 0), after(rank(x), 0);
    for (size_t k = 0; k < rank(x); ++k) {
      // Symbolic axes may turn out too small for anything but constants.
      if (mode != PadMode::kConstant && !type(x).shape[k].is_constant()) continue;
      before[k] = random_.between(
          mode == PadMode::kConstant && type(x).shape[k].constant().value_or(0) > 1 ? -1 : 0, 2);
      after[k] = random_.between(0, 2);
    }
    const ValueId value =
        mode == PadMode::kConstant && random_.one_in(2) ? constant(type(x).dtype, {}) : kNoValue;
    if (options_.dynamic && random_.one_in(3)) {
      std::vector<int64_t> both = before;
      both.insert(both.end(), after.begin(), after.end());
      put(DynamicPad{mode}, {x, ints(both), value});
    } else {
      put(Pad{mode, before, after}, {x, value});
    }
  }
  void expand_or_tile() {
    const ValueId x = pick_any();
    if (x == kNoValue) return;
    if (random_.one_in(2) && rank(x) > 0) {
      std::vector<int64_t> repeats;
      for (size_t k = 0; k < rank(x); ++k) repeats.push_back(random_.between(1, 2));
      put(Tile{}, {x, ints(repeats)});
      return;
    }
    std::vector<int64_t> wanted(static_cast<size_t>(random_.below(2)), random_.between(1, 3));
    for (const Dim& d : type(x).shape) wanted.push_back(d == Dim(1) ? random_.between(1, 3) : 1);
    put(Expand{}, {x, ints(wanted)});
  }
  void gather() {
    const ValueId x = pick_ranked(1);
    if (x == kNoValue) return;
    const int64_t axis = filled_axis(x);
    if (axis < 0) return;
    const int64_t size = dim_of(x, axis).value();
    auto indices = [&](const Shape& s) {
      int64_t count = 1;
      for (const Dim& d : s) count *= d.value();
      std::vector<int64_t> values;
      for (int64_t i = 0; i < count; ++i) values.push_back(random_.between(-size, size - 1));
      return g_.add_constant({DType::kI64, s, {}}, make_constant_of(values));
    };
    const auto dims = constant_shape(type(x).shape);
    if (!dims || random_.one_in(2)) {
      put(Gather{axis}, {x, indices(random_.one_in(3) ? Shape{} : Shape{random_.between(0, 4)})});
      return;
    }
    Shape part;
    for (int64_t d : *dims) part.emplace_back(d == 0 ? 0 : random_.between(1, d));
    switch (random_.below(3)) {
      case 0:
        put(GatherElements{axis}, {x, indices(part)});
        break;
      case 1: {
        // Different indices, so that the order of writing does not matter.
        std::vector<int64_t> values;
        int64_t inner = 1, count = element_count(part).value();
        for (size_t k = static_cast<size_t>(axis) + 1; k < part.size(); ++k) inner *= part[k].value();
        for (int64_t i = 0; i < count; ++i)
          values.push_back(i / std::max<int64_t>(inner, 1) % part[static_cast<size_t>(axis)].value());
        const ValueId where = g_.add_constant({DType::kI64, part, {}}, make_constant_of(values));
        const auto reduction =
            type(x).dtype == DType::kBool ? ScatterOp::kNone : static_cast<ScatterOp>(random_.below(5));
        put(ScatterElements{axis, reduction}, {x, where, constant(type(x).dtype, part)});
        break;
      }
      default: {
        if ((*dims)[0] == 0) return;
        const ValueId where = g_.add_constant({DType::kI64, {1, 1}, {}},
                                              make_constant_of<int64_t>({random_.below((*dims)[0])}));
        Shape updates = type(x).shape;
        updates[0] = 1;
        if (random_.one_in(2)) {
          put(ScatterND{ScatterOp::kNone}, {x, where, constant(type(x).dtype, updates)});
        } else {
          put(GatherND{0}, {x, where});
        }
      }
    }
  }
  void resize() {
    const ValueId x =
        pick_if([](const TensorType& t) { return t.dtype == DType::kF32 && t.shape.size() == 4; });
    if (x == kNoValue) return;
    Resize op{random_.one_in(2) ? ResizeMode::kNearest : ResizeMode::kLinear,
              ResizeCoord::kHalfPixel,
              ResizeNearest::kRoundPreferFloor,
              -0.75f,
              false,
              false,
              {}};
    if (random_.one_in(2))
      op.coord = random_.one_in(2) ? ResizeCoord::kAsymmetric : ResizeCoord::kAlignCorners;
    if (random_.one_in(2)) op.nearest = ResizeNearest::kFloor;
    if (dim_of(x, 2) == Dim(0) || dim_of(x, 3) == Dim(0)) return;
    if (random_.one_in(2)) {
      op.by_scales = true;
      put(op, {x, g_.add_constant({DType::kF32, {4}, {}},
                                  make_constant_of<float>({1, 1, 2, random_.one_in(2) ? 2.f : 1.f}))});
    } else if (dim_of(x, 0).is_constant() && dim_of(x, 1).is_constant()) {
      put(op, {x, ints({dim_of(x, 0).value(), dim_of(x, 1).value(), random_.between(1, 6),
                        random_.between(1, 6)})});
    }
  }
  void generate() {
    const ValueId x = pick_any();
    if (x == kNoValue) return;
    const int64_t what = random_.below(4);
    if (what == 0) {
      put(Range{}, {int_scalar(random_.between(-3, 3)), int_scalar(random_.between(-3, 6)),
                    int_scalar(random_.one_in(3) ? -1 : random_.between(1, 2))});
    } else if (what == 1 && rank(x) > 0 && constant_shape(type(x).shape)) {
      put(Iota{axis_of(x)}, {}, {TensorType{DType::kI64, type(x).shape, {}}});
    } else if (what == 2) {
      put(ShapeOf{0, static_cast<int64_t>(rank(x))}, {x});
    } else if (what == 3) {
      const ValueId dims = put_one(ShapeOf{0, static_cast<int64_t>(rank(x))}, {x});
      if (dims != kNoValue) put(Fill{0x3f800000}, {dims}, {TensorType{DType::kF32, {}, {}}});
    }
  }
  // Reshape as exporters write it: the batch from ShapeOf, the rest inferred.
  void computed_reshape() {
    const ValueId x = pick_ranked(2);
    if (x == kNoValue || type(x).shape[0] == Dim(0)) return;
    const ValueId dims = put_one(ShapeOf{0, static_cast<int64_t>(rank(x))}, {x});
    const ValueId batch = put_one(Gather{0}, {dims, ints({0})});
    if (batch == kNoValue) return;
    const ValueId target = put_one(Concat{0}, {batch, ints({-1})});
    put(Reshape{}, {x, target});
  }
  void composite() {
    const ValueId x = pick_float();
    if (x == kNoValue) return;
    const DType t = type(x).dtype;
    switch (random_.below(9)) {
      case 0:
        put(Gelu{random_.one_in(2)}, {x});
        break;
      case 1:
        put(HardSigmoid{0.2f, 0.5f}, {x});
        break;
      case 2:
        put(HardSwish{}, {x});
        break;
      case 3:
        put(LeakyRelu{0.1f}, {x});
        break;
      case 4:
        put(Clip{},
            {x, random_.one_in(2) ? kNoValue : number(t, -1), random_.one_in(2) ? kNoValue : number(t, 1.5)});
        break;
      case 5:
        if (rank(x) > 0) put(Softmax{axis_of(x), random_.one_in(3)}, {x});
        break;
      case 6: {
        if (rank(x) == 0) break;
        const int64_t axis = static_cast<int64_t>(rank(x)) - 1;
        if (!dim_of(x, axis).is_constant()) break;
        const ValueId scale = constant(t, {dim_of(x, axis)});
        const ValueId bias = random_.one_in(2) ? kNoValue : constant(t, {dim_of(x, axis)});
        put(LayerNorm{axis, 1e-2f}, {x, scale, bias});
        break;
      }
      case 7: {
        if (rank(x) < 2 || !dim_of(x, 1).is_constant()) break;
        const Shape channels{dim_of(x, 1)};
        std::vector<std::byte> variance = random_bytes(t, channels[0].value(), random_, false);
        for (int64_t i = 0; i < channels[0].value(); ++i) {
          store_number(t, 0.25 + random_.unit(), variance.data() + static_cast<size_t>(i) * dtype_bytes(t));
        }
        put(BatchNorm{1e-3f}, {x, constant(t, channels), constant(t, channels), constant(t, channels),
                               g_.add_constant({t, channels, {}}, make_constant(std::move(variance)))});
        break;
      }
      default:
        if (rank(x) > 0)
          put(Split{axis_of(x)}, {x}, std::vector<TensorType>(static_cast<size_t>(random_.between(1, 2))));
    }
  }
  void nonzero() {
    const ValueId x = pick_ranked(1);
    // Its result has a size that depends on data; nothing else may use it.
    if (x == kNoValue) return;
    auto id = add_inferred(g_, NonZero{}, {x});
    (void)id.ok();
  }

  std::vector<std::function<void()>> make_steps() {
    std::vector<std::function<void()>> steps;
    auto add = [&](int weight, void (Builder::*step)()) {
      for (int i = 0; i < weight; ++i) steps.emplace_back([this, step] { (this->*step)(); });
    };
    add(5, &Builder::unary);
    add(6, &Builder::binary);
    add(1, &Builder::divide);
    add(2, &Builder::reduce);
    add(1, &Builder::cumsum);
    add(2, &Builder::transpose);
    add(2, &Builder::slice);
    add(1, &Builder::concat);
    add(1, &Builder::pad);
    add(1, &Builder::expand_or_tile);
    add(2, &Builder::reshape);
    add(1, &Builder::resize);
    if (options_.contractions) {
      add(3, &Builder::matmul);
      add(3, &Builder::conv);
      add(1, &Builder::lstm);
    }
    if (options_.composites) add(4, &Builder::composite);
    if (options_.integers) {
      add(1, &Builder::compare_and_select);
      add(1, &Builder::bit_ops);
      add(1, &Builder::cast);
      add(1, &Builder::arg_reduce);
      add(2, &Builder::gather);
    }
    if (options_.integers && options_.dynamic) {
      add(1, &Builder::generate);
      add(1, &Builder::computed_reshape);
      add(1, &Builder::nonzero);
    }
    return steps;
  }

  Random random_;
  const RandomGraphOptions& options_;
  Graph g_;
  Ids pool_;
};

}  // namespace

Graph random_graph(uint64_t seed, const RandomGraphOptions& options) { return Builder(seed, options).run(); }

std::map<std::string, int64_t> random_sizes(const Graph& graph, uint64_t seed) {
  Random random(seed);
  std::vector<std::string> names;
  for (ValueId id : graph.inputs) {
    for (const Dim& d : graph.value(id).type.shape) d.collect_symbols(names);
  }
  std::map<std::string, int64_t> sizes;
  for (const std::string& name : names) sizes[name] = random.between(1, 7);
  return sizes;
}

HostTensor random_tensor(const TensorType& type, uint64_t seed, bool special) {
  Random random(seed);
  Extents shape;
  int64_t count = 1;
  for (const Dim& d : type.shape) {
    shape.push_back(d.value());
    count *= d.value();
  }
  auto bytes = std::make_shared<std::vector<std::byte>>(random_bytes(type.dtype, count, random, special));
  return HostTensor::view(type.dtype, std::move(shape), bytes->data(), bytes);
}

std::vector<HostTensor> random_inputs(const Graph& graph, uint64_t seed, bool special) {
  std::vector<HostTensor> out;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    out.push_back(random_tensor(graph.value(graph.inputs[i]).type, seed * 1000003 + i, special));
  }
  return out;
}

}  // namespace frit::testing
