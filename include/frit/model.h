// Model: a network, its weights and the machine it is for. Loaded once, shared by sessions.
//
// A handle: copies share one immutable model. All members may be called from several threads at once. After
// fork() the child may destroy its handles, but cannot make or use sessions of them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frit/dtype.h"
#include "frit/options.h"
#include "frit/result.h"
#include "frit/version.h"

namespace frit {
inline namespace FRIT_ABI {

class GraphBuilder;

// One dimension of an input or output: a number, or a name whose size is known once shapes are given.
struct Dimension {
  Dimension(int64_t number) : size(number) {}                           // NOLINT: reads as a shape
  Dimension(int number) : size(number) {}                               // NOLINT
  Dimension(std::string symbol) : size(-1), name(std::move(symbol)) {}  // NOLINT
  Dimension(const char* symbol) : size(-1), name(symbol) {}             // NOLINT
  bool is_known() const { return size >= 0; }
  bool operator==(const Dimension&) const = default;

  int64_t size;      // -1 for a name
  std::string name;  // "seq", or an expression over names, "(past+1)"
};

struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<Dimension> shape;
};

// External data of a model that comes from memory: gives the bytes of `location`, as the model spells it.
// They are copied, or kept and used in place where `owner` keeps them alive.
struct ExternalData {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};
using ExternalDataResolver = std::function<Result<ExternalData>(const std::string& location)>;

class FRIT_EXPORT Model {
 public:
  // An ONNX file (opset 7 to 28). It is mapped, not read: it must not be changed while the model lives, but
  // may be moved or deleted. Errors: kIo, kBadModel, kUnsupported (names node, operator and opset),
  // kInvalidArgument (options), kCancelled. A model for a target that is not this machine can be loaded
  // and looked at, but no session of it can be made.
  static Result<Model> load(const std::string& path, const ModelOptions& options = {});

  // The same from memory, which is copied as far as it is needed later, or kept with `owner`. A model without
  // external data needs no resolver.
  static Result<Model> from_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner = {},
                                  const ExternalDataResolver& resolver = {},
                                  const ModelOptions& options = {});

  // Takes the graph out of the builder, which is empty afterwards. Errors: the first one that building met.
  static Result<Model> from_graph(GraphBuilder&& graph, const ModelOptions& options = {});

  const std::vector<TensorInfo>& inputs() const;
  const std::vector<TensorInfo>& outputs() const;
  // The position of a name; nothing where there is no such one.
  std::optional<size_t> input_index(std::string_view name) const;
  std::optional<size_t> output_index(std::string_view name) const;

  struct Impl;
  explicit Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<const Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace FRIT_ABI
}  // namespace frit
