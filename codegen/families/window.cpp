#include "codegen/families/window.h"

#include <algorithm>

namespace frit::codegen {

using loop::Expr;
using loop::LoopKind;

namespace {

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

class WindowEmitter {
 public:
  WindowEmitter(PhaseBuilder& phase, const WindowProblem& p, graph::ValueId map, DType accumulator, int64_t pixels, const WindowCallbacks& cb)
      : phase_(phase), b_(phase.builder()), dag_(phase.dag()), p_(p), map_(map), accumulator_(accumulator), pixels_(pixels), cb_(cb), rank_(p.out.size()) {}

  void emit() {
    image_ = tile(p_.images);
    for (size_t k = 0; k + 1 < rank_; ++k) outer_.push_back(tile(p_.out[k]));
    const int32_t lanes = dag_.lanes();
    const int64_t blocks = (p_.channels + lanes - 1) / lanes, whole = p_.channels / lanes;
    Expr block = tile(blocks);
    if (p_.channels % lanes == 0) return channels(b_.let(block * lanes), false);
    if (whole == 0) return channels(b_.integer(0), true);
    b_.if_then(loop::lt(block, b_.integer(whole)), [&] { channels(b_.let(block * lanes), false); }, [&] { channels(b_.integer(whole * lanes), true); });
  }

 private:
  Expr tile(int64_t n) {
    Expr v = b_.tile(n);
    dag_.note_range(v, 0, std::max<int64_t>(n - 1, 0));
    return v;
  }

  // Taps of axis k that fall inside of the map for output position o: [begin, end).
  std::pair<Expr, Expr> inside(size_t k, Expr o) {
    const int64_t s = p_.strides[k], d = p_.dilations[k], before = p_.before[k], n = p_.in[k], kernel = p_.kernel[k];
    const int64_t first = -before, last = (p_.out[k] - 1) * s - before + (kernel - 1) * d;
    Expr start = o * s - before;
    Expr begin = b_.integer(0), end = b_.integer(kernel);
    if (first < 0) begin = b_.let(loop::max(b_.integer(0), loop::floor_div(b_.integer(d - 1) - start, b_.integer(d))));
    if (last >= n) end = b_.let(loop::min(b_.integer(kernel), loop::floor_div(b_.integer(n - 1 + d) - start, b_.integer(d))));
    return {begin, end};
  }

  void channels(Expr first, bool masked) {
    channel_ = first;
    dag_.note_range(first, 0, std::max<int64_t>(p_.channels - 1, 0));
    tail_ = masked ? phase_.tail_mask(first, p_.channels) : Expr{};
    bounds_.clear();
    for (size_t k = 0; k + 1 < rank_; ++k) bounds_.push_back(inside(k, outer_[k]));
    // Output positions of the last axis whose windows lie inside.
    const size_t k = rank_ - 1;
    const int64_t s = p_.strides[k], reach = (p_.kernel[k] - 1) * p_.dilations[k], n = p_.out[k];
    const int64_t low = std::clamp<int64_t>(ceil_div(p_.before[k], s), 0, n);
    const int64_t high = std::clamp<int64_t>(floor_div(p_.in[k] - 1 - reach + p_.before[k], s) + 1, low, n);
    edge(0, low);
    const int64_t whole = low + (high - low) / pixels_ * pixels_;
    if (whole > low)
      b_.loop(b_.integer(low), b_.integer(whole), pixels_, LoopKind::kSerial, [&](Expr o) {
        dag_.note_range(o, low, whole - pixels_);
        several(o, pixels_);
      });
    if (whole < high) several(b_.integer(whole), high - whole);
    edge(high, n);
  }

  // Loops over the taps of the outer axes.
  void outer_taps(size_t depth, std::vector<Expr>& taps, const std::function<void()>& body) {
    if (depth + 1 == rank_) return body();
    b_.loop(bounds_[depth].first, bounds_[depth].second, 1, LoopKind::kSerial, [&](Expr t) {
      dag_.note_range(t, 0, p_.kernel[depth] - 1);
      taps.push_back(t);
      outer_taps(depth + 1, taps, body);
      taps.pop_back();
    });
  }

  Expr element(const std::vector<Expr>& taps, Expr o) {
    Index index{image_, channel_ + dag_.lane()};
    for (size_t k = 0; k < rank_; ++k) {
      Expr at = k + 1 < rank_ ? outer_[k] : o;
      index.push_back(at * p_.strides[k] - p_.before[k] + taps[k] * p_.dilations[k]);
    }
    dag_.forget();
    dag_.set_tail(tail_);
    Expr v = dag_.at(map_, index);
    return v->type.lanes == 1 ? loop::splat(v, dag_.lanes()) : v;
  }

  void finish(Expr o, Expr acc, Expr last_count) {
    Index at{image_, channel_ + dag_.lane()};
    at.insert(at.end(), outer_.begin(), outer_.end());
    at.push_back(o);
    Expr count = last_count;
    for (const auto& [begin, end] : bounds_) count = count * (end - begin);
    dag_.forget();
    dag_.set_tail(tail_);
    cb_.finish(at, acc, count);
  }

  void several(Expr o, int64_t n) {
    const int32_t lanes = dag_.lanes();
    loop::Buffer acc = b_.local(loop::Space::kRegister, accumulator_, n, lanes);
    for (int64_t u = 0; u < n; ++u) b_.store(acc, b_.integer(u), cb_.initial());
    std::vector<Expr> taps;
    outer_taps(0, taps, [&] {
      b_.loop(0, p_.kernel.back(), 1, LoopKind::kUnrolled, [&](Expr t) {
        dag_.note_range(t, 0, p_.kernel.back() - 1);
        taps.push_back(t);
        b_.loop(0, n, 1, LoopKind::kUnrolled, [&](Expr u) {
          dag_.note_range(u, 0, n - 1);
          Expr v = element(taps, o + u);
          b_.store(acc, u, cb_.combine(loop::load(b_.context(), acc, u, lanes), v, taps, channel_));
        });
        taps.pop_back();
      });
    });
    for (int64_t u = 0; u < n; ++u) finish(o + u, loop::load(b_.context(), acc, b_.integer(u), lanes), b_.integer(p_.kernel.back()));
  }

  void edge(int64_t begin, int64_t end) {
    if (begin >= end) return;
    const int32_t lanes = dag_.lanes();
    b_.loop(b_.integer(begin), b_.integer(end), 1, LoopKind::kSerial, [&](Expr o) {
      dag_.note_range(o, begin, end - 1);
      loop::Buffer acc = b_.local(loop::Space::kRegister, accumulator_, 1, lanes);
      b_.store(acc, b_.integer(0), cb_.initial());
      auto [first, last] = inside(rank_ - 1, o);
      std::vector<Expr> taps;
      outer_taps(0, taps, [&, first = first, last = last] {
        b_.loop(first, last, 1, LoopKind::kSerial, [&](Expr t) {
          dag_.note_range(t, 0, p_.kernel.back() - 1);
          taps.push_back(t);
          Expr v = element(taps, o);
          b_.store(acc, b_.integer(0), cb_.combine(loop::load(b_.context(), acc, b_.integer(0), lanes), v, taps, channel_));
          taps.pop_back();
        });
      });
      finish(o, loop::load(b_.context(), acc, b_.integer(0), lanes), loop::max(last - first, b_.integer(0)));
    });
  }

  PhaseBuilder& phase_;
  loop::Builder& b_;
  Dag& dag_;
  const WindowProblem& p_;
  const graph::ValueId map_;
  const DType accumulator_;
  const int64_t pixels_;
  const WindowCallbacks& cb_;
  const size_t rank_;
  Expr image_, channel_, tail_;
  std::vector<Expr> outer_;
  std::vector<std::pair<Expr, Expr>> bounds_;
};

}  // namespace

void emit_windows(PhaseBuilder& phase, const WindowProblem& problem, graph::ValueId map, DType accumulator, int64_t pixels,
                  const WindowCallbacks& callbacks) {
  WindowEmitter(phase, problem, map, accumulator, pixels, callbacks).emit();
}

}  // namespace frit::codegen
