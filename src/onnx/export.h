// Graph -> ONNX: bytes, or a file with its large weights beside it. Written for opset 20, IR version 9.
//
// What the importer reads back is an equivalent graph; ONNX Runtime and onnx.checker accept it. Ops that ONNX
// lacks are spelled with those it has. Graphs with physical layouts, or with sizes that only a symbolic
// expression gives, cannot be written and are Code::kUnsupported, naming the node.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/seams.h"
#include "frit/result.h"
#include "graph/ir.h"

namespace frit::onnx {

struct ExportOptions {
  std::string producer = "frit";
  // Constants of at least this many bytes (and never less than 1024) go to PATH's external data file.
  // Protobuf readers stop at 2 GB per model, so a larger one needs it.
  uint64_t external_from_bytes = UINT64_MAX;
};

// Constants that point into a file are read while this runs, not kept.
Result<std::string> export_bytes(const graph::Graph& graph, const ExportOptions& options = {});

// Writes `path`, and `path` with ".data" in place of ".onnx" (or appended) for external data. Each file is
// replaced as a whole; the data file first.
Status export_model(base::FileSystem& files, const graph::Graph& graph, const std::string& path,
                    const ExportOptions& options = {});

// One TensorProto, as test data and tools exchange them: `bytes` are row-major and little-endian. The shape
// must be constant.
std::string export_tensor(const graph::TensorType& type, std::string_view bytes, const std::string& name);

}  // namespace frit::onnx
