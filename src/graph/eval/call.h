// Call: what an op's evaluation gets to see, and the checks that nearly every op needs.
//
// Each op is one overload `Result<Outputs> run(const TheOp&, const Call&)` in the file of its group;
// dispatch.cpp picks it by the op's type. Messages here name inputs by position: the node's name is added by
// the caller.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/try.h"
#include "frit/result.h"
#include "graph/eval.h"
#include "graph/op.h"
#include "graph/tensor.h"

namespace frit::graph::eval {

using Outputs = std::vector<HostTensor>;
using base::text_of;

inline Error bad(std::string message) { return make_error(Code::kInvalidArgument, std::move(message)); }

struct Call {
  std::span<const HostTensor* const> inputs;
  std::span<const TensorType> output_types;
  const std::map<std::string, int64_t>& sizes;  // what named dimensions are bound to
  const EvalOptions& options;

  bool has(size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  const HostTensor& in(size_t i) const { return *inputs[i]; }  // has(i)

  // Between `least` and `most` inputs, of which the first `least` are present.
  Status expect_inputs(size_t least, size_t most) const;
  Status expect_dtype(size_t i, DType dtype) const;
  Status expect_same_dtype(size_t i, size_t j) const;
  Status expect_rank(size_t i, int64_t rank) const;
  // A tensor of i32 or i64 values.
  Status expect_integers(size_t i) const;
  Status expect_axis(int64_t axis, int64_t rank) const;

  // Zero-filled; an error above options.max_value_bytes.
  Result<HostTensor> allocate(DType dtype, Extents shape) const;
  Result<int64_t> resolve(const Dim& dim) const;
  bool has_output_extents(size_t i) const;
  Result<Extents> output_extents(size_t i) const;
  DType output_dtype(size_t i, DType otherwise) const;
  size_t output_count() const { return output_types.empty() ? 1 : output_types.size(); }

  // options.parallel_for, or a plain loop.
  void parallel(int64_t count, const std::function<void(int64_t)>& task) const;
};

// One output from a Result<HostTensor>.
inline Result<Outputs> single(Result<HostTensor> tensor) {
  if (!tensor.ok()) return std::move(tensor).error();
  Outputs out;
  out.push_back(*std::move(tensor));
  return out;
}

// dispatch.cpp: the overload below for the op that is held.
Result<Outputs> run_node(const Op& op, const Call& call);

// pointwise.cpp
Result<Outputs> run(const Unary&, const Call&);
Result<Outputs> run(const Binary&, const Call&);
Result<Outputs> run(const Select&, const Call&);
Result<Outputs> run(const Cast&, const Call&);
// activation.cpp
Result<Outputs> run(const Gelu&, const Call&);
Result<Outputs> run(const HardSigmoid&, const Call&);
Result<Outputs> run(const HardSwish&, const Call&);
Result<Outputs> run(const LeakyRelu&, const Call&);
Result<Outputs> run(const Clip&, const Call&);
// reduce.cpp
Result<Outputs> run(const Reduce&, const Call&);
Result<Outputs> run(const ArgReduce&, const Call&);
// scan.cpp
Result<Outputs> run(const CumSum&, const Call&);
Result<Outputs> run(const TopK&, const Call&);
// matmul.cpp
Result<Outputs> run(const MatMul&, const Call&);
Result<Outputs> run(const Gemm&, const Call&);
// conv.cpp, conv_transpose.cpp, pool.cpp
Result<Outputs> run(const Conv&, const Call&);
Result<Outputs> run(const ConvTranspose&, const Call&);
Result<Outputs> run(const Pool&, const Call&);
// movement.cpp
Result<Outputs> run(const Reshape&, const Call&);
Result<Outputs> run(const Transpose&, const Call&);
Result<Outputs> run(const Expand&, const Call&);
Result<Outputs> run(const Concat&, const Call&);
Result<Outputs> run(const Split&, const Call&);
Result<Outputs> run(const Tile&, const Call&);
// slice.cpp
Result<Outputs> run(const Slice&, const Call&);
Result<Outputs> run(const DynamicSlice&, const Call&);
// pad.cpp
Result<Outputs> run(const Pad&, const Call&);
Result<Outputs> run(const DynamicPad&, const Call&);
// gather.cpp
Result<Outputs> run(const Gather&, const Call&);
Result<Outputs> run(const GatherElements&, const Call&);
Result<Outputs> run(const GatherND&, const Call&);
// scatter.cpp
Result<Outputs> run(const ScatterElements&, const Call&);
Result<Outputs> run(const ScatterND&, const Call&);
// resize.cpp
Result<Outputs> run(const Resize&, const Call&);
// generate.cpp
Result<Outputs> run(const Range&, const Call&);
Result<Outputs> run(const Iota&, const Call&);
Result<Outputs> run(const ShapeOf&, const Call&);
Result<Outputs> run(const Fill&, const Call&);
Result<Outputs> run(const NonZero&, const Call&);
// normalize.cpp
Result<Outputs> run(const BatchNorm&, const Call&);
Result<Outputs> run(const LayerNorm&, const Call&);
Result<Outputs> run(const Softmax&, const Call&);
// lstm.cpp
Result<Outputs> run(const Lstm&, const Call&);

}  // namespace frit::graph::eval
