// GraphBuilder's operators that only move elements.
#include <algorithm>

#include "base/text.h"
#include "runtime/graph_builder_impl.h"

namespace frit {
inline namespace FRIT_ABI {

using graph::Dim;
using graph::kNoValue;
using graph::ValueId;
using Name = std::string_view;

namespace {

// x's shape as a Reshape to `wanted` leaves it, for shapes with names, which no constant can hold.
Result<graph::Shape> reshaped(const graph::Shape& x, const std::vector<Dimension>& wanted) {
  graph::Shape out;
  Dim available = graph::element_count(x), rest(1);
  int64_t inferred = -1;
  for (size_t k = 0; k < wanted.size(); ++k) {
    const Dimension& d = wanted[k];
    if (!d.is_known() && d.name.empty()) {
      if (d.size != -1 || inferred >= 0) {
        return make_error(Code::kInvalidArgument,
                          base::text_of("shape has the value ", d.size, " at axis ", k));
      }
      inferred = static_cast<int64_t>(k);
      out.emplace_back(1);
      continue;
    }
    if (d.is_known() && d.size == 0) {
      if (k >= x.size())
        return make_error(Code::kInvalidArgument, base::text_of("there is no axis ", k, " to copy"));
      out.push_back(x[k]);
    } else {
      out.push_back(to_dim(d));
    }
    rest = rest * out.back();
  }
  if (inferred >= 0) out[static_cast<size_t>(inferred)] = floor_div(available, rest);
  return out;
}

}  // namespace

Value GraphBuilder::reshape(Value x, const std::vector<Dimension>& shape, Name name) {
  if (!impl_->has(x, "Reshape", name)) return {};
  const ValueId id = impl_->unwrap(x, name);
  const bool has_names =
      std::any_of(shape.begin(), shape.end(), [](const Dimension& d) { return !d.name.empty(); });
  if (!has_names) {
    std::vector<int64_t> numbers;
    for (const Dimension& d : shape) numbers.push_back(d.size);
    return impl_->wrap(impl_->add("Reshape", graph::Reshape{}, {id, impl_->constant_i64(numbers)}, name));
  }
  auto out = reshaped(impl_->type(id).shape, shape);
  if (!out.ok()) {
    impl_->fail(std::move(out).error().with(Impl::label("Reshape", name)));
    return {};
  }
  return impl_->node("Reshape", graph::Reshape{}, {x}, 1, name,
                     {{impl_->type(id).dtype, *std::move(out), {}}});
}

Value GraphBuilder::flatten(Value x, int64_t axis, Name name) {
  if (!impl_->has(x, "Flatten", name)) return {};
  // One past the last axis is fine: everything goes into the first dimension.
  const int64_t rank = impl_->rank(x);
  const int64_t cut = axis == rank ? rank : impl_->axis("Flatten", name, axis, rank);
  if (!impl_->ok()) return {};
  const graph::Shape& from = impl_->type(impl_->unwrap(x, name)).shape;
  const auto middle = from.begin() + cut;
  graph::Shape to{graph::element_count({from.begin(), middle}), graph::element_count({middle, from.end()})};
  // Spelled so that ONNX can say it too where one of the two is known.
  std::vector<Dimension> shape;
  for (const Dim& d : to) shape.push_back(to_dimension(d));
  if (!shape[0].is_known() && shape[1].is_known() && shape[1].size > 0) shape[0] = Dimension(int64_t{-1});
  if (!shape[1].is_known() && shape[0].is_known() && shape[0].size > 0) shape[1] = Dimension(int64_t{-1});
  const bool has_zero =
      std::any_of(shape.begin(), shape.end(), [](const Dimension& d) { return d.size == 0; });
  if (!has_zero) return reshape(x, shape, name);
  return impl_->node("Flatten", graph::Reshape{}, {x}, 1, name, {{dtype(x), std::move(to), {}}});
}

Value GraphBuilder::squeeze(Value x, std::vector<int64_t> axes, Name name) {
  if (!impl_->has(x, "Squeeze", name)) return {};
  const std::vector<int64_t> gone = impl_->axes("Squeeze", name, axes, impl_->rank(x));
  if (!impl_->ok()) return {};
  const graph::TensorType type = impl_->type(impl_->unwrap(x, name));
  graph::Shape shape;
  for (size_t k = 0; k < type.shape.size(); ++k) {
    if (!std::binary_search(gone.begin(), gone.end(), static_cast<int64_t>(k))) {
      shape.push_back(type.shape[k]);
    } else if (type.shape[k].constant().value_or(1) != 1) {
      impl_->fail(make_error(Code::kInvalidArgument, base::text_of("axis ", k, " has ", type.shape[k].text(),
                                                                   " elements, expected 1"))
                      .with(Impl::label("Squeeze", name)));
      return {};
    }
  }
  return impl_->node("Squeeze", graph::Reshape{}, {x}, 1, name, {{type.dtype, std::move(shape), {}}});
}

Value GraphBuilder::unsqueeze(Value x, std::vector<int64_t> axes, Name name) {
  if (!impl_->has(x, "Unsqueeze", name)) return {};
  const int64_t rank = impl_->rank(x) + static_cast<int64_t>(axes.size());
  const std::vector<int64_t> added = impl_->axes("Unsqueeze", name, axes, rank);
  if (!impl_->ok()) return {};
  const graph::TensorType type = impl_->type(impl_->unwrap(x, name));
  graph::Shape shape = type.shape;
  for (const int64_t axis : added) shape.insert(shape.begin() + axis, Dim(1));
  return impl_->node("Unsqueeze", graph::Reshape{}, {x}, 1, name, {{type.dtype, std::move(shape), {}}});
}

Value GraphBuilder::transpose(Value x, std::vector<int64_t> permutation, Name name) {
  if (!impl_->has(x, "Transpose", name)) return {};
  return impl_->node("Transpose", graph::Transpose{std::move(permutation)}, {x}, 1, name);
}

Value GraphBuilder::expand(Value x, const std::vector<int64_t>& shape, Name name) {
  if (!impl_->has(x, "Expand", name)) return {};
  return impl_->wrap(
      impl_->add("Expand", graph::Expand{}, {impl_->unwrap(x, name), impl_->constant_i64(shape)}, name));
}

Value GraphBuilder::slice(Value x, int64_t axis, int64_t start, int64_t end, int64_t step, Name name) {
  if (!impl_->has(x, "Slice", name)) return {};
  const int64_t a = impl_->axis("Slice", name, axis, impl_->rank(x));
  if (!impl_->ok()) return {};
  return impl_->wrap(
      impl_->add("Slice", graph::DynamicSlice{},
                 {impl_->unwrap(x, name), impl_->constant_i64({start}), impl_->constant_i64({end}),
                  impl_->constant_i64({a}), impl_->constant_i64({step})},
                 name));
}

Value GraphBuilder::concat(const std::vector<Value>& values, int64_t axis, Name name) {
  std::vector<ValueId> inputs;
  for (const Value& v : values) {
    if (!impl_->has(v, "Concat", name)) return {};
    inputs.push_back(impl_->unwrap(v, name));
  }
  if (inputs.empty()) {
    impl_->fail(make_error(Code::kInvalidArgument, "there is nothing to concatenate")
                    .with(Impl::label("Concat", name)));
    return {};
  }
  const int64_t a = impl_->axis("Concat", name, axis, impl_->rank(inputs[0]));
  return impl_->wrap(impl_->add("Concat", graph::Concat{a}, std::move(inputs), name));
}

std::vector<Value> GraphBuilder::split(Value x, int64_t axis, const std::vector<int64_t>& sizes, Name name) {
  std::vector<Value> out(sizes.size());
  if (!impl_->has(x, "Split", name)) return out;
  const int64_t a = impl_->axis("Split", name, axis, impl_->rank(x));
  if (sizes.empty()) {
    impl_->fail(make_error(Code::kInvalidArgument, "sizes are missing").with(Impl::label("Split", name)));
  }
  const ValueId first =
      impl_->add("Split", graph::Split{a}, {impl_->unwrap(x, name), impl_->constant_i64(sizes)}, name,
                 std::vector<graph::TensorType>(sizes.size()));
  if (first == kNoValue) return out;
  const graph::Node& node = impl_->graph.node(impl_->graph.value(first).producer);
  for (size_t k = 0; k < out.size(); ++k) out[k] = impl_->wrap(node.outputs[k]);
  return out;
}

Value GraphBuilder::pad(Value x, std::vector<int64_t> before, std::vector<int64_t> after, double value,
                        Name name) {
  if (!impl_->has(x, "Pad", name)) return {};
  const Value filler = scalar(value, dtype(x));
  return impl_->node("Pad", graph::Pad{graph::PadMode::kConstant, std::move(before), std::move(after)},
                     {x, filler}, 2, name);
}

Value GraphBuilder::gather(Value data, Value indices, int64_t axis, Name name) {
  if (!impl_->has(data, "Gather", name)) return {};
  const int64_t a = impl_->axis("Gather", name, axis, impl_->rank(data));
  return impl_->node("Gather", graph::Gather{a}, {data, indices}, 2, name);
}

}  // namespace FRIT_ABI
}  // namespace frit
