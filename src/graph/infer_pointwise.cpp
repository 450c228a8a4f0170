// Rules of pointwise ops, and of composites that keep their input's type.
#include "graph/infer_context.h"

namespace frit::graph {
namespace {

Result<Types> float_like(InferContext& c) {
  FRIT_TRY(c.require_dtype(0, is_float(c.dtype(0)), "a float type"));
  return Types{make_type(c.dtype(0), c.shape(0))};
}

}  // namespace

Result<Types> infer_op(const Unary& op, InferContext& c) {
  const DType t = c.dtype(0);
  DType out = t;
  switch (op.op) {
    case UnaryOp::kNot:
      FRIT_TRY(c.require_dtype(0, t == DType::kBool, "bool"));
      break;
    case UnaryOp::kBitNot:
      FRIT_TRY(c.require_dtype(0, is_int(t), "an integer type"));
      break;
    case UnaryOp::kNeg:
      FRIT_TRY(c.require_dtype(0, is_float(t) || is_signed_int(t), "a float or signed integer type"));
      break;
    case UnaryOp::kAbs:
    case UnaryOp::kSign:
    case UnaryOp::kRelu:
      FRIT_TRY(c.require_dtype(0, is_numeric(t), "a numeric type"));
      break;
    case UnaryOp::kIsNan:
    case UnaryOp::kIsInf:
      out = DType::kBool;
      [[fallthrough]];
    default:
      FRIT_TRY(c.require_dtype(0, is_float(t), "a float type"));
  }
  return Types{make_type(out, c.shape(0))};
}

Result<Types> infer_op(const Binary& op, InferContext& c) {
  FRIT_TRY(c.same_dtype(0, 1));
  const DType t = c.dtype(0);
  DType out = t;
  switch (op.op) {
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kXor:
      FRIT_TRY(c.require_dtype(0, t == DType::kBool, "bool"));
      break;
    case BinaryOp::kBitAnd:
    case BinaryOp::kBitOr:
    case BinaryOp::kBitXor:
    case BinaryOp::kShl:
    case BinaryOp::kShr:
      FRIT_TRY(c.require_dtype(0, is_int(t), "an integer type"));
      break;
    case BinaryOp::kEq:
    case BinaryOp::kNe:
      out = DType::kBool;
      break;
    case BinaryOp::kLt:
    case BinaryOp::kLe:
    case BinaryOp::kGt:
    case BinaryOp::kGe:
      out = DType::kBool;
      [[fallthrough]];
    default:
      FRIT_TRY(c.require_dtype(0, is_numeric(t), "a numeric type"));
  }
  FRIT_ASSIGN(Shape shape, c.broadcast(c.shape(0), c.shape(1)));
  return Types{make_type(out, std::move(shape))};
}

Result<Types> infer_op(const Select&, InferContext& c) {
  FRIT_TRY(c.require_dtype(0, c.dtype(0) == DType::kBool, "bool"));
  FRIT_TRY(c.same_dtype(1, 2));
  FRIT_ASSIGN(const Shape branches, c.broadcast(c.shape(1), c.shape(2)));
  FRIT_ASSIGN(Shape shape, c.broadcast(c.shape(0), branches));
  return Types{make_type(c.dtype(1), std::move(shape))};
}

Result<Types> infer_op(const Cast& op, InferContext& c) { return Types{make_type(op.to, c.shape(0))}; }

Result<Types> infer_op(const Gelu&, InferContext& c) { return float_like(c); }
Result<Types> infer_op(const HardSigmoid&, InferContext& c) { return float_like(c); }
Result<Types> infer_op(const HardSwish&, InferContext& c) { return float_like(c); }
Result<Types> infer_op(const LeakyRelu&, InferContext& c) { return float_like(c); }

Result<Types> infer_op(const Clip&, InferContext& c) {
  FRIT_TRY(c.require_dtype(0, is_numeric(c.dtype(0)), "a numeric type"));
  for (size_t i = 1; i <= 2; ++i) {
    if (!c.has(i)) continue;
    FRIT_TRY(c.same_dtype(0, i));
    const auto count = element_count(c.shape(i)).constant();
    if (count && *count != 1) {
      return c.fail("input ", i, " (", i == 1 ? "min" : "max", ") has shape ", shape_text(c.shape(i)),
                    ", expected a scalar");
    }
  }
  return Types{make_type(c.dtype(0), c.shape(0))};
}

Result<Types> infer_op(const BatchNorm&, InferContext& c) {
  FRIT_TRY(c.require_dtype(0, is_float(c.dtype(0)), "a float type"));
  if (c.rank(0) < 2) return c.fail("input 0 has shape ", shape_text(c.shape(0)), ", expected rank 2 or more");
  for (size_t i = 1; i <= 4; ++i) {
    FRIT_TRY(c.same_dtype(0, i));
    FRIT_TRY(c.require_rank(i, 1));
    FRIT_TRY(c.equal_dims(c.shape(0)[1], c.shape(i)[0], base::text_of("channels of inputs 0 and ", i)));
  }
  return Types{make_type(c.dtype(0), c.shape(0))};
}

Result<Types> infer_op(const Softmax& op, InferContext& c) {
  FRIT_TRY(c.require_axis(op.axis, c.rank(0)));
  return float_like(c);
}

Result<Types> infer_op(const LayerNorm& op, InferContext& c) {
  FRIT_TRY(c.require_dtype(0, is_float(c.dtype(0)), "a float type"));
  FRIT_TRY(c.require_axis(op.axis, c.rank(0)));
  const Shape& x = c.shape(0);
  const Shape normalised(x.begin() + op.axis, x.end());
  for (size_t i = 1; i <= 2; ++i) {
    if (!c.has(i)) continue;
    FRIT_TRY(c.same_dtype(0, i));
    if (c.rank(i) > normalised.size()) {
      return c.fail("input ", i, " has shape ", shape_text(c.shape(i)), ", expected ",
                    shape_text(normalised));
    }
    FRIT_ASSIGN(const Shape both, c.broadcast(normalised, c.shape(i)));
    for (size_t k = 0; k < both.size(); ++k)
      FRIT_TRY(c.equal_dims(both[k], normalised[k], base::text_of("axis ", k, " of input ", i)));
  }
  Types types{make_type(c.dtype(0), x)};
  Shape statistics = x;
  for (size_t k = static_cast<size_t>(op.axis); k < x.size(); ++k) statistics[k] = 1;
  const DType wide = c.dtype(0) == DType::kF64 ? DType::kF64 : DType::kF32;
  while (types.size() < c.output_count()) types.push_back(make_type(wide, statistics));
  return types;
}

}  // namespace frit::graph
