// Canonical text of Graph, and its parser: what golden tests, bug reports and keys use.
//
// print(parse(t)) == t for every printed t, and print(g) does not depend on value ids, names, or the order in
// which constants were added: values are numbered as the text meets them. The grammar is in
// schemas/graph-text.md. Constants of at most 16 elements stand in it by value, larger ones by type only, so
// that a key does not depend on weights. It must not know passes; it does no inference (types are written
// out) and no verification.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "graph/ir.h"

namespace frit::graph {

constexpr int64_t kMaxInlineElements = 16;

struct PrintOptions {
  // Adds the hash of the bytes to large constants. The parser reads and ignores it.
  bool content_hashes = false;
};
// Any graph, broken ones too: what cannot be named is printed as %?ID.
std::string print(const Graph& graph, const PrintOptions& options = {});
// One node, with the graph's own value ids as numbers: for messages.
std::string print_node(const Graph& graph, const Node& node);
// {strides=[1,1] groups=1}, or nothing for an op without attributes.
std::string attributes_text(const Op& op);

struct ParseOptions {
  // Large constants have no content in the text. They get numbers that depend on this seed and on their
  // position: floats in [-1, 1), integers and booleans 0 or 1.
  uint64_t seed = 0;
  size_t max_constant_bytes = size_t{1} << 30;  // of all constants together; more is an error
};
// Errors are invalid_argument and name the line. Values may be called by any number or word (%x), each
// defined once, before its use.
Result<Graph> parse(std::string_view text, const ParseOptions& options = {});

}  // namespace frit::graph
