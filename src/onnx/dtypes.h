// Element types of ONNX (TensorProto.DataType) and of frit, and back.
#pragma once

#include <cstdint>

#include "frit/dtype.h"
#include "frit/result.h"

namespace frit::onnx {

// kUnsupported for strings, complex numbers and the narrow types that frit has no element type for; kBadModel
// for numbers that ONNX does not know.
Result<DType> dtype_from_onnx(int64_t data_type);
int32_t dtype_to_onnx(DType dtype);

}  // namespace frit::onnx
