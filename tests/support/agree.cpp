#include "support/agree.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "graph/eval.h"
#include "graph/eval/element.h"
#include "graph/tensor.h"

namespace frit::testing {
namespace {

using graph::HostTensor;

double special_number(std::mt19937_64& random) {
  const double numbers[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1.0, -1.0, 1e-40, -1e-40, 3e38, -3e38, 2.5};
  return numbers[random() % std::size(numbers)];
}

HostTensor random_tensor(const graph::TensorType& type, const DataOptions& data, std::mt19937_64& random) {
  graph::Extents extents;
  for (const graph::Dim& d : type.shape) {
    std::vector<std::string> names;
    d.collect_symbols(names);
    std::map<std::string, int64_t> sizes = data.sizes;
    for (const std::string& name : names) sizes.try_emplace(name, 3);
    extents.push_back(d.bind(sizes).value());
  }
  HostTensor tensor = HostTensor::allocate(type.dtype, extents).value_or_throw();
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> positive(0.1, 2.0);
  std::uniform_int_distribution<int64_t> integer(data.low, data.high);
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    double x;
    if (type.dtype == DType::kBool) {
      x = static_cast<double>(random() & 1);
    } else if (!is_float(type.dtype)) {
      x = static_cast<double>(is_unsigned_int(type.dtype) ? std::abs(integer(random)) : integer(random));
    } else if (data.special && random() % 3 == 0) {
      x = special_number(random);
    } else {
      x = data.positive ? positive(random) : normal(random);
    }
    graph::eval::store(tensor, i, 1, &x);
  }
  return tensor;
}

bool same_element(const HostTensor& a, const HostTensor& b, int64_t i, const Agreement& how, double scale) {
  if (!is_float(a.dtype())) {
    const size_t width = dtype_bytes(a.dtype()), at = static_cast<size_t>(i) * width;
    return std::memcmp(a.bytes() + at, b.bytes() + at, width) == 0;
  }
  const double x = a.as_double(i), y = b.as_double(i);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (how.exact) return x == y && (how.zeros_equal || x != 0 || std::signbit(x) == std::signbit(y));
  if (std::isinf(x) || std::isinf(y)) return x == y;
  // Several roundings of a narrow type are no difference.
  const double rounding = a.dtype() == DType::kF64 ? 0 : a.dtype() == DType::kF32 ? 0x1p-18 : 0x1p-5;
  return std::fabs(x - y) <= std::max(how.tolerance, rounding) * std::max(scale, 1e-6);
}

std::string difference(const HostTensor& a, const HostTensor& b, const Agreement& how) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return a.type_text() + " against " + b.type_text();
  double scale = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    if (std::isfinite(a.as_double(i))) scale = std::max(scale, std::fabs(a.as_double(i)));
  }
  for (int64_t i = 0; i < a.elements(); ++i) {
    if (same_element(a, b, i, how, scale)) continue;
    char text[120];
    std::snprintf(text, sizeof text, "element %lld is %.9g before and %.9g after", static_cast<long long>(i),
                  a.as_double(i), b.as_double(i));
    return text;
  }
  return {};
}

}  // namespace

std::vector<HostTensor> random_data(const graph::Graph& graph, const DataOptions& options) {
  std::mt19937_64 random(options.seed);
  std::vector<HostTensor> inputs;
  for (graph::ValueId v : graph.inputs) inputs.push_back(random_tensor(graph.value(v).type, options, random));
  return inputs;
}

std::string disagreement(const graph::Graph& a, const graph::Graph& b, std::span<const HostTensor> inputs,
                         const Agreement& how) {
  if (a.inputs.size() != b.inputs.size() || a.outputs.size() != b.outputs.size())
    return "other inputs or outputs";
  const auto x = graph::evaluate(a, inputs), y = graph::evaluate(b, inputs);
  if (how.may_fail && !x.ok() && !y.ok()) return {};
  if (!x.ok()) return "before fails: " + x.error().text();
  if (!y.ok()) return "only after fails: " + y.error().text();
  for (size_t i = 0; i < x->size(); ++i) {
    const std::string text = difference((*x)[i], (*y)[i], how);
    if (!text.empty()) return "output " + std::to_string(i) + ": " + text;
  }
  return {};
}

}  // namespace frit::testing
