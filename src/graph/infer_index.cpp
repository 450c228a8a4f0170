// Rules of gathers, scatters, resizing and generators.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/infer_context.h"

namespace frit::graph {
namespace {

Status check_updates(const InferContext& c, const Shape& expected) {
  FRIT_TRY(c.same_dtype(0, 2));
  bool ok = c.rank(2) == expected.size();
  for (size_t k = 0; ok && k < expected.size(); ++k) {
    ok = c.equal_dims(c.shape(2)[k], expected[k], "updates").ok();
  }
  if (ok) return {};
  return c.fail("updates have shape ", shape_text(c.shape(2)), ", expected ", shape_text(expected));
}

// floor(d * scale), as ONNX computes it in single precision; none when it depends on a symbol.
std::optional<Dim> scaled(const Dim& d, float scale) {
  const double up = std::nearbyint(scale), down = std::nearbyint(1.0 / scale);
  if (static_cast<float>(up) == scale && up < 1e6) return d * Dim(static_cast<int64_t>(up));
  if (d.is_constant()) return Dim(static_cast<int64_t>(std::floor(static_cast<float>(d.value()) * scale)));
  if (down < 1e6 && static_cast<float>(1.0 / down) == scale)
    return floor_div(d, Dim(static_cast<int64_t>(down)));
  return std::nullopt;
}

std::optional<std::vector<float>> constant_floats(const InferContext& c, size_t i) {
  const Value& v = c.graph().value(c.node().inputs[i]);
  if (!v.is_constant() || v.type.dtype != DType::kF32) return std::nullopt;
  std::vector<float> out(v.constant->size_bytes / sizeof(float));
  if (!out.empty()) std::memcpy(out.data(), v.constant->bytes, out.size() * sizeof(float));
  return out;
}

Result<Shape> resized_by_scales(InferContext& c, const std::vector<float>& scales) {
  FRIT_TRY(c.require_count("scales", scales.size(), c.rank(0), c.rank(0)));
  Shape out = c.shape(0);
  for (size_t k = 0; k < out.size(); ++k) {
    if (!(scales[k] > 0) || !std::isfinite(scales[k]) ||
        static_cast<double>(out[k].constant().value_or(1)) * scales[k] > 1e15) {
      return c.fail("the scale of axis ", k, " is ", scales[k], ", expected a positive number");
    }
    const auto size = scaled(out[k], scales[k]);
    out[k] = size ? *size : c.data_dependent(0, out.size(), k);
  }
  return out;
}

Result<Shape> resized(const Resize& op, InferContext& c) {
  const size_t rank = c.rank(0);
  if (!c.has(1)) return op.scales.empty() ? c.declared_shape(rank) : resized_by_scales(c, op.scales);
  FRIT_TRY(c.require_rank(1, 1));
  if (const auto n = c.shape(1)[0].constant()) {
    FRIT_TRY(c.require_count(op.by_scales ? "scales" : "sizes", static_cast<size_t>(*n), rank, rank));
  }
  if (op.by_scales) {
    FRIT_TRY(c.require_dtype(1, c.dtype(1) == DType::kF32, "f32"));
    if (const auto scales = constant_floats(c, 1)) return resized_by_scales(c, *scales);
  } else {
    FRIT_TRY(c.require_index_type(1));
    if (const auto sizes = c.known(1); sizes && sizes->size() == rank) return *sizes;
  }
  Shape out;
  for (size_t k = 0; k < rank; ++k) out.push_back(c.data_dependent(0, rank, k));
  return out;
}

// The value of a one-element constant as a double.
std::optional<double> constant_scalar(const InferContext& c, size_t i) {
  const Value& v = c.graph().value(c.node().inputs[i]);
  if (!v.is_constant()) return std::nullopt;
  if (v.type.dtype == DType::kF32 && v.constant->size_bytes == sizeof(float)) {
    float f = 0;
    std::memcpy(&f, v.constant->bytes, sizeof f);
    return f;
  }
  if (v.type.dtype == DType::kF64 && v.constant->size_bytes == sizeof(double)) {
    double d = 0;
    std::memcpy(&d, v.constant->bytes, sizeof d);
    return d;
  }
  return std::nullopt;
}

}  // namespace

Result<Types> infer_op(const Gather& op, InferContext& c) {
  FRIT_TRY(c.require_index_type(1));
  FRIT_TRY(c.require_axis(op.axis, c.rank(0)));
  const Shape &data = c.shape(0), &indices = c.shape(1);
  Shape out(data.begin(), data.begin() + op.axis);
  out.insert(out.end(), indices.begin(), indices.end());
  out.insert(out.end(), data.begin() + op.axis + 1, data.end());
  return Types{make_type(c.dtype(0), std::move(out))};
}

Result<Types> infer_op(const GatherElements& op, InferContext& c) {
  FRIT_TRY(c.require_index_type(1));
  FRIT_TRY(c.require_axis(op.axis, c.rank(0)));
  FRIT_TRY(c.require_rank(1, c.rank(0)));
  return Types{make_type(c.dtype(0), c.shape(1))};
}

Result<Types> infer_op(const GatherND& op, InferContext& c) {
  FRIT_TRY(c.require_index_type(1));
  const Shape &data = c.shape(0), &indices = c.shape(1);
  if (data.empty() || indices.empty())
    return c.fail("data and indices have ranks ", data.size(), " and ", indices.size(),
                  ", expected at least 1");
  const auto limit = static_cast<int64_t>(std::min(data.size(), indices.size()));
  if (op.batch_dims < 0 || op.batch_dims >= limit) {
    return c.fail("batch_dims is ", op.batch_dims, ", expected 0 to ", limit - 1);
  }
  const auto depth = indices.back().constant();
  if (!depth) return make_error(Code::kUnsupported, "the rank of the output depends on data");
  if (*depth < 1 || *depth > static_cast<int64_t>(data.size()) - op.batch_dims) {
    return c.fail("indices has shape ", shape_text(indices), ", whose last axis does not fit data ",
                  shape_text(data));
  }
  Shape out(indices.begin(), indices.end() - 1);
  for (int64_t k = 0; k < op.batch_dims; ++k) {
    FRIT_ASSIGN(out[static_cast<size_t>(k)],
                c.equal_dims(data[static_cast<size_t>(k)], indices[static_cast<size_t>(k)],
                             base::text_of("batch axis ", k)));
  }
  out.insert(out.end(), data.begin() + op.batch_dims + *depth, data.end());
  return Types{make_type(c.dtype(0), std::move(out))};
}

Result<Types> infer_op(const ScatterElements& op, InferContext& c) {
  FRIT_TRY(c.require_index_type(1));
  FRIT_TRY(c.require_axis(op.axis, c.rank(0)));
  FRIT_TRY(c.require_rank(1, c.rank(0)));
  FRIT_TRY(check_updates(c, c.shape(1)));
  return Types{make_type(c.dtype(0), c.shape(0))};
}

Result<Types> infer_op(const ScatterND&, InferContext& c) {
  FRIT_TRY(c.require_index_type(1));
  const Shape &data = c.shape(0), &indices = c.shape(1);
  if (indices.empty()) return c.fail("indices have rank 0, expected at least 1");
  const auto depth = indices.back().constant();
  if (depth) {
    if (*depth < 0 || *depth > static_cast<int64_t>(data.size())) {
      return c.fail("indices has shape ", shape_text(indices), ", whose last axis does not fit data ",
                    shape_text(data));
    }
    Shape expected(indices.begin(), indices.end() - 1);
    expected.insert(expected.end(), data.begin() + *depth, data.end());
    FRIT_TRY(check_updates(c, expected));
  }
  return Types{make_type(c.dtype(0), data)};
}

Result<Types> infer_op(const Resize& op, InferContext& c) {
  FRIT_TRY(c.require_dtype(0, is_numeric(c.dtype(0)), "a numeric type"));
  FRIT_ASSIGN(Shape out, resized(op, c));
  for (size_t k = 0; k < out.size(); ++k) {
    if (c.shape(0)[k] == Dim(0) && out[k].constant().value_or(0) > 0) {
      return c.fail("axis ", k, " is empty and cannot be resized to ", out[k].text(), " elements");
    }
  }
  return Types{make_type(c.dtype(0), std::move(out))};
}

Result<Types> infer_op(const Range&, InferContext& c) {
  FRIT_TRY(c.same_dtype(0, 1));
  FRIT_TRY(c.same_dtype(0, 2));
  FRIT_TRY(c.require_dtype(0, is_numeric(c.dtype(0)), "a numeric type"));
  const auto start = c.known(0), limit = c.known(1), delta = c.known(2);
  Dim size;
  const bool known =
      start && limit && delta && start->size() == 1 && limit->size() == 1 && delta->size() == 1;
  if (known && (*delta)[0].is_constant()) {
    const Dim step = (*delta)[0];
    if (step == Dim(0)) return c.fail("delta is 0");
    size = max(ceil_div((*limit)[0] - (*start)[0], step), 0);
  } else if (const auto a = constant_scalar(c, 0), b = constant_scalar(c, 1), d = constant_scalar(c, 2);
             a && b && d) {
    const double n = std::ceil((*b - *a) / *d);
    if (!(n < 9e15)) return c.fail("the range from ", *a, " to ", *b, " in steps of ", *d, " has no end");
    size = n > 0 ? Dim(static_cast<int64_t>(n)) : Dim(0);
  } else {
    size = c.data_dependent(0, 1, 0);
  }
  return Types{make_type(c.dtype(0), {size})};
}

Result<Types> infer_op(const Iota& op, InferContext& c) {
  const TensorType* type = c.declared(0);
  if (!type) return c.fail("the output's shape is not given");
  FRIT_TRY(c.require_axis(op.axis, type->shape.size()));
  return Types{make_type(DType::kI64, type->shape)};
}

Result<Types> infer_op(const ShapeOf& op, InferContext& c) {
  const auto rank = static_cast<int64_t>(c.rank(0));
  if (op.start < 0 || op.end < op.start || op.end > rank) {
    return c.fail("dimensions ", op.start, " to ", op.end, " are taken, expected a part of 0 to ", rank);
  }
  return Types{make_type(DType::kI64, {op.end - op.start})};
}

Result<Types> infer_op(const Fill&, InferContext& c) {
  const TensorType* type = c.declared(0);
  if (!type) return c.fail("the output's type is not given");
  if (!c.has(0)) return Types{make_type(type->dtype, type->shape)};
  FRIT_ASSIGN(const std::optional<int64_t> rank, c.shape_vector(0));
  if (!rank) return make_error(Code::kUnsupported, "the rank of the output depends on data");
  if (auto shape = c.known(0)) return Types{make_type(type->dtype, std::move(*shape))};
  Shape out;
  for (size_t k = 0; k < static_cast<size_t>(*rank); ++k)
    out.push_back(c.data_dependent(0, static_cast<size_t>(*rank), k));
  return Types{make_type(type->dtype, std::move(out))};
}

Result<Types> infer_op(const NonZero&, InferContext& c) {
  return Types{make_type(DType::kI64, {static_cast<int64_t>(c.rank(0)), c.data_dependent(0, 2, 1)})};
}

}  // namespace frit::graph
