// Which of two records about one thing is better: a total order, so that merging caches gives the same result
// in any order and however often.
#pragma once

#include "tuner/records.h"

namespace frit::tuner {

// Negative: a is better; positive: b is better; zero: they are the same in every respect. By state, then
// version (where the families agree), then number of samples, then relative spread, then by content, which
// means nothing but decides. why: what decided, for people ("more samples").
int compare(const Decision& a, const Decision& b, const char** why = nullptr);
int compare(const PlanRecord& a, const PlanRecord& b, const char** why = nullptr);

}  // namespace frit::tuner
