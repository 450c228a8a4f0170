// The builder itself: inputs, constants, outputs, errors. Operators are in graph_builder_math.cpp and
// graph_builder_moves.cpp.
#include "frit/graph_builder.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/half.h"
#include "base/text.h"
#include "base/try.h"
#include "onnx/export.h"
#include "runtime/graph_builder_impl.h"
#include "runtime/headers.h"

namespace frit {
inline namespace FRIT_ABI {

using graph::kNoValue;
using graph::ValueId;

std::string GraphBuilder::Impl::label(std::string_view op, std::string_view name) {
  return base::text_of("node ", base::quoted(name), " (", op, ")");
}

ValueId GraphBuilder::Impl::constant_i64(const std::vector<int64_t>& values) {
  const auto count = static_cast<int64_t>(values.size());
  const ValueId id =
      graph.add_constant({DType::kI64, {graph::Dim(count)}, {}}, graph::make_constant_of(values));
  graph.value(id).known = graph::known_contents(graph, id);
  return id;
}

ValueId GraphBuilder::Impl::add(std::string_view op_name, graph::Op op, std::vector<ValueId> inputs,
                                std::string_view name, std::vector<graph::TensorType> declared) {
  if (!ok()) return kNoValue;
  auto node = graph::add_inferred(graph, std::move(op), std::move(inputs), std::move(declared),
                                  std::string(name), std::string(op_name));
  if (!node.ok()) {
    Error e = std::move(node).error().with(label(op_name, name));
    if (e.code == Code::kBadModel) e.code = Code::kInvalidArgument;  // here the caller wrote the model
    fail(std::move(e));
    return kNoValue;
  }
  return graph.node(*node).outputs[0];
}

ValueId GraphBuilder::Impl::unwrap(Value value, std::string_view what) {
  if (!value.is_valid() || value.owner_ == this) return value.is_valid() ? value.id_ : kNoValue;
  fail(make_error(Code::kInvalidArgument, base::text_of(what, " is a value of another graph builder")));
  return kNoValue;
}

Value GraphBuilder::Impl::node(std::string_view op_name, graph::Op op, std::initializer_list<Value> operands,
                               size_t required, std::string_view name,
                               std::vector<graph::TensorType> declared) {
  if (!ok()) return {};
  std::vector<ValueId> inputs;
  for (const Value& operand : operands) {
    const size_t k = inputs.size();
    if (k < required && !has(operand, op_name, name)) return {};
    inputs.push_back(unwrap(operand, base::text_of(label(op_name, name), ": operand ", k)));
  }
  while (inputs.size() > required && inputs.back() == kNoValue) inputs.pop_back();
  return wrap(add(op_name, std::move(op), std::move(inputs), name, std::move(declared)));
}

bool GraphBuilder::Impl::has(Value value, std::string_view op_name, std::string_view name) {
  if (!ok()) return false;
  if (value.is_valid() && value.owner_ == this) return true;
  fail(make_error(Code::kInvalidArgument, value.is_valid() ? "an operand is a value of another graph builder"
                                                           : "an operand is absent")
           .with(label(op_name, name)));
  return false;
}

int64_t GraphBuilder::Impl::axis(std::string_view op_name, std::string_view name, int64_t axis,
                                 int64_t rank) {
  const int64_t from_front = axis < 0 ? axis + rank : axis;
  if (from_front >= 0 && from_front < rank) return from_front;
  fail(make_error(Code::kInvalidArgument, base::text_of("axis ", axis, " of rank ", rank, " does not exist"))
           .with(label(op_name, name)));
  return 0;
}

std::vector<int64_t> GraphBuilder::Impl::axes(std::string_view op_name, std::string_view name,
                                              const std::vector<int64_t>& axes, int64_t rank) {
  std::vector<int64_t> out;
  for (const int64_t a : axes) out.push_back(axis(op_name, name, a, rank));
  std::sort(out.begin(), out.end());
  if (std::adjacent_find(out.begin(), out.end()) != out.end()) {
    fail(
        make_error(Code::kInvalidArgument, base::text_of("axes [", base::join(axes, ","), "] name one twice"))
            .with(label(op_name, name)));
  }
  return out;
}

graph::Dim to_dim(const Dimension& dimension) {
  if (dimension.is_known()) return graph::Dim(dimension.size);
  if (dimension.name.empty()) return graph::Dim(dimension.size);  // -1: an error where it is used
  auto parsed = graph::Dim::parse(dimension.name);
  return parsed.ok() ? *std::move(parsed) : graph::Dim::symbol(dimension.name);
}

Dimension to_dimension(const graph::Dim& dim) {
  if (const auto size = dim.constant()) return Dimension(*size);
  return Dimension(dim.text());
}

std::vector<Dimension> to_dimensions(const graph::Shape& shape) {
  std::vector<Dimension> out;
  for (const graph::Dim& d : shape) out.push_back(to_dimension(d));
  return out;
}

GraphBuilder::GraphBuilder(HeaderVersion headers, std::string_view name) : impl_(std::make_unique<Impl>()) {
  impl_->graph.name = name;
  if (Status s = runtime::check_headers(headers); !s.ok()) impl_->fail(std::move(s).error());
}
GraphBuilder::GraphBuilder(GraphBuilder&&) noexcept = default;
GraphBuilder& GraphBuilder::operator=(GraphBuilder&&) noexcept = default;
GraphBuilder::~GraphBuilder() = default;

std::unique_ptr<GraphBuilder::Impl> GraphBuilder::take_impl() {
  return std::exchange(impl_, std::make_unique<Impl>());
}

Value GraphBuilder::input(std::string_view name, DType dtype, const std::vector<Dimension>& shape) {
  if (!impl_->ok()) return {};
  graph::TensorType type{dtype, {}, {}};
  for (const Dimension& d : shape) {
    if (!d.is_known() && d.name.empty()) {
      impl_->fail(make_error(Code::kInvalidArgument,
                             base::text_of("input ", base::quoted(name), " has the dimension ", d.size,
                                           ", expected 0 or more, or a name")));
      return {};
    }
    type.shape.push_back(to_dim(d));
  }
  for (const ValueId other : impl_->graph.inputs) {
    if (impl_->graph.value(other).name != name) continue;
    impl_->fail(
        make_error(Code::kInvalidArgument, base::text_of("there are two inputs ", base::quoted(name))));
    return {};
  }
  return impl_->wrap(impl_->graph.add_input(std::move(type), std::string(name)));
}

void GraphBuilder::output(Value value, std::string_view name) {
  if (!impl_->ok()) return;
  if (!impl_->has(value, "output", name)) return;
  for (const std::string& other : impl_->output_names) {
    if (other != name) continue;
    impl_->fail(
        make_error(Code::kInvalidArgument, base::text_of("there are two outputs ", base::quoted(name))));
    return;
  }
  impl_->graph.outputs.push_back(impl_->unwrap(value, name));
  impl_->output_names.emplace_back(name);
}

Value GraphBuilder::constant(Tensor tensor, std::string_view name) {
  if (!impl_->ok()) return {};
  graph::TensorType type{tensor.dtype(), {tensor.shape().begin(), tensor.shape().end()}, {}};
  auto data = std::make_shared<graph::ConstantData>();
  data->size_bytes = tensor.size_bytes();
  data->name = name;
  auto owner = std::make_shared<Tensor>(std::move(tensor));
  data->bytes = owner->bytes();
  data->owner = std::move(owner);
  const ValueId id = impl_->graph.add_constant(std::move(type), std::move(data), std::string(name));
  impl_->graph.value(id).known = graph::known_contents(impl_->graph, id);
  return impl_->wrap(id);
}

Value GraphBuilder::constant(const TensorView& view, std::string_view name) {
  if (!impl_->ok()) return {};
  auto copy = Tensor::copy_of(view);
  if (!copy.ok()) {
    impl_->fail(std::move(copy).error().with(base::text_of("constant ", base::quoted(name))));
    return {};
  }
  return constant(*std::move(copy), name);
}

Value GraphBuilder::scalar(double value, DType dtype) {
  if (!impl_->ok()) return {};
  auto tensor = Tensor::allocate(dtype, {});
  if (!tensor.ok()) {
    impl_->fail(std::move(tensor).error());
    return {};
  }
  const auto put = [&](auto element) { std::memcpy(tensor->bytes(), &element, sizeof element); };
  const auto put_integer = [&]<class T>(T) {
    const auto element = static_cast<int64_t>(value);
    if (static_cast<double>(element) != value || static_cast<int64_t>(static_cast<T>(element)) != element) {
      impl_->fail(make_error(Code::kInvalidArgument,
                             base::text_of("scalar ", value, " is not a value of ", dtype_name(dtype))));
    }
    put(static_cast<T>(element));
  };
  // Beyond this the conversion to an integer is not defined.
  if (!is_float(dtype) && !(value >= -9.2e18 && value <= 9.2e18)) {
    impl_->fail(make_error(Code::kInvalidArgument,
                           base::text_of("scalar ", value, " is not a value of ", dtype_name(dtype))));
    return {};
  }
  switch (dtype) {
    case DType::kF32:
      put(static_cast<float>(value));
      break;
    case DType::kF64:
      put(value);
      break;
    case DType::kF16:
      put(base::double_to_f16(value));
      break;
    case DType::kBF16:
      put(base::double_to_bf16(value));
      break;
    case DType::kI8:
      put_integer(int8_t{});
      break;
    case DType::kI16:
      put_integer(int16_t{});
      break;
    case DType::kI32:
      put_integer(int32_t{});
      break;
    case DType::kI64:
      put_integer(int64_t{});
      break;
    case DType::kU8:
      put_integer(uint8_t{});
      break;
    case DType::kU16:
      put_integer(uint16_t{});
      break;
    case DType::kU32:
      put_integer(uint32_t{});
      break;
    case DType::kU64:
      put_integer(uint64_t{});
      break;
    case DType::kBool:
      put(static_cast<uint8_t>(value != 0));
      break;
  }
  return constant(*std::move(tensor));
}

const Error* GraphBuilder::error() const { return impl_->error ? &*impl_->error : nullptr; }

DType GraphBuilder::dtype(Value value) const {
  return value.is_valid() && value.owner_ == impl_.get() ? impl_->type(value.id_).dtype : DType::kF32;
}

std::vector<Dimension> GraphBuilder::shape(Value value) const {
  if (!value.is_valid() || value.owner_ != impl_.get()) return {};
  return to_dimensions(impl_->type(value.id_).shape);
}

Status GraphBuilder::save_onnx(const std::string& path) const {
  if (impl_->error) return *impl_->error;
  graph::Graph graph = impl_->graph;
  graph.output_names = impl_->output_names;
  base::SystemFileSystem files;
  // Readers of protobuf stop at 2 GB.
  constexpr uint64_t kExternalFromBytes = uint64_t{1} << 10, kMostInsideBytes = uint64_t{1} << 30;
  uint64_t total = 0;
  for (const graph::Value& v : graph.values) total += v.constant ? v.constant->size_bytes : 0;
  onnx::ExportOptions options;
  if (total > kMostInsideBytes) options.external_from_bytes = kExternalFromBytes;
  return onnx::export_model(files, graph, path, options);
}

}  // namespace FRIT_ABI
}  // namespace frit
