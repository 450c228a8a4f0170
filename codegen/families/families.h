// The rows of the family table, one function per family file.
#pragma once

#include "codegen/families/family.h"

namespace frit::codegen {

Family matmul_family();
Family conv_family();
Family depthwise_family();
Family pool_family();
Family normalize_family();
Family reduce_family();
Family pointwise_family();

}  // namespace frit::codegen
