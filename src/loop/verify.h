// The verifier: says whether a LoopFn or Program obeys every static rule of ir.h and program.h.
//
// Total (any tree of nodes, however wrong, gives an answer) and cheap (about what printing costs), so it runs
// after each builder and pass in tests and before each compile. Emitters and the interpreter rely on what it
// accepts. It does not prove that run-time indices are in bounds: that is the interpreter's check.
#pragma once

#include "loop/program.h"

namespace frit::loop {

// kInternal, with the offending node's text; where a text came from outside, the caller changes the code.
Status verify(const LoopFn& fn);
Status verify(const Program& program);

}  // namespace frit::loop
