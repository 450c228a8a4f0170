// Expands kUnrolled loops of a LoopFn body, so that register buffers are indexed by constants and shared
// subexpressions meet again through hash-consing. Runs just before emission; the text form keeps the loops.
#pragma once

#include "loop/ir.h"

namespace frit::codegen {

loop::Stmt expand_unrolled(loop::Context& context, const loop::Stmt& stmt);

}  // namespace frit::codegen
