// Tensors with strides: is it row-major after all, and copies between strided and row-major memory.
//
// Behind TensorView. Works on plain numbers; allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "frit/result.h"
#include "frit/tensor.h"

namespace frit::runtime {

inline constexpr size_t kMaxRank = 64;

// Whether element (i, j, ..) is where a row-major tensor has it. Strides of axes with one element do not
// count.
bool is_row_major(std::span<const int64_t> shape, std::span<const int64_t> strides);

// Strides are in elements, as many as extents, or none for row-major.
void copy_strided(std::byte* to, std::span<const int64_t> to_strides, const std::byte* from,
                  std::span<const int64_t> from_strides, std::span<const int64_t> shape,
                  size_t element_bytes);

// kInvalidArgument where number of strides, rank or extents are wrong, or memory is missing. `what` names it:
// "input \"x\"". As an output, no two indices may share an element, as far as sorting strides can tell.
Status check_view(const TensorView& view, bool is_output, std::string_view what);

}  // namespace frit::runtime
