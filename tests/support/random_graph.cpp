#include "support/random_graph.h"

#include <cstring>
#include <limits>
#include <memory>

#include "base/half.h"
#include "support/random_graph_builder.h"

namespace frit::testing {

void store_number(DType dtype, double value, std::byte* out) {
  auto put = [out](auto v) { std::memcpy(out, &v, sizeof v); };
  switch (dtype) {
    case DType::kF32:
      return put(static_cast<float>(value));
    case DType::kF64:
      return put(value);
    case DType::kF16:
      return put(base::double_to_f16(value));
    case DType::kBF16:
      return put(base::double_to_bf16(value));
    case DType::kBool:
      return put(static_cast<uint8_t>(value != 0));
    default:
      break;
  }
  // Little-endian two's complement of any width.
  const auto v = static_cast<int64_t>(value);
  std::memcpy(out, &v, dtype_bytes(dtype));
}

namespace {

double special_number(Random& random) {
  const double values[] = {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(),
                           -0.0,
                           1.4e-45,
                           3e38,
                           -3e38};
  return values[random.below(7)];
}

}  // namespace

std::vector<std::byte> random_bytes(DType dtype, int64_t count, Random& random, bool special) {
  std::vector<std::byte> bytes(static_cast<size_t>(count) * dtype_bytes(dtype));
  for (int64_t i = 0; i < count; ++i) {
    double v = 0;
    if (is_float(dtype)) {
      v = special && random.one_in(8) ? special_number(random) : 4 * random.unit() - 2;
    } else {
      v = static_cast<double>(dtype == DType::kBool ? random.below(2)
                                                    : random.between(is_signed_int(dtype) ? -3 : 0, 3));
    }
    store_number(dtype, v, bytes.data() + static_cast<size_t>(i) * dtype_bytes(dtype));
  }
  return bytes;
}

Graph Builder::run() {
  for (int64_t i = random_.between(1, 3); i > 0; --i) new_input();
  const std::vector<std::function<void()>> steps = make_steps();
  // A step may find nothing that fits; the bound only matters for options that exclude almost everything.
  for (int tries = 0; static_cast<int>(g_.nodes.size()) < options_.nodes && tries < options_.nodes * 50;
       ++tries) {
    random_.pick(steps)();
    if (random_.one_in(8)) new_input();
  }
  const auto uses = collect_uses(g_);
  for (const Node& node : g_.nodes) {
    for (ValueId id : node.outputs) {
      if (uses[static_cast<size_t>(id)].empty() || random_.one_in(10)) g_.outputs.push_back(id);
    }
  }
  if (g_.outputs.empty()) g_.outputs.push_back(g_.inputs[0]);
  compact(g_);
  return std::move(g_);
}

std::vector<std::function<void()>> Builder::make_steps() {
  std::vector<std::function<void()>> steps;
  auto add = [&](int weight, void (Builder::*step)()) {
    for (int i = 0; i < weight; ++i) steps.emplace_back([this, step] { (this->*step)(); });
  };
  add(5, &Builder::unary);
  add(6, &Builder::binary);
  add(1, &Builder::divide);
  add(2, &Builder::reduce);
  add(1, &Builder::cumsum);
  add(2, &Builder::transpose);
  add(2, &Builder::slice);
  add(1, &Builder::concat);
  add(1, &Builder::pad);
  add(1, &Builder::expand_or_tile);
  add(2, &Builder::reshape);
  add(1, &Builder::resize);
  if (options_.contractions) {
    add(3, &Builder::matmul);
    add(3, &Builder::conv);
    add(1, &Builder::lstm);
  }
  if (options_.composites) add(4, &Builder::composite);
  if (options_.integers) {
    add(1, &Builder::compare_and_select);
    add(1, &Builder::bit_ops);
    add(1, &Builder::cast);
    add(1, &Builder::arg_reduce);
    add(2, &Builder::gather);
  }
  if (options_.integers && options_.dynamic) {
    add(1, &Builder::generate);
    add(1, &Builder::computed_reshape);
    add(1, &Builder::nonzero);
  }
  return steps;
}

Graph random_graph(uint64_t seed, const RandomGraphOptions& options) { return Builder(seed, options).run(); }

std::map<std::string, int64_t> random_sizes(const Graph& graph, uint64_t seed) {
  Random random(seed);
  std::vector<std::string> names;
  for (ValueId id : graph.inputs) {
    for (const Dim& d : graph.value(id).type.shape) d.collect_symbols(names);
  }
  std::map<std::string, int64_t> sizes;
  for (const std::string& name : names) sizes[name] = random.between(1, 7);
  return sizes;
}

HostTensor random_tensor(const TensorType& type, uint64_t seed, bool special) {
  Random random(seed);
  Extents shape;
  int64_t count = 1;
  for (const Dim& d : type.shape) {
    shape.push_back(d.value());
    count *= d.value();
  }
  auto bytes = std::make_shared<std::vector<std::byte>>(random_bytes(type.dtype, count, random, special));
  return HostTensor::view(type.dtype, std::move(shape), bytes->data(), bytes);
}

std::vector<HostTensor> random_inputs(const Graph& graph, uint64_t seed, bool special) {
  std::vector<HostTensor> out;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    out.push_back(random_tensor(graph.value(graph.inputs[i]).type, seed * 1000003 + i, special));
  }
  return out;
}

}  // namespace frit::testing
