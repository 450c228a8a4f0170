// Arrays in numpy's .npy format (version 1.0, C order, little-endian).
#pragma once

#include <string>

#include "base/seams.h"
#include "frit/result.h"
#include "frit/tensor.h"

namespace frit::tools {

Result<Tensor> read_npy(base::FileSystem& files, const std::string& path);
Status write_npy(base::FileSystem& files, const std::string& path, const Tensor& tensor);

}  // namespace frit::tools
