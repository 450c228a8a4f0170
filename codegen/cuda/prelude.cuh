// frit's device prelude: the types and primitives that emitted kernels are written in. What each one means is stated in
// src/loop/ir.h; this file is how a GPU does it. Kernels hold no inline assembly and no name of CUDA's own but
// blockIdx and threadIdx, so that another prelude can run the same text elsewhere.

#pragma nv_diag_suppress 177  // kernels use a part of it
#pragma nv_diag_suppress 186  // templates ask unsigned types for their sign

typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

// Nothing but bits: they compute in f32 and round once more.
struct f16 { u16 bits; };
struct bf16 { u16 bits; };

#define FRIT_FN static __device__ __forceinline__

// ---- bits

template <class To, class From> FRIT_FN To bits_as(From x) {
  static_assert(sizeof(To) == sizeof(From), "sizes differ");
  union Both { From from; To to; __device__ Both() {} } u;
  u.from = x;
  return u.to;
}

template <class T> struct Unsigned { typedef T type; };
template <> struct Unsigned<i8> { typedef u8 type; };
template <> struct Unsigned<i16> { typedef u16 type; };
template <> struct Unsigned<i32> { typedef u32 type; };
template <> struct Unsigned<i64> { typedef u64 type; };
template <class T> struct Signed { typedef T type; };
template <> struct Signed<u8> { typedef i8 type; };
template <> struct Signed<u16> { typedef i16 type; };
template <> struct Signed<u32> { typedef i32 type; };
template <> struct Signed<u64> { typedef i64 type; };

// ---- 16-bit floats

#ifndef FRIT_WIDEN_F16  // a host that runs this text has its own
#define FRIT_WIDEN_F16(r, bits) asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(bits))
#define FRIT_NARROW_F16(bits, x) asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x))
#endif
FRIT_FN f32 widen(f16 x) {
  f32 r;
  FRIT_WIDEN_F16(r, x.bits);
  return r;
}
FRIT_FN f32 widen(bf16 x) { return bits_as<f32>((u32)x.bits << 16); }
FRIT_FN f16 narrow_f16(f32 x) {
  f16 r;
  FRIT_NARROW_F16(r.bits, x);
  return r;
}
FRIT_FN bf16 narrow_bf16(f32 x) {
  const u32 bits = bits_as<u32>(x), high = bits >> 16;
  bf16 r;
  r.bits = (u16)(x != x ? high | 0x40u : (bits + (high & 1u) + 0x7fffu) >> 16);
  return r;
}
// To f32 by round to odd: what is rounded from it afterwards is as if rounded once.
FRIT_FN f32 narrow_odd(f64 x) {
  const f32 r = __double2float_rz(x);
  return (f64)r == x || x != x ? r : bits_as<f32>(bits_as<u32>(r) | 1u);
}

#define FRIT_HALF(T, narrow)                                                                     \
  FRIT_FN T operator+(T a, T b) { return narrow(widen(a) + widen(b)); }                          \
  FRIT_FN T operator-(T a, T b) { return narrow(widen(a) - widen(b)); }                          \
  FRIT_FN T operator*(T a, T b) { return narrow(widen(a) * widen(b)); }                          \
  FRIT_FN T operator/(T a, T b) { return narrow(widen(a) / widen(b)); }                          \
  FRIT_FN T operator-(T a) { a.bits ^= 0x8000; return a; }                                       \
  FRIT_FN bool operator==(T a, T b) { return widen(a) == widen(b); }                             \
  FRIT_FN bool operator!=(T a, T b) { return widen(a) != widen(b); }                             \
  FRIT_FN bool operator<(T a, T b) { return widen(a) < widen(b); }                               \
  FRIT_FN bool operator<=(T a, T b) { return widen(a) <= widen(b); }                             \
  FRIT_FN bool operator>(T a, T b) { return widen(a) > widen(b); }                               \
  FRIT_FN bool operator>=(T a, T b) { return widen(a) >= widen(b); }                             \
  FRIT_FN T abs_of(T a) { a.bits &= 0x7fff; return a; }                                          \
  FRIT_FN T sqrt_of(T a) { return narrow(__fsqrt_rn(widen(a))); }                                \
  FRIT_FN T floor_of(T a) { return narrow(floorf(widen(a))); }                                   \
  FRIT_FN T ceil_of(T a) { return narrow(ceilf(widen(a))); }                                     \
  FRIT_FN T trunc_of(T a) { return narrow(truncf(widen(a))); }                                   \
  FRIT_FN T round_even_of(T a) { return narrow(rintf(widen(a))); }                               \
  FRIT_FN T fused(T a, T b, T c) {                                                               \
    return narrow(narrow_odd(fma((f64)widen(a), (f64)widen(b), (f64)widen(c))));                 \
  }
FRIT_HALF(f16, narrow_f16)
FRIT_HALF(bf16, narrow_bf16)

// ---- floats

FRIT_FN f32 abs_of(f32 x) { return fabsf(x); }
FRIT_FN f64 abs_of(f64 x) { return fabs(x); }
FRIT_FN f32 sqrt_of(f32 x) { return sqrtf(x); }
FRIT_FN f64 sqrt_of(f64 x) { return sqrt(x); }
FRIT_FN f32 floor_of(f32 x) { return floorf(x); }
FRIT_FN f64 floor_of(f64 x) { return floor(x); }
FRIT_FN f32 ceil_of(f32 x) { return ceilf(x); }
FRIT_FN f64 ceil_of(f64 x) { return ceil(x); }
FRIT_FN f32 trunc_of(f32 x) { return truncf(x); }
FRIT_FN f64 trunc_of(f64 x) { return trunc(x); }
FRIT_FN f32 round_even_of(f32 x) { return rintf(x); }
FRIT_FN f64 round_even_of(f64 x) { return rint(x); }
FRIT_FN f32 fused(f32 a, f32 b, f32 c) { return fmaf(a, b, c); }
FRIT_FN f64 fused(f64 a, f64 b, f64 c) { return fma(a, b, c); }
// Ties give b, a NaN in either operand gives NaN.
template <class T> FRIT_FN T nan_min(T a, T b) { return a < b || a != a ? a : b; }
template <class T> FRIT_FN T nan_max(T a, T b) { return a > b || a != a ? a : b; }

// ---- integers: two's complement, wrapping

template <class T> FRIT_FN T wrap_add(T a, T b) { typedef typename Unsigned<T>::type U; return (T)(U)((U)a + (U)b); }
template <class T> FRIT_FN T wrap_sub(T a, T b) { typedef typename Unsigned<T>::type U; return (T)(U)((U)a - (U)b); }
template <class T> FRIT_FN T wrap_mul(T a, T b) { return (T)((u64)a * (u64)b); }
template <class T> FRIT_FN T wrap_neg(T a) { return wrap_sub<T>(0, a); }
template <class T> FRIT_FN T wrap_abs(T a) { return a < T(0) ? wrap_neg<T>(a) : a; }
template <class T> FRIT_FN T least(T a, T b) { return a < b ? a : b; }
template <class T> FRIT_FN T greatest(T a, T b) { return a > b ? a : b; }
template <class T> FRIT_FN T quotient(T a, T b) { return (T)(a / b); }
template <class T> FRIT_FN T remainder_of(T a, T b) { return (T)(a % b); }
template <class T> FRIT_FN T floor_div(T a, T b) {
  const T q = (T)(a / b), r = (T)(a % b);
  return r != T(0) && (r < T(0)) != (b < T(0)) ? (T)(q - 1) : q;
}
template <class T> FRIT_FN T floor_mod(T a, T b) {
  const T r = (T)(a % b);
  return r != T(0) && (r < T(0)) != (b < T(0)) ? (T)(r + b) : r;
}
// Of what is known not to be negative.
template <class T> FRIT_FN T whole_div(T a, T b) { typedef typename Unsigned<T>::type U; return (T)((U)a / (U)b); }
template <class T> FRIT_FN T whole_mod(T a, T b) { typedef typename Unsigned<T>::type U; return (T)((U)a % (U)b); }
template <class T> FRIT_FN T shift_left(T a, T n) { return (T)((u64)a << (u64)n); }
template <class T> FRIT_FN T shift_zeros(T a, T n) { typedef typename Unsigned<T>::type U; return (T)((U)a >> (U)n); }
template <class T> FRIT_FN T shift_sign(T a, T n) { typedef typename Signed<T>::type S; return (T)((S)a >> (S)n); }

// ---- conversions

template <class T> struct Converter {  // to an integer type other than bool
  template <class From> FRIT_FN T from(From x) { return (T)x; }
  FRIT_FN T from(f64 x) {
    if (sizeof(T) == 4 && T(-1) < T(0)) return x > -2147483649.0 && x < 2147483648.0 ? (T)(i32)x : (T)(i32)0x80000000u;
    if (sizeof(T) == 8 && T(-1) > T(0) && x >= 9223372036854775808.0 && x < 18446744073709551616.0) return (T)(u64)x;
    const i64 wide = x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (i64)x : (i64)0x8000000000000000ull;
    return (T)wide;
  }
  FRIT_FN T from(f32 x) {
    if (sizeof(T) == 4 && T(-1) < T(0)) return x >= -2147483648.0f && x < 2147483648.0f ? (T)(i32)x : (T)(i32)0x80000000u;
    return from((f64)x);
  }
  FRIT_FN T from(f16 x) { return from(widen(x)); }
  FRIT_FN T from(bf16 x) { return from(widen(x)); }
};
template <> struct Converter<bool> {
  template <class From> FRIT_FN bool from(From x) { return x != From(0); }
  FRIT_FN bool from(f16 x) { return (x.bits & 0x7fff) != 0; }
  FRIT_FN bool from(bf16 x) { return (x.bits & 0x7fff) != 0; }
};
template <> struct Converter<f32> {
  template <class From> FRIT_FN f32 from(From x) { return (f32)x; }
  FRIT_FN f32 from(f16 x) { return widen(x); }
  FRIT_FN f32 from(bf16 x) { return widen(x); }
};
template <> struct Converter<f64> {
  template <class From> FRIT_FN f64 from(From x) { return (f64)x; }
  FRIT_FN f64 from(f16 x) { return (f64)widen(x); }
  FRIT_FN f64 from(bf16 x) { return (f64)widen(x); }
};
template <> struct Converter<f16> {
  template <class From> FRIT_FN f16 from(From x) { return narrow_f16(narrow_odd((f64)x)); }
  FRIT_FN f16 from(f32 x) { return narrow_f16(x); }
  FRIT_FN f16 from(bf16 x) { return narrow_f16(widen(x)); }
};
template <> struct Converter<bf16> {
  template <class From> FRIT_FN bf16 from(From x) { return narrow_bf16(narrow_odd((f64)x)); }
  FRIT_FN bf16 from(f32 x) { return narrow_bf16(x); }
  FRIT_FN bf16 from(f16 x) { return narrow_bf16(widen(x)); }
};
template <class To, class From> FRIT_FN To to(From x) { return Converter<To>::from(x); }

// ---- memory

template <class T> FRIT_FN T zero() { return bits_as<T>(typename Unsigned<T>::type(0)); }
template <> __device__ __forceinline__ f32 zero<f32>() { return 0.0f; }
template <> __device__ __forceinline__ f64 zero<f64>() { return 0.0; }
template <> __device__ __forceinline__ f16 zero<f16>() { return bits_as<f16>((u16)0); }
template <> __device__ __forceinline__ bf16 zero<bf16>() { return bits_as<bf16>((u16)0); }

// N elements that move in one access; the address is a multiple of its size.
template <class T, int N> struct __align__(sizeof(T) * N) Pack { T v[N]; };
template <int N, class T> FRIT_FN Pack<T, N> load_pack(const T* p) { return *(const Pack<T, N>*)p; }
template <int N, class T> FRIT_FN void store_pack(T* p, Pack<T, N> x) { *(Pack<T, N>*)p = x; }

// ---- threads of a block

FRIT_FN void barrier() { __syncthreads(); }

// Claims the error words for the first that comes; the caller returns afterwards.
FRIT_FN void fail(i64* error, i64 code, i64 value, i64 bound) {
  if (atomicCAS((u64*)error, 0ull, (u64)code) != 0ull) return;
  error[1] = value;
  error[2] = bound;
}

#undef FRIT_FN
#undef FRIT_HALF

