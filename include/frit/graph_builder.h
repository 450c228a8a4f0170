// GraphBuilder: a network made by calls instead of from an ONNX file.
//
//   frit::GraphBuilder g;
//   frit::Value x = g.input("x", frit::DType::kF32, {"batch", 64});
//   g.output(g.softmax(g.add(g.matmul(x, weights), bias), -1), "y");
//   auto model = frit::Model::from_graph(std::move(g));
//
// Operators mean what ONNX's of the same name mean. A call that does not fit (shapes, types, a value of
// another builder) gives an invalid Value; the first error is kept, later calls do nothing, and error() or
// from_graph say what it was, naming the node. Axes may be negative and count from the end; binary operators
// broadcast as numpy's. `name` is what messages call the node. One thread at a time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frit/dtype.h"
#include "frit/header_version.h"
#include "frit/model.h"
#include "frit/result.h"
#include "frit/tensor.h"
#include "frit/version.h"

namespace frit {
inline namespace FRIT_ABI {

// A tensor inside a graph that is being built; only the builder that made it understands it.
class Value {
 public:
  Value() = default;  // none: an optional operand that is absent
  bool is_valid() const { return id_ >= 0; }

 private:
  friend class GraphBuilder;
  Value(const void* owner, int32_t id) : owner_(owner), id_(id) {}
  const void* owner_ = nullptr;
  int32_t id_ = -1;
};

// Per spatial axis of [N, C, spatial..]; an empty list stands for ones (pads: zeros). pads: all begins, then
// all ends.
struct ConvOptions {
  std::vector<int64_t> strides = {}, pads = {}, dilations = {};
  int64_t groups = 1;
};
struct PoolOptions {
  std::vector<int64_t> kernel = {}, strides = {}, pads = {};
  bool ceil_mode = false;
  bool count_include_pad = false;  // of averages
};
struct GemmOptions {
  float alpha = 1, beta = 1;
  bool trans_a = false, trans_b = false;
};

class FRIT_EXPORT GraphBuilder {
 public:
  explicit GraphBuilder(std::string_view name = {}) : GraphBuilder(HeaderVersion{}, name) {}
  GraphBuilder(GraphBuilder&&) noexcept;
  GraphBuilder& operator=(GraphBuilder&&) noexcept;
  ~GraphBuilder();

  // What goes in and out, in the order in which the model will have them.
  Value input(std::string_view name, DType dtype, const std::vector<Dimension>& shape);
  void output(Value value, std::string_view name);
  Value constant(Tensor tensor, std::string_view name = {});           // takes the memory over
  Value constant(const TensorView& view, std::string_view name = {});  // copies
  Value scalar(double value, DType dtype = DType::kF32);

  // Element by element.
  Value add(Value a, Value b, std::string_view name = {});
  Value sub(Value a, Value b, std::string_view name = {});
  Value mul(Value a, Value b, std::string_view name = {});
  Value div(Value a, Value b, std::string_view name = {});  // integers truncate
  Value pow(Value a, Value b, std::string_view name = {});
  Value min(Value a, Value b, std::string_view name = {});
  Value max(Value a, Value b, std::string_view name = {});
  Value equal(Value a, Value b, std::string_view name = {});  // comparisons give booleans
  Value less(Value a, Value b, std::string_view name = {});
  Value greater(Value a, Value b, std::string_view name = {});
  Value logical_and(Value a, Value b, std::string_view name = {});
  Value logical_or(Value a, Value b, std::string_view name = {});
  Value logical_not(Value x, std::string_view name = {});
  Value where(Value condition, Value then, Value otherwise, std::string_view name = {});
  Value cast(Value x, DType to, std::string_view name = {});

  Value neg(Value x, std::string_view name = {});
  Value abs(Value x, std::string_view name = {});
  Value sqrt(Value x, std::string_view name = {});
  Value reciprocal(Value x, std::string_view name = {});
  Value exp(Value x, std::string_view name = {});
  Value log(Value x, std::string_view name = {});
  Value sin(Value x, std::string_view name = {});
  Value cos(Value x, std::string_view name = {});
  Value erf(Value x, std::string_view name = {});
  Value tanh(Value x, std::string_view name = {});
  Value sigmoid(Value x, std::string_view name = {});
  Value relu(Value x, std::string_view name = {});
  Value leaky_relu(Value x, float alpha = 0.01f, std::string_view name = {});
  Value gelu(Value x, bool tanh_approximation = false, std::string_view name = {});
  Value silu(Value x, std::string_view name = {});  // x * sigmoid(x)
  Value hard_sigmoid(Value x, float alpha = 0.2f, float beta = 0.5f, std::string_view name = {});
  Value hard_swish(Value x, std::string_view name = {});
  Value clip(Value x, double low, double high, std::string_view name = {});  // an infinite bound is none

  // Products.
  // a: [.., M, K], b: [.., K, N] -> [.., M, N]; the leading dimensions broadcast.
  Value matmul(Value a, Value b, std::string_view name = {});
  // a: [M, K] (or its transpose), b: [K, N] (or its transpose), c: broadcasts to [M, N], may be absent
  // -> alpha * a b + beta * c
  Value gemm(Value a, Value b, Value c = {}, const GemmOptions& options = {}, std::string_view name = {});
  // x: [N, C, spatial..], w: [O, C / groups, kernel..], bias: [O], may be absent -> [N, O, spatial..]
  Value conv(Value x, Value w, Value bias = {}, const ConvOptions& options = {}, std::string_view name = {});
  // x: [N, C, spatial..], w: [C, O / groups, kernel..], bias: [O], may be absent -> [N, O, spatial..]
  Value conv_transpose(Value x, Value w, Value bias = {}, const ConvOptions& options = {},
                       std::string_view name = {});

  // Over axes.
  Value softmax(Value x, int64_t axis = -1, std::string_view name = {});
  Value log_softmax(Value x, int64_t axis = -1, std::string_view name = {});
  // Over the axes from `axis` on; scale and bias (may be absent) broadcast to these.
  Value layer_norm(Value x, Value scale, Value bias = {}, int64_t axis = -1, float epsilon = 1e-5f,
                   std::string_view name = {});
  // x: [N, C, ..], the others: [C]
  Value batch_norm(Value x, Value scale, Value bias, Value mean, Value variance, float epsilon = 1e-5f,
                   std::string_view name = {});
  // No axes: over all. keep: leaves dimensions of 1.
  Value reduce_sum(Value x, std::vector<int64_t> axes = {}, bool keep = true, std::string_view name = {});
  Value reduce_mean(Value x, std::vector<int64_t> axes = {}, bool keep = true, std::string_view name = {});
  Value reduce_max(Value x, std::vector<int64_t> axes = {}, bool keep = true, std::string_view name = {});
  Value reduce_min(Value x, std::vector<int64_t> axes = {}, bool keep = true, std::string_view name = {});
  // x: [N, C, spatial..]
  Value max_pool(Value x, const PoolOptions& options, std::string_view name = {});
  Value average_pool(Value x, const PoolOptions& options, std::string_view name = {});
  Value global_average_pool(Value x, std::string_view name = {});  // -> [N, C, 1..]

  // Moving elements.
  // One -1 is inferred, 0 copies the dimension at its place.
  Value reshape(Value x, const std::vector<Dimension>& shape, std::string_view name = {});
  Value flatten(Value x, int64_t axis = 1, std::string_view name = {});  // -> rank 2
  Value squeeze(Value x, std::vector<int64_t> axes, std::string_view name = {});
  Value unsqueeze(Value x, std::vector<int64_t> axes, std::string_view name = {});  // axes of the result
  Value transpose(Value x, std::vector<int64_t> permutation, std::string_view name = {});
  Value expand(Value x, const std::vector<int64_t>& shape, std::string_view name = {});
  // Elements start, start + step .. before end, along one axis; start and end may be negative and are
  // clamped.
  Value slice(Value x, int64_t axis, int64_t start, int64_t end = std::numeric_limits<int64_t>::max(),
              int64_t step = 1, std::string_view name = {});
  Value concat(const std::vector<Value>& values, int64_t axis, std::string_view name = {});
  std::vector<Value> split(Value x, int64_t axis, const std::vector<int64_t>& sizes,
                           std::string_view name = {});
  // Constant padding; as many befores and afters as x has axes.
  Value pad(Value x, std::vector<int64_t> before, std::vector<int64_t> after, double value = 0,
            std::string_view name = {});
  // data: [.., n, ..], indices: i32 or i64 of any shape, which takes the place of n. Negative indices count
  // from the end; one that is out of range is an error when it runs.
  Value gather(Value data, Value indices, int64_t axis = 0, std::string_view name = {});

  // Looking.
  const Error* error() const;  // null: all calls so far fit
  DType dtype(Value value) const;
  std::vector<Dimension> shape(Value value) const;
  // Writes an ONNX file that computes the same.
  Status save_onnx(const std::string& path) const;

  struct Impl;
  const Impl& impl() const { return *impl_; }
  std::unique_ptr<Impl> take_impl();

 private:
  GraphBuilder(HeaderVersion headers, std::string_view name);
  std::unique_ptr<Impl> impl_;
};

}  // namespace FRIT_ABI
}  // namespace frit
