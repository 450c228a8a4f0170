// One element of a constant as text, and back, exact to the bit. Private to the graph text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "frit/dtype.h"

namespace frit::graph {

// Integers in base 10, booleans true and false, floats the shortest text that reads back to the same value; a
// NaN is "nan", with ":0x..." for any but the usual bits.
std::string element_text(DType dtype, const std::byte* bytes);
// Writes dtype_bytes(dtype) bytes; false when the text is not a value of this type.
bool parse_element(DType dtype, std::string_view text, std::byte* out);

std::string float_text(float value);
std::optional<float> parse_float(std::string_view text);

}  // namespace frit::graph
