// A kernel family answers five questions about a group: can it take it; which params are legal; which would an expert
// pick without measuring; what would a choice roughly cost; and the Program for a choice. Families are handed to fusion,
// tuner and executor as a table (`family_table`); adding one is one file plus one row.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "codegen/families/group.h"
#include "codegen/families/params.h"
#include "device/target.h"
#include "frit/numerics.h"
#include "frit/result.h"
#include "loop/program.h"

namespace frit::codegen {

struct BuildContext {
  const device::Target* target = nullptr;
  Numerics numerics = Numerics::kDefault;
  int threads = 1;
};

// Roofline estimate for one run.
struct Cost {
  double flops = 0;
  double bytes = 0;         // traffic that leaves the innermost cache that could hold it
  double seconds = 0;       // the model's guess with the context's threads
};

struct Family {
  const char* name;
  int version;              // raised whenever the Programs it builds change: older records become near hits
  // True, or false with one sentence why not.
  bool (*accepts)(const Group&, const BuildContext&, std::string* why_not);
  Space (*space)(const Group&, const BuildContext&);
  Params (*heuristic)(const Group&, const BuildContext&);   // always a legal point of the space
  Cost (*cost)(const Group&, const Params&, const BuildContext&);
  Result<loop::Program> (*build)(const Group&, const Params&, const BuildContext&);
};

// All families, the most specialised first.
std::span<const Family> family_table();
// The first family that accepts the group; null with the reasons of all when none does.
const Family* find_family(const Group& group, const BuildContext& context, std::string* why_not);
const Family* family_named(std::string_view name);

}  // namespace frit::codegen
