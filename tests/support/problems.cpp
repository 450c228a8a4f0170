#include "support/problems.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "graph/infer.h"
#include "support/random_graph.h"

namespace frit::testing {
namespace {

using graph::Graph;
using graph::Op;
using graph::Shape;
using graph::TensorType;
using graph::ValueId;
using Extents = std::vector<int64_t>;

// NaN and infinities in one or two places.
void sprinkle(float* values, int64_t n, std::mt19937_64& random) {
  const float specials[] = {NAN, INFINITY, -INFINITY};
  for (uint64_t k = 1 + random() % 2; k > 0 && n > 0; --k)
    values[random() % static_cast<uint64_t>(n)] = specials[random() % 3];
}

class Maker {
 public:
  explicit Maker(uint64_t seed) : special_(is_special(seed)), random_(seed) {}

  int64_t pick(std::initializer_list<int64_t> values) {
    return *(values.begin() + static_cast<long>(random_() % values.size()));
  }
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  DType dtype(std::initializer_list<DType> values) {
    return *(values.begin() + static_cast<long>(random_() % values.size()));
  }
  bool chance(int one_in) { return random_() % static_cast<uint64_t>(one_in) == 0; }

  static Shape shape(const Extents& e) { return Shape(e.begin(), e.end()); }
  ValueId input(const Extents& e, DType t = DType::kF32) { return g.add_input({t, shape(e), {}}); }
  ValueId constant(const Extents& e, DType t = DType::kF32, int64_t low = 0, int64_t high = 0) {
    int64_t n = 1;
    for (int64_t d : e) n *= d;
    if (t == DType::kI64) {
      std::vector<int64_t> values;
      for (int64_t i = 0; i < n; ++i) values.push_back(between(low, high));
      return g.add_constant({t, shape(e), {}}, graph::make_constant_of(values));
    }
    std::vector<float> values;
    for (int64_t i = 0; i < n; ++i)
      values.push_back(static_cast<float>(static_cast<int64_t>(random_() % 2001) - 1000) / 700.0f);
    if (special_ && chance(2)) sprinkle(values.data(), n, random_);
    return g.add_constant({t, shape(e), {}}, graph::make_constant_of(values));
  }
  ValueId maybe_constant(const Extents& e) { return chance(2) ? constant(e) : input(e); }
  ValueId add(Op op, std::vector<ValueId> inputs) {
    const graph::NodeId id = static_cast<graph::NodeId>(g.nodes.size());
    graph::Node node{std::move(op), std::move(inputs), {graph::kNoValue}, {}, {}, false};
    auto types = graph::infer_types(g, node);
    if (!types.ok()) {  // a bug of the test
      std::fprintf(stderr, "%s\n", types.error().text().c_str());
      std::abort();
    }
    g.add_node(node.op, node.inputs, *types);
    return g.node(id).outputs[0];
  }
  ValueId reshape(ValueId x, const Extents& e) {
    return g.add(graph::Reshape{}, {x}, {g.value(x).type.dtype, shape(e), {}});
  }
  ValueId scalar(float v) {
    return g.add_constant({DType::kF32, {}, {}}, graph::make_constant_of(std::vector<float>{v}));
  }
  Extents dims(ValueId v) { return *graph::constant_shape(g.value(v).type.shape); }

  // An input, now and then as a view: transposed, or every other row of a larger one.
  ValueId source(const Extents& e, DType t = DType::kF32) {
    if (e.empty() || !chance(4)) return input(e, t);
    Extents from = e;
    if (chance(2)) {
      std::vector<int64_t> perm;
      for (size_t i = 0; i < e.size(); ++i) perm.push_back(static_cast<int64_t>(i));
      std::shuffle(perm.begin(), perm.end(), random_);
      for (size_t i = 0; i < e.size(); ++i) from[static_cast<size_t>(perm[i])] = e[i];
      return add(graph::Transpose{perm}, {input(from, t)});
    }
    const auto axis = static_cast<size_t>(between(0, static_cast<int64_t>(e.size()) - 1));
    graph::Slice s;
    s.starts.assign(e.size(), 0);
    s.steps.assign(e.size(), 1);
    s.starts[axis] = between(0, 2);
    s.steps[axis] = between(1, 2);
    from[axis] = 2 + e[axis] * s.steps[axis] + between(0, 1);
    return g.add(s, {input(from, t)}, {t, shape(e), {}});
  }
  // A value that another kernel computes: its memory may be computed in place.
  ValueId inner(Extents e) {
    e.insert(e.begin(), 2);
    return add(graph::Reduce{graph::ReduceOp::kMax, {0}, false}, {input(e)});
  }
  // A few pointwise ops after a value: activation, bias along an axis, residual.
  ValueId epilogue(ValueId x, int64_t channel_axis) {
    const Extents e = dims(x);
    for (int64_t n = between(0, 3); n > 0; --n) {
      switch (random_() % 6) {
        case 0:
          x = add(graph::Unary{graph::UnaryOp::kRelu}, {x});
          break;
        case 1:
          x = add(graph::Binary{graph::BinaryOp::kAdd}, {x, chance(2) ? inner(e) : maybe_constant(e)});
          break;
        case 2: {
          Extents b(e.size(), 1);
          b[static_cast<size_t>(channel_axis)] = e[static_cast<size_t>(channel_axis)];
          x = add(graph::Binary{graph::BinaryOp::kMul}, {x, maybe_constant(b)});
          break;
        }
        case 3:
          x = add(graph::Binary{graph::BinaryOp::kMul},
                  {x, add(graph::Unary{graph::UnaryOp::kSigmoid}, {x})});
          break;
        case 4:
          x = add(graph::Binary{graph::BinaryOp::kMin}, {x, scalar(1.5f)});
          break;
        default:
          x = add(graph::Unary{graph::UnaryOp::kTanh}, {x});
          break;
      }
    }
    return x;
  }
  Graph finish(std::vector<ValueId> outputs) {
    g.outputs = std::move(outputs);
    g.output_names.resize(g.outputs.size());
    graph::compact(g);
    return std::move(g);
  }

  Graph g;
  const bool special_;
  std::mt19937_64 random_;
};

Graph matmul(uint64_t seed) {
  Maker m(seed);
  const int64_t rows = m.pick({0, 1, 1, 2, 3, 5, 7, 13, 16, 31, 64}),
                n = m.pick({0, 1, 3, 8, 15, 16, 17, 33, 48, 64, 100, 131});
  // Long ones are cut into blocks of k.
  const int64_t k = m.chance(6) ? m.pick({513, 600, 1031}) : m.pick({0, 1, 2, 3, 5, 16, 17, 37, 64, 150});
  Extents batch;
  for (int64_t i = m.between(0, 2); i > 0; --i) batch.push_back(m.pick({1, 2, 3}));
  Extents a = batch, b = m.chance(2) ? Extents{} : batch;
  if (!b.empty() && m.chance(3)) b[0] = 1;
  if (!a.empty() && !b.empty() && m.chance(4)) a[0] = 1;
  const bool transpose_b = m.chance(3), transpose_a = m.chance(4);
  auto matrix = [&](Extents lead, int64_t r, int64_t c, bool transposed, bool constant) {
    if (transposed) std::swap(r, c);
    lead.push_back(r);
    lead.push_back(c);
    ValueId v = constant ? m.constant(lead) : m.input(lead);
    if (!transposed) return v;
    std::vector<int64_t> perm;
    for (size_t i = 0; i < lead.size(); ++i) perm.push_back(static_cast<int64_t>(i));
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return m.add(graph::Transpose{perm}, {v});
  };
  if (m.chance(8) && k > 0) {  // both operands are parts of one input, as queries and keys are
    Extents both = batch;
    both.insert(both.end(), {rows, 2 * k});
    ValueId source = m.add(graph::Transpose{[&] {
                             std::vector<int64_t> perm;
                             for (size_t i = 0; i < both.size(); ++i) perm.push_back(static_cast<int64_t>(i));
                             return perm;
                           }()},
                           {m.input(both)});
    auto part = [&](int64_t from) {
      graph::Slice s;
      s.starts.assign(both.size(), 0);
      s.steps.assign(both.size(), 1);
      s.starts.back() = from;
      Extents out = both;
      out.back() = k;
      return m.g.add(s, {source}, {DType::kF32, Maker::shape(out), {}});
    };
    ValueId left = part(0), right = part(k);
    std::vector<int64_t> perm;
    for (size_t i = 0; i < both.size(); ++i) perm.push_back(static_cast<int64_t>(i));
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return m.finish({m.epilogue(m.add(graph::MatMul{}, {left, m.add(graph::Transpose{perm}, {right})}),
                                static_cast<int64_t>(both.size()) - 1)});
  }
  ValueId x = matrix(a, rows, k, transpose_a, false), w = matrix(b, k, n, transpose_b, m.chance(2));
  ValueId y = m.add(graph::MatMul{}, {x, w});
  y = m.epilogue(y, static_cast<int64_t>(m.dims(y).size()) - 1);
  if (m.chance(4)) {  // split into heads and move them, as attention does
    Extents e = m.dims(y);
    if (e.back() % 2 == 0) {
      Extents split(e.begin(), e.end() - 1);
      split.push_back(2);
      split.push_back(e.back() / 2);
      y = m.reshape(y, split);
      std::vector<int64_t> perm;
      for (size_t i = 0; i < split.size(); ++i) perm.push_back(static_cast<int64_t>(i));
      std::swap(perm[perm.size() - 2], perm[perm.size() - 3]);
      y = m.add(graph::Transpose{perm}, {y});
    }
  }
  return m.finish({y});
}

Graph conv_of(Maker& m, bool depthwise) {
  const int64_t rank = m.pick({1, 2, 2, 2, 3});
  const bool wide = !depthwise && m.chance(20);  // enough input channels for blocks of k
  const int64_t groups = depthwise ? m.pick({2, 5, 16, 19, 33}) : wide ? 1 : m.pick({1, 1, 1, 2, 3});
  const int64_t ic = depthwise ? 1
                     : wide    ? 523
                               : m.pick({1, 2, 3, 7, 16, 20}),
                oc = depthwise ? 1 : m.pick({1, 2, 5, 16, 17, 40});
  Extents x{m.pick({1, 1, 2}), ic * groups}, w{oc * groups, ic};
  graph::Conv op;
  op.groups = groups;
  std::vector<int64_t> before, after;
  for (int64_t k = 0; k < rank; ++k) {
    const int64_t kernel = wide ? 1 : m.pick({1, 1, 2, 3, 3, 5}), dilation = m.pick({1, 1, 1, 2, 3, 6}),
                  reach = (kernel - 1) * dilation + 1;
    const int64_t lo = m.between(0, reach / 2 + 1), hi = m.between(0, reach / 2 + 1);
    const int64_t size = std::max<int64_t>(m.pick(rank == 3 ? std::initializer_list<int64_t>{1, 3, 5}
                                                            : std::initializer_list<int64_t>{1, 4, 7, 9, 14}),
                                           reach - lo - hi);
    x.push_back(std::max<int64_t>(size, 1));
    w.push_back(kernel);
    op.strides.push_back(m.pick({1, 1, 2, 3}));
    op.dilations.push_back(dilation);
    before.push_back(lo);
    after.push_back(hi);
  }
  op.pads = before;
  op.pads.insert(op.pads.end(), after.begin(), after.end());
  ValueId in = m.source(x);
  if (m.chance(2))
    in = m.add(graph::Unary{graph::UnaryOp::kNeg}, {in});  // an inner value: it may be channels-last
  std::vector<ValueId> inputs{in, m.maybe_constant(w)};
  if (m.chance(2)) inputs.push_back(m.maybe_constant({oc * groups}));
  ValueId y = m.epilogue(m.add(op, inputs), 1);
  if (m.chance(2)) y = m.add(graph::Unary{graph::UnaryOp::kAbs}, {m.reshape(y, m.dims(y))});
  return m.finish({y});
}
Graph conv(uint64_t seed) {
  Maker m(seed);
  return conv_of(m, false);
}
Graph depthwise(uint64_t seed) {
  Maker m(seed);
  return conv_of(m, true);
}

Graph pool(uint64_t seed) {
  Maker m(seed);
  const int64_t rank = m.pick({1, 2, 2, 3});
  graph::Pool op;
  op.op = is_special(seed) || m.chance(2) ? graph::PoolOp::kMax : graph::PoolOp::kAvg;
  op.count_include_pad = op.op == graph::PoolOp::kAvg && m.chance(2);
  op.ceil_mode = !op.count_include_pad && m.chance(3);
  Extents x{m.pick({1, 2}), m.pick({1, 3, 16, 21, 40})};
  std::vector<int64_t> after;
  for (int64_t k = 0; k < rank; ++k) {
    const int64_t kernel = m.pick({1, 2, 3, 5}),
                  dilation = op.op == graph::PoolOp::kMax ? m.pick({1, 1, 2}) : 1;
    op.kernel.push_back(kernel);
    op.dilations.push_back(dilation);
    op.strides.push_back(m.pick({1, 2, 3}));
    op.pads.push_back(m.between(0, kernel / 2));
    after.push_back(m.between(0, kernel / 2));
    x.push_back(std::max<int64_t>(m.pick({1, 4, 7, 10}), (kernel - 1) * dilation + 1));
  }
  op.pads.insert(op.pads.end(), after.begin(), after.end());
  const DType t = op.op == graph::PoolOp::kMax && m.chance(3)
                      ? m.dtype({DType::kI8, DType::kU8, DType::kI32, DType::kF64})
                      : DType::kF32;
  ValueId in = m.source(x, t);
  if (t != DType::kF32) return m.finish({m.add(op, {in})});
  if (m.chance(2)) in = m.add(graph::Unary{graph::UnaryOp::kNeg}, {in});
  return m.finish({m.epilogue(m.add(op, {in}), 1)});
}

Extents small_shape(Maker& m, int64_t rank, bool empty = true) {
  Extents e;
  for (int64_t k = 0; k < rank; ++k)
    e.push_back(empty && m.chance(40) ? 0 : m.pick({1, 2, 3, 5, 7, 16, 19, 33}));
  return e;
}

Graph reduce(uint64_t seed) {
  Maker m(seed);
  const int64_t rank = m.between(1, 4);
  const Extents e = small_shape(m, rank);
  const DType t =
      m.chance(4) ? m.dtype({DType::kI32, DType::kI64, DType::kU8, DType::kI16, DType::kF64}) : DType::kF32;
  ValueId x = m.source(e, t);
  if (!is_special(seed) && m.chance(3)) x = m.add(graph::Binary{graph::BinaryOp::kMul}, {x, x});
  graph::Reduce op;
  op.op = is_special(seed) ? (m.chance(2) ? graph::ReduceOp::kMax : graph::ReduceOp::kMin)
                           : static_cast<graph::ReduceOp>(m.between(0, 4));
  op.keepdims = m.chance(2);
  for (int64_t a = 0; a < rank; ++a)
    if (m.chance(2)) op.axes.push_back(a);
  if (op.axes.empty()) op.axes.push_back(m.between(0, rank - 1));
  if (!is_float(t) && op.op == graph::ReduceOp::kMean) op.op = graph::ReduceOp::kSum;
  ValueId y = m.add(op, {x});
  if (t == DType::kF32 && m.chance(2)) y = m.add(graph::Unary{graph::UnaryOp::kSigmoid}, {y});
  return m.finish({y});
}

ValueId reduce_last(Maker& m, graph::ReduceOp op, ValueId x, const std::vector<int64_t>& axes) {
  return m.add(graph::Reduce{op, axes, true}, {x});
}

Graph normalize(uint64_t seed) {
  Maker m(seed);
  const int64_t rank = m.between(1, 4);
  const Extents e = small_shape(m, rank, false);
  std::vector<int64_t> axes{m.chance(3) ? m.between(0, rank - 1) : rank - 1};
  if (axes[0] + 1 < rank && m.chance(2)) axes.push_back(axes[0] + 1);
  ValueId x = m.source(e);
  if (m.chance(3)) x = m.add(graph::Binary{graph::BinaryOp::kAdd}, {x, m.input(e)});
  using B = graph::BinaryOp;
  ValueId y;
  if (m.chance(2)) {  // softmax
    ValueId d = m.add(graph::Binary{B::kSub}, {x, reduce_last(m, graph::ReduceOp::kMax, x, axes)});
    ValueId p = m.add(graph::Unary{graph::UnaryOp::kExp}, {d});
    y = m.add(graph::Binary{B::kDiv}, {p, reduce_last(m, graph::ReduceOp::kSum, p, axes)});
  } else {  // layer norm
    ValueId d = m.add(graph::Binary{B::kSub}, {x, reduce_last(m, graph::ReduceOp::kMean, x, axes)});
    ValueId v = reduce_last(m, graph::ReduceOp::kMean, m.add(graph::Binary{B::kMul}, {d, d}), axes);
    ValueId s =
        m.add(graph::Unary{graph::UnaryOp::kSqrt}, {m.add(graph::Binary{B::kAdd}, {v, m.scalar(1e-5f)})});
    y = m.add(graph::Binary{B::kDiv}, {d, s});
    if (m.chance(2)) y = m.add(graph::Binary{B::kMul}, {y, m.maybe_constant({e.back()})});
  }
  return m.finish({y});
}

Graph pointwise(uint64_t seed) {
  Maker m(seed);
  const int64_t rank = m.between(0, 4);
  const Extents e = small_shape(m, rank);
  auto operand = [&] {
    Extents b = e;
    for (int64_t& d : b)
      if (m.chance(4)) d = 1;
    while (!b.empty() && m.chance(4)) b.erase(b.begin());
    return m.maybe_constant(b);
  };
  ValueId x = m.source(e);
  std::vector<ValueId> outputs;
  for (int64_t n = m.between(1, 5); n > 0; --n) {
    switch (m.between(0, 7)) {
      case 0:
        x = m.add(graph::Binary{graph::BinaryOp::kAdd}, {x, operand()});
        break;
      case 1:
        x = m.add(graph::Binary{graph::BinaryOp::kMul}, {x, operand()});
        break;
      case 2:
        x = m.add(graph::Binary{graph::BinaryOp::kMax}, {x, operand()});
        break;
      case 3:
        x = m.add(graph::Select{},
                  {m.add(graph::Binary{graph::BinaryOp::kLt}, {x, operand()}), x, operand()});
        break;
      case 4:
        x = m.add(graph::Unary{graph::UnaryOp::kTanh}, {x});
        break;
      case 5:
        x = m.add(graph::Unary{graph::UnaryOp::kErf}, {x});
        break;
      case 6:
        x = m.add(graph::Cast{DType::kF32}, {m.add(graph::Unary{graph::UnaryOp::kIsNan}, {x})});
        break;
      default:
        x = m.add(graph::Unary{graph::UnaryOp::kSigmoid}, {x});
        break;
    }
    if (m.chance(5)) outputs.push_back(x);
  }
  outputs.push_back(x);
  std::sort(outputs.begin(), outputs.end());
  outputs.erase(std::unique(outputs.begin(), outputs.end()), outputs.end());
  return m.finish(outputs);
}

Graph movement(uint64_t seed) {
  Maker m(seed);
  const int64_t rank = m.between(1, 4);
  Extents e = small_shape(m, rank, false);
  const DType t =
      m.chance(3) ? m.dtype({DType::kI64, DType::kU8, DType::kF16, DType::kF64, DType::kI16}) : DType::kF32;
  ValueId x = m.input(e, t);
  for (int64_t n = m.between(1, 3); n > 0; --n) {
    const auto axis = static_cast<size_t>(m.between(0, static_cast<int64_t>(e.size()) - 1));
    switch (m.between(0, 7)) {
      case 6: {
        if (e[axis] < 4) break;
        Extents at = e;
        at[axis] = m.pick({1, 5, 17});
        x = m.add(graph::GatherElements{static_cast<int64_t>(axis)}, {x, m.input(at, DType::kI64)});
        break;
      }
      case 0: {
        std::vector<int64_t> perm;
        for (size_t i = 0; i < e.size(); ++i) perm.push_back(static_cast<int64_t>(i));
        std::shuffle(perm.begin(), perm.end(), m.random_);
        x = m.add(graph::Transpose{perm}, {x});
        break;
      }
      case 1: {
        Extents flat{1};
        for (int64_t d : e) flat[0] *= d;
        x = m.reshape(x, m.chance(2) || flat[0] % 2 ? flat : Extents{2, flat[0] / 2});
        break;
      }
      case 2: {
        graph::Slice s;
        Extents out = e;
        s.starts.assign(e.size(), 0);
        s.steps.assign(e.size(), 1);
        const bool back = m.chance(3);
        s.steps[axis] = back ? -1 : m.pick({1, 2});
        s.starts[axis] = back ? e[axis] - 1 : e[axis] / 3;
        out[axis] = back ? e[axis] : std::max<int64_t>(1, (e[axis] - e[axis] / 3) / s.steps[axis]);
        x = m.g.add(s, {x}, {t, Maker::shape(out), {}});
        break;
      }
      case 3: {
        Extents other = e;
        other[axis] = m.pick({1, 3, 16});
        x = m.add(graph::Concat{static_cast<int64_t>(axis)},
                  m.chance(2) ? std::vector<ValueId>{x, m.input(other, t)}
                              : std::vector<ValueId>{m.input(other, t), x, m.input(e, t)});
        break;
      }
      case 4: {
        graph::Pad p;
        p.mode = m.chance(2) ? graph::PadMode::kConstant : graph::PadMode::kEdge;
        p.before.assign(e.size(), 0);
        p.after.assign(e.size(), 0);
        p.before[axis] = m.between(0, 3);
        p.after[axis] = m.between(0, 3);
        x = m.add(p, {x});
        break;
      }
      case 5: {
        const Extents indices = m.chance(2) ? Extents{m.pick({1, 3, 20})} : Extents{2, 3};
        // Random inputs of integers are from -3 to 3.
        const ValueId where = e[axis] >= 4 && m.chance(2)
                                  ? m.input(indices, m.dtype({DType::kI64, DType::kI32}))
                                  : m.constant(indices, DType::kI64, -e[axis], e[axis] - 1);
        x = m.add(graph::Gather{static_cast<int64_t>(axis)}, {x, where});
        break;
      }
      default:
        x = t == DType::kF32 ? m.add(graph::Unary{graph::UnaryOp::kAbs}, {x})
                             : m.add(graph::Binary{graph::BinaryOp::kAdd}, {x, x});
        break;
    }
    e = m.dims(x);
  }
  if (t == DType::kF32 && m.chance(2)) x = m.add(graph::Unary{graph::UnaryOp::kNeg}, {x});
  return m.finish({x});
}

// Every element type that memory may hold, ragged: those without a masked move on the target too.
Graph types(uint64_t seed) {
  Maker m(seed);
  const Extents e = small_shape(m, m.between(1, 3));
  const auto kAll = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8,
                     DType::kU8,  DType::kI16, DType::kU16, DType::kI32,  DType::kU32,
                     DType::kI64, DType::kU64, DType::kBool};
  std::vector<ValueId> outputs;
  ValueId condition = graph::kNoValue;
  for (int64_t n = m.between(1, 3); n > 0; --n) {
    const DType t = m.dtype(kAll);
    auto operand = [&] {
      Extents b = e;
      for (int64_t& d : b)
        if (m.chance(5)) d = 1;
      return m.input(b, t);
    };
    ValueId x = m.input(e, t);
    const DType to = m.dtype(kAll);
    // Infinities and NaN as integers are nobody's promise.
    if (m.chance(3) && (is_float(to) || !is_float(t) || !is_special(seed))) {
      outputs.push_back(m.add(graph::Cast{to}, {x}));
    } else if (t == DType::kBool) {
      condition =
          m.add(graph::Binary{m.chance(2) ? graph::BinaryOp::kXor : graph::BinaryOp::kAnd}, {x, operand()});
      outputs.push_back(condition);
    } else if (condition != graph::kNoValue) {
      outputs.push_back(m.add(graph::Select{}, {condition, x, operand()}));
    } else if (m.chance(3)) {
      condition =
          m.add(graph::Binary{m.chance(2) ? graph::BinaryOp::kLt : graph::BinaryOp::kEq}, {x, operand()});
      outputs.push_back(condition);
    } else {
      using B = graph::BinaryOp;
      const B ops[] = {B::kAdd, B::kSub, B::kMul, B::kMin, B::kMax};
      outputs.push_back(m.add(graph::Binary{ops[m.between(0, 4)]}, {x, operand()}));
    }
  }
  return m.finish(outputs);
}

}  // namespace

const std::vector<ProblemKind>& problem_kinds() {
  static const std::vector<ProblemKind> kinds = {
      {1, "Matmul", "matmul", false, true, matmul},
      {2, "Conv", "", false, true, conv},
      {3, "Depthwise", "depthwise", false, true, depthwise},
      {4, "Pool", "pool", true, false, pool},
      {5, "Reduce", "", true, false, reduce},
      {6, "Normalize", "normalize", false, false, normalize},
      {7, "Pointwise", "", true, false, pointwise},
      {8, "Movement", "", true, false, movement},
      {9, "Types", "", true, false, types},
  };
  return kinds;
}

std::vector<graph::HostTensor> problem_inputs(const Graph& graph, uint64_t seed, const ProblemKind& kind) {
  const bool special = is_special(seed);
  auto inputs = random_inputs(graph, seed, special && kind.special);
  if (!special || kind.special) return inputs;
  std::mt19937_64 random(seed + 1);
  for (graph::HostTensor& t : inputs) {
    if (t.dtype() == DType::kF32 && random() % 2 == 0)
      sprinkle(reinterpret_cast<float*>(t.mutable_bytes()), t.elements(), random);
  }
  return inputs;
}

}  // namespace frit::testing
