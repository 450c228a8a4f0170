// The operators of Graph: about 40 primitives plus the composites that the first pass takes apart.
//
// Each op is a struct of data only, with defaulted comparison, so that equality, hashing and text all come from the
// same fields. Semantics are ONNX's of the newest opset unless stated; where older opsets differ, src/onnx translates
// while importing. "Axes" are always normalised to [0, rank).
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "frit/dtype.h"
#include "graph/dim.h"

namespace frit::graph {

// ---- pointwise ---------------------------------------------------------------------------------------------------

enum class UnaryOp : uint8_t {
  kNeg, kAbs, kSign, kNot, kBitNot, kFloor, kCeil, kRound /* half to even */, kSqrt, kRecip, kExp, kLog, kErf, kTanh,
  kSigmoid, kSin, kCos, kTan, kAsin, kAcos, kAtan, kSinh, kCosh, kAsinh, kAcosh, kAtanh, kIsNan, kIsInf, kRelu,
};
enum class BinaryOp : uint8_t {
  kAdd, kSub, kMul, kDiv /* integers truncate */, kPow, kMin, kMax /* NaN wins */, kModFloor /* sign of divisor */,
  kModTrunc /* C's fmod / % */, kAnd, kOr, kXor, kBitAnd, kBitOr, kBitXor, kShl, kShr, kEq, kNe, kLt, kLe, kGt, kGe,
};

struct Unary { UnaryOp op; auto operator<=>(const Unary&) const = default; };
// Numpy broadcasting. Comparisons give bool.
struct Binary { BinaryOp op; auto operator<=>(const Binary&) const = default; };
// (condition bool, then, else), numpy broadcasting.
struct Select { auto operator<=>(const Select&) const = default; };
// Float to integer truncates toward zero, saturation as C++ on x86 for out-of-range; to bool: x != 0.
struct Cast { DType to; auto operator<=>(const Cast&) const = default; };

// ---- reductions, scans --------------------------------------------------------------------------------------------

enum class ReduceOp : uint8_t { kSum, kMean, kMax, kMin, kProd };
// Reduces `axes` (sorted, unique, not empty); an empty range gives the op's identity (max: -inf or lowest).
struct Reduce { ReduceOp op; std::vector<int64_t> axes; bool keepdims; auto operator<=>(const Reduce&) const = default; };
struct ArgReduce { bool max; int64_t axis; bool keepdims; bool select_last; auto operator<=>(const ArgReduce&) const = default; };
struct CumSum { int64_t axis; bool exclusive; bool reverse; auto operator<=>(const CumSum&) const = default; };
// (x [.., n, ..], k) -> values, indices
struct TopK { int64_t axis; bool largest; bool sorted; auto operator<=>(const TopK&) const = default; };

// ---- contractions -------------------------------------------------------------------------------------------------

// a [.., M, K] x b [.., K, N] -> [.., M, N], numpy broadcasting over the leading dimensions; both have rank >= 2
// (the importer adds and removes dimensions for vectors).
struct MatMul { auto operator<=>(const MatMul&) const = default; };
// x [N, C, spatial..], w [O, C/groups, kernel..], optional bias [O]. pads: begins then ends.
struct Conv {
  std::vector<int64_t> strides, pads, dilations;
  int64_t groups;
  auto operator<=>(const Conv&) const = default;
};
// x [N, C, spatial..], w [C, O/groups, kernel..], optional bias [O]
struct ConvTranspose {
  std::vector<int64_t> strides, pads, dilations, output_padding;
  int64_t groups;
  auto operator<=>(const ConvTranspose&) const = default;
};
enum class PoolOp : uint8_t { kMax, kAvg };
// ceil_mode is already turned into larger end pads' output size (the output type says how many windows there are).
struct Pool {
  PoolOp op;
  std::vector<int64_t> kernel, strides, pads, dilations;
  bool ceil_mode;
  bool count_include_pad;
  auto operator<=>(const Pool&) const = default;
};

// ---- data movement ------------------------------------------------------------------------------------------------
// Where an op has a trailing "shape-like" tensor input (i64), it may be absent once the output shape is known to be
// what the type says; the pass `resolve_shapes` drops it.

// (x[, shape]) -> the output type's shape; element order is kept. `shape` follows ONNX (0 copies unless allowzero, -1 infers).
struct Reshape { bool allowzero = false; auto operator<=>(const Reshape&) const = default; };
struct Transpose { std::vector<int64_t> perm; auto operator<=>(const Transpose&) const = default; };
// (x[, shape]): numpy broadcast of x with `shape` (both directions, as ONNX Expand).
struct Expand { auto operator<=>(const Expand&) const = default; };
// Static slice: output[i] = x[start + i * step] per axis; sizes are the output type's shape; step may be negative.
struct Slice { std::vector<Dim> starts; std::vector<int64_t> steps; bool operator==(const Slice&) const = default; bool operator<(const Slice& o) const; };
// (x, starts, ends[, axes[, steps]]): ONNX Slice whose bounds are not known; becomes Slice when they are.
struct DynamicSlice { auto operator<=>(const DynamicSlice&) const = default; };
struct Concat { int64_t axis; auto operator<=>(const Concat&) const = default; };
enum class PadMode : uint8_t { kConstant, kReflect, kEdge, kWrap };
// (x[, value]): before may be negative (crops); sizes after come from the output type.
struct Pad { PadMode mode; std::vector<int64_t> before, after; auto operator<=>(const Pad&) const = default; };
// (x, pads[, value[, axes]])
struct DynamicPad { PadMode mode; auto operator<=>(const DynamicPad&) const = default; };
struct Tile { auto operator<=>(const Tile&) const = default; };  // (x, repeats)
// (data, indices): negative indices count from the end; out of range is a run-time error.
struct Gather { int64_t axis; auto operator<=>(const Gather&) const = default; };
struct GatherElements { int64_t axis; auto operator<=>(const GatherElements&) const = default; };
struct GatherND { int64_t batch_dims; auto operator<=>(const GatherND&) const = default; };
enum class ScatterOp : uint8_t { kNone, kAdd, kMul, kMax, kMin };
struct ScatterElements { int64_t axis; ScatterOp reduction; auto operator<=>(const ScatterElements&) const = default; };
struct ScatterND { ScatterOp reduction; auto operator<=>(const ScatterND&) const = default; };
enum class ResizeMode : uint8_t { kNearest, kLinear, kCubic };
enum class ResizeCoord : uint8_t { kHalfPixel, kPytorchHalfPixel, kAlignCorners, kAsymmetric, kHalfPixelSymmetric, kTfCropAndResize };
enum class ResizeNearest : uint8_t { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil };
// (x[, sizes or scales]): `scales` per axis where the model gave scales that differ from out/in, else empty.
struct Resize {
  ResizeMode mode;
  ResizeCoord coord;
  ResizeNearest nearest;
  float cubic_a;
  bool exclude_outside;
  bool by_scales;  // the trailing input holds f32 scales (else i64 sizes)
  std::vector<float> scales;
  auto operator<=>(const Resize&) const = default;
};

// ---- generators ---------------------------------------------------------------------------------------------------

struct Range { auto operator<=>(const Range&) const = default; };            // (start, limit, delta) scalars
struct Iota { int64_t axis; auto operator<=>(const Iota&) const = default; };  // () -> i64: the index along axis, shape from the type
struct ShapeOf { int64_t start, end; auto operator<=>(const ShapeOf&) const = default; };  // dims [start, end) as i64
// (shape): filled with the 1-element constant's bits `value` of the output dtype
struct Fill { uint64_t bits; auto operator<=>(const Fill&) const = default; };
struct NonZero { auto operator<=>(const NonZero&) const = default; };

// ---- composites: taken apart by graph/passes/decompose, never seen by fusion ---------------------------------------

struct BatchNorm { float epsilon; auto operator<=>(const BatchNorm&) const = default; };  // (x, scale, bias, mean, var)
struct LayerNorm { int64_t axis; float epsilon; auto operator<=>(const LayerNorm&) const = default; };  // (x, scale[, bias]) -> y[, mean, 1/std]
struct Softmax { int64_t axis; bool log; auto operator<=>(const Softmax&) const = default; };
struct Gelu { bool tanh; auto operator<=>(const Gelu&) const = default; };
struct Gemm { float alpha, beta; bool trans_a, trans_b; auto operator<=>(const Gemm&) const = default; };  // (a, b[, c])
struct HardSigmoid { float alpha, beta; auto operator<=>(const HardSigmoid&) const = default; };
struct HardSwish { auto operator<=>(const HardSwish&) const = default; };
struct LeakyRelu { float alpha; auto operator<=>(const LeakyRelu&) const = default; };
struct Clip { auto operator<=>(const Clip&) const = default; };  // (x[, min[, max]]), absent inputs are kNoValue
struct Split { int64_t axis; auto operator<=>(const Split&) const = default; };  // (x[, sizes]) -> n outputs

// ---- recurrent and irregular ---------------------------------------------------------------------------------------

enum class Direction : uint8_t { kForward, kReverse, kBidirectional };
// ONNX LSTM: (X, W, R[, B, sequence_lens, initial_h, initial_c, P]) -> Y[, Y_h, Y_c], default activations, layout 0.
struct Lstm { int64_t hidden; Direction direction; bool input_forget; float clip; auto operator<=>(const Lstm&) const = default; };

using Op = std::variant<Unary, Binary, Select, Cast, Reduce, ArgReduce, CumSum, TopK, MatMul, Conv, ConvTranspose, Pool,
                        Reshape, Transpose, Expand, Slice, DynamicSlice, Concat, Pad, DynamicPad, Tile, Gather,
                        GatherElements, GatherND, ScatterElements, ScatterND, Resize, Range, Iota, ShapeOf, Fill, NonZero,
                        BatchNorm, LayerNorm, Softmax, Gelu, Gemm, HardSigmoid, HardSwish, LeakyRelu, Clip, Split, Lstm>;

// "matmul", "conv", "unary.exp" ...: the spelling of the canonical text.
std::string op_name(const Op& op);
bool is_composite(const Op& op);
bool is_pointwise(const Op& op);      // Unary, Binary, Select, Cast
bool is_view_like(const Op& op);      // Reshape, Transpose, Expand, Slice: an index map of one operand

}  // namespace frit::graph
