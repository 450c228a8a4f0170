// matmul on a GPU: a block computes bm x bn of the result in steps of bk, from tiles of A and B in shared
// memory; a thread keeps tm x tn of it in registers and applies the epilogue there. Tiles are read past no
// edge: what lies outside is 0.
//
// Method: the classical two-level tiling of Volkov and Demmel, "Benchmarking GPUs to Tune Dense Linear
// Algebra" (2008); fp32 on the ordinary units, so that one fused multiply-add chain per element is kept in
// the order of k.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "codegen/families/anchored.h"
#include "codegen/families/families.h"
#include "codegen/families/gpu.h"
#include "codegen/families/machine.h"
#include "codegen/families/matmul_shape.h"

namespace frit::codegen {
namespace {

using graph::ValueId;
using loop::Expr;
using loop::LoopKind;

constexpr int64_t kPad =
    4;  // elements behind each row of A's tile, so that its columns start in different banks

struct Tile {
  int64_t bm = 64, bn = 64, bk = 16, tm = 4, tn = 4, vec = 4;
  int64_t threads_m() const { return bm / tm; }
  int64_t threads_n() const { return bn / tn; }
  int64_t threads() const { return threads_m() * threads_n(); }
  int64_t shared_bytes() const { return 4 * bk * (bm + kPad + bn); }
  // What a thread holds at once: accumulators, a column of A, a row of B, addresses.
  int64_t registers() const { return tm * tn + tm + tn + 32; }
  // What a thread moves into shared memory per step.
  int64_t a_parts() const { return bm * bk / threads(); }
  int64_t b_parts() const { return bn / vec * bk / threads(); }
};

Tile tile_of(const Params& q) {
  return {q.get_or("bm", 64), q.get_or("bn", 64), q.get_or("bk", 16),
          q.get_or("tm", 4),  q.get_or("tn", 4),  q.get_or("vec", 1)};
}

class GpuMatmulBuilder {
 public:
  GpuMatmulBuilder(const Group& group, const Anchored& anchored, const Tile& tile, bool strict)
      : group_(group),
        anchored_(anchored),
        s_(matmul_shape(group)),
        p_(s_.problem),
        t_(tile),
        strict_(strict),
        lanes_(static_cast<int32_t>(tile.vec)),
        program_(group, ProgramBuilder::Device::kGpu),
        phase_(program_, "matmul", lanes_, all_inputs(group), {}, group.graph.outputs, {}),
        b_(phase_.builder()),
        dag_(phase_.dag()),
        a_value_(anchored.anchor->inputs[0]),
        b_value_(anchored.anchor->inputs[1]) {
    program_.allow_in_place(in_place_candidates(group));
  }

  loop::Program take() {
    const int64_t m_blocks = ceil_div(p_.m, t_.bm), n_blocks = ceil_div(p_.n, t_.bn);
    for_blocks(phase_, p_.batch * m_blocks * n_blocks, [&](Expr block) {
      const Index at = dag_.delinearize(block, {p_.batch, m_blocks, n_blocks});
      batch_ = at[0];
      m0_ = at[1] * t_.bm;
      n0_ = at[2] * t_.bn;
      tile_a_ = b_.local(loop::Space::kShared, DType::kF32, t_.bk * (t_.bm + kPad));
      tile_b_ = b_.local(loop::Space::kShared, DType::kF32, t_.bk * t_.bn);
      for_threads(phase_, t_.threads(), 0, [&](Expr thread) { work(thread); });
    });
    program_.add_phase(phase_, false);
    return program_.take();
  }

 private:
  static std::vector<int32_t> all_inputs(const Group& group) {
    std::vector<int32_t> all(group.graph.inputs.size());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  void unrolled(int64_t n, const std::function<void(Expr)>& body) {
    b_.loop(0, n, 1, LoopKind::kUnrolled, [&](Expr i) {
      dag_.note_range(i, 0, n - 1);
      body(i);
    });
  }
  Expr known(Expr e, int64_t extent) {  // names e, which is in [0, extent)
    e = b_.let(e);
    dag_.note_range(e, 0, std::max<int64_t>(extent - 1, 0));
    return e;
  }
  // x < limit where x may reach `reach`, else nothing.
  Expr below(Expr x, int64_t reach, int64_t limit) {
    return reach > limit ? loop::lt(x, b_.integer(limit)) : Expr{};
  }
  static Expr both(Expr a, Expr b) { return !a ? b : !b ? a : loop::both(a, b); }
  static int64_t round_up(int64_t n, int64_t unit) { return ceil_div(n, unit) * unit; }

  void work(Expr thread) {
    const int64_t vectors = t_.tn / t_.vec;
    thread_m_ = known(loop::floor_div(thread, b_.integer(t_.threads_n())), t_.threads_m());
    thread_n_ = known(loop::floor_mod(thread, b_.integer(t_.threads_n())), t_.threads_n());
    const loop::Buffer acc = b_.local(loop::Space::kRegister, DType::kF32, t_.tm * vectors, lanes_);
    unrolled(t_.tm * vectors,
             [&](Expr i) { b_.store(acc, i, loop::float_const(b_.context(), 0, DType::kF32, lanes_)); });
    b_.loop(b_.integer(0), b_.integer(p_.run), t_.bk, LoopKind::kSerial, [&](Expr k0) {
      dag_.note_range(k0, 0, std::max<int64_t>(p_.run - 1, 0));
      load_a(thread, k0);
      load_b(thread, k0);
      b_.barrier();
      auto step = [&](Expr kk) { multiply(acc, kk); };
      // Past the end of k there is nothing but zeros; under `strict` not even the sign of a zero may change.
      if (strict_ && p_.run % t_.bk != 0) {
        b_.loop(b_.integer(0), b_.let(loop::min(b_.integer(t_.bk), b_.integer(p_.run) - k0)), 1,
                LoopKind::kSerial, step);
      } else {
        unrolled(t_.bk, step);
      }
      b_.barrier();
    });
    unrolled(t_.tm, [&](Expr i) {
      unrolled(vectors,
               [&](Expr j) { finish(i, j, loop::load(b_.context(), acc, i * vectors + j, lanes_)); });
    });
  }

  // An operand's value at an index, 0 where the guard is off.
  Expr element(ValueId operand, Index index, Expr column, Expr guard) {
    index.push_back(column);
    Expr v = phase_.broadcast(operand, index, guard);
    const bool loads = !inputs_before(group_.graph, operand).empty();
    if (!guard || loads) return v;
    return loop::select(v->type.lanes > 1 ? loop::splat(guard, v->type.lanes) : guard, v,
                        loop::float_const(b_.context(), 0, DType::kF32, v->type.lanes));
  }
  // Whether the operand's last axis is not the one that lies side by side in memory.
  bool is_transposed(ValueId operand) const {
    const graph::NodeId producer = group_.graph.value(operand).producer;
    return producer != graph::kNoNode && std::get_if<graph::Transpose>(&group_.graph.node(producer).op);
  }

  // Neighbouring threads read along the axis that lies side by side in memory.
  void load_a(Expr thread, Expr k0) {
    const bool k_inner = !is_transposed(a_value_);
    unrolled(t_.a_parts(), [&](Expr u) {
      dag_.forget();
      dag_.set_tail({});
      Expr e = u * t_.threads() + thread;
      const int64_t inner = k_inner ? t_.bk : t_.bm;
      Expr low = known(loop::floor_mod(e, b_.integer(inner)), inner),
           high = known(loop::floor_div(e, b_.integer(inner)), t_.bm * t_.bk / inner);
      Expr mm = k_inner ? high : low, kk = k_inner ? low : high, m = m0_ + mm, k = k0 + kk;
      Expr guard = both(below(m, round_up(p_.m, t_.bm), p_.m), below(k, round_up(p_.run, t_.bk), p_.run));
      Expr v = element(a_value_, s_.row_index(dag_, batch_, m), k, guard);
      b_.store(tile_a_, kk * (t_.bm + kPad) + mm, v);
    });
  }
  void load_b(Expr thread, Expr k0) {
    const bool n_inner = !is_transposed(b_value_);
    const int64_t row_vectors = t_.bn / t_.vec;
    unrolled(t_.b_parts(), [&](Expr u) {
      dag_.forget();
      Expr e = u * t_.threads() + thread;
      const int64_t inner = n_inner ? row_vectors : t_.bk;
      Expr low = known(loop::floor_mod(e, b_.integer(inner)), inner),
           high = known(loop::floor_div(e, b_.integer(inner)), row_vectors * t_.bk / inner);
      Expr vector = n_inner ? low : high, kk = n_inner ? high : low, k = k0 + kk, n = n0_ + vector * t_.vec;
      Expr guard = below(k, round_up(p_.run, t_.bk), p_.run);
      guard = both(guard, columns(n));
      Index row = s_.b_index(dag_, b_.context(), batch_);
      row.push_back(k);
      Expr v = element(b_value_, std::move(row), n + dag_.lane(), guard);
      if (v->type.lanes < lanes_) v = loop::splat(v, lanes_);
      b_.store(tile_b_, kk * t_.bn + vector * t_.vec, v);
    });
  }
  // Sets the mask of a vector of columns from n; a condition instead where it holds for all lanes or none.
  Expr columns(Expr n) {
    dag_.set_tail({});
    const int64_t reach = round_up(p_.n, t_.bn);
    if (p_.n % t_.vec == 0 || reach == p_.n) return below(n, reach, p_.n);
    if (t_.vec > 1) dag_.set_tail(phase_.tail_mask(n, p_.n));
    return below(n, reach, p_.n);
  }

  void multiply(const loop::Buffer& acc, Expr kk) {
    dag_.note_range(kk, 0, t_.bk - 1);
    const int64_t vectors = t_.tn / t_.vec, group = std::gcd(t_.tm, kPad);
    std::vector<Expr> a;
    for (int64_t i = 0; i < t_.tm; i += group) {
      Expr v = b_.let(loop::load(b_.context(), tile_a_, kk * (t_.bm + kPad) + thread_m_ * t_.tm + i,
                                 static_cast<int32_t>(group)));
      for (int32_t lane = 0; lane < group; ++lane) a.push_back(group == 1 ? v : loop::shuffle(v, v, {lane}));
    }
    for (int64_t j = 0; j < vectors; ++j) {
      Expr row = b_.let(
          loop::load(b_.context(), tile_b_, kk * t_.bn + (thread_n_ + j * t_.threads_n()) * t_.vec, lanes_));
      for (int64_t i = 0; i < t_.tm; ++i) {
        Expr at = b_.integer(i * vectors + j), scalar = a[static_cast<size_t>(i)];
        Expr column = lanes_ > 1 ? loop::splat(scalar, lanes_) : scalar;
        b_.store(acc, at, loop::fma(column, row, loop::load(b_.context(), acc, at, lanes_)));
      }
    }
  }

  void finish(Expr i, Expr j, Expr value) {
    dag_.forget();
    Expr m = m0_ + thread_m_ * t_.tm + i, n = n0_ + (thread_n_ + j * t_.threads_n()) * t_.vec;
    Expr condition = both(below(m, round_up(p_.m, t_.bm), p_.m), columns(n));
    auto store = [&] {
      Index index = s_.row_index(dag_, batch_, m);
      index.push_back(n + dag_.lane());
      phase_.finish(anchored_.result, index, value);
    };
    if (condition)
      b_.if_then(condition, store);
    else
      store();
  }

  const Group& group_;
  const Anchored& anchored_;
  const MatmulShape s_;
  const GemmProblem& p_;
  const Tile t_;
  const bool strict_;
  const int32_t lanes_;
  ProgramBuilder program_;
  PhaseBuilder phase_;
  loop::Builder& b_;
  Dag& dag_;
  const ValueId a_value_, b_value_;
  loop::Buffer tile_a_, tile_b_;
  Expr batch_, m0_, n0_, thread_m_, thread_n_;
};

Space space(const Group&, const BuildContext& context) {
  const device::GpuArch& arch = context.target->gpu();
  Space s;
  s.dims.push_back({"bm", {16, 32, 64, 128}, "rows of the result per block"});
  s.dims.push_back({"bn", {16, 32, 64, 128}, "columns of the result per block"});
  s.dims.push_back({"bk", {8, 16, 32}, "steps of k per tile in shared memory"});
  s.dims.push_back({"tm", {1, 2, 4, 8}, "rows per thread"});
  s.dims.push_back({"tn", {1, 2, 4, 8}, "columns per thread"});
  s.dims.push_back({"vec", {1, 2, 4}, "columns per access"});
  auto add = [&](const char* text, std::function<bool(const Tile&)> holds) {
    s.constraints.push_back(
        {text, [holds = std::move(holds)](const Params& q) { return holds(tile_of(q)); }});
  };
  add("vec divides tn", [](const Tile& t) { return t.tn % t.vec == 0; });
  add("32 <= threads <= 1024", [](const Tile& t) { return t.threads() >= 32 && t.threads() <= 1024; });
  add("threads divide the tiles of A and B",
      [](const Tile& t) { return t.bm * t.bk % t.threads() == 0 && t.bn / t.vec * t.bk % t.threads() == 0; });
  add("at most 16 elements of a tile per thread and step",
      [](const Tile& t) { return t.a_parts() <= 16 && t.b_parts() * t.vec <= 16; });
  add("registers fit the multiprocessor and shared memory the block", [arch](const Tile& t) {
    return device::check_launch(arch, {t.threads(), t.registers(), t.shared_bytes()}).ok();
  });
  return s;
}

double seconds_of(const Group& group, const Tile& t, const BuildContext& context) {
  const GemmProblem p = matmul_shape(group).problem;
  const device::GpuArch& arch = context.target->gpu();
  const Machine machine = machine_of(*context.target, 1);
  const auto m = static_cast<double>(ceil_div(p.m, t.bm) * t.bm),
             n = static_cast<double>(ceil_div(p.n, t.bn) * t.bn);
  // Issue slots per step of k and thread: products, and loads of four elements from shared memory, which take
  // two.
  const double products = static_cast<double>(t.tm * t.tn);
  const double loads = static_cast<double>(t.tm) / static_cast<double>(std::gcd(t.tm, kPad)) +
                       static_cast<double>(t.tn) / static_cast<double>(t.vec);
  const double issue = products / (products + 2 * loads + 1.0);
  const int64_t per_sm = device::blocks_per_sm(arch, {t.threads(), t.registers(), t.shared_bytes()});
  const double warps = static_cast<double>(per_sm * ceil_div(t.threads(), 32));
  const double hidden =
      std::min(1.0, warps * products / 64.0);  // latency covered by other products in flight
  const int64_t blocks = p.batch * ceil_div(p.m, t.bm) * ceil_div(p.n, t.bn);
  const double flops = 2.0 * static_cast<double>(p.batch) * m * n * static_cast<double>(p.k());
  const double compute = flops / (machine.flops * issue * std::max(hidden, 0.05) *
                                  std::max(wave_efficiency(arch, blocks, per_sm), 1e-3));
  // Each block reads its strips of A and B; half of that comes from L2, which is several times as fast.
  const double strips =
      static_cast<double>(blocks) * static_cast<double>(p.k()) * static_cast<double>(t.bm + t.bn) * 4;
  double bytes = 0;
  for (ValueId v : group.graph.inputs) bytes += value_bytes(group.graph, v);
  for (ValueId v : group.graph.outputs) bytes += value_bytes(group.graph, v);
  return std::max({compute, bytes / machine.bytes_per_second, strips / (4 * machine.bytes_per_second)}) +
         machine.dispatch_seconds;
}

Params heuristic(const Group& group, const BuildContext& context) {
  // The usual shapes; the model picks among them.
  constexpr Tile kTiles[] = {{128, 128, 8, 8, 8, 4}, {128, 64, 8, 8, 4, 4}, {64, 128, 8, 4, 8, 4},
                             {64, 64, 16, 4, 4, 4},  {64, 32, 16, 4, 4, 4}, {32, 64, 16, 4, 4, 4},
                             {32, 32, 16, 2, 4, 4},  {16, 64, 16, 2, 4, 4}, {64, 16, 16, 4, 2, 2},
                             {16, 16, 16, 2, 2, 2},  {16, 128, 8, 2, 4, 4}};
  const Space s = space(group, context);
  Params best;
  double least = 0;
  for (const Tile& t : kTiles) {
    const Params q{{"bm", t.bm}, {"bn", t.bn}, {"bk", t.bk}, {"tm", t.tm}, {"tn", t.tn}, {"vec", t.vec}};
    if (!s.legal(q)) continue;
    const double seconds = seconds_of(group, t, context);
    if (best.items().empty() || seconds < least) best = q, least = seconds;
  }
  return best;
}

Cost cost(const Group& group, const Params& params, const BuildContext& context) {
  Cost c = gpu_group_cost(group, context, 1);
  c.seconds = seconds_of(group, tile_of(params), context);
  return c;
}

Result<loop::Program> build(const Group& group, const Params& params, const BuildContext& context) {
  Anchored anchored;
  std::string why;
  if (!analyze_anchored(group, &anchored, &why)) return make_error(Code::kInternal, "matmul: " + why);
  return GpuMatmulBuilder(group, anchored, tile_of(params), context.numerics == Numerics::kStrict).take();
}

}  // namespace

Family gpu_matmul_family() { return {"matmul", 1, matmul_family().accepts, space, heuristic, cost, build}; }

}  // namespace frit::codegen
