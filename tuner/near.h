// How far a record's key is from the one that is asked for; orders near hits. Only meaningful between keys of
// one kin.
#pragma once

#include "tuner/key.h"
#include "tuner/records.h"

namespace frit::tuner {

// 0 for equal keys and provenances. Each difference adds its price:
//   sizes            |log2 of the ratio| per distinct pair of sizes that differ
//   features         4: legal perhaps, but found for another instruction set, so beyond kUsableDistance
//   CPU              1.5 another vendor, 0.75 another family, 0.25 another model
//   multiprocessors, threads  |log2 of the ratio|; instances half of it
//   objective        1, shared_cores 0.5
//   anything else    1 (numerics and architecture never differ within a kin)
//   provenance       0.5 x the share of entries of `here` that the record does not have alike
double key_distance(const std::vector<Ingredient>& ours, const std::vector<Ingredient>& theirs);
double provenance_distance(const Provenance& here, const Provenance& there);

inline constexpr double kOtherVersionDistance = 0.5;
inline constexpr double kPartialDistance = 0.25;

}  // namespace frit::tuner
