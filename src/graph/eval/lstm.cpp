#include <cmath>

#include "graph/eval/arith.h"
#include "graph/eval/call.h"
#include "graph/eval/index.h"
#include "graph/eval/product.h"

namespace frit::graph::eval {
namespace {

enum Input : size_t { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kPeepholes, kInputCount };

struct Sizes {
  int64_t steps, batch, features, hidden, directions;
};

Status expect_shape(const Call& call, size_t i, const char* name, const Extents& shape) {
  if (!call.has(i) || call.in(i).shape() == shape) return {};
  return bad(text_of(name, " is ", call.in(i).type_text(), ", expected ", extents_text(shape)));
}

Result<Sizes> describe(const Lstm& op, const Call& call) {
  FRIT_TRY(call.expect_inputs(3, kInputCount));
  FRIT_TRY(call.expect_rank(kX, 3));
  const HostTensor& x = call.in(kX);
  const Sizes s{x.dim(0), x.dim(1), x.dim(2), op.hidden, op.direction == Direction::kBidirectional ? 2 : 1};
  if (s.hidden < 1) return bad(text_of("the hidden size is ", s.hidden, ", expected 1 or more"));
  for (size_t i : {kW, kR, kB, kInitialH, kInitialC, kPeepholes}) {
    if (call.has(i)) FRIT_TRY(call.expect_same_dtype(kX, i));
  }
  if (!is_float(x.dtype())) return bad(text_of("is not defined for ", dtype_name(x.dtype())));
  FRIT_TRY(expect_shape(call, kW, "W", {s.directions, 4 * s.hidden, s.features}));
  FRIT_TRY(expect_shape(call, kR, "R", {s.directions, 4 * s.hidden, s.hidden}));
  FRIT_TRY(expect_shape(call, kB, "B", {s.directions, 8 * s.hidden}));
  FRIT_TRY(expect_shape(call, kLengths, "sequence_lens", {s.batch}));
  FRIT_TRY(expect_shape(call, kInitialH, "initial_h", {s.directions, s.batch, s.hidden}));
  FRIT_TRY(expect_shape(call, kInitialC, "initial_c", {s.directions, s.batch, s.hidden}));
  FRIT_TRY(expect_shape(call, kPeepholes, "P", {s.directions, 3 * s.hidden}));
  return s;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// One direction. States stay in double from step to step.
class OneDirection {
 public:
  OneDirection(const Lstm& op, const Sizes& sizes, const Call& call, int64_t direction)
      : op_(op), s_(sizes), call_(call), d_(direction) {
    h_ = slab(kInitialH, s_.batch * s_.hidden);
    c_ = slab(kInitialC, s_.batch * s_.hidden);
    peepholes_ = slab(kPeepholes, 3 * s_.hidden);
    const std::vector<double> both = slab(kB, 8 * s_.hidden);
    for (int64_t j = 0; j < 4 * s_.hidden; ++j) {
      bias_.push_back(both[static_cast<size_t>(j)] + both[static_cast<size_t>(4 * s_.hidden + j)]);
    }
    // [hidden, 4 * hidden]: so that a step adds whole rows
    const std::vector<double> r = slab(kR, 4 * s_.hidden * s_.hidden);
    recurrence_.resize(r.size());
    for (int64_t j = 0; j < 4 * s_.hidden; ++j) {
      for (int64_t k = 0; k < s_.hidden; ++k) {
        recurrence_[static_cast<size_t>(k * 4 * s_.hidden + j)] = r[static_cast<size_t>(j * s_.hidden + k)];
      }
    }
  }

  // Writes y [steps, directions, batch, hidden] where a sequence has steps; the rest stays 0.
  void run(bool reverse, const std::vector<int64_t>& lengths, HostTensor& y) {
    const std::vector<double> projected = project_input();
    std::vector<double> gates(static_cast<size_t>(4 * s_.hidden));
    for (int64_t b = 0; b < s_.batch; ++b) {
      double* h = &h_[static_cast<size_t>(b * s_.hidden)];
      double* c = &c_[static_cast<size_t>(b * s_.hidden)];
      const int64_t length = lengths[static_cast<size_t>(b)];
      for (int64_t step = 0; step < length; ++step) {
        const int64_t t = reverse ? length - 1 - step : step;
        const double* row = &projected[static_cast<size_t>((t * s_.batch + b) * 4 * s_.hidden)];
        for (int64_t j = 0; j < 4 * s_.hidden; ++j) gates[static_cast<size_t>(j)] = row[j];
        for (int64_t k = 0; k < s_.hidden; ++k) {
          const double* r = &recurrence_[static_cast<size_t>(k * 4 * s_.hidden)];
          for (int64_t j = 0; j < 4 * s_.hidden; ++j) gates[static_cast<size_t>(j)] += h[k] * r[j];
        }
        advance(gates.data(), h, c);
        store(y, ((t * s_.directions + d_) * s_.batch + b) * s_.hidden, s_.hidden, h);
      }
    }
  }

  const std::vector<double>& h() const { return h_; }
  const std::vector<double>& c() const { return c_; }

 private:
  // This direction's part of an input, or zeros where it is absent.
  std::vector<double> slab(size_t input, int64_t count) const {
    std::vector<double> out(static_cast<size_t>(count), 0.0);
    if (call_.has(input)) load(call_.in(input), d_ * count, count, out.data());
    return out;
  }

  // [steps * batch, 4 * hidden]: X W^T + Wb + Rb
  std::vector<double> project_input() const {
    const int64_t rows = s_.steps * s_.batch, columns = 4 * s_.hidden;
    std::vector<double> out(static_cast<size_t>(rows * columns)), sums;
    const int64_t block = block_extent(s_.features);
    for (int64_t i0 = 0; i0 < rows; i0 += block) {
      Panels<double> x(std::min(block, rows - i0), s_.features);
      for (int64_t i = 0; i < x.rows(); ++i) x.set_row(i, call_.in(kX), (i0 + i) * s_.features);
      for (int64_t j0 = 0; j0 < columns; j0 += block) {
        Panels<double> w(std::min(block, columns - j0), s_.features);
        for (int64_t j = 0; j < w.rows(); ++j)
          w.set_row(j, call_.in(kW), (d_ * columns + j0 + j) * s_.features);
        multiply(x, w, sums);
        for (int64_t i = 0; i < x.rows(); ++i) {
          for (int64_t j = 0; j < w.rows(); ++j) {
            out[static_cast<size_t>((i0 + i) * columns + j0 + j)] =
                sums[static_cast<size_t>(i * w.rows() + j)] + bias_[static_cast<size_t>(j0 + j)];
          }
        }
      }
    }
    return out;
  }

  double clipped(double x) const {
    const double bound = op_.clip;
    return bound > 0 ? min_of(max_of(x, -bound), bound) : x;
  }

  // The gates are stacked as input, output, forget, cell; peepholes as input, output, forget.
  void advance(const double* gates, double* h, double* c) const {
    const int64_t n = s_.hidden;
    for (int64_t j = 0; j < n; ++j) {
      const auto peephole = [&](int64_t gate) { return peepholes_[static_cast<size_t>(gate * n + j)]; };
      const double input = sigmoid(clipped(gates[j] + peephole(0) * c[j]));
      const double forget =
          op_.input_forget ? 1 - input : sigmoid(clipped(gates[2 * n + j] + peephole(2) * c[j]));
      const double cell = forget * c[j] + input * std::tanh(clipped(gates[3 * n + j]));
      const double output = sigmoid(clipped(gates[n + j] + peephole(1) * cell));
      c[j] = cell;
      h[j] = output * std::tanh(cell);
    }
  }

  const Lstm& op_;
  const Sizes& s_;
  const Call& call_;
  int64_t d_;
  std::vector<double> h_, c_, peepholes_, bias_, recurrence_;
};

}  // namespace

Result<Outputs> run(const Lstm& op, const Call& call) {
  FRIT_ASSIGN(const Sizes s, describe(op, call));
  std::vector<int64_t> lengths(static_cast<size_t>(s.batch), s.steps);
  if (call.has(kLengths)) {
    FRIT_TRY(call.expect_integers(kLengths));
    lengths = call.in(kLengths).as_int64s();
    for (int64_t length : lengths) {
      if (length < 0 || length > s.steps)
        return bad(text_of("a sequence length is ", length, ", expected 0 to ", s.steps));
    }
  }
  const DType dtype = call.in(kX).dtype();
  FRIT_ASSIGN(HostTensor y, call.allocate(dtype, {s.steps, s.directions, s.batch, s.hidden}));
  FRIT_ASSIGN(HostTensor last_h, call.allocate(dtype, {s.directions, s.batch, s.hidden}));
  FRIT_ASSIGN(HostTensor last_c, call.allocate(dtype, {s.directions, s.batch, s.hidden}));
  for (int64_t d = 0; d < s.directions; ++d) {
    OneDirection direction(op, s, call, d);
    direction.run(op.direction == Direction::kReverse || d == 1, lengths, y);
    const int64_t count = s.batch * s.hidden;
    store(last_h, d * count, count, direction.h().data());
    store(last_c, d * count, count, direction.c().data());
  }
  Outputs out;
  out.push_back(std::move(y));
  if (call.output_count() > 1) out.push_back(std::move(last_h));
  if (call.output_count() > 2) out.push_back(std::move(last_c));
  return out;
}

}  // namespace frit::graph::eval
