// The operators of ai.onnx that frit imports: one row per definition (operator, first opset) with its
// signature.
//
// Rows are only split where the signature or the meaning changes; a new opset that merely allows more element
// types needs no row, because the graph's own type rules decide. The table covers opset 7 to 28: an older
// model is refused, and so is a newer one, whose operators may mean something else.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace frit::onnx {

class NodeContext;
using ImportFn = void (*)(NodeContext&);

constexpr int64_t kOldestOpset = 7;
constexpr int64_t kNewestOpset = 28;
constexpr int kAny = 1 << 20;  // variadic

struct OpRow {
  std::string_view name;
  int since;  // first opset of this definition
  int min_inputs, max_inputs;
  int min_outputs, max_outputs;
  // "name=type" separated by spaces; i int, f float, s string, t tensor, capitals are lists, ! means
  // required.
  std::string_view attributes;
  ImportFn import;  // nullptr: the operator was removed in this opset
};

std::span<const OpRow> op_table();  // sorted by name, then opset

// The definition in force at `opset`; nullptr when there is none.
const OpRow* find_op(std::string_view name, int64_t opset);
// The first opset in which the operator exists; 0 when the table does not know it.
int first_opset(std::string_view name);

// The type letter of an attribute in a row's list, 0 when the definition has no such attribute.
char attribute_letter(const OpRow& row, std::string_view name);
std::vector<std::string_view> required_attributes(const OpRow& row);

}  // namespace frit::onnx
