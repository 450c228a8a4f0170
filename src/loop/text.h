// The canonical text of a LoopFn and of a Program, and its parser (grammar: schemas/loop-text.md).
//
// Golden tests, bug reports, binary keys and the border to libfrit-codegen use it. Variables and buffers are
// numbered by position, so equal functions have equal texts whatever order they were built in;
// print(parse(t)) == t for every t that print made. The parser checks structure only; types and scopes are
// the verifier's business.
#pragma once

#include <string>
#include <string_view>

#include "base/hash.h"
#include "loop/program.h"

namespace frit::loop {

std::string print(const LoopFn& fn);
std::string print(const Program& program);

// kCorrupt with line and column where the text is not one.
Result<LoopFn> parse_loop_fn(std::string_view text);
Result<Program> parse_program(std::string_view text);

base::Hash128 text_hash(const LoopFn& fn);
base::Hash128 text_hash(const Program& program);

// The name of a kernel whose canonical text is `text`: frit_<family>_<16 hex digits of the text's hash>.
std::string kernel_symbol(std::string_view family, std::string_view text);

// For messages: one line with the variables' own ids, deep parts shown as "...". A statement without its
// body.
std::string brief(Expr e);
std::string brief(const StmtNode& stmt);

}  // namespace frit::loop
