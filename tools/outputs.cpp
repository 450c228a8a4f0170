#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/try.h"
#include "graph/ir.h"
#include "inputs.h"
#include "npy.h"
#include "onnx/export.h"

namespace frit::tools {

namespace {

std::string file_name(const std::string& output) {
  std::string name = output;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

std::string tensor_proto(const Tensor& tensor, const std::string& name) {
  graph::TensorType type;
  type.dtype = tensor.dtype();
  for (const int64_t d : tensor.shape()) type.shape.emplace_back(d);
  return onnx::export_tensor(type, {reinterpret_cast<const char*>(tensor.bytes()), tensor.size_bytes()},
                             name);
}

}  // namespace

Result<Format> parse_format(const std::string& text) {
  if (text == "npy") return Format::kNpy;
  if (text == "pb") return Format::kPb;
  return make_error(Code::kInvalidArgument, "--format is '" + text + "', expected npy or pb");
}

Status write_outputs(base::FileSystem& files, const std::string& folder, Format format, const Model& model,
                     const std::vector<Tensor>& outputs) {
  FRIT_TRY(files.make_folders(folder));
  std::set<std::string> written;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const std::string& output = model.outputs()[k].name;
    const std::string path = folder + "/" + file_name(output) + (format == Format::kNpy ? ".npy" : ".pb");
    if (!written.insert(path).second)
      return make_error(Code::kInvalidArgument, base::text_of("two outputs would be written to ", path));
    FRIT_TRY(format == Format::kNpy ? write_npy(files, path, outputs[k])
                                    : files.write_atomic(path, tensor_proto(outputs[k], output)));
  }
  return {};
}

}  // namespace frit::tools
