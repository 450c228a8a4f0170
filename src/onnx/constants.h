// Tensor payloads of a model as graph constants: in place where the bytes are plain (at any address), else decoded
// once.
//
// Private to src/onnx. External data is found through ExternalFiles, which is where "never outside the
// model's folder" is enforced.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/seams.h"
#include "onnx/import.h"
#include "onnx/wire.h"

namespace frit::onnx {

// Where payload bytes come from: a mapped file, or memory.
struct Source {
  Bytes bytes;
  std::shared_ptr<const void> owner;               // empty: copy what is kept
  std::shared_ptr<const base::MappedFile> mapped;  // for dropping pages that were copied; may be empty
  std::string file;                                // canonical path; empty for memory
};
Source source_of(std::shared_ptr<const base::MappedFile> mapped, std::string file);
Source source_of(const Buffer& buffer);

// The external data files of one model, each opened once.
class ExternalFiles {
 public:
  ExternalFiles() = default;  // a model that may have none
  ExternalFiles(base::FileSystem& files, std::string folder) : files_(&files), folder_(std::move(folder)) {}
  explicit ExternalFiles(const ExternalResolver& resolver) : resolver_(resolver) {}

  // The pointer stays valid as long as this object.
  Result<const Source*> open(const std::string& location);

 private:
  Result<Source> open_file(const std::string& location);

  base::FileSystem* files_ = nullptr;
  std::string folder_;
  ExternalResolver resolver_;
  std::map<std::string, Source> open_;
};

struct Constant {
  graph::TensorType type;
  std::shared_ptr<const graph::ConstantData> data;
};
// Errors name what is wrong with the tensor, not its name (the caller adds that).
Result<Constant> read_constant(const TensorView& tensor, const Source& model, ExternalFiles& external);

}  // namespace frit::onnx
