// The register-tiled product that matmul and convolution share: C[m, n] = sum over k of A(m, k) * B[k, n], with an
// epilogue while C is in registers (or in an L1 tile when the epilogue is long).
//
// A is read through a callback, one scalar per row and k, so that it may be a strided view or the pixels of a feature
// map. B is packed in panels [n / NR][K][NR] (NR = nv * lanes, the last panel padded with zeros), or read through a
// callback as vectors. K is a nest of `taps` (kernel positions) around a run of `run` contiguous steps.
//
// A may have padding, which is no part of the sum. Where taps mostly miss it (`padded`), it reads as zeros: right for
// finite B. So the packed form has one more element per panel, zero where the panel is finite, and tiles of other panels
// take a path that leaves padding out, row by row; finite weights pay one comparison per register tile for it. Where taps
// often fall on it (`clipped`), there is no A there: a tile skips taps that miss the map in all of its rows, and takes
// the row by row path where some do.
//
// Method: the outer-product micro-kernel of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
// (2008), with the epilogue of oneDNN's and Inductor's GEMM templates.
#pragma once

#include <functional>
#include <vector>

#include "codegen/families/family.h"
#include "codegen/families/params.h"
#include "device/target.h"
#include "loop/build.h"

namespace frit::codegen {

struct GemmProblem {
  int64_t batch = 1;               // independent products
  int64_t m = 0, n = 0;
  std::vector<int64_t> taps;       // outer K loops, outermost first; empty: none
  int64_t run = 0;                 // inner K loop
  bool padded = false;             // A has padding, as zeros: row_used says where
  bool clipped = false;            // A has padding that may not be read: row_used says where, whatever r is
  int64_t k() const;
};

struct GemmTile {
  int64_t mr = 6, nv = 4;  // rows and vectors of a register tile
  int64_t ku = 4;          // steps of k per loop iteration
  int64_t kc = 0;          // k per block, 0: all of it; only without taps
  int64_t mb = 0;          // rows per tile of the tile space (a multiple of mr), 0: all
  int64_t nb = 1;          // panels per tile
  bool rows_inner = true;  // panel outside, rows inside
  bool l1_epilogue = false;
  int32_t lanes = 16;
};

struct GemmCallbacks {
  // A(batch, m, taps, r): scalar f32. Called with expressions over unrolled loop variables.
  std::function<loop::Expr(loop::Expr batch, loop::Expr m, const std::vector<loop::Expr>& taps, loop::Expr r)> a;
  // B when it is not packed: `lanes` elements from n; masked by the caller's tail when `masked`.
  std::function<loop::Expr(loop::Expr batch, loop::Expr k, loop::Expr n, bool masked)> b;
  // With padding: whether row m's A at this step of K is part of the sum.
  std::function<loop::Expr(loop::Expr m, const std::vector<loop::Expr>& taps, loop::Expr r)> row_used;
  // Writes one vector of results for row m, columns n .. n + lanes - 1 (those below the problem's n when `masked`).
  std::function<void(loop::Expr batch, loop::Expr m, loop::Expr n, loop::Expr value, bool masked)> epilogue;
  // Says the range of a loop variable, so that addresses simplify.
  std::function<void(loop::Expr var, int64_t low, int64_t high)> note_range;
};

// Emits the whole kernel body into the builder, tile dimensions included: [batch, n blocks, m blocks].
void emit_gemm(loop::Builder& builder, const GemmProblem& problem, const GemmTile& tile, const loop::Buffer* packed_b,
               const GemmCallbacks& callbacks);

// Elements of B's packed form: the panels, and what says which are finite.
int64_t packed_b_elements(const GemmProblem& problem, int64_t nr, int64_t b_batch);

// Emits the packing kernel: packed[b][panel][k][NR] = value(b, k, n) for n < problem.n, else 0; then, with
// problem.padded, [b][panel] 0 or NaN. Tiles: [b, panel].
void emit_pack_b(loop::Builder& builder, const GemmProblem& problem, int64_t b_batch, int64_t nr, int32_t lanes, const loop::Buffer& packed,
                 const std::function<loop::Expr(loop::Expr batch, loop::Expr k, loop::Expr n, loop::Expr mask)>& value,
                 const std::function<void(loop::Expr var, int64_t low, int64_t high)>& note_range);

// The tunable part, shared by the families that multiply.
Space gemm_space(const GemmProblem& problem, const device::Target& target, int threads, bool may_block_k);
Params gemm_heuristic(const GemmProblem& problem, const device::Target& target, int threads, bool may_block_k, bool long_epilogue);
// Roofline: products at the tile's efficiency against the traffic of the group's inputs and outputs.
Cost gemm_cost(const Group& group, const GemmProblem& problem, const GemmTile& tile, const BuildContext& context);
GemmTile gemm_tile(const Params& params, const device::Target& target);

}  // namespace frit::codegen
