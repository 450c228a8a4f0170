// Which groups of a plan run side by side: a step is a set of groups that do not depend on each other.
//
// Only kernels that use one worker share a step; one that is split over the workers has a step of its own. It
// must not know memory: sharing a step only means that lifetimes of buffers meet.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/build.h"

namespace frit::exec {

// Per group of the plan the number of its step, ascending in the plan's order; -1 for load-time groups.
std::vector<int32_t> assign_steps(const CompiledPlan& compiled, int threads);

// Pieces that a phase can be cut into, given its number of tiles.
int64_t phase_units(const loop::Phase& phase, int64_t tiles);
// The most workers that a phase is split over.
int phase_workers(const loop::Phase& phase, int64_t tiles, int threads);

}  // namespace frit::exec
