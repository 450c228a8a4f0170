#include "codegen/families/rows.h"

#include <algorithm>
#include <map>

#include "codegen/families/families.h"
#include "codegen/families/iteration.h"
#include "codegen/families/phase.h"
#include "codegen/families/scalar_ops.h"

namespace frit::codegen {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;
using loop::Expr;
using loop::LoopKind;

constexpr int32_t kStrictLanes = 16;                 // src/README.md section 9: index i goes to virtual lane i mod 16
constexpr int64_t kMaxKeptElements = 256 * 1024;     // of a row buffer

// Full-shaped values that are dear to compute and needed in more than one pass: kept in a row buffer.
std::vector<ValueId> values_to_keep(const Group& group, const RowAnalysis& r) {
  const Graph& g = group.graph;
  std::vector<ValueId> keep;
  std::vector<int64_t> price(g.values.size(), 0);
  for (size_t id = 0; id < g.nodes.size(); ++id) {
    const Node& node = g.nodes[id];
    const ValueId y = node.outputs[0];
    if (std::get_if<graph::Reduce>(&node.op) || r.form[static_cast<size_t>(y)] != RowForm::kFull) continue;
    int64_t own = 1;
    if (const auto* u = std::get_if<graph::Unary>(&node.op))
      if (u->op == graph::UnaryOp::kExp || u->op == graph::UnaryOp::kErf || u->op == graph::UnaryOp::kTanh || u->op == graph::UnaryOp::kSigmoid || u->op == graph::UnaryOp::kLog) own = 15;
    if (std::get_if<graph::Gather>(&node.op) || std::get_if<graph::Concat>(&node.op)) own = 8;
    for (ValueId v : node.inputs)
      if (v != graph::kNoValue) own += price[static_cast<size_t>(v)];
    price[static_cast<size_t>(y)] = own;
    // Passes that use it: those of its readers, and the last one when it is an output.
    std::vector<int32_t> passes;
    for (size_t u = 0; u < g.nodes.size(); ++u)
      if (std::find(g.nodes[u].inputs.begin(), g.nodes[u].inputs.end(), y) != g.nodes[u].inputs.end())
        passes.push_back(std::get_if<graph::Reduce>(&g.nodes[u].op) ? r.pass[u] - 1 : r.pass[u]);
    if (std::find(g.outputs.begin(), g.outputs.end(), y) != g.outputs.end()) passes.push_back(r.passes);
    std::sort(passes.begin(), passes.end());
    const bool again = !passes.empty() && passes.front() != passes.back();
    if (again && own >= 6) {
      keep.push_back(y);
      price[static_cast<size_t>(y)] = 1;
    }
  }
  return keep;
}

class RowsBuilder {
 public:
  RowsBuilder(const Group& group, const RowAnalysis& r, const Params& params, const BuildContext& context, const char* family)
      : group_(group),
        g_(group.graph),
        r_(r),
        strict_(context.numerics == Numerics::kStrict),
        lanes_(strict_ ? kStrictLanes : static_cast<int32_t>(context.target->vector_bytes() / 4)),
        program_(group),
        phase_(program_, family, lanes_, all_inputs(group), {}, group.graph.outputs, {}),
        b_(phase_.builder()),
        dag_(phase_.dag()),
        it_(make_iteration(group, r.space, r.reduced)),
        keep_(params.get("keep") ? values_to_keep(group, r) : std::vector<ValueId>{}),
        unroll_(strict_ ? 1 : params.get_or("unroll", 1)),
        grain_rows_(params.get_or("rows", 1)) {
    for (size_t k = 0; k < it_.extents.size(); ++k) {
      const bool red = r_.reduced[static_cast<size_t>(it_.axes[k][0])];
      (red ? reduced_ : kept_).push_back(k);
    }
    along_row_ = kept_.empty() || (!reduced_.empty() && reduced_.back() > kept_.back()) || (strict_ && !inner_kept_is_long());
  }

  loop::Program take() {
    along_row_ ? rows_of_lanes() : lanes_of_rows();
    program_.add_phase(phase_, false, grain_rows_);
    return program_.take();
  }

 private:
  static std::vector<int32_t> all_inputs(const Group& group) {
    std::vector<int32_t> all;
    for (size_t k = 0; k < group.graph.inputs.size(); ++k) all.push_back(static_cast<int32_t>(k));
    return all;
  }
  bool inner_kept_is_long() const { return !kept_.empty() && it_.extents[kept_.back()] >= 8; }

  std::vector<int64_t> extents_of(const std::vector<size_t>& axes) const {
    std::vector<int64_t> out;
    for (size_t k : axes) out.push_back(it_.extents[k]);
    return out;
  }
  Expr tile(int64_t n) {
    Expr v = b_.tile(n);
    dag_.note_range(v, 0, std::max<int64_t>(n - 1, 0));
    return v;
  }
  void fresh(Expr tail) {
    dag_.forget();
    dag_.set_tail(tail);
  }
  const Node& reduction(size_t k) const { return g_.node(r_.reductions[k]); }
  graph::ReduceOp op_of(size_t k) const { return std::get<graph::Reduce>(reduction(k).op).op; }
  DType dtype_of(size_t k) const { return g_.value(reduction(k).inputs[0]).type.dtype; }
  Expr identity(size_t k, int32_t lanes) { return reduce_identity(b_.context(), op_of(k), dtype_of(k), lanes); }
  std::vector<size_t> of_pass(int32_t pass) const {
    std::vector<size_t> out;
    for (size_t k = 0; k < r_.reductions.size(); ++k)
      if (r_.pass[static_cast<size_t>(r_.reductions[k])] == pass + 1) out.push_back(k);
    return out;
  }
  int32_t reduce_passes() const {
    int32_t n = 0;
    for (graph::NodeId id : r_.reductions) n = std::max(n, r_.pass[static_cast<size_t>(id)]);
    return n;
  }
  Expr mean_of(size_t k, Expr sum) {
    if (op_of(k) != graph::ReduceOp::kMean) return sum;
    return sum / loop::float_const(b_.context(), static_cast<double>(r_.row_elements), dtype_of(k), sum->type.lanes);
  }

  // The value of reduction k's operand at an index, and the row buffer filled on the way.
  void bind_kept_loads(int32_t pass, const std::function<Expr()>& position) {
    for (size_t k = 0; k < keep_.size(); ++k) {
      const ValueId v = keep_[k];
      if (first_use_[v] < pass) {
        const loop::Buffer buffer = kept_buffers_[k];
        Expr at = position();
        dag_.bind(v, [this, buffer, at](const Index&) { return b_.let(loop::load(b_.context(), buffer, at, lanes_)); });
      }
    }
  }
  void fill_kept(int32_t pass, const Index& index, const std::function<Expr()>& position) {
    for (size_t k = 0; k < keep_.size(); ++k) {
      if (first_use_[keep_[k]] != pass) continue;
      dag_.unbind(keep_[k]);
      Expr v = b_.let(dag_.at(keep_[k], index));
      if (v->type.lanes == 1) v = loop::splat(v, lanes_);
      b_.store(kept_buffers_[k], position(), v);
      dag_.forget();
      dag_.bind(keep_[k], [v](const Index&) { return v; });
    }
  }
  void make_kept_buffers(int64_t elements) {
    // First pass in which a kept value can be computed: when its own inputs are known.
    for (ValueId v : keep_) first_use_[v] = r_.pass[static_cast<size_t>(g_.value(v).producer)];
    if (elements > kMaxKeptElements) keep_.clear();
    for (ValueId v : keep_) kept_buffers_.push_back(b_.local(loop::Space::kStack, g_.value(v).type.dtype, elements));
  }

  // ---- vectors along the row -----------------------------------------------------------------------------------------------

  void rows_of_lanes() {
    const auto outer = extents_of(kept_);
    int64_t rows = 1;
    for (int64_t n : outer) rows *= n;
    Expr row = tile(rows);
    std::vector<size_t> inner = reduced_;
    // strict numbers the elements of a row in logical order, whatever the layout: one flat loop.
    const bool flat = strict_ || inner.empty();
    const int64_t length = flat ? r_.row_elements : it_.extents[inner.back()];
    std::vector<size_t> outer_reduced = flat ? std::vector<size_t>{} : std::vector<size_t>(inner.begin(), inner.end() - 1);
    const int64_t padded = (length + lanes_ - 1) / lanes_ * lanes_;
    int64_t repeats = 1;
    for (size_t k : outer_reduced) repeats *= it_.extents[k];
    make_kept_buffers(padded * repeats);

    const std::vector<Expr> kept_point = dag_.delinearize(row, outer);
    auto index_at = [&](const std::vector<Expr>& outer_point, Expr i) {
      std::vector<Expr> point(it_.extents.size());
      for (size_t k = 0; k < kept_.size(); ++k) point[kept_[k]] = kept_point[k];
      if (flat) {
        Index index(r_.shape.size());
        std::vector<int64_t> row_shape;
        for (size_t a = 0; a < r_.shape.size(); ++a)
          if (r_.reduced[a]) row_shape.push_back(r_.shape[a]);
        Index within = dag_.delinearize(i, row_shape);
        for (size_t k : reduced_) point[k] = b_.integer(0);
        index = it_.logical(dag_, point, r_.shape);
        size_t next = 0;
        for (size_t a = 0; a < r_.shape.size(); ++a)
          if (r_.reduced[a]) index[a] = within[next++];
        return index;
      }
      for (size_t k = 0; k < outer_reduced.size(); ++k) point[outer_reduced[k]] = outer_point[k];
      point[inner.back()] = i;
      return it_.logical(dag_, point, r_.shape);
    };
    // Runs body(index, buffer position, accumulator number, tail mask) over the row in vectors.
    using Body = std::function<void(const Index&, Expr, int64_t, Expr)>;
    auto over_row = [&](int64_t accumulators, const Body& body) {
      const int64_t step = accumulators * lanes_;
      std::function<void(size_t, std::vector<Expr>)> nest = [&](size_t depth, std::vector<Expr> outer_point) {
        if (depth < outer_reduced.size()) {
          const int64_t n = it_.extents[outer_reduced[depth]];
          b_.loop(b_.integer(0), b_.integer(n), 1, LoopKind::kSerial, [&](Expr i) {
            dag_.note_range(i, 0, n - 1);
            outer_point.push_back(i);
            nest(depth + 1, outer_point);
            outer_point.pop_back();
          });
          return;
        }
        Expr base = b_.integer(0);
        for (size_t k = 0; k < outer_point.size(); ++k) base = base * it_.extents[outer_reduced[k]] + outer_point[k];
        base = base * padded;
        auto one = [&](Expr start, int64_t accumulator, Expr tail) {
          fresh(tail);
          body(index_at(outer_point, start + dag_.lane()), base + start, accumulator, tail);
        };
        const int64_t whole = length / step * step;
        if (whole > 0) {
          b_.loop(b_.integer(0), b_.integer(whole), step, LoopKind::kSerial, [&](Expr i) {
            dag_.note_range(i, 0, whole - step);
            for (int64_t u = 0; u < accumulators; ++u) one(i + u * lanes_, u, {});
          });
        }
        int64_t at = whole;
        for (; at + lanes_ <= length; at += lanes_) one(b_.integer(at), (at - whole) / lanes_, {});
        if (at < length) one(b_.integer(at), 0, phase_.tail_mask(b_.integer(at), length));
      };
      nest(0, {});
    };

    for (int32_t pass = 0; pass < reduce_passes(); ++pass) {
      const auto now = of_pass(pass);
      std::vector<loop::Buffer> acc;
      for (size_t k : now) {
        acc.push_back(b_.local(loop::Space::kRegister, dtype_of(k), unroll_, lanes_));
        for (int64_t u = 0; u < unroll_; ++u) b_.store(acc.back(), b_.integer(u), identity(k, lanes_));
      }
      over_row(unroll_, [&](const Index& index, Expr position, int64_t u, Expr tail) {
        bind_kept_loads(pass, [&] { return position; });
        fill_kept(pass, index, [&] { return position; });
        for (size_t n = 0; n < now.size(); ++n) {
          Expr v = dag_.at(reduction(now[n]).inputs[0], index);
          if (v->type.lanes == 1) v = loop::splat(v, lanes_);
          if (tail) v = loop::select(tail, v, identity(now[n], lanes_));
          b_.store(acc[n], b_.integer(u), emit_combine(op_of(now[n]), loop::load(b_.context(), acc[n], b_.integer(u), lanes_), v));
        }
      });
      for (size_t n = 0; n < now.size(); ++n) {
        const size_t k = now[n];
        Expr sum = loop::load(b_.context(), acc[n], b_.integer(0), lanes_);
        for (int64_t u = 1; u < unroll_; ++u) sum = emit_combine(op_of(k), sum, loop::load(b_.context(), acc[n], b_.integer(u), lanes_));
        Expr result = b_.let(mean_of(k, fold_lanes(k, b_.let(sum))));
        dag_.bind(reduction(k).outputs[0], [result](const Index&) { return result; });
      }
    }
    fresh({});
    store_row_values(kept_point, {});
    if (!has_full_output()) return;
    over_row(unroll_, [&](const Index& index, Expr position, int64_t, Expr) {
      bind_kept_loads(r_.passes, [&] { return position; });
      store_full(index);
    });
  }

  Expr fold_lanes(size_t k, Expr v) {
    switch (op_of(k)) {
      case graph::ReduceOp::kProd: return loop::reduce(loop::OpCode::kMul, v);
      case graph::ReduceOp::kMax: return loop::reduce(loop::OpCode::kMax, v);
      case graph::ReduceOp::kMin: return loop::reduce(loop::OpCode::kMin, v);
      default: return loop::reduce(loop::OpCode::kAdd, v);
    }
  }

  // ---- vectors across rows: the innermost axis in memory is kept ---------------------------------------------------------------

  void lanes_of_rows() {
    std::vector<size_t> outer_axes(kept_.begin(), kept_.end() - 1);
    const auto outer = extents_of(outer_axes);
    int64_t rows = 1;
    for (int64_t n : outer) rows *= n;
    const int64_t length = it_.extents[kept_.back()];
    const int64_t blocks = (length + lanes_ - 1) / lanes_;
    Expr row = tile(rows), block = tile(blocks);
    make_kept_buffers(r_.row_elements * lanes_);
    const std::vector<Expr> outer_point = dag_.delinearize(row, outer);
    const int64_t virtual_lanes = strict_ ? kStrictLanes : std::min<int64_t>(unroll_, std::max<int64_t>(r_.row_elements, 1));

    auto work = [&](Expr first, bool masked) {
      Expr tail = masked ? phase_.tail_mask(first, length) : Expr{};
      Expr lane_index = first + dag_.lane();
      std::vector<Expr> kept_point = outer_point;
      kept_point.push_back(lane_index);
      auto index_at = [&](Expr flat) {
        std::vector<int64_t> row_shape;
        for (size_t a = 0; a < r_.shape.size(); ++a)
          if (r_.reduced[a]) row_shape.push_back(r_.shape[a]);
        std::vector<Expr> point(it_.extents.size(), b_.integer(0));
        for (size_t k = 0; k < kept_.size(); ++k) point[kept_[k]] = kept_point[k];
        Index index = it_.logical(dag_, point, r_.shape);
        Index within = dag_.delinearize(flat, row_shape);
        size_t next = 0;
        for (size_t a = 0; a < r_.shape.size(); ++a)
          if (r_.reduced[a]) index[a] = within[next++];
        return index;
      };
      using Body = std::function<void(const Index&, Expr, int64_t)>;
      auto over_row = [&](int64_t step, const Body& body) {
        const int64_t n = r_.row_elements, whole = n / step * step;
        auto one = [&](Expr i, int64_t u) {
          fresh(tail);
          body(index_at(i), i * lanes_, u);
        };
        if (whole > 0)
          b_.loop(b_.integer(0), b_.integer(whole), step, LoopKind::kSerial, [&](Expr i) {
            dag_.note_range(i, 0, whole - step);
            for (int64_t u = 0; u < step; ++u) one(i + u, u);
          });
        for (int64_t i = whole; i < n; ++i) one(b_.integer(i), i - whole);
      };
      for (int32_t pass = 0; pass < reduce_passes(); ++pass) {
        const auto now = of_pass(pass);
        std::vector<loop::Buffer> acc;
        for (size_t k : now) {
          acc.push_back(b_.local(loop::Space::kRegister, dtype_of(k), virtual_lanes, lanes_));
          for (int64_t u = 0; u < virtual_lanes; ++u) b_.store(acc.back(), b_.integer(u), identity(k, lanes_));
        }
        over_row(virtual_lanes, [&](const Index& index, Expr position, int64_t u) {
          bind_kept_loads(pass, [&] { return position; });
          fill_kept(pass, index, [&] { return position; });
          for (size_t n = 0; n < now.size(); ++n) {
            Expr v = dag_.at(reduction(now[n]).inputs[0], index);
            if (v->type.lanes == 1) v = loop::splat(v, lanes_);
            b_.store(acc[n], b_.integer(u), emit_combine(op_of(now[n]), loop::load(b_.context(), acc[n], b_.integer(u), lanes_), v));
          }
        });
        for (size_t n = 0; n < now.size(); ++n) {
          // A fixed tree over the accumulators: i with i + n/2.
          std::vector<Expr> parts;
          for (int64_t u = 0; u < virtual_lanes; ++u) parts.push_back(loop::load(b_.context(), acc[n], b_.integer(u), lanes_));
          while (parts.size() > 1) {
            const size_t half = (parts.size() + 1) / 2;
            for (size_t u = 0; u + half < parts.size(); ++u) parts[u] = emit_combine(op_of(now[n]), parts[u], parts[u + half]);
            parts.resize(half);
          }
          Expr result = b_.let(mean_of(now[n], parts[0]));
          dag_.bind(reduction(now[n]).outputs[0], [result](const Index&) { return result; });
        }
      }
      fresh(tail);
      store_row_values(kept_point, tail);
      if (has_full_output())
        over_row(1, [&](const Index& index, Expr position, int64_t) {
          bind_kept_loads(r_.passes, [&] { return position; });
          store_full(index);
        });
      for (ValueId v : keep_) dag_.unbind(v);
    };
    const int64_t whole = length / lanes_;
    if (length % lanes_ == 0) {
      work(b_.let(block * lanes_), false);
    } else if (whole == 0) {
      work(b_.integer(0), true);
    } else {
      b_.if_then(loop::lt(block, b_.integer(whole)), [&] { work(b_.let(block * lanes_), false); }, [&] { work(b_.integer(whole * lanes_), true); });
    }
  }

  // ---- results ---------------------------------------------------------------------------------------------------------------------

  bool has_full_output() const {
    return std::any_of(g_.outputs.begin(), g_.outputs.end(), [&](ValueId v) { return r_.form[static_cast<size_t>(v)] == RowForm::kFull; });
  }
  void store_full(const Index& index) {
    std::vector<std::pair<ValueId, Expr>> values;
    for (ValueId v : g_.outputs)
      if (r_.form[static_cast<size_t>(v)] == RowForm::kFull) values.emplace_back(v, b_.let(dag_.at(v, index)));
    for (auto& [v, e] : values) phase_.store_output(v, index, e);
  }
  void store_row_values(const std::vector<Expr>& kept_point, Expr) {
    std::vector<Expr> point(it_.extents.size(), b_.integer(0));
    for (size_t k = 0; k < kept_.size(); ++k) point[kept_[k]] = kept_point[k];
    const Index full = it_.logical(dag_, point, r_.shape);
    for (ValueId v : g_.outputs) {
      const RowForm form = r_.form[static_cast<size_t>(v)];
      if (form == RowForm::kFull) continue;
      Index index;
      for (size_t a = 0; a < r_.shape.size(); ++a) {
        if (!r_.reduced[a]) index.push_back(full[a]);
        else if (form == RowForm::kKept) index.push_back(b_.integer(0));
      }
      phase_.store_output(v, index, b_.let(dag_.at(v, index)));
    }
  }

  const Group& group_;
  const Graph& g_;
  const RowAnalysis& r_;
  const bool strict_;
  const int32_t lanes_;
  ProgramBuilder program_;
  PhaseBuilder phase_;
  loop::Builder& b_;
  Dag& dag_;
  Iteration it_;
  std::vector<size_t> kept_, reduced_;  // axes of the iteration
  std::vector<ValueId> keep_;
  std::map<ValueId, int32_t> first_use_;
  std::vector<loop::Buffer> kept_buffers_;
  int64_t unroll_, grain_rows_;
  bool along_row_ = true;
};

bool accepts_rows(const Group& group, RowAnalysis* r, std::string* why) {
  const graph::NodeId anchor = group.anchor;
  if (anchor == graph::kNoNode || !std::get_if<graph::Reduce>(&group.graph.node(anchor).op)) {
    if (why) *why = "the anchor is not a reduction";
    return false;
  }
  return analyze_rows(group, r, why);
}

bool accepts_reduce(const Group& group, const BuildContext&, std::string* why) {
  RowAnalysis r;
  if (!accepts_rows(group, &r, why)) return false;
  if (r.passes > 1) {
    if (why) *why = "more than one pass over a row";
    return false;
  }
  return true;
}

bool accepts_normalize(const Group& group, const BuildContext&, std::string* why) {
  RowAnalysis r;
  return accepts_rows(group, &r, why);
}

Result<loop::Program> build_reduce(const Group& g, const Params& p, const BuildContext& c) { return rows_build(g, p, c, "reduce"); }
Result<loop::Program> build_normalize(const Group& g, const Params& p, const BuildContext& c) { return rows_build(g, p, c, "normalize"); }

}  // namespace

Space rows_space(const Group& group, const BuildContext& context) {
  RowAnalysis r;
  Space s;
  if (!analyze_rows(group, &r, nullptr)) return s;
  s.dims.push_back({"unroll", context.numerics == Numerics::kStrict ? std::vector<int64_t>{1} : std::vector<int64_t>{1, 2, 4, 8}, "accumulators per reduction"});
  s.dims.push_back({"keep", values_to_keep(group, r).empty() ? std::vector<int64_t>{0} : std::vector<int64_t>{0, 1}, "keep dear values of a row in a buffer"});
  s.dims.push_back({"rows", {1, 4, 16}, "rows handed out at a time"});
  return s;
}

Params rows_heuristic(const Group& group, const BuildContext& context) {
  RowAnalysis r;
  analyze_rows(group, &r, nullptr);
  const bool keep = !values_to_keep(group, r).empty();
  const int64_t unroll = context.numerics == Numerics::kStrict ? 1 : 4;
  return Params{{"unroll", unroll}, {"keep", keep ? 1 : 0}, {"rows", 1}};
}

Cost rows_cost(const Group& group, const Params&, const BuildContext& context) { return group_cost(group, context, 8); }

Result<loop::Program> rows_build(const Group& group, const Params& params, const BuildContext& context, const char* family) {
  RowAnalysis r;
  std::string why;
  if (!analyze_rows(group, &r, &why)) return make_error(Code::kInternal, std::string(family) + ": " + why);
  return RowsBuilder(group, r, params, context, family).take();
}

Family reduce_family() { return {"reduce", 1, accepts_reduce, rows_space, rows_heuristic, rows_cost, build_reduce}; }
Family normalize_family() { return {"normalize", 1, accepts_normalize, rows_space, rows_heuristic, rows_cost, build_normalize}; }

}  // namespace frit::codegen
