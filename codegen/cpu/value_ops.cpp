#include "codegen/cpu/value_ops.h"

#include <numeric>

#include <llvm/IR/Intrinsics.h>

namespace frit::codegen {

using llvm::Value;
using loop::OpCode;

namespace {

llvm::Type* vector_of(llvm::Type* scalar, int32_t lanes) {
  return lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, static_cast<unsigned>(lanes));
}

llvm::Type* same_shape(llvm::Type* scalar, Value* v) {
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType())) return llvm::FixedVectorType::get(scalar, vector->getNumElements());
  return scalar;
}

}  // namespace

llvm::Type* ValueOps::type(loop::Type t) {
  llvm::Type* scalar = nullptr;
  switch (t.dtype) {
    case DType::kF32: scalar = b_.getFloatTy(); break;
    case DType::kF64: scalar = b_.getDoubleTy(); break;
    case DType::kF16: scalar = b_.getHalfTy(); break;
    case DType::kBF16: scalar = b_.getInt16Ty(); break;
    case DType::kBool: scalar = b_.getInt1Ty(); break;
    default: scalar = b_.getIntNTy(static_cast<unsigned>(dtype_bytes(t.dtype) * 8)); break;
  }
  return vector_of(scalar, t.lanes);
}

llvm::Type* ValueOps::memory_type(DType dtype, int32_t lanes) {
  return dtype == DType::kBool ? vector_of(b_.getInt8Ty(), lanes) : type({dtype, lanes});
}

Value* ValueOps::from_memory(Value* v, DType dtype) {
  return dtype == DType::kBool ? b_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType())) : v;
}

Value* ValueOps::to_memory(Value* v, DType dtype) {
  return dtype == DType::kBool ? b_.CreateZExt(v, same_shape(b_.getInt8Ty(), v)) : v;
}

Value* ValueOps::constant(int64_t bits, loop::Type t) {
  llvm::Constant* c = nullptr;
  llvm::Type* scalar = type({t.dtype, 1});
  if (scalar->isFloatingPointTy()) {
    const auto width = static_cast<unsigned>(dtype_bytes(t.dtype) * 8);
    c = llvm::ConstantFP::get(b_.getContext(), llvm::APFloat(scalar->getFltSemantics(), llvm::APInt(width, static_cast<uint64_t>(bits))));
  } else {
    c = llvm::ConstantInt::get(scalar, static_cast<uint64_t>(t.dtype == DType::kBool ? bits & 1 : bits), true);
  }
  return t.lanes == 1 ? c : llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(static_cast<unsigned>(t.lanes)), c);
}

Value* ValueOps::like(Value* v, double x) { return llvm::ConstantFP::get(v->getType(), x); }

Value* ValueOps::widen_bf16(Value* v) {
  Value* wide = b_.CreateShl(b_.CreateZExt(v, same_shape(b_.getInt32Ty(), v)), 16);
  return b_.CreateBitCast(wide, same_shape(b_.getFloatTy(), v));
}

// Round to nearest even in integer arithmetic; NaN becomes quiet.
Value* ValueOps::narrow_bf16(Value* v) {
  Value* bits = b_.CreateBitCast(v, same_shape(b_.getInt32Ty(), v));
  auto k = [&](uint64_t x) { return llvm::ConstantInt::get(bits->getType(), x); };
  Value* high = b_.CreateLShr(bits, 16);
  Value* rounded = b_.CreateLShr(b_.CreateAdd(bits, b_.CreateAdd(b_.CreateAnd(high, k(1)), k(0x7fff))), 16);
  Value* quiet = b_.CreateOr(high, k(0x40));
  Value* r = b_.CreateSelect(b_.CreateFCmpUNO(v, v), quiet, rounded);
  return b_.CreateTrunc(r, same_shape(b_.getInt16Ty(), v));
}

Value* ValueOps::unary(OpCode op, Value* a, loop::Type t) {
  if (t.dtype == DType::kBF16 && op != OpCode::kNeg && op != OpCode::kAbs) return narrow_bf16(unary(op, widen_bf16(a), {DType::kF32, t.lanes}));
  const bool flt = is_float(t.dtype) && t.dtype != DType::kBF16;
  auto call = [&](llvm::Intrinsic::ID id) { return b_.CreateUnaryIntrinsic(id, a); };
  switch (op) {
    case OpCode::kNeg:
      if (t.dtype == DType::kBF16) return b_.CreateXor(a, llvm::ConstantInt::get(a->getType(), 0x8000));
      return flt ? b_.CreateFNeg(a) : b_.CreateNeg(a);
    case OpCode::kNot: return b_.CreateNot(a);
    case OpCode::kAbs:
      if (t.dtype == DType::kBF16) return b_.CreateAnd(a, llvm::ConstantInt::get(a->getType(), 0x7fff));
      if (flt) return call(llvm::Intrinsic::fabs);
      if (is_unsigned_int(t.dtype)) return a;
      return b_.CreateSelect(b_.CreateICmpSLT(a, llvm::Constant::getNullValue(a->getType())), b_.CreateNeg(a), a);
    case OpCode::kSqrt: return call(llvm::Intrinsic::sqrt);
    case OpCode::kFloor: return call(llvm::Intrinsic::floor);
    case OpCode::kCeil: return call(llvm::Intrinsic::ceil);
    case OpCode::kTrunc: return call(llvm::Intrinsic::trunc);
    default: return call(llvm::Intrinsic::nearbyint);
  }
}

// a < b ? a : b is one instruction on x86 and gives b where either is NaN; only a NaN in `a` needs help.
Value* ValueOps::min_max(bool less, Value* a, Value* b, bool flt, bool is_signed) {
  if (!flt) {
    const auto predicate = less ? (is_signed ? llvm::CmpInst::ICMP_SLT : llvm::CmpInst::ICMP_ULT)
                                : (is_signed ? llvm::CmpInst::ICMP_SGT : llvm::CmpInst::ICMP_UGT);
    return b_.CreateSelect(b_.CreateICmp(predicate, a, b), a, b);
  }
  if (a->getType()->getScalarType()->isHalfTy()) {
    // Compared in f32, chosen as bits: LLVM makes a call of fmaxf from a choice of halves.
    auto wide = [&](Value* v) { return b_.CreateFPExt(v, same_shape(b_.getFloatTy(), v)); };
    auto bits = [&](Value* v) { return b_.CreateBitCast(v, same_shape(b_.getInt16Ty(), v)); };
    Value* x = wide(a);
    Value* first = less ? b_.CreateFCmpOLT(x, wide(b)) : b_.CreateFCmpOGT(x, wide(b));
    return b_.CreateBitCast(b_.CreateSelect(b_.CreateOr(first, b_.CreateFCmpUNO(x, x)), bits(a), bits(b)), a->getType());
  }
  Value* r = b_.CreateSelect(less ? b_.CreateFCmpOLT(a, b) : b_.CreateFCmpOGT(a, b), a, b);
  if (auto* c = llvm::dyn_cast<llvm::Constant>(a)) {
    if (llvm::Constant* s = c->getType()->isVectorTy() ? c->getSplatValue() : c; s) {
      if (auto* f = llvm::dyn_cast<llvm::ConstantFP>(s); f && !f->isNaN()) return r;
    }
  }
  return b_.CreateSelect(b_.CreateFCmpUNO(a, a), a, r);
}

Value* ValueOps::binary(OpCode op, Value* a, Value* b, loop::Type t) {
  if (t.dtype == DType::kBF16) {
    const bool compare = op >= OpCode::kEq;
    Value* r = binary(op, widen_bf16(a), widen_bf16(b), {DType::kF32, t.lanes});
    return compare ? r : narrow_bf16(r);
  }
  const bool flt = is_float(t.dtype);
  const bool is_signed = is_signed_int(t.dtype);
  using P = llvm::CmpInst;
  auto compare = [&](P::Predicate f, P::Predicate s, P::Predicate u) { return flt ? b_.CreateFCmp(f, a, b) : b_.CreateICmp(is_signed ? s : u, a, b); };
  switch (op) {
    case OpCode::kAdd: return flt ? b_.CreateFAdd(a, b) : b_.CreateAdd(a, b);
    case OpCode::kSub: return flt ? b_.CreateFSub(a, b) : b_.CreateSub(a, b);
    case OpCode::kMul: return flt ? b_.CreateFMul(a, b) : b_.CreateMul(a, b);
    case OpCode::kDiv: return flt ? b_.CreateFDiv(a, b) : is_signed ? b_.CreateSDiv(a, b) : b_.CreateUDiv(a, b);
    case OpCode::kRem: return is_signed ? b_.CreateSRem(a, b) : b_.CreateURem(a, b);
    case OpCode::kFloorDiv:
    case OpCode::kFloorMod: {
      if (!is_signed) return op == OpCode::kFloorDiv ? b_.CreateUDiv(a, b) : b_.CreateURem(a, b);
      Value* q = b_.CreateSDiv(a, b);
      Value* r = b_.CreateSub(a, b_.CreateMul(q, b));
      Value* zero = llvm::Constant::getNullValue(a->getType());
      Value* off = b_.CreateAnd(b_.CreateICmpNE(r, zero), b_.CreateICmpSLT(b_.CreateXor(r, b), zero));
      if (op == OpCode::kFloorDiv) return b_.CreateAdd(q, b_.CreateSExt(off, q->getType()));
      return b_.CreateSelect(off, b_.CreateAdd(r, b), r);
    }
    case OpCode::kMin: return min_max(true, a, b, flt, is_signed);
    case OpCode::kMax: return min_max(false, a, b, flt, is_signed);
    case OpCode::kAnd: return b_.CreateAnd(a, b);
    case OpCode::kOr: return b_.CreateOr(a, b);
    case OpCode::kXor: return b_.CreateXor(a, b);
    case OpCode::kShl: return b_.CreateShl(a, b);
    case OpCode::kLShr: return b_.CreateLShr(a, b);
    case OpCode::kAShr: return b_.CreateAShr(a, b);
    case OpCode::kEq: return compare(P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ);
    case OpCode::kNe: return compare(P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE);
    case OpCode::kLt: return compare(P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT);
    case OpCode::kLe: return compare(P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE);
    case OpCode::kGt: return compare(P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT);
    default: return compare(P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE);
  }
}

Value* ValueOps::fma(Value* a, Value* b, Value* c, loop::Type t) {
  auto call = [&](Value* x, Value* y, Value* z) { return b_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z}); };
  if (t.dtype == DType::kF32 || t.dtype == DType::kF64) return call(a, b, c);
  if (t.dtype == DType::kF16) {  // exact product in double, rounded once
    auto wide = [&](Value* v) { return b_.CreateFPExt(b_.CreateFPExt(v, same_shape(b_.getFloatTy(), v)), same_shape(b_.getDoubleTy(), v)); };
    Value* r = call(wide(a), wide(b), wide(c));
    return cast(r, {DType::kF64, t.lanes}, t);
  }
  if (t.dtype == DType::kBF16) {
    auto wide = [&](Value* v) { return b_.CreateFPExt(widen_bf16(v), same_shape(b_.getDoubleTy(), v)); };
    return cast(call(wide(a), wide(b), wide(c)), {DType::kF64, t.lanes}, t);
  }
  return b_.CreateAdd(b_.CreateMul(a, b), c);
}

Value* ValueOps::float_to_int(Value* v, loop::Type from, loop::Type to) {
  (void)from;
  const bool to32 = to.dtype == DType::kI32;
  llvm::Type* wide = same_shape(to32 ? b_.getInt32Ty() : b_.getInt64Ty(), v);
  const double limit = to32 ? 2147483648.0 : 9223372036854775808.0;
  // -2^31 - 1 is a double but no float; truncation makes everything above it fit.
  Value* low = to32 && v->getType()->getScalarType()->isDoubleTy() ? b_.CreateFCmpOGT(v, like(v, -2147483649.0)) : b_.CreateFCmpOGE(v, like(v, -limit));
  Value* fits = b_.CreateAnd(low, b_.CreateFCmpOLT(v, like(v, limit)));
  llvm::Constant* lowest = llvm::ConstantInt::get(wide, llvm::APInt::getSignedMinValue(to32 ? 32 : 64));
  Value* r = b_.CreateSelect(fits, b_.CreateFPToSI(b_.CreateSelect(fits, v, like(v, 0.0)), wide), lowest);
  if (to.dtype == DType::kU64) {
    Value* upper = b_.CreateAnd(b_.CreateFCmpOGE(v, like(v, limit)), b_.CreateFCmpOLT(v, like(v, 2 * limit)));
    Value* shifted = b_.CreateFPToSI(b_.CreateSelect(upper, b_.CreateFSub(v, like(v, limit)), like(v, 0.0)), wide);
    r = b_.CreateSelect(upper, b_.CreateXor(shifted, lowest), r);
  }
  return b_.CreateTrunc(r, type(to));
}

Value* ValueOps::cast(Value* v, loop::Type from, loop::Type to) {
  if (from.dtype == to.dtype) return v;
  if (from.dtype == DType::kBF16) return cast(widen_bf16(v), {DType::kF32, from.lanes}, to);
  if (from.dtype == DType::kF16 && to.dtype != DType::kF32 && to.dtype != DType::kBool)
    return cast(b_.CreateFPExt(v, same_shape(b_.getFloatTy(), v)), {DType::kF32, from.lanes}, to);
  const bool from_float = is_float(from.dtype), to_float = is_float(to.dtype);
  if (to.dtype == DType::kBool) {
    llvm::Constant* zero = llvm::Constant::getNullValue(v->getType());
    return from_float ? b_.CreateFCmpUNE(v, zero) : b_.CreateICmpNE(v, zero);
  }
  if (to_float) {
    if (to.dtype == DType::kF16 || to.dtype == DType::kBF16) {
      const loop::Type f32{DType::kF32, from.lanes};
      if (from.dtype == DType::kF64 || (!from_float && dtype_bytes(from.dtype) > 2)) {
        // Rounding twice differs from rounding once: round to odd in f32 first.
        const loop::Type f64{DType::kF64, from.lanes};
        Value* d = from_float ? v : cast(v, from, f64);
        Value* f = b_.CreateFPTrunc(d, same_shape(b_.getFloatTy(), v));
        Value* back = b_.CreateFPExt(f, d->getType());
        Value* bits = b_.CreateBitCast(f, same_shape(b_.getInt32Ty(), v));
        Value* one = llvm::ConstantInt::get(bits->getType(), 1);
        Value* inexact = b_.CreateFCmpONE(back, d);
        Value* away = b_.CreateFCmpOGT(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back), b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, d));
        Value* truncated = b_.CreateSelect(away, b_.CreateSub(bits, one), bits);
        Value* odd = b_.CreateSelect(inexact, b_.CreateOr(truncated, one), bits);
        return cast(b_.CreateBitCast(odd, f->getType()), f32, to);
      }
      Value* f = from_float ? v : cast(v, from, f32);
      return to.dtype == DType::kBF16 ? narrow_bf16(f) : b_.CreateFPTrunc(f, type(to));
    }
    if (from_float) return dtype_bytes(to.dtype) > dtype_bytes(from.dtype) ? b_.CreateFPExt(v, type(to)) : b_.CreateFPTrunc(v, type(to));
    return is_signed_int(from.dtype) ? b_.CreateSIToFP(v, type(to)) : b_.CreateUIToFP(v, type(to));
  }
  if (from_float) return float_to_int(v, from, to);
  return is_signed_int(from.dtype) ? b_.CreateSExtOrTrunc(v, type(to)) : b_.CreateZExtOrTrunc(v, type(to));
}

Value* ValueOps::splat(Value* v, int32_t lanes) { return lanes == 1 ? v : b_.CreateVectorSplat(static_cast<unsigned>(lanes), v); }

Value* ValueOps::ramp(Value* base, int64_t step, loop::Type t) {
  std::vector<llvm::Constant*> offsets;
  llvm::Type* scalar = type({t.dtype, 1});
  for (int64_t i = 0; i < t.lanes; ++i) offsets.push_back(llvm::ConstantInt::get(scalar, static_cast<uint64_t>(i * step), true));
  if (t.lanes == 1) return base;
  return b_.CreateAdd(splat(base, t.lanes), llvm::ConstantVector::get(offsets));
}

Value* ValueOps::reduce(OpCode op, Value* v, loop::Type t) {
  for (int32_t n = t.lanes / 2; n >= 1; n /= 2) {
    std::vector<int> low(static_cast<size_t>(n)), high(static_cast<size_t>(n));
    std::iota(low.begin(), low.end(), 0);
    std::iota(high.begin(), high.end(), n);
    Value* a = b_.CreateShuffleVector(v, low);
    v = binary(op, a, b_.CreateShuffleVector(v, high), {t.dtype, n});
  }
  return v->getType()->isVectorTy() ? b_.CreateExtractElement(v, uint64_t{0}) : v;
}

Value* ValueOps::shuffle(Value* a, Value* b, const std::vector<int32_t>& lanes) {
  auto vector = [&](Value* v) { return v->getType()->isVectorTy() ? v : b_.CreateVectorSplat(1, v); };
  auto width = [](Value* v) { return static_cast<int>(llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements()); };
  std::vector<int> mask(lanes.begin(), lanes.end());
  a = vector(a);
  b = b ? vector(b) : a;
  const int n = width(a), m = width(b);
  if (n != m) {
    // LLVM wants operands of one width: the narrower one is padded, and lanes of b move behind the padding of a.
    std::vector<int> pad(static_cast<size_t>(std::max(n, m)), llvm::PoisonMaskElem);
    std::iota(pad.begin(), pad.begin() + std::min(n, m), 0);
    (n < m ? a : b) = b_.CreateShuffleVector(n < m ? a : b, pad);
    for (int& lane : mask) lane = lane < n ? lane : lane - n + std::max(n, m);
  }
  Value* r = b_.CreateShuffleVector(a, b, mask);
  return lanes.size() == 1 ? b_.CreateExtractElement(r, uint64_t{0}) : r;
}

}  // namespace frit::codegen
