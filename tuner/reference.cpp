#include "tuner/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/random.h"
#include "base/text.h"
#include "base/try.h"
#include "graph/eval.h"

namespace frit::tuner {

using graph::Extents;
using graph::HostTensor;
using graph::Points;

namespace {

constexpr int64_t kRandomPoints = 1000;
constexpr int64_t kLastTile = 1024;  // elements: what a register tile or a grain has at most
constexpr int64_t kLastTileInner = 64;
constexpr int64_t kEdgePoints = 512;

int64_t product(const Extents& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, [](int64_t a, int64_t b) { return a * b; });
}

// Stride in memory of each logical axis.
Extents stored_strides(const Extents& shape, const graph::Layout& layout) {
  Extents out(shape.size(), 1);
  int64_t step = 1;
  for (size_t k = shape.size(); k-- > 0;) {
    const size_t axis = layout.is_plain() ? k : static_cast<size_t>(layout.order[k]);
    out[axis] = step;
    step *= shape[axis];
  }
  return out;
}

int64_t flatten(const Extents& at, const Extents& shape) {
  int64_t out = 0;
  for (size_t k = 0; k < shape.size(); ++k) out = out * shape[k] + at[k];
  return out;
}

void tidy(std::vector<int64_t>& points) {
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
}

void add_corners(const Extents& shape, std::vector<int64_t>& out) {
  for (uint32_t corner = 0; corner < (1u << std::min<size_t>(shape.size(), 6)); ++corner) {
    Extents at;
    for (size_t k = 0; k < shape.size(); ++k) at.push_back((corner >> k & 1) != 0 ? shape[k] - 1 : 0);
    out.push_back(flatten(at, shape));
  }
}

// The last box of about a tile's size that is widest along the last axis of `order`.
void add_last_box(const Extents& shape, const std::vector<size_t>& order, std::vector<int64_t>& out) {
  Extents first(shape.size(), 0);
  int64_t left = kLastTile;
  for (size_t k = order.size(); k-- > 0;) {
    const size_t axis = order[k];
    const int64_t most = k + 1 == order.size() ? std::min(left, kLastTileInner) : left;
    const int64_t count = std::min(shape[axis], std::max<int64_t>(most, 1));
    first[axis] = shape[axis] - count;
    left /= count;
  }
  Extents at = first;
  for (;;) {
    out.push_back(flatten(at, shape));
    size_t k = shape.size();
    while (k > 0 && ++at[k - 1] == shape[k - 1]) {
      at[k - 1] = first[k - 1];
      --k;
    }
    if (k == 0) break;
  }
}

// The last elements as they lie in memory, and the last boxes along the axes and along memory: whatever shape
// a tile has, its last one lies in one of them.
void add_last_tile(const Extents& shape, const graph::Layout& layout, std::vector<int64_t>& out) {
  const Extents strides = stored_strides(shape, layout);
  std::vector<size_t> order(shape.size());  // outermost first
  std::iota(order.begin(), order.end(), size_t{0});
  add_last_box(shape, order, out);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  if (!layout.is_plain()) add_last_box(shape, order, out);
  const int64_t n = product(shape);
  for (int64_t i = std::max<int64_t>(0, n - kLastTile); i < n; ++i) {
    Extents at(shape.size(), 0);
    int64_t rest = i;
    for (size_t k = order.size(); k-- > 0;) {
      at[order[k]] = rest % shape[order[k]];
      rest /= shape[order[k]];
    }
    out.push_back(flatten(at, shape));
  }
}

void add_random(const Extents& shape, int64_t count, uint64_t seed, std::vector<int64_t>& out) {
  const auto n = static_cast<uint64_t>(product(shape));
  for (int64_t i = 0; i < count; ++i)
    out.push_back(static_cast<int64_t>(base::random_bits(seed, static_cast<uint64_t>(i)) % n));
}

std::vector<int64_t> every_other(const std::vector<int64_t>& points) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < points.size(); i += 2) out.push_back(points[i]);
  return out;
}

double largest(const HostTensor& values) {
  double scale = 1e-30;
  for (int64_t i = 0; i < values.elements(); ++i)
    if (const double v = std::fabs(values.as_double(i)); std::isfinite(v)) scale = std::max(scale, v);
  return scale;
}

bool is_rounded(const graph::Graph& g) {
  for (const auto& node : g.nodes)
    if (const auto* cast = std::get_if<graph::Cast>(&node.op);
        cast && !is_float(cast->to) && is_float(g.value(node.inputs[0]).type.dtype))
      return true;
  return false;
}

}  // namespace

int64_t stored_offset(const Extents& shape, const graph::Layout& layout, int64_t index) {
  if (layout.is_plain()) return index;
  const Extents strides = stored_strides(shape, layout);
  int64_t out = 0;
  for (size_t k = shape.size(); k-- > 0;) {
    out += index % shape[k] * strides[k];
    index /= shape[k];
  }
  return out;
}

Result<HostTensor> to_row_major(const HostTensor& stored, const graph::Layout& layout) {
  if (layout.is_plain()) return stored;
  FRIT_ASSIGN(HostTensor out, HostTensor::allocate(stored.dtype(), stored.shape()));
  const size_t rank = stored.shape().size(), bytes = dtype_bytes(stored.dtype());
  const Extents stride = stored_strides(stored.shape(), layout);
  Extents index(rank, 0);
  for (int64_t i = 0; i < stored.elements(); ++i) {
    int64_t from = 0;
    for (size_t k = 0; k < rank; ++k) from += index[k] * stride[k];
    std::memcpy(out.mutable_bytes() + static_cast<size_t>(i) * bytes,
                stored.bytes() + static_cast<size_t>(from) * bytes, bytes);
    for (size_t k = rank; k-- > 0;) {
      if (++index[k] < stored.shape()[k]) break;
      index[k] = 0;
    }
  }
  return out;
}

Result<Reference> Reference::make(const graph::Graph& graph, const std::vector<HostTensor>& inputs,
                                  uint64_t seed, int64_t max_work) {
  Reference out(graph);
  out.seed_ = seed;
  out.rounds_to_integers_ = is_rounded(graph);
  std::vector<HostTensor> plain;
  for (size_t k = 0; k < inputs.size(); ++k) {
    FRIT_ASSIGN(HostTensor t, to_row_major(inputs[k], graph.value(graph.inputs[k]).type.layout));
    plain.push_back(std::move(t));
  }
  for (const graph::ValueId id : graph.outputs)
    out.shapes_.push_back(*graph::constant_shape(graph.value(id).type.shape));
  // The whole evaluation makes about an operation per two nanoseconds in products, and an element per twenty
  // elsewhere.
  double whole = 0;
  for (const auto& node : graph.nodes) {
    whole += graph::node_cost(graph, node).flops / 2;
    for (const graph::ValueId id : node.outputs)
      if (id != graph::kNoValue)
        whole += 8 * static_cast<double>(product(*graph::constant_shape(graph.value(id).type.shape)));
  }
  if (whole <= static_cast<double>(max_work)) {
    FRIT_ASSIGN(auto values, graph::evaluate(graph, plain));
    for (HostTensor& t : values) out.wanted_.push_back({{}, t, largest(t)});
    out.whole_ = true;
    out.work_ = static_cast<int64_t>(whole);
    return out;
  }
  FRIT_ASSIGN(graph::PointEvaluator evaluator, graph::PointEvaluator::make(graph, plain));
  out.evaluator_.emplace(std::move(evaluator));
  FRIT_TRY(out.choose_points(seed, max_work));
  return out;
}

Status Reference::choose_points(uint64_t seed, int64_t max_work) {
  Points points;
  bool last_tile = true;
  for (int64_t random = kRandomPoints;; random /= 2) {
    points.assign(shapes_.size(), {});
    for (size_t k = 0; k < shapes_.size(); ++k) {
      if (product(shapes_[k]) == 0) continue;
      add_corners(shapes_[k], points[k]);
      if (last_tile) add_last_tile(shapes_[k], graph_->value(graph_->outputs[k]).type.layout, points[k]);
      add_random(shapes_[k], random, seed + k, points[k]);
      tidy(points[k]);
    }
    FRIT_ASSIGN(work_, evaluator_->work(points));
    if (work_ <= max_work || (!last_tile && random < 16)) break;
    // Something that one element needs is large: then the last tile is what is given up last.
    if (random < 16) {
      last_tile = false;
      random = 128;
    }
  }
  FRIT_ASSIGN(auto values, evaluator_->values(points));
  for (size_t k = 0; k < shapes_.size(); ++k) {
    const double scale = largest(values[k]);
    wanted_.push_back({std::move(points[k]), std::move(values[k]), scale});
  }
  return {};
}

// On both sides of the first and of the last border of tiles of any size that the params name, by themselves
// or times a vector's lanes, along each axis; the other coordinates are drawn.
Points Reference::edges(const codegen::Params& params) const {
  Points points(shapes_.size());
  for (size_t k = 0; k < shapes_.size(); ++k) {
    const Extents& shape = shapes_[k];
    const int64_t n = product(shape);
    if (n == 0) continue;
    uint64_t draw = 0;
    const auto add = [&](size_t axis, int64_t position) {
      if (position < 0 || position >= shape[axis]) return;
      Extents at;
      for (const int64_t extent : shape)
        at.push_back(
            static_cast<int64_t>(base::random_bits(seed_ + 77 + k, draw++) % static_cast<uint64_t>(extent)));
      at[axis] = position;
      points[k].push_back(flatten(at, shape));
    };
    for (const auto& [name, value] : params.items()) {
      for (const int64_t lanes : {1, 8, 16}) {
        const int64_t size = value * lanes;
        if (value < 1 || size < 2) continue;
        for (size_t axis = 0; axis < shape.size(); ++axis) {
          if (size >= shape[axis]) continue;
          const int64_t last = (shape[axis] - 1) / size * size;
          for (const int64_t position : {size - 1, size, last - 1, last}) add(axis, position);
        }
      }
    }
    tidy(points[k]);
    while (static_cast<int64_t>(points[k].size()) > kEdgePoints) points[k] = every_other(points[k]);
  }
  return points;
}

Status Reference::compare(size_t output, const std::vector<int64_t>& points, const HostTensor& values,
                          const void* got, double bound, double scale) const {
  const auto& type = graph_->value(graph_->outputs[output]).type;
  const Extents& shape = shapes_[output];
  const HostTensor stored = HostTensor::view(type.dtype, shape, static_cast<const std::byte*>(got));
  const int64_t count = points.empty() && whole_ ? values.elements() : static_cast<int64_t>(points.size());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t element = whole_ ? i : points[static_cast<size_t>(i)],
                  at = stored_offset(shape, type.layout, element);
    bool same = false;
    if (is_float(type.dtype)) {
      const double g = stored.as_double(at), w = values.as_double(i);
      same = std::isnan(w) ? std::isnan(g) : std::isinf(w) ? g == w : std::fabs(g - w) <= bound * scale;
    } else {
      const int64_t g = stored.as_int64(at), w = values.as_int64(i);
      same = g == w || (rounds_to_integers_ && (g == w - 1 || g == w + 1));
    }
    if (same) continue;
    return make_error(Code::kInternal,
                      base::text_of("output ", output, " element ", element, " is ", stored.as_double(at),
                                    ", expected ", values.as_double(i), " within ", bound, " of ", scale));
  }
  return {};
}

Status Reference::check(const codegen::Params& params, std::span<const void* const> outputs, double bound) {
  for (size_t k = 0; k < shapes_.size(); ++k)
    FRIT_TRY(compare(k, wanted_[k].points, wanted_[k].values, outputs[k], bound, wanted_[k].scale));
  if (whole_) return {};
  Points points = edges(params);
  for (int round = 0; round < 8; ++round) {
    FRIT_ASSIGN(const int64_t work, evaluator_->work(points));
    if (work <= kMaxWork / 4) break;
    for (auto& own : points) own = every_other(own);
  }
  FRIT_ASSIGN(const auto values, evaluator_->values(points));
  for (size_t k = 0; k < shapes_.size(); ++k)
    FRIT_TRY(compare(k, points[k], values[k], outputs[k], bound, wanted_[k].scale));
  return {};
}

}  // namespace frit::tuner
