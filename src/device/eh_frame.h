// Checks an .eh_frame section before an unwinder sees it.
//
// The unwinder walks registered tables without any check and aborts on what it does not expect, so only the
// form that compilers write for a C function is let through: 32-bit entries, CIEs with augmentation "zR" (and
// flags without data), FDEs that refer to one of them and cover code of the same object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "frit/result.h"

namespace frit::device {

// `table` is relocated, without its terminator, and will lie at `address`; code is [code_begin, code_end).
Status check_eh_frame(std::span<const std::byte> table, uint64_t address, uint64_t code_begin,
                      uint64_t code_end);

}  // namespace frit::device
