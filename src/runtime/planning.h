// From a model's graph and concrete shapes to a fusion plan: bind sizes, run the passes, then replay the plan
// that the cache has for this graph, or make one and keep it.
//
// The first half of a prepare. It must not know decisions or kernels.
#pragma once

#include <memory>
#include <optional>

#include "frit/stats.h"
#include "fusion/plan.h"
#include "graph/ir.h"
#include "runtime/runtime.h"
#include "runtime/setup.h"
#include "runtime/shapes.h"
#include "tuner/key.h"

namespace frit::runtime {

// The graph for these shapes: constant shapes, primitives only. Errors: kInvalidArgument (shapes), those of
// passes.
Result<graph::Graph> specialise(const graph::Graph& graph, const InputShapes& shapes, Numerics numerics);

struct Planned {
  std::shared_ptr<const fusion::Plan> plan;
  Match match = Match::kMiss;  // near: an older partitioner's record
};

// Errors: kUnsupported (a shape depends on data, an operator without kernel and host op), kNotFound (on_miss
// = kError and no record).
Result<Planned> make_or_replay(Runtime& runtime, graph::Graph graph, const Setup& setup);

}  // namespace frit::runtime
