#include "codegen/families/families.h"

namespace frit::codegen {

const std::vector<Family>& family_table() {
  // Leaked on purpose: nothing in libfrit has a destructor that runs at exit.
  static const auto* table = new std::vector<Family>{
      depthwise_family(),  // before conv, which would take it one channel at a time
      conv_family(), matmul_family(), pool_family(),
      reduce_family(),     // one pass over a row
      normalize_family(),  // several
      pointwise_family(),
  };
  return *table;
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
