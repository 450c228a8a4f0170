#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "graph/eval.h"
#include "graph/eval/arith.h"
#include "graph/eval/element.h"
#include "graph/eval/index.h"
#include "graph/eval/sources.h"
#include "graph/eval_points.h"

namespace frit::graph {

using base::text_of;

namespace {

using eval::kAbsent;
using eval::kOne;
using eval::SourceIndices;
using eval::SourceMap;

constexpr int64_t kChunkTaps = 1 << 16;  // sources that are looked up at a time

// A set of elements of one value, and where each of them stands in it.
class Need {
 public:
  explicit Need(int64_t elements)
      : elements_(elements), words_(static_cast<size_t>((elements + 63) / 64), 0) {}

  void add(int64_t index) { words_[static_cast<size_t>(index / 64)] |= uint64_t{1} << (index % 64); }
  void add_all() {
    for (int64_t i = 0; i < elements_; ++i) add(i);
  }
  // After the last add().
  void seal() {
    before_.resize(words_.size());
    int64_t count = 0;
    for (size_t w = 0; w < words_.size(); ++w) {
      before_[w] = count;
      for (uint64_t rest = words_[w]; rest != 0; rest &= rest - 1) {
        points_.push_back(static_cast<int64_t>(w) * 64 + std::countr_zero(rest));
        ++count;
      }
    }
  }
  const std::vector<int64_t>& points() const { return points_; }  // ascending
  int64_t rank(int64_t index) const {
    const auto w = static_cast<size_t>(index / 64);
    const uint64_t below = words_[w] & ((uint64_t{1} << (index % 64)) - 1);
    return before_[w] + std::popcount(below);
  }

 private:
  int64_t elements_;
  std::vector<uint64_t> words_;
  std::vector<int64_t> before_, points_;
};

void set_one(HostTensor& tensor, int64_t at) {
  const uint64_t one = 1;
  const double number = 1;
  if (is_float(tensor.dtype()))
    eval::store(tensor, at, 1, &number);
  else
    eval::store(tensor, at, 1, &one);
}

TensorType type_of(DType dtype, const Extents& shape) {
  TensorType type;
  type.dtype = dtype;
  type.shape.assign(shape.begin(), shape.end());
  return type;
}

Result<HostTensor> run_one(const Op& op, std::initializer_list<const HostTensor*> inputs, DType dtype,
                           const Extents& shape) {
  const TensorType type = type_of(dtype, shape);
  const std::vector<const HostTensor*> in(inputs);
  FRIT_ASSIGN(auto out, evaluate_node(op, in, {&type, 1}));
  return std::move(out[0]);
}

}  // namespace

class PointEvaluator::Impl {
 public:
  explicit Impl(const Graph& graph) : graph_(graph), known_(graph.values.size()) {}

  Status bind(std::span<const HostTensor> inputs) {
    if (inputs.size() != graph_.inputs.size()) {
      return make_error(Code::kInvalidArgument,
                        text_of("got ", inputs.size(), " inputs, the graph has ", graph_.inputs.size()));
    }
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const Value& value = graph_.values[v];
      const auto shape = constant_shape(value.type.shape);
      if (!shape) return make_error(Code::kUnsupported, text_of("%", v, " has no constant shape"));
      FRIT_ASSIGN(const int64_t count, checked_element_count(*shape));
      shapes_.push_back(*shape);
      counts_.push_back(count);
      if (value.is_constant())
        known_[v] = HostTensor::view(value.type.dtype, *shape, value.constant->bytes, value.constant);
    }
    for (size_t k = 0; k < inputs.size(); ++k) {
      const auto v = static_cast<size_t>(graph_.inputs[k]);
      if (inputs[k].shape() != shapes_[v] || inputs[k].dtype() != graph_.values[v].type.dtype) {
        return make_error(Code::kInvalidArgument, text_of("input ", k, " is ", inputs[k].type_text(),
                                                          ", expected ", type_text(graph_.values[v].type)));
      }
      known_[v] = inputs[k];
    }
    for (const Node& node : graph_.nodes) {
      std::vector<const HostTensor*> known;
      for (const ValueId id : node.inputs) known.push_back(id == kNoValue ? nullptr : known_of(id));
      maps_.emplace_back();
      if (node.dead) continue;
      FRIT_ASSIGN(maps_.back(), eval::source_map(graph_, node, known));
    }
    return {};
  }

  Result<int64_t> work(const Points& points) { return trace(points); }

  Result<std::vector<HostTensor>> values(const Points& points) {
    FRIT_TRY(trace(points));
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (node.dead || !is_needed(node)) continue;
      FRIT_TRY((maps_[n] ? compute(node, *maps_[n]) : compute_whole(node))
                   .with(text_of("node ", op_name(node.op))));
    }
    std::vector<HostTensor> out;
    for (size_t k = 0; k < graph_.outputs.size(); ++k) {
      const ValueId id = graph_.outputs[k];
      FRIT_ASSIGN(HostTensor tensor, HostTensor::allocate(graph_.value(id).type.dtype,
                                                          {static_cast<int64_t>(points[k].size())}));
      for (size_t p = 0; p < points[k].size(); ++p) copy_element(id, points[k][p], tensor, p);
      out.push_back(std::move(tensor));
    }
    needs_.clear();
    computed_.clear();
    return out;
  }

 private:
  const HostTensor* known_of(ValueId id) const {
    const auto& tensor = known_[static_cast<size_t>(id)];
    return tensor ? &*tensor : nullptr;
  }
  std::optional<Need>& need(ValueId id) {
    auto& out = needs_[static_cast<size_t>(id)];
    if (!out) out.emplace(counts_[static_cast<size_t>(id)]);
    return out;
  }
  bool is_needed(const Node& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
      return id != kNoValue && needs_[static_cast<size_t>(id)].has_value();
    });
  }

  // Marks the elements that every value must have for these points. Gives the scalar operations to compute
  // them.
  Result<int64_t> trace(const Points& points) {
    if (points.size() != graph_.outputs.size()) {
      return make_error(Code::kInvalidArgument, text_of("got points of ", points.size(),
                                                        " outputs, the graph has ", graph_.outputs.size()));
    }
    needs_.assign(graph_.values.size(), std::nullopt);
    computed_.assign(graph_.values.size(), std::nullopt);
    for (size_t k = 0; k < points.size(); ++k) {
      const ValueId id = graph_.outputs[k];
      for (const int64_t index : points[k]) {
        if (index < 0 || index >= counts_[static_cast<size_t>(id)]) {
          return make_error(Code::kInvalidArgument, text_of("point ", index, " of output ", k, " is not in ",
                                                            extents_text(shapes_[static_cast<size_t>(id)])));
        }
        if (!known_of(id)) need(id)->add(index);
      }
    }
    int64_t work = 0;
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      if (node.dead || !is_needed(node)) continue;
      if (!maps_[n]) {
        for (const ValueId id : node.outputs) {
          if (id == kNoValue) continue;
          if (needs_[static_cast<size_t>(id)]) needs_[static_cast<size_t>(id)]->seal();
        }
        work += static_cast<int64_t>(node_cost(graph_, node).flops) + counts_of(node.outputs);
        for (const ValueId id : node.inputs) {
          if (id != kNoValue && !known_of(id)) need(id)->add_all();
        }
        continue;
      }
      Need& own = *needs_[static_cast<size_t>(node.outputs[0])];
      own.seal();
      work += static_cast<int64_t>(own.points().size()) * std::max<int64_t>(maps_[n]->taps(), 1);
      FRIT_TRY(each_chunk(node, *maps_[n], own.points(),
                          [&](std::span<const int64_t>, const SourceIndices& sources) {
                            for (size_t i = 0; i < node.inputs.size(); ++i) {
                              const ValueId id = node.inputs[i];
                              if (id == kNoValue || known_of(id)) continue;
                              Need& from = *need(id);
                              for (const int64_t index : sources.index[i]) {
                                if (index >= 0) from.add(index);
                              }
                            }
                            return Status();
                          }));
    }
    return work;
  }

  int64_t counts_of(const std::vector<ValueId>& ids) const {
    int64_t sum = 0;
    for (const ValueId id : ids) sum += id == kNoValue ? 0 : counts_[static_cast<size_t>(id)];
    return sum;
  }

  template <class Visit>
  static Status each_chunk(const Node& node, const SourceMap& map, const std::vector<int64_t>& points,
                           Visit visit) {
    const int64_t taps = map.taps();
    const auto step = static_cast<size_t>(std::max<int64_t>(kChunkTaps / std::max<int64_t>(taps, 1), 1));
    SourceIndices sources;
    sources.taps = taps;
    sources.index.resize(node.inputs.size());
    for (size_t first = 0; first < points.size(); first += step) {
      const std::span<const int64_t> chunk(points.data() + first, std::min(step, points.size() - first));
      for (auto& index : sources.index) index.assign(chunk.size() * static_cast<size_t>(taps), kAbsent);
      map.find(chunk, sources);
      FRIT_TRY(visit(chunk, sources));
    }
    return {};
  }

  void copy_element(ValueId id, int64_t index, HostTensor& to, size_t at) const {
    const HostTensor* from = known_of(id);
    if (!from) {
      from = &*computed_[static_cast<size_t>(id)];
      index = needs_[static_cast<size_t>(id)]->rank(index);
    }
    const size_t bytes = dtype_bytes(to.dtype());
    std::memcpy(to.mutable_bytes() + at * bytes, from->bytes() + static_cast<size_t>(index) * bytes, bytes);
  }

  // [index.size()]: zero where there is no source.
  Result<HostTensor> collect(ValueId id, const std::vector<int64_t>& index) const {
    const auto count = static_cast<int64_t>(index.size());
    FRIT_ASSIGN(HostTensor out, HostTensor::allocate(graph_.value(id).type.dtype, {count}));
    for (size_t i = 0; i < index.size(); ++i) {
      if (index[i] >= 0) copy_element(id, index[i], out, i);
      if (index[i] == kOne) set_one(out, static_cast<int64_t>(i));
    }
    return out;
  }

  Status compute(const Node& node, const SourceMap& map) {
    const ValueId result = node.outputs[0];
    const Need& own = *needs_[static_cast<size_t>(result)];
    const DType dtype = graph_.value(result).type.dtype;
    FRIT_ASSIGN(HostTensor out, HostTensor::allocate(dtype, {static_cast<int64_t>(own.points().size())}));
    size_t done = 0;
    FRIT_TRY(each_chunk(
        node, map, own.points(), [&](std::span<const int64_t> chunk, const SourceIndices& sources) -> Status {
          FRIT_ASSIGN(HostTensor part, compute_chunk(node, chunk, sources));
          std::memcpy(out.mutable_bytes() + done * dtype_bytes(dtype), part.bytes(), part.size_bytes());
          done += chunk.size();
          return {};
        }));
    computed_[static_cast<size_t>(result)] = std::move(out);
    return {};
  }

  Result<HostTensor> compute_chunk(const Node& node, std::span<const int64_t> chunk,
                                   const SourceIndices& sources) const {
    const auto count = static_cast<int64_t>(chunk.size());
    const DType dtype = graph_.value(node.outputs[0]).type.dtype;
    if (is_pointwise(node.op)) {
      std::vector<HostTensor> inputs;
      std::vector<const HostTensor*> in;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        FRIT_ASSIGN(HostTensor t, collect(node.inputs[i], sources.index[i]));
        inputs.push_back(std::move(t));
      }
      for (const HostTensor& t : inputs) in.push_back(&t);
      const TensorType type = type_of(dtype, {count});
      FRIT_ASSIGN(auto out, evaluate_node(node.op, in, {&type, 1}));
      return std::move(out[0]);
    }
    if (std::get_if<MatMul>(&node.op) || std::get_if<Conv>(&node.op)) return contract(node, count, sources);
    if (const auto* op = std::get_if<Reduce>(&node.op)) {
      FRIT_ASSIGN(const HostTensor x, collect(node.inputs[0], sources.index[0]));
      const HostTensor rows = x.reshaped({count, sources.taps});
      return run_one(Reduce{op->op, {1}, false}, {&rows}, dtype, {count});
    }
    if (const auto* op = std::get_if<Pool>(&node.op)) return pool(*op, node, chunk, sources);
    // Moves elements: one of the inputs has it, or it is a zero (Pad without a value).
    FRIT_ASSIGN(HostTensor out, HostTensor::allocate(dtype, {count}));
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      for (size_t p = 0; p < chunk.size(); ++p) {
        if (sources.index[i][p] >= 0) copy_element(node.inputs[i], sources.index[i][p], out, p);
      }
    }
    return out;
  }

  // Each point is a row times a column of its own. A bias has the column's last place.
  Result<HostTensor> contract(const Node& node, int64_t count, const SourceIndices& sources) const {
    FRIT_ASSIGN(HostTensor a, collect(node.inputs[0], sources.index[0]));
    FRIT_ASSIGN(HostTensor b, collect(node.inputs[1], sources.index[1]));
    if (node.inputs.size() > 2 && node.inputs[2] != kNoValue) {
      for (size_t i = 0; i < sources.index[2].size(); ++i) {
        if (sources.index[2][i] >= 0) copy_element(node.inputs[2], sources.index[2][i], b, i);
      }
    }
    const HostTensor rows = a.reshaped({count, 1, sources.taps}),
                     columns = b.reshaped({count, sources.taps, 1});
    FRIT_ASSIGN(HostTensor out, run_one(MatMul{}, {&rows, &columns}, a.dtype(), {count, 1, 1}));
    return out.reshaped({count});
  }

  Result<HostTensor> pool(const Pool& op, const Node& node, std::span<const int64_t> chunk,
                          const SourceIndices& sources) const {
    const ValueId x = node.inputs[0];
    const DType dtype = graph_.value(x).type.dtype;
    const auto count = static_cast<int64_t>(chunk.size());
    FRIT_ASSIGN(HostTensor out, HostTensor::allocate(dtype, {count}));
    FRIT_ASSIGN(const HostTensor values, collect(x, sources.index[0]));
    Extents pixels(shapes_[static_cast<size_t>(node.outputs[0])].begin() + 2,
                   shapes_[static_cast<size_t>(node.outputs[0])].end());
    eval::with_compute_type(dtype, [&](auto tag) {
      using C = typename decltype(tag)::type;
      std::vector<C> row(static_cast<size_t>(sources.taps));
      for (int64_t p = 0; p < count; ++p) {
        eval::load(values, p * sources.taps, sources.taps, row.data());
        C total = op.op == PoolOp::kMax ? eval::lowest_of<C>(dtype) : C{0};
        for (int64_t t = 0; t < sources.taps; ++t) {
          if (sources.index[0][static_cast<size_t>(p * sources.taps + t)] == kAbsent) continue;
          const C v = row[static_cast<size_t>(t)];
          total = op.op == PoolOp::kMax ? eval::max_of(total, v) : eval::wrap_add(total, v);
        }
        if (op.op == PoolOp::kAvg)
          total = eval::divide(total, static_cast<C>(divisor(op, x, pixels, chunk[static_cast<size_t>(p)])));
        eval::store(out, p, 1, &total);
      }
    });
    return out;
  }

  // Of an average: taps on the input, or on the padded input.
  int64_t divisor(const Pool& op, ValueId x, const Extents& pixels, int64_t point) const {
    const Extents& shape = shapes_[static_cast<size_t>(x)];
    int64_t total = 1, rest = point % eval::product(pixels);
    for (size_t axis = pixels.size(); axis-- > 0;) {
      const int64_t at = rest % pixels[axis], extent = shape[axis + 2];
      rest /= pixels[axis];
      const int64_t before = op.pads[axis], after = op.pads[pixels.size() + axis];
      const int64_t low = op.count_include_pad ? -before : 0,
                    high = extent + (op.count_include_pad ? after : 0);
      int64_t inside = 0;
      for (int64_t tap = 0; tap < op.kernel[axis]; ++tap) {
        const int64_t where = at * op.strides[axis] - before + tap * op.dilations[axis];
        inside += where >= low && where < high;
      }
      total *= inside;
    }
    return total;
  }

  Status compute_whole(const Node& node) {
    std::vector<HostTensor> inputs;
    for (const ValueId id : node.inputs) {
      if (id == kNoValue) {
        inputs.emplace_back();
      } else if (const HostTensor* known = known_of(id)) {
        inputs.push_back(*known);
      } else {
        inputs.push_back(computed_[static_cast<size_t>(id)]->reshaped(shapes_[static_cast<size_t>(id)]));
      }
    }
    std::vector<const HostTensor*> in;
    for (size_t i = 0; i < inputs.size(); ++i)
      in.push_back(node.inputs[i] == kNoValue ? nullptr : &inputs[i]);
    std::vector<TensorType> types;
    for (const ValueId id : node.outputs)
      types.push_back(id == kNoValue ? TensorType{} : graph_.value(id).type);
    FRIT_ASSIGN(auto results, evaluate_node(node.op, in, types));
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const ValueId id = node.outputs[k];
      if (id == kNoValue || !needs_[static_cast<size_t>(id)]) continue;
      const auto& points = needs_[static_cast<size_t>(id)]->points();
      const size_t bytes = dtype_bytes(results[k].dtype());
      FRIT_ASSIGN(HostTensor out,
                  HostTensor::allocate(results[k].dtype(), {static_cast<int64_t>(points.size())}));
      for (size_t p = 0; p < points.size(); ++p) {
        std::memcpy(out.mutable_bytes() + p * bytes,
                    results[k].bytes() + static_cast<size_t>(points[p]) * bytes, bytes);
      }
      computed_[static_cast<size_t>(id)] = std::move(out);
    }
    return {};
  }

  const Graph& graph_;
  std::vector<Extents> shapes_;
  std::vector<int64_t> counts_;
  std::vector<std::optional<HostTensor>> known_;  // inputs and constants
  std::vector<std::unique_ptr<SourceMap>> maps_;  // per node
  std::vector<std::optional<Need>> needs_;        // per value, of the points in work
  std::vector<std::optional<HostTensor>> computed_;
};

PointEvaluator::PointEvaluator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PointEvaluator::PointEvaluator(PointEvaluator&&) noexcept = default;
PointEvaluator& PointEvaluator::operator=(PointEvaluator&&) noexcept = default;
PointEvaluator::~PointEvaluator() = default;

Result<PointEvaluator> PointEvaluator::make(const Graph& graph, std::span<const HostTensor> inputs) {
  auto impl = std::make_unique<Impl>(graph);
  FRIT_TRY(impl->bind(inputs));
  return PointEvaluator(std::move(impl));
}

Result<int64_t> PointEvaluator::work(const Points& points) { return impl_->work(points); }
Result<std::vector<HostTensor>> PointEvaluator::values(const Points& points) { return impl_->values(points); }

}  // namespace frit::graph
