// A set of instruction-set features, and what a row of an architecture's feature table says.
//
// The tables (features_x86.h, features_aarch64.h) list exactly those features that the CPU emitter can make
// use of: they are part of every cache key, so a feature that changes no code has no row. Rows are only ever
// appended, as a row's position is its bit. This header must not know any architecture.
#pragma once

#include <cstdint>

namespace frit::device {

struct FeatureRow {
  const char* name;     // in frit's texts and, with a '+' before it, in LLVM's feature strings
  const char* purpose;  // what the emitter does with it
};

// What a machine is when nobody has measured it: used for named baselines, never part of a key.
struct CacheSizes {
  int64_t l1d_bytes = 0;
  int64_t l2_bytes = 0;
  int64_t l3_bytes = 0;  // 0: there is none
  int64_t line_bytes = 64;
  bool operator==(const CacheSizes&) const = default;
};

class FeatureSet {
 public:
  constexpr FeatureSet() = default;
  constexpr explicit FeatureSet(uint64_t bits) : bits_(bits) {}
  // From the enumerators of one architecture.
  template <class Feature, class... More>
  static constexpr FeatureSet of(Feature first, More... more) {
    return FeatureSet(
        ((uint64_t{1} << static_cast<int>(first)) | ... | (uint64_t{1} << static_cast<int>(more))));
  }

  template <class Feature>
  constexpr bool has(Feature feature) const {
    return (bits_ >> static_cast<int>(feature)) & 1;
  }
  template <class Feature>
  constexpr void set(Feature feature, bool on = true) {
    const uint64_t bit = uint64_t{1} << static_cast<int>(feature);
    bits_ = on ? bits_ | bit : bits_ & ~bit;
  }
  constexpr bool contains(FeatureSet other) const { return (other.bits_ & ~bits_) == 0; }
  constexpr FeatureSet operator|(FeatureSet other) const { return FeatureSet(bits_ | other.bits_); }
  constexpr FeatureSet operator&(FeatureSet other) const { return FeatureSet(bits_ & other.bits_); }
  constexpr FeatureSet without(FeatureSet other) const { return FeatureSet(bits_ & ~other.bits_); }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr uint64_t bits() const { return bits_; }
  constexpr bool operator==(const FeatureSet&) const = default;

 private:
  uint64_t bits_ = 0;
};

// A machine that can be asked for by name: a feature set without vendor, family and model.
struct BaselineRow {
  const char* name;
  FeatureSet features;
  CacheSizes caches;
};

}  // namespace frit::device
