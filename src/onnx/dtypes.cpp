#include "onnx/dtypes.h"

#include <iterator>
#include <optional>

#include "base/text.h"

namespace frit::onnx {
namespace {

struct Row {
  const char* name;
  std::optional<DType> dtype;
};
// Indexed by TensorProto.DataType.
constexpr Row kTypes[] = {
    {"undefined", {}},
    {"float", DType::kF32},
    {"uint8", DType::kU8},
    {"int8", DType::kI8},
    {"uint16", DType::kU16},
    {"int16", DType::kI16},
    {"int32", DType::kI32},
    {"int64", DType::kI64},
    {"string", {}},
    {"bool", DType::kBool},
    {"float16", DType::kF16},
    {"double", DType::kF64},
    {"uint32", DType::kU32},
    {"uint64", DType::kU64},
    {"complex64", {}},
    {"complex128", {}},
    {"bfloat16", DType::kBF16},
    {"float8e4m3fn", {}},
    {"float8e4m3fnuz", {}},
    {"float8e5m2", {}},
    {"float8e5m2fnuz", {}},
    {"uint4", {}},
    {"int4", {}},
    {"float4e2m1", {}},
    {"float8e8m0", {}},
    {"uint2", {}},
    {"int2", {}},
    {"float6e2m3", {}},
    {"float6e3m2", {}},
};

}  // namespace

Result<DType> dtype_from_onnx(int64_t data_type) {
  if (data_type <= 0 || data_type >= static_cast<int64_t>(std::size(kTypes)))
    return make_error(Code::kBadModel, base::text_of("element type ", data_type, " is not one of ONNX"));
  const Row& row = kTypes[data_type];
  if (!row.dtype)
    return make_error(Code::kUnsupported, base::text_of("element type ", row.name, " is not supported"));
  return *row.dtype;
}

int32_t dtype_to_onnx(DType dtype) {
  for (size_t i = 0; i < std::size(kTypes); ++i)
    if (kTypes[i].dtype == dtype) return static_cast<int32_t>(i);
  return 0;
}

}  // namespace frit::onnx
