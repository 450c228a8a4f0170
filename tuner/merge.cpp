#include "tuner/merge.h"

#include <string>

namespace frit::tuner {
namespace {

template <class T>
int larger_first(const T& a, const T& b) {
  return a > b ? -1 : a < b ? 1 : 0;
}

double relative_spread(const Evidence& it) { return it.time_ns > 0 ? it.spread_ns / it.time_ns : 0; }

int compare_evidence(const Evidence& a, const Evidence& b, const char** why) {
  *why = "more samples";
  if (const int order = larger_first(a.samples, b.samples)) return order;
  *why = "less spread";
  if (const int order = larger_first(-relative_spread(a), -relative_spread(b))) return order;
  *why = "equal evidence, decided by content";
  return evidence_text(a).compare(evidence_text(b));
}

}  // namespace

int compare(const Decision& a, const Decision& b, const char** why) {
  const char* ignored = nullptr;
  if (why == nullptr) why = &ignored;
  *why = "a better state";
  if (const int order = larger_first(static_cast<int>(a.state), static_cast<int>(b.state))) return order;
  *why = "a newer family version";
  if (a.family == b.family) {
    if (const int order = larger_first(a.family_version, b.family_version)) return order;
  }
  if (const int order = compare_evidence(a.evidence, b.evidence, why)) return order;
  if (const int order = a.family.compare(b.family)) return order;
  if (const int order = a.params.compare(b.params)) return order;
  if (const int order = larger_first(b.created_s, a.created_s)) return order;
  return ingredients_text(a.provenance).compare(ingredients_text(b.provenance));
}

int compare(const PlanRecord& a, const PlanRecord& b, const char** why) {
  const char* ignored = nullptr;
  if (why == nullptr) why = &ignored;
  *why = "a newer version";
  if (const int order = larger_first(a.version, b.version)) return order;
  if (const int order = compare_evidence(a.evidence, b.evidence, why)) return order;
  if (const int order = a.text.compare(b.text)) return order;
  if (const int order = larger_first(b.created_s, a.created_s)) return order;
  return ingredients_text(a.provenance).compare(ingredients_text(b.provenance));
}

}  // namespace frit::tuner
