// reduce and normalize on a GPU: a block takes `rows` rows with `threads` threads each. The threads of a row
// walk it a vector at a time, each into its own accumulator; a tree in shared memory joins them; dear values
// of the row may stay in shared memory between passes. Neighbouring threads lie along the innermost axis in
// memory: along the row, or across rows where the reduced axis is an outer one.
#include <algorithm>

#include "codegen/families/families.h"
#include "codegen/families/gpu.h"
#include "codegen/families/rows_frame.h"

namespace frit::codegen {
namespace {

using graph::ValueId;
using loop::Expr;
using loop::LoopKind;

constexpr int64_t kVectorBytes = 16;

class GpuRowsBuilder : RowFrame {
 public:
  GpuRowsBuilder(const Group& group, const RowAnalysis& r, const Params& params, const BuildContext& context,
                 const char* family)
      : RowFrame(group, r, params.get("keep") != 0, context, ProgramBuilder::Device::kGpu,
                 static_cast<int32_t>(params.get_or("vec", 1)), family),
        threads_(params.get_or("threads", 32)),
        rows_(params.get_or("rows", 1)),
        inner_(row_is_inner()) {}

  loop::Program take() {
    for_blocks(phase_, ceil_div(r_.rows, rows_), [&](Expr block) {
      for (size_t k = 0; k < r_.reductions.size(); ++k)
        if (threads_ > 1) parts_.push_back(b_.local(loop::Space::kShared, dtype_of(k), threads_ * rows_));
      make_kept_buffers(loop::Space::kShared, std::max<int64_t>(r_.row_elements * rows_, 1));
      // Axis 0 is the one of neighbours.
      auto along = [&](Expr row) { return [this, block, row](Expr thread) { work(block, row, thread); }; };
      if (rows_ == 1)
        for_threads(phase_, threads_, 0, along(b_.integer(0)));
      else if (inner_)
        for_threads(phase_, rows_, 1, [&](Expr row) { for_threads(phase_, threads_, 0, along(row)); });
      else
        for_threads(phase_, threads_, 1, [&](Expr thread) {
          for_threads(phase_, rows_, 0, [&](Expr row) { work(block, row, thread); });
        });
    });
    program_.add_phase(phase_, false);
    return program_.take();
  }

 private:
  void work(Expr block, Expr row_of_block, Expr thread) {
    // Threads of rows past the end work on the last one, since all must reach the barriers, and store
    // nothing.
    Expr row = b_.let(block * rows_ + row_of_block), active;
    if (r_.rows % rows_ != 0) {
      active = b_.let(loop::lt(row, b_.integer(r_.rows)));
      row = b_.let(loop::min(row, b_.integer(r_.rows - 1)));
    }
    dag_.note_range(row, 0, std::max<int64_t>(r_.rows - 1, 0));
    const std::vector<Expr> kept_point = dag_.delinearize(row, extents_of(kept_));
    row_of_block_ = row_of_block;

    for (int32_t pass = 0; pass < reduce_passes(); ++pass) {
      const auto now = of_pass(pass);
      std::vector<loop::Buffer> sums;
      for (size_t k : now) {
        sums.push_back(b_.local(loop::Space::kRegister, dtype_of(k), 1, lanes_));
        b_.store(sums.back(), b_.integer(0), identity(k, lanes_));
      }
      auto sum = [&](size_t n) { return loop::load(b_.context(), sums[n], b_.integer(0), lanes_); };
      over_row(kept_point, thread, [&](const Index& index, Expr position) {
        bind_kept_loads(pass, [&] { return position; });
        fill_kept(pass, index, [&] { return position; });
        for (size_t n = 0; n < now.size(); ++n) {
          Expr v = dag_.at(reduction(now[n]).inputs[0], index);
          if (v->type.lanes == 1) v = loop::splat(v, lanes_);
          b_.store(sums[n], b_.integer(0), combine(now[n], sum(n), v));
        }
      });
      std::vector<Expr> own;
      for (size_t n = 0; n < now.size(); ++n)
        own.push_back(lanes_ > 1 ? fold_lanes(now[n], b_.let(sum(n))) : sum(n));
      if (threads_ > 1) join(now, own, thread);
      for (size_t n = 0; n < now.size(); ++n) bind_result(now[n], mean_of(now[n], own[n]));
    }
    fresh({});
    // One thread of the row.
    Expr first = threads_ > 1 ? loop::eq(thread, b_.integer(0)) : Expr{};
    guarded(first && active ? loop::both(first, active)
            : first         ? first
                            : active,
            [&] { store_row_values(kept_point); });
    if (!has_full_output()) return;
    guarded(active, [&] {
      over_row(kept_point, thread, [&](const Index& index, Expr position) {
        bind_kept_loads(r_.passes, [&] { return position; });
        store_full(index);
      });
    });
  }

  void guarded(Expr condition, const std::function<void()>& body) {
    fresh({});
    if (condition)
      b_.if_then(condition, body);
    else
      body();
    fresh({});
  }

  // Replaces each thread's parts of the reductions by the row's, in every thread: part i with i + n/2 until
  // one is left.
  void join(const std::vector<size_t>& now, std::vector<Expr>& own, Expr thread) {
    auto part = [&](size_t n, Expr at) { return loop::load(b_.context(), parts_[now[n]], slot(at)); };
    for (size_t n = 0; n < now.size(); ++n) b_.store(parts_[now[n]], slot(thread), own[n]);
    for (int64_t half = threads_ / 2; half >= 1; half /= 2) {
      b_.barrier();
      b_.if_then(loop::lt(thread, b_.integer(half)), [&] {
        for (size_t n = 0; n < now.size(); ++n)
          b_.store(parts_[now[n]], slot(thread), combine(now[n], part(n, thread), part(n, thread + half)));
      });
    }
    b_.barrier();
    for (size_t n = 0; n < now.size(); ++n) own[n] = part(n, b_.integer(0));
  }
  // Where a thread's part lies: neighbours in a warp, neighbours in memory.
  Expr slot(Expr thread) {
    return inner_ ? row_of_block_ * threads_ + thread : thread * rows_ + row_of_block_;
  }

  // body(index of a vector of the row's elements, its position in a kept buffer), for this thread's share of
  // the row.
  void over_row(const std::vector<Expr>& kept_point, Expr thread,
                const std::function<void(const Index&, Expr)>& body) {
    const int64_t n = r_.row_elements;
    b_.loop(b_.let(thread * lanes_), b_.integer(n), threads_ * lanes_, LoopKind::kSerial, [&](Expr i) {
      dag_.note_range(i, 0, std::max<int64_t>(n - lanes_, 0));
      fresh({});
      const Expr at = i + dag_.lane();
      Index index;
      if (strict_) {
        index = row_index(kept_point, at);
      } else {
        // In the order of memory.
        std::vector<Expr> point(it_.extents.size());
        for (size_t k = 0; k < kept_.size(); ++k) point[kept_[k]] = kept_point[k];
        const Index within = dag_.delinearize(at, extents_of(reduced_));
        for (size_t k = 0; k < reduced_.size(); ++k) point[reduced_[k]] = within[k];
        index = it_.logical(dag_, point, r_.shape);
      }
      body(index, inner_ ? row_of_block_ * n + i : i * rows_ + row_of_block_);
    });
  }

  const int64_t threads_, rows_;
  const bool inner_;
  std::vector<loop::Buffer> parts_;  // per reduction
  Expr row_of_block_;
};

// What the space depends on.
struct Problem {
  RowAnalysis rows;
  bool inner = true;
  int64_t run = 1;         // elements of a row that lie side by side
  int64_t part_bytes = 0;  // of all reductions, per thread
  int64_t keep_bytes = 0;  // of all values worth keeping, per element
};

Problem problem_of(const Group& group) {
  Problem p;
  analyze_rows(group, &p.rows, nullptr);
  const Iteration it = make_iteration(group, p.rows.space, p.rows.reduced);
  if (!it.extents.empty()) {
    p.inner = p.rows.reduced[static_cast<size_t>(it.axes.back()[0])];
    if (p.inner) p.run = it.extents.back();
  }
  for (graph::NodeId id : p.rows.reductions)
    p.part_bytes +=
        static_cast<int64_t>(dtype_bytes(group.graph.value(group.graph.node(id).inputs[0]).type.dtype));
  for (ValueId v : values_to_keep(group, p.rows))
    p.keep_bytes += static_cast<int64_t>(dtype_bytes(group.graph.value(v).type.dtype));
  return p;
}

int64_t shared_bytes(const Problem& p, const Params& q) {
  const int64_t rows = q.get_or("rows", 1), threads = q.get_or("threads", 1);
  const int64_t kept = q.get("keep") ? p.keep_bytes * p.rows.row_elements * rows : 0;
  constexpr int64_t kPadding = 16 * 16;  // of the buffers' alignment
  return kept + (threads > 1 ? p.part_bytes * threads * rows : 0) + kPadding;
}

Space space(const Group& group, const BuildContext& context) {
  const Problem p = problem_of(group);
  const device::GpuArch& arch = context.target->gpu();
  const bool strict = context.numerics == Numerics::kStrict;
  std::vector<int64_t> vec{1};
  for (int64_t n = 2; n * 4 <= kVectorBytes && !strict && p.inner; n *= 2)
    if (p.run % n == 0) vec.push_back(n);
  Space s;
  s.dims.push_back({"threads",
                    strict    ? std::vector<int64_t>{kStrictLanes}
                    : p.inner ? block_sizes(arch, 8, 1024)
                              : block_sizes(arch, 1, 32),
                    "threads per row"});
  s.dims.push_back({"rows",
                    p.inner ? std::vector<int64_t>{1, 2, 4, 8, 16} : std::vector<int64_t>{4, 8, 32, 64, 128},
                    "rows per block"});
  s.dims.push_back({"vec", vec, "elements per access"});
  s.dims.push_back({"keep", p.keep_bytes > 0 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0},
                    "keep dear values of a row in shared memory"});
  s.constraints.push_back({"32 <= threads * rows <= 1024", [](const Params& q) {
                             const int64_t n = q.get("threads") * q.get("rows");
                             return n >= 32 && n <= 1024;
                           }});
  s.constraints.push_back(
      {"shared memory fits the architecture",
       [p, limit = arch.shared_per_block](const Params& q) { return shared_bytes(p, q) <= limit; }});
  return s;
}

Params heuristic(const Group& group, const BuildContext& context) {
  const Problem p = problem_of(group);
  const bool strict = context.numerics == Numerics::kStrict;
  const Space s = space(group, context);
  const int64_t vec = s.dims[2].values.back(), n = p.rows.row_elements;
  int64_t threads = kStrictLanes, rows = 16;
  if (p.inner && !strict) {
    // About four vectors per thread; short rows share a block.
    threads = 8;
    while (threads < 512 && threads * vec * 4 < n) threads *= 2;
    rows = std::clamp<int64_t>(128 / threads, 1, 16);
  } else if (!p.inner) {
    rows = p.rows.rows >= 32 ? 32 : 8;
    if (!strict) {
      threads = 32 / rows;
      while (threads < 32 && threads * 8 < n) threads *= 2;
    }
  }
  Params q{{"threads", threads}, {"rows", rows}, {"vec", vec}, {"keep", p.keep_bytes > 0 ? 1 : 0}};
  if (!s.legal(q)) q.set("keep", 0);
  return q;
}

Cost cost(const Group& group, const Params& params, const BuildContext& context) {
  const Problem p = problem_of(group);
  const device::GpuArch& arch = context.target->gpu();
  const int64_t threads = params.get_or("threads", 1), rows = params.get_or("rows", 1);
  const int64_t per_sm = device::blocks_per_sm(arch, {threads * rows, 40, shared_bytes(p, params)});
  const double idle = std::min(
      1.0, static_cast<double>(p.rows.row_elements) / static_cast<double>(threads * params.get_or("vec", 1)));
  return gpu_group_cost(group, context,
                        wave_efficiency(arch, ceil_div(p.rows.rows, rows), per_sm) * std::max(idle, 0.1));
}

Result<loop::Program> build(const Group& group, const Params& params, const BuildContext& context,
                            const char* family) {
  RowAnalysis r;
  std::string why;
  if (!analyze_rows(group, &r, &why)) return make_error(Code::kInternal, std::string(family) + ": " + why);
  return GpuRowsBuilder(group, r, params, context, family).take();
}
Result<loop::Program> build_reduce(const Group& g, const Params& p, const BuildContext& c) {
  return build(g, p, c, "reduce");
}
Result<loop::Program> build_normalize(const Group& g, const Params& p, const BuildContext& c) {
  return build(g, p, c, "normalize");
}

}  // namespace

Family gpu_reduce_family() {
  return {"reduce", 1, reduce_family().accepts, space, heuristic, cost, build_reduce};
}
Family gpu_normalize_family() {
  return {"normalize", 1, normalize_family().accepts, space, heuristic, cost, build_normalize};
}

}  // namespace frit::codegen
