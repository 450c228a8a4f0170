// Everything that is special to AArch64: the features the emitter uses, and the machines known by name.
//
// features.h says what the columns mean; target.cpp reads the host's bits. Scalable vectors have no row: the
// emitter writes fixed 16-byte vectors, which every AArch64 machine has.
#pragma once

#include <array>

#include "device/features.h"

namespace frit::device {

// Positions are persisted in keys by name, in sets by bit: append only.
enum class Aarch64 : uint8_t { kNeon, kFullFp16, kDotProd, kI8mm, kBf16, kCount };

inline constexpr std::array<FeatureRow, static_cast<size_t>(Aarch64::kCount)> kAarch64Features = {{
    {"neon", "16-byte vectors, fused multiply-add"},
    {"fullfp16", "fp16 arithmetic"},
    {"dotprod", "4-way int8 dot products"},
    {"i8mm", "int8 matrix products"},
    {"bf16", "bf16 dot and matrix products, rounding to bf16"},
}};

inline constexpr FeatureSet kAarch64Base = FeatureSet::of(Aarch64::kNeon);
inline constexpr FeatureSet kAarch64N1 = kAarch64Base | FeatureSet::of(Aarch64::kFullFp16, Aarch64::kDotProd);
inline constexpr FeatureSet kAarch64V1 = kAarch64N1 | FeatureSet::of(Aarch64::kI8mm, Aarch64::kBf16);

inline constexpr BaselineRow kAarch64Baselines[] = {
    {"aarch64", kAarch64Base, {32 << 10, 512 << 10, 8 << 20, 64}},
    {"neoverse-n1", kAarch64N1, {64 << 10, 1 << 20, 32 << 20, 64}},
    {"neoverse-v1", kAarch64V1, {64 << 10, 1 << 20, 32 << 20, 64}},
    {"neoverse-n2", kAarch64V1, {64 << 10, 1 << 20, 32 << 20, 64}},
    {"neoverse-v2", kAarch64V1, {64 << 10, 2 << 20, 64 << 20, 64}},
};

}  // namespace frit::device
