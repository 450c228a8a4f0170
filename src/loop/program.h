// Program: what a family builds for one group: prepare kernels that run once at load on constants (packing),
// phases with a barrier between them, and the buffers that connect them.
#pragma once

#include <string>
#include <vector>

#include "loop/ir.h"

namespace frit::loop {

enum class BufferRole : uint8_t {
  kInput,     // `index`-th input of the group
  kOutput,    // `index`-th output of the group
  kPrepared,  // made by a prepare phase from constants, kept with the Model
  kScratch,   // lives during one run of the program
};

struct ProgramBuffer {
  BufferRole role = BufferRole::kInput;
  int32_t index = 0;       // input / output number
  int64_t size_bytes = 0;  // prepared and scratch: allocated size, padding included
  bool operator==(const ProgramBuffer&) const = default;
};

struct Phase {
  LoopFn fn;
  std::vector<int32_t> args;  // program buffer of each argument
  int32_t threads = 0;        // most workers it is split over; 0: the session's threads
  int64_t grain = 1;          // tiles are handed out in multiples of it
};

struct Program {
  std::vector<ProgramBuffer> buffers;
  std::vector<Phase> prepare;  // read constant inputs and prepared buffers, write prepared buffers
  std::vector<Phase> phases;
  // Output i may share the memory of input in_place[i] (-1: never): proven element by element.
  std::vector<int32_t> in_place;
};

}  // namespace frit::loop
