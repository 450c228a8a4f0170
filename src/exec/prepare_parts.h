// The prepare phases of a program, cut into parts that share no buffer: each makes some packed buffers from
// some constants.
//
// A part's key says what its bytes are made from, so that parts of other groups, plans and sessions with the
// same key share one block. Internal to constants.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/hash.h"
#include "frit/result.h"
#include "loop/program.h"

namespace frit::exec {

struct PreparePart {
  std::vector<size_t> phases;    // of program.prepare, in order
  std::vector<int32_t> buffers;  // program buffers that it makes, ascending
  std::vector<int32_t> inputs;   // group inputs that it reads, ascending
  base::Hash128 key;
};

// identity: of the constant that is the group's input. Errors: kInternal when a phase needs a prepared buffer
// that none makes.
Result<std::vector<PreparePart>> prepare_parts(const loop::Program& program,
                                               const std::function<base::Hash128(int32_t input)>& identity);

}  // namespace frit::exec
