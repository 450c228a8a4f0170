#include "codegen/families/matmul_shape.h"

#include "codegen/families/anchored.h"

namespace frit::codegen {

using graph::ValueId;
using loop::Expr;

namespace {

std::vector<int64_t> dims(const graph::Graph& g, ValueId v) {
  std::vector<int64_t> out;
  for (const auto& d : g.value(v).type.shape) out.push_back(d.value());
  return out;
}

int64_t product(const std::vector<int64_t>& v, size_t end) {
  int64_t n = 1;
  for (size_t k = 0; k < end; ++k) n *= v[k];
  return n;
}

}  // namespace

Index MatmulShape::row_index(Dag& dag, Expr batch_index, Expr m) const {
  std::vector<int64_t> shape = batch;
  shape.push_back(rows);
  if (folded) return dag.delinearize(m, shape);
  Index index = dag.delinearize(batch_index, batch);
  index.push_back(m);
  return index;
}

Index MatmulShape::b_index(Dag& dag, loop::Context& context, Expr batch_index) const {
  return folded ? Index(batch.size(), loop::int_const(context, 0)) : dag.delinearize(batch_index, batch);
}

MatmulShape matmul_shape(const Group& group) {
  const graph::Graph& g = group.graph;
  const graph::Node& node = g.node(group.anchor);
  const auto a = dims(g, node.inputs[0]), b = dims(g, node.inputs[1]), c = dims(g, node.outputs[0]);
  MatmulShape s;
  s.batch.assign(c.begin(), c.end() - 2);
  s.rows = c[c.size() - 2];
  const int64_t batch = product(c, c.size() - 2);
  s.folded = product(b, b.size() - 2) == 1;
  s.problem.batch = s.folded ? 1 : batch;
  s.problem.m = s.folded ? batch * s.rows : s.rows;
  s.problem.n = c.back();
  s.problem.run = a.back();
  s.b_batch = s.folded ? 1 : batch;
  s.constant_b = is_constant_value(group, node.inputs[1]);
  return s;
}

bool accepts_matmul(const Group& group, std::string* why) {
  Anchored anchored;
  if (group.anchor == graph::kNoNode || !std::get_if<graph::MatMul>(&group.graph.node(group.anchor).op)) {
    if (why) *why = "the anchor is not a matmul";
    return false;
  }
  if (!analyze_anchored(group, &anchored, why)) return false;
  for (ValueId v : {anchored.anchor->inputs[0], anchored.anchor->inputs[1], anchored.result})
    if (group.graph.value(v).type.dtype != DType::kF32) {
      if (why) *why = "operands are not f32";
      return false;
    }
  return only_views_before(group.graph, anchored.anchor->inputs[0], why) &&
         only_views_before(group.graph, anchored.anchor->inputs[1], why);
}

}  // namespace frit::codegen
