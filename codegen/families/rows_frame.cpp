#include "codegen/families/rows_frame.h"

#include <algorithm>

#include "codegen/families/scalar_ops.h"

namespace frit::codegen {

using graph::Graph;
using graph::Node;
using graph::ValueId;
using loop::Expr;

namespace {

constexpr int64_t kMaxKeptElements = 256 * 1024;  // of a row buffer

std::vector<int32_t> all_inputs(const Group& group) {
  std::vector<int32_t> all;
  for (size_t k = 0; k < group.graph.inputs.size(); ++k) all.push_back(static_cast<int32_t>(k));
  return all;
}

}  // namespace

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
      if (u->op == graph::UnaryOp::kExp || u->op == graph::UnaryOp::kErf || u->op == graph::UnaryOp::kTanh ||
          u->op == graph::UnaryOp::kSigmoid || u->op == graph::UnaryOp::kLog)
        own = 15;
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

RowFrame::RowFrame(const Group& group, const RowAnalysis& r, bool keep, const BuildContext& context,
                   ProgramBuilder::Device device, int32_t lanes, const char* family)
    : group_(group),
      g_(group.graph),
      r_(r),
      strict_(context.numerics == Numerics::kStrict),
      lanes_(lanes),
      program_(group, device),
      phase_(program_, family, lanes_, all_inputs(group), {}, group.graph.outputs, {}),
      b_(phase_.builder()),
      dag_(phase_.dag()),
      it_(make_iteration(group, r.space, r.reduced)),
      keep_(keep ? values_to_keep(group, r) : std::vector<ValueId>{}) {
  for (size_t k = 0; k < it_.extents.size(); ++k) {
    const bool red = r_.reduced[static_cast<size_t>(it_.axes[k][0])];
    (red ? reduced_ : kept_).push_back(k);
  }
}

std::vector<int64_t> RowFrame::extents_of(const std::vector<size_t>& axes) const {
  std::vector<int64_t> out;
  for (size_t k : axes) out.push_back(it_.extents[k]);
  return out;
}

void RowFrame::fresh(Expr tail) {
  dag_.forget();
  dag_.set_tail(tail);
}

Expr RowFrame::identity(size_t k, int32_t lanes) {
  return reduce_identity(b_.context(), op_of(k), dtype_of(k), lanes);
}

std::vector<size_t> RowFrame::of_pass(int32_t pass) const {
  std::vector<size_t> out;
  for (size_t k = 0; k < r_.reductions.size(); ++k)
    if (r_.pass[static_cast<size_t>(r_.reductions[k])] == pass + 1) out.push_back(k);
  return out;
}

int32_t RowFrame::reduce_passes() const {
  int32_t n = 0;
  for (graph::NodeId id : r_.reductions) n = std::max(n, r_.pass[static_cast<size_t>(id)]);
  return n;
}

Expr RowFrame::combine(size_t k, Expr a, Expr b) const { return emit_combine(op_of(k), a, b); }

Expr RowFrame::fold_lanes(size_t k, Expr v) const {
  switch (op_of(k)) {
    case graph::ReduceOp::kProd:
      return loop::reduce(loop::OpCode::kMul, v);
    case graph::ReduceOp::kMax:
      return loop::reduce(loop::OpCode::kMax, v);
    case graph::ReduceOp::kMin:
      return loop::reduce(loop::OpCode::kMin, v);
    default:
      return loop::reduce(loop::OpCode::kAdd, v);
  }
}

Expr RowFrame::mean_of(size_t k, Expr sum) {
  if (op_of(k) != graph::ReduceOp::kMean) return sum;
  return sum /
         loop::float_const(b_.context(), static_cast<double>(r_.row_elements), dtype_of(k), sum->type.lanes);
}

void RowFrame::bind_result(size_t k, Expr result) {
  result = b_.let(result);
  dag_.bind(reduction(k).outputs[0], [result](const Index&) { return result; });
}

void RowFrame::bind_kept_loads(int32_t pass, const std::function<Expr()>& position) {
  for (size_t k = 0; k < keep_.size(); ++k) {
    const ValueId v = keep_[k];
    if (first_use_[v] < pass) {
      const loop::Buffer buffer = kept_buffers_[k];
      Expr at = position();
      dag_.bind(v, [this, buffer, at](const Index&) {
        return b_.let(loop::load(b_.context(), buffer, at, lanes_));
      });
    }
  }
}

void RowFrame::fill_kept(int32_t pass, const Index& index, const std::function<Expr()>& position) {
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

void RowFrame::make_kept_buffers(loop::Space space, int64_t elements) {
  // First pass in which a kept value can be computed: when its own inputs are known.
  for (ValueId v : keep_) first_use_[v] = r_.pass[static_cast<size_t>(g_.value(v).producer)];
  if (elements > kMaxKeptElements) keep_.clear();
  for (ValueId v : keep_) kept_buffers_.push_back(b_.local(space, g_.value(v).type.dtype, elements));
}

Index RowFrame::row_index(const std::vector<Expr>& kept_point, Expr flat) {
  std::vector<int64_t> row_shape;
  for (size_t a = 0; a < r_.shape.size(); ++a)
    if (r_.reduced[a]) row_shape.push_back(r_.shape[a]);
  std::vector<Expr> point(it_.extents.size(), b_.integer(0));
  for (size_t k = 0; k < kept_.size(); ++k) point[kept_[k]] = kept_point[k];
  Index index = it_.logical(dag_, point, r_.shape);
  const Index within = dag_.delinearize(flat, row_shape);
  size_t next = 0;
  for (size_t a = 0; a < r_.shape.size(); ++a)
    if (r_.reduced[a]) index[a] = within[next++];
  return index;
}

bool RowFrame::has_full_output() const {
  return std::any_of(g_.outputs.begin(), g_.outputs.end(),
                     [&](ValueId v) { return r_.form[static_cast<size_t>(v)] == RowForm::kFull; });
}

void RowFrame::store_full(const Index& index) {
  std::vector<std::pair<ValueId, Expr>> values;
  for (ValueId v : g_.outputs)
    if (r_.form[static_cast<size_t>(v)] == RowForm::kFull) values.emplace_back(v, b_.let(dag_.at(v, index)));
  for (auto& [v, e] : values) phase_.store_output(v, index, e);
}

void RowFrame::store_row_values(const std::vector<Expr>& kept_point) {
  std::vector<Expr> point(it_.extents.size(), b_.integer(0));
  for (size_t k = 0; k < kept_.size(); ++k) point[kept_[k]] = kept_point[k];
  const Index full = it_.logical(dag_, point, r_.shape);
  for (ValueId v : g_.outputs) {
    const RowForm form = r_.form[static_cast<size_t>(v)];
    if (form == RowForm::kFull) continue;
    Index index;
    for (size_t a = 0; a < r_.shape.size(); ++a) {
      if (!r_.reduced[a])
        index.push_back(full[a]);
      else if (form == RowForm::kKept)
        index.push_back(b_.integer(0));
    }
    phase_.store_output(v, index, b_.let(dag_.at(v, index)));
  }
}

}  // namespace frit::codegen
