#include "codegen/families/family.h"

namespace frit::codegen {

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
