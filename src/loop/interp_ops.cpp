#include <algorithm>
#include <cstring>

#include "loop/interp_code.h"
#include "loop/scalar.h"

namespace frit::loop::interp {

namespace {

template <class T>
T* at(Thread& t, uint32_t offset) {
  return reinterpret_cast<T*>(t.frame + offset);
}
template <class T>
constexpr DType kDType = std::is_same_v<T, float>      ? DType::kF32
                         : std::is_same_v<T, double>   ? DType::kF64
                         : std::is_same_v<T, F16>      ? DType::kF16
                         : std::is_same_v<T, BF16>     ? DType::kBF16
                         : std::is_same_v<T, int8_t>   ? DType::kI8
                         : std::is_same_v<T, int16_t>  ? DType::kI16
                         : std::is_same_v<T, int32_t>  ? DType::kI32
                         : std::is_same_v<T, int64_t>  ? DType::kI64
                         : std::is_same_v<T, uint8_t>  ? DType::kU8
                         : std::is_same_v<T, uint16_t> ? DType::kU16
                         : std::is_same_v<T, uint32_t> ? DType::kU32
                         : std::is_same_v<T, uint64_t> ? DType::kU64
                                                       : DType::kBool;

const Instr* stop(Thread& t, const Instr* in, Stop why) {
  t.stop = why;
  t.at = in;
  return nullptr;
}
const Instr* broken(Thread& t, const Instr* in, const char* what, int64_t value, int64_t limit) {
  t.error = what;
  t.error_value = value;
  t.error_limit = limit;
  return stop(t, in, Stop::kError);
}

// ---- arithmetic

template <OpCode op, class T>
const Instr* run_unary(Thread& t, const Instr* in) {
  T* d = at<T>(t, in->dst);
  const T* a = at<T>(t, in->a);
  for (int32_t i = 0; i < in->lanes; ++i) d[i] = apply_unary<op>(a[i]);
  return in + 1;
}

template <OpCode op, class T>
const Instr* run_binary(Thread& t, const Instr* in) {
  T* d = at<T>(t, in->dst);
  const T* a = at<T>(t, in->a);
  const T* b = at<T>(t, in->b);
  for (int32_t i = 0; i < in->lanes; ++i) {
    if (!binary_defined<op>(a[i], b[i])) {
      return broken(t, in, "undefined division or shift by", static_cast<int64_t>(to_bits(b[i])), 0);
    }
    d[i] = apply_binary<op>(a[i], b[i]);
  }
  return in + 1;
}

template <OpCode op, class T>
const Instr* run_compare(Thread& t, const Instr* in) {
  Mask* d = at<Mask>(t, in->dst);
  const T* a = at<T>(t, in->a);
  const T* b = at<T>(t, in->b);
  for (int32_t i = 0; i < in->lanes; ++i) d[i].on = compare<op>(a[i], b[i]);
  return in + 1;
}

template <class T>
const Instr* run_fma(Thread& t, const Instr* in) {
  T* d = at<T>(t, in->dst);
  const T* a = at<T>(t, in->a);
  const T* b = at<T>(t, in->b);
  const T* c = at<T>(t, in->c);
  for (int32_t i = 0; i < in->lanes; ++i) d[i] = apply_fma(a[i], b[i], c[i]);
  return in + 1;
}

#if defined(__x86_64__)
// std::fma is a library call without this target; the result is the same.
__attribute__((target("avx2,fma"))) const Instr* run_fma_f32_hardware(Thread& t, const Instr* in) {
  float* d = reinterpret_cast<float*>(t.frame + in->dst);
  const float* a = reinterpret_cast<const float*>(t.frame + in->a);
  const float* b = reinterpret_cast<const float*>(t.frame + in->b);
  const float* c = reinterpret_cast<const float*>(t.frame + in->c);
  for (int32_t i = 0; i < in->lanes; ++i) d[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return in + 1;
}
#endif

template <class T>
const Instr* run_select(Thread& t, const Instr* in) {
  T* d = at<T>(t, in->dst);
  const Mask* a = at<Mask>(t, in->a);
  const T* b = at<T>(t, in->b);
  const T* c = at<T>(t, in->c);
  for (int32_t i = 0; i < in->lanes; ++i) d[i] = a[i].on ? b[i] : c[i];
  return in + 1;
}

template <class From, class To>
const Instr* run_cast(Thread& t, const Instr* in) {
  To* d = at<To>(t, in->dst);
  const From* a = at<From>(t, in->a);
  for (int32_t i = 0; i < in->lanes; ++i) d[i] = apply_cast<To>(a[i]);
  return in + 1;
}

template <class T>
const Instr* run_splat(Thread& t, const Instr* in) {
  T* d = at<T>(t, in->dst);
  const T a = *at<T>(t, in->a);
  for (int32_t i = 0; i < in->lanes; ++i) d[i] = a;
  return in + 1;
}

template <class T>
const Instr* run_ramp(Thread& t, const Instr* in) {
  T* d = at<T>(t, in->dst);
  const uint64_t a = static_cast<uint64_t>(*at<T>(t, in->a));
  for (int32_t i = 0; i < in->lanes; ++i) {
    d[i] = static_cast<T>(a + static_cast<uint64_t>(i) * static_cast<uint64_t>(in->imm));
  }
  return in + 1;
}

template <OpCode op, class T>
const Instr* run_reduce(Thread& t, const Instr* in) {
  T v[kMaxLanes];
  std::memcpy(v, at<T>(t, in->a), sizeof(T) * static_cast<size_t>(in->lanes));
  for (int32_t n = in->lanes / 2; n > 0; n /= 2) {
    for (int32_t i = 0; i < n; ++i) v[i] = apply_binary<op>(v[i], v[i + n]);
  }
  *at<T>(t, in->dst) = v[0];
  return in + 1;
}

template <class T>
const Instr* run_shuffle(Thread& t, const Instr* in) {
  T* d = at<T>(t, in->dst);
  const auto* node = reinterpret_cast<const ExprNode*>(in->imm);
  const T* a = at<T>(t, in->a);
  const T* b = at<T>(t, in->b);
  const int32_t n = node->a->type.lanes;
  for (int32_t i = 0; i < in->lanes; ++i) {
    const int32_t lane = node->lanes[static_cast<size_t>(i)];
    d[i] = lane < n ? a[lane] : b[lane - n];
  }
  return in + 1;
}

const Instr* run_copy(Thread& t, const Instr* in) {
  std::memcpy(t.frame + in->dst, t.frame + in->a, static_cast<size_t>(in->imm));
  return in + 1;
}

// ---- memory

constexpr const char* kOutside = "index is outside of the buffer:";
constexpr const char* kUnwritten = "element was never written:";

constexpr const char* kRace = "threads use an element without a barrier between, and one writes it:";

// Notes that this thread uses element i of shared memory. False: another one did so since the last barrier,
// and one of the two writes.
inline bool note_use(const Thread& t, const Memory& m, int64_t i, bool writes) {
  SharedUse& use = m.uses[i];
  if (use.epoch != *t.epoch) use = {*t.epoch, -1, -1};
  const bool others_wrote = use.writer != -1 && use.writer != t.number;
  const bool others_read = use.reader != -1 && use.reader != t.number;
  if (others_wrote || (writes && others_read)) return false;
  if (writes)
    use.writer = t.number;
  else
    use.reader = use.reader == -1 ? t.number : others_read ? kSeveral : use.reader;
  return true;
}

// Reads element i to d after all checks. False: the thread is broken.
template <class T>
bool read_element(Thread& t, const Instr* in, const Memory& m, int64_t i, T* d) {
  const bool outside = i < 0 || i >= m.readable;
  if (outside || (m.written && !m.written[i] && !t.allow_uninitialised)) {
    broken(t, in, outside ? kOutside : kUnwritten, i, m.size);
    return false;
  }
  if (m.uses && !note_use(t, m, i, false)) {
    broken(t, in, kRace, i, m.size);
    return false;
  }
  if (i < m.present)
    std::memcpy(d, m.data + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  else
    std::memset(d, 0xff, sizeof(T));
  if constexpr (std::is_same_v<T, Mask>) d->on = d->on != 0;
  return true;
}

template <class T, bool gather, bool masked>
const Instr* run_load(Thread& t, const Instr* in) {
  const Memory& m = t.memories[in->buffer];
  const int64_t* index = at<int64_t>(t, in->a);
  const Mask* mask = at<Mask>(t, in->b);
  T* d = at<T>(t, in->dst);
  if constexpr (!gather && !masked) {
    // The usual case at once; what is not plainly right goes lane by lane below.
    const size_t lanes = static_cast<size_t>(in->lanes);
    if (!std::is_same_v<T, Mask> && !m.uses && *index >= 0 && *index <= m.size - in->lanes &&
        (!m.written || !std::memchr(m.written + *index, 0, lanes))) {
      std::memcpy(d, m.data + *index * static_cast<int64_t>(sizeof(T)), sizeof(T) * lanes);
      return in + 1;
    }
  }
  for (int32_t i = 0; i < in->lanes; ++i) {
    if (masked && !mask[i].on) {
      d[i] = T{};
      continue;
    }
    if (!read_element(t, in, m, gather ? index[i] : *index + i, &d[i])) return nullptr;
  }
  return in + 1;
}

template <class T, bool gather, bool masked>
const Instr* run_store(Thread& t, const Instr* in) {
  const Memory& m = t.memories[in->buffer];
  const int64_t* index = at<int64_t>(t, in->a);
  const T* value = at<T>(t, in->b);
  const Mask* mask = at<Mask>(t, in->c);
  for (int32_t i = 0; i < in->lanes; ++i) {
    if (masked && !mask[i].on) continue;
    const int64_t k = gather ? index[i] : *index + i;
    if (k < 0 || k >= m.size) return broken(t, in, kOutside, k, m.size);
    if (m.uses && !note_use(t, m, k, true)) return broken(t, in, kRace, k, m.size);
    std::memcpy(m.data + k * static_cast<int64_t>(sizeof(T)), &value[i], sizeof(T));
    if (m.written) m.written[k] = 1;
  }
  return in + 1;
}

template <class T>
const Instr* run_load_whole(Thread& t, const Instr* in) {
  const Memory& m = t.memories[in->buffer];
  const int64_t i = *at<int64_t>(t, in->a);
  if (i < 0 || i >= m.size) return broken(t, in, kOutside, i, m.size);
  if (!m.written[i] && !t.allow_uninitialised) return broken(t, in, kUnwritten, i, m.size);
  const size_t bytes = sizeof(T) * static_cast<size_t>(in->lanes);
  std::memcpy(at<T>(t, in->dst), m.data + static_cast<size_t>(i) * bytes, bytes);
  return in + 1;
}
template <class T>
const Instr* run_store_whole(Thread& t, const Instr* in) {
  const Memory& m = t.memories[in->buffer];
  const int64_t i = *at<int64_t>(t, in->a);
  if (i < 0 || i >= m.size) return broken(t, in, kOutside, i, m.size);
  const size_t bytes = sizeof(T) * static_cast<size_t>(in->lanes);
  std::memcpy(m.data + static_cast<size_t>(i) * bytes, at<T>(t, in->b), bytes);
  m.written[i] = 1;
  return in + 1;
}

const Instr* run_alloc(Thread& t, const Instr* in) {
  const Memory& m = t.memories[in->buffer];
  std::memset(m.data, 0xff, static_cast<size_t>(m.size * in->imm));
  std::memset(m.written, 0, static_cast<size_t>(m.size));
  if (m.uses) std::fill_n(m.uses, m.size, SharedUse{});
  return in + 1;
}

// ---- control flow

const Instr* run_loop_enter(Thread& t, const Instr* in) {
  const int64_t trips = trip_count(t, in);
  if (trips == 0) return in + in->jump;
  *at<int64_t>(t, in->c) = trips;
  set_loop_var(t, in, in->flag && t.reverse ? trips - 1 : 0);
  return in + 1;
}
template <class T>
const Instr* run_loop_next(Thread& t, const Instr* in) {
  if (--*at<int64_t>(t, in->c) == 0) return in + 1;
  T& var = *at<T>(t, in->dst);
  const uint64_t step = static_cast<uint64_t>(in->flag && t.reverse ? -in->imm : in->imm);
  var = static_cast<T>(static_cast<uint64_t>(var) + step);
  return in + in->jump;
}
const Instr* run_branch(Thread& t, const Instr* in) {
  return at<Mask>(t, in->a)->on ? in + 1 : in + in->jump;
}
const Instr* run_jump(Thread&, const Instr* in) { return in + in->jump; }
const Instr* run_fail(Thread& t, const Instr* in) {
  return at<Mask>(t, in->a)->on ? stop(t, in, Stop::kFail) : in + 1;
}
const Instr* run_stop(Thread& t, const Instr* in) { return stop(t, in, static_cast<Stop>(in->flag)); }

// Handlers that only move elements, by the element's size.
template <class F>
Handler by_size(DType dtype, F&& f) {
  switch (dtype_bytes(dtype)) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    default:
      return f(uint64_t{});
  }
}

}  // namespace

Handler unary_handler(OpCode op, DType dtype) {
  return with_type(dtype, [&](auto tag) -> Handler {
    using T = decltype(tag);
    return with_unary_op(op, [](auto code) -> Handler {
      if constexpr (op_allowed(code(), kDType<T>))
        return &run_unary<code(), T>;
      else
        return nullptr;
    });
  });
}

Handler binary_handler(OpCode op, DType dtype) {
  return with_type(dtype, [&](auto tag) -> Handler {
    using T = decltype(tag);
    return with_binary_op(op, [](auto code) -> Handler {
      if constexpr (!op_allowed(code(), kDType<T>))
        return nullptr;
      else if constexpr (is_comparison(code()))
        return &run_compare<code(), T>;
      else
        return &run_binary<code(), T>;
    });
  });
}

Handler fma_handler(DType dtype) {
#if defined(__x86_64__)
  if (dtype == DType::kF32 && __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2")) {
    return &run_fma_f32_hardware;
  }
#endif
  return with_type(dtype, [](auto tag) -> Handler {
    if constexpr (kIsFloat<decltype(tag)>)
      return &run_fma<decltype(tag)>;
    else
      return nullptr;
  });
}

Handler select_handler(DType dtype) {
  return by_size(dtype, [](auto tag) -> Handler { return &run_select<decltype(tag)>; });
}
Handler cast_handler(DType from, DType to) {
  return with_type(from, [&](auto source) -> Handler {
    return with_type(to,
                     [](auto target) -> Handler { return &run_cast<decltype(source), decltype(target)>; });
  });
}
Handler splat_handler(DType dtype) {
  return by_size(dtype, [](auto tag) -> Handler { return &run_splat<decltype(tag)>; });
}
Handler ramp_handler(DType dtype) {
  return by_size(dtype, [](auto tag) -> Handler { return &run_ramp<decltype(tag)>; });
}
Handler reduce_handler(OpCode op, DType dtype) {
  return with_type(dtype, [&](auto tag) -> Handler {
    using T = decltype(tag);
    switch (op) {
      case OpCode::kAdd:
        return &run_reduce<OpCode::kAdd, T>;
      case OpCode::kMul:
        return &run_reduce<OpCode::kMul, T>;
      case OpCode::kMin:
        return &run_reduce<OpCode::kMin, T>;
      case OpCode::kMax:
        return &run_reduce<OpCode::kMax, T>;
      case OpCode::kAnd:
        return &run_reduce<OpCode::kAnd, T>;
      case OpCode::kOr:
        return &run_reduce<OpCode::kOr, T>;
      default:
        return &run_reduce<OpCode::kXor, T>;
    }
  });
}
Handler shuffle_handler(DType dtype) {
  return by_size(dtype, [](auto tag) -> Handler { return &run_shuffle<decltype(tag)>; });
}
Handler copy_handler() { return &run_copy; }

Handler load_handler(DType dtype, AccessShape shape) {
  const auto pick = [&](auto tag) -> Handler {
    using T = decltype(tag);
    if (shape.whole) return &run_load_whole<T>;
    if (shape.gather) return shape.mask ? &run_load<T, true, true> : &run_load<T, true, false>;
    return shape.mask ? &run_load<T, false, true> : &run_load<T, false, false>;
  };
  return dtype == DType::kBool ? pick(Mask{}) : by_size(dtype, pick);
}
Handler store_handler(DType dtype, AccessShape shape) {
  return by_size(dtype, [&](auto tag) -> Handler {
    using T = decltype(tag);
    if (shape.whole) return &run_store_whole<T>;
    if (shape.gather) return shape.mask ? &run_store<T, true, true> : &run_store<T, true, false>;
    return shape.mask ? &run_store<T, false, true> : &run_store<T, false, false>;
  });
}
Handler alloc_handler() { return &run_alloc; }

Handler loop_enter_handler() { return &run_loop_enter; }
Handler loop_next_handler(DType dtype) {
  return by_size(dtype, [](auto tag) -> Handler { return &run_loop_next<decltype(tag)>; });
}
Handler branch_handler() { return &run_branch; }
Handler jump_handler() { return &run_jump; }
Handler fail_handler() { return &run_fail; }
Handler stop_handler() { return &run_stop; }

int64_t trip_count(const Thread& t, const Instr* in) {
  return with_type(static_cast<DType>(in->lanes), [&](auto tag) -> int64_t {
    using T = decltype(tag);
    if constexpr (!std::is_integral_v<T>)
      return 0;
    else {
      const T begin = *reinterpret_cast<const T*>(t.frame + in->a),
              end = *reinterpret_cast<const T*>(t.frame + in->b);
      if (begin >= end) return 0;
      const uint64_t distance = static_cast<uint64_t>(end) - static_cast<uint64_t>(begin);
      return static_cast<int64_t>((distance - 1) / static_cast<uint64_t>(in->imm) + 1);
    }
  });
}
void set_loop_var(Thread& t, const Instr* in, int64_t trip) {
  with_type(static_cast<DType>(in->lanes), [&](auto tag) {
    using T = decltype(tag);
    if constexpr (std::is_integral_v<T>) {
      const uint64_t begin = static_cast<uint64_t>(*at<T>(t, in->a));
      *at<T>(t, in->dst) =
          static_cast<T>(begin + static_cast<uint64_t>(trip) * static_cast<uint64_t>(in->imm));
    }
  });
}

}  // namespace frit::loop::interp
