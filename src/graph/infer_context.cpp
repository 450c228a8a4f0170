#include "graph/infer_context.h"

#include <algorithm>

namespace frit::graph {
namespace {

// One past the largest N of the symbols "?N" in the graph.
int64_t first_free_number(const Graph& graph) {
  std::vector<std::string> symbols;
  for (const Value& v : graph.values) {
    for (const Dim& d : v.type.shape) d.collect_symbols(symbols);
  }
  for (const Node& n : graph.nodes) {
    if (const Slice* slice = std::get_if<Slice>(&n.op)) {
      for (const Dim& d : slice->starts) d.collect_symbols(symbols);
    }
  }
  int64_t next = 0;
  for (const std::string& name : symbols) {
    if (name.empty() || name[0] != '?') continue;
    const auto number = base::parse_number<int32_t>(std::string_view(name).substr(1));
    if (number && *number >= next) next = int64_t{*number} + 1;
  }
  return next;
}

}  // namespace

std::optional<std::vector<Dim>> InferContext::known(size_t i) const {
  return has(i) ? known_contents(graph_, node_.inputs[i]) : std::nullopt;
}

const TensorType* InferContext::declared(size_t j) const {
  if (j >= node_.outputs.size() || node_.outputs[j] == kNoValue) return nullptr;
  return &graph_.value(node_.outputs[j]).type;
}

Dim InferContext::data_dependent(size_t j, size_t rank, size_t axis) {
  const TensorType* type = declared(j);
  if (type && type->shape.size() == rank) return type->shape[axis];
  if (fresh_.next < 0) fresh_.next = first_free_number(graph_);
  return Dim::symbol(base::text_of('?', fresh_.next++));
}

Result<Shape> InferContext::declared_shape(size_t rank) const {
  const TensorType* type = declared(0);
  if (!type) return fail("the output's shape is not given, and there is no shape input");
  if (type->shape.size() != rank) {
    return fail("output has shape ", shape_text(type->shape), ", expected rank ", rank);
  }
  return type->shape;
}

Status InferContext::same_dtype(size_t i, size_t j) const {
  if (dtype(i) == dtype(j)) return {};
  return fail("inputs ", i, " and ", j, " have types ", dtype_name(dtype(i)), " and ", dtype_name(dtype(j)),
              ", expected the same");
}

Status InferContext::require_dtype(size_t i, bool ok, std::string_view expected) const {
  if (ok) return {};
  return fail("input ", i, " has type ", dtype_name(dtype(i)), ", expected ", expected);
}

Status InferContext::require_rank(size_t i, size_t expected) const {
  if (rank(i) == expected) return {};
  return fail("input ", i, " has shape ", shape_text(shape(i)), ", expected rank ", expected);
}

Status InferContext::require_axis(int64_t axis, size_t rank) const {
  if (axis >= 0 && static_cast<size_t>(axis) < rank) return {};
  return fail("axis ", axis, " is out of range, expected 0 to ", static_cast<int64_t>(rank) - 1, " for rank-",
              rank, " input");
}

Status InferContext::require_count(std::string_view name, size_t count, size_t expected, size_t rank) const {
  if (count == expected) return {};
  return fail(name, " has ", count, " values, expected ", expected, " for rank-", rank, " input");
}

Status InferContext::require_at_least(std::string_view name, const std::vector<int64_t>& values,
                                      int64_t least) const {
  for (int64_t v : values) {
    if (v < least) return fail(name, " has the value ", v, ", expected at least ", least);
  }
  return {};
}

Status InferContext::require_index_type(size_t i) const {
  return require_dtype(i, dtype(i) == DType::kI32 || dtype(i) == DType::kI64, "i32 or i64");
}

Result<std::optional<int64_t>> InferContext::shape_vector(size_t i) const {
  FRIT_TRY(require_index_type(i));
  FRIT_TRY(require_rank(i, 1));
  const std::optional<int64_t> length = shape(i)[0].constant();
  if (length && (*length < 0 || *length > 64))
    return fail("input ", i, " gives ", *length, " dimensions, expected at most 64");
  return length;
}

Result<Dim> InferContext::equal_dims(const Dim& a, const Dim& b, std::string_view what) const {
  if (a == b || b.is_constant() != a.is_constant()) return a.is_constant() ? a : b;
  if (a.is_constant()) return fail(what, ": ", a.text(), " and ", b.text(), " differ");
  return a;
}

Result<Shape> InferContext::broadcast(const Shape& a, const Shape& b) const {
  const size_t rank = std::max(a.size(), b.size());
  Shape out(rank);
  for (size_t k = 0; k < rank; ++k) {  // from the last axis
    const Dim x = k < a.size() ? a[a.size() - 1 - k] : Dim(1);
    const Dim y = k < b.size() ? b[b.size() - 1 - k] : Dim(1);
    Dim& d = out[rank - 1 - k];
    if (x == y || y == Dim(1)) {
      d = x;
    } else if (x == Dim(1)) {
      d = y;
    } else if (x.is_constant() && y.is_constant()) {
      return fail("shapes ", shape_text(a), " and ", shape_text(b), " do not broadcast: axis ", rank - 1 - k,
                  " has ", x.text(), " and ", y.text());
    } else if (x.is_constant() || y.is_constant()) {
      d = x.is_constant() ? x : y;
    } else {
      d = max(x, y);
    }
  }
  return out;
}

}  // namespace frit::graph
