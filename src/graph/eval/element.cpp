#include "graph/eval/element.h"

namespace frit::graph::eval {

template <class C>
void load(const HostTensor& tensor, int64_t start, int64_t count, C* dst) {
  with_storage_type(tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::byte* src = tensor.bytes() + static_cast<size_t>(start) * sizeof(T);
    for (int64_t i = 0; i < count; ++i) {
      T element;
      std::memcpy(&element, src + static_cast<size_t>(i) * sizeof(T), sizeof(T));
      dst[i] = from_storage<C>(element);
    }
  });
}

template <class C>
void load_at(const HostTensor& tensor, const int64_t* offsets, int64_t count, C* dst) {
  with_storage_type(tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < count; ++i) {
      T element;
      std::memcpy(&element, tensor.bytes() + static_cast<size_t>(offsets[i]) * sizeof(T), sizeof(T));
      dst[i] = from_storage<C>(element);
    }
  });
}

template <class C>
void store(HostTensor& tensor, int64_t start, int64_t count, const C* src) {
  with_storage_type(tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::byte* dst = tensor.mutable_bytes() + static_cast<size_t>(start) * sizeof(T);
    for (int64_t i = 0; i < count; ++i) {
      const T element = to_storage<T>(src[i]);
      std::memcpy(dst + static_cast<size_t>(i) * sizeof(T), &element, sizeof(T));
    }
  });
}

// Here once, not in every file that converts: a function for each pair of types is a lot of code.
template void load(const HostTensor&, int64_t, int64_t, double*);
template void load(const HostTensor&, int64_t, int64_t, int64_t*);
template void load(const HostTensor&, int64_t, int64_t, uint64_t*);
template void load_at(const HostTensor&, const int64_t*, int64_t, double*);
template void load_at(const HostTensor&, const int64_t*, int64_t, int64_t*);
template void load_at(const HostTensor&, const int64_t*, int64_t, uint64_t*);
template void store(HostTensor&, int64_t, int64_t, const double*);
template void store(HostTensor&, int64_t, int64_t, const int64_t*);
template void store(HostTensor&, int64_t, int64_t, const uint64_t*);

}  // namespace frit::graph::eval
