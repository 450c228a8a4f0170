#include "codegen/families/rows_frame.h"

#include <algorithm>

#include "codegen/families/families.h"
#include "codegen/families/scalar_ops.h"

namespace frit::codegen {
namespace {

using graph::ValueId;
using loop::Expr;
using loop::LoopKind;

class RowsBuilder : RowFrame {
 public:
  RowsBuilder(const Group& group, const RowAnalysis& r, const Params& params, const BuildContext& context,
              const char* family)
      : RowFrame(group, r, params.get("keep") != 0, context, ProgramBuilder::Device::kCpu,
                 context.numerics == Numerics::kStrict
                     ? kStrictLanes
                     : static_cast<int32_t>(context.target->vector_bytes() / 4),
                 family),
        unroll_(strict_ ? 1 : params.get_or("unroll", 1)),
        grain_rows_(params.get_or("rows", 1)) {
    along_row_ = row_is_inner() || (strict_ && !inner_kept_is_long());
  }

  loop::Program take() {
    along_row_ ? rows_of_lanes() : lanes_of_rows();
    program_.add_phase(phase_, false, grain_rows_);
    return program_.take();
  }

 private:
  bool inner_kept_is_long() const { return !kept_.empty() && it_.extents[kept_.back()] >= 8; }

  Expr tile(int64_t n) {
    Expr v = b_.tile(n);
    dag_.note_range(v, 0, std::max<int64_t>(n - 1, 0));
    return v;
  }

  // ---- vectors along the row
  // -----------------------------------------------------------------------------------------------

  void rows_of_lanes() {
    const auto outer = extents_of(kept_);
    int64_t rows = 1;
    for (int64_t n : outer) rows *= n;
    Expr row = tile(rows);
    std::vector<size_t> inner = reduced_;
    // strict numbers the elements of a row in logical order, whatever the layout: one flat loop.
    const bool flat = strict_ || inner.empty();
    const int64_t length = flat ? r_.row_elements : it_.extents[inner.back()];
    std::vector<size_t> outer_reduced =
        flat ? std::vector<size_t>{} : std::vector<size_t>(inner.begin(), inner.end() - 1);
    const int64_t padded = (length + lanes_ - 1) / lanes_ * lanes_;
    int64_t repeats = 1;
    for (size_t k : outer_reduced) repeats *= it_.extents[k];
    make_kept_buffers(loop::Space::kStack, padded * repeats);

    const std::vector<Expr> kept_point = dag_.delinearize(row, outer);
    auto index_at = [&](const std::vector<Expr>& outer_point, Expr i) {
      if (flat) return row_index(kept_point, i);
      std::vector<Expr> point(it_.extents.size());
      for (size_t k = 0; k < kept_.size(); ++k) point[kept_[k]] = kept_point[k];
      for (size_t k = 0; k < outer_reduced.size(); ++k) point[outer_reduced[k]] = outer_point[k];
      point[inner.back()] = i;
      return it_.logical(dag_, point, r_.shape);
    };
    // Runs body(index, buffer position, accumulator number, tail mask) over the row in vectors.
    using Body = std::function<void(const Index&, Expr, int64_t, Expr)>;
    auto over_row = [&](int64_t accumulators, const Body& body) {
      const int64_t step = accumulators * lanes_;
      std::function<void(size_t, std::vector<Expr>)> nest = [&](size_t depth, std::vector<Expr> outer_point) {
        if (depth < outer_reduced.size()) {
          const int64_t n = it_.extents[outer_reduced[depth]];
          b_.loop(b_.integer(0), b_.integer(n), 1, LoopKind::kSerial, [&](Expr i) {
            dag_.note_range(i, 0, n - 1);
            outer_point.push_back(i);
            nest(depth + 1, outer_point);
            outer_point.pop_back();
          });
          return;
        }
        Expr base = b_.integer(0);
        for (size_t k = 0; k < outer_point.size(); ++k)
          base = base * it_.extents[outer_reduced[k]] + outer_point[k];
        base = base * padded;
        auto one = [&](Expr start, int64_t accumulator, Expr tail) {
          fresh(tail);
          body(index_at(outer_point, start + dag_.lane()), base + start, accumulator, tail);
        };
        const int64_t whole = length / step * step;
        if (whole > 0) {
          b_.loop(b_.integer(0), b_.integer(whole), step, LoopKind::kSerial, [&](Expr i) {
            dag_.note_range(i, 0, whole - step);
            for (int64_t u = 0; u < accumulators; ++u) one(i + u * lanes_, u, {});
          });
        }
        int64_t at = whole;
        for (; at + lanes_ <= length; at += lanes_) one(b_.integer(at), (at - whole) / lanes_, {});
        if (at < length) one(b_.integer(at), 0, phase_.tail_mask(b_.integer(at), length));
      };
      nest(0, {});
    };

    for (int32_t pass = 0; pass < reduce_passes(); ++pass) {
      const auto now = of_pass(pass);
      std::vector<loop::Buffer> acc;
      for (size_t k : now) {
        acc.push_back(b_.local(loop::Space::kRegister, dtype_of(k), unroll_, lanes_));
        for (int64_t u = 0; u < unroll_; ++u) b_.store(acc.back(), b_.integer(u), identity(k, lanes_));
      }
      over_row(unroll_, [&](const Index& index, Expr position, int64_t u, Expr tail) {
        bind_kept_loads(pass, [&] { return position; });
        fill_kept(pass, index, [&] { return position; });
        for (size_t n = 0; n < now.size(); ++n) {
          Expr v = dag_.at(reduction(now[n]).inputs[0], index);
          if (v->type.lanes == 1) v = loop::splat(v, lanes_);
          if (tail) v = loop::select(tail, v, identity(now[n], lanes_));
          b_.store(acc[n], b_.integer(u),
                   combine(now[n], loop::load(b_.context(), acc[n], b_.integer(u), lanes_), v));
        }
      });
      for (size_t n = 0; n < now.size(); ++n) {
        const size_t k = now[n];
        Expr sum = loop::load(b_.context(), acc[n], b_.integer(0), lanes_);
        for (int64_t u = 1; u < unroll_; ++u)
          sum = combine(k, sum, loop::load(b_.context(), acc[n], b_.integer(u), lanes_));
        bind_result(k, mean_of(k, fold_lanes(k, b_.let(sum))));
      }
    }
    fresh({});
    store_row_values(kept_point);
    if (!has_full_output()) return;
    over_row(unroll_, [&](const Index& index, Expr position, int64_t, Expr) {
      bind_kept_loads(r_.passes, [&] { return position; });
      store_full(index);
    });
  }

  // ---- vectors across rows: the innermost axis in memory is kept
  // ---------------------------------------------------------------

  void lanes_of_rows() {
    std::vector<size_t> outer_axes(kept_.begin(), kept_.end() - 1);
    const auto outer = extents_of(outer_axes);
    int64_t rows = 1;
    for (int64_t n : outer) rows *= n;
    const int64_t length = it_.extents[kept_.back()];
    const int64_t blocks = (length + lanes_ - 1) / lanes_;
    Expr row = tile(rows), block = tile(blocks);
    make_kept_buffers(loop::Space::kStack, r_.row_elements * lanes_);
    const std::vector<Expr> outer_point = dag_.delinearize(row, outer);
    const int64_t virtual_lanes =
        strict_ ? kStrictLanes : std::min<int64_t>(unroll_, std::max<int64_t>(r_.row_elements, 1));

    auto work = [&](Expr first, bool masked) {
      Expr tail = masked ? phase_.tail_mask(first, length) : Expr{};
      Expr lane_index = first + dag_.lane();
      std::vector<Expr> kept_point = outer_point;
      kept_point.push_back(lane_index);
      auto index_at = [&](Expr flat) { return row_index(kept_point, flat); };
      using Body = std::function<void(const Index&, Expr, int64_t)>;
      auto over_row = [&](int64_t step, const Body& body) {
        const int64_t n = r_.row_elements, whole = n / step * step;
        auto one = [&](Expr i, int64_t u) {
          fresh(tail);
          body(index_at(i), i * lanes_, u);
        };
        if (whole > 0)
          b_.loop(b_.integer(0), b_.integer(whole), step, LoopKind::kSerial, [&](Expr i) {
            dag_.note_range(i, 0, whole - step);
            for (int64_t u = 0; u < step; ++u) one(i + u, u);
          });
        for (int64_t i = whole; i < n; ++i) one(b_.integer(i), i - whole);
      };
      for (int32_t pass = 0; pass < reduce_passes(); ++pass) {
        const auto now = of_pass(pass);
        std::vector<loop::Buffer> acc;
        for (size_t k : now) {
          acc.push_back(b_.local(loop::Space::kRegister, dtype_of(k), virtual_lanes, lanes_));
          for (int64_t u = 0; u < virtual_lanes; ++u)
            b_.store(acc.back(), b_.integer(u), identity(k, lanes_));
        }
        over_row(virtual_lanes, [&](const Index& index, Expr position, int64_t u) {
          bind_kept_loads(pass, [&] { return position; });
          fill_kept(pass, index, [&] { return position; });
          for (size_t n = 0; n < now.size(); ++n) {
            Expr v = dag_.at(reduction(now[n]).inputs[0], index);
            if (v->type.lanes == 1) v = loop::splat(v, lanes_);
            b_.store(acc[n], b_.integer(u),
                     combine(now[n], loop::load(b_.context(), acc[n], b_.integer(u), lanes_), v));
          }
        });
        for (size_t n = 0; n < now.size(); ++n) {
          // A fixed tree over the accumulators: i with i + n/2.
          std::vector<Expr> parts;
          for (int64_t u = 0; u < virtual_lanes; ++u)
            parts.push_back(loop::load(b_.context(), acc[n], b_.integer(u), lanes_));
          while (parts.size() > 1) {
            const size_t half = (parts.size() + 1) / 2;
            for (size_t u = 0; u + half < parts.size(); ++u)
              parts[u] = combine(now[n], parts[u], parts[u + half]);
            parts.resize(half);
          }
          bind_result(now[n], mean_of(now[n], parts[0]));
        }
      }
      fresh(tail);
      store_row_values(kept_point);
      if (has_full_output())
        over_row(1, [&](const Index& index, Expr position, int64_t) {
          bind_kept_loads(r_.passes, [&] { return position; });
          store_full(index);
        });
      for (ValueId v : keep_) dag_.unbind(v);
    };
    const int64_t whole = length / lanes_;
    if (length % lanes_ == 0) {
      work(b_.let(block * lanes_), false);
    } else if (whole == 0) {
      work(b_.integer(0), true);
    } else {
      b_.if_then(
          loop::lt(block, b_.integer(whole)), [&] { work(b_.let(block * lanes_), false); },
          [&] { work(b_.integer(whole * lanes_), true); });
    }
  }

  int64_t unroll_, grain_rows_;
  bool along_row_ = true;
};

bool accepts_rows(const Group& group, RowAnalysis* r, std::string* why) {
  const graph::NodeId anchor = group.anchor;
  if (anchor == graph::kNoNode || !std::get_if<graph::Reduce>(&group.graph.node(anchor).op)) {
    if (why) *why = "the anchor is not a reduction";
    return false;
  }
  return analyze_rows(group, r, why);
}

bool accepts_reduce(const Group& group, const BuildContext&, std::string* why) {
  RowAnalysis r;
  if (!accepts_rows(group, &r, why)) return false;
  if (r.passes > 1) {
    if (why) *why = "more than one pass over a row";
    return false;
  }
  return true;
}

bool accepts_normalize(const Group& group, const BuildContext&, std::string* why) {
  RowAnalysis r;
  return accepts_rows(group, &r, why);
}

Result<loop::Program> build_reduce(const Group& g, const Params& p, const BuildContext& c) {
  return rows_build(g, p, c, "reduce");
}
Result<loop::Program> build_normalize(const Group& g, const Params& p, const BuildContext& c) {
  return rows_build(g, p, c, "normalize");
}

}  // namespace

Space rows_space(const Group& group, const BuildContext& context) {
  RowAnalysis r;
  Space s;
  if (!analyze_rows(group, &r, nullptr)) return s;
  s.dims.push_back(
      {"unroll",
       context.numerics == Numerics::kStrict ? std::vector<int64_t>{1} : std::vector<int64_t>{1, 2, 4, 8},
       "accumulators per reduction"});
  s.dims.push_back({"keep",
                    values_to_keep(group, r).empty() ? std::vector<int64_t>{0} : std::vector<int64_t>{0, 1},
                    "keep dear values of a row in a buffer"});
  s.dims.push_back({"rows", {1, 4, 16}, "rows handed out at a time"});
  return s;
}

Params rows_heuristic(const Group& group, const BuildContext& context) {
  RowAnalysis r;
  analyze_rows(group, &r, nullptr);
  const bool keep = !values_to_keep(group, r).empty();
  const int64_t unroll = context.numerics == Numerics::kStrict ? 1 : 4;
  return Params{{"unroll", unroll}, {"keep", keep ? 1 : 0}, {"rows", 1}};
}

Cost rows_cost(const Group& group, const Params&, const BuildContext& context) {
  return group_cost(group, context, 8);
}

Result<loop::Program> rows_build(const Group& group, const Params& params, const BuildContext& context,
                                 const char* family) {
  RowAnalysis r;
  std::string why;
  if (!analyze_rows(group, &r, &why)) return make_error(Code::kInternal, std::string(family) + ": " + why);
  return RowsBuilder(group, r, params, context, family).take();
}

Family reduce_family() {
  return {"reduce", 1, accepts_reduce, rows_space, rows_heuristic, rows_cost, build_reduce};
}
Family normalize_family() {
  return {"normalize", 1, accepts_normalize, rows_space, rows_heuristic, rows_cost, build_normalize};
}

}  // namespace frit::codegen
