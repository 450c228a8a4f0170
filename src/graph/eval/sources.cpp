#include "graph/eval/sources.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/try.h"
#include "graph/eval/index.h"
#include "graph/eval/indices.h"
#include "graph/eval/window.h"

namespace frit::graph::eval {
namespace {

Extents shape_of(const Graph& graph, ValueId id) { return *constant_shape(graph.value(id).type.shape); }

// Coordinates of a row-major index.
class Coordinates {
 public:
  explicit Coordinates(Extents shape) : shape_(std::move(shape)), at_(shape_.size(), 0) {}
  const Extents& of(int64_t index) {
    for (size_t axis = shape_.size(); axis-- > 0;) {
      at_[axis] = index % shape_[axis];
      index /= shape_[axis];
    }
    return at_;
  }

 private:
  Extents shape_, at_;
};

// Each input in steps along the output's axes: pointwise operands, transposes, slices, expands. Without an
// output shape, the same index.
class Strided final : public SourceMap {
 public:
  struct Input {
    Extents strides;
    int64_t offset = 0;
    bool same = false;  // the same index
  };
  Strided(Extents shape, std::vector<Input> inputs) : shape_(std::move(shape)), inputs_(std::move(inputs)) {}
  int64_t taps() const override { return 1; }
  void find(std::span<const int64_t> points, SourceIndices& out) const override {
    Coordinates coordinates(shape_);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Input& input = inputs_[i];
      auto& index = out.index[i];
      if (input.same) {
        index.assign(points.begin(), points.end());
        continue;
      }
      for (size_t p = 0; p < points.size(); ++p) {
        const Extents& at = coordinates.of(points[p]);
        int64_t from = input.offset;
        for (size_t axis = 0; axis < at.size(); ++axis) from += at[axis] * input.strides[axis];
        index[p] = from;
      }
    }
  }

 private:
  Extents shape_;
  std::vector<Input> inputs_;
};

// Taps that any function finds, one point at a time; for maps that read one or two inputs.
class ByFunction final : public SourceMap {
 public:
  // out: per input where this point's `taps` indices go; null for inputs that are not read.
  using Find = std::function<void(int64_t point, const std::vector<int64_t*>& out)>;
  ByFunction(int64_t taps, Find find) : taps_(taps), find_(std::move(find)) {}
  int64_t taps() const override { return taps_; }
  void find(std::span<const int64_t> points, SourceIndices& out) const override {
    std::vector<int64_t*> to(out.index.size());
    for (size_t p = 0; p < points.size(); ++p) {
      for (size_t i = 0; i < to.size(); ++i) to[i] = out.index[i].data() + static_cast<int64_t>(p) * taps_;
      find_(points[p], to);
    }
  }

 private:
  int64_t taps_;
  Find find_;
};

using Map = Result<std::unique_ptr<SourceMap>>;

Map strided(Extents shape, std::vector<Strided::Input> inputs) {
  return std::unique_ptr<SourceMap>(std::make_unique<Strided>(std::move(shape), std::move(inputs)));
}
Map by_function(int64_t taps, ByFunction::Find find) {
  return std::unique_ptr<SourceMap>(std::make_unique<ByFunction>(taps, std::move(find)));
}
Map whole() { return std::unique_ptr<SourceMap>(); }

Map pointwise(const Graph& graph, const Node& node) {
  const Extents shape = shape_of(graph, node.outputs[0]);
  std::vector<Strided::Input> inputs;
  for (const ValueId id : node.inputs) {
    const Extents from = shape_of(graph, id);
    if (from == shape) {
      inputs.push_back({{}, 0, true});
    } else {
      inputs.push_back({broadcast_strides(from, shape), 0, false});
    }
  }
  return strided(shape, std::move(inputs));
}

Map transpose(const Graph& graph, const Node& node, const Transpose& op) {
  const Extents from = row_major_strides(shape_of(graph, node.inputs[0]));
  Extents strides;
  for (const int64_t axis : op.perm) strides.push_back(from[static_cast<size_t>(axis)]);
  return strided(shape_of(graph, node.outputs[0]), {{std::move(strides), 0, false}});
}

Map slice(const Graph& graph, const Node& node, const Slice& op) {
  Extents strides = row_major_strides(shape_of(graph, node.inputs[0]));
  int64_t offset = 0;
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    const auto start = op.starts[axis].constant();
    if (!start) return whole();
    offset += *start * strides[axis];
    strides[axis] *= op.steps[axis];
  }
  return strided(shape_of(graph, node.outputs[0]), {{std::move(strides), offset, false}});
}

Map concat(const Graph& graph, const Node& node, const Concat& op) {
  const AxisView out(shape_of(graph, node.outputs[0]), op.axis);
  std::vector<int64_t> begins, extents;
  int64_t begin = 0;
  for (const ValueId id : node.inputs) {
    begins.push_back(begin);
    extents.push_back(shape_of(graph, id)[static_cast<size_t>(op.axis)]);
    begin += extents.back();
  }
  return by_function(1, [=](int64_t point, const std::vector<int64_t*>& to) {
    const int64_t inner = point % out.inner, at = point / out.inner % out.extent,
                  outer = point / out.inner / out.extent;
    for (size_t i = 0; i < begins.size(); ++i) {
      const int64_t own = at - begins[i];
      *to[i] = own >= 0 && own < extents[i] ? (outer * extents[i] + own) * out.inner + inner : kAbsent;
    }
  });
}

Map pad(const Graph& graph, const Node& node, const Pad& op) {
  if (op.mode != PadMode::kConstant) return whole();
  const Extents from = shape_of(graph, node.inputs[0]), strides = row_major_strides(from);
  auto coordinates = std::make_shared<Coordinates>(shape_of(graph, node.outputs[0]));
  const bool has_value = node.inputs.size() > 1 && node.inputs[1] != kNoValue;
  return by_function(1, [=, before = op.before](int64_t point, const std::vector<int64_t*>& to) {
    const Extents& at = coordinates->of(point);
    int64_t source = 0;
    for (size_t axis = 0; axis < from.size(); ++axis) {
      const int64_t own = at[axis] - before[axis];
      if (own < 0 || own >= from[axis]) {
        source = kAbsent;
        break;
      }
      source += own * strides[axis];
    }
    *to[0] = source;
    if (has_value) *to[1] = source == kAbsent ? 0 : kAbsent;
  });
}

Map gather(const Graph& graph, const Node& node, const Gather& op, const HostTensor* indices) {
  if (!indices) return whole();
  const Extents data = shape_of(graph, node.inputs[0]);
  const AxisView view(data, op.axis);
  FRIT_ASSIGN(std::vector<int64_t> at, read_indices(*indices, view.extent, op.axis));
  const auto count = static_cast<int64_t>(at.size());
  return by_function(1, [=, at = std::move(at)](int64_t point, const std::vector<int64_t*>& to) {
    const int64_t inner = point % view.inner, i = point / view.inner % count,
                  outer = point / view.inner / count;
    const int64_t position = at[static_cast<size_t>(i)];
    *to[0] = (outer * view.extent + position) * view.inner + inner;
  });
}

Map gather_elements(const Graph& graph, const Node& node, const GatherElements& op,
                    const HostTensor* indices) {
  if (!indices) return whole();
  const Extents data = shape_of(graph, node.inputs[0]), strides = row_major_strides(data);
  const auto axis = static_cast<size_t>(op.axis);
  FRIT_ASSIGN(std::vector<int64_t> at, read_indices(*indices, data[axis], op.axis));
  auto coordinates = std::make_shared<Coordinates>(indices->shape());
  return by_function(1, [=, at = std::move(at)](int64_t point, const std::vector<int64_t*>& to) {
    const Extents& where = coordinates->of(point);
    int64_t source = 0;
    for (size_t k = 0; k < where.size(); ++k) {
      const int64_t position = at[static_cast<size_t>(point)];
      source += (k == axis ? position : where[k]) * strides[k];
    }
    *to[0] = source;
  });
}

Map reduce(const Graph& graph, const Node& node, const Reduce& op) {
  const Extents from = shape_of(graph, node.inputs[0]), strides = row_major_strides(from);
  Extents kept, kept_strides, reduced, reduced_strides;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    const bool is_reduced =
        std::find(op.axes.begin(), op.axes.end(), static_cast<int64_t>(axis)) != op.axes.end();
    (is_reduced ? reduced : kept).push_back(from[axis]);
    (is_reduced ? reduced_strides : kept_strides).push_back(strides[axis]);
  }
  const int64_t taps = product(reduced);
  std::vector<int64_t> offsets;
  Walker walker(reduced, reduced_strides);
  for (int64_t t = 0; t < taps; ++t, walker.next()) offsets.push_back(walker.offset());
  auto coordinates = std::make_shared<Coordinates>(kept);
  return by_function(taps, [=, offsets = std::move(offsets)](int64_t point, const std::vector<int64_t*>& to) {
    const Extents& at = coordinates->of(point);
    int64_t base = 0;
    for (size_t axis = 0; axis < at.size(); ++axis) base += at[axis] * kept_strides[axis];
    for (size_t t = 0; t < offsets.size(); ++t) to[0][t] = base + offsets[t];
  });
}

Map matmul(const Graph& graph, const Node& node) {
  const Extents a = shape_of(graph, node.inputs[0]), b = shape_of(graph, node.inputs[1]),
                out = shape_of(graph, node.outputs[0]);
  const Extents batch(out.begin(), out.end() - 2);
  const int64_t m = out[out.size() - 2], n = out.back(), depth = a.back();
  // Batches step through matrices.
  const Extents a_strides = broadcast_strides(Extents(a.begin(), a.end() - 2), batch),
                b_strides = broadcast_strides(Extents(b.begin(), b.end() - 2), batch);
  auto coordinates = std::make_shared<Coordinates>(batch);
  return by_function(depth, [=](int64_t point, const std::vector<int64_t*>& to) {
    const int64_t j = point % n, i = point / n % m;
    const Extents& at = coordinates->of(point / n / m);
    int64_t a_matrix = 0, b_matrix = 0;
    for (size_t axis = 0; axis < at.size(); ++axis) {
      a_matrix += at[axis] * a_strides[axis];
      b_matrix += at[axis] * b_strides[axis];
    }
    for (int64_t k = 0; k < depth; ++k) {
      to[0][k] = a_matrix * m * depth + i * depth + k;
      to[1][k] = b_matrix * depth * n + k * n + j;
    }
  });
}

// The bias is one more tap: the number 1 times the bias.
Map conv(const Graph& graph, const Node& node, const Conv& op) {
  const Extents x = shape_of(graph, node.inputs[0]), w = shape_of(graph, node.inputs[1]),
                out = shape_of(graph, node.outputs[0]);
  FRIT_ASSIGN(Window window, make_window(Extents(w.begin() + 2, w.end()), op.strides, op.pads, op.dilations));
  window.large.assign(x.begin() + 2, x.end());
  window.small.assign(out.begin() + 2, out.end());
  const int64_t pixels = product(window.small), plane = product(window.large), taps = window.taps();
  const int64_t in_channels = w[1], out_channels = w[0], group_outputs = out_channels / op.groups;
  const bool biased = node.inputs.size() > 2 && node.inputs[2] != kNoValue;
  const int64_t depth = in_channels * taps;
  auto offsets = std::make_shared<std::vector<int64_t>>();
  return by_function(depth + biased, [=, channels = x[1]](int64_t point, const std::vector<int64_t*>& to) {
    const int64_t pixel = point % pixels, o = point / pixels % out_channels,
                  image = point / pixels / out_channels;
    window.find_offsets(pixel, 1, *offsets);
    const int64_t first_channel = image * channels + o / group_outputs * in_channels;
    for (int64_t c = 0; c < in_channels; ++c) {
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t at = (*offsets)[static_cast<size_t>(t)];
        to[0][c * taps + t] = at < 0 ? kAbsent : (first_channel + c) * plane + at;
        to[1][c * taps + t] = at < 0 ? kAbsent : o * depth + c * taps + t;
      }
    }
    if (!biased) return;
    for (int64_t t = 0; t < depth; ++t) to[2][t] = kAbsent;
    to[0][depth] = kOne;
    to[1][depth] = kAbsent;
    to[2][depth] = o;
  });
}

Map pool(const Graph& graph, const Node& node, const Pool& op) {
  const Extents x = shape_of(graph, node.inputs[0]), out = shape_of(graph, node.outputs[0]);
  FRIT_ASSIGN(Window window, make_window(op.kernel, op.strides, op.pads, op.dilations));
  window.large.assign(x.begin() + 2, x.end());
  window.small.assign(out.begin() + 2, out.end());
  const int64_t pixels = product(window.small), plane = product(window.large), taps = window.taps();
  auto offsets = std::make_shared<std::vector<int64_t>>();
  return by_function(taps, [=](int64_t point, const std::vector<int64_t*>& to) {
    window.find_offsets(point % pixels, 1, *offsets);
    for (int64_t t = 0; t < taps; ++t) {
      const int64_t at = (*offsets)[static_cast<size_t>(t)];
      to[0][t] = at < 0 ? kAbsent : point / pixels * plane + at;
    }
  });
}

}  // namespace

Result<std::unique_ptr<SourceMap>> source_map(const Graph& graph, const Node& node,
                                              std::span<const HostTensor* const> known) {
  if (node.outputs.size() != 1 || node.outputs[0] == kNoValue) return whole();
  if (is_pointwise(node.op)) return pointwise(graph, node);
  if (std::get_if<Reshape>(&node.op)) {
    return strided({}, {{{}, 0, true}});
  }
  if (std::get_if<Expand>(&node.op)) {
    const Extents shape = shape_of(graph, node.outputs[0]);
    return strided(shape, {{broadcast_strides(shape_of(graph, node.inputs[0]), shape), 0, false}});
  }
  if (const auto* op = std::get_if<Transpose>(&node.op)) return transpose(graph, node, *op);
  if (const auto* op = std::get_if<Slice>(&node.op)) return slice(graph, node, *op);
  if (const auto* op = std::get_if<Concat>(&node.op)) return concat(graph, node, *op);
  if (const auto* op = std::get_if<Pad>(&node.op)) return pad(graph, node, *op);
  if (const auto* op = std::get_if<Gather>(&node.op)) return gather(graph, node, *op, known[1]);
  if (const auto* op = std::get_if<GatherElements>(&node.op))
    return gather_elements(graph, node, *op, known[1]);
  if (const auto* op = std::get_if<Reduce>(&node.op)) return reduce(graph, node, *op);
  if (std::get_if<MatMul>(&node.op)) return matmul(graph, node);
  if (const auto* op = std::get_if<Conv>(&node.op)) return conv(graph, node, *op);
  if (const auto* op = std::get_if<Pool>(&node.op)) return pool(graph, node, *op);
  return whole();
}

}  // namespace frit::graph::eval
