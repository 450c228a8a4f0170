#include "codegen/families/families.h"
#include "codegen/families/gpu.h"

namespace frit::codegen {

std::span<const Family> family_table() {
  static const Family kTable[] = {
      cpu_only<depthwise_family>(),  // before conv, which would take it one channel at a time
      cpu_only<conv_family>(),
      with_gpu<matmul_family, gpu_matmul_family>(),
      cpu_only<pool_family>(),
      with_gpu<reduce_family, gpu_reduce_family>(),        // one pass over a row
      with_gpu<normalize_family, gpu_normalize_family>(),  // several
      with_gpu<pointwise_family, gpu_pointwise_family>(),
  };
  return kTable;
}

const Family* find_family(const Group& group, const BuildContext& context, std::string* why_not) {
  for (const Family& family : family_table()) {
    std::string why;
    if (family.accepts(group, context, &why)) return &family;
    if (why_not) *why_not += (why_not->empty() ? "" : "; ") + std::string(family.name) + ": " + why;
  }
  return nullptr;
}

const Family* family_named(std::string_view name) {
  for (const Family& family : family_table())
    if (name == family.name) return &family;
  return nullptr;
}

}  // namespace frit::codegen
