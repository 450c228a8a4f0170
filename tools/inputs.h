// From --input and --shape to the tensors of a run, and from results to files.
#pragma once

#include <string>
#include <vector>

#include "base/seams.h"
#include "common.h"
#include "frit/model.h"
#include "frit/session.h"
#include "frit/tensor.h"

namespace frit::tools {

// One tensor per input of the model, in its order. Inputs that are not named get seeded random values: floats
// in
// [-1, 1), integers below the smallest axis that they index, 1 where they index none, booleans true.
Result<std::vector<Tensor>> make_inputs(const Model& model, const InputOptions& options);
// Concrete shapes of all inputs from files, --shape and the model; dimensions that nobody names are 1.
Result<std::vector<NamedShape>> input_shapes(const Model& model, const InputOptions& options,
                                             const std::vector<std::pair<std::string, int64_t>>& sizes = {});

enum class Format : uint8_t { kNpy, kPb };
Result<Format> parse_format(const std::string& text);  // "npy" or "pb"
// DIR/NAME.npy or DIR/NAME.pb (a TensorProto) per output, with / in names as _; the folder is made if it is
// missing.
Status write_outputs(base::FileSystem& files, const std::string& folder, Format format, const Model& model,
                     const std::vector<Tensor>& outputs);

}  // namespace frit::tools
