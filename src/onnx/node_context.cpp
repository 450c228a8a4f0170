#include "onnx/node_context.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "base/half.h"
#include "base/text.h"
#include "graph/infer.h"

namespace frit::onnx {
namespace {

using base::text_of;

template <class T>
T load(const std::byte* bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
  return value;
}

std::optional<int64_t> load_int(DType dtype, const std::byte* bytes, size_t i) {
  switch (dtype) {
    case DType::kI8:
      return load<int8_t>(bytes, i);
    case DType::kI16:
      return load<int16_t>(bytes, i);
    case DType::kI32:
      return load<int32_t>(bytes, i);
    case DType::kI64:
      return load<int64_t>(bytes, i);
    case DType::kBool:
    case DType::kU8:
      return load<uint8_t>(bytes, i);
    case DType::kU16:
      return load<uint16_t>(bytes, i);
    case DType::kU32:
      return load<uint32_t>(bytes, i);
    case DType::kU64: {
      const auto v = load<uint64_t>(bytes, i);
      if (v > INT64_MAX) return std::nullopt;
      return static_cast<int64_t>(v);
    }
    default:
      return std::nullopt;
  }
}

double load_number(DType dtype, const std::byte* bytes, size_t i) {
  switch (dtype) {
    case DType::kF32:
      return load<float>(bytes, i);
    case DType::kF64:
      return load<double>(bytes, i);
    case DType::kF16:
      return base::f16_to_float(load<uint16_t>(bytes, i));
    case DType::kBF16:
      return base::bf16_to_float(load<uint16_t>(bytes, i));
    case DType::kU64:
      return static_cast<double>(load<uint64_t>(bytes, i));
    default:
      return static_cast<double>(load_int(dtype, bytes, i).value_or(0));
  }
}

template <class T>
void store(std::vector<std::byte>& bytes, T value) {
  std::memcpy(bytes.data(), &value, sizeof(T));
}

// A number as one element; integers cut off the fraction.
std::vector<std::byte> element(DType dtype, double value) {
  std::vector<std::byte> bytes(dtype_bytes(dtype));
  switch (dtype) {
    case DType::kF32:
      store(bytes, static_cast<float>(value));
      break;
    case DType::kF64:
      store(bytes, value);
      break;
    case DType::kF16:
      store(bytes, base::double_to_f16(value));
      break;
    case DType::kBF16:
      store(bytes, base::double_to_bf16(value));
      break;
    case DType::kBool:
      store(bytes, static_cast<uint8_t>(value != 0));
      break;
    default: {
      const auto whole = static_cast<int64_t>(std::clamp(value, -9.2e18, 9.2e18));
      std::memcpy(bytes.data(), &whole, bytes.size());
    }
  }
  return bytes;
}

}  // namespace

bool has_sane_size(const TensorType& type) {
  constexpr int64_t kLimit = int64_t{1} << 48;
  int64_t product = 1;
  for (const Dim& d : type.shape) {
    const auto size = d.constant();
    if (!size) continue;
    if (*size < 0 || *size > kLimit / product) return false;
    if (*size != 0) product *= *size;
  }
  return true;
}

void NodeContext::out(size_t i, ValueId value) {
  if (failed() || i >= outputs_.size()) return;
  outputs_[i] = value;
}

const AttributeView* NodeContext::attr(std::string_view name) const {
  for (const AttributeView& a : node_.attributes)
    if (a.name == name) return &a;
  return nullptr;
}
int64_t NodeContext::attr_int(std::string_view name, int64_t fallback) const {
  const AttributeView* a = attr(name);
  return a != nullptr ? a->i : fallback;
}
float NodeContext::attr_float(std::string_view name, float fallback) const {
  const AttributeView* a = attr(name);
  return a != nullptr ? a->f : fallback;
}
std::string NodeContext::attr_string(std::string_view name, std::string_view fallback) const {
  const AttributeView* a = attr(name);
  return std::string(a != nullptr ? a->s : fallback);
}
Ints NodeContext::attr_ints(std::string_view name) const {
  const AttributeView* a = attr(name);
  return a != nullptr ? a->ints : Ints();
}
ValueId NodeContext::attr_tensor(std::string_view name) {
  const AttributeView* a = attr(name);
  if (failed() || a == nullptr || a->t == nullptr) return kNoValue;
  auto read = read_constant(*a->t, env_.model, env_.external);
  if (!read.ok()) {
    if (!failed()) error_ = std::move(read).error().with(std::string(name));
    return kNoValue;
  }
  return constant(std::move(read->type), std::move(read->data));
}

const TensorType& NodeContext::type(ValueId v) const {
  return v == kNoValue ? nothing_ : env_.graph.value(v).type;
}

Dim NodeContext::dim(ValueId v, int64_t axis) const {
  const Shape& s = shape(v);
  return axis >= 0 && axis < static_cast<int64_t>(s.size()) ? s[static_cast<size_t>(axis)] : Dim(1);
}

std::span<const std::byte> NodeContext::constant_bytes(ValueId v) const {
  if (v == kNoValue || !env_.graph.value(v).is_constant()) return {};
  const graph::ConstantData& data = *env_.graph.value(v).constant;
  return {data.bytes, data.size_bytes};
}

std::optional<Ints> NodeContext::ints(ValueId v) const {
  if (v == kNoValue) return std::nullopt;
  const graph::Value& value = env_.graph.value(v);
  Ints out;
  if (value.is_constant()) {
    const std::span<const std::byte> bytes = constant_bytes(v);
    const size_t count = bytes.size() / dtype_bytes(value.type.dtype);
    for (size_t i = 0; i < count; ++i) {
      const auto element = load_int(value.type.dtype, bytes.data(), i);
      if (!element) return std::nullopt;
      out.push_back(*element);
    }
    return out;
  }
  if (!value.known) return std::nullopt;
  for (const Dim& d : *value.known) {
    if (!d.is_constant()) return std::nullopt;
    out.push_back(d.value());
  }
  return out;
}

std::optional<std::vector<Dim>> NodeContext::dims(ValueId v) const {
  if (const auto values = ints(v)) return std::vector<Dim>(values->begin(), values->end());
  return v == kNoValue ? std::nullopt : env_.graph.value(v).known;
}

std::optional<std::vector<double>> NodeContext::numbers(ValueId v) const {
  if (v == kNoValue || !env_.graph.value(v).is_constant()) return std::nullopt;
  const DType t = dtype(v);
  const std::span<const std::byte> bytes = constant_bytes(v);
  std::vector<double> out(bytes.size() / dtype_bytes(t));
  for (size_t i = 0; i < out.size(); ++i) out[i] = load_number(t, bytes.data(), i);
  return out;
}

int64_t NodeContext::axis(int64_t value, int64_t rank, const char* what) {
  if (value >= -rank && value < rank) return value < 0 ? value + rank : value;
  fail(text_of(what, " is ", value, ", expected ", -rank, " to ", rank - 1, " for rank ", rank));
  return 0;
}

Ints NodeContext::axes(Ints values, int64_t rank) {
  for (int64_t& v : values) v = axis(v, rank, "axes");
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

Ints NodeContext::known_ints(size_t input, const char* what) {
  if (const auto values = ints(in(input))) return *values;
  if (!has(input)) {
    fail(text_of(what, " is missing"));
  } else if (is_float(dtype(in(input)))) {
    fail(text_of(what, " has element type ", dtype_name(dtype(in(input))), ", expected integers"));
  } else {
    unsupported(text_of(what, " is computed while the model runs, expected a constant"));
  }
  return {};
}

int64_t NodeContext::known_dim(ValueId v, int64_t axis, const char* why) {
  const Dim d = dim(v, axis);
  if (d.is_constant()) return d.value();
  unsupported(text_of(why, " needs dimension ", axis, " of ", graph::type_text(type(v)),
                      " to be known while loading"));
  return 1;
}

bool NodeContext::expect_rank(ValueId v, int64_t least, int64_t most, const char* what) {
  const int64_t r = rank(v);
  if (failed() || (r >= least && r <= most)) return !failed();
  fail(text_of(what, " is ", graph::type_text(type(v)), ", expected rank ", least,
               least == most ? "" : " or more"));
  return false;
}

void NodeContext::fail(std::string message, Code code) {
  if (!failed()) error_ = make_error(code, std::move(message));
}

std::vector<ValueId> NodeContext::append(Op op, std::vector<ValueId> inputs,
                                         std::vector<TensorType> declared) {
  const size_t count = declared.size();
  std::vector<ValueId> none(count, kNoValue);
  if (failed()) return none;
  auto id = graph::add_inferred(env_.graph, std::move(op), std::move(inputs), std::move(declared),
                                std::string(node_.name), std::string(node_.op_type));
  if (!id.ok()) {
    error_ = std::move(id).error();
    return none;
  }
  const std::vector<ValueId>& outputs = env_.graph.node(*id).outputs;
  for (ValueId v : outputs) {
    if (has_sane_size(type(v))) continue;
    fail("the result would be " + graph::type_text(type(v)) + ", which is not a possible size");
    return none;
  }
  return outputs;
}
ValueId NodeContext::emit(Op op, std::vector<ValueId> inputs) {
  return append(std::move(op), std::move(inputs), {TensorType{}})[0];
}
std::vector<ValueId> NodeContext::emit_many(Op op, std::vector<ValueId> inputs, size_t outputs) {
  return append(std::move(op), std::move(inputs), std::vector<TensorType>(outputs));
}
ValueId NodeContext::emit_as(Op op, std::vector<ValueId> inputs, TensorType t) {
  return append(std::move(op), std::move(inputs), {std::move(t)})[0];
}
ValueId NodeContext::emit_fill(uint64_t bits, DType dtype, ValueId shape) {
  return append(graph::Fill{bits}, {shape}, {TensorType{dtype, {}, {}}})[0];
}

ValueId NodeContext::cast(ValueId x, DType to) {
  return failed() || dtype(x) == to ? x : emit(graph::Cast{to}, {x});
}
ValueId NodeContext::reduce(ReduceOp op, ValueId x, Ints axes, bool keepdims) {
  return axes.empty() ? x : emit(graph::Reduce{op, std::move(axes), keepdims}, {x});
}
ValueId NodeContext::transpose(ValueId x, Ints perm) {
  return std::is_sorted(perm.begin(), perm.end()) ? x : emit(graph::Transpose{std::move(perm)}, {x});
}
ValueId NodeContext::reshape(ValueId x, Shape wanted) {
  if (failed() || shape(x) == wanted) return x;
  const Dim have = graph::element_count(shape(x)), want = graph::element_count(wanted);
  if (have.is_constant() && want.is_constant() && have != want) {
    fail(text_of(graph::type_text(type(x)), " has ", have.value(), " elements, expected ", want.value(),
                 " for ", graph::shape_text(wanted)));
    return kNoValue;
  }
  return emit_as(graph::Reshape{}, {x}, {dtype(x), std::move(wanted), {}});
}
ValueId NodeContext::unsqueeze(ValueId x, const Ints& axes) {
  Shape wanted = shape(x);
  for (int64_t a : axes) {
    if (a < 0 || a > static_cast<int64_t>(wanted.size())) return kNoValue;  // only after a failure
    wanted.insert(wanted.begin() + a, Dim(1));
  }
  return reshape(x, std::move(wanted));
}
ValueId NodeContext::squeeze(ValueId x, const Ints& axes) {
  if (failed()) return kNoValue;
  Shape wanted;
  for (int64_t a = 0; a < rank(x); ++a)
    if (!std::binary_search(axes.begin(), axes.end(), a)) wanted.push_back(dim(x, a));
  return reshape(x, std::move(wanted));
}
ValueId NodeContext::slice(ValueId x, int64_t axis, int64_t start, Dim size) {
  if (failed()) return kNoValue;
  TensorType t = type(x);
  graph::Slice op{std::vector<Dim>(t.shape.size(), Dim(0)), Ints(t.shape.size(), 1)};
  op.starts[static_cast<size_t>(axis)] = start;
  t.shape[static_cast<size_t>(axis)] = std::move(size);
  return emit_as(std::move(op), {x}, std::move(t));
}

ValueId NodeContext::constant(TensorType t, std::shared_ptr<const graph::ConstantData> data) {
  return failed() ? kNoValue : env_.graph.add_constant(std::move(t), std::move(data));
}
ValueId NodeContext::scalar(DType dtype, double value) {
  return constant({dtype, {}, {}}, graph::make_constant(element(dtype, value)));
}
ValueId NodeContext::ints_constant(const Ints& values) {
  return constant({DType::kI64, {static_cast<int64_t>(values.size())}, {}}, graph::make_constant_of(values));
}
ValueId NodeContext::floats_constant(const std::vector<float>& values, Shape shape) {
  return constant({DType::kF32, std::move(shape), {}}, graph::make_constant_of(values));
}

}  // namespace frit::onnx
