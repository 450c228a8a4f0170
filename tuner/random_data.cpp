#include "tuner/random_data.h"

#include <algorithm>
#include <cstring>

#include "base/half.h"
#include "base/random.h"
#include "base/try.h"

namespace frit::tuner {

using graph::HostTensor;

namespace {

void fill_random(HostTensor& t, uint64_t seed, int64_t index_limit) {
  const int64_t n = t.elements();
  std::byte* bytes = t.mutable_bytes();
  for (int64_t i = 0; i < n; ++i) {
    const double u = base::uniform(seed, static_cast<uint64_t>(i));
    switch (t.dtype()) {
      case DType::kF32: {
        const auto v = static_cast<float>(2 * u - 1);
        std::memcpy(bytes + i * 4, &v, 4);
        break;
      }
      case DType::kF64: {
        const double v = 2 * u - 1;
        std::memcpy(bytes + i * 8, &v, 8);
        break;
      }
      case DType::kF16:
      case DType::kBF16: {
        const auto f = static_cast<float>(2 * u - 1);
        const uint16_t v = t.dtype() == DType::kF16 ? base::float_to_f16(f) : base::float_to_bf16(f);
        std::memcpy(bytes + i * 2, &v, 2);
        break;
      }
      case DType::kBool: bytes[i] = static_cast<std::byte>(u < 0.5); break;
      default: {
        const auto v = static_cast<int64_t>(u * static_cast<double>(index_limit));
        std::memcpy(bytes + static_cast<size_t>(i) * dtype_bytes(t.dtype()), &v, dtype_bytes(t.dtype()));
        break;
      }
    }
  }
}

// Integers that index something stay below the shortest axis that they may index.
int64_t index_limit(const graph::Graph& g) {
  int64_t limit = 1 << 20;
  for (const auto& node : g.nodes) {
    int64_t axis = -1;
    if (const auto* gather = std::get_if<graph::Gather>(&node.op)) axis = gather->axis;
    if (const auto* gather = std::get_if<graph::GatherElements>(&node.op)) axis = gather->axis;
    if (axis >= 0) limit = std::min(limit, g.value(node.inputs[0]).type.shape[static_cast<size_t>(axis)].value());
  }
  return std::max<int64_t>(limit, 1);
}

}  // namespace

Result<HostTensor> random_input(const graph::Graph& graph, graph::ValueId value, uint64_t seed) {
  const auto& type = graph.value(value).type;
  FRIT_ASSIGN(HostTensor t, HostTensor::allocate(type.dtype, *graph::constant_shape(type.shape)));
  fill_random(t, seed, index_limit(graph));
  return t;
}

}  // namespace frit::tuner
