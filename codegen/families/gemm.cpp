#include "codegen/families/gemm.h"

#include <algorithm>
#include <cmath>

#include "codegen/families/machine.h"
#include "codegen/families/phase.h"

namespace frit::codegen {

using loop::Expr;
using loop::LoopKind;

int64_t GemmProblem::k() const {
  int64_t n = run;
  for (int64_t t : taps) n *= t;
  return n;
}

namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

class GemmEmitter {
 public:
  GemmEmitter(loop::Builder& b, const GemmProblem& p, const GemmTile& t, const loop::Buffer* packed, const GemmCallbacks& cb)
      : b_(b), p_(p), t_(t), packed_(packed), cb_(cb), nr_(t.nv * t.lanes), panels_(ceil_div(p.n, nr_)), full_(p.n / nr_) {}

  void emit() {
    const int64_t all_rows = std::max(ceil_div(p_.m, t_.mr), int64_t{1}) * t_.mr;  // empty products have no tiles, but a form
    const int64_t mb = t_.mb > 0 ? std::min(t_.mb, all_rows) : all_rows;
    const int64_t nb = std::max(std::min(t_.nb, panels_), int64_t{1});
    const int64_t n_blocks = ceil_div(panels_, nb), m_blocks = ceil_div(p_.m, mb);
    batch_ = tile(p_.batch);
    Expr n_block = tile(n_blocks), m_block = tile(m_blocks);
    Expr m_begin = b_.let(m_block * mb);
    Expr m_end = m_blocks == 1 ? b_.integer(p_.m) : b_.let(loop::min(m_begin + mb, b_.integer(p_.m)));
    Expr p_begin = b_.let(n_block * nb);
    Expr p_end = n_blocks * nb == panels_ ? p_begin + nb : b_.let(loop::min(p_begin + nb, b_.integer(panels_)));
    cb_.note_range(m_begin, 0, std::max<int64_t>(p_.m - 1, 0));
    cb_.note_range(p_begin, 0, panels_ - 1);
    k_blocks_ = t_.kc > 0 && p_.taps.empty() ? ceil_div(p_.run, t_.kc) : 1;
    if (k_blocks_ > 1) {
      partial_rows_ = mb;
      partial_ = b_.local(loop::Space::kStack, DType::kF32, mb * nb * nr_);
      panel_base_ = p_begin;
      row_base_ = m_begin;
      for (int64_t kb = 0; kb < k_blocks_; ++kb) {
        k_block_ = kb;
        walk(m_begin, m_end, p_begin, p_end);
      }
    } else {
      walk(m_begin, m_end, p_begin, p_end);
    }
  }

 private:
  Expr tile(int64_t extent) {
    Expr v = b_.tile(extent);
    cb_.note_range(v, 0, std::max<int64_t>(extent - 1, 0));
    return v;
  }

  void walk(Expr m_begin, Expr m_end, Expr p_begin, Expr p_end) {
    auto panels = [&](const std::function<void(Expr)>& body) {
      b_.loop(p_begin, p_end, 1, LoopKind::kSerial, [&](Expr p) {
        cb_.note_range(p, 0, panels_ - 1);
        body(p);
      });
    };
    if (t_.rows_inner) {
      panels([&](Expr p) { rows(m_begin, m_end, [&](Expr m, int64_t n) { columns(m, n, p); }); });
    } else {
      rows(m_begin, m_end, [&](Expr m, int64_t n) { panels([&](Expr p) { columns(m, n, p); }); });
    }
  }

  // Full register tiles, then the rest: a constant number of rows, since every block but the last is a multiple of mr.
  void rows(Expr begin, Expr end, const std::function<void(Expr, int64_t)>& body) {
    const int64_t rest = p_.m % t_.mr;
    if (p_.m >= t_.mr) {
      Expr last = rest ? end - (t_.mr - 1) : end;
      b_.loop(begin, last, t_.mr, LoopKind::kSerial, [&](Expr m) {
        cb_.note_range(m, 0, p_.m - t_.mr);
        body(m, t_.mr);
      });
    }
    if (!rest) return;
    Expr m = b_.integer(p_.m - rest);
    b_.if_then(loop::eq(end, b_.integer(p_.m)), [&] { body(m, rest); });
  }

  void columns(Expr m, int64_t rows, Expr panel) {
    const int64_t tail = p_.n - full_ * nr_;
    const int64_t vectors = ceil_div(tail, t_.lanes);
    const bool masked = tail % t_.lanes != 0;
    auto whole = [&] { micro(m, rows, panel, t_.nv, false); };
    if (!tail) return whole();
    auto rest = [&] { micro(m, rows, b_.integer(full_), vectors, masked); };
    if (full_ == 0) return rest();
    b_.if_then(loop::lt(panel, b_.integer(full_)), whole, rest);
  }

  void unrolled(int64_t n, const std::function<void(Expr)>& body) {
    b_.loop(0, n, 1, LoopKind::kUnrolled, [&](Expr i) {
      cb_.note_range(i, 0, n - 1);
      body(i);
    });
  }

  void micro(Expr m, int64_t rows, Expr panel, int64_t vectors, bool masked) {
    const int32_t lanes = t_.lanes;
    loop::Buffer acc = b_.local(loop::Space::kRegister, DType::kF32, rows * vectors, lanes);
    Expr n0 = panel * nr_;
    auto partial_at = [&](Expr i, Expr j) {
      return ((panel - panel_base_) * partial_rows_ + (m - row_base_) + i) * nr_ + j * lanes;
    };
    unrolled(rows, [&](Expr i) {
      unrolled(vectors, [&](Expr j) {
        Expr start = k_block_ > 0 ? loop::load(b_.context(), partial_, partial_at(i, j), lanes) : loop::float_const(b_.context(), 0, DType::kF32, lanes);
        b_.store(acc, i * vectors + j, start);
      });
    });
    std::vector<Expr> taps;
    auto all_rows = [&](Expr tap_flat) { inner(acc, m, rows, panel, n0, vectors, masked, taps, tap_flat); };
    auto row_by_row = [&](Expr tap_flat) { careful(acc, m, rows, panel, vectors, taps, tap_flat); };
    if (p_.padded) {
      Expr finite = loop::eq(loop::load(b_.context(), *packed_, flag_at(panel)), loop::float_const(b_.context(), 0, DType::kF32, 1));
      b_.if_then(finite, [&] { tap_loops(0, taps, all_rows); }, [&] { tap_loops(0, taps, row_by_row); });
    } else if (p_.clipped) {
      tap_loops(0, taps, [&](Expr tap_flat) {
        Expr any, all;
        for (int64_t i = 0; i < rows; ++i) {
          Expr used = cb_.row_used(m + i, taps, b_.integer(0));
          any = any ? loop::either(any, used) : used;
          all = all ? loop::both(all, used) : used;
        }
        b_.if_then(any, [&] { b_.if_then(all, [&] { all_rows(tap_flat); }, [&] { row_by_row(tap_flat); }); });
      });
    } else {
      tap_loops(0, taps, all_rows);
    }

    auto at = [&](const loop::Buffer& from, Expr index) { return loop::load(b_.context(), from, index, lanes); };
    if (k_block_ + 1 < k_blocks_) {
      unrolled(rows, [&](Expr i) { unrolled(vectors, [&](Expr j) { b_.store(partial_, partial_at(i, j), at(acc, i * vectors + j)); }); });
      return;
    }
    auto finish = [&](Expr i, Expr j, Expr value) {
      const bool last = masked && vectors == 1;
      if (masked && !last) return cb_.epilogue(batch_, m + i, n0 + j * lanes, value, true);
      cb_.epilogue(batch_, m + i, n0 + j * lanes, value, last);
    };
    if (t_.l1_epilogue && rows > 1) {
      loop::Buffer spill = b_.local(loop::Space::kStack, DType::kF32, rows * vectors * lanes);
      unrolled(rows, [&](Expr i) {
        unrolled(vectors, [&](Expr j) { b_.store(spill, (i * vectors + j) * lanes, at(acc, i * vectors + j)); });
      });
      b_.loop(0, rows, 1, LoopKind::kSerial, [&](Expr i) {
        cb_.note_range(i, 0, rows - 1);
        unrolled(vectors, [&](Expr j) { finish(i, j, b_.let(at(spill, (i * vectors + j) * lanes))); });
      });
      return;
    }
    unrolled(rows, [&](Expr i) { unrolled(vectors, [&](Expr j) { finish(i, j, at(acc, i * vectors + j)); }); });
  }

  void tap_loops(size_t depth, std::vector<Expr>& taps, const std::function<void(Expr)>& body) {
    if (depth == p_.taps.size()) {
      Expr flat = b_.integer(0);
      for (size_t k = 0; k < taps.size(); ++k) flat = flat * p_.taps[k] + taps[k];
      body(flat);
      return;
    }
    b_.loop(b_.integer(0), b_.integer(p_.taps[depth]), 1, LoopKind::kSerial, [&](Expr t) {
      cb_.note_range(t, 0, p_.taps[depth] - 1);
      taps.push_back(t);
      tap_loops(depth + 1, taps, body);
      taps.pop_back();
    });
  }

  std::pair<int64_t, int64_t> block_of_run() const {
    if (k_blocks_ == 1) return {0, p_.run};
    return {k_block_ * t_.kc, std::min(p_.run, (k_block_ + 1) * t_.kc)};
  }

  void inner(const loop::Buffer& acc, Expr m, int64_t rows, Expr panel, Expr n0, int64_t vectors, bool masked,
             const std::vector<Expr>& taps, Expr tap_flat) {
    const auto [begin, end] = block_of_run();
    const int64_t steps = std::min(t_.ku, end - begin);
    if (steps <= 0) return;
    const int64_t whole = begin + (end - begin) / steps * steps;
    auto step = [&](Expr r) {
      const int32_t lanes = t_.lanes;
      loop::Buffer row = b_.local(loop::Space::kRegister, DType::kF32, vectors, lanes);
      Expr k = tap_flat * p_.run + r;
      unrolled(vectors, [&](Expr j) {
        Expr v;
        if (packed_) v = loop::load(b_.context(), *packed_, packed_at(panel, k) + j * lanes, lanes);
        else v = cb_.b(batch_, k, n0 + j * lanes, masked);
        b_.store(row, j, v);
      });
      unrolled(rows, [&](Expr i) {
        Expr a = b_.let(loop::splat(cb_.a(batch_, m + i, taps, r), lanes));
        unrolled(vectors, [&](Expr j) {
          b_.store(acc, i * vectors + j,
                   loop::fma(a, loop::load(b_.context(), row, j, lanes), loop::load(b_.context(), acc, i * vectors + j, lanes)));
        });
      });
    };
    if (whole > begin) {
      b_.loop(b_.integer(begin), b_.integer(whole), steps, LoopKind::kSerial, [&](Expr r) {
        cb_.note_range(r, begin, whole - 1);
        unrolled(steps, [&](Expr u) { step(r + u); });
      });
    }
    for (int64_t r = whole; r < end; ++r) step(b_.integer(r));
  }

  // inner() where padding counts: a row takes part in the steps that are not padding. Nothing is unrolled but the tile
  // itself: it is rare, and code costs compile time.
  void careful(const loop::Buffer& acc, Expr m, int64_t rows, Expr panel, int64_t vectors, const std::vector<Expr>& taps, Expr tap_flat) {
    const int32_t lanes = t_.lanes;
    const auto [begin, end] = block_of_run();
    if (begin >= end) return;
    b_.loop(b_.integer(begin), b_.integer(end), 1, LoopKind::kSerial, [&, begin = begin, end = end](Expr r) {
      cb_.note_range(r, begin, end - 1);
      Expr k = tap_flat * p_.run + r;
      unrolled(rows, [&](Expr i) {
        b_.if_then(cb_.row_used(m + i, taps, r), [&] {
          Expr a = b_.let(loop::splat(cb_.a(batch_, m + i, taps, r), lanes));
          unrolled(vectors, [&](Expr j) {
            Expr b = loop::load(b_.context(), *packed_, packed_at(panel, k) + j * lanes, lanes);
            b_.store(acc, i * vectors + j, loop::fma(a, b, loop::load(b_.context(), acc, i * vectors + j, lanes)));
          });
        });
      });
    });
  }

  Expr packed_at(Expr panel, Expr k) { return ((batch_of_b() * panels_ + panel) * p_.k() + k) * nr_; }
  Expr flag_at(Expr panel) { return batch_of_b() * panels_ + panel + packed_batches() * panels_ * p_.k() * nr_; }
  Expr batch_of_b() { return packed_batches() > 1 ? batch_ : b_.integer(0); }
  int64_t packed_batches() {
    int64_t elements = 0;
    loop::as_int(packed_->size, &elements);
    return elements >= packed_b_elements(p_, nr_, p_.batch) ? p_.batch : 1;
  }

  loop::Builder& b_;
  const GemmProblem& p_;
  const GemmTile& t_;
  const loop::Buffer* packed_;
  const GemmCallbacks& cb_;
  const int64_t nr_, panels_, full_;
  Expr batch_;
  int64_t k_blocks_ = 1, k_block_ = 0, partial_rows_ = 0;
  loop::Buffer partial_;
  Expr panel_base_, row_base_;
};

}  // namespace

void emit_gemm(loop::Builder& builder, const GemmProblem& problem, const GemmTile& tile, const loop::Buffer* packed_b,
               const GemmCallbacks& callbacks) {
  GemmEmitter(builder, problem, tile, packed_b, callbacks).emit();
}

int64_t packed_b_elements(const GemmProblem& problem, int64_t nr, int64_t b_batch) {
  return b_batch * ceil_div(problem.n, nr) * (problem.k() * nr + (problem.padded ? 1 : 0));
}

void emit_pack_b(loop::Builder& b, const GemmProblem& p, int64_t b_batch, int64_t nr, int32_t lanes, const loop::Buffer& packed,
                 const std::function<Expr(Expr, Expr, Expr, Expr)>& value, const std::function<void(Expr, int64_t, int64_t)>& note_range) {
  const int64_t panels = ceil_div(p.n, nr);
  Expr batch = b.tile(b_batch), panel = b.tile(panels);
  note_range(batch, 0, b_batch - 1);
  note_range(panel, 0, panels - 1);
  // The sum of v - v: zero, or NaN.
  loop::Buffer finite;
  if (p.padded) {
    finite = b.local(loop::Space::kRegister, DType::kF32, 1, lanes);
    b.store(finite, b.integer(0), loop::float_const(b.context(), 0, DType::kF32, lanes));
  }
  b.loop(b.integer(0), b.integer(p.k()), 1, LoopKind::kSerial, [&](Expr k) {
    note_range(k, 0, std::max<int64_t>(p.k() - 1, 0));
    b.loop(b.integer(0), b.integer(nr / lanes), 1, LoopKind::kSerial, [&](Expr j) {
      note_range(j, 0, nr / lanes - 1);
      Expr n = panel * nr + j * lanes;
      Expr to = ((batch * panels + panel) * p.k() + k) * nr + j * lanes;
      Expr mask;
      if (p.n % lanes || p.n % nr) mask = b.let(loop::lt(loop::ramp(n, 1, lanes), loop::int_const(b.context(), p.n, DType::kI64, lanes)));
      Expr v = value(batch, k, n, mask);
      if (v->type.lanes == 1 && lanes > 1) {
        v = loop::splat(v, lanes);
        if (mask) v = loop::select(mask, v, loop::float_const(b.context(), 0, DType::kF32, lanes));
      }
      if (p.padded) v = b.let(v);
      b.store(packed, to, v);
      if (p.padded) b.store(finite, b.integer(0), loop::load(b.context(), finite, b.integer(0), lanes) + (v - v));
    });
  });
  if (p.padded) {
    Expr flag = loop::reduce(loop::OpCode::kAdd, loop::load(b.context(), finite, b.integer(0), lanes));
    b.store(packed, batch * panels + panel + b_batch * panels * p.k() * nr, flag);
  }
}

// ---- the tunable part ------------------------------------------------------------------------------------------------------

namespace {

constexpr int64_t kL2Bytes = 1 << 20;

int64_t l2_bytes(const device::Target& t) { return t.caches.l2_bytes > 0 ? t.caches.l2_bytes : kL2Bytes; }

}  // namespace

Space gemm_space(const GemmProblem& p, const device::Target& target, int threads, bool may_block_k) {
  (void)threads;
  const int64_t lanes = target.vector_bytes() / 4, registers = target.vector_registers();
  Space space;
  auto add = [&](std::string name, std::vector<int64_t> values, std::string meaning) { space.dims.push_back({std::move(name), std::move(values), std::move(meaning)}); };
  std::vector<int64_t> mr, nv;
  for (int64_t v : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14}) if (v <= std::max<int64_t>(p.m, 1)) mr.push_back(v);
  for (int64_t v : {1, 2, 3, 4, 6, 8}) if (v == 1 || (v - 1) * lanes < p.n) nv.push_back(v);
  add("mr", mr, "rows of a register tile");
  add("nv", nv, "vectors of a register tile");
  add("ku", {1, 2, 4}, "steps of k per loop iteration");
  add("kc", may_block_k && p.run > 512 ? std::vector<int64_t>{0, 256, 384, 512, 768, 1024} : std::vector<int64_t>{0}, "k per block, 0: all");
  add("mb", {0, 1, 2, 4, 8, 16, 32}, "register tiles of rows per tile, 0: all rows");
  add("nb", {1, 2, 4, 8}, "panels per tile");
  add("order", {0, 1}, "0: rows inside panels, 1: panels inside rows");
  add("epi", {0, 1}, "epilogue 0: on registers, 1: from an L1 tile");
  space.constraints.push_back({"mr*nv + nv + 1 <= vector registers - 1", [registers](const Params& q) {
                                 return q.get("mr") * q.get("nv") + q.get("nv") + 1 <= registers - 1;
                               }});
  space.constraints.push_back({"kc = 0 or kc < k", [k = p.run](const Params& q) { return q.get("kc") == 0 || q.get("kc") < k; }});
  space.constraints.push_back({"partial sums of a k block fit L2", [p, lanes, l2 = l2_bytes(target)](const Params& q) {
                                 if (q.get("kc") == 0) return true;
                                 const int64_t rows = q.get("mb") ? q.get("mb") * q.get("mr") : p.m;
                                 return rows * q.get("nb") * q.get("nv") * lanes * 4 <= l2;
                               }});
  const int64_t panels_of_1 = ceil_div(p.n, lanes);
  space.constraints.push_back({"nb panels exist", [panels_of_1](const Params& q) { return q.get("nb") == 1 || (q.get("nb") - 1) * q.get("nv") < panels_of_1; }});
  space.constraints.push_back({"mb blocks exist", [m = p.m](const Params& q) { return q.get("mb") == 0 || q.get("mb") * q.get("mr") < m || q.get("mb") == 1; }});
  return space;
}

Params gemm_heuristic(const GemmProblem& p, const device::Target& target, int threads, bool may_block_k, bool long_epilogue) {
  const int64_t lanes = target.vector_bytes() / 4, registers = target.vector_registers();
  // The register tile with the fewest loads per product that wastes the least of m and n.
  double best = 1e300;
  int64_t mr = 1, nv = 1;
  for (int64_t v : {1, 2, 3, 4, 6, 8}) {
    if (v > 1 && (v - 1) * lanes >= p.n) continue;
    for (int64_t r : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14}) {
      if (r > std::max<int64_t>(p.m, 1) || r * v + v + 1 > registers - 1 || r > 8) continue;
      // Cost per k of all register tiles: products, loads of B (2 each) and of A (1 each); few accumulators wait for
      // the latency of the multiply-add.
      auto tile_cost = [&](int64_t rows, int64_t vectors) {
        return std::max<double>(static_cast<double>(rows * vectors), 8.0) + 0.3 * static_cast<double>(2 * vectors + rows);
      };
      const int64_t m_full = p.m / r, m_rest = p.m % r, vectors = ceil_div(p.n, lanes), n_full = vectors / v, n_rest = vectors % v;
      double cost = static_cast<double>(m_full * n_full) * tile_cost(r, v);
      if (m_rest) cost += static_cast<double>(n_full) * tile_cost(m_rest, v);
      if (n_rest) cost += static_cast<double>(m_full) * tile_cost(r, n_rest);
      if (m_rest && n_rest) cost += tile_cost(m_rest, n_rest);
      if (cost < best) best = cost, mr = r, nv = v;
    }
  }
  const int64_t panels = ceil_div(p.n, nv * lanes), row_tiles = ceil_div(std::max<int64_t>(p.m, 1), mr);
  // Rows per tile: as many as keep A's block in half of L2, then split until every thread has tiles.
  auto pick = [&](int64_t limit) {
    int64_t mb = 0;
    if (row_tiles > limit)
      for (int64_t v : {1, 2, 4, 8, 16, 32}) if (v <= limit) mb = v;
    return mb == 0 && row_tiles > limit ? int64_t{1} : mb;
  };
  int64_t limit = std::max<int64_t>(1, l2_bytes(target) / 2 / std::max<int64_t>(1, mr * p.k() * 4));
  int64_t mb = pick(limit);
  while (threads > 1 && p.batch * panels * (mb ? ceil_div(row_tiles, mb) : 1) < 4 * threads) {
    const int64_t now = mb ? mb : 64;
    if (now == 1) break;
    mb = now / 2;
    if (mb >= row_tiles) continue;
  }
  Params params;
  params.set("mr", mr);
  params.set("nv", nv);
  params.set("ku", p.run >= 4 ? 4 : 1);
  params.set("kc", 0);
  params.set("mb", mb);
  params.set("nb", 1);
  params.set("order", 0);
  params.set("epi", long_epilogue && mr > 1 ? 1 : 0);
  (void)may_block_k;
  const Space space = gemm_space(p, target, threads, may_block_k);
  if (!space.legal(params)) params.set("mb", 0);
  if (!space.legal(params)) params.set("mb", 1);
  return params;
}

Cost gemm_cost(const Group& group, const GemmProblem& p, const GemmTile& t, const BuildContext& context) {
  Cost cost;
  cost.flops = 2.0 * static_cast<double>(p.batch) * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k());
  for (graph::ValueId v : group.graph.inputs) cost.bytes += value_bytes(group.graph, v);
  for (graph::ValueId v : group.graph.outputs) cost.bytes += value_bytes(group.graph, v);
  const Machine machine = machine_of(*context.target, context.threads);
  // Issue slots per k and tile: products, or their latency, plus loads.
  const double products = static_cast<double>(t.mr * t.nv);
  const double slots = std::max(products, 8.0) + 0.15 * static_cast<double>(2 * t.nv + t.mr);
  const double m_waste = static_cast<double>(ceil_div(p.m, t.mr) * t.mr) / std::max(1.0, static_cast<double>(p.m));
  const double n_waste = static_cast<double>(ceil_div(p.n, t.lanes) * t.lanes) / std::max(1.0, static_cast<double>(p.n));
  const double compute = cost.flops / machine.flops * slots / products * std::sqrt(m_waste) * n_waste;
  cost.seconds = std::max(compute, cost.bytes / machine.bytes_per_second) + machine.dispatch_seconds;
  return cost;
}

GemmTile gemm_tile(const Params& q, const device::Target& target) {
  GemmTile t;
  t.lanes = static_cast<int32_t>(target.vector_bytes() / 4);
  t.mr = q.get_or("mr", 1);
  t.nv = q.get_or("nv", 1);
  t.ku = q.get_or("ku", 1);
  t.kc = q.get("kc");
  t.mb = q.get("mb") * t.mr;
  t.nb = q.get_or("nb", 1);
  t.rows_inner = q.get("order") == 0;
  t.l1_epilogue = q.get("epi") != 0;
  return t;
}

}  // namespace frit::codegen
