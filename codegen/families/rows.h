// What reduce and normalize share: groups whose reductions all run over the same axes of one shape S, with pointwise
// work before, between and after them (softmax, layer norm, RMS norm, pooled means ...), one pass per reduction over a
// row that stays in the innermost cache.
#pragma once

#include <string>
#include <vector>

#include "codegen/families/family.h"
#include "codegen/families/group.h"

namespace frit::codegen {

// How a value relates to the row: an element of S, one per row (with or without the reduced axes kept as 1), or
// something that does not depend on a reduction.
enum class RowForm : uint8_t { kOutside, kFull, kKept, kSqueezed };

struct RowAnalysis {
  graph::ValueId space = graph::kNoValue;     // a value of shape S: the first reduction's operand
  std::vector<int64_t> shape;                 // S
  std::vector<bool> reduced;                  // per axis of S
  int64_t row_elements = 1, rows = 1;
  std::vector<graph::NodeId> reductions;      // in order
  std::vector<int32_t> pass;                  // per node: reductions in a chain before its result is known
  std::vector<RowForm> form;                  // per value
  std::vector<bool> after;                    // per value: depends on a reduction
  int32_t passes = 0;                         // over the row, the final one for full outputs included
};

bool analyze_rows(const Group& group, RowAnalysis* out, std::string* why_not);

Space rows_space(const Group& group, const BuildContext& context);
Params rows_heuristic(const Group& group, const BuildContext& context);
Cost rows_cost(const Group& group, const Params& params, const BuildContext& context);
Result<loop::Program> rows_build(const Group& group, const Params& params, const BuildContext& context, const char* family);

}  // namespace frit::codegen
