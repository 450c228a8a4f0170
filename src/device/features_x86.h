// Everything that is special to x86-64: the features the emitter uses, and the machines known by name.
//
// features.h says what the columns mean; target.cpp reads the host's bits. Baselines are lists of features,
// not promises about a chip: `znver4` is what a Zen 4 offers the emitter.
#pragma once

#include <array>

#include "device/features.h"

namespace frit::device {

// Positions are persisted in keys by name, in sets by bit: append only.
enum class X86 : uint8_t {
  kPopcnt,
  kLzcnt,
  kBmi,
  kBmi2,
  kAvx,
  kF16c,
  kFma,
  kAvx2,
  kAvxVnni,
  kAvx512f,
  kAvx512cd,
  kAvx512bw,
  kAvx512dq,
  kAvx512vl,
  kAvx512vbmi,
  kAvx512vnni,
  kAvx512bf16,
  kAvx512fp16,
  kAmxTile,
  kAmxInt8,
  kAmxBf16,
  kAmxFp16,
  kCount
};

inline constexpr std::array<FeatureRow, static_cast<size_t>(X86::kCount)> kX86Features = {{
    {"popcnt", "bit counts"},
    {"lzcnt", "leading zeros"},
    {"bmi", "trailing zeros"},
    {"bmi2", "tail masks and variable shifts without flags"},
    {"avx", "32-byte float vectors, masked moves of 4- and 8-byte elements"},
    {"f16c", "fp16 to fp32 and back"},
    {"fma", "fused multiply-add"},
    {"avx2", "32-byte integer vectors, gathers"},
    {"avxvnni", "4-way int8 dot products in 32-byte vectors"},
    {"avx512f", "64-byte vectors, 32 registers, masks"},
    {"avx512cd", "conflict detection in scatters"},
    {"avx512bw", "masked moves of 1- and 2-byte elements"},
    {"avx512dq", "64-bit integer products and conversions"},
    {"avx512vl", "masks and 32 registers for shorter vectors"},
    {"avx512vbmi", "byte permutations"},
    {"avx512vnni", "4-way int8 dot products"},
    {"avx512bf16", "2-way bf16 dot products, rounding to bf16"},
    {"avx512fp16", "fp16 arithmetic"},
    {"amx-tile", "tile registers"},
    {"amx-int8", "int8 tile products"},
    {"amx-bf16", "bf16 tile products"},
    {"amx-fp16", "fp16 tile products"},
}};

// The levels of the x86-64 psABI, cut down to the table.
inline constexpr FeatureSet kX86V2 = FeatureSet::of(X86::kPopcnt);
inline constexpr FeatureSet kX86V3 =
    kX86V2 | FeatureSet::of(X86::kLzcnt, X86::kBmi, X86::kBmi2, X86::kAvx, X86::kF16c, X86::kFma, X86::kAvx2);
inline constexpr FeatureSet kX86V4 =
    kX86V3 | FeatureSet::of(X86::kAvx512f, X86::kAvx512cd, X86::kAvx512bw, X86::kAvx512dq, X86::kAvx512vl);

inline constexpr FeatureSet kX86Icelake = kX86V4 | FeatureSet::of(X86::kAvx512vbmi, X86::kAvx512vnni);
inline constexpr FeatureSet kX86Znver4 = kX86Icelake | FeatureSet::of(X86::kAvx512bf16);
inline constexpr FeatureSet kX86SapphireRapids =
    kX86Znver4 | FeatureSet::of(X86::kAvxVnni, X86::kAvx512fp16, X86::kAmxTile, X86::kAmxInt8, X86::kAmxBf16);

inline constexpr BaselineRow kX86Baselines[] = {
    {"x86-64-v2", kX86V2, {32 << 10, 256 << 10, 8 << 20, 64}},
    {"x86-64-v3", kX86V3, {32 << 10, 256 << 10, 8 << 20, 64}},
    {"x86-64-v4", kX86V4, {32 << 10, 1 << 20, 16 << 20, 64}},
    {"haswell", kX86V3, {32 << 10, 256 << 10, 8 << 20, 64}},
    {"skylake-avx512", kX86V4, {32 << 10, 1 << 20, 16 << 20, 64}},
    {"cascadelake", kX86V4 | FeatureSet::of(X86::kAvx512vnni), {32 << 10, 1 << 20, 16 << 20, 64}},
    {"icelake-server", kX86Icelake, {48 << 10, 1280 << 10, 32 << 20, 64}},
    {"sapphirerapids", kX86SapphireRapids, {48 << 10, 2 << 20, 32 << 20, 64}},
    {"graniterapids", kX86SapphireRapids | FeatureSet::of(X86::kAmxFp16), {48 << 10, 2 << 20, 64 << 20, 64}},
    {"znver2", kX86V3, {32 << 10, 512 << 10, 16 << 20, 64}},
    {"znver3", kX86V3, {32 << 10, 512 << 10, 32 << 20, 64}},
    {"znver4", kX86Znver4, {32 << 10, 1 << 20, 32 << 20, 64}},
    {"znver5", kX86Znver4 | FeatureSet::of(X86::kAvxVnni), {48 << 10, 1 << 20, 32 << 20, 64}},
};

}  // namespace frit::device
