// The CUDA half of `frit explain --kernel`: a group's GPU program as CUDA C++ or PTX. Needs no GPU; PTX needs
// NVRTC.
#pragma once

#include <string>

#include "codegen/families/family.h"
#include "fusion/plan.h"
#include "loop/program.h"

namespace frit::tools {

// Prints each kernel of the program, as `emit` says: cuda or ptx. Answers the exit code. nvrtc: a file that
// is tried before all other places, or empty.
int print_cuda(const loop::Program& program, const codegen::BuildContext& context, const std::string& emit,
               const std::string& nvrtc);

// Why a group of a plan for a GPU has no kernel there: the family that takes it on a CPU has no GPU schedule.
Error no_gpu_schedule(const codegen::Group& group, int number);

}  // namespace frit::tools
