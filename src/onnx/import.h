// ONNX model -> Graph: from a file, or from memory.
//
// The first step of loading. Weights are not copied: constants point into the mapped model file or its
// external data files at whatever address they have there (exception: payloads that are not stored as plain
// bytes). Only operators of ai.onnx at opset 7 to 28 are known (ops_table.h); anything else
// is an Error that names file, node, operator and opset. Must not know passes: composites stay, shapes are
// inferred but nothing is simplified.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/seams.h"
#include "frit/result.h"
#include "graph/ir.h"

namespace frit::onnx {

// Bytes that somebody else holds. With an owner they are used in place and kept alive by the graph's
// constants; without one, every constant is copied out of them and they may go when the import returns.
struct Buffer {
  const std::byte* data = nullptr;
  size_t size_bytes = 0;
  std::shared_ptr<const void> owner;
};

// Finds external data of a model that comes from memory: `location` is what the model says, unchecked.
using ExternalResolver = std::function<Result<Buffer>(const std::string& location)>;

// Graph inputs are the model's inputs without an initializer, in its order; graph.output_names are the
// model's names. Named dimensions become symbols, unnamed ones get fresh names. External data is taken from
// the model's folder only.
Result<graph::Graph> import_model(base::FileSystem& files, const std::string& path);

// `name` stands for the file in messages.
Result<graph::Graph> import_bytes(const Buffer& model, const std::string& name,
                                  const ExternalResolver& resolver = {});

// One TensorProto (a .pb file of test data). External data is refused.
struct ImportedTensor {
  graph::TensorType type;
  std::shared_ptr<const graph::ConstantData> data;
  std::string name;
};
Result<ImportedTensor> import_tensor(const Buffer& bytes);

}  // namespace frit::onnx
