// Composites with statistics or a sum over a row, evaluated in double from end to end and rounded once.
#include <array>
#include <cmath>

#include "graph/eval/arith.h"
#include "graph/eval/call.h"
#include "graph/eval/index.h"

namespace frit::graph::eval {
namespace {

Status expect_floats(const Call& call) {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.has(i) && !is_float(call.in(i).dtype())) {
      return bad(text_of("input ", i, " is ", dtype_name(call.in(i).dtype()), ", expected a float type"));
    }
  }
  return {};
}

}  // namespace

Result<Outputs> run(const BatchNorm& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(5, 5));
  FRIT_TRY(expect_floats(call));
  const HostTensor& x = call.in(0);
  if (x.rank() < 1) return bad(text_of("input 0 is ", x.type_text(), ", expected rank 1 or more"));
  const int64_t channels = x.rank() > 1 ? x.dim(1) : 1;
  for (size_t i = 1; i < 5; ++i) {
    if (call.in(i).shape() != Extents{channels}) {
      return bad(text_of("input ", i, " is ", call.in(i).type_text(), ", expected [", channels, "]"));
    }
  }
  const std::vector<double> scale = call.in(1).as_doubles(), bias = call.in(2).as_doubles();
  const std::vector<double> mean = call.in(3).as_doubles(), variance = call.in(4).as_doubles();
  FRIT_ASSIGN(HostTensor out, call.allocate(x.dtype(), x.shape()));
  if (out.elements() == 0) return single(std::move(out));
  const int64_t inner = x.rank() > 1 ? product(x.shape(), 2, x.rank()) : 1;
  std::vector<double> line(static_cast<size_t>(inner));
  for (int64_t row = 0; row < x.elements() / inner; ++row) {
    const size_t c = static_cast<size_t>(row % channels);
    const double deviation = std::sqrt(variance[c] + static_cast<double>(op.epsilon));
    load(x, row * inner, inner, line.data());
    for (double& v : line) v = (v - mean[c]) / deviation * scale[c] + bias[c];
    store(out, row * inner, inner, line.data());
  }
  return single(std::move(out));
}

Result<Outputs> run(const LayerNorm& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(2, 3));
  FRIT_TRY(expect_floats(call));
  const HostTensor& x = call.in(0);
  FRIT_TRY(call.expect_axis(op.axis, x.rank()));
  for (size_t i = 1; i < 3; ++i) {
    if (call.has(i) && !broadcasts_to(call.in(i).shape(), x.shape())) {
      return bad(text_of("input ", i, " is ", call.in(i).type_text(), ", which does not broadcast to ",
                         x.type_text()));
    }
  }
  const int64_t rows = product(x.shape(), 0, op.axis), length = product(x.shape(), op.axis, x.rank());
  Extents statistics(x.shape());
  std::fill(statistics.begin() + op.axis, statistics.end(), 1);
  FRIT_ASSIGN(HostTensor out, call.allocate(x.dtype(), x.shape()));
  FRIT_ASSIGN(HostTensor means, call.allocate(call.output_dtype(1, DType::kF32), statistics));
  FRIT_ASSIGN(HostTensor inverses, call.allocate(call.output_dtype(2, DType::kF32), statistics));
  BroadcastReader scale(call.in(1), x.shape()), bias(call.has(2) ? call.in(2) : call.in(1), x.shape());
  std::vector<double> line(static_cast<size_t>(length));
  std::array<double, kChunk> factor, addend;
  for (int64_t row = 0; row < rows; ++row) {
    load(x, row * length, length, line.data());
    double mean = 0, variance = 0;
    for (double v : line) mean += v;
    mean /= static_cast<double>(length);
    for (double v : line) variance += (v - mean) * (v - mean);
    variance /= static_cast<double>(length);
    const double inverse = 1 / std::sqrt(variance + static_cast<double>(op.epsilon));
    store(means, row, 1, &mean);
    store(inverses, row, 1, &inverse);
    for (int64_t start = 0; start < length; start += kChunk) {
      const int64_t count = std::min(kChunk, length - start);
      scale.read(row * length + start, count, factor.data());
      if (call.has(2)) bias.read(row * length + start, count, addend.data());
      for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
        double& v = line[static_cast<size_t>(start) + i];
        v = (v - mean) * inverse * factor[i];
        if (call.has(2)) v += addend[i];
      }
    }
    store(out, row * length, length, line.data());
  }
  Outputs outputs;
  outputs.push_back(std::move(out));
  if (call.output_count() > 1) outputs.push_back(std::move(means));
  if (call.output_count() > 2) outputs.push_back(std::move(inverses));
  return outputs;
}

Result<Outputs> run(const Softmax& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(1, 1));
  FRIT_TRY(expect_floats(call));
  const HostTensor& x = call.in(0);
  FRIT_TRY(call.expect_axis(op.axis, x.rank()));
  FRIT_ASSIGN(HostTensor out, call.allocate(x.dtype(), x.shape()));
  const AxisView view(x.shape(), op.axis);
  std::vector<int64_t> at(static_cast<size_t>(view.extent));
  std::vector<double> line(at.size());
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t k = 0; k < view.inner; ++k) {
      for (int64_t i = 0; i < view.extent; ++i)
        at[static_cast<size_t>(i)] = (o * view.extent + i) * view.inner + k;
      load_at(x, at.data(), view.extent, line.data());
      double greatest = lowest_of<double>(x.dtype()), sum = 0;
      for (double v : line) greatest = max_of(greatest, v);
      for (double v : line) sum += std::exp(v - greatest);
      for (size_t i = 0; i < line.size(); ++i) {
        const double shifted = line[i] - greatest;
        const double result = op.log ? shifted - std::log(sum) : std::exp(shifted) / sum;
        store(out, at[i], 1, &result);
      }
    }
  }
  return single(std::move(out));
}

}  // namespace frit::graph::eval
