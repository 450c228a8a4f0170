// Session: a model made ready to run with certain options.
//
//   auto session = frit::Session::create(*model, {.threads = 2});
//   session->prepare({{"input", {1, 3, 224, 224}}});       // partitions, compiles, packs: once per shapes
//   session->run(std::array{in.view()}, std::array{out.view()});  // from any thread
//
// A handle that is movable and not copyable. All members may be called from several threads at once, except
// that nobody may move or destroy it meanwhile. It keeps its model alive.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "frit/model.h"
#include "frit/options.h"
#include "frit/result.h"
#include "frit/stats.h"
#include "frit/tensor.h"
#include "frit/version.h"

namespace frit {
inline namespace FRIT_ABI {

// The shape of an input by its name, or, with one number, the size of a named dimension.
struct NamedShape {
  std::string name;
  std::vector<int64_t> shape;
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

class FRIT_EXPORT Session {
 public:
  // Cheap: nothing is compiled. Errors: kInvalidArgument (options), kDevice (the
  // model's target does not run here), kOutOfMemory.
  static Result<Session> create(const Model& model, const SessionOptions& options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();  // no run may be in flight

  // Makes runs with these shapes possible: partitions the graph, looks choices up in the cache (or searches,
  // by policy), compiles, packs weights and allocates. Inputs of constant shape need not be named. Costs
  // nothing when it was done before. Errors: kInvalidArgument (a name or shape that the model does not have,
  // before fork()), kNotFound (on_miss = kError, or no compiler), kUnsupported, kCancelled (what was
  // committed to the cache stays), kOutOfMemory.
  Status prepare(std::span<const NamedShape> shapes);
  Status prepare(std::initializer_list<NamedShape> shapes = {}) {
    return prepare(std::span<const NamedShape>(shapes.begin(), shapes.size()));
  }
  // Whether a run with these shapes starts at once.
  bool ready(std::span<const NamedShape> shapes) const;
  bool ready(std::initializer_list<NamedShape> shapes = {}) const {
    return ready(std::span<const NamedShape>(shapes.begin(), shapes.size()));
  }

  // The shapes of all outputs, in the model's order, for these shapes of the inputs; prepares them.
  Result<std::vector<std::vector<int64_t>>> output_shapes(std::span<const NamedShape> shapes);

  // One inference. inputs, outputs: one view per input and output of the model, in its order, of the types
  // and shapes that it says. Row-major memory of any alignment is used in place. Outputs must overlap neither
  // each other nor inputs; inputs are never written. Prepares shapes that are new. In steady state it
  // allocates nothing and holds no lock while kernels run. Outputs are undefined after an error. Errors:
  // those of prepare; kInvalidArgument (count, type, shape, overlap, and data such as an index out of range,
  // naming the node).
  Status run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
             const RunOptions& options = {});
  // The same, with outputs that it allocates.
  Result<std::vector<Tensor>> run(std::span<const TensorView> inputs, const RunOptions& options = {});
  // The same by name: all inputs must be named, all outputs come back, in the model's order.
  Result<std::vector<NamedTensor>> run(std::span<const std::pair<std::string, TensorView>> inputs,
                                       const RunOptions& options = {});
  Result<std::vector<NamedTensor>> run(std::initializer_list<std::pair<std::string, TensorView>> inputs,
                                       const RunOptions& options = {}) {
    return run(std::span<const std::pair<std::string, TensorView>>(inputs.begin(), inputs.size()), options);
  }

  // Gives back memory that no run needs at the moment: arenas, and packed weights that no prepared shapes
  // use.
  void trim();
  SessionStats stats() const;
  const Model& model() const;

  struct Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }  // for frit's own tools

 private:
  explicit Session(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace FRIT_ABI
}  // namespace frit
