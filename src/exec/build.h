// From a Plan and a choice per group to compiled programs: the step before memory is laid out.
//
// Asks each group's family for the Program of its choice and the provider for the kernels of the Program's
// phases. A choice that cannot be compiled is replaced by the next legal one. Equal groups are built once. It
// must not know where choices come from (runtime asks the store) nor where kernels come from
// (kernel_source.h).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/thread_pool.h"
#include "base/trace.h"
#include "codegen/families/family.h"
#include "exec/kernel_source.h"
#include "frit/stop.h"
#include "fusion/plan.h"

namespace frit::exec {

// An id as an index.
inline size_t at(int32_t id) { return static_cast<size_t>(id); }

// A group with its choice made; shared by all groups of equal text and choice, in all plans that hold it.
struct BuiltGroup {
  codegen::Params params;
  loop::Program program;
  base::Hash128 program_hash;                                  // of the program's canonical text
  std::vector<std::shared_ptr<const device::Kernel>> prepare;  // parallel to program.prepare
  std::vector<std::shared_ptr<const device::Kernel>> phases;   // parallel to program.phases
  std::string replaced;  // why the choice that was asked for was not taken; empty: it was
};

struct CompiledPlan {
  std::shared_ptr<const fusion::Plan> plan;
  std::vector<std::shared_ptr<const BuiltGroup>> groups;  // parallel to plan->groups; null: a host op
};

struct BuildOptions {
  codegen::BuildContext context;
  // How a group's family is found: the families' own table, or a test's.
  std::function<const codegen::Family*(std::string_view)> family = codegen::family_named;
  // Workers that build and compile side by side; null: the calling thread alone.
  base::PoolLease* workers = nullptr;
  // Points of the space that are tried when choice and heuristic fail.
  int more_tries = 6;
  StopToken stop;
  base::Logger log;
  base::TraceRecorder* trace = nullptr;
};

// choices: parallel to plan->groups; empty Params, or an empty span, mean the heuristic. provider null:
// programs without kernels, for the interpreter and for explain. Errors name the group's nodes.
Result<CompiledPlan> build_plan(std::shared_ptr<const fusion::Plan> plan,
                                std::span<const codegen::Params> choices, KernelProvider* provider,
                                const BuildOptions& options);

// "Conv \"conv1\" (conv_direct)": a group as messages name it.
std::string group_label(const fusion::Plan& plan, size_t group);

}  // namespace frit::exec
