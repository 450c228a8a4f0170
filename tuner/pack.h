// Packs: decisions, plan records and, on request, objects as one text (schemas/pack.md), the same bytes for
// the same content. Knows the format only; which records go in and what becomes of those that come out is the
// store's business.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frit/result.h"
#include "tuner/key.h"
#include "tuner/records.h"
#include "tuner/store_reports.h"

namespace frit::tuner {

// One record of a pack: by the key's kind, one of the three is filled.
struct PackEntry {
  Key key;
  Decision decision;
  PlanRecord plan;
  Object object;
};

// Entries in any order. Their origin does not enter.
std::string write_pack(std::vector<PackEntry> entries, ExportReport* report);

struct PackLine {
  PackEntry entry;
  std::string error;  // why the line could not be read, or empty
};

struct Pack {
  base::Hash128 content;
  std::vector<PackLine> lines;
};

// An error when it is no pack, is of a newer version, or its content does not match its hash; a record that
// cannot be read costs only itself.
Result<Pack> read_pack(std::string_view text);

// What a person recognises an entry by.
std::string label_of(const PackEntry& entry);

}  // namespace frit::tuner
